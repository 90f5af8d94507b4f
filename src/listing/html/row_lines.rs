//! One line of text per row, as `script/data.js` takes it apart.
//!
//! - `#call⇥thread⇥name⇥registers`: a call begins; all but the number are missing where its beginning is.
//! - `!kind⇥words`: a marker.
//! - `n⇥code⇥depth⇥before⇥after⇥memory⇥more`: a step. `n` is left out where it is one more than the one before, and
//!   empty fields at the end are. `before` are registers that changed unseen since the last step, `after` those that the
//!   step changed, `?` where they are not known; both as `index=value`, 16 for the flags (in stable listings with
//!   those that are not known from bit 16 on). Memory is
//!   `access size@address=value`. `more` is an object: `x` iterations, `w` bytes of a cut operand in all, `e` where a mask chooses elements, `s` system call, `a` arrow, `m` the mark behind the
//!   number, `b` a verdict that is not as expected, `v` remarks, `t` strings that registers point to, by index.
//!
//! Values are hexadecimal without a prefix, or in stable listings `$` and an index into the table of words; what may hold
//! any character is JSON.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::page::script_json;
use super::stable_state::StableState;
use super::tables::{Instruction, Tables};
use super::words::Words;
use crate::listing::cells::taken;
use crate::listing::code::Code;
use crate::listing::hex;
use crate::listing::line::Line;
use crate::listing::loops::Folds;
use crate::listing::operand_extent::Extent;
use crate::listing::palette::Palette;
use crate::listing::place::Place;
use crate::listing::rows::{MarkerRow, Occasion, Row, StepRow};
use crate::listing::source::Sources;
use crate::listing::stable::{MASKED, StableAccess};
use crate::listing::strings::{self, Strings};
use crate::listing::{names, syscall_text};
use crate::record::marker::Marker;
use crate::record::reader::Trace;
use crate::record::step::{Access, MemoryAccess};
use crate::record::verdict::Verdict;
use crate::registers::Registers;

/// Writes lines, and collects what they refer to.
pub struct RowLines<'t> {
    trace: &'t Trace,
    strings: Strings,
    codes: Vec<Instruction>,
    /// Index of each instruction, by what it is called outside every module; the table keeps them alive, so that no address
    /// is used twice.
    known: HashMap<(*const Code, String, Option<String>), usize>,
    words: Words,
    line: String,
    call: Option<u64>,
    /// The number of the last step.
    n: u64,
    /// Registers behind the last row: those the page knows, where it shows what was recorded.
    registers: Registers,
    /// Those the page knows, where it shows what every run has.
    state: StableState,
}

impl<'t> RowLines<'t> {
    #[must_use]
    pub fn new(trace: &'t Trace) -> Self {
        Self {
            trace,
            strings: Strings::of(trace),
            codes: Vec::new(),
            known: HashMap::new(),
            words: Words::default(),
            line: String::new(),
            call: None,
            n: 0,
            registers: Registers::default(),
            state: StableState::default(),
        }
    }

    /// The row's line, or two where a call begins without a marker.
    pub fn line(&mut self, row: &Row) -> &str {
        self.line.clear();
        if self.call != Some(row.call()) {
            (self.call, self.n) = (Some(row.call()), 0);
            self.begin(row);
        }
        match row {
            Row::Step(row) => self.step(row),
            Row::Marker(MarkerRow { occasion: Occasion::Recorded(Marker::Enter { .. }), .. })
            | Row::Fold(_) => {}
            Row::Marker(row) => {
                let _ = writeln!(self.line, "!{}\t{}", row.kind, text(&row.text));
            }
        }
        &self.line
    }

    /// What the lines refer to.
    #[must_use]
    pub fn tables(&self, folds: &Folds, source: Option<&Sources>) -> Tables {
        Tables::new(folds, &self.codes, &self.words, source)
    }

    fn begin(&mut self, first: &Row) {
        let _ = write!(self.line, "#{}", first.call());
        if let Row::Marker(row) = first
            && let Occasion::Recorded(Marker::Enter { registers, .. }) = &row.occasion
        {
            let name = Place::of(self.trace, registers.rip).full(registers.rip);
            let name = row.chosen.as_deref().unwrap_or_default().to_owned() + &name;
            let _ = write!(self.line, "\t{}\t{}\t", row.thread(), text(&name));
            self.registers = *registers;
            if let Some(stable) = &row.stable {
                self.state.begin(stable, &mut self.words, &mut self.line);
            } else {
                for value in registers.general {
                    let _ = write!(self.line, "{value:x},");
                }
                let _ = write!(self.line, "{:x}", registers.rflags);
            }
        }
        self.line.push('\n');
    }

    fn step(&mut self, row: &StepRow) {
        let entry = &row.entry;
        if entry.n != self.n + 1 {
            let _ = write!(self.line, "{}", entry.n);
        }
        self.n = entry.n;
        let code = self.code(row);
        let _ = write!(self.line, "\t{code}\t{}\t", entry.depth);
        if let Some(stable) = &row.stable {
            self.state.push_before(row, stable, &self.registers, &mut self.words, &mut self.line);
        } else if let Some(before) = entry.before() {
            push_changes(&mut self.line, &self.registers, before);
        }
        self.line.push('\t');
        match &entry.registers {
            Some(change) => {
                match &row.stable {
                    Some(stable) => self.state.push_after(stable, &mut self.words, &mut self.line),
                    None => push_changes(&mut self.line, &change.before, &change.after),
                }
                self.registers = change.after;
            }
            None => self.line.push('?'),
        }
        self.line.push('\t');
        let extent = Extent::of(row);
        for (i, memory) in entry.memory.iter().enumerate().filter(|_| !extent.is_empty()) {
            if i > 0 {
                self.line.push(';');
            }
            match row.stable.as_ref().and_then(|stable| stable.memory.get(i)) {
                Some(memory) => self.push_stable_memory(memory),
                None => push_memory(&mut self.line, memory),
            }
        }
        self.line.push('\t');
        let more = self.more(row, extent);
        if !more.is_empty() {
            self.line.push_str(&script_json(&more).unwrap_or_default());
        }
        let kept = self.line.trim_end_matches('\t').len();
        self.line.truncate(kept);
        self.line.push('\n');
    }

    fn code(&mut self, row: &StepRow) -> usize {
        let (address, words) = match row.stable.as_deref() {
            Some(stable) => (stable.address.clone(), stable.instruction.clone()),
            None => Default::default(),
        };
        let codes = &mut self.codes;
        let key = (Rc::as_ptr(&row.code), address, words);
        *self.known.entry(key).or_insert_with(|| {
            codes.push(Instruction::of(row));
            codes.len() - 1
        })
    }

    fn push_stable_memory(&mut self, memory: &StableAccess) {
        let _ = write!(self.line, "{}{}@", letter(memory.access), memory.size);
        self.words.push(&mut self.line, &memory.address);
        self.line.push('=');
        self.words.push(&mut self.line, &memory.value);
    }

    fn more(&self, row: &StepRow, extent: Extent) -> Map<String, Value> {
        let entry = &row.entry;
        let mut more = Map::new();
        let mut put = |key: &str, value: Value| _ = more.insert(key.to_owned(), value);
        if let Some(count) = entry.count {
            let unknown = row.stable.as_ref().is_some_and(|stable| stable.unknown_count);
            put("x", if unknown { json!(MASKED) } else { json!(count) });
        }
        if let Some(whole) = entry.memory.iter().find_map(|memory| extent.beyond(memory.size)) {
            put("w", json!(whole));
        }
        if !entry.memory.is_empty() && extent.masked {
            put("e", json!(1));
        }
        if entry.syscall.is_some() {
            let mut line = Line::default();
            syscall_text::push(&mut line, &Palette::PLAIN, row, &self.strings);
            put("s", json!(line.as_str()));
        }
        if let Some(arrow) = taken(row) {
            put("a", json!(arrow));
        }
        match entry.verdict {
            Verdict::Exact => {}
            Verdict::Reconstructed if row.stable.is_some() => {}
            Verdict::Reconstructed => put("m", json!("~")),
            verdict => {
                put("m", json!("!"));
                put("b", json!(1));
                put("v", json!(names::verdict(verdict)));
            }
        }
        if let Some(chosen) = &row.chosen {
            put("v", json!(**chosen));
        }
        if entry.differs_from_file {
            put("v", json!("≠ file"));
        }
        let mut texts = Map::new();
        // The words of stable values have them already.
        if let Some(change) = entry.registers.as_ref().filter(|_| row.stable.is_none()) {
            let pairs = change.before.general.iter().zip(&change.after.general).enumerate();
            for (index, (_, after)) in pairs.filter(|(_, (before, after))| before != after) {
                if let Some(text) = self.strings.at(*after) {
                    texts.insert(index.to_string(), json!(&*text));
                }
            }
        }
        if !texts.is_empty() {
            put("t", Value::Object(texts));
        }
        more
    }
}

fn text(text: &str) -> String {
    script_json(&text).unwrap_or_default()
}

fn push_changes(line: &mut String, before: &Registers, after: &Registers) {
    let general = before.general.iter().zip(&after.general).enumerate();
    let flags = (before.rflags != after.rflags).then_some((16, after.rflags));
    let general =
        general.filter(|(_, (before, after))| before != after).map(|(index, (_, after))| (index, *after));
    for (i, (index, value)) in general.chain(flags).enumerate() {
        let _ = write!(line, "{}{index}={value:x}", if i > 0 { "," } else { "" });
    }
}

const fn letter(access: Access) -> char {
    match access {
        Access::Read => 'r',
        Access::Write => 'w',
        Access::ReadWrite => 'u',
    }
}

fn push_memory(line: &mut String, memory: &MemoryAccess) {
    let access = letter(memory.access);
    let bytes = memory.value.get(..usize::from(memory.size)).unwrap_or(&memory.value);
    let mut value = String::new();
    hex::push_little_endian(&mut value, bytes);
    let value = value.trim_start_matches("0x");
    let _ = write!(line, "{access}{}@{:x}={value}", memory.size, memory.address.0);
    if let Some(words) = strings::operand(bytes) {
        // A semicolon would end the operand.
        let _ = write!(line, " {}", text(&words).replace(';', "\\u003b"));
    }
}
