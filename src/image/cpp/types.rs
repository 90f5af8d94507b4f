//! `<type>` (5.1.5).

use std::rc::Rc;

use super::node::{Node, Reference, Tree};
use super::parser::Parser;

impl Parser<'_> {
    /// `<CV-qualifiers>` in words.
    pub fn qualifiers(&mut self) -> String {
        let mut words = String::new();
        for (code, word) in [("r", " restrict"), ("V", " volatile"), ("K", " const")] {
            if self.take(code) {
                words.insert_str(0, word);
            }
        }
        words
    }

    pub fn type_(&mut self) -> Option<Tree> {
        self.nested(Self::any_type)
    }

    fn any_type(&mut self) -> Option<Tree> {
        if let Some(name) = self.builtin() {
            return Some(Node::text(name));
        }
        let tree = match self.peek() {
            b'r' | b'V' | b'K' => self.qualified()?,
            b'P' => self.behind(Node::Pointer)?,
            b'R' => self.behind(|to| Node::Reference(to, Reference::Left))?,
            b'O' => self.behind(|to| Node::Reference(to, Reference::Right))?,
            b'C' => self.behind(|of| Node::Sequence(vec![of, Node::text(" _Complex")]))?,
            b'G' => self.behind(|of| Node::Sequence(vec![of, Node::text(" _Imaginary")]))?,
            b'F' => self.function_type(String::new())?,
            b'A' => self.array()?,
            b'M' => {
                self.take("M");
                let class = self.type_()?;
                Rc::new(Node::MemberPointer(class, self.type_()?))
            }
            b'T' if !matches!(self.rest.get(1), Some(b's' | b'u' | b'e')) => {
                let parameter = self.parameter_type()?;
                if self.peek() == b'I' && !self.in_conversion {
                    self.substitutions.push(parameter.clone());
                    Rc::new(Node::Template(parameter, self.template_arguments(false)?))
                } else {
                    parameter
                }
            }
            b'D' => match self.with_letter()? {
                (tree, false) => return Some(tree),
                (tree, true) => tree,
            },
            b'S' if !self.starts_with("St") => {
                let known = self.substitution()?;
                if self.peek() != b'I' {
                    return Some(known);
                }
                Rc::new(Node::Template(known, self.template_arguments(false)?))
            }
            b'u' => {
                self.take("u");
                self.source_name()?
            }
            b'U' if !self.starts_with("Ul") && !self.starts_with("Ut") => {
                self.take("U");
                let word = self.source_name()?;
                let tree = self.type_()?;
                Rc::new(Node::Sequence(vec![tree, Node::text(" "), word]))
            }
            b'T' => {
                self.rest = self.rest.get(2..)?;
                self.name(None)?
            }
            _ => self.name(None)?,
        };
        self.substitutions.push(tree.clone());
        Some(tree)
    }

    fn behind(&mut self, make: impl FnOnce(Tree) -> Node) -> Option<Tree> {
        self.rest = self.rest.get(1..)?;
        Some(Rc::new(make(self.type_()?)))
    }

    fn qualified(&mut self) -> Option<Tree> {
        let words = self.qualifiers();
        if self.peek() == b'F' {
            return self.function_type(words);
        }
        Some(Rc::new(Node::Qualified(self.type_()?, words)))
    }

    /// What begins with `D`, and whether it is a substitution candidate.
    fn with_letter(&mut self) -> Option<(Tree, bool)> {
        const BUILTIN: [(&str, &str); 12] = [
            ("Da", "auto"),
            ("Dc", "decltype(auto)"),
            ("Dd", "decimal64"),
            ("De", "decimal128"),
            ("Df", "decimal32"),
            ("Dh", "half"),
            ("Di", "char32_t"),
            ("Dn", "decltype(nullptr)"),
            ("Ds", "char16_t"),
            ("Du", "char8_t"),
            ("DF16_", "_Float16"),
            ("DF16b", "std::bfloat16_t"),
        ];
        if let Some((_, name)) = BUILTIN.into_iter().find(|(code, _)| self.take(code)) {
            return Some((Node::text(name), false));
        }
        if self.take("Dp") {
            return Some((Rc::new(Node::Expansion(self.type_()?)), true));
        }
        if self.starts_with("DT") || self.starts_with("Dt") {
            return Some((self.decltype()?, true));
        }
        if self.take("Do") {
            return Some((self.function_type(" noexcept".to_owned())?, true));
        }
        if self.take("Dv") {
            let count = self.digits()?;
            self.take("_").then_some(())?;
            let of = self.type_()?;
            let words = Node::text(&format!(" __vector({count})"));
            return Some((Rc::new(Node::Sequence(vec![of, words])), true));
        }
        if self.take("DF") {
            let bits = self.digits()?;
            let extended = self.take("x");
            (extended || self.take("_")).then_some(())?;
            return Some((Node::text(&format!("_Float{bits}{}", if extended { "x" } else { "" })), false));
        }
        None
    }

    pub fn decltype(&mut self) -> Option<Tree> {
        self.rest = self.rest.get(2..)?;
        let expression = self.expression()?;
        self.take("E").then_some(())?;
        Some(Rc::new(Node::Sequence(vec![Node::text("decltype ("), expression, Node::text(")")])))
    }

    fn function_type(&mut self, mut qualifiers: String) -> Option<Tree> {
        self.take("F").then_some(())?;
        self.take("Y"); // extern "C"
        let result = Some(self.type_()?);
        let mut parameters = Vec::new();
        if !self.take("v") {
            while !matches!(self.peek(), b'E' | 0) && !self.starts_with("RE") && !self.starts_with("OE") {
                parameters.push(self.type_()?);
            }
        }
        if self.take("R") {
            qualifiers.push_str(" &");
        } else if self.take("O") {
            qualifiers.push_str(" &&");
        }
        self.take("E").then_some(())?;
        Some(Rc::new(Node::Function { result, parameters, qualifiers }))
    }

    fn array(&mut self) -> Option<Tree> {
        self.take("A");
        let extent = match self.peek() {
            b'_' => Node::text(""),
            b'0'..=b'9' => Node::text(&self.digits()?.to_string()),
            _ => self.expression()?,
        };
        self.take("_").then_some(())?;
        Some(Rc::new(Node::Array(self.type_()?, extent)))
    }

    fn builtin(&mut self) -> Option<&'static str> {
        let name = match self.peek() {
            b'v' => "void",
            b'w' => "wchar_t",
            b'b' => "bool",
            b'c' => "char",
            b'a' => "signed char",
            b'h' => "unsigned char",
            b's' => "short",
            b't' => "unsigned short",
            b'i' => "int",
            b'j' => "unsigned int",
            b'l' => "long",
            b'm' => "unsigned long",
            b'x' => "long long",
            b'y' => "unsigned long long",
            b'n' => "__int128",
            b'o' => "unsigned __int128",
            b'f' => "float",
            b'd' => "double",
            b'e' => "long double",
            b'g' => "__float128",
            b'z' => "...",
            _ => return None,
        };
        self.rest = &self.rest[1..];
        Some(name)
    }
}
