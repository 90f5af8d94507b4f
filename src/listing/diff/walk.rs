//! Goes through both traces side by side.

use std::collections::VecDeque;

use super::divergence::{Comparison, Divergence, Meeting, What};
use super::item::{Item, Key};
use super::resync::meet;
use super::side::Side;
use crate::listing::rows::{Occasion, Row};
use crate::record::marker::{LostReason, Marker};
use crate::record::reader::Trace;

/// Items that are looked through for where the traces meet again.
const WINDOW: usize = 50_000;

/// Compares two traces; `context` items are kept before the divergence and on each side of it.
#[must_use]
pub fn compare(a: &Trace, b: &Trace, context: usize) -> Comparison {
    let mut walk = Walk {
        a: Side::new(a),
        b: Side::new(b),
        context,
        recent: VecDeque::new(),
        result: Comparison::default(),
        since_difference: (0, 0),
        since_parting: None,
    };
    while walk.step() {}
    walk.result
}

struct Walk<'t> {
    a: Side<'t>,
    b: Side<'t>,
    context: usize,
    recent: VecDeque<Item>,
    result: Comparison,
    /// Rows passed on either side since the first difference.
    since_difference: (u64, u64),
    /// Behind the first parting, until the paths have met again: rows passed on either side.
    since_parting: Option<(u64, u64)>,
}

impl Walk<'_> {
    /// Compares one item of each; whether there may be more.
    fn step(&mut self) -> bool {
        let (a, b) = match (self.a.next(), self.b.next()) {
            (None, None) => return false,
            (Some(a), Some(b)) if a.key() == b.key() => (a, b),
            (a, b) => return self.part(a, b),
        };
        let differences = a.differences(&b);
        self.result.common += u64::from(a.is_step());
        self.met(&a, &b, differences.is_empty());
        if !differences.is_empty() {
            self.result.different += u64::from(a.is_step());
            self.diverge(std::slice::from_ref(&a), std::slice::from_ref(&b), differences);
        }
        self.pass(u64::from(a.is_step()), u64::from(b.is_step()));
        self.recent.push_back(a);
        if self.recent.len() > self.context {
            self.recent.pop_front();
        }
        true
    }

    /// The paths part; whether they meet again.
    fn part(&mut self, a: Option<Item>, b: Option<Item>) -> bool {
        let ahead = |first: &Option<Item>, side: &mut Side<'_>| {
            let mut items: Vec<Item> = first.iter().cloned().collect();
            if !items.is_empty() {
                items.extend(side.look_ahead(WINDOW).iter().cloned());
            }
            items
        };
        let (all_a, all_b) = (ahead(&a, &mut self.a), ahead(&b, &mut self.b));
        let keys = |items: &[Item]| items.iter().map(Item::key).collect::<Vec<Key>>();
        let meeting = meet(&keys(&all_a), &keys(&all_b));
        let (pass_a, pass_b) = meeting.unwrap_or((all_a.len(), all_b.len()));
        let shown = |items: &[Item], pass: usize| items[..pass.min(self.context + 1)].to_vec();
        // One that has nothing of its own here goes on where the other one comes to later.
        let (shown_a, shown_b) =
            (shown(&all_a, pass_a.max(1).min(all_a.len())), shown(&all_b, pass_b.max(1).min(all_b.len())));
        let end = |items: &[Item], side| Some(What::Ends { side, why: why_it_ends(items.first())? });
        let what = end(&all_a, "A").or_else(|| end(&all_b, "B")).unwrap_or(What::Path);
        self.diverge(&shown_a, &shown_b, vec![what]);
        self.result.agreed = None;
        let steps = |items: &[Item]| items.iter().filter(|item| item.is_step()).count() as u64;
        let (steps_a, steps_b) = (steps(&all_a[..pass_a]), steps(&all_b[..pass_b]));
        self.result.only_a += steps_a;
        self.result.only_b += steps_b;
        self.pass(steps_a, steps_b);
        self.a.rewind(a, pass_a);
        self.b.rewind(b, pass_b);
        if meeting.is_none() {
            // Neither window has anything the other one knows; the rest is theirs alone.
            self.result.only_a += self.a.drain();
            self.result.only_b += self.b.drain();
        }
        meeting.is_some()
    }

    fn diverge(&mut self, a: &[Item], b: &[Item], what: Vec<What>) {
        let before = self.recent.iter().cloned().collect();
        let divergence = Divergence { before, a: a.to_vec(), b: b.to_vec(), what };
        let parted = self.result.parts().is_some();
        if self.result.divergence.is_none() {
            self.result.divergence = Some(divergence);
            self.since_difference = (0, 0);
        } else if !parted && divergence.parts() {
            self.result.parting = Some(divergence);
        }
        if !parted && self.result.parts().is_some() {
            self.since_parting = Some((0, 0));
        }
    }

    fn pass(&mut self, a: u64, b: u64) {
        for passed in std::iter::once(&mut self.since_difference).chain(&mut self.since_parting) {
            *passed = (passed.0 + a, passed.1 + b);
        }
    }

    /// Both have come to the same item, and `alike` says whether it did the same.
    fn met(&mut self, a: &Item, b: &Item, alike: bool) {
        let meeting = |(passed_a, passed_b)| Meeting { a: a.clone(), b: b.clone(), passed_a, passed_b };
        if let Some(passed) = self.since_parting.take() {
            self.result.rejoined = Some(meeting(passed));
        }
        if !alike {
            self.result.agreed = None;
        } else if self.result.divergence.is_some() && self.result.agreed.is_none() {
            self.result.agreed = Some(meeting(self.since_difference));
        }
    }
}

/// Why a trace has no further row there; `None` where it has one.
fn why_it_ends(first: Option<&Item>) -> Option<String> {
    let Some(Item(row)) = first else { return Some("it has no more rows".to_owned()) };
    let Row::Marker(row) = row else { return None };
    match row.occasion {
        Occasion::Recorded(Marker::Lost { reason: LostReason::Limit, .. }) => {
            Some("--max-steps cut it off".to_owned())
        }
        Occasion::CutOff(_) => Some(row.text.clone()),
        _ => None,
    }
}
