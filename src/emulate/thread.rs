//! The supervisor's picture of one thread.

use std::time::Duration;

use nix::unistd::Pid;

use super::call::Call;
use super::clock::{Running, time_of};
use super::instance::{Instance, Switch};
use super::instruction::Next;
use super::ptrace::{SignalInfo, SignalMask};
use super::status::{self, Disposition};
use super::table::Events;
use super::wait::Wait;
use crate::address::RuntimeAddr;

/// A SIGTRAP of the program's that cannot be delivered yet.
#[derive(Clone, Copy)]
pub enum HeldTrap {
    None,
    /// The program has blocked it: it waits here, because the kernel would deliver it.
    Waiting(SignalInfo),
    /// It waits in the kernel, as one of ours that stands for it.
    Queued(SignalInfo),
}

pub struct Thread {
    pub id: Pid,
    pub process: Pid,
    pub instances: Vec<Instance>,
    /// The system call it is in, between entry and exit.
    pub call: Option<Call>,
    /// The instruction it was sent to run alone.
    pub step: Option<Next>,
    /// Where it stands, as far as that is known at this stop.
    pub at: Option<RuntimeAddr>,
    /// The program has set the trap flag itself: each step is also a trap of its own.
    pub traps_itself: bool,
    /// The program's own mask, while the real one lacks SIGTRAP for a step.
    pub mask: Option<SignalMask>,
    pub trap: HeldTrap,
    /// The CPU it is taken to run on: the first of those it may, so that a run does not depend on the scheduler.
    pub cpu: i32,
    /// How long it had run when it was last looked at.
    pub time: Duration,
    /// Retired while something counted.
    pub instructions: u64,
    /// It is known to be stopped, or about to be told to go on.
    pub stopped: bool,
    pub interrupted: bool,
    /// The interruption was answered by another stop, and may yet cut the call short that it makes.
    pub disturbed: bool,
    /// It goes back to a call only because it was stopped: natively that `syscall` would not run again.
    pub sent_back: bool,
    /// The call that `restart_syscall` goes on with.
    pub restarts: Option<i64>,
    /// The call it was last seen to begin, if that waits for a while only.
    pub wait: Option<Wait>,
    /// It has stopped with its process: SIGCONT ends that, and the call it was in.
    pub group_stopped: bool,
    /// What is done about the signal it is about to get.
    pub disposition: Option<Disposition>,
}

impl Thread {
    #[must_use]
    pub fn new(id: Pid, process: Pid) -> Self {
        Self {
            id,
            process,
            instances: Vec::new(),
            call: None,
            step: None,
            at: None,
            traps_itself: false,
            mask: None,
            trap: HeldTrap::None,
            cpu: status::first_cpu(id),
            time: Duration::ZERO,
            instructions: 0,
            stopped: true,
            interrupted: false,
            disturbed: false,
            sent_back: false,
            restarts: None,
            wait: None,
            group_stopped: false,
            disposition: None,
        }
    }

    /// Remembers how long it has run, which is not to be had any more when it is gone.
    pub fn note_time(&mut self) {
        if self.counts() {
            self.time = time_of(self.id).unwrap_or(self.time);
        }
    }

    /// Whether a SIGTRAP waits already. A stand-in may have left the queue unseen: it was taken off, or the program has
    /// begun to ignore SIGTRAP.
    pub fn has_pending_trap(&mut self) -> bool {
        if matches!(self.trap, HeldTrap::Queued(_)) && !status::is_pending(self.id, libc::SIGTRAP) {
            self.trap = HeldTrap::None;
        }
        !matches!(self.trap, HeldTrap::None)
    }

    /// Whether any event counts in it, so that it must be stepped.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.instances.iter().any(|instance| instance.active)
    }

    /// Works out anew which of its events count: those enabled in a group whose leader is.
    pub fn schedule(&mut self, events: &mut Events) {
        let bound = self.instances.iter().filter_map(|it| events.get(it.event)).any(|event| event.cpu != -1);
        if bound {
            self.cpu = status::first_cpu(self.id);
        }
        for place in 0..self.instances.len() {
            let instance = &self.instances[place];
            let leader = events.get(instance.event).and_then(|event| event.leader);
            let led = leader.is_none_or(|leader| {
                self.instances.iter().any(|it| it.event == leader && it.switch == Switch::On)
            });
            let cpu = events.get(instance.event).map_or(-1, |event| event.cpu);
            let here = cpu == -1 || cpu == self.cpu;
            let enabled = led && instance.switch == Switch::On;
            let active = enabled && here;
            let Some(event) = events.get_mut(instance.event) else { continue };
            if active != instance.active {
                let instance = &mut self.instances[place];
                instance.active = active;
                if active {
                    instance.start(event.period);
                }
                event.clock(self.id, if active { Running::Counting } else { Running::Off }, self.time);
            }
            if !active {
                event.clock(self.id, if enabled { Running::Enabled } else { Running::Off }, self.time);
            }
        }
    }
}
