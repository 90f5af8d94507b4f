//! The options of `emulate`: each an error of real PMUs.

use std::ffi::OsString;
use std::str::FromStr;

use clap::Args;

use crate::cli::exit::{Failure, OVERSTEP_FAILED};
use crate::emulate::{AtLimit, Fusion, Iret, Model, Skid, TICK};

#[derive(Debug, Args)]
#[command(
    after_help = AFTER_HELP,
    override_usage = "overstep emulate [MODEL] -- PROGRAM [ARG…]"
)]
pub struct Arguments {
    /// Instructions that retire between the one that overflows and the signal: N, uniform:A-B, or geometric:P
    ///
    /// `geometric:P` goes on to another instruction until a chance of P ends it. A skid ends at the next entry into
    /// the kernel: a system call or a signal.
    #[arg(long, value_name = "SKID", value_parser = skid, default_value = "0", help_heading = "Model")]
    skid: Skid,
    /// Count one too many after every N instructions, as interrupts and page faults cause
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Model")]
    overcount: Option<u64>,
    /// Refuse (EINVAL) sampling periods below N
    #[arg(long, value_name = "N", value_parser = a_period, help_heading = "Model")]
    min_period: Option<u64>,
    /// No stop between `cmp` or `test` and the conditional branch behind it
    #[arg(long, help_heading = "Model")]
    fuse: bool,
    /// Hold an event for the rest of a tick (10,000 instructions of its thread) after N overflows in it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Model")]
    throttle: Option<u32>,
    /// Count only the first N instructions of each tick, as where a hypervisor shares the PMU out or a core type lacks the
    /// event; time_running tells
    #[arg(long, value_name = "N", value_parser = within_a_tick, help_heading = "Model")]
    multiplex: Option<u64>,
    /// Lose an overflow's signal with probability P
    #[arg(long, value_name = "P", value_parser = probability, default_value = "0", help_heading = "Model")]
    lose: f64,
    /// The signal at the limit of REFRESH says POLL_IN, not POLL_HUP (as of Linux 6.16.0 to 6.16.7)
    #[arg(long, help_heading = "Model")]
    hup_bug: bool,
    /// The return from a signal handler counts as one more instruction, as IRET does on most x86
    #[arg(long, help_heading = "Model")]
    iret_counts: bool,
    /// Seed of the chances above: the same seed gives the same run
    #[arg(long, value_name = "S", default_value_t = 1, help_heading = "Model")]
    seed: u64,

    /// No line about the model on standard error
    #[arg(short, long)]
    pub quiet: bool,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

const AFTER_HELP: &str = "\
Examples:
  overstep emulate -- perf stat -e instructions:u true
  overstep emulate -- perf record -e instructions:u -c 1000 ./a.out
  overstep emulate --skid uniform:0-5 --seed 7 -- ./a.out

Counted, in user mode: instructions, cycles (one each), branches; raw rNNNN for these three and for conditional \
branches in this CPU's own encoding. A repeated string instruction counts once, so does a system call; handlers and \
their return count, too. All other events go to the real kernel.

Not emulated, and answered as on a machine that lacks it: other hardware events; raw events with edge, inversion or \
threshold bits; events of a whole CPU, a control group or a process outside; groups of an emulated event and a real one, or one ring buffer \
for both (perf record -e instructions:u -e page-faults: record them one after the other); frequencies (-F: pass -c); precise_ip, call graphs, stacks, \
registers, branch stacks and AUX areas; filters and BPF programs; rdpmc. The kernel's own instructions count zero. An event bound to a CPU \
counts as if each thread ran on the first CPU it may use. Page faults end no skid. 32-bit system calls, splice \
and io_uring are not looked at. A transfer that an ignored signal cuts short stays short. A program whose own seccomp \
filter refuses pipe2 or memfd_create gets no events or buffers. A program under it cannot be traced by another debugger, cannot trace its own children, and gains \
nothing from set-user-id files.

Exit status: the program's own; if it was killed by a signal, overstep dies by the same. 125: overstep failed or was \
used wrongly. 126: the program cannot be run. 127: there is none. overstep stays until everything that the program \
started has ended.";

impl Arguments {
    /// # Errors
    /// Two options of which one would never show.
    pub fn consistent(&self) -> Result<(), Failure> {
        let place = self.skid != Skid::Fixed(0) || self.fuse || self.hup_bug;
        if self.lose >= 1.0 && place {
            return Err(Failure::new(
                OVERSTEP_FAILED,
                "with --lose 1 no signal arrives, so --skid, --fuse and --hup-bug contradict it",
            )
            .next("leave either out"));
        }
        match (self.throttle, self.min_period) {
            (Some(_), Some(least)) if least > TICK => Err(Failure::new(
                OVERSTEP_FAILED,
                format_args!(
                    "with --min-period {least} no tick of {TICK} instructions has two overflows to throttle"
                ),
            )
            .next(format_args!("ask for periods up to {TICK}, or leave --throttle out"))),
            _ => Ok(()),
        }
    }

    pub fn model(&self) -> Model {
        Model {
            skid: self.skid,
            overcount: self.overcount,
            min_period: self.min_period,
            fuse: if self.fuse { Fusion::CompareAndBranch } else { Fusion::None },
            throttle: self.throttle,
            multiplex: self.multiplex,
            lose: self.lose,
            at_limit: if self.hup_bug { AtLimit::PollIn } else { AtLimit::PollHup },
            iret: if self.iret_counts { Iret::Counted } else { Iret::NotCounted },
            seed: self.seed,
        }
    }
}

fn skid(text: &str) -> Result<Skid, String> {
    let number = |text: &str| {
        u32::from_str(text).map_err(|_| format!("`{text}` is no number of instructions (0 to {})", u32::MAX))
    };
    if let Some(range) = text.strip_prefix("uniform:") {
        let (low, high) = range.split_once('-').ok_or("uniform takes two numbers: uniform:0-5")?;
        let (low, high) = (number(low)?, number(high)?);
        return match low <= high {
            true => Ok(Skid::Uniform { low, high }),
            false => Err(format!("{low} is more than {high}: write uniform:{high}-{low}")),
        };
    }
    if let Some(chance) = text.strip_prefix("geometric:") {
        let end = probability(chance)?;
        return match end > 0.0 {
            true => Ok(Skid::Geometric { end }),
            false => Err("with a chance of 0 a skid would never end".to_owned()),
        };
    }
    number(text).map(Skid::Fixed).map_err(|why| format!("{why}; or uniform:A-B, or geometric:P"))
}

fn probability(text: &str) -> Result<f64, String> {
    match f64::from_str(text) {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err(format!("`{text}` is no probability (0 to 1)")),
    }
}

fn within_a_tick(text: &str) -> Result<u64, String> {
    match positive(text)? {
        all if all >= TICK => Err(format!("a tick has {TICK} instructions: {all} of them are all")),
        part => Ok(part),
    }
}

/// The kernel takes none with the highest bit set.
fn a_period(text: &str) -> Result<u64, String> {
    match positive(text)? {
        period if period > i64::MAX as u64 => Err(format!("no period is longer than {}", i64::MAX)),
        period => Ok(period),
    }
}

fn positive(text: &str) -> Result<u64, String> {
    match u64::from_str(text) {
        Ok(value) if value > 0 => Ok(value),
        _ => Err(format!("`{text}` is no number above zero")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skids_are_read_as_they_are_printed() {
        for text in ["0", "12", "uniform:2-9", "geometric:0.25"] {
            assert_eq!(skid(text).unwrap().to_string(), text);
        }
        for text in ["", "-1", "uniform:5", "uniform:9-2", "geometric:0", "geometric:2", "gauss:3"] {
            assert!(skid(text).is_err(), "{text}");
        }
    }
}
