//! What the lines of an explorer refer to, each thing once.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::rc::Rc;

use serde::Serialize;

use super::words::Words;
use crate::address::RuntimeAddr;
use crate::listing::code::Code;
use crate::listing::hex;
use crate::listing::kind::Kind;
use crate::listing::loops::{Fold, Folds};
use crate::listing::options::Values;
use crate::listing::rows::StepRow;
use crate::listing::source::{Location, Sources};
use crate::listing::stable::StableRow;

/// Instructions, source lines, and loops that can be folded.
#[derive(Serialize)]
pub struct Tables {
    codes: Vec<CodeRow>,
    /// Frames of each place, the innermost first: file, line, function.
    locations: Vec<Vec<(usize, u32, Option<String>)>>,
    files: Vec<SourceFile>,
    /// Values that are no numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    words: Vec<String>,
    /// By call: first row, the row behind the last, and what is said in their place.
    folds: BTreeMap<u64, Vec<(u64, u64, String)>>,
}

/// Address (empty in a stable listing), module and offset, symbol and offset, bytes, text, kind, index of the place or -1.
#[derive(Serialize)]
struct CodeRow(String, String, String, String, String, u8, i64);

#[derive(Serialize)]
struct SourceFile {
    name: String,
    /// Absent where it cannot be read.
    lines: Option<Vec<String>>,
}

impl Tables {
    #[must_use]
    pub fn new(folds: &Folds, codes: &[Instruction], words: &Words, source: Option<&Sources>) -> Self {
        let mut places = Places { source, ..Places::default() };
        let codes = codes.iter().map(|code| code_row(code, &mut places)).collect();
        let words = words.all().to_vec();
        Self { codes, locations: places.locations, files: places.files, words, folds: by_call(folds) }
    }
}

fn by_call(folds: &Folds) -> BTreeMap<u64, Vec<(u64, u64, String)>> {
    let row = |fold: &Fold| (fold.hidden.start, fold.hidden.end, fold.text());
    folds.calls().map(|(call, folds)| (call, folds.iter().map(row).collect())).collect()
}

/// An instruction that lines refer to.
pub struct Instruction {
    code: Rc<Code>,
    values: Values,
    /// In the words of every run: where it lies, if outside every module, and its text, if that names such a place.
    address: String,
    text: Option<String>,
}

impl Instruction {
    #[must_use]
    pub fn of(row: &StepRow) -> Self {
        let code = Rc::clone(&row.code);
        match row.stable.as_deref() {
            None => Self { code, values: Values::Recorded, address: String::new(), text: None },
            Some(StableRow { address, instruction, .. }) => {
                Self { code, values: Values::Stable, address: address.clone(), text: instruction.clone() }
            }
        }
    }
}

fn code_row(instruction: &Instruction, places: &mut Places<'_>) -> CodeRow {
    let code = &instruction.code;
    let address = code.address;
    let kind = match code.kind {
        Kind::Other => 0,
        Kind::Call => 1,
        Kind::Return => 2,
        Kind::Jump => 3,
        Kind::Conditional => 4,
    };
    let RuntimeAddr(raw) = address;
    let place = code.source.as_ref().map_or(-1, |location| places.index(location) as i64);
    let symbol = code.place.in_symbol().unwrap_or_default();
    let (address, module) = match instruction.values {
        Values::Recorded => (hex::hex(raw), code.place.in_module(address)),
        Values::Stable if instruction.address.is_empty() => (String::new(), code.place.in_module(address)),
        Values::Stable => (String::new(), instruction.address.clone()),
    };
    let text = instruction.text.as_ref().unwrap_or(&code.text).clone();
    CodeRow(address, module, symbol, code.hex.clone(), text, kind, place)
}

#[derive(Default)]
struct Places<'s> {
    source: Option<&'s Sources>,
    locations: Vec<Vec<(usize, u32, Option<String>)>>,
    known: HashMap<*const Location, usize>,
    files: Vec<SourceFile>,
    file_index: HashMap<Rc<Path>, usize>,
}

impl Places<'_> {
    fn index(&mut self, location: &Rc<Location>) -> usize {
        if let Some(index) = self.known.get(&Rc::as_ptr(location)) {
            return *index;
        }
        let mut frames = Vec::new();
        for frame in &location.frames {
            frames.push((
                self.file(&frame.path, &frame.file),
                frame.line,
                frame.function.as_deref().map(str::to_owned),
            ));
        }
        self.locations.push(frames);
        let index = self.locations.len() - 1;
        self.known.insert(Rc::as_ptr(location), index);
        index
    }

    fn file(&mut self, path: &Rc<Path>, name: &str) -> usize {
        let (files, source) = (&mut self.files, self.source);
        *self.file_index.entry(Rc::clone(path)).or_insert_with(|| {
            let lines = source.and_then(|source| source.whole_file(path)).map(|lines| lines.to_vec());
            files.push(SourceFile { name: name.to_owned(), lines });
            files.len() - 1
        })
    }
}
