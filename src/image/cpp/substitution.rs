//! `<substitution>` (5.1.10): what was said before, and abbreviations of the standard library's names.

use super::node::{Node, Tree};
use super::parser::Parser;

impl Parser<'_> {
    pub fn substitution(&mut self) -> Option<Tree> {
        self.take("S").then_some(())?;
        let next = self.rest.get(1).copied().unwrap_or(0);
        // A constructor's name is that of the class, so that the class is said.
        let whole = matches!(next, b'C' | b'D');
        let short = match self.peek() {
            b'a' => "std::allocator",
            b'b' => "std::basic_string",
            b's' if whole => "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
            b'i' if whole => "std::basic_istream<char, std::char_traits<char> >",
            b'o' if whole => "std::basic_ostream<char, std::char_traits<char> >",
            b'd' if whole => "std::basic_iostream<char, std::char_traits<char> >",
            b's' => "std::string",
            b'i' => "std::istream",
            b'o' => "std::ostream",
            b'd' => "std::iostream",
            _ => {
                let index = self.index(36)?;
                let parameter = self.parameters_said.iter().find(|(at, _)| *at == index && !self.in_lambda);
                let argument = parameter.and_then(|(_, parameter)| self.argument(*parameter));
                return argument.or_else(|| self.substitutions.get(index).cloned());
            }
        };
        self.rest = &self.rest[1..];
        self.abi_tags(Node::text(short))
    }
}
