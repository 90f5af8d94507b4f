//! Overflows become signals, and every signal passes here before the program gets it.

#![allow(unsafe_code, reason = "fcntl takes a pointer to the owner")]

use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::unistd::{Pid, getpgid};

use super::attr::Retired;
use super::event::{Event, Key, Overflow};
use super::instance::Boundary;
use super::instruction::Kind;
use super::ptrace::{self, SignalInfo};
use super::signal::{self, Meaning, TRAP_PERF};
use super::status::{self, Disposition};
use super::supervisor::Supervisor;
use super::thread::HeldTrap;

const F_GETSIG: i32 = 11;
const F_GETOWN_EX: i32 = 16;
const OWNER_THREAD: i32 = 0;
const OWNER_PROCESS: i32 = 1;
/// `si_code` of the stop at a handler's first instruction (`kernel/signal.c`, `ptrace_notify`).
const HANDLER_ENTERED: i32 = libc::SIGTRAP;

impl Supervisor {
    /// Tells whoever listens to the event of its overflow in `thread`.
    pub(super) fn announce(&mut self, thread: Pid, key: Key, overflow: Overflow) {
        if let Ok(at) = ptrace::instruction_pointer(thread) {
            self.sample(thread, key, at);
        }
        let Some(event) = self.events.get(key) else { return };
        if overflow.lost {
            return;
        }
        if event.asynchronous.is_some() {
            send_async(event, overflow, |group| self.members(group));
        }
        if event.attr.sigtrap() == 1 {
            let info = signal::by_sigtrap(event.attr.type_, event.attr.sig_data);
            let _ = self.send_trap(thread, info);
        }
    }

    /// The program's processes in a process group.
    fn members(&self, group: Pid) -> Vec<Pid> {
        self.processes().into_iter().filter(|it| getpgid(Some(*it)) == Ok(group)).collect()
    }

    /// Sends a thread a SIGTRAP, which waits while the program blocks it.
    pub(super) fn send_trap(&mut self, thread: Pid, mut info: SignalInfo) -> Result<(), Errno> {
        let Some(it) = self.threads.get_mut(&thread) else { return Err(Errno::ESRCH) };
        if it.has_pending_trap() {
            // SIGTRAP does not queue: one is pending already.
            return Ok(());
        }
        let stripped = it.mask.is_some();
        let mask = match it.mask {
            Some(mask) => mask,
            None => ptrace::signal_mask(thread)?,
        };
        if mask.has(libc::SIGTRAP) {
            signal::mark_asynchronous(&mut info);
            if stripped {
                it.trap = HeldTrap::Waiting(info);
                return Ok(());
            }
        }
        self.queue_trap(thread, info);
        Ok(())
    }

    pub(super) fn queue_trap(&mut self, thread: Pid, info: SignalInfo) {
        let Some(it) = self.threads.get_mut(&thread) else { return };
        it.trap = HeldTrap::Queued(info);
        let stand_in = signal::standing_for(Meaning::HeldTrap, libc::SIGTRAP);
        let _ = ptrace::queue(it.process, Some(thread), libc::SIGTRAP, &stand_in);
    }

    /// A signal is about to be delivered: the one to go on with, 0 for none.
    pub(super) fn signal(&mut self, thread: Pid, number: i32) -> Result<i32, Errno> {
        let step = self.threads.get(&thread).and_then(|it| it.step.filter(|_| !it.traps_itself));
        if let (libc::SIGTRAP, Some(step)) = (number, step) {
            let now = ptrace::instruction_pointer(thread)?;
            if step.has_surely_run(now) {
                self.stepped(thread, now)?;
                return Ok(0);
            }
        }
        let info = ptrace::signal_info(thread)?;
        if let Some(meaning) = signal::meaning(&info) {
            if meaning == Meaning::HeldTrap && self.holds_back(thread) {
                return Ok(0);
            }
            self.put_right(thread, number, meaning)?;
            return self.deliver_unless_ignored(thread, number);
        }
        if number != libc::SIGTRAP {
            return self.deliver_unless_ignored(thread, number);
        }
        let step = self.threads.get(&thread).and_then(|it| it.step);
        match (info.si_code, step) {
            (HANDLER_ENTERED, _) => Ok(0),
            (libc::TRAP_TRACE | libc::TRAP_BRKPT | libc::TRAP_HWBKPT, Some(step)) => {
                let own =
                    step.kind == Kind::OwnTrap || self.threads.get(&thread).is_some_and(|it| it.traps_itself);
                self.stepped(thread, ptrace::instruction_pointer(thread)?)?;
                if own { self.deliver(thread, number) } else { Ok(0) }
            }
            // `int3` has retired; its trap is the program's.
            (libc::SI_KERNEL, Some(step)) if step.kind == Kind::OwnTrap => {
                self.stepped(thread, ptrace::instruction_pointer(thread)?)?;
                self.deliver(thread, number)
            }
            (TRAP_PERF, _) => self.foreign_trap(thread, info),
            (code, _) if code <= 0 => self.foreign_trap(thread, info),
            _ => self.deliver(thread, number),
        }
    }

    /// A SIGTRAP that waited in the kernel while nothing was counted has come through in a step, whose mask lacks it: it
    /// waits on here.
    fn holds_back(&mut self, thread: Pid) -> bool {
        let Some(it) = self.threads.get_mut(&thread) else { return false };
        match it.trap {
            HeldTrap::Queued(info) if it.mask.is_some_and(|mask| mask.has(libc::SIGTRAP)) => {
                it.trap = HeldTrap::Waiting(info);
                true
            }
            _ => false,
        }
    }

    /// A SIGTRAP that comes from elsewhere waits while the program blocks it: the real mask lacks it.
    fn foreign_trap(&mut self, thread: Pid, mut info: SignalInfo) -> Result<i32, Errno> {
        let Some(it) = self.threads.get_mut(&thread) else { return Err(Errno::ESRCH) };
        if it.mask.is_some_and(|mask| mask.has(libc::SIGTRAP)) {
            if !it.has_pending_trap() {
                signal::mark_asynchronous(&mut info);
                it.trap = HeldTrap::Waiting(info);
            }
            return Ok(0);
        }
        self.deliver_unless_ignored(thread, libc::SIGTRAP)
    }

    fn deliver_unless_ignored(&mut self, thread: Pid, number: i32) -> Result<i32, Errno> {
        let disposition = status::disposition(thread, number);
        let ignored =
            disposition == Disposition::Ignored || number == libc::SIGTRAP && self.ignores_trap(thread);
        if ignored {
            return self.undisturbed(thread, number);
        }
        if let Some(it) = self.threads.get_mut(&thread) {
            it.disposition = Some(disposition);
        }
        self.deliver(thread, number)
    }

    fn ignores_trap(&self, thread: Pid) -> bool {
        self.threads.get(&thread).is_some_and(|it| self.ignoring_trap.contains(&it.process))
    }

    /// Replaces one of our stand-ins by what it stands for.
    fn put_right(&mut self, thread: Pid, number: i32, meaning: Meaning) -> Result<(), Errno> {
        let info = match meaning {
            Meaning::Overflow(notice, descriptor) => signal::by_async(number, notice, descriptor),
            Meaning::Plain => signal::plain(number),
            Meaning::HeldTrap => self.held_trap(thread).unwrap_or_else(|| signal::plain(number)),
        };
        ptrace::set_signal_info(thread, &info)
    }

    /// The SIGTRAP that a stand-in stood for, which is on its way.
    pub(super) fn held_trap(&mut self, thread: Pid) -> Option<SignalInfo> {
        match std::mem::replace(&mut self.threads.get_mut(&thread)?.trap, HeldTrap::None) {
            HeldTrap::Queued(info) | HeldTrap::Waiting(info) => Some(info),
            HeldTrap::None => None,
        }
    }

    /// The kernel saves the mask in the handler's frame: it has to be the program's.
    fn deliver(&mut self, thread: Pid, number: i32) -> Result<i32, Errno> {
        self.interrupted_in_user_mode(thread);
        self.restore_mask(thread)?;
        if let Some(it) = self.threads.get_mut(&thread) {
            it.note_time();
        }
        Ok(number)
    }

    /// A signal is delivered by the kernel: a skid that was still to come has ended.
    fn interrupted_in_user_mode(&mut self, thread: Pid) {
        self.retire(thread, Retired::default(), Boundary::Kernel);
    }
}

/// O_ASYNC: the signal of F_SETSIG to the owner (`fs/fcntl.c`, `send_sigio`).
///
/// Of a process group, those that are under the supervisor get it: natively it and what stands around it would be no part
/// of the group.
fn send_async(event: &Event, overflow: Overflow, members: impl FnOnce(Pid) -> Vec<Pid>) {
    let Some(descriptor) = event.asynchronous else { return };
    let file = event.file.as_raw_fd();
    // SAFETY: F_GETSIG takes no argument.
    let signal = unsafe { libc::fcntl(file, F_GETSIG) };
    let mut owner = [0i32; 2];
    // SAFETY: F_GETOWN_EX writes `struct f_owner_ex`, two ints.
    if unsafe { libc::fcntl(file, F_GETOWN_EX, &raw mut owner) } != 0 || owner[1] == 0 {
        return;
    }
    let id = Pid::from_raw(owner[1]);
    let recipients = match owner[0] {
        OWNER_THREAD => vec![(process_of(id), Some(id))],
        OWNER_PROCESS => vec![(id, None)],
        _ => members(id).into_iter().map(|process| (process, None)).collect(),
    };
    for (process, thread) in recipients {
        let send =
            |signal, meaning| ptrace::queue(process, thread, signal, &signal::standing_for(meaning, signal));
        let sent = match signal {
            number if number > 0 => send(number, Meaning::Overflow(overflow.notice, descriptor)),
            _ => Err(Errno::EAGAIN),
        };
        // Without F_SETSIG, and when the queue is full.
        if sent == Err(Errno::EAGAIN) {
            let _ = send(libc::SIGIO, Meaning::Plain);
        }
    }
}

fn process_of(thread: Pid) -> Pid {
    status::process(thread).unwrap_or(thread)
}
