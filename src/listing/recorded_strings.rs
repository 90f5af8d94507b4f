//! Strings in memory that a program wrote, as far as the recorded operands hold their bytes.

use std::collections::HashMap;
use std::rc::Rc;

use super::names;
use super::strings::{SHOWN, escaped};
use super::syscall_arity;
use super::syscall_signature::{Argument, argument};
use crate::record::marker::Marker;
use crate::record::reader::StepEntry;
use crate::record::step::Syscall;

/// Words of memory kept; a trace that touches more begins anew.
const KEPT: usize = 1 << 20;
/// Bytes of which a row shows the beginning only, whatever they are.
const ENOUGH: usize = 4 * SHOWN + 1;
/// The longest string that is put together; PATH_MAX (Linux `include/uapi/linux/limits.h`).
const LONGEST: u64 = 4096;

/// The memory that rows read or wrote, and that nothing unseen may have changed since: what runs natively and the kernel
/// leave no trace of what they write.
#[derive(Default)]
pub struct RecordedStrings {
    /// The thread whose rows these are: between those of two, time has passed.
    thread: u32,
    /// Bytes by the address of their eight, and a bit for each that is known.
    words: HashMap<u64, ([u8; 8], u8)>,
}

impl RecordedStrings {
    /// Follows a row. Of a system call, the strings that its arguments point to.
    pub fn step(&mut self, step: &StepEntry) -> Option<[Option<Rc<str>>; 6]> {
        if self.thread != step.thread || self.words.len() > KEPT {
            (self.thread, self.words) = (step.thread, HashMap::new());
        }
        for memory in &step.memory {
            let bytes = memory.value.get(..usize::from(memory.size)).unwrap_or(&memory.value);
            for (address, byte) in (memory.address.0..).zip(bytes) {
                let (bytes, known) = self.words.entry(address & !7).or_default();
                bytes[(address & 7) as usize] = *byte;
                *known |= 1 << (address & 7);
            }
        }
        let texts = step.syscall.as_ref().map(|call| self.texts(call));
        if texts.is_some() {
            self.words.clear();
        }
        texts
    }

    /// Follows a marker.
    pub fn marker(&mut self, marker: &Marker) {
        if !matches!(marker, Marker::Leave { .. } | Marker::Sigreturn) {
            self.words.clear();
        }
    }

    fn texts(&self, call: &Syscall) -> [Option<Rc<str>>; 6] {
        let name = names::syscall(call.number);
        std::array::from_fn(|index| {
            let (start, length) =
                (call.arguments[index], call.arguments.get(index + 1).copied().unwrap_or(0));
            if index >= syscall_arity::arguments(call.number) {
                return None;
            }
            let bytes = match argument(&name, index) {
                Argument::Text => self.string(start),
                Argument::Bytes => self.buffer(start, length),
                _ => None,
            };
            Some(escaped(&bytes?).into())
        })
    }

    /// The bytes from `start` up to a zero, where all of them are known, or as many as are shown.
    fn string(&self, start: u64) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for address in start..start.checked_add(LONGEST)? {
            match self.byte(address) {
                Some(0) => return Some(bytes),
                Some(byte) => bytes.push(byte),
                None => break,
            }
        }
        (bytes.len() >= ENOUGH).then_some(bytes)
    }

    /// The `length` bytes from `start` on, where all of them are known, or as many as are shown.
    fn buffer(&self, start: u64, length: u64) -> Option<Vec<u8>> {
        let addresses = start..start.checked_add(length.min(LONGEST))?;
        let bytes: Vec<u8> = addresses.map_while(|at| self.byte(at)).collect();
        (bytes.len() as u64 == length || bytes.len() >= ENOUGH).then_some(bytes)
    }

    fn byte(&self, address: u64) -> Option<u8> {
        let (bytes, known) = self.words.get(&(address & !7))?;
        (known >> (address & 7) & 1 != 0).then(|| bytes[(address & 7) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::RuntimeAddr;
    use crate::check::synthetic::gcd_call;
    use crate::record::reader::Entry;
    use crate::record::step::{Access, MemoryAccess};

    /// A row that writes `text` at `address`, or makes the call.
    fn row(address: u64, text: &[u8], syscall: Option<Syscall>) -> StepEntry {
        let trace = gcd_call().read();
        let thread = trace.threads()[0];
        let step = trace.entries(thread).find_map(|entry| match entry {
            Entry::Step(step) => Some(step),
            Entry::Marker(_) => None,
        });
        let mut value = [0; 64];
        value[..text.len()].copy_from_slice(text);
        let access = MemoryAccess {
            access: Access::Write,
            address: RuntimeAddr(address),
            size: text.len() as u8,
            value,
        };
        let memory = if text.is_empty() { Vec::new() } else { vec![access] };
        StepEntry { memory, syscall, ..step.unwrap() }
    }

    fn open(path: u64) -> StepEntry {
        let arguments = [path, 0, 0, 0, 0, 0];
        row(0, b"", Some(Syscall { number: libc::SYS_open as u64, arguments, result: 3 }))
    }

    #[test]
    fn a_path_is_shown_as_long_as_nothing_unseen_may_have_changed_it() {
        let mut strings = RecordedStrings::default();
        assert_eq!(strings.step(&row(0x1003, b"/etc/", None)), None);
        strings.step(&row(0x1008, b"motd\0", None));
        assert_eq!(strings.step(&open(0x1003)).unwrap()[0].as_deref(), Some("\"/etc/motd\""));
        assert_eq!(strings.step(&open(0x1003)).unwrap()[0], None, "the call before may have written there");
        strings.step(&row(0x1003, b"/etc/motd\0", None));
        strings.marker(&Marker::Native { target: RuntimeAddr(1), resume: RuntimeAddr(2) });
        assert_eq!(strings.step(&open(0x1003)).unwrap()[0], None, "what ran natively may have");
        strings.step(&row(0x1003, b"/etc/motd", None));
        assert_eq!(strings.step(&open(0x1003)).unwrap()[0], None, "no end is known");
    }

    #[test]
    fn a_buffer_is_shown_as_long_as_the_call_takes_it() {
        let mut strings = RecordedStrings::default();
        strings.step(&row(0x1000, b"hello, world", None));
        let arguments = [1, 0x1000, 5, 0, 0, 0];
        let write = row(0, b"", Some(Syscall { number: libc::SYS_write as u64, arguments, result: 5 }));
        assert_eq!(strings.step(&write).unwrap()[1].as_deref(), Some("\"hello\""));
        let long = |strings: &mut RecordedStrings, length| {
            let call = Syscall { arguments: [1, 0x1000, length, 0, 0, 0], ..write.syscall.unwrap() };
            strings.step(&row(0, b"", Some(call))).unwrap()[1].clone()
        };
        let fill = |strings: &mut RecordedStrings| {
            for i in 0..ENOUGH as u64 {
                strings.step(&row(0x1000 + i, b"A", None));
            }
        };
        fill(&mut strings);
        let shown = long(&mut strings, 9000).unwrap();
        assert_eq!(*shown, *format!("\"{}…\"", "A".repeat(SHOWN)), "as a long path is");
        strings.step(&row(0x1000, b"AAAA", None));
        assert_eq!(long(&mut strings, 300), None, "more would be shown than is known");
    }
}
