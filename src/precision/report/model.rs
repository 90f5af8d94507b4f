//! Everything that a run of `validate` found out: what the JSON form holds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use crate::precision::event::Delivery;
use crate::precision::judge::delivered::Delivered;
use crate::precision::judge::place::Place;
use crate::precision::judge::row::{Control, Synchronous};
use crate::precision::judge::statistics::miss_rate_95;
use crate::precision::judge::{Histogram, Outcome, Verdict};
use crate::precision::plan::Depth;

/// The layout of the JSON form. Fields may be added under the same number, never renamed.
pub const VERSION: u32 = 1;

/// What `validate` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub version: u32,
    pub overstep: String,
    pub depth: Depth,
    /// Ended by a signal before everything was measured.
    pub partial: bool,
    /// Every control came out as it has to.
    pub trusted: bool,
    pub machine: Machine,
    /// One per event, precise level and delivery.
    pub results: Vec<Row>,
    /// Everything that is not a row of the matrix.
    pub checks: Vec<Check>,
}

/// What a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    Delivery,
    Place,
    Peers,
    Count,
    Limits,
}

/// One check beyond the matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    pub group: Group,
    pub name: String,
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What was found, in words.
    pub text: String,
    pub figures: BTreeMap<String, i64>,
}

/// One event at one precise level by one delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub event: String,
    pub precise: u8,
    pub delivery: Delivery,
    pub control: Option<Control>,
    #[serde(flatten)]
    pub verdict: Verdict,
    pub synchronous: Synchronous,
    pub signals: u64,
    pub at_expected: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
    /// The same by class of the instruction at the overflow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassRow>,
}

/// A class of instruction in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassRow {
    pub class: String,
    #[serde(flatten)]
    pub verdict: Verdict,
    pub signals: u64,
    pub at_expected: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
}

/// What was counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Overflows that the workload had to cause; where only the event knows, what it counted.
    pub asked: u64,
    pub lost: u64,
    pub extra: u64,
    /// The event's own count.
    pub counted: u64,
    /// Signals by their `si_code`.
    pub codes: BTreeMap<String, u64>,
    /// Signals that the kernel marked as having been blocked (`TRAP_PERF_FLAG_ASYNC`).
    pub async_flagged: u64,
    /// Signals outside the workload's loop.
    pub outside: u64,
    pub zero_steps: u64,
    pub single_steps: u64,
    pub multi_steps: u64,
    /// Instructions past the expected one: times, by distance.
    pub skid: Histogram,
    pub skid_p50: Option<f64>,
    pub skid_p90: Option<f64>,
    pub skid_p99: Option<f64>,
    pub skid_max: Option<i64>,
    /// The upper 95 % bound on the rate of signals elsewhere.
    pub miss_rate_95: f64,
    pub page_faults: u64,
    pub context_switches: u64,
    /// Those of them that the scheduler forced.
    #[serde(default)]
    pub preemptions: u64,
    /// Signals of another number or code than this delivery's.
    #[serde(default)]
    pub alien: u64,
    /// Signals that named another event.
    #[serde(default)]
    pub misnamed: u64,
    /// Signals that came to another thread.
    #[serde(default)]
    pub misdirected: u64,
}

impl Figures {
    #[must_use]
    pub fn of(delivered: &Delivered, place: &Place) -> Self {
        Self {
            asked: delivered.asked,
            lost: delivered.lost(),
            extra: delivered.extra(),
            counted: delivered.counted,
            codes: delivered.codes.iter().map(|(code, times)| ((*code).to_owned(), *times)).collect(),
            async_flagged: delivered.flagged,
            outside: place.outside,
            zero_steps: place.zero_steps,
            single_steps: place.single_steps,
            multi_steps: place.multi_steps,
            skid_p50: place.skid.quantile(0.5),
            skid_p90: place.skid.quantile(0.9),
            skid_p99: place.skid.quantile(0.99),
            skid_max: place.skid.max(),
            skid: place.skid.clone(),
            miss_rate_95: miss_rate_95(place.elsewhere(), place.signals),
            page_faults: delivered.faults,
            context_switches: delivered.switches,
            preemptions: delivered.preemptions,
            alien: delivered.alien,
            misnamed: delivered.misnamed,
            misdirected: delivered.misdirected,
        }
    }
}

impl Figures {
    /// p50, p90, p99 and the maximum of the skid, in instructions; `None` where no signal came in the loop.
    #[must_use]
    pub fn quantiles(&self, between: &str) -> Option<String> {
        let quantiles = [self.skid_p50?, self.skid_p90?, self.skid_p99?].map(|it| format!("{it:.0}"));
        Some(format!("{}{between}{}", quantiles.join(between), self.skid_max?))
    }
}

impl Row {
    /// `breakpoint:pp/sigtrap`, with perf's way to write precise levels.
    #[must_use]
    pub fn name(&self) -> String {
        let precise = "p".repeat(self.precise.into());
        let colon = if precise.is_empty() { "" } else { ":" };
        format!("{}{colon}{precise}/{}", self.event, self.delivery)
    }
}

impl Group {
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Delivery => "Delivery",
            Self::Place => "Place",
            Self::Peers => "What peers test",
            Self::Count => "Count",
            Self::Limits => "Limits",
        }
    }
}

impl Report {
    /// Whether the controls held and nothing failed or stayed unexplained.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.trusted && !self.outcomes().any(Outcome::is_failure)
    }

    /// Those of all rows, classes and checks.
    pub fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        let classes = self.results.iter().flat_map(|row| &row.classes).map(|class| class.verdict.outcome);
        let rows = self.results.iter().map(|row| row.verdict.outcome);
        rows.chain(classes).chain(self.checks.iter().map(|check| check.verdict.outcome))
    }
}
