//! Which rows `list` shows.

use std::ops::RangeInclusive;

use clap::{Args, ValueEnum};

use crate::listing::selection;

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Which rows")]
pub struct Selection {
    /// Rows by number: `10..50`, `10..`, `..50` or `7`, ends included
    #[arg(long, value_name = "FROM..TO", value_delimiter = ',', value_parser = from_one)]
    range: Vec<RangeInclusive<u64>>,
    /// Rows in these functions: names or globs
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    function: Vec<String>,
    /// Rows at this depth, or range of depths; 0 is the traced function
    #[arg(long, value_name = "DEPTH", value_delimiter = ',', value_parser = range)]
    depth: Vec<RangeInclusive<u64>>,
    /// Rows of these threads, by the number that the listing shows: with --stable 1, 2, 3 …
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    thread: Vec<u32>,
    /// Rows of these calls, by number or range
    #[arg(long, value_name = "CALL", value_delimiter = ',', value_parser = range)]
    call: Vec<RangeInclusive<u64>>,
    /// The last N of the rows that the others select
    #[arg(long, value_name = "N", value_parser = positive)]
    last: Option<usize>,
    /// Rows of these kinds
    #[arg(long, value_enum, value_name = "KIND", value_delimiter = ',')]
    only: Vec<Only>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Only {
    /// Calls and returns
    Calls,
    /// Jumps, taken or not
    Branches,
    /// What reads or writes memory
    Memory,
    /// System calls
    Syscalls,
}

impl From<&Selection> for selection::Selection {
    fn from(selection: &Selection) -> Self {
        Self {
            ranges: selection.range.clone(),
            calls: selection.call.clone(),
            depths: selection.depth.clone(),
            threads: selection.thread.clone(),
            functions: selection.function.clone(),
            only: selection.only.iter().map(|only| (*only).into()).collect(),
            last: selection.last,
        }
    }
}

impl From<Only> for selection::Only {
    fn from(only: Only) -> Self {
        match only {
            Only::Calls => Self::Calls,
            Only::Branches => Self::Branches,
            Only::Memory => Self::Memory,
            Only::Syscalls => Self::Syscalls,
        }
    }
}

fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("counts start at 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{error}")),
    }
}

/// A range of numbers that start at 1.
fn from_one(text: &str) -> Result<RangeInclusive<u64>, String> {
    let numbers = range(text)?;
    if *numbers.end() == 0 { Err("rows are counted from 1".to_owned()) } else { Ok(numbers) }
}

fn range(text: &str) -> Result<RangeInclusive<u64>, String> {
    let number = |text: &str| {
        text.parse::<u64>().map_err(|error| format!("`{text}`: {error}; a range is 10..50, 10.., ..50 or 7"))
    };
    let Some((from, to)) = text.split_once("..") else {
        let only = number(text)?;
        return Ok(only..=only);
    };
    let to = to.strip_prefix('=').unwrap_or(to);
    let from = if from.is_empty() { 0 } else { number(from)? };
    let to = if to.is_empty() { u64::MAX } else { number(to)? };
    if from > to {
        return Err(format!("nothing is from {from} to {to}; did you mean {to}..{from}?"));
    }
    Ok(from..=to)
}
