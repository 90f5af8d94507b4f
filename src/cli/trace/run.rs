//! One traced run, in order: look, choose, prepare, run, close, show, end as the program did.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::arguments::Arguments;
use super::embedded::Agent;
use super::launch::Launch;
use super::notices::Notices;
use super::progress::{Figures, ProgressLine};
use super::show::Ended;
use super::supervise::{self, WaitStatus};
use super::{choose, file, session, show};
use crate::cli::exit::{Failure, OVERSTEP_FAILED, Outcome};
use crate::cli::target;
use crate::record::growth::Growth;
use crate::record::shared_control::SharedControl;

/// # Errors
/// 125, 126 and 127 by the table of `overstep trace --help`; the program was not started, or its trace could not
/// be kept.
pub fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut notices = Notices::new(arguments.quiet, arguments.presentation.color);
    arguments.presentation.check(OVERSTEP_FAILED)?;
    let asked = choose::asked(arguments)?;
    let program = target::resolve(&arguments.command[0])?;
    let image = target::loadable(&program)?;
    let wanted = target::look_up(&image, &arguments.functions)?;
    notices.extend(wanted.notices);
    let mechanism = choose::mechanism(asked)?;
    notices.extend(mechanism.notices());
    notices.extend(choose::about_debugger());

    let settings = session::settings(arguments, &mechanism);
    let control = Arc::new(session::control(&settings, &wanted.patterns)?);
    let agent = Agent::provide()?;
    let mut trace = file::Output::create(arguments.output.as_deref(), arguments.force, &program.path)?;
    let launch =
        Launch::new(&program, &arguments.command, &agent.path(), control.as_fd(), trace.file.as_fd())?;
    let header = session::header(arguments, &settings, mechanism.calibration);
    notices.print();

    let begun = Instant::now();
    let mut helpers = None;
    let mut settled = Ok(());
    let status = supervise::run(|| {
        let growing = Growth::start(duplicate(&trace.file)?, &header, Arc::clone(&control));
        let growth = growing.map_err(|error| {
            Failure::new(OVERSTEP_FAILED, format_args!("cannot write the trace: {error}"))
                .next("make room on the file system, or raise the limit: ulimit -f unlimited")
        })?;
        let program = launch.start()?;
        settled = trace.settle();
        let progress = if arguments.quiet { None } else { progress(&control) };
        helpers = Some((growth, progress, program));
        Ok(program)
    });
    let (status, program) = match (status, helpers) {
        (Ok(status), Some((growth, progress, program))) => {
            progress.into_iter().for_each(ProgressLine::finish);
            close(growth, status, begun)?;
            (status, program)
        }
        (Err(failure), _) => return Err(failure),
        (Ok(_), None) => unreachable!("supervise::run calls its argument"),
    };
    settled?;
    show::show(arguments, &control, &trace, Ended { program, status })
}

/// The growth thread gets a descriptor of its own, so that this one can be named to the agent.
fn duplicate(file: &File) -> Result<File, Failure> {
    file.try_clone().map_err(|error| {
        Failure::new(OVERSTEP_FAILED, format_args!("cannot duplicate the trace's descriptor: {error}"))
            .next("raise the limit on open files: ulimit -n 64")
    })
}

fn progress(control: &Arc<SharedControl>) -> Option<ProgressLine> {
    let control = Arc::clone(control);
    ProgressLine::start(move || Figures {
        traced: control.progress.traced.load(Ordering::Relaxed),
        bytes: control.progress.used.load(Ordering::Relaxed),
    })
}

fn close(growth: Growth, status: WaitStatus, begun: Instant) -> Result<(), Failure> {
    match growth.finish(status.0, begun.elapsed()) {
        Ok(_length) => Ok(()),
        Err(error) => Err(Failure::new(OVERSTEP_FAILED, format_args!("cannot close the trace: {error}"))
            .next("what was recorded can be listed all the same: overstep list FILE.ostrace")),
    }
}
