//! What has to be done about a system call that the kernel is to make: masks that would block the tracer's signals
//! meanwhile, and calls that end the program or make another one.

use super::dispatch::{Carrying, PR_SET_SYSCALL_USER_DISPATCH};
use super::doors::installs_seccomp;
use super::program_signals::mask_bit;
use super::sigaction::replace;
use super::signal_frame::frame;
use super::stepper::Stepper;
use crate::address::RuntimeAddr;
use crate::image::memory::read_value;
use crate::raw;
use crate::record::marker::Marker;
use crate::registers::{R8, R9, R10, RAX, RDI, RSI, RSP, Registers};

/// A mask of the program's that a system call waits with, but for the tracer's signals, and what it stands in for.
#[derive(Clone, Copy)]
pub(super) struct Shield {
    register: usize,
    value: u64,
    rsp: u64,
    /// Those of the tracer's signals that the program believed to block before.
    believed: u64,
    mask: u64,
    /// pselect6(2) takes the address and the size of the mask by a pointer.
    pair: [u64; 2],
}

/// Whether control comes back from a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prospect {
    Returns,
    /// Another program takes the process over.
    Exec,
    /// The process ends by a signal that it sends itself.
    Death,
}

/// Whether the default action of a signal ends the process (signal(7)).
const fn is_deadly(signal: i32) -> bool {
    !matches!(
        signal,
        i32::MIN..=0
            | libc::SIGCHLD
            | libc::SIGCONT
            | libc::SIGSTOP
            | libc::SIGTSTP
            | libc::SIGTTIN
            | libc::SIGTTOU
            | libc::SIGURG
            | libc::SIGWINCH
            | 65..=i32::MAX
    )
}

/// What a system call that the kernel is to make means for the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Making {
    Process,
    Thread,
    Neither,
}

impl Stepper<'_> {
    /// Before a native system call is made.
    ///
    /// # Signal safety
    /// As `Stepper::mark`; process_vm_readv and process_vm_writev.
    pub(super) fn prepare(&mut self, registers: &Registers) -> Carrying {
        let number = registers.general[RAX] as i64;
        let first = registers.general[RDI];
        match number {
            libc::SYS_exit | libc::SYS_exit_group => self.mark(&Marker::Exit { status: first as u32 }),
            libc::SYS_execve | libc::SYS_execveat => self.prepare_exec(registers),
            libc::SYS_rt_sigreturn => {
                self.free_frame(registers.general[RSP]);
                self.shut_until_sigreturn();
            }
            libc::SYS_prctl if first == PR_SET_SYSCALL_USER_DISPATCH => {
                self.process.leave_dispatch_to_program();
            }
            _ if installs_seccomp(number, first) => {
                self.thread.stand_down(self.process);
                self.process.close_triggers();
            }
            _ => {}
        }
        self.thread.forking = self.making(registers) == Making::Process;
        if self.shield(registers) || self.thread.forking { Carrying::AndBack } else { Carrying::Through }
    }

    /// Before a stepped system call is made: whether control comes back from it, as far as that is known.
    ///
    /// # Signal safety
    /// As [`Self::prepare`].
    pub(super) fn prepare_stepped(&mut self, registers: &Registers) -> Prospect {
        let number = registers.general[RAX] as i64;
        match number {
            libc::SYS_execve | libc::SYS_execveat if self.can_execute(registers) => return Prospect::Exec,
            libc::SYS_prctl if registers.general[RDI] == PR_SET_SYSCALL_USER_DISPATCH => {
                self.process.leave_dispatch_to_program();
            }
            _ => {}
        }
        if self.ends_process(registers) {
            return Prospect::Death;
        }
        self.thread.forking = self.making(registers) == Making::Process;
        self.shield(registers);
        Prospect::Returns
    }

    /// Whether the call sends its own process a signal that ends it: one with the default action, and not blocked.
    fn ends_process(&self, registers: &Registers) -> bool {
        let (own, tid) = (u64::from(raw::getpid()), u64::from(self.tid));
        let [first, second, third, ..] = registers.syscall_arguments();
        let (reaches, signal) = match registers.general[RAX] as i64 {
            libc::SYS_kill | libc::SYS_rt_sigqueueinfo => (first == own, second),
            libc::SYS_tkill => (first == tid, second),
            libc::SYS_tgkill | libc::SYS_rt_tgsigqueueinfo => (first == own && second == tid, third),
            _ => return false,
        };
        let number = signal as i32;
        if !reaches || !is_deadly(number) || number == libc::SIGKILL {
            return reaches && number == libc::SIGKILL;
        }
        let (mask, owned) = (self.saved.mask(), self.process.signals.action(number));
        let blocked = (mask | self.thread.blocked_by_program) & mask_bit(number) != 0;
        let action = owned.or_else(|| replace(number, None).ok());
        !blocked && action.is_some_and(|action| action.handler == libc::SIG_DFL as u64)
    }

    /// Whether the call makes a process or a thread.
    pub(super) fn making(&self, registers: &Registers) -> Making {
        let flags = match registers.general[RAX] as i64 {
            libc::SYS_fork | libc::SYS_vfork => 0,
            libc::SYS_clone => registers.general[RDI],
            // The first field of `struct clone_args`.
            libc::SYS_clone3 => match self.word_at(registers.general[RDI]) {
                Some(flags) => flags,
                None => return Making::Neither,
            },
            _ => return Making::Neither,
        };
        if flags & libc::CLONE_THREAD as u64 == 0 { Making::Process } else { Making::Thread }
    }

    /// Behind a system call: says which process it has made, if it was to make one.
    pub(super) fn note_child(&mut self, result: u64) {
        let child = result as i64;
        if std::mem::take(&mut self.thread.forking) && child > 0 {
            self.mark(&Marker::Fork { child: child as u32 });
        }
    }

    /// Before execve or execveat. The new image inherits the real mask, which becomes the one that the program believes
    /// in. Nothing comes behind a call that succeeds, so it is foretold where the file may be executed.
    pub(super) fn prepare_exec(&mut self, registers: &Registers) {
        if self.can_execute(registers) {
            let blocked = self.thread.blocked_by_program & self.process.signals.owned();
            if self.process.ignore_signals() || blocked != 0 {
                self.thread.dispatch.give_way();
            }
            self.saved.set_mask(self.saved.mask() | blocked);
            self.mark(&Marker::Exec);
        }
    }

    fn can_execute(&self, registers: &Registers) -> bool {
        let in_directory = registers.general[RAX] as i64 == libc::SYS_execveat;
        let (directory, path, flags) = if in_directory {
            (registers.general[RDI], registers.general[RSI], registers.general[R8])
        } else {
            (libc::AT_FDCWD as u64, registers.general[RDI], 0)
        };
        self.process.may_execute(directory, path, flags)
    }

    /// The mask in the frame that rt_sigreturn is about to restore: the tracer's signals stay unblocked.
    fn free_frame(&mut self, at: u64) {
        if let Some(blocked) = self.thread.unfollowed.end(at) {
            self.process.believe(self.thread, self.tid, blocked);
            return;
        }
        let owned = self.process.signals.owned();
        if let Some(mut frame) = frame(at, &self.process.memory()) {
            let mask = frame.mask();
            if mask & owned != 0 {
                self.process.believe(self.thread, self.tid, mask & owned);
                frame.set_mask(mask & !owned);
            }
        }
    }

    /// The system call that is about to be made changes what the program believes to block: what waits comes with its
    /// return, not before it.
    pub(super) fn unblock_behind_call(&mut self, blocked: u64) {
        self.saved.set_mask(self.saved.mask() | self.process.held() & !blocked);
        self.process.believe(self.thread, self.tid, blocked);
    }

    /// The mask that the call waits with, if it has one, is replaced by one that leaves the tracer's signals unblocked
    /// until [`Self::unshield`]. `false` where there is nothing to replace.
    pub(super) fn shield(&mut self, registers: &Registers) -> bool {
        if self.thread.waiting {
            // The agent's function that waits has done it.
            return false;
        }
        let (register, size) = match registers.general[RAX] as i64 {
            libc::SYS_rt_sigsuspend => (RDI, registers.general[RSI]),
            libc::SYS_ppoll => (R10, registers.general[R8]),
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => (R8, registers.general[R9]),
            libc::SYS_pselect6 => (R9, 8),
            _ => return false,
        };
        let value = registers.general.get(register).copied().unwrap_or(0);
        let pair = register == R9;
        let place = if pair { self.word_at(value) } else { Some(value) };
        let Some(mask) = place.filter(|place| *place != 0 && size == 8).and_then(|at| self.word_at(at))
        else {
            return false;
        };
        let owned = self.process.signals.owned();
        let believed = self.thread.blocked_by_program & owned;
        if mask & owned == 0 && believed == 0 {
            return false;
        }
        let mask_size = if pair { self.word_at(value.wrapping_add(8)).unwrap_or(0) } else { size };
        let shield = Shield {
            register,
            value,
            rsp: registers.general[RSP],
            believed,
            mask: mask & !owned,
            pair: [0, mask_size],
        };
        let kept = self.thread.shield.insert(shield);
        // The block does not move.
        let at = &raw const kept.mask as u64;
        kept.pair[0] = at;
        let stand_in = if pair { &raw const kept.pair as u64 } else { at };
        self.unblock_behind_call(mask & owned);
        self.saved.set_general(register, stand_in);
        true
    }

    /// Behind the call: the program's register and belief are its own again.
    pub(super) fn unshield(&mut self) {
        let rsp = self.saved.rsp();
        if let Some(shield) = self.thread.shield.take_if(|shield| shield.rsp == rsp) {
            self.saved.set_general(shield.register, shield.value);
            self.process.believe(self.thread, self.tid, shield.believed);
        }
    }

    pub(super) fn word_at(&self, at: u64) -> Option<u64> {
        read_value::<8>(&self.process.memory(), RuntimeAddr(at))
    }
}
