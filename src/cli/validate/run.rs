//! Measure, show, exit.

use std::io::{self, Write};

use super::arguments::Arguments;
use super::interrupt;
use crate::cli::exit::{self, Failure, Outcome};
use crate::cli::stdout;
use crate::precision::report::{Report, sentences, table};
use crate::precision::suite;

pub fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    interrupt::listen();
    let report = suite::run(&arguments.plan(), &interrupt::STOP, &|_, _, _| {});
    let colours = arguments.color.on_stdout();
    stdout::print(exit::USAGE, |out| show(&report, colours, out))?;
    Ok(Outcome::Status(if report.holds() { exit::HOLDS } else { exit::DOES_NOT_HOLD }))
}

fn show(report: &Report, colours: bool, out: &mut impl Write) -> io::Result<()> {
    write!(out, "{}", table::rows(report, colours))?;
    writeln!(out)?;
    for row in &report.results {
        writeln!(out, "{}", sentences::row(row))?;
    }
    writeln!(out, "\n{}", sentences::trust(report))
}
