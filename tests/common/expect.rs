//! What a fixture says of its trace.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use goblin::elf::Elf;
use overstep::address::ElfAddr;
use overstep::check::summary::Summary;
use overstep::record::marker::Marker;
use overstep::record::reader::{Entry, MarkerEntry, StepEntry, Trace};

/// The label of a fixture's last instruction: where it names a row, the row counts to what lies around it.
const LAST: &str = "last";

/// One directive. Names are those of symbols, `?` where there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// `steps N`: rows in all.
    Steps(u64),
    /// `at-most N`: rows in all.
    AtMost(u64),
    /// `calls N`: traced outermost entries.
    Calls(usize),
    /// `numbers N…`: of these calls.
    Numbers(Vec<u64>),
    /// `entered N`: entries, nested ones too.
    Entered(u64),
    /// `nested`: more entries than calls.
    Nested,
    /// `deepest N`: the largest depth of a row.
    Deepest(u32),
    /// `last LABEL`: the last row of every call is at this label.
    Last(String),
    /// `counts N…`: the repeated string instructions' iterations, in order.
    Counts(Vec<u64>),
    /// `syscalls N…`: the system calls' numbers, in order.
    Syscalls(Vec<i64>),
    /// `visits NAME…`: functions in order, each stay in one once.
    Visits(Vec<String>),
    /// `contains NAME…`: functions with rows.
    Contains(Vec<String>),
    /// `lacks NAME…`: functions without rows.
    Lacks(Vec<String>),
    /// `markers KIND…`: of every call, in order.
    Markers(Vec<String>),
    /// `differs N`: rows whose bytes are not the ELF file's.
    Differs(usize),
    /// `threads N`: threads with rows.
    Threads(usize),
    /// `limited`: one call ended at `--max-steps`.
    Limited,
}

impl Expectation {
    /// # Errors
    /// An unknown directive, or one with other words than it takes.
    pub fn parse(key: &str, words: &[String]) -> Result<Self, String> {
        let all = words.to_vec();
        Ok(match key {
            "steps" => Self::Steps(one(words)?),
            "at-most" => Self::AtMost(one(words)?),
            "calls" => Self::Calls(one(words)?),
            "numbers" => Self::Numbers(numbers(words)?),
            "entered" => Self::Entered(one(words)?),
            "nested" => Self::Nested,
            "deepest" => Self::Deepest(one(words)?),
            "last" => Self::Last(one(words)?),
            "counts" => Self::Counts(numbers(words)?),
            "syscalls" => Self::Syscalls(numbers(words)?),
            "visits" => Self::Visits(all),
            "contains" => Self::Contains(all),
            "lacks" => Self::Lacks(all),
            "markers" => Self::Markers(all),
            "differs" => Self::Differs(one(words)?),
            "threads" => Self::Threads(one(words)?),
            "limited" => Self::Limited,
            _ => return Err(format!("`{key}` is no directive")),
        })
    }

    /// Panics, with `described` in the message, when `trace` of `program` is otherwise.
    pub fn assert(&self, trace: &Trace, program: &Path, described: &str) {
        let summary = Summary::of(trace);
        let seen = Seen::of(trace);
        match self {
            Self::Steps(wanted) => assert_eq!(summary.steps, *wanted, "{described}: steps"),
            Self::AtMost(most) => assert!(summary.steps <= *most, "{described}: {} steps", summary.steps),
            Self::Calls(wanted) => assert_eq!(seen.calls().len(), *wanted, "{described}: calls"),
            Self::Numbers(wanted) => assert_eq!(seen.calls(), *wanted, "{described}: numbers of the calls"),
            Self::Entered(wanted) => assert_eq!(summary.entered, *wanted, "{described}: entered"),
            Self::Nested => {
                assert!(summary.entered > seen.calls().len() as u64, "{described}: {summary:?}");
            }
            Self::Deepest(wanted) => {
                let deepest = seen.steps.iter().map(|step| step.depth).max();
                assert_eq!(deepest, Some(*wanted), "{described}: depth");
            }
            Self::Last(label) => seen.assert_last(trace, program, label, described),
            Self::Counts(wanted) => {
                let counts: Vec<_> = seen.steps.iter().filter_map(|step| step.count).collect();
                assert_eq!(counts, *wanted, "{described}: iterations");
            }
            Self::Syscalls(wanted) => {
                let calls = seen.steps.iter().filter_map(|step| step.syscall);
                let numbers: Vec<_> = calls.map(|syscall| syscall.number as i64).collect();
                assert_eq!(numbers, *wanted, "{described}: system calls");
            }
            Self::Visits(wanted) => assert_eq!(seen.visits(trace), *wanted, "{described}: visits"),
            Self::Contains(wanted) => {
                let names = BTreeSet::from_iter(seen.visits(trace));
                let missing: Vec<_> = wanted.iter().filter(|name| !names.contains(*name)).collect();
                assert!(missing.is_empty(), "{described}: {missing:?} not in {names:?}");
            }
            Self::Lacks(unwanted) => {
                let names = BTreeSet::from_iter(seen.visits(trace));
                let found: Vec<_> = unwanted.iter().filter(|name| names.contains(*name)).collect();
                assert!(found.is_empty(), "{described}: {found:?} in {names:?}");
            }
            Self::Markers(wanted) => {
                for call in seen.calls() {
                    assert_eq!(seen.markers(call), *wanted, "{described}: markers of call {call}");
                }
            }
            Self::Differs(wanted) => {
                let differs = seen.steps.iter().filter(|step| step.differs_from_file).count();
                assert_eq!(differs, *wanted, "{described}: rows that differ from the file");
            }
            Self::Threads(wanted) => assert_eq!(trace.threads().len(), *wanted, "{described}: threads"),
            Self::Limited => assert_eq!(summary.limited, 1, "{described}: calls at the limit"),
        }
    }
}

fn one<T: std::str::FromStr>(words: &[String]) -> Result<T, String> {
    match words {
        [word] => word.parse().map_err(|_| format!("`{word}` is not understood")),
        _ => Err(format!("one word is wanted, not {words:?}")),
    }
}

fn numbers<T: std::str::FromStr>(words: &[String]) -> Result<Vec<T>, String> {
    words.iter().map(|word| one(std::slice::from_ref(word))).collect()
}

/// A small trace, in memory.
struct Seen {
    steps: Vec<StepEntry>,
    markers: Vec<MarkerEntry>,
}

impl Seen {
    fn of(trace: &Trace) -> Self {
        let (mut steps, mut markers) = (Vec::new(), Vec::new());
        for entry in trace.threads().iter().flat_map(|thread| trace.entries(*thread)) {
            match entry {
                Entry::Step(step) => steps.push(step),
                Entry::Marker(marker) => markers.push(marker),
            }
        }
        Self { steps, markers }
    }

    /// The calls' numbers, in order.
    fn calls(&self) -> Vec<u64> {
        let enters = self.markers.iter().filter(|entry| matches!(entry.marker, Marker::Enter { .. }));
        BTreeSet::from_iter(enters.map(|entry| entry.call)).into_iter().collect()
    }

    fn markers(&self, call: u64) -> Vec<String> {
        let of_call = self.markers.iter().filter(|entry| entry.call == call);
        of_call.map(|entry| kind(&entry.marker)).collect()
    }

    fn visits(&self, trace: &Trace) -> Vec<String> {
        let names = self.steps.iter().map(|step| match trace.symbol(step.address) {
            Some(hit) => hit.symbol.name.trim_end_matches(" const").to_owned(),
            None => "?".to_owned(),
        });
        let mut visits: Vec<_> = names.filter(|name| name != LAST).collect();
        visits.dedup();
        visits
    }

    fn assert_last(&self, trace: &Trace, program: &Path, label: &str, described: &str) {
        let wanted = label_address(program, label);
        for call in self.calls() {
            let last = self.steps.iter().rfind(|step| step.call == call);
            let last = last.unwrap_or_else(|| panic!("{described}: call {call} has no rows")).address;
            let module = trace.module(last).unwrap_or_else(|| panic!("{described}: {last} in no module"));
            assert_eq!(last.in_elf(module.bias), wanted, "{described}: the last row of call {call}");
        }
    }
}

/// As the JSON listing names it.
fn kind(marker: &Marker) -> String {
    let debug = format!("{marker:?}");
    let end = debug.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(debug.len());
    debug[..end].to_lowercase()
}

fn label_address(program: &Path, label: &str) -> ElfAddr {
    let bytes = fs::read(program).expect("the program");
    let elf = Elf::parse(&bytes).expect("an ELF file");
    let symbol = elf.syms.iter().find(|symbol| elf.strtab.get_at(symbol.st_name) == Some(label));
    ElfAddr(symbol.unwrap_or_else(|| panic!("no label {label} in {}", program.display())).st_value)
}
