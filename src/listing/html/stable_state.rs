//! Registers in the words of every run, as a page knows them.

use std::fmt::Write as _;

use super::words::Words;
use crate::listing::rows::StepRow;
use crate::listing::stable::{MASKED, StableMarker, StableRow};
use crate::registers::{GENERAL_NAMES, RSP, Registers, flag};

/// What a page has been told so far in a call.
#[derive(Debug)]
pub struct StableState {
    general: [String; 16],
    /// As a reader of the rows knows them, and from bit 16 on those that are up to chance.
    rflags: u64,
}

impl Default for StableState {
    fn default() -> Self {
        let general = [const { String::new() }; 16].map(|_| MASKED.to_owned());
        Self { general, rflags: flags(0, u64::MAX) }
    }
}

impl StableState {
    /// Begins a call with the arguments it made use of, and appends all registers and the flags.
    pub fn begin(&mut self, entry: &StableMarker, words: &mut Words, line: &mut String) {
        *self = Self::default();
        "stack".clone_into(&mut self.general[RSP]);
        for (name, value) in &entry.registers {
            if let Some(index) = GENERAL_NAMES.iter().position(|known| known == name) {
                self.general[index].clone_from(value);
            }
        }
        for value in &self.general {
            words.push(line, value);
            line.push(',');
        }
        let _ = write!(line, "{:x}", self.rflags);
    }

    /// Appends what changed unseen since the last row; `last` are the registers behind that, as recorded.
    pub fn push_before(
        &mut self,
        row: &StepRow,
        stable: &StableRow,
        last: &Registers,
        words: &mut Words,
        line: &mut String,
    ) {
        let Some(before) = row.entry.before() else { return };
        let mut apart = "";
        for (index, name) in GENERAL_NAMES.into_iter().enumerate() {
            let said =
                stable.registers.iter().find(|(known, ..)| *known == name).map(|(_, it, _)| it.as_str());
            let unseen = stable.unknown >> index & 1 != 0 || before.general[index] != last.general[index];
            let Some(value) = said.or(unseen.then_some(MASKED)) else { continue };
            if self.general[index] != value {
                value.clone_into(&mut self.general[index]);
                let _ = write!(line, "{apart}{index}=");
                words.push(line, value);
                apart = ",";
            }
        }
        let rflags = flags(stable.rflags.0, stable.unknown_flags.0);
        if self.rflags != rflags {
            let _ = write!(line, "{apart}16={rflags:x}");
            self.rflags = rflags;
        }
    }

    /// Appends what the row changed.
    pub fn push_after(&mut self, stable: &StableRow, words: &mut Words, line: &mut String) {
        let mut apart = "";
        for (name, _, after) in &stable.registers {
            let Some(index) = GENERAL_NAMES.iter().position(|known| known == name) else { continue };
            self.general[index].clone_from(after);
            let _ = write!(line, "{apart}{index}=");
            words.push(line, after);
            apart = ",";
        }
        let rflags = flags(stable.rflags.1, stable.unknown_flags.1);
        if self.rflags != rflags {
            let _ = write!(line, "{apart}16={rflags:x}");
            self.rflags = rflags;
        }
    }
}

/// One number for both: the flags that listings name lie in the lowest sixteen bits.
const fn flags(known: u64, unknown: u64) -> u64 {
    const NAMED: u64 = flag::CF | flag::PF | flag::AF | flag::ZF | flag::SF | flag::DF | flag::OF;
    known & 0xffff | (unknown & NAMED) << 16
}
