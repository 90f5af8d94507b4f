//! Row by row: does a run in one way of stepping agree with runs in another?

use std::collections::BTreeMap;
use std::fmt;

use overstep::record::reader::{Entries, Entry, Trace};

use super::event::{Shape, ValueName, Values, brief, values};

/// What two agreeing traces had in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    pub rows: u64,
    pub markers: u64,
    /// Values that both sides carried and that were equal.
    pub values: u64,
    /// Values not compared, since the references differ in them: the number, and where it first was so.
    pub varying: u64,
    pub first_varying: Option<String>,
}

/// Where two traces part.
#[derive(Debug)]
pub enum Difference {
    /// Rows differ, or one trace has more of them. No further run can explain that.
    Rows(String),
    /// A value differs that no reference differs in, so far.
    Value(String),
    /// The references differ among each other in their rows: the program itself takes another path each time.
    Unstable(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(text) => write!(f, "rows differ: {text}"),
            Self::Value(text) => write!(f, "a value differs: {text}"),
            Self::Unstable(text) => write!(f, "two runs in one way differ: {text}"),
        }
    }
}

/// Compares `found` with `references`, which are runs in one way. What varies between the references is left out.
///
/// `blocks`: `found` comes from block stepping.
pub fn compare(references: &[&Trace], found: &Trace, blocks: bool) -> Result<Agreement, Difference> {
    let (first, others) = references.split_first().expect("a reference");
    if first.threads().len() > 1 || found.threads().len() > 1 {
        return compare_threads(first, found);
    }
    let mut walk = Walk {
        first: entries(first),
        others: others.iter().map(|trace| entries(trace)).collect(),
        found: entries(found),
        traces: (first, found),
        blocks,
        agreement: Agreement::default(),
    };
    while walk.next()? {}
    Ok(walk.agreement)
}

fn entries(trace: &Trace) -> Entries<'_> {
    trace.entries(trace.threads().first().copied().unwrap_or(0))
}

/// No order between threads is claimed, nor which thread does what: calls are compared as a bag.
fn compare_threads(reference: &Trace, found: &Trace) -> Result<Agreement, Difference> {
    let (expected, got) = (calls(reference), calls(found));
    let rows = |calls: &[String]| calls.iter().map(|call| call.lines().count() as u64).sum();
    match expected.iter().zip(&got).find(|(expected, got)| expected != got) {
        Some((expected, got)) => {
            let lines = expected.lines().zip(got.lines()).find(|(expected, got)| expected != got);
            let lengths = (expected.lines().count(), got.lines().count());
            Err(Difference::Rows(format!("a call of {lengths:?} rows and markers, in {lines:#?}")))
        }
        None if expected.len() != got.len() => {
            Err(Difference::Rows(format!("{} calls and {}", expected.len(), got.len())))
        }
        None => Ok(Agreement { rows: rows(&got), ..Agreement::default() }),
    }
}

fn calls(trace: &Trace) -> Vec<String> {
    let mut calls = BTreeMap::<u64, String>::new();
    for thread in trace.threads() {
        for entry in trace.entries(*thread) {
            let call = match &entry {
                Entry::Step(step) => step.call,
                Entry::Marker(marker) => marker.call,
            };
            let shape = Shape::of(trace, &entry).of_any_call();
            calls.entry(call).or_default().push_str(&format!("{shape:?}\n"));
        }
    }
    let mut calls: Vec<_> = calls.into_values().collect();
    calls.sort();
    calls
}

struct Walk<'a> {
    first: Entries<'a>,
    others: Vec<Entries<'a>>,
    found: Entries<'a>,
    traces: (&'a Trace, &'a Trace),
    blocks: bool,
    agreement: Agreement,
}

impl Walk<'_> {
    /// Compares one more row or marker; whether there was one.
    fn next(&mut self) -> Result<bool, Difference> {
        let (reference, found) = (self.first.next(), self.found.next());
        let others: Vec<_> = self.others.iter_mut().map(Iterator::next).collect();
        let (first, shape) = self.shapes(reference.as_ref(), found.as_ref());
        for other in &others {
            let other = other.as_ref().map(|entry| Shape::of(self.traces.0, entry));
            if other != first {
                let found = found.as_ref().map(|entry| brief(self.traces.1, entry));
                return Err(Difference::Unstable(format!("{first:x?}\nand {other:x?}\nat {found:?}")));
            }
        }
        if first != shape {
            let before = self.agreement.rows + self.agreement.markers;
            return Err(Difference::Rows(format!("after {before} alike:\n{first:x?}\nand {shape:x?}")));
        }
        let (Some(reference), Some(found)) = (reference, found) else { return Ok(false) };
        match found {
            Entry::Step(_) => self.agreement.rows += 1,
            Entry::Marker(_) => self.agreement.markers += 1,
        }
        self.values(&reference, &others, &found)?;
        Ok(true)
    }

    fn shapes(&self, reference: Option<&Entry>, found: Option<&Entry>) -> (Option<Shape>, Option<Shape>) {
        let shape = |trace, entry: Option<&Entry>| entry.map(|entry| Shape::of(trace, entry));
        (shape(self.traces.0, reference), shape(self.traces.1, found))
    }

    fn values(
        &mut self,
        reference: &Entry,
        others: &[Option<Entry>],
        found: &Entry,
    ) -> Result<(), Difference> {
        let mut expected = Values::new();
        values(reference, self.blocks, &mut expected);
        let mut got = Values::new();
        values(found, self.blocks, &mut got);
        if expected == got {
            self.agreement.values += got.len() as u64;
            return Ok(());
        }
        let mut varied = Vec::new();
        for other in others.iter().flatten() {
            let mut again = Values::new();
            values(other, self.blocks, &mut again);
            varied.push(again);
        }
        if !self.blocks && expected.iter().map(|value| value.0).ne(got.iter().map(|value| value.0)) {
            let names = |values: &Values| values.iter().map(|value| value.0).collect::<Vec<_>>();
            return Err(Difference::Value(format!(
                "{} has {:?} and {:?}",
                brief(self.traces.1, found),
                names(&expected),
                names(&got)
            )));
        }
        for (name, value) in got {
            let Some(wanted) = find(&expected, name) else { continue };
            if wanted == value {
                self.agreement.values += 1;
                continue;
            }
            let place =
                || format!("{name:?} is {wanted:#x} and {value:#x} in {}", brief(self.traces.1, found));
            if varied.iter().all(|again| find(again, name) == Some(wanted)) {
                return Err(Difference::Value(place()));
            }
            self.agreement.varying += 1;
            self.agreement.first_varying.get_or_insert_with(place);
        }
        Ok(())
    }
}

fn find(values: &Values, name: ValueName) -> Option<u64> {
    values.iter().find(|value| value.0 == name).map(|value| value.1)
}
