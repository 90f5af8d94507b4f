//! What the control block says when the program has ended: why there are no rows, and what went wrong.

use std::io;
use std::sync::atomic::Ordering;

use nix::sys::signal::kill;
use nix::unistd::Pid;

use super::arguments::Arguments;
use crate::check::summary::Summary;
use crate::cli::exit::{Failure, OVERSTEP_FAILED};
use crate::cli::target::TRIGGERS;
use crate::record::control_block::MESSAGE_AREA;
use crate::record::counted::Unit;
use crate::record::shared_control::SharedControl;

/// Notices on a run that was traced, or for which nobody is to blame.
pub fn lines(arguments: &Arguments, control: &SharedControl, summary: &Summary, program: Pid) -> Vec<String> {
    let mut lines: Vec<String> = about_owner(control, program).into_iter().collect();
    let functions = arguments.functions.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
    if let Some(found) = ambiguous(control) {
        lines.push(found_too_many(&functions, &found));
    } else if summary.entered == 0 && control.error().is_none() {
        lines.push(match control.resolved().0 {
            0 => format!("{functions} is in no process that ran; nothing was traced"),
            _ => format!("{functions} was never called; nothing was traced"),
        });
    } else if summary.traced == 0 && summary.entered > 0 {
        let times =
            if summary.entered == 1 { "once".to_owned() } else { format!("{} times", summary.entered) };
        lines.push(format!("entered {times}, traced none: --nth {}", arguments.nth));
    }
    let patches = control.progress.patches.load(Ordering::Relaxed);
    if patches > 0 && control.settings().is_none_or(|settings| !settings.patch) {
        let instructions = if patches == 1 { "instruction" } else { "instructions" };
        lines.push(format!(
            "no perf event was to be had for a breakpoint (descriptors and debug registers run out): {patches} breakpoint \
             {instructions} stood in private copies of the program's code instead"
        ));
    }
    let zero_steps = control.progress.zero_steps.load(Ordering::Relaxed);
    if zero_steps > 0 {
        lines.push(format!("{zero_steps} overflows came before anything had retired (zero-steps)"));
    }
    let overcounted = control.progress.overcounted.load(Ordering::Relaxed);
    if overcounted > 0 {
        let unit = control.settings().map(|settings| settings.counting.unit);
        let ran = if unit == Some(Unit::Branch) { "branches" } else { "instructions" };
        lines.push(format!("the counter counted {overcounted} more than the {ran} that ran"));
    }
    let lost_signals = control.progress.lost_signals.load(Ordering::Relaxed);
    if lost_signals > 0 {
        lines.push(match lost_signals {
            1 => "1 overflow stopped the counter and gave no signal: its call's rows end there".to_owned(),
            more => {
                format!(
                    "{more} overflows stopped the counter and gave no signal: their calls' rows end there"
                )
            }
        });
    }
    let away = control.progress.away.load(Ordering::Relaxed);
    if away > 0 {
        let stops = if away == 1 { "1 stop".to_owned() } else { format!("{away} stops") };
        lines.push(format!(
            "before {stops} the counter did not count all the time: others share it (multiplexing), or a core type lacks it; \
             those rows are lost"
        ));
    }
    let errno = control.progress.no_room.load(Ordering::Relaxed);
    if errno != 0 && errno != libc::ESHUTDOWN as u32 {
        let cause = io::Error::from_raw_os_error(errno as i32);
        lines.push(format!("the trace is incomplete, its file could not grow: {cause}"));
    }
    lines
}

/// Which process was traced, if it is not the one that was started.
fn about_owner(control: &SharedControl, program: Pid) -> Option<String> {
    let owner = Pid::from_raw(control.progress.owner.load(Ordering::Acquire).try_into().ok()?);
    if owner.as_raw() == 0 || owner == program {
        return None;
    }
    let runs_on = if kill(owner, None).is_ok() { "; it runs on, and its trace ends here" } else { "" };
    Some(format!("process {owner} was traced, started by {program}: it entered the function first{runs_on}"))
}

/// The `kind` of an agent's report (`armed::Trouble` of the agent) of more functions than can be watched, and of an event
/// that could not be opened.
const AMBIGUOUS: u32 = 4;
const ARM: u32 = 5;

/// The functions, each with its address, that matched in the traced program when they were more than can be watched: a
/// library that came later has brought some. The program itself has run as always, and nobody failed.
fn ambiguous(control: &SharedControl) -> Option<String> {
    control.error().filter(|error| error.kind == AMBIGUOUS).map(|error| error.text)
}

fn found_too_many(functions: &str, found: &str) -> String {
    // `name at 0xaddress, …`, and the last one cut off where the report has no more room.
    let is_cut = found.len() >= MESSAGE_AREA;
    let count = found.matches(" at 0x").count();
    let (count, more) = if is_cut { (format!("at least {count}"), " …") } else { (count.to_string(), "") };
    format!(
        "at run time {count} functions match {functions}, and only {TRIGGERS} can be watched: a debug register each, two of \
         the CPU's four step and guard; nothing was traced. They are {found}{more}\n  \
         narrow it: name one of them, as `name` or `module!name`"
    )
}

/// What an agent reported: then there is no trace that could be believed.
pub fn failure(control: &SharedControl) -> Option<Failure> {
    let error = control.error().filter(|error| error.kind != AMBIGUOUS)?;
    let what = match error.errno {
        0 => error.text,
        errno => format!("{}: {}", error.text, io::Error::from_raw_os_error(errno)),
    };
    let failure = Failure::new(OVERSTEP_FAILED, format_args!("in the traced program: {what}"));
    Some(if error.kind == ARM {
        failure.next("overstep doctor says what works here and what to change")
    } else {
        failure
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_came_at_run_time_are_counted_and_listed() {
        let found = found_too_many("`f*`", "f(int, int) at 0x7f01, f2 at 0x7f02, f3 at 0x7f03");
        assert!(found.contains("time 3 functions match `f*`, and only 2"), "{found}");
        assert!(found.contains("They are f(int, int) at 0x7f01, f2 at 0x7f02, f3 at 0x7f03\n"), "{found}");
        let many = (0..99).map(|n| format!("f{n} at 0x{n:x}")).collect::<Vec<_>>().join(", ");
        let found = found_too_many("`f*`", &many[..MESSAGE_AREA]);
        assert!(found.contains("at least 20 functions") && found.contains(" …\n"), "{found}");
    }
}
