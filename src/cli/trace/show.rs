//! After the program: the listing or a word on where the trace is, the summary, and the exit status.

use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use nix::unistd::Pid;

use super::aftermath;
use super::arguments::Arguments;
use super::file::Output;
use super::notices::Notices;
use super::supervise::WaitStatus;
use crate::check::summary::Summary;
use crate::cli::exit::{Failure, NOT_STRICT, OVERSTEP_FAILED, Outcome};
use crate::cli::presentation::Format;
use crate::cli::stdout::{self, Written};
use crate::listing::text_frame;
use crate::record::reader::Trace;
use crate::record::shared_control::SharedControl;

/// The process that was started, and its end.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub program: Pid,
    pub status: WaitStatus,
}

/// Shows what was recorded and says how to end.
///
/// # Errors
/// 125: nothing was armed, or the trace cannot be read back or listed.
pub fn show(
    arguments: &Arguments,
    control: &SharedControl,
    output: &Output,
    ended: Ended,
) -> Result<Outcome, Failure> {
    let path = output.path.clone().unwrap_or_else(|| own_descriptor(output));
    let mut trace = Trace::open(&path).map_err(|error| {
        Failure::new(OVERSTEP_FAILED, format_args!("the trace cannot be read back: {error}"))
            .next("report this with the output of overstep doctor")
    })?;
    // A listing for people that would be all heading is left out; programs get their header and summary.
    let empty = trace.threads().is_empty() && arguments.presentation.format == Format::Text;
    let summary = if output.path.is_some() || empty {
        Summary::of(&trace)
    } else {
        let presentation = &arguments.presentation;
        presentation.complete_names(&mut trace);
        let options = presentation.options(&trace, false);
        match stdout::print(OVERSTEP_FAILED, |out| presentation.write(&trace, &options, out))? {
            Written::All(summary) => summary,
            Written::ReaderLeft => Summary::of(&trace),
        }
    };
    let mut notices = Notices::new(arguments.quiet, arguments.presentation.color);
    if !arguments.quiet && summary.traced > 0 {
        // A closed standard error changes nothing about the trace.
        let _ = summarise(arguments, &summary);
    }
    notices.extend(aftermath::lines(arguments, control, &summary, ended.program));
    if let Some(kept) = &output.path {
        let kept = kept.display();
        notices.push(format!("the trace is in `{kept}`: overstep list {kept}"));
    }
    notices.print();
    if let Some(failure) = aftermath::failure(control) {
        return Err(failure);
    }
    Ok(if arguments.strict && !(summary.traced > 0 && summary.strict_holds()) {
        Outcome::Status(NOT_STRICT)
    } else {
        ended.status.outcome()
    })
}

/// A memfd has no path but this one.
fn own_descriptor(output: &Output) -> PathBuf {
    format!("/proc/self/fd/{}", output.file.as_raw_fd()).into()
}

fn summarise(arguments: &Arguments, summary: &Summary) -> io::Result<()> {
    let mut err = io::stderr().lock();
    let palette = arguments.presentation.palette(arguments.presentation.color.on_stderr());
    text_frame::write_summary(summary, &palette, &mut err)?;
    err.flush()
}
