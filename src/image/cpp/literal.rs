//! `<expr-primary>` (5.1.6): numbers and names as template arguments.

use std::rc::Rc;

use super::node::{Node, Tree};
use super::parser::Parser;

/// No name, so that it stands in brackets as an operand.
fn value(text: &str) -> Tree {
    Rc::new(Node::Sequence(vec![Node::text(text)]))
}

impl Parser<'_> {
    pub fn literal(&mut self) -> Option<Tree> {
        self.take("L").then_some(())?;
        if self.take("_Z") || self.take("Z") {
            let name = self.encoding(true)?;
            return self.take("E").then_some(name);
        }
        for (code, text) in
            [("b0E", "false"), ("b1E", "true"), ("DnE", "nullptr"), ("Dn0E", "(decltype(nullptr))0")]
        {
            if self.take(code) {
                return Some(value(text));
            }
        }
        let suffix = match self.peek() {
            b'i' => Some(""),
            b'j' => Some("u"),
            b'l' => Some("l"),
            b'm' => Some("ul"),
            b'x' => Some("ll"),
            b'y' => Some("ull"),
            _ => None,
        };
        let float = matches!(self.peek(), b'f' | b'd' | b'e' | b'g');
        let of = self.type_()?;
        let sign = if self.take("n") { "-" } else { "" };
        let end = self.rest.iter().position(|byte| *byte == b'E')?;
        let digits = std::str::from_utf8(&self.rest[..end]).ok()?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !plain {
            return None;
        }
        self.rest = &self.rest[end + 1..];
        if let Some(suffix) = suffix {
            return Some(value(&format!("{sign}{digits}{suffix}")));
        }
        let number = if float { format!("){sign}[{digits}]") } else { format!("){sign}{digits}") };
        Some(Rc::new(Node::Sequence(vec![Node::text("("), of, Node::text(&number)])))
    }
}
