//! `<name>` (5.1.3): nested, local and plain.

use std::rc::Rc;

use super::node::{Node, Tree};
use super::parser::{About, Parser};

impl Parser<'_> {
    /// `about` is asked for where it is a function's own name.
    pub fn name(&mut self, about: Option<&mut About>) -> Option<Tree> {
        self.nested(|parser| match parser.peek() {
            b'N' => parser.nested_name(about),
            b'Z' => parser.local_name(about),
            _ => parser.plain_name(about),
        })
    }

    fn plain_name(&mut self, mut about: Option<&mut About>) -> Option<Tree> {
        let mut ignored = About::default();
        let name = if self.peek() == b'S' && !self.starts_with("St") {
            self.substitution()?
        } else {
            let scope = self.take("St").then(|| Node::text("std"));
            let name = self.unqualified(scope.as_ref(), about.as_deref_mut().unwrap_or(&mut ignored))?;
            let name = scope.map_or(name.clone(), |scope| Rc::new(Node::Nested(scope, name)));
            if self.peek() == b'I' {
                self.substitutions.push(name.clone());
            }
            name
        };
        if self.peek() != b'I' {
            return Some(name);
        }
        let arguments = self.template_arguments(about.is_some())?;
        if let Some(about) = about {
            about.template = true;
        }
        Some(Rc::new(Node::Template(name, arguments)))
    }

    fn nested_name(&mut self, about: Option<&mut About>) -> Option<Tree> {
        self.take("N").then_some(())?;
        let mut qualifiers = if self.take("H") { String::new() } else { self.qualifiers() };
        if self.take("R") {
            qualifiers.push_str(" &");
        } else if self.take("O") {
            qualifiers.push_str(" &&");
        }
        let own = about.is_some();
        let mut ignored = About::default();
        let said = about.unwrap_or(&mut ignored);
        let mut scope: Option<Tree> = None;
        while !self.take("E") {
            said.template = self.peek() == b'I';
            if self.take("M") {
                continue; // what follows is initialised there
            }
            scope = Some(match (self.peek(), scope) {
                (b'I', Some(name)) => Rc::new(Node::Template(name, self.template_arguments(own)?)),
                (b'T', None) => self.parameter_type()?,
                (b'D', None) if self.starts_with("DT") || self.starts_with("Dt") => self.decltype()?,
                (b'S', None) if self.take("St") => {
                    scope = Some(Node::text("std"));
                    continue;
                }
                (b'S', None) => {
                    scope = Some(self.substitution()?);
                    continue;
                }
                (_, scope) => {
                    let name = self.unqualified(scope.as_ref(), said)?;
                    scope.map_or(name.clone(), |scope| Rc::new(Node::Nested(scope, name)))
                }
            });
            self.substitutions.extend(scope.clone());
        }
        // All of it is a candidate where it is a type only.
        self.substitutions.pop();
        said.qualifiers = qualifiers;
        scope
    }

    fn local_name(&mut self, about: Option<&mut About>) -> Option<Tree> {
        self.take("Z").then_some(())?;
        let function = self.encoding(false)?;
        self.take("E").then_some(())?;
        let within = |entity| Some(Rc::new(Node::Nested(function.clone(), entity)));
        if self.take("s") {
            self.discriminator();
            return within(Node::text("string literal"));
        }
        if self.take("d") {
            let number = self.index(10)? + 1;
            let entity = self.name(about)?;
            let words = Node::text(&format!("{{default arg#{number}}}::"));
            return within(Rc::new(Node::Sequence(vec![words, entity])));
        }
        let entity = self.name(about)?;
        self.discriminator();
        within(entity)
    }

    /// Tells names apart that one function has twice; it is not said.
    fn discriminator(&mut self) {
        let before = self.rest;
        let known = if self.take("__") {
            self.digits().is_some() && self.take("_")
        } else {
            self.take("_") && self.digit().is_some()
        };
        if !known {
            self.rest = before;
        }
    }

    fn digit(&mut self) -> Option<u8> {
        let (digit, rest) = self.rest.split_first().filter(|(byte, _)| byte.is_ascii_digit())?;
        self.rest = rest;
        Some(*digit)
    }
}
