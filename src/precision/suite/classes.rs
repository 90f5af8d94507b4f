//! A row's event at each class of instruction.

use super::row::{Asked, Tally, tally};
use super::trouble;
use crate::precision::event::{Delivery, Event, Nature};
use crate::precision::judge::Verdict;
use crate::precision::judge::row::judge;
use crate::precision::plan::{Depth, Plan};
use crate::precision::report::model::{ClassRow, Figures};
use crate::precision::workload::Class;
use crate::precision::workload::class::{CLASSES, FAULTING};

/// A class's row, and its figures to add to the whole row's.
pub(super) struct Measured {
    pub row: ClassRow,
    pub tally: Tally,
}

/// Measures the classes at which the event can overflow. Without being asked for more, at the lowest precise level only.
pub(super) fn measure(asked: &Asked, plan: &Plan) -> Vec<Measured> {
    if asked.precise > 0 && plan.depth != Depth::Thorough {
        return Vec::new();
    }
    let wanted = |class: &&Class| {
        let name = (class.workload)().name;
        plan.classes.as_ref().is_none_or(|names| names.iter().any(|wanted| wanted == name))
    };
    of(asked)
        .iter()
        .filter(wanted)
        .take_while(|_| !plan.stop.requested())
        .map(|class| one(asked, class, plan))
        .collect()
}

fn of(asked: &Asked) -> &'static [Class] {
    match (&asked.event, asked.delivery) {
        (_, Delivery::SigtrapBlocked) => &[],
        (Event::Breakpoint, _) => &CLASSES,
        (Event::PageFaults, _) => &FAULTING,
        (event, _) if event.nature() == Nature::Counter => &CLASSES,
        _ => &[],
    }
}

fn one(asked: &Asked, class: &Class, plan: &Plan) -> Measured {
    let workload = (class.workload)();
    let row = |verdict, signals, at_expected, figures| ClassRow {
        class: workload.name.to_owned(),
        verdict,
        signals,
        at_expected,
        figures,
    };
    if let Some(reason) = class.missing() {
        return Measured { row: row(Verdict::skip(reason), 0, 0, None), tally: Tally::default() };
    }
    match tally(asked, workload, plan.class_signals(&asked.event), plan) {
        Ok(tally) => {
            let Tally { delivered, place } = &tally;
            let verdict = judge(asked.event.nature(), asked.delivery, delivered, place);
            let figures = Some(Figures::of(delivered, place));
            Measured { row: row(verdict, place.signals, place.at_expected, figures), tally }
        }
        Err(trouble) => {
            let verdict = trouble::of_row(&trouble, asked);
            Measured { row: row(verdict, 0, 0, None), tally: Tally::default() }
        }
    }
}
