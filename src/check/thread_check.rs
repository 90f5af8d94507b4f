//! One thread's rows, each against its instruction, its neighbours and the instruction map.

use iced_x86::Instruction;

use super::call_stack::CallStack;
use super::expectation::{Expectation, expectation};
use super::finding::{Finding, Flaw, RowId};
use super::path::{Control, keeps_to_path};
use super::report::Report;
use super::vendor::vendor_of;
use crate::address::RuntimeAddr;
use crate::image::class::Class;
use crate::image::decode::{Vendor, decode};
use crate::image::static_successor::StaticSuccessors;
use crate::record::marker::{LostReason, Marker};
use crate::record::reader::{Boundary, MarkerEntry, StepEntry, Trace};
use crate::record::verdict::Verdict;

/// What has to be remembered of one thread from row to row.
pub(super) struct ThreadCheck<'t, 'r> {
    trace: &'t Trace,
    report: &'r mut Report,
    vendor: Vendor,
    control: Control,
    stack: CallStack,
    /// The row before, as long as no marker allows numbers or depth to jump.
    last: Option<Last>,
    pub(super) calls: u64,
}

/// The row before.
struct Last {
    call: u64,
    n: u64,
    depth: u32,
    /// Levels by which the next row may be deeper.
    descends: u32,
}

impl<'t, 'r> ThreadCheck<'t, 'r> {
    pub(super) fn new(trace: &'t Trace, report: &'r mut Report) -> Self {
        let (control, stack) = (Control::default(), CallStack::default());
        Self { trace, report, vendor: vendor_of(trace), control, stack, last: None, calls: 0 }
    }

    pub(super) fn step(&mut self, step: &StepEntry) {
        self.report.summary.add_step(step.verdict);
        self.check_verdict(step);
        self.check_path(step);
        self.check_boundary(step);
        let instruction = self.check_instruction(step);
        self.check_order(step);
        // What is not known to be anything else may have been a call.
        let is_call = instruction.is_none_or(|it| matches!(Class::of(&it), Class::Call { .. }));
        self.last =
            Some(Last { call: step.call, n: step.n, depth: step.depth, descends: u32::from(is_call) });
        self.control = Control::At(step.next);
    }

    pub(super) fn marker(&mut self, entry: &MarkerEntry) {
        self.report.summary.add_marker(&entry.marker);
        let (control, had_to_be) = self.control.after(&entry.marker);
        if let (Some(found), Control::At(expected)) = (had_to_be, self.control)
            && found != expected
        {
            self.find_at_marker(entry, found, Flaw::Discontinuous, expected.to_string(), found.to_string());
        }
        self.control = control;
        match entry.marker {
            Marker::Enter { .. } => {
                self.calls += 1;
                self.stack = CallStack::default();
                self.last = Some(Last { call: entry.call, n: 0, depth: 0, descends: 0 });
            }
            Marker::Lost { reason, expected, found, .. } => {
                if reason != LostReason::Limit {
                    let found_at = format!("{found} ({reason:?})");
                    self.find_at_marker(entry, found, Flaw::Lost, expected.to_string(), found_at);
                }
                self.last = None;
            }
            // What comes back elsewhere is stepped without rows, any number of calls deep.
            Marker::Native { resume: RuntimeAddr(0), .. } => self.deeper(u32::MAX),
            Marker::Signal { .. } | Marker::Native { .. } => self.deeper(1),
            Marker::Sigreturn => self.last = None,
            _ => {}
        }
    }

    /// A signal's handler runs one depth deeper, as a called function does, and so does what a native stretch
    /// calls back. One signal may come upon another.
    fn deeper(&mut self, levels: u32) {
        if let Some(last) = &mut self.last {
            last.descends = last.descends.saturating_add(levels);
        }
    }

    fn check_verdict(&mut self, step: &StepEntry) {
        let expected = match step.verdict {
            Verdict::Exact | Verdict::Reconstructed => return,
            Verdict::Zero => "progress by one instruction".to_owned(),
            Verdict::Skid(late) => format!("a signal {late} instructions earlier"),
            Verdict::Unexplained { expected } => expected.to_string(),
            Verdict::Lost => "no steps missing before this row".to_owned(),
        };
        let flaw = if step.verdict == Verdict::Lost { Flaw::Lost } else { Flaw::Verdict };
        self.find(step, flaw, expected, step.address.to_string());
    }

    fn check_path(&mut self, step: &StepEntry) {
        if !keeps_to_path(step.verdict) {
            return;
        }
        let is_entry = || self.trace.symbol(step.address).is_none_or(|hit| hit.offset == 0);
        match self.control.elsewhere(step.address, is_entry) {
            Some(expected) => {
                self.find(step, Flaw::Discontinuous, expected.to_string(), step.address.to_string());
            }
            None if self.control == Control::Unknown => {}
            None => self.report.connected += 1,
        }
    }

    fn check_boundary(&mut self, step: &StepEntry) {
        if step.differs_from_file {
            self.report.differs_from_file += 1;
            return;
        }
        match self.trace.boundary(step.address) {
            Boundary::Start => self.report.boundaries += 1,
            Boundary::Unknown => self.report.boundaries_unknown += 1,
            Boundary::Inside => {
                let expected = "the start of an instruction".to_owned();
                self.find(step, Flaw::NotABoundary, expected, "the inside of one".to_owned());
            }
        }
    }

    /// The recorded successor against the decoded instruction; the instruction for what else depends on it.
    fn check_instruction(&mut self, step: &StepEntry) -> Option<Instruction> {
        if step.bytes.is_empty() {
            self.report.code_missing += 1;
            return None;
        }
        let instruction = match decode(&step.bytes, step.address, self.vendor) {
            Ok(instruction) => instruction,
            Err(why) => {
                self.find(step, Flaw::Undecodable, "an instruction".to_owned(), why.to_string());
                return None;
            }
        };
        let before = step.before();
        let expected = expectation(&instruction, before, &step.memory, &self.stack, step.next);
        self.report.add_evidence(expected.basis());
        if !expected.allows(step.next) {
            let (flaw, words) = in_words(expected);
            self.find(step, flaw, words, step.next.to_string());
        }
        if let Some(before) = before {
            self.stack.follow(&instruction, before);
        }
        Some(instruction)
    }

    fn check_order(&mut self, step: &StepEntry) {
        let Some(last) = &self.last else { return };
        let (same_call, after) = (last.call == step.call, last.n + 1);
        // Depth is a shadow stack: only a call goes down, one level, while a discarded frame may end anywhere.
        let deepest = last.depth.saturating_add(last.descends);
        if same_call && step.n != after {
            self.find(step, Flaw::Ordinal, format!("row {after}"), format!("row {}", step.n));
        }
        if same_call && step.depth > deepest {
            self.find(step, Flaw::Depth, format!("at most {deepest}"), step.depth.to_string());
        }
    }

    fn find(&mut self, step: &StepEntry, flaw: Flaw, expected: String, found: String) {
        let row = self.row(step.call, step.n, step.thread, step.address);
        self.report.add(Finding { flaw, row: Some(row), expected, found });
    }

    fn find_at_marker(
        &mut self,
        at: &MarkerEntry,
        place: RuntimeAddr,
        flaw: Flaw,
        expected: String,
        found: String,
    ) {
        let row = self.row(at.call, at.after, at.thread, place);
        self.report.add(Finding { flaw, row: Some(row), expected, found });
    }

    fn row(&self, call: u64, n: u64, thread: u32, address: RuntimeAddr) -> RowId {
        let name = self.trace.symbol(address).map(|hit| format!("{}+{:#x}", hit.symbol.name, hit.offset));
        RowId { call, n, thread, address, name }
    }
}

fn in_words(expected: Expectation) -> (Flaw, String) {
    match expected {
        Expectation::At(address, _) => (Flaw::WrongNext, address.to_string()),
        Expectation::Among(StaticSuccessors::Two { taken, fall_through }) => {
            (Flaw::WrongNext, format!("{taken} or {fall_through}"))
        }
        Expectation::Among(_) | Expectation::Open => (Flaw::WrongNext, "another address".to_owned()),
        Expectation::NoRow => (Flaw::CannotRetire, "no row for an instruction that faults".to_owned()),
    }
}
