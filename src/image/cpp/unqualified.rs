//! `<unqualified-name>` (5.1.3): a name without its scope.

use std::rc::Rc;

use super::node::{Node, Tree};
use super::operators;
use super::parser::{About, Parser};

impl Parser<'_> {
    /// `scope` is what the name lies in: a constructor is called as its class is.
    pub fn unqualified(&mut self, scope: Option<&Tree>, about: &mut About) -> Option<Tree> {
        self.take("L"); // internal linkage
        about.without_result = false;
        let name = match self.peek() {
            b'0'..=b'9' => self.source_name()?,
            b'C' | b'D' if !self.starts_with("DC") => {
                about.without_result = true;
                self.constructor(scope?)?
            }
            b'D' => {
                self.take("DC");
                let names = self.until_end(Self::source_name)?;
                Rc::new(Node::Sequence(vec![Node::text("["), Rc::new(Node::List(names)), Node::text("]")]))
            }
            b'U' => self.unnamed()?,
            _ => self.operator(about)?,
        };
        self.abi_tags(name)
    }

    pub fn source_name(&mut self) -> Option<Tree> {
        let length = self.digits()?;
        let name = self.rest.get(..length).filter(|name| !name.is_empty())?;
        self.rest = &self.rest[length..];
        let name = std::str::from_utf8(name).ok()?;
        let anonymous = name
            .strip_prefix("_GLOBAL_")
            .is_some_and(|rest| rest.starts_with("_N") || rest.starts_with(".N") || rest.starts_with("$N"));
        Some(Node::text(if anonymous { "(anonymous namespace)" } else { name }))
    }

    pub fn abi_tags(&mut self, mut name: Tree) -> Option<Tree> {
        while self.take("B") {
            let tag = self.source_name()?;
            name = Rc::new(Node::Sequence(vec![name, Node::text("[abi:"), tag, Node::text("]")]));
        }
        Some(name)
    }

    /// `<ctor-dtor-name>`
    fn constructor(&mut self, scope: &Tree) -> Option<Tree> {
        let destructor = self.peek() == b'D';
        self.rest = &self.rest[1..];
        let inherited = !destructor && self.take("I");
        let kind = self.peek();
        if !kind.is_ascii_digit() {
            return None;
        }
        self.rest = &self.rest[1..];
        if inherited {
            self.type_()?;
        }
        let class = base_name(scope)?;
        Some(Node::text(&if destructor { format!("~{class}") } else { class }))
    }

    /// `<unnamed-type-name>` and `<closure-type-name>` (5.1.8)
    fn unnamed(&mut self) -> Option<Tree> {
        if self.take("Ut") {
            let number = self.index(10)? + 1;
            return Some(Node::text(&format!("{{unnamed type#{number}}}")));
        }
        self.take("Ul").then_some(())?;
        let outer = std::mem::replace(&mut self.in_lambda, true);
        let parameters = self.parameters();
        self.in_lambda = outer;
        let parameters = parameters?;
        self.take("E").then_some(())?;
        let number = self.index(10)? + 1;
        let words =
            [Node::text("{lambda("), Rc::new(Node::List(parameters)), Node::text(&format!(")#{number}}}"))];
        Some(Rc::new(Node::Sequence(words.to_vec())))
    }

    /// `<operator-name>`
    pub fn operator(&mut self, about: &mut About) -> Option<Tree> {
        if self.take("cv") {
            about.without_result = true;
            let outer = std::mem::replace(&mut self.in_conversion, true);
            let to = self.type_();
            self.in_conversion = outer;
            return Some(Rc::new(Node::Sequence(vec![Node::text("operator "), to?])));
        }
        if self.take("li") {
            let suffix = self.source_name()?;
            return Some(Rc::new(Node::Sequence(vec![Node::text("operator\"\" "), suffix])));
        }
        let operator = operators::find(self.rest)?;
        self.rest = &self.rest[2..];
        let space = operator.name.starts_with(|first: char| first.is_ascii_lowercase());
        Some(Node::text(&format!("operator{}{}", if space { " " } else { "" }, operator.name)))
    }
}

/// The name of a class without its scope and template arguments.
fn base_name(class: &Node) -> Option<String> {
    match class {
        Node::Text(name) => {
            // An abbreviation is a path, with arguments or without.
            let name = name.split('<').next().unwrap_or(name);
            Some(name.rsplit("::").next().unwrap_or(name).to_owned())
        }
        Node::Nested(_, name) | Node::Template(name, _) => base_name(name),
        Node::Sequence(parts) => parts.first().and_then(|first| match &**first {
            // With its parameters a lambda has no name of its own.
            Node::Text(words) if words.starts_with('{') => None,
            first => base_name(first),
        }),
        Node::Forward(argument) => argument.borrow().as_ref().and_then(|it| base_name(it)),
        _ => None,
    }
}
