//! C++ names as their mangled form says them (Itanium C++ ABI, 5.1), in the spelling of `nm -C`.
//!
//! `cpp_demangle` 0.5 loses the first parameter of constructor templates and the references of all but the first in a pack,
//! and refuses what GCC writes for members of templates in expressions; so names go through here first.

mod expression;
mod literal;
mod name;
mod node;
mod operators;
mod parameters;
mod parser;
mod print;
mod substitution;
#[cfg(test)]
mod tests;
mod types;
mod unqualified;

pub use parser::demangle;
