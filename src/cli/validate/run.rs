//! Measure, show, exit.

use std::io::Write;

use super::arguments::{Arguments, Command};
use super::output::Output;
use super::progress::Progress;
use super::{cpu, interrupt, proc};
use crate::cli::exit::{self, Failure, Outcome};
use crate::cli::stdout;
use crate::precision::judge::Outcome as Judged;
use crate::precision::report::html::page;
use crate::precision::report::markdown::markdown;
use crate::precision::report::{Report, json, text};
use crate::precision::suite;

pub fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if let Some(Command::Compare(arguments)) = &arguments.command {
        return super::compare::run(arguments);
    }
    interrupt::listen();
    proc::check()?;
    arguments.cpu.map_or(Ok(()), cpu::check)?;
    if arguments.json.is_some() && arguments.json == arguments.html {
        return Err(Failure::new(exit::USAGE, "--json and --html name the same file")
            .next("give each a file of its own"));
    }
    let json = arguments.json.as_deref().map(Output::open).transpose()?;
    let html = arguments.html.as_deref().map(Output::open).transpose()?;
    let progress = Progress::new();
    let report = suite::run(&arguments.plan(&interrupt::STOP), &|done, total, name| {
        progress.show(done, total, name);
    });
    drop(progress);
    let colours = arguments.color.on_stdout();
    stdout::print(exit::USAGE, |out| {
        if arguments.markdown {
            write!(out, "{}", markdown(&report))
        } else {
            text::write(&report, colours, out)
        }
    })?;
    json.map_or(Ok(()), |output| output.write(|mut out| json::write(&report, &mut out)))?;
    html.map_or(Ok(()), |output| output.write(|out| out.write_all(page(&report).as_bytes())))?;
    if !report.partial && report.results.iter().all(|row| row.verdict.outcome == Judged::Skip) {
        return Err(Failure::new(exit::USAGE, format_args!("nothing could be measured: {}", why(&report)))
            .next("overstep doctor says what this machine can do, and what to change"));
    }
    Ok(Outcome::Status(match (report.partial, report.holds()) {
        // Of what was not measured it says nothing.
        (true, _) => exit::USAGE,
        (false, false) => exit::DOES_NOT_HOLD,
        (false, true) => exit::HOLDS,
    }))
}

/// Why every row was skipped: what they agree on.
fn why(report: &Report) -> &str {
    let mut reasons = report.results.iter().map(|row| row.verdict.reason.as_deref().unwrap_or_default());
    let first = reasons.next().unwrap_or_default();
    if reasons.all(|reason| reason == first) { first } else { "every event was refused" }
}
