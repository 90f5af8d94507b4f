//! A check, before and after it ran.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::precision::event::Event;
use crate::precision::judge::Verdict;
use crate::precision::plan::Plan;
use crate::precision::report::model::{Check, Group};

/// A check that can be run.
#[derive(Clone)]
pub(in crate::precision::suite) struct Named {
    pub group: Group,
    pub name: Cow<'static, str>,
    run: Run,
}

#[derive(Clone)]
enum Run {
    Once(fn(&Plan) -> Found),
    Of(Event, OfEvent),
}

/// A check that is the same for any event.
pub(super) type OfEvent = fn(&Event, &Plan) -> Found;

/// What a check found.
pub(super) struct Found {
    pub verdict: Verdict,
    /// The finding in words.
    pub text: String,
    pub figures: Vec<(&'static str, i64)>,
}

/// All of them, in the order they run; of events beyond the standard ones, those in `events`.
pub(in crate::precision::suite) fn all(events: &[Event]) -> Vec<Named> {
    let groups = [
        &super::sequences::of_events(events),
        super::sequences::ALL,
        super::placement::ALL,
        super::peers::ALL,
        super::period::ALL,
        super::counts::ALL,
        super::limits::ALL,
    ];
    groups.concat()
}

impl Named {
    pub(super) const fn new(group: Group, name: &'static str, run: fn(&Plan) -> Found) -> Self {
        Self { group, name: Cow::Borrowed(name), run: Run::Once(run) }
    }

    /// `EVENT: what`.
    pub(super) fn of(group: Group, event: &Event, what: &str, run: OfEvent) -> Self {
        Self { group, name: Cow::Owned(format!("{event}: {what}")), run: Run::Of(event.clone(), run) }
    }

    pub(in crate::precision::suite) fn run(&self, plan: &Plan) -> Check {
        let Found { verdict, text, figures } = match &self.run {
            Run::Once(run) => run(plan),
            Run::Of(event, run) => run(event, plan),
        };
        let figures: BTreeMap<_, _> =
            figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Check { group: self.group, name: self.name.to_string(), verdict, text, figures }
    }
}

impl Found {
    pub(super) fn new(verdict: Verdict, text: impl Into<String>, figures: Vec<(&'static str, i64)>) -> Self {
        Self { verdict, text: text.into(), figures }
    }

    /// Not measured.
    pub(super) fn skip(reason: impl Into<String>) -> Self {
        Self::new(Verdict::skip(reason), "", Vec::new())
    }
}
