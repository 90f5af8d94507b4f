//! Addresses in the names people know them by: module and offset, symbol and offset.

use std::borrow::Cow;
use std::rc::Rc;

use super::hex;
use super::visible::visible;
use crate::address::{ElfAddr, RuntimeAddr};
use crate::image::names::demangle;
use crate::record::reader::{Symbol, Trace};

/// Where an address lies, as far as the trace says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The module's file name and the address that its ELF file gives the place.
    pub module: Option<(Rc<str>, ElfAddr)>,
    /// The symbol's demangled name and the bytes from its start.
    pub symbol: Option<(Rc<str>, u64)>,
}

impl Place {
    /// Looks `address` up in the trace's modules and symbols.
    #[must_use]
    pub fn of(trace: &Trace, address: RuntimeAddr) -> Self {
        let module = trace
            .module(address)
            .map(|module| (visible(file_name(&module.path)).into(), address.in_elf(module.bias)));
        let symbol = trace.symbol(address).map(|hit| (visible(&name_of(hit.symbol)).into(), hit.offset));
        Self { module, symbol }
    }

    /// `a.out+0x1139`, or the bare address outside every module.
    #[must_use]
    pub fn in_module(&self, address: RuntimeAddr) -> String {
        match &self.module {
            Some((name, offset)) => format!("{name}+{offset}"),
            None => address.to_string(),
        }
    }

    /// [`Place::in_module`] with the module's name in at most `most` columns, of a long one its beginning.
    #[must_use]
    pub fn in_module_within(&self, most: usize, address: RuntimeAddr) -> String {
        match &self.module {
            Some((name, offset)) => format!("{}+{offset}", beginning(name, most)),
            None => address.to_string(),
        }
    }

    /// `gcd` at its start, `gcd+0x3` inside; `None` outside every symbol.
    #[must_use]
    pub fn in_symbol(&self) -> Option<String> {
        let (name, offset) = self.symbol.as_ref()?;
        let mut text = name.to_string();
        if *offset != 0 {
            text.push('+');
            hex::push(&mut text, *offset);
        }
        Some(text)
    }

    /// [`Place::in_symbol`] in at most `most` columns, of a long name its end.
    #[must_use]
    pub fn in_symbol_within(&self, most: usize) -> Option<String> {
        let (name, offset) = self.symbol.as_ref()?;
        let mut end = String::new();
        if *offset != 0 {
            end.push('+');
            hex::push(&mut end, *offset);
        }
        Some(shortened(name, most.saturating_sub(end.len())) + &end)
    }

    /// The shortest name that finds the place: symbol, else module, else the bare address.
    #[must_use]
    pub fn short(&self, address: RuntimeAddr) -> String {
        self.in_symbol().unwrap_or_else(|| self.in_module(address))
    }

    /// Both names: `gcd+0x3 (a.out+0x113c)`.
    #[must_use]
    pub fn full(&self, address: RuntimeAddr) -> String {
        match self.in_symbol() {
            Some(symbol) => format!("{symbol} ({})", self.in_module(address)),
            None => self.in_module(address),
        }
    }
}

/// The symbol's name as its language writes it; traces of older versions hold those of stubs as the linker has them.
#[must_use]
pub fn name_of(symbol: &Symbol) -> Cow<'_, str> {
    if symbol.name == symbol.raw && symbol.name.ends_with("@plt") {
        return demangle(&symbol.raw);
    }
    Cow::Borrowed(&symbol.name)
}

/// A name in at most `most` columns. The end of a long one says most: `…Iter<T,I>>::from_iter`.
#[must_use]
pub fn shortened(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        return name.to_owned();
    }
    std::iter::once('…').chain(name.chars().skip(length + 1 - most.max(1))).collect()
}

/// A file name in at most `most` columns. The beginning of a long one says most, and the rest is a version or a hash:
/// `libpython3.11.so…`.
#[must_use]
pub fn beginning(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    let kept: String = name.chars().take(most.saturating_sub(1)).collect();
    kept.trim_end_matches(['.', '-', '_']).to_owned() + "…"
}

/// The last component of a path; names such as `[vdso]` stay as they are.
#[must_use]
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_the_most_to_the_least_telling() {
        let address = RuntimeAddr(0x5555_5555_513c);
        let mut place =
            Place { module: Some(("a.out".into(), ElfAddr(0x113c))), symbol: Some(("gcd".into(), 3)) };
        assert_eq!(place.short(address), "gcd+0x3");
        assert_eq!(place.full(address), "gcd+0x3 (a.out+0x113c)");
        place.symbol = None;
        assert_eq!(place.full(address), "a.out+0x113c");
        place.module = None;
        assert_eq!(place.short(address), "0x55555555513c");
    }

    #[test]
    fn long_names_keep_their_end() {
        assert_eq!(shortened("gcd", 3), "gcd");
        assert_eq!(shortened("core::str::from_utf8", 10), "…from_utf8");
        assert_eq!(shortened("gcd", 0), "…");
        let place = Place { module: None, symbol: Some(("core::str::from_utf8".into(), 0x1a)) };
        assert_eq!(place.in_symbol_within(15).as_deref(), Some("…from_utf8+0x1a"));
        assert_eq!(place.in_symbol_within(99), place.in_symbol());
    }

    #[test]
    fn long_file_names_keep_their_beginning() {
        assert_eq!(beginning("libsqlite3.so.0", 17), "libsqlite3.so.0");
        assert_eq!(beginning("libpython3.11.so.1.0", 17), "libpython3.11.so…");
        assert_eq!(beginning("library-8a495ebc256baf7b", 17), "library-8a495ebc…");
        assert_eq!(beginning("ld-linux-x86-64.so.2", 17), "ld-linux-x86-64…", "no dot before the dots");
        let place = Place { module: Some(("libpython3.11.so.1.0".into(), ElfAddr(0x18_b28f))), symbol: None };
        assert_eq!(place.in_module_within(17, RuntimeAddr(0)), "libpython3.11.so…+0x18b28f");
    }

    #[test]
    fn file_names() {
        assert_eq!(file_name("/usr/lib/libc.so.6"), "libc.so.6");
        assert_eq!(file_name("[vdso]"), "[vdso]");
        assert_eq!(file_name(""), "");
    }
}
