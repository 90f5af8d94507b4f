//! `<expression>` (5.1.6).

use std::rc::Rc;

use super::node::{Node, Tree};
use super::operators;
use super::parser::{About, Parser};

fn sequence(parts: Vec<Tree>) -> Tree {
    Rc::new(Node::Sequence(parts))
}

/// An operand, in brackets unless it is a name.
fn operand(tree: Tree) -> Tree {
    let simple = match &*tree {
        Node::Text(_) => true,
        Node::Nested(_, name) => !matches!(**name, Node::Template(..)),
        _ => false,
    };
    if simple { tree } else { sequence(vec![Node::text("("), tree, Node::text(")")]) }
}

fn list(all: Vec<Tree>) -> Tree {
    Rc::new(Node::List(all))
}

impl Parser<'_> {
    pub fn expression(&mut self) -> Option<Tree> {
        self.nested(Self::any_expression)
    }

    fn any_expression(&mut self) -> Option<Tree> {
        /// Keyword, and whether a type stands in the brackets.
        const ASKING: [(&str, &str, bool); 6] = [
            ("st", "sizeof ", true),
            ("sz", "sizeof ", false),
            ("at", "alignof ", true),
            ("az", "alignof ", false),
            ("ti", "typeid ", true),
            ("te", "typeid ", false),
        ];
        const CASTS: [(&str, &str); 4] =
            [("dc", "dynamic_cast"), ("sc", "static_cast"), ("cc", "const_cast"), ("rc", "reinterpret_cast")];
        let brackets =
            |before: &str, inner, after: &str| sequence(vec![Node::text(before), inner, Node::text(after)]);
        match self.peek() {
            b'L' => return self.literal(),
            b'T' => return self.template_parameter(),
            b'0'..=b'9' => return self.simple_name(),
            _ => {}
        }
        if self.starts_with("fp")
            || self.starts_with("fL") && self.rest.get(2).is_some_and(u8::is_ascii_digit)
        {
            return self.function_parameter();
        }
        for (code, word, of_type) in ASKING {
            if self.take(code) {
                let of = if of_type { self.type_()? } else { self.expression()? };
                return Some(sequence(vec![Node::text(word), brackets("(", of, ")")]));
            }
        }
        for (code, word) in CASTS {
            if self.take(code) {
                let to = self.type_()?;
                let of = self.expression()?;
                return Some(sequence(vec![brackets(&format!("{word}<"), to, ">("), of, Node::text(")")]));
            }
        }
        if self.take("gs") {
            return Some(sequence(vec![Node::text("::"), self.expression()?]));
        }
        if self.take("sr") {
            return self.member();
        }
        if self.take("on") {
            return self.simple_name();
        }
        if self.take("sp") {
            return Some(Rc::new(Node::Expansion(self.expression()?)));
        }
        if self.take("sZ") {
            let of = self.expression()?;
            let count = match &*of {
                Node::Elements(all) => Node::text(&all.len().to_string()),
                _ => brackets("sizeof...(", of, ")"),
            };
            return Some(count);
        }
        if self.take("cl") {
            let called = self.expression()?;
            let called = operand(called);
            let arguments = self.until_end(Self::expression)?;
            return Some(sequence(vec![called, brackets("(", list(arguments), ")")]));
        }
        if self.take("cv") {
            let to = self.type_()?;
            let of = match self.take("_") {
                true => {
                    sequence(vec![Node::text("("), list(self.until_end(Self::expression)?), Node::text(")")])
                }
                false => operand(self.expression()?),
            };
            return Some(sequence(vec![brackets("(", to, ")"), of]));
        }
        if self.take("tl") {
            let of = self.type_()?;
            let values = self.until_end(Self::expression)?;
            return Some(sequence(vec![of, brackets("{", list(values), "}")]));
        }
        if self.take("il") {
            let values = self.until_end(Self::expression)?;
            return Some(brackets("{", list(values), "}"));
        }
        if self.take("ix") {
            let of = operand(self.expression()?);
            return Some(sequence(vec![of, brackets("[", self.expression()?, "]")]));
        }
        if self.take("qu") {
            let [asked, one, other] =
                [self.expression()?, self.expression()?, self.expression()?].map(operand);
            return Some(sequence(vec![asked, Node::text("?"), one, Node::text(" : "), other]));
        }
        self.with_operator()
    }

    fn with_operator(&mut self) -> Option<Tree> {
        let operator = operators::find(self.rest).filter(|operator| operator.operands > 0)?;
        self.rest = &self.rest[2..];
        let word = operator.name.starts_with(|first: char| first.is_ascii_lowercase());
        let name = Node::text(&format!("{}{}", operator.name, if word { " " } else { "" }));
        if operator.operands == 1 {
            let suffix = matches!(operator.name, "++" | "--") && !self.take("_");
            let of = self.expression()?;
            let of = match &*of {
                // The address of a function names it without its parameters.
                Node::Encoding { name, qualifiers, .. }
                    if operator.name == "&"
                        && qualifiers.is_empty()
                        && matches!(**name, Node::Nested(..)) =>
                {
                    name.clone()
                }
                _ => of,
            };
            let of = operand(of);
            return Some(sequence(if suffix { vec![of, name] } else { vec![name, of] }));
        }
        let [one, other] = [self.expression()?, self.expression()?];
        if matches!(operator.name, "." | "->") {
            return Some(sequence(vec![operand(one), name, other]));
        }
        let whole = sequence(vec![operand(one), name, operand(other)]);
        // It would end the arguments.
        Some(if operator.name == ">" {
            sequence(vec![Node::text("("), whole, Node::text(")")])
        } else {
            whole
        })
    }

    /// `<unresolved-name>` behind `sr`: Clang writes names up to an `E` where GCC writes a type.
    fn member(&mut self) -> Option<Tree> {
        let (rest, count) = (self.rest, self.substitutions.len());
        let levels = if self.peek().is_ascii_digit() { self.until_end(Self::simple_name) } else { None };
        let scope = levels
            .filter(|levels| !levels.is_empty() && self.starts_name())
            .and_then(|levels| levels.into_iter().reduce(|scope, name| Rc::new(Node::Nested(scope, name))));
        let scope = if let Some(scope) = scope {
            scope
        } else {
            self.rest = rest;
            self.substitutions.truncate(count);
            self.parameters_said.retain(|(at, _)| *at < count);
            self.type_()?
        };
        self.take("on");
        Some(Rc::new(Node::Nested(scope, self.simple_name()?)))
    }

    fn starts_name(&self) -> bool {
        self.peek().is_ascii_digit() || self.starts_with("on") || self.starts_with("dn")
    }

    /// `<simple-id>`: a name, with arguments or without.
    fn simple_name(&mut self) -> Option<Tree> {
        let name = self.unqualified(None, &mut About::default())?;
        if self.peek() != b'I' {
            return Some(name);
        }
        Some(Rc::new(Node::Template(name, self.template_arguments(false)?)))
    }

    /// `<function-param>`: where a type is made of a parameter.
    fn function_parameter(&mut self) -> Option<Tree> {
        if self.take("fpT") {
            return Some(Node::text("this"));
        }
        if self.take("fL") {
            self.digits()?;
            self.take("p").then_some(())?;
        } else {
            self.take("fp");
        }
        self.qualifiers();
        let number = self.index(10)? + 1;
        Some(Node::text(&format!("{{parm#{number}}}")))
    }
}
