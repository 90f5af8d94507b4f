//! The supervisor: one process that all threads of the program report to, one report at a time.

use std::collections::{BTreeSet, HashMap, HashSet};

use nix::errno::Errno;
use nix::unistd::Pid;

use super::model::Model;
use super::ptrace::{self, Resume};
use super::reports::{Report, Reports};
use super::ring::RingMapping;
use super::table::Events;
use super::thread::Thread;

/// The software PMU and the program under it.
pub struct Supervisor {
    pub(super) model: Model,
    pub(super) threads: HashMap<Pid, Thread>,
    /// Processes that have had a descriptor of an event: all their system calls are looked at.
    pub(super) watched: HashSet<Pid>,
    /// Processes that ignore SIGTRAP as far as they know: the first step has reset that
    /// (`kernel/signal.c`, `force_sig_info_to_task`), and it is kept up here.
    pub(super) ignoring_trap: HashSet<Pid>,
    /// Processes that have given a socket a timeout, by which its calls are not made again.
    pub(super) timed: HashSet<Pid>,
    /// A descriptor of an event went into a socket: any process may have one.
    pub(super) passed_on: bool,
    pub(super) events: Events,
    /// Where ring buffers are mapped.
    pub(super) mappings: Vec<RingMapping>,
    pub(super) reports: Reports,
    /// Threads that reported before whoever started them did.
    pub(super) early: HashSet<Pid>,
    root: Pid,
    status: i32,
}

impl Supervisor {
    /// The processes that run under it.
    pub(super) fn processes(&self) -> BTreeSet<Pid> {
        self.threads.values().map(|it| it.process).collect()
    }

    /// For `root`, which has been seized and is about to execute the program.
    #[must_use]
    pub fn new(root: Pid, model: Model) -> Self {
        let mut first = Thread::new(root, root);
        first.stopped = false;
        Self {
            model,
            threads: HashMap::from([(root, first)]),
            watched: HashSet::new(),
            ignoring_trap: HashSet::new(),
            timed: HashSet::new(),
            passed_on: false,
            events: Events::default(),
            mappings: Vec::new(),
            reports: Reports::default(),
            early: HashSet::new(),
            root,
            status: 0,
        }
    }

    /// Serves the program until it and everything it started are gone; the program's status as `wait(2)` encodes it.
    ///
    /// # Errors
    /// `waitpid(2)` failed.
    pub fn run(mut self) -> Result<i32, Errno> {
        loop {
            match self.reports.next() {
                Ok((thread, report)) => self.serve(thread, report),
                Err(Errno::EINTR) => {}
                Err(Errno::ECHILD) => return Ok(self.status),
                Err(errno) => return Err(errno),
            }
        }
    }

    /// A thread that was killed meanwhile answers ESRCH to everything; its end is reported next.
    fn serve(&mut self, thread: Pid, report: Report) {
        if let Report::Ended(status) = report {
            if thread == self.root {
                self.status = status;
            }
            return self.gone(thread);
        }
        if !self.threads.contains_key(&thread) && report != Report::Executed {
            // It waits until its parent's report says what it is.
            self.early.insert(thread);
            return;
        }
        if let Some(it) = self.threads.get_mut(&thread) {
            it.stopped = true;
            it.at = None;
        }
        self.after_interruption(thread, report);
        let next = match report {
            Report::SystemCall => self.system_call(thread),
            Report::Seccomp => self.filtered(thread),
            Report::Signal(signal) => self.signal(thread, signal),
            Report::Started => self.started(thread),
            Report::Executed => self.executed(thread),
            Report::Interrupted => Ok(0),
            Report::GroupStop(_) => {
                if let Some(it) = self.threads.get_mut(&thread) {
                    it.group_stopped = true;
                }
                self.told_to_go_on(thread);
                let _ = ptrace::resume(thread, Resume::GroupStopped, 0);
                return;
            }
            Report::Ended(_) => return,
        };
        if let Ok(signal) = next {
            let _ = self.go_on(thread, signal);
        }
    }

    pub(super) fn told_to_go_on(&mut self, thread: Pid) {
        if let Some(it) = self.threads.get_mut(&thread) {
            it.stopped = false;
        }
    }

    /// Has a running thread stop, so that how it goes on is decided anew. One that is in a call is stopped at its exit
    /// anyway, and not cut short before.
    pub(super) fn interrupt(&mut self, thread: Pid) {
        let Some(it) = self.threads.get_mut(&thread) else { return };
        if !it.stopped && !it.interrupted && it.call.is_none() {
            it.interrupted = true;
            let _ = ptrace::interrupt(thread);
        }
    }
}
