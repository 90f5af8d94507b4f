//! What a trace has, for a selection that finds nothing in it.

use std::collections::BTreeSet;

use super::options::{Options, Values};
use super::rows::{Row, Rows, StepRow};
use super::selection::Selection;
use crate::image::function::nearest_of;
use crate::record::reader::Trace;

/// Names to suggest, and functions, threads or depths to list.
const NAMED: usize = 5;

/// What the rows of a trace come to.
#[derive(Debug, Default)]
struct Extent {
    rows: u64,
    last_row: u64,
    calls: BTreeSet<u64>,
    depths: BTreeSet<u64>,
    threads: BTreeSet<u64>,
    functions: BTreeSet<String>,
}

/// Why the selection of `options` shows no row of `trace`, and what there is instead, a sentence for each condition that no row meets;
/// `None` where it shows some, or where there are none to be shown. Reads up to the first row that is shown.
#[must_use]
pub fn unselected(trace: &Trace, options: &Options) -> Option<String> {
    let selection = &options.selection;
    if selection.is_everything() {
        return None;
    }
    // All that a stable listing selects by other values is threads.
    let values = if selection.threads.is_empty() { Values::Recorded } else { options.values };
    let single = singles(selection);
    let mut met = vec![false; single.len()];
    let mut extent = Extent::default();
    for row in Rows::new(trace, &Options { values, ..Options::default() }) {
        let Row::Step(row) = row else { continue };
        if selection.admits(&row) {
            return None;
        }
        for (met, (single, _)) in met.iter_mut().zip(&single) {
            *met = *met || single.admits(&row);
        }
        extent.add(&row);
    }
    if extent.rows == 0 {
        return None;
    }
    let unmet: Vec<_> = single
        .iter()
        .zip(met)
        .filter(|(_, met)| !met)
        .map(|((it, what), _)| extent.words(it, *what))
        .collect();
    Some(match unmet.as_slice() {
        [] => "no row is selected: none meets all the conditions at once".to_owned(),
        unmet => format!("no row is selected: {}", unmet.join("; ")),
    })
}

/// One condition of a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Range,
    Call,
    Depth,
    Thread,
    Function,
    Kind,
}

/// The conditions of a selection, each as a selection of its own.
fn singles(selection: &Selection) -> Vec<(Selection, Condition)> {
    let none = Selection::default;
    let Selection { ranges, calls, depths, threads, functions, only, last: _ } = selection.clone();
    let all = [
        (Selection { ranges, ..none() }, Condition::Range),
        (Selection { calls, ..none() }, Condition::Call),
        (Selection { depths, ..none() }, Condition::Depth),
        (Selection { threads, ..none() }, Condition::Thread),
        (Selection { functions, ..none() }, Condition::Function),
        (Selection { only, ..none() }, Condition::Kind),
    ];
    all.into_iter().filter(|(single, _)| !single.is_everything()).collect()
}

impl Extent {
    fn add(&mut self, row: &StepRow) {
        self.rows += 1;
        self.last_row = self.last_row.max(row.entry.n);
        self.calls.insert(row.entry.call);
        self.depths.insert(row.entry.depth.into());
        self.threads.insert(row.thread());
        if let Some((name, _)) = &row.code.place.symbol
            && !self.functions.contains(&**name)
        {
            self.functions.insert(name.to_string());
        }
    }

    /// What no row meets, and what rows there are.
    fn words(&self, single: &Selection, condition: Condition) -> String {
        match condition {
            Condition::Range => format!("calls have rows 1 to {} at most", self.last_row),
            Condition::Call => numbers("call", &self.calls),
            Condition::Depth => numbers("depth", &self.depths),
            Condition::Thread => numbers("thread", &self.threads),
            Condition::Kind => "there are no rows of that kind".to_owned(),
            Condition::Function => {
                let wanted: Vec<_> = single.functions.iter().map(|name| format!("`{name}`")).collect();
                format!("no row is in {}{}", wanted.join(" or "), self.suggestion(&single.functions))
            }
        }
    }

    /// The functions nearest to those wanted, or the first of them all.
    fn suggestion(&self, wanted: &[String]) -> String {
        let names = || self.functions.iter().map(String::as_str);
        let near: BTreeSet<_> = wanted.iter().flat_map(|name| nearest_of(name, names(), NAMED)).collect();
        let quoted = |names: &mut dyn Iterator<Item = &str>| {
            names.take(NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        match (near.is_empty(), self.functions.len()) {
            (false, _) => format!("; did you mean {}?", quoted(&mut near.into_iter())),
            (true, 0) => "; the trace names no function".to_owned(),
            (true, count) => {
                let more = if count > NAMED { format!(" and {} more", count - NAMED) } else { String::new() };
                format!("; there are {}{more}", quoted(&mut names()))
            }
        }
    }
}

/// `there is only call 1`, `there are calls 1 to 9`, `there are threads 12, 15`.
fn numbers(what: &str, numbers: &BTreeSet<u64>) -> String {
    let list: Vec<_> = numbers.iter().map(u64::to_string).collect();
    let named = match (numbers.first(), numbers.last()) {
        (Some(first), Some(last)) if first == last => return format!("there is only {what} {first}"),
        (Some(first), Some(last)) if last - first + 1 == list.len() as u64 => format!("{first} to {last}"),
        _ if list.len() > NAMED => format!("{} and {} more", list[..NAMED].join(", "), list.len() - NAMED),
        _ => list.join(", "),
    };
    format!("there are {what}s {named}")
}

#[cfg(test)]
mod tests {
    use super::super::golden::mixed;
    use super::super::selection::Only;
    use super::*;
    use crate::check::synthetic::{THREAD, gcd_call};

    #[test]
    fn each_condition_that_nothing_meets_says_what_there_is() {
        let trace = mixed().read();
        let all = Selection::default;
        let by = |values, selection| Options { values, selection, ..Options::default() };
        let said = |selection: Selection| unselected(&trace, &by(Values::Recorded, selection));
        assert_eq!(said(all()), None);
        assert_eq!(said(Selection { calls: vec![2..=9], ..all() }), None);
        let no = |words: &str| Some(format!("no row is selected: {words}"));
        assert_eq!(said(Selection { calls: vec![99..=99], ..all() }), no("there are calls 1 to 2"));
        assert_eq!(
            said(Selection { ranges: vec![9999..=u64::MAX], ..all() }),
            no("calls have rows 1 to 15 at most")
        );
        assert_eq!(said(Selection { depths: vec![7..=7], ..all() }), no("there are depths 0, 1, 12"));
        let threads = format!("there are threads {THREAD} to {}", THREAD + 1);
        assert_eq!(said(Selection { threads: vec![1], ..all() }), no(&threads));
        let stable =
            |thread| unselected(&trace, &by(Values::Stable, Selection { threads: vec![thread], ..all() }));
        assert_eq!(stable(1), None, "a stable listing counts threads");
        assert_eq!(stable(THREAD), no("there are threads 1 to 2"));
        assert_eq!(
            said(Selection { functions: vec!["gdc".into()], ..all() }),
            no("no row is in `gdc`; did you mean `gcd`?")
        );
        assert_eq!(
            said(Selection { functions: vec!["frobnicate".into()], calls: vec![99..=99], ..all() }),
            no("there are calls 1 to 2; no row is in `frobnicate`; there are `gcd`, `work`")
        );
        assert_eq!(
            said(Selection { functions: vec!["work".into()], calls: vec![2..=2], ..all() }),
            no("none meets all the conditions at once")
        );
        let syscalls = Selection { only: vec![Only::Syscalls], ..all() };
        assert_eq!(
            unselected(&gcd_call().read(), &by(Values::Recorded, syscalls)),
            no("there are no rows of that kind")
        );
    }
}
