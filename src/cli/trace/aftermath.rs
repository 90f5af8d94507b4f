//! What the control block says when the program has ended: why there are no rows, and what went wrong.

use std::io;
use std::sync::atomic::Ordering;

use nix::sys::signal::kill;
use nix::unistd::Pid;

use super::arguments::Arguments;
use crate::check::summary::Summary;
use crate::cli::exit::{Failure, OVERSTEP_FAILED};
use crate::record::counted::Unit;
use crate::record::shared_control::SharedControl;

/// Notices on a run that was traced, or for which nobody is to blame.
pub fn lines(arguments: &Arguments, control: &SharedControl, summary: &Summary, program: Pid) -> Vec<String> {
    let mut lines: Vec<String> = about_owner(control, program).into_iter().collect();
    let functions = arguments.functions.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
    if summary.entered == 0 && control.error().is_none() {
        lines.push(match control.resolved().0 {
            0 => format!("{functions} is in no process that ran; nothing was traced"),
            _ => format!("{functions} was never called; nothing was traced"),
        });
    } else if summary.traced == 0 && summary.entered > 0 {
        lines.push(format!("entered {} times, traced none: --nth {}", summary.entered, arguments.nth));
    }
    let patches = control.progress.patches.load(Ordering::Relaxed);
    if patches > 0 && control.settings().is_none_or(|settings| !settings.patch) {
        lines.push(format!(
            "no perf event was to be had for a breakpoint (descriptors and debug registers run out): {patches} breakpoint \
             instructions stood in private copies of the program's code instead"
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

/// What an agent reported: then there is no trace that could be believed.
pub fn failure(control: &SharedControl) -> Option<Failure> {
    let error = control.error()?;
    let what = match error.errno {
        0 => error.text,
        errno => format!("{}: {}", error.text, io::Error::from_raw_os_error(errno)),
    };
    let next = "overstep doctor says what works here and what to change";
    Some(Failure::new(OVERSTEP_FAILED, format_args!("in the traced program: {what}")).next(next))
}
