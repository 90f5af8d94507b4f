//! `overstep diff A B`: where two traces part.

use std::path::PathBuf;

use clap::Args;

use super::exit::{self, Failure, Outcome};
use super::list::open;
use super::presentation::{Color, damage};
use super::{stderr, stdout};
use crate::listing::diff::{compare, pair, write};
use crate::listing::palette::Palette;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  overstep diff good.ostrace bad.ostrace\n  overstep diff breakpoint.ostrace trap-flag.ostrace\n\n\
                        Addresses are compared by region, as `list --stable` writes them. What only one trace \
                        recorded (registers, memory) or knows is no difference, nor are threads, verdicts and \
                        engines. A file with the same build-id is the same file under any name.\n\n\
                        Exit status: 0 the same; 1 not; 2 used wrongly, or unable to answer."
)]
pub struct Arguments {
    #[arg(value_name = "A.ostrace")]
    a: PathBuf,
    #[arg(value_name = "B.ostrace")]
    b: PathBuf,
    /// Rows shown before the difference, and on either side of it
    #[arg(long, value_name = "N", default_value_t = 3)]
    context: usize,
    /// Colour; `auto` means on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    color: Color,
}

pub fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let (a, mut b) = (open(&arguments.a)?, open(&arguments.b)?);
    for (path, trace) in [(&arguments.a, &a), (&arguments.b, &b)] {
        for notice in damage(trace).unwrap_or_default() {
            stderr::say(&format!("`{}`: {notice}", path.display()));
        }
    }
    pair(&a, &mut b);
    let palette = if arguments.color.on_stdout() { Palette::TERMINAL } else { Palette::PLAIN };
    let result = compare(&a, &b, arguments.context);
    stdout::print(exit::USAGE, |out| write(&result, &a, &b, palette, out))?;
    let same = result.divergence.is_none();
    Ok(Outcome::Status(if same { exit::HOLDS } else { exit::DOES_NOT_HOLD }))
}
