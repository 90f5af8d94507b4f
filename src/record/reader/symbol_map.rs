//! Symbols by address.

use std::cmp::Reverse;

use super::Symbol;
use crate::address::RuntimeAddr;

/// A symbol and how far into it the address lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolHit<'a> {
    pub symbol: &'a Symbol,
    /// In bytes from its start.
    pub offset: u64,
}

/// Symbols in order of start; of those with one start, the one to prefer is last.
#[derive(Debug, Default)]
pub(super) struct SymbolMap {
    symbols: Vec<Symbol>,
    /// The furthest that any symbol up to this one reaches: where to stop looking back.
    reach: Vec<u64>,
}

impl SymbolMap {
    /// `symbols` in the order recorded: of two aliases the first counts.
    pub(super) fn new(symbols: Vec<Symbol>) -> Self {
        let mut numbered: Vec<_> = symbols.into_iter().enumerate().collect();
        numbered.sort_by_key(|(order, symbol)| (symbol.start, Reverse(symbol.size), Reverse(*order)));
        let mut symbols: Vec<_> = numbered.into_iter().map(|(_, symbol)| symbol).collect();
        symbols.dedup();
        let mut furthest = 0;
        let reach = symbols.iter().map(|symbol| {
            furthest = end(symbol).max(furthest);
            furthest
        });
        let reach = reach.collect();
        Self { symbols, reach }
    }

    /// The same with `more`, which count where there is none of their start and size yet.
    pub(super) fn with(mut self, more: Vec<Symbol>) -> Self {
        self.symbols.reverse(); // of two aliases the first
        self.symbols.extend(more);
        Self::new(self.symbols)
    }

    /// The innermost symbol that `address` lies in.
    pub(super) fn find(&self, address: RuntimeAddr) -> Option<SymbolHit<'_>> {
        let upto = self.symbols.partition_point(|symbol| symbol.start <= address);
        let candidates = self.symbols[..upto].iter().zip(&self.reach[..upto]).rev();
        let (symbol, _) = candidates
            .take_while(|&(_, &reach)| reach > address.0)
            .find(|(symbol, _)| end(symbol) > address.0)?;
        Some(SymbolHit { symbol, offset: address.since(symbol.start) })
    }
}

fn end(symbol: &Symbol) -> u64 {
    symbol.start.0.saturating_add(symbol.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &str, start: u64, size: u64) -> Symbol {
        Symbol { name: name.to_owned(), raw: name.to_owned(), start: RuntimeAddr(start), size, module: None }
    }

    #[test]
    fn the_innermost_symbol_and_the_first_alias_win() {
        let map = SymbolMap::new(vec![
            symbol("outer", 0x100, 0x100),
            symbol("small", 0x120, 0x10),
            symbol("alias", 0x120, 0x10),
            symbol("small", 0x120, 0x10),
        ]);
        let name = |address| map.find(RuntimeAddr(address)).map(|hit| (hit.symbol.name.as_str(), hit.offset));
        assert_eq!(name(0xff), None);
        assert_eq!(name(0x100), Some(("outer", 0)));
        assert_eq!(name(0x125), Some(("small", 5)));
        assert_eq!(name(0x130), Some(("outer", 0x30)));
        assert_eq!(name(0x1ff), Some(("outer", 0xff)));
        assert_eq!(name(0x200), None);
    }

    #[test]
    fn symbols_that_are_added_give_way_to_those_there_are() {
        let map = SymbolMap::new(vec![symbol("first", 16, 4), symbol("alias", 16, 4)]);
        let map = map.with(vec![symbol("late", 16, 4), symbol("other", 32, 4)]);
        let name = |address| map.find(RuntimeAddr(address)).map(|hit| hit.symbol.name.clone());
        assert_eq!(name(16).as_deref(), Some("first"));
        assert_eq!(name(33).as_deref(), Some("other"));
        assert_eq!(name(48), None);
    }
}
