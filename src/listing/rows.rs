//! Rows and markers with everything a format may want to show, made once.

use std::rc::Rc;

use super::by_call::{ByCall, call_of, thread_of};
use super::code::{Code, CodeTexts};
use super::compat_call;
use super::ending::Ending;
use super::leaving::{Leaving, Way};
use super::loops::Fold;
use super::markers::{self, Back};
use super::module_files::ModuleFiles;
use super::native_names::NativeNames;
use super::open_call::OpenCall;
use super::options::{Options, Values};
use super::place::Place;
use super::recorded_strings::RecordedStrings;
use super::stable::{Rewrite, StableMarker, StableRow};
use crate::address::RuntimeAddr;
use crate::check::summary::Summary;
use crate::record::marker::Marker;
use crate::record::reader::{Boundary, Entry, MarkerEntry, StepEntry, Trace};

/// One line of a listing.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all rows are steps: a box would only cost")]
pub enum Row {
    Step(StepRow),
    Marker(MarkerRow),
    /// Rows left out that repeat the ones before.
    Fold(FoldRow),
}

/// A retired instruction and its text.
#[derive(Clone, Debug)]
pub struct StepRow {
    pub entry: StepEntry,
    pub code: Rc<Code>,
    /// Where it leads to the code that the loader chose for a function: `strlen@ifunc → __strlen_avx2`.
    pub chosen: Option<Rc<str>>,
    /// Of a system call, the strings that arguments point to, as far as the rows before hold them.
    pub texts: Option<Box<[Option<Rc<str>>; 6]>>,
    /// What it did in words that every run shares, where those are wanted.
    pub stable: Option<Box<StableRow>>,
}

impl StepRow {
    /// The thread by the number that the listing has for it.
    #[must_use]
    pub fn thread(&self) -> u64 {
        self.stable.as_ref().map_or(self.entry.thread.into(), |stable| stable.thread)
    }
}

/// Iterations of a loop that a listing leaves out.
#[derive(Clone, Debug)]
pub struct FoldRow {
    pub call: u64,
    pub fold: Fold,
}

/// A marker, its kind by the JSON contract, and its words.
#[derive(Clone, Debug)]
pub struct MarkerRow {
    /// The call it happened in; 0 before the first one.
    pub call: u64,
    /// The row it came after; 0 before the first one.
    pub after: u64,
    pub thread: u32,
    pub occasion: Occasion,
    pub kind: &'static str,
    pub text: String,
    /// Of an entry into what the loader chose for a function: `strlen@ifunc → `, to stand before its name.
    pub chosen: Option<Rc<str>>,
    pub stable: Option<Box<StableMarker>>,
}

impl MarkerRow {
    /// As [`StepRow::thread`].
    #[must_use]
    pub fn thread(&self) -> u64 {
        self.stable.as_ref().map_or(self.thread.into(), |stable| stable.thread)
    }
}

/// What a marker row says.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant, reason = "one at a time is alive")]
pub enum Occasion {
    /// What the trace holds.
    Recorded(Marker),
    /// A `leave` to which no returning instruction led: the frame was discarded by longjmp or an unwinder.
    Discarded { rax: u64, xmm0: [u8; 16] },
    /// The call was open where its thread's rows end.
    CutOff(Ending),
}

impl Row {
    /// The call it belongs to; 0 before a thread's first one.
    #[must_use]
    pub const fn call(&self) -> u64 {
        match self {
            Self::Step(row) => row.entry.call,
            Self::Marker(row) => row.call,
            Self::Fold(row) => row.call,
        }
    }
}

/// A trace's rows, call by call. Holds one row per thread and the text of distinct instructions, however long
/// the trace.
pub struct Rows<'t> {
    trace: &'t Trace,
    entries: ByCall<'t>,
    codes: CodeTexts<'t>,
    /// Says rows as every run has them, where that is wanted.
    rewrite: Option<Box<Rewrite<'t>>>,
    native: NativeNames,
    leaving: Leaving,
    strings: RecordedStrings,
    summary: Summary,
    open: OpenCall,
    /// Read already, and held back by the end of the call before it.
    held: Option<Entry>,
}

impl<'t> Rows<'t> {
    #[must_use]
    pub fn new(trace: &'t Trace, options: &Options) -> Self {
        let counters = trace.counters();
        let files = Rc::new(ModuleFiles::new(options.values));
        Self {
            trace,
            entries: ByCall::new(trace),
            codes: CodeTexts::new(trace, options, Rc::clone(&files)),
            rewrite: (options.values == Values::Stable).then(|| Box::new(Rewrite::new(trace))),
            native: NativeNames::new(files),
            leaving: Leaving::default(),
            strings: RecordedStrings::default(),
            summary: Summary::of_counters(counters.all_entries(), counters.traced),
            open: OpenCall::default(),
            held: None,
        }
    }

    /// What the rows given out so far come to; the whole trace once there is no next one.
    #[must_use]
    pub const fn summary(&self) -> Summary {
        self.summary
    }

    #[inline]
    fn row(&mut self, entry: Entry) -> Row {
        match entry {
            Entry::Step(mut entry) => {
                if let Some(call) = compat_call::of(&entry) {
                    entry.syscall = Some(call);
                }
                self.summary.add_step(entry.verdict);
                let code = self.codes.of(&entry);
                let stable = self.rewrite.as_mut().map(|it| Box::new(it.step(&entry, &code)));
                let texts = self.strings.step(&entry).map(Box::new);
                let chosen = self.chosen(&code, entry.next);
                let row = StepRow { entry, code, chosen, texts, stable };
                self.leaving.step(self.trace, &row);
                self.open.step(&row);
                Row::Step(row)
            }
            Entry::Marker(entry) => {
                self.strings.marker(&entry.marker);
                Row::Marker(self.marker(&entry))
            }
        }
    }

    /// What the loader chose, where a row leads there and is followed.
    fn chosen(&mut self, code: &Code, next: RuntimeAddr) -> Option<Rc<str>> {
        let raw = code.through.as_ref()?;
        if self.trace.boundary(next) != Boundary::Start {
            return None;
        }
        let choice = self.native.choice(self.trace, raw, next)?;
        Some((choice + &Place::of(self.trace, next).short(next)).into())
    }

    /// Whether the call goes on behind a marker, or its process ended: the next entry is read ahead.
    fn goes_on(&mut self, call: u64, thread: u32) -> bool {
        if self.held.is_none() {
            self.held = self.entries.next();
        }
        let next = self.held.as_ref().filter(|entry| (call_of(entry), thread_of(entry)) == (call, thread));
        let ended = |marker: &Marker| matches!(marker, Marker::Exit { .. } | Marker::Exec);
        next.is_some_and(|entry| !matches!(entry, Entry::Marker(it) if ended(&it.marker)))
    }

    fn marker(&mut self, entry: &MarkerEntry) -> MarkerRow {
        let MarkerEntry { call, after, thread, marker } = *entry;
        self.summary.add_marker(&marker);
        let mut way = Way::Straight;
        let (occasion, text) = match marker {
            Marker::Leave { rax, xmm0 } if self.open.left_without_return() => {
                (Occasion::Discarded { rax, xmm0 }, markers::discarded(rax, xmm0))
            }
            Marker::Native { target, resume } => {
                let back = if self.goes_on(call, thread) { Back::of(resume) } else { Back::Never };
                let last = self.open.last.as_ref().map(|(_, address, code)| (*address, &**code));
                way = self.leaving.way(self.trace, last, resume);
                let text = self.native.text(self.trace, &way, target, back);
                (Occasion::Recorded(marker), text)
            }
            marker => (Occasion::Recorded(marker), markers::text(self.trace, &marker)),
        };
        self.leaving.marker();
        let chosen = match marker {
            Marker::Enter { registers, .. } => self.native.entered(self.trace, registers.rip),
            _ => None,
        };
        self.open.marker(&marker);
        let stable = self.rewrite.as_mut().map(|it| it.marker(entry, &way));
        let (stable, words) = stable.map_or((None, None), |(row, words)| (Some(Box::new(row)), words));
        let mut text = words.unwrap_or(text);
        if let Some(rewrite) = &mut self.rewrite {
            rewrite.rename(markers::addresses(&marker), &mut text);
        }
        if let Some(chosen) = &chosen {
            text = text.replacen("enter ", &format!("enter {chosen}"), 1);
        }
        let kind = markers::kind(&marker);
        MarkerRow { call, after, thread, occasion, kind, text, chosen, stable }
    }

    /// The end of the call listed last, where nothing in the trace states it.
    fn cut_off(&mut self) -> Option<Row> {
        let OpenCall { call, thread, last, .. } = std::mem::take(&mut self.open).if_open()?;
        let (after, place) = match &last {
            Some((n, address, code)) => (*n, format!("after step {n} at {}", code.place.full(*address))),
            None => (0, "before its first step".to_owned()),
        };
        let held = self.held.as_ref().is_some_and(|entry| thread_of(entry) == thread);
        let ending =
            if held || self.entries.goes_on(thread) { Ending::Unsaid } else { Ending::of(self.trace) };
        let kind = if ending == Ending::Unsaid { "lost" } else { "exit" };
        let (occasion, mut text) = (Occasion::CutOff(ending), ending.in_words(&place));
        let stable = self.rewrite.as_mut().map(|rewrite| {
            rewrite.rename(last.iter().map(|(_, address, _)| *address), &mut text);
            Box::new(rewrite.cut_off(thread))
        });
        Some(Row::Marker(MarkerRow { call, after, thread, occasion, kind, text, chosen: None, stable }))
    }
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let Some(entry) = self.held.take().or_else(|| self.entries.next()) else { return self.cut_off() };
        let (call, thread) = (call_of(&entry), thread_of(&entry));
        if (call, thread) != (self.open.call, self.open.thread) {
            self.held = Some(entry);
            if let Some(end) = self.cut_off() {
                return Some(end);
            }
            self.open = OpenCall::new(call, thread);
            return self.held.take().map(|entry| self.row(entry));
        }
        Some(self.row(entry))
    }
}
