//! The command line of `validate`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::presentation::Color;
use crate::event::environment::emulated;
use crate::precision::event::{Delivery, Event};
use crate::precision::plan::{Depth, Plan, Pmu, Stop};
use crate::precision::suite::check_names;
use crate::precision::workload::class::{CLASSES, FAULTING};

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Each event is made to overflow at an instruction that the workload knows, and the saved RIP of each signal is \
                  compared with it. Four controls are measured whatever is asked for: page faults and breakpoints must come \
                  out synchronous, cpu-clock and a blocked SIGTRAP asynchronous, or nothing else is to be believed.\n\n\
                  Exit status: 0 the controls hold and nothing failed or stayed unexplained (an asynchronous clock and a known \
                  kernel bug are findings, not failures); 1 not so; 2 used wrongly, nothing could be measured, or ended by a signal \
                  before all of it was.\n\n\
                  Examples:\n  overstep validate --quick\n  overstep validate --event breakpoint --delivery fasync\n  \
                  overstep validate --event r01c0 --precise 0 --cpu 3"
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// About ten seconds: fewer signals, no precise levels above 0
    #[arg(long, conflicts_with = "thorough")]
    quick: bool,
    /// A million signals a line, however long it takes
    #[arg(long)]
    thorough: bool,
    /// Only these events: breakpoint, page-faults, context-switches, cpu-clock, task-clock, instructions, branches,
    /// cycles, rNNNN (raw), tracepoint:ID, uprobe
    #[arg(long, value_name = "EVENT", value_delimiter = ',', value_parser = Event::parse)]
    event: Vec<Event>,
    /// Only this delivery
    #[arg(long, value_enum, value_name = "DELIVERY")]
    delivery: Option<Deliver>,
    /// Only these levels of precise_ip, 0 to 3
    #[arg(long, value_name = "LEVEL", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..=3))]
    precise: Vec<u8>,
    /// Only this class of instruction beside each event's own loop, or `none`: "nop", "load, hit", "fused cmp+jcc" …
    #[arg(long, value_name = "CLASS", value_parser = class)]
    class: Vec<String>,
    /// Only this check beyond the matrix, or `none`: "handler tail", "instructions, with signals" …
    #[arg(long, value_name = "CHECK", value_parser = check)]
    check: Vec<String>,
    /// Stay on this CPU; on a hybrid machine the way to choose the core type
    #[arg(long, value_name = "N")]
    pub cpu: Option<u32>,
    /// Signals a line, instead of 10,000 (--quick), 20,000 or a million (--thorough); fewer than 10,000 never say
    /// synchronous
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    signals: Option<u64>,
    /// Write everything as JSON, machine facts and histograms included (docs/validate.schema.json)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write one self-contained page with histograms and the class matrix
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print Markdown, for a bug report
    #[arg(long)]
    pub markdown: bool,
    /// Colour; `auto` means on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Hold reports of other machines or kernels against the first
    Compare(Compare),
}

#[derive(Debug, Args)]
#[command(
    after_help = "What differs from the first report is shown, a column each. A pass that became a failure, unexplained or a known \
                  kernel bug, and a synchronous event that became asynchronous, are regressions; what was not measured in one \
                  of the two is only different.\n\n\
                  Exit status: 0 nothing is worse than in the first; 1 something is; 2 a file is no report.\n\n\
                  Example:\n  overstep validate compare linux-6.12.json linux-6.18.json"
)]
pub struct Compare {
    /// Reports of `overstep validate --json`
    #[arg(value_name = "REPORT.json", num_args = 2.., required = true)]
    pub files: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Deliver {
    Sigtrap,
    Fasync,
}

/// The name of a class, or `none`.
fn class(name: &str) -> Result<String, String> {
    let mut names: Vec<_> = CLASSES.iter().chain(&FAULTING).map(|class| (class.workload)().name).collect();
    names.dedup();
    if name == "none" || names.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(format!("there are none, {}", names.join("; ")))
}

/// The name of a check, or `none`.
fn check(name: &str) -> Result<String, String> {
    let (names, is_one) = check_names(name);
    if name == "none" || is_one {
        return Ok(name.to_owned());
    }
    Err(format!("there are none, {}", names.join("; ")))
}

impl Arguments {
    /// What to measure, until `stop` is requested.
    pub fn plan(&self, stop: &'static Stop) -> Plan {
        let depth = match (self.quick, self.thorough) {
            (true, _) => Depth::Quick,
            (_, true) => Depth::Thorough,
            _ => Depth::Default,
        };
        let precise = match (self.precise.is_empty(), depth) {
            (false, _) => self.precise.clone(),
            (true, Depth::Quick) => vec![0],
            (true, _) => vec![0, 1, 2, 3],
        };
        Plan {
            depth,
            events: if self.event.is_empty() { Event::STANDARD.to_vec() } else { self.event.clone() },
            deliveries: match self.delivery {
                None => Delivery::MEASURED.to_vec(),
                Some(Deliver::Sigtrap) => vec![Delivery::Sigtrap],
                Some(Deliver::Fasync) => vec![Delivery::Fasync],
            },
            precise,
            classes: if self.class.is_empty() { None } else { Some(self.class.clone()) },
            checks: if self.check.is_empty() { None } else { Some(self.check.clone()) },
            cpu: self.cpu,
            signals: self.signals,
            pmu: if emulated().is_some() { Pmu::Emulated } else { Pmu::Hardware },
            stop,
        }
    }
}
