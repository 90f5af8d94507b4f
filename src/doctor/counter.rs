//! What calibration says of the instruction counter, line by line.

use super::findings::{Finding, bad, good};
use super::mechanisms::Counter;
use crate::record::calibration::{Calibration, Troubles};

const LATE: &str = "rows of --engine instructions say by how much each stop was late; overstep validate has the whole distribution";

const SHARED: &str = "end other users of the PMU (perf stat, perf record); on a hybrid CPU stay on one core type: taskset -c N";

pub(super) fn findings(counter: &Counter) -> Vec<Finding> {
    let found = match counter {
        Counter::Calibrated(found) => found,
        Counter::Failed { why, remedy } => return vec![bad("calibration", why.clone(), remedy)],
    };
    let Calibration { tail, period, smallest_period, .. } = found;
    let wanted = period - tail;
    let by = if wanted == 1 { "one".to_owned() } else { wanted.to_string() };
    let tail = good("handler tail", format!("{tail} instructions, so a period of {period} goes on by {by}"));
    let smallest = if wanted == 1 {
        good("smallest period", smallest_period.to_string())
    } else {
        let text = format!("{smallest_period}: no step is shorter than {wanted} instructions");
        bad(
            "smallest period",
            text,
            "rows between two stops are reconstructed; --engine breakpoint stops at each",
        )
    };
    let overcount = (found.overcount > 0).then(|| {
        let text = format!("{} too many in a million", found.overcount);
        bad("overcount", text, "rows show zero-steps where the count ran ahead of the code")
    });
    let Troubles { armed, lost, away, missed } = found.troubles;
    let lost = (lost > 0).then(|| {
        let text = format!("{lost} of {armed} overflows gave none");
        bad("lost signals", text, "rows end where one is lost; --engine breakpoint loses none")
    });
    let away = (away > 0).then(|| {
        let text = format!("away before {away} of {armed} overflows, {missed} thousandths of the time");
        bad("multiplexing", text, SHARED)
    });
    let lines = [
        Some(tail),
        Some(smallest),
        Some(skid(found)),
        Some(steps(found, wanted)),
        Some(limit(found)),
        overcount,
        lost,
        away,
    ];
    lines.into_iter().flatten().collect()
}

fn skid(found: &Calibration) -> Finding {
    let (right, of, others) = told(&found.skid, 0);
    let text = format!("none in {right} of {of} stops{others}");
    if right == of { good("skid", text) } else { bad("skid", text, LATE) }
}

fn steps(found: &Calibration, wanted: u64) -> Finding {
    let label = if wanted == 1 { "steps of one".to_owned() } else { format!("steps of {wanted}") };
    let (right, of, others) = told(&found.progress, wanted);
    let text = format!("{right} of {of}{others}");
    if right == of { good(&label, text) } else { bad(&label, text, LATE) }
}

fn limit(found: &Calibration) -> Finding {
    let codes: Vec<_> = found.codes.iter().map(|(code, times)| format!("{times} × {code}")).collect();
    let wrong = found.codes.iter().find(|(code, _)| code != "POLL_HUP").map(|(code, _)| code.as_str());
    let text = format!("{} ({})", wrong.unwrap_or("POLL_HUP"), codes.join(", "));
    match wrong {
        None => good("at the REFRESH limit", text),
        Some(_) => bad("at the REFRESH limit", text, "nothing: stepping does without POLL_HUP"),
    }
}

/// How often `right` came, out of how many, and what came instead.
fn told(histogram: &[(u64, u32)], right: u64) -> (u32, u32, String) {
    let of = histogram.iter().map(|(_, times)| times).sum();
    let as_wanted = histogram.iter().filter(|(value, _)| *value == right).map(|(_, times)| times).sum();
    let others: Vec<_> = histogram
        .iter()
        .filter(|(value, _)| *value != right)
        .map(|(value, times)| format!("{value} in {times}"))
        .collect();
    (as_wanted, of, if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) })
}
