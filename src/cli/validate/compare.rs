//! `overstep validate compare A.json B.json …`.

use std::fs;

use super::arguments::Compare;
use crate::cli::exit::{self, Failure, Outcome};
use crate::cli::stdout;
use crate::precision::report::compare::{compare, regressed, write};
use crate::precision::report::json;

pub fn run(arguments: &Compare) -> Result<Outcome, Failure> {
    let mut reports = Vec::with_capacity(arguments.files.len());
    for path in &arguments.files {
        let wrong = |error: &dyn std::fmt::Display| {
            Failure::new(exit::USAGE, format_args!("{}: {error}", path.display()))
        };
        let text = fs::read_to_string(path)
            .map_err(|error| wrong(&error).next("name reports that `overstep validate --json FILE` wrote"))?;
        reports.push(json::read(&text).map_err(|error| wrong(&error))?);
    }
    let names: Vec<_> = arguments.files.iter().map(|path| path.display().to_string()).collect();
    let lines = compare(&reports);
    stdout::print(exit::USAGE, |out| write(&names, &reports, &lines, out))?;
    Ok(Outcome::Status(if regressed(&lines) { exit::DOES_NOT_HOLD } else { exit::HOLDS }))
}
