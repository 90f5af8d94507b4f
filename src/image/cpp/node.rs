//! What a mangled name says, as a tree.

use std::cell::RefCell;
use std::rc::Rc;

pub type Tree = Rc<Node>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    Left,
    Right,
}

#[derive(Debug)]
pub enum Node {
    Text(String),
    /// Scope and what lies in it.
    Nested(Tree, Tree),
    Template(Tree, Vec<Tree>),
    /// A type and ` const`, ` volatile` behind it.
    Qualified(Tree, String),
    Pointer(Tree),
    Reference(Tree, Reference),
    /// Of a class, to a type.
    MemberPointer(Tree, Tree),
    Function {
        result: Option<Tree>,
        parameters: Vec<Tree>,
        qualifiers: String,
    },
    /// Of a type, with an extent.
    Array(Tree, Tree),
    /// A function with its parameters.
    Encoding {
        result: Option<Tree>,
        name: Tree,
        parameters: Vec<Tree>,
        qualifiers: String,
    },
    /// A parameter pack's arguments, as they are given.
    Pack(Vec<Tree>),
    /// The same where the parameter is named: each for itself in an expansion.
    Elements(Vec<Tree>),
    /// What is repeated for each element of the packs in it.
    Expansion(Tree),
    /// A template parameter whose argument comes later in the name.
    Forward(RefCell<Option<Tree>>),
    /// One after the other.
    Sequence(Vec<Tree>),
    /// With commas between.
    List(Vec<Tree>),
}

impl Node {
    pub fn text(text: &str) -> Tree {
        Rc::new(Self::Text(text.to_owned()))
    }

    /// The nodes below it.
    pub fn children(&self) -> Vec<Tree> {
        match self {
            Self::Text(_) => Vec::new(),
            Self::Nested(one, other) | Self::MemberPointer(one, other) | Self::Array(one, other) => {
                vec![one.clone(), other.clone()]
            }
            Self::Template(name, arguments) => {
                std::iter::once(name).chain(arguments).map(Rc::clone).collect()
            }
            Self::Qualified(one, _) | Self::Pointer(one) | Self::Reference(one, _) | Self::Expansion(one) => {
                vec![one.clone()]
            }
            Self::Function { result, parameters, .. } => {
                result.iter().chain(parameters).map(Rc::clone).collect()
            }
            Self::Encoding { result, name, parameters, .. } => {
                result.iter().chain([name]).chain(parameters).map(Rc::clone).collect()
            }
            Self::Forward(argument) => argument.borrow().iter().map(Rc::clone).collect(),
            Self::Pack(all) | Self::Elements(all) | Self::Sequence(all) | Self::List(all) => all.clone(),
        }
    }
}
