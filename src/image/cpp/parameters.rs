//! Template parameters and arguments, function parameters.

use std::cell::RefCell;
use std::rc::Rc;

use super::node::{Node, Tree};
use super::parser::Parser;

impl Parser<'_> {
    /// `<bare-function-type>` without a result: `v` alone stands for none.
    pub fn parameters(&mut self) -> Option<Vec<Tree>> {
        let mut all = Vec::new();
        if self.take("v") {
            return Some(all);
        }
        while !self.rest.is_empty() && self.peek() != b'E' {
            all.push(self.type_()?);
        }
        Some(all)
    }

    /// `<template-args>`; those of a function's own name are what its parameters are.
    pub fn template_arguments(&mut self, own: bool) -> Option<Vec<Tree>> {
        self.take("I").then_some(())?;
        if own {
            self.arguments.clear();
        }
        let mut all = Vec::new();
        while !self.take("E") {
            if self.rest.is_empty() {
                return None;
            }
            let argument = self.nested(Self::template_argument)?;
            if own {
                self.arguments.push(argument.clone());
            }
            all.push(argument);
        }
        Some(all)
    }

    fn template_argument(&mut self) -> Option<Tree> {
        if self.take("X") {
            let value = self.expression()?;
            return self.take("E").then_some(value);
        }
        if self.take("J") {
            return Some(Rc::new(Node::Pack(self.until_end(|it| it.nested(Self::template_argument))?)));
        }
        if self.peek() == b'L' { self.literal() } else { self.type_() }
    }

    /// What stands for the parameter in the innermost function template.
    pub fn argument(&self, index: usize) -> Option<Tree> {
        self.arguments.get(index).map(|argument| match &**argument {
            Node::Pack(all) => Rc::new(Node::Elements(all.clone())),
            _ => argument.clone(),
        })
    }

    /// `<template-param>` as a type, which is a substitution from there on.
    pub fn parameter_type(&mut self) -> Option<Tree> {
        let (index, parameter) = self.numbered_parameter()?;
        self.parameters_said.push((self.substitutions.len(), index));
        Some(parameter)
    }

    /// `<template-param>`
    pub fn template_parameter(&mut self) -> Option<Tree> {
        self.numbered_parameter().map(|(_, parameter)| parameter)
    }

    fn numbered_parameter(&mut self) -> Option<(usize, Tree)> {
        self.take("T").then_some(())?;
        let index = self.index(10)?;
        if self.in_lambda {
            return Some((index, Node::text(&format!("auto:{}", index + 1))));
        }
        match self.argument(index) {
            Some(argument) => Some((index, argument)),
            None if self.in_conversion => {
                let forward = Rc::new(Node::Forward(RefCell::new(None)));
                self.forward.push((index, forward.clone()));
                Some((index, forward))
            }
            None => None,
        }
    }
}
