//! Measure, show, exit.

use super::arguments::Arguments;
use super::output::Output;
use super::progress::Progress;
use super::{cpu, interrupt};
use crate::cli::exit::{self, Failure, Outcome};
use crate::cli::stdout;
use crate::precision::judge::Outcome as Judged;
use crate::precision::report::{Report, json, text};
use crate::precision::suite;

pub fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    arguments.cpu.map_or(Ok(()), cpu::check)?;
    let json = arguments.json.as_deref().map(Output::open).transpose()?;
    interrupt::listen();
    let progress = Progress::new();
    let report = suite::run(&arguments.plan(), &interrupt::STOP, &|done, total, name| {
        progress.show(done, total, name)
    });
    drop(progress);
    let colours = arguments.color.on_stdout();
    stdout::print(exit::USAGE, |out| text::write(&report, colours, out))?;
    json.map_or(Ok(()), |output| output.write(|mut out| json::write(&report, &mut out)))?;
    if !report.partial && report.results.iter().all(|row| row.verdict.outcome == Judged::Skip) {
        return Err(Failure::new(exit::USAGE, "nothing could be measured: every event was refused")
            .next("overstep doctor says why, and what to change"));
    }
    Ok(Outcome::Status(if report.holds() { exit::HOLDS } else { exit::DOES_NOT_HOLD }))
}
