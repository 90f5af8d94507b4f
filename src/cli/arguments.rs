//! The command line as a whole: its subcommands and what `--help` says about them.

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(
    name = "overstep",
    version,
    about = "Trace a function instruction by instruction, from inside its own process",
    long_about = "Traces a function instruction by instruction, from inside its own process: a perf event's \
                  signal stops the code at each instruction, its handler records, decodes and predicts what must \
                  come next. No ptrace, no root, no code patched.",
    after_help = AFTER_HELP,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Overstep {
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  overstep demo                                        see a listing, no program needed
  overstep symbols ./a.out 'g*'                        what can be traced
  overstep trace -f gcd -- ./a.out 48 18               run it; the listing follows its output
  overstep trace -f gcd -o t.ostrace -- ./a.out 48 18  keep the trace, then list or check it:
  overstep list t.ostrace; overstep check t.ostrace
  overstep diff good.ostrace bad.ostrace               where two runs part, and in what
  overstep doctor                                      what this machine can do, and what to change
  overstep validate                                    whether this machine's overflow signals come where they should
  overstep emulate -- perf stat -e instructions:u true count where there is no counter

Not there yet: attaching to a running process, following children (one process of the tree is traced).";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Trace a built-in function inside this very process and list it
    Demo(super::demo::Arguments),
    /// Run a program, trace the calls of a function and list them when it ends
    Trace(super::trace::Arguments),
    /// List a recorded trace
    List(super::list::Arguments),
    /// Compare two traces: where they part, in what, and where they meet again
    Diff(super::diff::Arguments),
    /// Check a recorded trace against what the CPU had to do, from the file alone
    Check(super::check::Arguments),
    /// Show the functions of a program that can be traced
    Symbols(super::symbols::Arguments),
    /// Say what this machine can do, what it cannot, and the remedy
    Doctor(super::doctor::Arguments),
    /// Run a program under a software PMU, on a machine that has none
    Emulate(super::emulate::Arguments),
    /// Measure whether overflow signals come where they should on this machine
    Validate(super::validate::Arguments),
    /// Print a shell's completion script
    Completions(super::completions::Arguments),
    /// Print the manual page (roff)
    #[command(hide = true)]
    Man(super::man::Arguments),
}
