//! One line of text per row, as `explorer.js` takes it apart.
//!
//! - `#call⇥thread⇥name⇥registers`: a call begins; all but the number are missing where its beginning is.
//! - `!kind⇥words`: a marker.
//! - `n⇥code⇥depth⇥before⇥after⇥memory⇥more`: a step. `n` is left out where it is one more than the one before, and
//!   empty fields at the end are. `before` are registers that changed unseen since the last step, `after` those that the
//!   step changed, `?` where they are not known; both as `index=value`, 16 for the flags. Memory is
//!   `access size@address=value`. `more` is an object: `x` iterations, `s` system call, `a` arrow, `m` the mark behind the
//!   number, `b` a verdict that is not as expected, `v` remarks, `t` strings that registers point to, by index.
//!
//! Values are hexadecimal without a prefix; what may hold any character is JSON.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::page::script_json;
use super::tables::Tables;
use crate::listing::cells::taken;
use crate::listing::code::Code;
use crate::listing::hex;
use crate::listing::line::Line;
use crate::listing::palette::Palette;
use crate::listing::place::Place;
use crate::listing::rows::{MarkerRow, Occasion, Row, StepRow};
use crate::listing::source::Sources;
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
    codes: Vec<Rc<Code>>,
    /// Index of each instruction; the table keeps them alive, so that no address is used twice.
    known: HashMap<*const Code, usize>,
    line: String,
    call: Option<u64>,
    /// The number of the last step.
    n: u64,
    /// Registers as the page knows them.
    registers: Registers,
}

impl<'t> RowLines<'t> {
    #[must_use]
    pub fn new(trace: &'t Trace) -> Self {
        Self {
            trace,
            strings: Strings::of(trace),
            codes: Vec::new(),
            known: HashMap::new(),
            line: String::new(),
            call: None,
            n: 0,
            registers: Registers::default(),
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
    pub fn tables(&self, trace: &Trace, source: Option<&Sources>) -> Tables {
        Tables::new(trace, &self.codes, source)
    }

    fn begin(&mut self, first: &Row) {
        let _ = write!(self.line, "#{}", first.call());
        if let Row::Marker(row) = first
            && let Occasion::Recorded(Marker::Enter { registers, .. }) = &row.occasion
        {
            let name = Place::of(self.trace, registers.rip).full(registers.rip);
            let _ = write!(self.line, "\t{}\t{}\t", row.thread, text(&name));
            for value in registers.general {
                let _ = write!(self.line, "{value:x},");
            }
            let _ = write!(self.line, "{:x}", registers.rflags);
            self.registers = *registers;
        }
        self.line.push('\n');
    }

    fn step(&mut self, row: &StepRow) {
        let entry = &row.entry;
        if entry.n != self.n + 1 {
            let _ = write!(self.line, "{}", entry.n);
        }
        self.n = entry.n;
        let code = self.code(&row.code);
        let _ = write!(self.line, "\t{code}\t{}\t", entry.depth);
        if let Some(before) = entry.before() {
            push_changes(&mut self.line, &self.registers, before);
            self.registers = *before;
        }
        self.line.push('\t');
        match &entry.registers {
            Some(change) => {
                push_changes(&mut self.line, &change.before, &change.after);
                self.registers = change.after;
            }
            None => self.line.push('?'),
        }
        self.line.push('\t');
        for (i, memory) in entry.memory.iter().enumerate() {
            if i > 0 {
                self.line.push(';');
            }
            push_memory(&mut self.line, memory);
        }
        self.line.push('\t');
        let more = self.more(row);
        if !more.is_empty() {
            self.line.push_str(&script_json(&more).unwrap_or_default());
        }
        let kept = self.line.trim_end_matches('\t').len();
        self.line.truncate(kept);
        self.line.push('\n');
    }

    fn code(&mut self, code: &Rc<Code>) -> usize {
        let codes = &mut self.codes;
        *self.known.entry(Rc::as_ptr(code)).or_insert_with(|| {
            codes.push(Rc::clone(code));
            codes.len() - 1
        })
    }

    fn more(&self, row: &StepRow) -> Map<String, Value> {
        let entry = &row.entry;
        let mut more = Map::new();
        let mut put = |key: &str, value: Value| _ = more.insert(key.to_owned(), value);
        if let Some(count) = entry.count {
            put("x", json!(count));
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
            Verdict::Reconstructed => put("m", json!("~")),
            verdict => {
                put("m", json!("!"));
                put("b", json!(1));
                put("v", json!(names::verdict(verdict)));
            }
        }
        if entry.differs_from_file {
            put("v", json!("≠ file"));
        }
        let mut texts = Map::new();
        if let Some(change) = &entry.registers {
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

fn push_memory(line: &mut String, memory: &MemoryAccess) {
    let access = match memory.access {
        Access::Read => 'r',
        Access::Write => 'w',
        Access::ReadWrite => 'u',
    };
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
