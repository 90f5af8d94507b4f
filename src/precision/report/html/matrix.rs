//! Events against classes of instruction as a picture.

use maud::{Markup, html};

use crate::precision::judge::Outcome;
use crate::precision::report::model::{ClassRow, Row};
use crate::precision::report::sentences::grouped;

const CELL: f64 = 38.0;
const TALL: f64 = 26.0;
/// Room for the names of rows, and for those of columns, which are turned: above, and behind the last one.
const LEFT: f64 = 150.0;
const TOP: f64 = 140.0;
const RIGHT: f64 = 100.0;

/// One line per row that has classes, one column per class: the share of signals at the expected instruction.
pub(super) fn matrix(rows: &[&Row]) -> Markup {
    let mut classes: Vec<&str> = Vec::new();
    for class in rows.iter().flat_map(|row| &row.classes) {
        if !classes.contains(&class.class.as_str()) {
            classes.push(&class.class);
        }
    }
    let (width, height) = (LEFT + classes.len() as f64 * CELL + RIGHT, TOP + rows.len() as f64 * TALL + 4.0);
    html! {
        div class="scroll" {
            svg class="matrix" viewBox=(format!("0 0 {width} {height}")) width=(width) role="img"
                aria-label="signals at the expected instruction, by event and class of instruction" {
                @for (n, class) in classes.iter().enumerate() {
                    @let x = LEFT + n as f64 * CELL + CELL / 2.0;
                    text transform=(format!("translate({x} {}) rotate(-50)", TOP - 8.0)) { (class) }
                }
                @for (line, row) in rows.iter().enumerate() {
                    @let y = TOP + line as f64 * TALL;
                    text x=(LEFT - 8.0) y=(y + 17.0) text-anchor="end" { (row.name()) }
                    @for (n, name) in classes.iter().enumerate() {
                        @let class = row.classes.iter().find(|class| class.class == *name);
                        (cell(LEFT + n as f64 * CELL, y, class))
                    }
                }
            }
        }
    }
}

fn cell(x: f64, y: f64, class: Option<&ClassRow>) -> Markup {
    let share = class
        .filter(|class| class.verdict.outcome != Outcome::Skip && class.signals > 0)
        .map(|class| class.at_expected as f64 / class.signals as f64);
    let told = class.map(|class| {
        let reason = class.verdict.reason.as_deref().unwrap_or_default();
        format!(
            "{}: {} of {} at it {reason}",
            class.class,
            grouped(class.at_expected),
            grouped(class.signals)
        )
    });
    // All is all: a share that only rounds to it is not.
    let text = match share {
        None => String::new(),
        Some(1.0) => "all".to_owned(),
        Some(share) => format!("{:.0}%", (share * 100.0).min(99.0)),
    };
    let kind = match share {
        None => "none",
        Some(1.0) => "cell-good",
        Some(_) => "cell-bad",
    };
    html! {
        g {
            @if let Some(told) = told { title { (told) } }
            rect class=(kind) x=(x + 1.0) y=(y + 1.0) width=(CELL - 2.0) height=(TALL - 2.0) rx="3" {}
            text class="on-cell" x=(x + CELL / 2.0) y=(y + 17.0) text-anchor="middle" { (text) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precision::workload::class::{CLASSES, FAULTING};

    #[test]
    fn the_longest_label_fits_above_and_behind_the_last_column() {
        // A wide letter of the page's 11 pixels, and the labels' 50 degrees.
        const LETTER: f64 = 6.5;
        let (sine, cosine) = 50f64.to_radians().sin_cos();
        for class in CLASSES.iter().chain(&FAULTING) {
            let length = (class.workload)().name.len() as f64 * LETTER;
            assert!(length * sine + 8.0 < TOP, "{}", (class.workload)().name);
            assert!(length * cosine < RIGHT + CELL / 2.0, "{}", (class.workload)().name);
        }
    }
}
