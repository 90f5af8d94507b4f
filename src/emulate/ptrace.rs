//! `ptrace(2)`, `waitpid(2)` and `rt_tgsigqueueinfo(2)`, each as one function with an errno.

#![allow(unsafe_code, reason = "ptrace takes pointers whose meaning depends on the request")]

use nix::errno::Errno;
use nix::unistd::Pid;

use crate::address::RuntimeAddr;

pub use libc::{siginfo_t as SignalInfo, user_regs_struct as Registers};

const GETSIGMASK: libc::c_uint = 0x420a;
const SETSIGMASK: libc::c_uint = 0x420b;
/// The size of the kernel's `sigset_t`, in bytes; libc's is larger.
const KERNEL_SIGSET: usize = 8;

/// What every tracee reports, and that none of them outlives the supervisor.
const OPTIONS: i32 = libc::PTRACE_O_EXITKILL
    | libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC;

/// How a stopped thread goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// Until a signal or an event.
    Freely,
    /// Until the next entry into a system call, or the exit from this one.
    ToSystemCall,
    /// One instruction, or into a signal's handler.
    OneInstruction,
    /// It stays in its group stop and reports when that ends.
    GroupStopped,
}

/// A thread's blocked signals: bit `n - 1` is signal `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalMask(pub u64);

impl SignalMask {
    const fn bit(signal: i32) -> u64 {
        1 << (signal - 1)
    }

    pub const ALL: Self = Self(u64::MAX);

    #[must_use]
    pub const fn has(self, signal: i32) -> bool {
        self.0 & Self::bit(signal) != 0
    }

    #[must_use]
    pub const fn without(self, signal: i32) -> Self {
        Self(self.0 & !Self::bit(signal))
    }
}

/// Attaches to `child` with the options of every tracee, without stopping it.
///
/// # Errors
/// EPERM: it is traced already, or may not be.
pub fn seize(child: Pid) -> Result<(), Errno> {
    // SAFETY: PTRACE_SEIZE takes no address, and its options as the data.
    Errno::result(unsafe { libc::ptrace(libc::PTRACE_SEIZE, child.as_raw(), 0usize, OPTIONS as usize) })
        .map(drop)
}

/// Lets `thread` go on, with `signal` delivered to it (0: none).
///
/// # Errors
/// ESRCH: it is not stopped, or was killed meanwhile.
pub fn resume(thread: Pid, how: Resume, signal: i32) -> Result<(), Errno> {
    let request = match how {
        Resume::Freely => libc::PTRACE_CONT,
        Resume::ToSystemCall => libc::PTRACE_SYSCALL,
        Resume::OneInstruction => libc::PTRACE_SINGLESTEP,
        Resume::GroupStopped => libc::PTRACE_LISTEN,
    };
    // SAFETY: these requests take no address, and a signal number as the data.
    Errno::result(unsafe { libc::ptrace(request, thread.as_raw(), 0usize, signal as usize) }).map(drop)
}

/// Asks a running `thread` to stop with `PTRACE_EVENT_STOP`.
///
/// # Errors
/// ESRCH: it is gone.
pub fn interrupt(thread: Pid) -> Result<(), Errno> {
    // SAFETY: PTRACE_INTERRUPT takes neither address nor data.
    Errno::result(unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, thread.as_raw(), 0usize, 0usize) }).map(drop)
}

/// # Errors
/// ESRCH: it is not stopped.
pub fn registers(thread: Pid) -> Result<Registers, Errno> {
    // SAFETY: plain numbers, for which zeros are values.
    let mut registers: Registers = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `user_regs_struct`.
    Errno::result(unsafe {
        libc::ptrace(libc::PTRACE_GETREGS, thread.as_raw(), 0usize, &raw mut registers)
    })?;
    Ok(registers)
}

/// A system call's arguments, in their order.
#[must_use]
pub const fn arguments(registers: &Registers) -> [u64; 6] {
    [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9]
}

pub const fn set_arguments(registers: &mut Registers, arguments: [u64; 6]) {
    [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9] = arguments;
}

/// # Errors
/// ESRCH: it is not stopped.
pub fn set_registers(thread: Pid, registers: &Registers) -> Result<(), Errno> {
    // SAFETY: the kernel reads one `user_regs_struct`.
    Errno::result(unsafe {
        libc::ptrace(libc::PTRACE_SETREGS, thread.as_raw(), 0usize, std::ptr::from_ref(registers))
    })
    .map(drop)
}

/// What the signal of a signal-delivery stop carries.
///
/// # Errors
/// EINVAL: it is no such stop, but a group stop. ESRCH: it is not stopped.
pub fn signal_info(thread: Pid) -> Result<SignalInfo, Errno> {
    // SAFETY: plain numbers, for which zeros are values.
    let mut info: SignalInfo = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `siginfo_t`.
    Errno::result(unsafe { libc::ptrace(libc::PTRACE_GETSIGINFO, thread.as_raw(), 0usize, &raw mut info) })?;
    Ok(info)
}

/// Changes what the signal about to be delivered carries.
///
/// # Errors
/// ESRCH: it is not stopped.
pub fn set_signal_info(thread: Pid, info: &SignalInfo) -> Result<(), Errno> {
    // SAFETY: the kernel reads one `siginfo_t`.
    Errno::result(unsafe {
        libc::ptrace(libc::PTRACE_SETSIGINFO, thread.as_raw(), 0usize, std::ptr::from_ref(info))
    })
    .map(drop)
}

/// # Errors
/// ESRCH: it is not stopped.
pub fn signal_mask(thread: Pid) -> Result<SignalMask, Errno> {
    let mut mask = 0u64;
    // SAFETY: the kernel writes as many bytes as the address says.
    Errno::result(unsafe { libc::ptrace(GETSIGMASK, thread.as_raw(), KERNEL_SIGSET, &raw mut mask) })?;
    Ok(SignalMask(mask))
}

/// # Errors
/// ESRCH: it is not stopped.
pub fn set_signal_mask(thread: Pid, mask: SignalMask) -> Result<(), Errno> {
    // SAFETY: the kernel reads as many bytes as the address says.
    Errno::result(unsafe { libc::ptrace(SETSIGMASK, thread.as_raw(), KERNEL_SIGSET, &raw const mask.0) })
        .map(drop)
}

/// The number that goes with a `PTRACE_EVENT_*` stop: the new thread's id, or the former one after exec.
///
/// # Errors
/// ESRCH: it is not stopped.
pub fn event_message(thread: Pid) -> Result<u64, Errno> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the kernel writes one unsigned long.
    Errno::result(unsafe {
        libc::ptrace(libc::PTRACE_GETEVENTMSG, thread.as_raw(), 0usize, &raw mut message)
    })?;
    Ok(message)
}

/// The next report of any tracee, as `wait(2)` encodes it.
///
/// # Errors
/// EINTR: a signal's handler ran. ECHILD: no tracee is left.
pub fn wait_any() -> Result<(Pid, i32), Errno> {
    wait(Pid::from_raw(-1))
}

/// The next report of `thread`.
///
/// # Errors
/// As [`wait_any`].
pub fn wait(thread: Pid) -> Result<(Pid, i32), Errno> {
    let mut status = 0;
    // SAFETY: the status is ours to fill.
    let pid = Errno::result(unsafe { libc::waitpid(thread.as_raw(), &raw mut status, libc::__WALL) })?;
    Ok((Pid::from_raw(pid), status))
}

/// Queues `info` for one thread, or for a process when `thread` is `None`.
///
/// # Errors
/// EAGAIN: the queue of real-time signals is full. ESRCH: it is gone. EPERM: its owner may not get it from us.
pub fn queue(process: Pid, thread: Option<Pid>, signal: i32, info: &SignalInfo) -> Result<(), Errno> {
    let info = std::ptr::from_ref(info);
    let result = match thread {
        // SAFETY: the kernel reads one `siginfo_t`.
        Some(thread) => unsafe {
            libc::syscall(libc::SYS_rt_tgsigqueueinfo, process.as_raw(), thread.as_raw(), signal, info)
        },
        // SAFETY: the kernel reads one `siginfo_t`.
        None => unsafe { libc::syscall(libc::SYS_rt_sigqueueinfo, process.as_raw(), signal, info) },
    };
    Errno::result(result).map(drop)
}

/// Where the thread stands: a word, which is less work for the kernel than all registers.
///
/// # Errors
/// ESRCH: it is not stopped.
pub fn instruction_pointer(thread: Pid) -> Result<RuntimeAddr, Errno> {
    const RIP: usize = std::mem::offset_of!(Registers, rip);
    let mut word: u64 = 0;
    // SAFETY: the system call itself, unlike its wrapper, stores the word through the data pointer.
    Errno::result(unsafe {
        libc::syscall(libc::SYS_ptrace, libc::PTRACE_PEEKUSER, thread.as_raw(), RIP, &raw mut word)
    })?;
    Ok(RuntimeAddr(word))
}
