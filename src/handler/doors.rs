//! System calls that would show the tracer, or take its signals or its events away: answered from the program's own signal
//! state, or made around the tracer's descriptors.

use super::alternate_stack;
use super::descriptors;
use super::program_signals::MaskChange;
use super::sigaction::{KernelAction, pending, replace};
use super::stepper::Stepper;
use super::wrapper;
use crate::address::RuntimeAddr;
use crate::image::memory::write;
use crate::raw::Errno;
use crate::registers::{RAX, RDI, RSI, RSP, Registers};

/// Bytes of a kernel signal set.
const SET_SIZE: u64 = 8;
const SIGKILL: u64 = libc::SIGKILL as u64;
const SIGSTOP: u64 = libc::SIGSTOP as u64;

/// An errno as a system call returns it.
const fn failed(errno: i32) -> u64 {
    (-(errno as i64)) as u64
}

/// Whether the system call is one that installs a seccomp mode: seccomp(2), or prctl(2) with PR_SET_SECCOMP.
#[must_use]
pub(super) fn enters_seccomp(registers: &Registers) -> bool {
    installs_seccomp(registers.general[RAX] as i64, registers.general[RDI])
}

/// The same by number and first argument.
#[must_use]
pub const fn installs_seccomp(number: i64, first: u64) -> bool {
    const SET_MODE_FILTER: u64 = 1;
    match number {
        libc::SYS_seccomp => first <= SET_MODE_FILTER,
        libc::SYS_prctl => first == libc::PR_SET_SECCOMP as u64,
        _ => false,
    }
}

impl Stepper<'_> {
    /// The result of the system call that `registers` ask for, if it is one to be answered here.
    ///
    /// # Signal safety
    /// Atomics, process_vm_readv and process_vm_writev, which cannot fault; ioctl and close_range.
    pub(super) fn answer(&mut self, registers: &Registers) -> Option<u64> {
        let number = registers.general[RAX] as i64;
        match number {
            libc::SYS_rt_sigprocmask => Some(self.change_mask(registers)),
            libc::SYS_rt_sigaction => Some(self.change_action(registers)),
            libc::SYS_sigaltstack => Some(self.change_stack(registers)),
            libc::SYS_rt_sigpending if self.process.held() != 0 => Some(self.pending_signals(registers)),
            libc::SYS_close if descriptors::is_own(registers.general[RDI] as i32) => {
                Some(failed(libc::EBADF))
            }
            libc::SYS_close_range => {
                let [first, last, flags, ..] = registers.syscall_arguments().map(|argument| argument as u32);
                let closed = descriptors::close_range_around(first, last, flags)?;
                Some(closed.map_or_else(|errno| failed(errno.0), |()| 0))
            }
            _ => None,
        }
    }

    /// rt_sigprocmask(how, set, old, size)
    fn change_mask(&mut self, registers: &Registers) -> u64 {
        let [how, set, old, size, ..] = registers.syscall_arguments();
        if size != SET_SIZE {
            return failed(libc::EINVAL);
        }
        let owned = self.process.signals.owned();
        let believed = self.saved.mask() | self.thread.blocked_by_program & owned;
        let mut now = believed;
        if set != 0 {
            let Some(set) = self.word_at(set) else { return failed(libc::EFAULT) };
            let Some(change) = MaskChange::of(how, set) else { return failed(libc::EINVAL) };
            now = change.apply(believed) & !(1 << (SIGKILL - 1) | 1 << (SIGSTOP - 1));
        }
        // The kernel changes the mask before it finds out that the old one cannot be stored.
        self.saved.set_mask(now & !owned);
        self.process.believe(self.thread, self.tid, now & owned);
        if old != 0 && !self.write_words(old, &[believed]) {
            return failed(libc::EFAULT);
        }
        0
    }

    /// rt_sigaction(signal, new, old, size)
    fn change_action(&self, registers: &Registers) -> u64 {
        let [signal, new, old, size, ..] = registers.syscall_arguments();
        let signal = signal as i32;
        if size != SET_SIZE {
            return failed(libc::EINVAL);
        }
        let wanted = match new {
            0 => None,
            place => match self.read_action(place) {
                Some(action) => Some(action),
                None => return failed(libc::EFAULT),
            },
        };
        let before = match self.process.signals.action(signal) {
            Some(before) => {
                let _ = wanted.map(|action| self.process.signals.set_action(signal, &action));
                before
            }
            None => match self.install(signal, wanted.as_ref()) {
                Ok(before) => before,
                Err(errno) => return failed(errno.0),
            },
        };
        let words = [before.handler, before.flags, before.restorer, before.mask];
        let stored = old == 0 || self.write_words(old, &words);
        if stored { 0 } else { failed(libc::EFAULT) }
    }

    /// The same for a signal that is not ours: a handler is installed behind its wrapper.
    fn install(&self, signal: i32, wanted: Option<&KernelAction>) -> Result<KernelAction, Errno> {
        let Some(wanted) = wanted else {
            return Ok(wrapper::as_program_sees(signal, &replace(signal, None)?));
        };
        // The agent's own sigaction(2), which has wrapped the handler and looks through the wrapper itself.
        if wrapper::contains(RuntimeAddr(wanted.handler)) {
            return replace(signal, Some(wanted));
        }
        let wrapping = wrapper::wrap(signal, wanted, self.process.signals.owned());
        match replace(signal, Some(&wrapping.action)) {
            Ok(installed) => Ok(wrapping.before(&installed)),
            Err(errno) => {
                wrapping.undo();
                Err(errno)
            }
        }
    }

    /// rt_sigpending(set, size)
    fn pending_signals(&self, registers: &Registers) -> u64 {
        let (set, size) = (registers.general[RDI], registers.general[RSI]);
        match pending() {
            _ if size > SET_SIZE => failed(libc::EINVAL),
            Err(errno) => failed(errno.0),
            Ok(real) => {
                let all = (real | self.process.held()).to_le_bytes();
                let wanted = all.get(..size as usize).unwrap_or(&all);
                let stored = write(&self.process.memory(), RuntimeAddr(set), wanted);
                if stored { 0 } else { failed(libc::EFAULT) }
            }
        }
    }

    /// sigaltstack(new, old)
    fn change_stack(&mut self, registers: &Registers) -> u64 {
        let (new, old) = (registers.general[RDI], registers.general[RSI]);
        let wanted = match new {
            0 => None,
            place => match self.read_stack(place) {
                Some(stack) => Some(stack),
                None => return failed(libc::EFAULT),
            },
        };
        match alternate_stack::change(&mut self.thread.program_stack, registers.general[RSP], wanted) {
            Err(errno) => failed(errno.0),
            Ok(before) => {
                let words = [before.ss_sp as u64, u64::from(before.ss_flags as u32), before.ss_size as u64];
                if old == 0 || self.write_words(old, &words) { 0 } else { failed(libc::EFAULT) }
            }
        }
    }

    fn read_stack(&self, at: u64) -> Option<libc::stack_t> {
        let [start, flags, size] = [0, 8, 16].map(|offset| self.word_at(at.wrapping_add(offset)));
        let start = start? as *mut libc::c_void;
        Some(libc::stack_t { ss_sp: start, ss_flags: flags? as i32, ss_size: size? as usize })
    }

    fn read_action(&self, at: u64) -> Option<KernelAction> {
        let [handler, flags, restorer, mask] =
            [0, 8, 16, 24].map(|offset| self.word_at(at.wrapping_add(offset)));
        Some(KernelAction { handler: handler?, flags: flags?, restorer: restorer?, mask: mask? })
    }

    fn write_words(&self, at: u64, words: &[u64]) -> bool {
        words.iter().enumerate().all(|(index, word)| {
            let place = RuntimeAddr(at.wrapping_add(index as u64 * 8));
            write(&self.process.memory(), place, &word.to_le_bytes())
        })
    }
}
