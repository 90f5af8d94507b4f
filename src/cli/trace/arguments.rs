//! The options of `trace`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::presentation::Presentation;
use crate::image::function::nearest_of;
use crate::record::control;
use crate::record::counted::Counted;

#[derive(Debug, Args)]
#[command(
    after_help = AFTER_HELP,
    override_usage = "overstep trace -f FUNCTION… [OPTIONS] -- PROGRAM [ARG…]"
)]
pub struct Arguments {
    /// Function to trace; may be repeated
    ///
    /// `name`, a glob, `module!name`, `module+0xoffset`, `0xaddress` or `file.c:line`. Names match raw and
    /// demangled; clones (.constprop, .isra, .part, .cold) match their base name. A source line stands for the
    /// function it is in, which is traced from its entry; it needs debug information (-g).
    #[arg(short = 'f', long = "function", value_name = "FUNCTION", required = true)]
    pub functions: Vec<String>,

    /// What decides when the tracer gets control
    #[arg(long, value_enum, default_value_t = Engine::Auto, help_heading = "Stepping")]
    pub engine: Engine,
    /// How the kernel tells of an event
    #[arg(long, value_enum, default_value_t = Delivery::Auto, help_heading = "Stepping")]
    pub delivery: Delivery,
    /// What the instructions engine counts: instructions, branches, cycles or rNNNN (raw) [default: instructions]
    ///
    /// A stop comes when one more has been counted. Between two branches there is only one way, so those rows are
    /// reconstructed; cycles and raw events that are neither instructions nor branches say nothing about the way, and rows
    /// are there only where the code has just one.
    #[arg(long, value_name = "EVENT", help_heading = "Stepping", value_parser = event)]
    pub event: Option<Counted>,
    /// Counts from stop to stop [default: 1]
    ///
    /// Of the instructions engine. Rows in between are reconstructed from the image.
    #[arg(long, value_name = "N", help_heading = "Stepping", value_parser = period)]
    pub period: Option<u64>,
    /// Stop at each instruction, or once a basic block and fill in the rest from the image
    #[arg(long, value_enum, default_value_t = Step::Instruction, help_heading = "Stepping")]
    pub step: Step,
    /// Calls to step into; the others run natively and are one row
    #[arg(long, value_enum, default_value_t = Into::Module, value_name = "SCOPE", help_heading = "Stepping")]
    pub into: Into,

    /// Trace from the Nth call on
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "How much",
          value_parser = positive)]
    pub nth: u64,
    /// Trace this many calls [default: all]
    #[arg(long, value_name = "N", help_heading = "How much",
          value_parser = positive)]
    pub calls: Option<u64>,
    /// Record this many steps of a call, then let the program run on [default: no limit]
    #[arg(long, value_name = "N", help_heading = "How much",
          value_parser = positive)]
    pub max_steps: Option<u64>,

    /// Which registers to record
    #[arg(long, value_enum, default_value_t = Registers::Changed, help_heading = "What to record")]
    pub registers: Registers,
    /// Record what each instruction reads and writes in memory
    #[arg(long, help_heading = "What to record")]
    pub memory: bool,

    /// Keep the trace in FILE and print no listing
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Overwrite FILE
    #[arg(long, requires = "output", help_heading = "Output")]
    pub force: bool,
    /// No summary, notices or progress on standard error
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Exit with 124 unless every step came as expected
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
    #[command(flatten)]
    pub presentation: Presentation,

    /// The program and its arguments, after `--`
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

fn positive(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("counts start at 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
}

fn event(name: &str) -> Result<Counted, String> {
    Counted::parse(name).ok_or_else(|| {
        let names: Vec<_> = Counted::NAMED.iter().map(ToString::to_string).collect();
        let near = nearest_of(name, names.iter().map(String::as_str), 1);
        let meant = near.first().map_or(String::new(), |near| format!("did you mean {near}? "));
        format!("{meant}A counter counts {} or rNNNN (raw, hexadecimal)", names.join(", "))
    })
}

/// Longer ways between two stops are not looked for.
const LONGEST_PERIOD: u64 = 60;

fn period(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("a period of 0 would never overflow; 1 steps each instruction".to_owned()),
        Ok(number @ 1..=LONGEST_PERIOD) => Ok(number),
        Ok(_) => Err(format!("at most {LONGEST_PERIOD}: what ran between two stops could not be told")),
        Err(error) => Err(error.to_string()),
    }
}

const AFTER_HELP: &str = "\
Examples:
  overstep trace -f gcd -- ./a.out 48 18
  overstep trace -f gcd.c:12 -- ./a.out 48 18              the function around a line
  overstep trace -f fputs_unlocked -- /bin/echo hello      a function in libc
  overstep trace -f '*parse_works*' -- target/debug/deps/mycrate-1a2b parse_works
  overstep trace -f qsort --into all --step block -o sort.ostrace -- sort words

The program must be a dynamically linked x86_64 one (or a script run by one). Processes it starts are armed too; \
the first to enter the function is traced, the others run on untraced.

Exit status: the program's own; killed by a signal, overstep dies by the same. 124: --strict did not hold. \
125: overstep failed or was used wrongly. 126: the program cannot be run. 127: there is no such program.

Not there yet: attaching to a running process, following children.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// The best that works here, found by trying
    Auto,
    /// An execute breakpoint moved to the predicted next instruction
    Breakpoint,
    /// The CPU's single-step flag
    TrapFlag,
    /// Overflows of the retired-instruction counter: signals may come late, and rows say so
    Instructions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Delivery {
    /// The best that works here, found by trying
    Auto,
    /// A synchronous SIGTRAP (Linux 5.13)
    Sigtrap,
    /// A real-time signal through O_ASYNC
    Fasync,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Step {
    Instruction,
    Block,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Into {
    /// Calls that stay in the function's module
    Module,
    /// Every call but the vdso
    All,
    /// None
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Registers {
    /// None: the smallest file
    None,
    /// Those that an instruction changes
    Changed,
}

impl From<Step> for control::StepMode {
    fn from(step: Step) -> Self {
        match step {
            Step::Instruction => Self::Instruction,
            Step::Block => Self::Block,
        }
    }
}

impl From<Into> for control::Into {
    fn from(into: Into) -> Self {
        match into {
            Into::Module => Self::Module,
            Into::All => Self::All,
            Into::None => Self::None,
        }
    }
}
