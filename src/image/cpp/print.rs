//! A name's tree as text.

use std::cell::Cell;

use super::node::{Node, Reference, Tree};

/// Longer ones are no help to a reader; what substitutions say again and again would otherwise grow without end.
const LONGEST: usize = 64 << 10;

/// The most nodes that are visited: a few substitutions make a tree in which each is met as often as one likes.
const MOST_NODES: usize = 1 << 18;

struct Printer {
    text: String,
    /// Nodes that may still be visited.
    budget: Cell<usize>,
    /// Which element of packs is meant, inside of an expansion.
    element: Option<usize>,
}

/// `None` where it grows out of hand.
pub fn print(tree: &Tree) -> Option<String> {
    let mut printer = Printer { text: String::new(), budget: Cell::new(MOST_NODES), element: None };
    printer.whole(tree);
    (printer.text.len() <= LONGEST && printer.budget.get() > 0).then_some(printer.text)
}

impl Printer {
    /// Whether one more node may be visited.
    fn spend(&self) -> bool {
        let left = self.budget.get();
        self.budget.set(left.saturating_sub(1));
        left > 0
    }

    /// How many elements the packs in it have.
    fn elements(&self, tree: &Tree) -> Option<usize> {
        match &**tree {
            Node::Elements(all) => Some(all.len()),
            Node::Expansion(_) => None,
            _ if !self.spend() => None,
            other => other.children().iter().find_map(|child| self.elements(child)),
        }
    }

    /// What stands for an element of a pack, or for a parameter.
    fn resolved(&self, tree: &Tree) -> Tree {
        let argument = match &**tree {
            Node::Forward(argument) => argument.borrow().clone(),
            Node::Elements(all) => self.element.and_then(|index| all.get(index).cloned()),
            _ => None,
        };
        argument.unwrap_or_else(|| tree.clone())
    }

    fn push(&mut self, text: &str) {
        if self.text.len() <= LONGEST {
            self.text.push_str(text);
        }
    }

    fn whole(&mut self, tree: &Tree) {
        self.left(tree);
        self.right(tree);
    }

    fn list(&mut self, all: &[Tree]) {
        let mut first = true;
        for tree in all {
            let before = self.text.len();
            if !first {
                self.push(", ");
            }
            let behind = self.text.len();
            self.whole(tree);
            // An empty pack says nothing.
            if self.text.len() == behind {
                self.text.truncate(before);
            } else {
                first = false;
            }
        }
    }

    fn expansion(&mut self, of: &Tree) {
        let Some(count) = self.elements(of) else {
            self.whole(of);
            return self.push("...");
        };
        let outer = self.element;
        for index in 0..count {
            self.element = Some(index);
            if index > 0 {
                self.push(", ");
            }
            self.whole(of);
        }
        self.element = outer;
    }

    fn function(&mut self, parameters: &[Tree], qualifiers: &str) {
        self.push("(");
        self.list(parameters);
        self.push(")");
        self.push(qualifiers);
    }

    /// Whether what points to it stands in brackets.
    fn is_bracketed(&self, tree: &Tree) -> (bool, bool) {
        let tree = self.resolved(tree);
        let inner = match &*tree {
            Node::Qualified(inner, _) => self.resolved(inner),
            _ => tree,
        };
        (matches!(*inner, Node::Function { .. }), matches!(*inner, Node::Array(..)))
    }

    fn pointed(&mut self, to: &Tree, sign: &str) {
        self.left(to);
        match self.is_bracketed(to) {
            (true, _) => self.push("("),
            (_, true) => self.push(" ("),
            _ => {}
        }
        self.push(sign);
    }

    fn behind_pointed(&mut self, to: &Tree) {
        if let (true, _) | (_, true) = self.is_bracketed(to) {
            self.push(")");
        }
        self.right(to);
    }

    /// What a reference refers to, and how, references to references collapsed.
    fn collapsed(&self, to: &Tree, kind: Reference) -> (Tree, Reference) {
        let to = self.resolved(to);
        match &*to {
            Node::Reference(inner, of) => {
                self.collapsed(inner, if kind == Reference::Left { kind } else { *of })
            }
            _ => (to, kind),
        }
    }

    fn left(&mut self, tree: &Tree) {
        let tree = self.resolved(tree);
        if self.text.len() > LONGEST || !self.spend() {
            return;
        }
        match &*tree {
            Node::Text(text) => self.push(text),
            Node::Nested(scope, name) => {
                self.whole(scope);
                self.push("::");
                self.whole(name);
            }
            Node::Template(name, arguments) => {
                self.whole(name);
                // `operator<` and its arguments.
                let space = if self.text.ends_with('<') { " <" } else { "<" };
                self.push(space);
                self.list(arguments);
                let space = if self.text.ends_with('>') { " >" } else { ">" };
                self.push(space);
            }
            Node::Qualified(of, words) => {
                self.left(of);
                if !self.text.ends_with(words.as_str()) {
                    self.push(words);
                }
            }
            Node::Pointer(to) => self.pointed(to, "*"),
            Node::Reference(to, kind) => {
                let (to, kind) = self.collapsed(to, *kind);
                self.pointed(&to, if kind == Reference::Left { "&" } else { "&&" });
            }
            Node::MemberPointer(class, of) => {
                self.left(of);
                let bracketed = self.is_bracketed(of).0;
                self.push(if bracketed { "(" } else { " " });
                self.whole(class);
                self.push("::*");
            }
            Node::Function { result, .. } => {
                if let Some(result) = result {
                    self.left(result);
                    self.push(" ");
                }
            }
            Node::Array(of, _) => self.left(of),
            Node::Encoding { result, name, parameters, qualifiers } => {
                if let Some(result) = result {
                    self.left(result);
                    // The name of what returns a pointer to a function stands in its brackets.
                    let before = self.text.len();
                    self.right(result);
                    let around = self.text.len() > before;
                    self.text.truncate(before);
                    self.push(if around { "" } else { " " });
                }
                self.whole(name);
                self.function(parameters, qualifiers);
                if let Some(result) = result {
                    self.right(result);
                }
            }
            Node::Pack(all) | Node::Elements(all) | Node::List(all) => self.list(all),
            Node::Expansion(of) => self.expansion(of),
            Node::Forward(_) => {}
            Node::Sequence(parts) => parts.iter().for_each(|part| self.whole(part)),
        }
    }

    fn right(&mut self, tree: &Tree) {
        if !self.spend() {
            return;
        }
        let tree = self.resolved(tree);
        match &*tree {
            Node::Qualified(of, _) => self.right(of),
            Node::Pointer(to) => self.behind_pointed(to),
            Node::Reference(to, kind) => {
                let (to, _) = self.collapsed(to, *kind);
                self.behind_pointed(&to);
            }
            Node::MemberPointer(_, of) => {
                if self.is_bracketed(of).0 {
                    self.push(")");
                }
                self.right(of);
            }
            Node::Function { result, parameters, qualifiers } => {
                self.function(parameters, qualifiers);
                if let Some(result) = result {
                    self.right(result);
                }
            }
            Node::Array(of, extent) => {
                self.push(if self.text.ends_with(']') { "[" } else { " [" });
                self.whole(extent);
                self.push("]");
                self.right(of);
            }
            _ => {}
        }
    }
}
