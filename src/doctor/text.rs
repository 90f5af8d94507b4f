//! The facts as a report for a terminal.

use std::io::{self, Write};

use super::Facts;
use super::findings::{Finding, Mark, next, sections};

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const RESET: &str = "\x1b[0m";

/// Writes the report: a mark, a label and what was seen on each line, the remedy under each problem, and what
/// to run next. `colours` puts ANSI sequences in.
///
/// # Errors
/// Whatever `out` answers.
pub fn write(facts: &Facts, colours: bool, out: &mut impl Write) -> io::Result<()> {
    let paint = |style: &'static str, text: &str| {
        if colours { format!("{style}{text}{RESET}") } else { text.to_owned() }
    };
    let heading = format!("overstep {} on Linux {}", facts.overstep, facts.kernel.release);
    writeln!(out, "{}", paint(BOLD, &heading))?;
    writeln!(out, "{}", paint(DIM, &facts.cpu.describe()))?;
    let sections = sections(facts);
    let labels =
        sections.iter().flat_map(|section| &section.findings).map(|finding| finding.label.chars().count());
    let width = labels.max().unwrap_or(0);
    for section in &sections {
        writeln!(out, "\n{}", paint(BOLD, section.title))?;
        let mut findings = section.findings.iter().peekable();
        while let Some(Finding { mark, label, text, remedy }) = findings.next() {
            let mark = match mark {
                Mark::Good => paint(GREEN, "✓"),
                Mark::Bad => paint(RED, "✗"),
                Mark::Neutral => paint(DIM, "–"),
            };
            writeln!(out, "  {mark} {label:width$}  {text}")?;
            // Lines that share a remedy share its line, below the last of them.
            let shared = findings.peek().is_some_and(|following| following.remedy == *remedy);
            if let (Some(remedy), false) = (remedy, shared) {
                writeln!(out, "    {:width$}  {} {remedy}", "", paint(BOLD, "→"))?;
            }
        }
    }
    writeln!(out, "\n{}", next(facts))
}

#[cfg(test)]
mod tests;
