//! Where the reading of a name stands, and where it begins.

use std::rc::Rc;

use super::node::{Node, Tree};
use super::print::print;

/// How deep a name nests; deeper ones stay as they are.
const DEEPEST: usize = 128;

/// The most substitutions that are kept; names of programs have dozens.
const MOST: usize = 4096;

/// What is said of an encoding's name beside the name.
#[derive(Debug, Default)]
pub struct About {
    /// Its last component has template arguments.
    pub template: bool,
    /// It is a constructor, a destructor or a conversion, whose result is not in the name.
    pub without_result: bool,
    /// ` const`, ` &` of a member function.
    pub qualifiers: String,
}

#[derive(Default)]
pub struct Parser<'a> {
    pub rest: &'a [u8],
    pub substitutions: Vec<Tree>,
    /// Which substitutions are a parameter of a template: a function within another has its own.
    pub parameters_said: Vec<(usize, usize)>,
    /// The arguments of the innermost function template.
    pub arguments: Vec<Tree>,
    /// Parameters of a lambda are being read: what they are made of is `auto`.
    pub in_lambda: bool,
    /// The type of a conversion is being read, and the arguments follow it.
    pub in_conversion: bool,
    /// Parameters whose arguments are still to come.
    pub forward: Vec<(usize, Tree)>,
    depth: usize,
}

/// The name in C++; `None` for what is none, or is not understood.
#[must_use]
pub fn demangle(mangled: &str) -> Option<String> {
    let rest = mangled.strip_prefix("_Z").or_else(|| mangled.strip_prefix("__Z"))?;
    let mut parser = Parser { rest: rest.as_bytes(), ..Parser::default() };
    let tree = parser.encoding(true)?;
    if !parser.rest.is_empty() {
        return None;
    }
    print(&tree)
}

impl Parser<'_> {
    pub fn peek(&self) -> u8 {
        self.rest.first().copied().unwrap_or(0)
    }

    pub fn starts_with(&self, text: &str) -> bool {
        self.rest.starts_with(text.as_bytes())
    }

    pub fn take(&mut self, text: &str) -> bool {
        let found = self.starts_with(text);
        if found {
            self.rest = &self.rest[text.len()..];
        }
        found
    }

    /// One more level down.
    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= DEEPEST || self.substitutions.len() > MOST {
            return None;
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub fn digits(&mut self) -> Option<usize> {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(count);
        let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
        self.rest = rest;
        Some(number)
    }

    /// `<seq-id>` or a number and an underscore: nothing is 0, then comes 1 (5.1.10).
    pub fn index(&mut self, radix: u32) -> Option<usize> {
        let end = self.rest.iter().position(|byte| *byte == b'_')?;
        let text = std::str::from_utf8(&self.rest[..end]).ok()?;
        let lower = text.bytes().any(|byte| byte.is_ascii_lowercase());
        let index = match text {
            "" => 0,
            _ if lower => return None,
            _ => usize::from_str_radix(text, radix).ok()?.checked_add(1)?,
        };
        self.rest = &self.rest[end + 1..];
        Some(index)
    }

    pub fn until_end(&mut self, item: impl Fn(&mut Self) -> Option<Tree>) -> Option<Vec<Tree>> {
        let mut all = Vec::new();
        while !self.take("E") {
            if self.rest.is_empty() {
                return None;
            }
            all.push(item(self)?);
        }
        Some(all)
    }

    /// `<encoding>` (5.1.3); the result of the function around a local name is not said.
    pub fn encoding(&mut self, outermost: bool) -> Option<Tree> {
        self.nested(|parser| {
            let outer = std::mem::take(&mut parser.arguments);
            let tree = parser.function(outermost);
            parser.arguments = outer;
            tree
        })
    }

    fn function(&mut self, outermost: bool) -> Option<Tree> {
        if let Some(special) = self.special()? {
            return Some(special);
        }
        let mut about = About::default();
        let name = self.name(Some(&mut about))?;
        for (index, forward) in std::mem::take(&mut self.forward) {
            if let Node::Forward(slot) = &*forward {
                *slot.borrow_mut() = Some(self.argument(index)?);
            }
        }
        if self.rest.is_empty() || self.peek() == b'E' {
            return Some(name);
        }
        let has_result = about.template && !about.without_result;
        let result = if has_result { Some(self.type_()?) } else { None };
        let parameters = self.parameters()?;
        let result = result.filter(|_| outermost);
        Some(Rc::new(Node::Encoding { result, name, parameters, qualifiers: about.qualifiers }))
    }

    /// `<special-name>` (5.1.4): what the compiler makes for a type or function.
    fn special(&mut self) -> Option<Option<Tree>> {
        const OF_TYPES: [(&str, &str); 5] = [
            ("TV", "vtable for "),
            ("TT", "VTT for "),
            ("TI", "typeinfo for "),
            ("TS", "typeinfo name for "),
            ("TF", "typeinfo fn for "),
        ];
        const OF_NAMES: [(&str, &str); 3] = [
            ("TH", "TLS init function for "),
            ("TW", "TLS wrapper function for "),
            ("GV", "guard variable for "),
        ];
        let prefixed =
            |words: &str, of: Tree| Some(Some(Rc::new(Node::Sequence(vec![Node::text(words), of]))));
        for (code, words) in OF_TYPES {
            if self.take(code) {
                return prefixed(words, self.type_()?);
            }
        }
        for (code, words) in OF_NAMES {
            if self.take(code) {
                return prefixed(words, self.name(None)?);
            }
        }
        if self.take("Tc") {
            self.offset()?;
            self.offset()?;
            return prefixed("covariant return thunk to ", self.encoding(true)?);
        }
        if self.starts_with("Th") || self.starts_with("Tv") {
            let words = if self.starts_with("Th") { "non-virtual thunk to " } else { "virtual thunk to " };
            self.take("T");
            self.offset()?;
            return prefixed(words, self.encoding(true)?);
        }
        if self.take("GTt") {
            return prefixed("transaction clone for ", self.encoding(true)?);
        }
        if self.take("TC") {
            let within = self.type_()?;
            self.digits()?;
            let class = self.take("_").then(|| self.type_()).flatten()?;
            let parts = vec![Node::text("construction vtable for "), class, Node::text("-in-"), within];
            return Some(Some(Rc::new(Node::Sequence(parts))));
        }
        if self.take("GR") {
            let name = self.name(None)?;
            let number = self.index(36).unwrap_or(0);
            return prefixed(&format!("reference temporary #{number} for "), name);
        }
        let known = !matches!(self.peek(), b'T' | b'G');
        known.then_some(None)
    }

    /// `<call-offset>`
    fn offset(&mut self) -> Option<()> {
        let virtual_too = self.take("v");
        if !virtual_too && !self.take("h") {
            return None;
        }
        for _ in 0..1 + usize::from(virtual_too) {
            self.take("n");
            self.digits()?;
            self.take("_").then_some(())?;
        }
        Some(())
    }
}
