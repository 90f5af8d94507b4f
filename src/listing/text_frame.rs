//! What stands around a text listing: what was traced and how, what is damaged, what it comes to.

use std::io::{self, Write};

use super::call_block::steps;
use super::names;
use super::options::{Options, Values};
use super::palette::Palette;
use super::place::file_name;
use super::visible::visible;
use crate::check::summary::Summary;
use crate::record::control::StepMode;
use crate::record::counted::Counted;
use crate::record::reader::{Damage, DamageCause, Trace};

/// Damaged places named one by one.
const DAMAGES_NAMED: usize = 5;

/// Two lines: what was traced, which a trace of the own process may not name, and what watched it.
///
/// # Errors
/// What `out` says.
pub fn write_header(trace: &Trace, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let header = &trace.header;
    let Palette { name, faint, end, .. } = options.palette;
    match subject(trace, options.values) {
        (function, command) if function.is_empty() && command.is_empty() => {}
        (function, command) if function.is_empty() => writeln!(out, "{name}{command}{end}")?,
        (function, command) if command.is_empty() => writeln!(out, "{name}{function}{end}")?,
        (function, command) => writeln!(out, "{name}{function}{end} in {command}")?,
    }
    if options.values == Values::Stable {
        return Ok(());
    }
    let mode = match header.step {
        StepMode::Instruction => "",
        StepMode::Block => " at block ends (~ filled in between)",
    };
    writeln!(
        out,
        "{faint}{}{mode} · Linux {} · {} · overstep {}{end}",
        engine(trace),
        visible(&header.kernel),
        visible(&header.cpu.name),
        visible(&header.overstep),
    )
}

/// How it was stepped: `breakpoint/sigtrap`, `instructions/fasync counting branches`.
#[must_use]
pub fn engine(trace: &Trace) -> String {
    let header = &trace.header;
    let counter = header.calibration.as_ref().filter(|counter| counter.event != Counted::Instructions);
    let counting = counter.map_or(String::new(), |counter| format!(" counting {}", counter.event));
    format!("{}/{}{counting}", names::engine(header.engine), names::delivery(header.delivery))
}

/// What was traced: the functions as they were asked for, and the command line as a shell would take it back. Either may
/// be empty. Of the program every run has the name, wherever it lies.
#[must_use]
pub fn subject(trace: &Trace, values: Values) -> (String, String) {
    let command: Vec<_> = subject_words(trace, values).iter().map(|word| quoted(word)).collect();
    let functions: Vec<_> = trace.header.functions.iter().map(|function| visible(function)).collect();
    (functions.join(", "), command.join(" "))
}

/// The command line's words, of the program those of [`subject`].
#[must_use]
pub fn subject_words(trace: &Trace, values: Values) -> Vec<String> {
    let mut command = trace.header.command.clone();
    if let (Values::Stable, Some(program)) = (values, command.first_mut()) {
        *program = file_name(program).to_owned();
    }
    command
}

/// What the file did not give back, if anything.
///
/// # Errors
/// What `out` says.
pub fn write_damage(trace: &Trace, palette: &Palette, out: &mut impl Write) -> io::Result<()> {
    let Palette { faint, bad, end, .. } = palette;
    let (holes, damage): (Vec<&Damage>, Vec<&Damage>) =
        trace.damage().iter().partition(|place| place.cause == DamageCause::Hole);
    for place in damage.iter().take(DAMAGES_NAMED) {
        writeln!(out, "{bad}damaged: {place}{end}")?;
    }
    match damage.len().saturating_sub(DAMAGES_NAMED) {
        0 => {}
        more => writeln!(out, "{bad}damaged: {more} more places{end}")?,
    }
    if trace.is_unclosed() {
        let what = if trace.threads().is_empty() {
            "the file ends before the first row"
        } else {
            "the file has no end: rows and code may be missing"
        };
        writeln!(out, "{bad}{what}; it was cut, or overstep was killed or is still running{end}")?;
    }
    match holes.len() {
        0 => Ok(()),
        1 => writeln!(
            out,
            "{faint}1 place in the file was taken by a writer that was killed before it wrote there{end}"
        ),
        holes => writeln!(
            out,
            "{faint}{holes} places in the file were taken by writers that were killed before they wrote there{end}"
        ),
    }
}

/// Two sentences: the rows by verdict, and what they allow to be said.
///
/// # Errors
/// What `out` says.
pub fn write_summary(summary: &Summary, palette: &Palette, out: &mut impl Write) -> io::Result<()> {
    let Palette { good, bad, end, .. } = palette;
    let counts = [
        (summary.exact, "exact"),
        (summary.reconstructed, "reconstructed"),
        (summary.zero, "zero-step"),
        (summary.skid, "skid"),
        (summary.unexplained, "unexplained"),
        (summary.lost, "lost"),
    ];
    write!(out, "{} {}", summary.steps, steps(summary.steps))?;
    for (count, verdict) in counts.into_iter().filter(|(count, verdict)| *count > 0 || *verdict == "exact") {
        write!(out, ", {count} {verdict}")?;
    }
    writeln!(out, "; entered {}, traced {}", summary.entered, summary.traced)?;
    let style = if summary.strict_holds() { good } else { bad };
    write!(out, "{style}{}{end}", summary.synchronous_phrase())?;
    if let Some(rate) = summary.miss_rate_95() {
        write!(out, " (miss rate below {} % at 95 %)", percent(rate))?;
    }
    match summary.stand_ins {
        0 => writeln!(out),
        1 => writeln!(out, "; 1 stop was a breakpoint instruction's, for want of an event"),
        more => writeln!(out, "; {more} stops were breakpoint instructions', for want of an event"),
    }
}

/// The same as the options want it: another run may have other engines, and so other verdicts.
///
/// # Errors
/// What `out` says.
pub fn write_summary_of(summary: &Summary, options: &Options, out: &mut impl Write) -> io::Result<()> {
    if options.values == Values::Recorded {
        return write_summary(summary, &options.palette, out);
    }
    let Summary { steps: count, entered, traced, .. } = summary;
    writeln!(out, "{count} {}; entered {entered}, traced {traced}", steps(*count))
}

/// A rate in percent with two significant digits: `2.5`, `0.030`, `100`.
fn percent(rate: f64) -> String {
    let percent = rate * 100.0;
    let decimals = (1.0 - percent.log10().floor()).clamp(0.0, 12.0);
    format!("{percent:.*}", decimals as usize)
}

/// A word of the command line as a shell would take it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^~".contains(c);
    let word = visible(word);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_have_two_digits() {
        let cases = [(3.0 / 118.0, "2.5"), (3.0 / 10_000.0, "0.030"), (1.0, "100"), (3.0 / 4.0, "75")];
        for (rate, text) in cases {
            assert_eq!(percent(rate), text, "{rate}");
        }
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("./a.out"), "./a.out");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("\x1b[2J"), "'\u{fffd}[2J'", "no escape sequence reaches the terminal");
    }

    #[test]
    fn the_summary_in_words() {
        let written = |summary: &Summary| {
            let mut out = Vec::new();
            write_summary(summary, &Palette::PLAIN, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let mut summary = Summary { entered: 1, traced: 1, steps: 118, exact: 118, ..Summary::default() };
        assert_eq!(
            written(&summary),
            "118 steps, 118 exact; entered 1, traced 1\n\
             no counterexample in 118 (miss rate below 2.5 % at 95 %)\n"
        );
        summary.skid = 1;
        summary.steps += 1;
        assert_eq!(
            written(&summary),
            "119 steps, 118 exact, 1 skid; entered 1, traced 1\nnot synchronous: 118 of 119 as expected\n"
        );
    }
}
