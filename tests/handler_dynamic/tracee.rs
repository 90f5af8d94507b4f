//! A ptraced process, from one signal of the tracer to the end of its handler.
#![allow(unsafe_code, reason = "ptrace(2) is called directly")]

use std::mem::MaybeUninit;
use std::ops::Range;

/// PTRACE_O_TRACESYSGOOD marks system call stops with this bit (ptrace(2)).
const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;
/// Signals that may be one of the tracer's stops: SIGTRAP, SIGSYS, the fasync signal, and SIGIO where its queue is full.
const OURS: [i32; 4] = [libc::SIGTRAP, libc::SIGSYS, overstep::session::arm::FASYNC_SIGNAL, libc::SIGIO];
const SYSCALL: [u8; 2] = [0x0f, 0x05];

pub struct Tracee {
    pid: i32,
    stops: usize,
    text: Option<Range<u64>>,
    ended: bool,
}

pub enum Stop {
    Signal(i32),
    Ended,
}

/// What one handler did.
pub struct Seen {
    pub instructions: usize,
    /// Bytes of stack below its frame.
    pub stack: u64,
}

impl Tracee {
    /// Takes over a child that called PTRACE_TRACEME and executed a program: it stands at its first instruction.
    pub fn begin(pid: i32) -> Self {
        let mut tracee = Self { pid, stops: 0, text: None, ended: false };
        assert_eq!(tracee.wait(), Some(libc::SIGTRAP), "the stop of execve");
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL;
        tracee.ptrace(libc::PTRACE_SETOPTIONS, 0, options as u64);
        tracee
    }

    /// Stops handled so far.
    pub fn stops(&self) -> usize {
        self.stops
    }

    /// Runs the program natively to the next signal of the tracer, not delivered yet.
    pub fn run_to_signal(&mut self) -> Stop {
        let mut pass_on = 0;
        loop {
            self.resume(libc::PTRACE_CONT, pass_on);
            match self.wait() {
                None => return Stop::Ended,
                Some(signal) if OURS.contains(&signal) => return Stop::Signal(signal),
                Some(other) => pass_on = other,
            }
        }
    }

    /// Delivers `signal` and runs its handler; the system calls it makes, rt_sigreturn last.
    pub fn handler_calls(&mut self, signal: i32) -> Vec<i64> {
        self.stops += 1;
        let mut calls = Vec::new();
        let mut deliver = signal;
        loop {
            self.resume(libc::PTRACE_SYSCALL, deliver);
            deliver = 0;
            assert_eq!(self.wait(), Some(SYSCALL_STOP), "a system call's entry");
            let number = self.registers().orig_rax as i64;
            calls.push(number);
            if number == libc::SYS_rt_sigreturn {
                return calls;
            }
            self.resume(libc::PTRACE_SYSCALL, 0);
            assert_eq!(self.wait(), Some(SYSCALL_STOP), "a system call's exit");
        }
    }

    /// Delivers `signal` and steps through its handler, up to rt_sigreturn, which is not executed yet.
    pub fn step_through_handler(&mut self, signal: i32, mut at: impl FnMut(u64)) -> Seen {
        self.stops += 1;
        self.resume(libc::PTRACE_SINGLESTEP, signal);
        assert_eq!(self.wait(), Some(libc::SIGTRAP), "the handler's first instruction");
        // A single-step trap while SIGTRAP is blocked would reset its handler. The frame has the program's mask
        // already, and sigreturn restores that one.
        let mask = !(1_u64 << (libc::SIGTRAP - 1));
        self.ptrace(libc::PTRACE_SETSIGMASK, 8, (&raw const mask) as u64);
        let mut registers = self.registers();
        let top = registers.rsp;
        let mut seen = Seen { instructions: 0, stack: 0 };
        loop {
            at(registers.rip);
            seen.instructions += 1;
            seen.stack = seen.stack.max(top.saturating_sub(registers.rsp));
            if registers.rax as i64 == libc::SYS_rt_sigreturn && self.next_bytes(registers.rip) == SYSCALL {
                return seen;
            }
            self.resume(libc::PTRACE_SINGLESTEP, 0);
            assert_eq!(self.wait(), Some(libc::SIGTRAP), "one step");
            registers = self.registers();
        }
    }

    /// Where the agent's code is mapped.
    pub fn agent_text(&mut self) -> Range<u64> {
        let pid = self.pid;
        self.text
            .get_or_insert_with(|| {
                let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("the tracee's maps");
                let line = maps
                    .lines()
                    .find(|line| line.contains("agent") && line.contains(".so") && line.contains(" r-xp "));
                let (range, _) =
                    line.unwrap_or_else(|| panic!("no agent in\n{maps}")).split_once(' ').unwrap();
                let (start, end) = range.split_once('-').unwrap();
                u64::from_str_radix(start, 16).unwrap()..u64::from_str_radix(end, 16).unwrap()
            })
            .clone()
    }

    /// Ends the program, wherever it is.
    pub fn detach_and_end(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            // SAFETY: our own child, which has not been waited for.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
            while self.wait().is_some() {}
        }
    }

    fn next_bytes(&self, address: u64) -> [u8; 2] {
        // SAFETY: PTRACE_PEEKTEXT through libc returns the word; the handler's code is readable.
        let word = unsafe { libc::ptrace(libc::PTRACE_PEEKTEXT, self.pid, address, 0_u64) };
        let [first, second, ..] = word.to_le_bytes();
        [first, second]
    }

    fn registers(&self) -> libc::user_regs_struct {
        let mut registers = MaybeUninit::<libc::user_regs_struct>::uninit();
        self.ptrace(libc::PTRACE_GETREGS, 0, registers.as_mut_ptr() as u64);
        // SAFETY: the call has succeeded and filled it in.
        unsafe { registers.assume_init() }
    }

    fn resume(&self, how: libc::c_uint, signal: i32) {
        self.ptrace(how, 0, signal as u64);
    }

    fn ptrace(&self, request: libc::c_uint, address: u64, data: u64) {
        // SAFETY: `data` is a number, or points to a live value of what the request reads or writes.
        let result = unsafe { libc::ptrace(request, self.pid, address, data) };
        assert_eq!(result, 0, "ptrace request {request}: {}", std::io::Error::last_os_error());
    }

    /// The signal of the next stop; `None` when the process is gone.
    fn wait(&mut self) -> Option<i32> {
        let mut status = 0;
        // SAFETY: `status` is live.
        let waited = unsafe { libc::waitpid(self.pid, &raw mut status, libc::__WALL) };
        assert_eq!(waited, self.pid, "waitpid: {}", std::io::Error::last_os_error());
        if libc::WIFSTOPPED(status) {
            return Some(libc::WSTOPSIG(status));
        }
        self.ended = true;
        None
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.end();
        }
    }
}
