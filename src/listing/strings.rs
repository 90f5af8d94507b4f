//! Text that a program's constants and memory operands hold.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use super::visible::is_direction;
use crate::address::RuntimeAddr;
use crate::image::elf::Elf;
use crate::record::reader::Trace;

/// Characters of a string that a row shows.
pub(super) const SHOWN: usize = 48;

/// The constants in the read-only data of a trace's modules. Memory that a program can write to is not looked at: what
/// the file holds there is not what a pointer into it meant.
#[derive(Default)]
pub struct Strings {
    data: Vec<Data>,
    cache: RefCell<HashMap<u64, Option<Rc<str>>>>,
}

struct Data {
    range: Range<RuntimeAddr>,
    bytes: Box<[u8]>,
}

impl Strings {
    /// Reads the data of those modules whose files are the ones that ran, by their build ids.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let mut strings = Self::default();
        for module in trace.modules().iter().filter(|module| !module.build_id.is_empty()) {
            let Ok(elf) = Elf::open(Path::new(&module.path)) else { continue };
            if elf.build_id() != Some(&module.build_id[..]) {
                continue;
            }
            for segment in elf.segments().iter().filter(|it| !it.executable && !it.writable) {
                let Some(bytes) = elf.bytes_at(segment.start, segment.file_size) else { continue };
                let start = segment.start.at(module.bias);
                strings.data.push(Data { range: start..start.plus(segment.file_size), bytes: bytes.into() });
            }
        }
        strings.data.sort_by_key(|data| data.range.start);
        strings
    }

    /// The C string that starts at `address`, quoted and escaped, where there is one of at least two characters.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<Rc<str>> {
        let bytes = self.bytes(address)?;
        if let Some(known) = self.cache.borrow().get(&address) {
            return known.clone();
        }
        let text = bytes.iter().position(|byte| *byte == 0).filter(|end| *end > 1);
        let text: Option<Rc<str>> = text.and_then(|end| quoted(&bytes[..end])).map(Into::into);
        self.cache.borrow_mut().insert(address, text.clone());
        text
    }

    /// The C string that starts at `address`, whatever it consists of.
    #[must_use]
    pub fn text(&self, address: u64) -> Option<String> {
        let bytes = self.bytes(address)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(escaped(&bytes[..end]))
    }

    /// The `length` bytes at `address`, quoted and escaped.
    #[must_use]
    pub fn buffer(&self, address: u64, length: u64) -> Option<String> {
        Some(escaped(self.bytes(address)?.get(..usize::try_from(length).ok()?)?))
    }

    /// The rest of the constants from `address` on.
    fn bytes(&self, address: u64) -> Option<&[u8]> {
        let address = RuntimeAddr(address);
        let after = self.data.partition_point(|data| data.range.start <= address);
        let data = self.data[..after].last().filter(|data| address < data.range.end)?;
        data.bytes.get(address.since(data.range.start) as usize..)
    }
}

/// Bytes as a C string literal, those that are no text as octal escapes, as strace(1) writes them.
pub(super) fn escaped(bytes: &[u8]) -> String {
    let mut quoted = String::from('"');
    let mut shown = 0;
    for chunk in bytes.utf8_chunks() {
        let mut text = chunk.valid().chars().peekable();
        while let Some(c) = text.next() {
            if shown == SHOWN {
                break;
            }
            shown += 1;
            match c {
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                '\r' => quoted.push_str("\\r"),
                '"' | '\\' => quoted.extend(['\\', c]),
                c if is_plain(c) => quoted.push(c),
                c => {
                    // One digit suffices where no other one follows.
                    let short = c.is_ascii() && !text.peek().is_some_and(char::is_ascii_digit);
                    c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push_octal(&mut quoted, byte, short));
                }
            }
        }
        for byte in chunk.invalid() {
            if shown == SHOWN {
                break;
            }
            shown += 1;
            push_octal(&mut quoted, *byte, false);
        }
        if shown == SHOWN && quoted.len() > SHOWN {
            break;
        }
    }
    let all = bytes.utf8_chunks().map(|it| it.valid().chars().count() + it.invalid().len()).sum::<usize>();
    if all > shown {
        quoted.push('…');
    }
    quoted.push('"');
    quoted
}

fn push_octal(text: &mut String, byte: u8, short: bool) {
    let octal = if short { format!("\\{byte:o}") } else { format!("\\{byte:03o}") };
    text.push_str(&octal);
}

/// Whether a character stands for itself wherever a listing is shown.
fn is_plain(c: char) -> bool {
    !c.is_control() && !is_direction(c)
}

/// Bytes as a C string literal; `None` where they are no text.
pub(super) fn quoted(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let plain = |c: char| is_plain(c) || "\n\t\r".contains(c);
    if text.is_empty() || !text.chars().all(plain) {
        return None;
    }
    let mut quoted = String::from('"');
    for c in text.chars().take(SHOWN) {
        match c {
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            '"' | '\\' => quoted.extend(['\\', c]),
            c => quoted.push(c),
        }
    }
    if text.chars().count() > SHOWN {
        quoted.push('…');
    }
    quoted.push('"');
    Some(quoted)
}

/// What an operand of these bytes reads as: `'h'`, or `"hello"` where at least four characters are followed by nothing
/// but zeros; in a vector, by a zero. Pointers often consist of printable bytes and are none.
#[must_use]
pub fn operand(bytes: &[u8]) -> Option<String> {
    let printable = |byte: &u8| (b' '..=b'~').contains(byte);
    if let [byte] = bytes {
        let c = char::from(*byte);
        return printable(byte).then(|| if c == '\'' { "'\\''".to_owned() } else { format!("'{c}'") });
    }
    const FEWEST: usize = 4;
    const VECTOR: usize = 8;
    let length = bytes.iter().position(|byte| !printable(byte)).unwrap_or(bytes.len());
    let rest = &bytes[length..];
    // A vector that searches a string reads beyond its end.
    let ends = if bytes.len() > VECTOR { rest.first() } else { rest.iter().find(|byte| **byte != 0) };
    if length < FEWEST || ends.is_some_and(|byte| *byte != 0) || looks_like_pointer(bytes) {
        return None;
    }
    let text = quoted(&bytes[..length])?;
    Some(if rest.iter().all(|byte| *byte == 0) { text } else { text + "…" })
}

/// Whether Linux gives programs such addresses: position-independent programs and their heap from 0x55…, everything
/// mapped and the stack below 0x7fff… (`arch/x86/include/asm/elf.h`, ELF_ET_DYN_BASE; `mmap_base`).
fn looks_like_pointer(bytes: &[u8]) -> bool {
    let Ok(bytes) = <[u8; 8]>::try_from(bytes) else { return false };
    let value = u64::from_le_bytes(bytes);
    (0x5500_0000_0000..0x5700_0000_0000).contains(&value) || (0x7000_0000_0000..1 << 47).contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_that_are_text() {
        assert_eq!(operand(b"h").as_deref(), Some("'h'"));
        assert_eq!(operand(b"'").as_deref(), Some("'\\''"));
        assert_eq!(operand(b"\x01"), None);
        assert_eq!(operand(b"hello\0\0\0").as_deref(), Some("\"hello\""));
        assert_eq!(operand(b"say \"hi\"").as_deref(), Some("\"say \\\"hi\\\"\""));
        assert_eq!(operand(b"abc\0"), None, "too short to be sure");
        assert_eq!(operand(b"hello\0wo"), None, "two things in one");
        assert_eq!(operand(b"hello, world\0abc").as_deref(), Some("\"hello, world\"…"));
        assert_eq!(operand(b"hello\x01234567890"), None);
        assert_eq!(operand(&0x5555_5555_6040_u64.to_le_bytes()), None, "a pointer");
    }

    #[test]
    fn bytes_that_are_no_text_are_escaped() {
        assert_eq!(escaped(b"a\0b\x01\x7f\xff|\n"), r#""a\0b\1\177\377|\n""#);
        assert_eq!(escaped(b"\x001"), r#""\0001""#, "a digit follows");
        assert_eq!(
            escaped("\u{20ac}\u{202e}".as_bytes()),
            "\"\u{20ac}\\342\\200\\256\"",
            "no change of direction"
        );
        assert_eq!(escaped(b""), "\"\"");
        let long = escaped(&[0xff; 60]);
        assert!(long.ends_with("\\377…\"") && long.matches("\\377").count() == SHOWN, "{long}");
    }

    #[test]
    fn constants_of_the_file_that_ran() {
        let data =
            Data { range: RuntimeAddr(0x1000)..RuntimeAddr(0x1010), bytes: (*b"hello, world\n\0ab").into() };
        let strings = Strings { data: vec![data], ..Strings::default() };
        assert_eq!(strings.at(0x1007).as_deref(), Some("\"world\\n\""));
        assert_eq!(strings.at(0x100c), None, "one character");
        assert_eq!(strings.at(0x100e), None, "no end");
        assert_eq!(strings.at(0x1010), None);
        assert_eq!(strings.at(0xfff), None);
        assert_eq!(strings.buffer(0x1000, 5).as_deref(), Some("\"hello\""));
        assert_eq!(strings.buffer(0x1000, 99), None);
    }
}
