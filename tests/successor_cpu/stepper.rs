//! A child process that runs whatever it is given, one instruction at a time under the trap flag.
//!
//! The child never runs code of its own: each step starts from registers that the parent sets, in pages that both
//! share.

#![allow(unsafe_code, reason = "ptrace, fork and shared mappings")]

use overstep::address::RuntimeAddr;
use overstep::image::memory::Memory;
use std::ptr;

/// Code lies here twice: within reach of 32-bit addresses and out of it. Read-only in the child.
pub const LOW_CODE: u64 = 0x3000_0000;
pub const HIGH_CODE: u64 = 0x10_0000_0000;
pub const CODE_SIZE: u64 = 4096;
/// Data for the child to read, write, and use as a stack.
pub const SCRATCH: u64 = 0x2000_0000;
pub const SCRATCH_SIZE: u64 = 1 << 16;

const XSTATE: i32 = 0x202;

/// What one step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The trap flag's trap came: the instruction retired.
    Stepped,
    /// This signal came instead.
    Faulted(i32),
}

pub struct Stepper {
    pid: i32,
    code: *mut u8,
    scratch: *mut u8,
    registers: libc::user_regs_struct,
    xstate: Vec<u8>,
}

impl Stepper {
    /// Forks the child; `None` where ptrace is refused.
    pub fn start() -> Option<Self> {
        let code = shared(CODE_SIZE, &[LOW_CODE, HIGH_CODE], libc::PROT_READ | libc::PROT_EXEC);
        let scratch = shared(SCRATCH_SIZE, &[SCRATCH], libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: the child makes system calls only, so that the locks other threads hold do not matter to it.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: PTRACE_TRACEME, prctl and kill have no memory operands.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == -1 {
                    libc::_exit(1);
                }
                libc::kill(libc::getpid(), libc::SIGSTOP);
                libc::_exit(2);
            }
        }
        assert!(pid > 0, "fork: {}", std::io::Error::last_os_error());
        let status = wait(pid);
        if !libc::WIFSTOPPED(status) {
            return None;
        }
        // SAFETY: all-zero is a value of this plain struct.
        let registers = unsafe { std::mem::zeroed() };
        let mut stepper = Self { pid, code, scratch, registers, xstate: vec![0; 1 << 15] };
        stepper.registers = stepper.get();
        let length = stepper.xstate(libc::PTRACE_GETREGSET);
        stepper.xstate.truncate(length);
        Some(stepper)
    }

    /// Registers that the child can live with: its segments and bases, all else to be overwritten.
    pub fn template(&self) -> libc::user_regs_struct {
        self.registers
    }

    /// Puts `bytes` at `offset` of the code page, nops everywhere else.
    pub fn load(&mut self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= CODE_SIZE as usize);
        // SAFETY: the parent's alias of the code page is CODE_SIZE bytes, and the child is stopped.
        unsafe {
            ptr::write_bytes(self.code, 0x90, CODE_SIZE as usize);
            ptr::copy_nonoverlapping(bytes.as_ptr(), self.code.add(offset), bytes.len());
        }
    }

    /// Stores `value` in the scratch region, `offset` bytes in.
    pub fn store(&mut self, offset: u64, value: u64) {
        assert!(offset + 8 <= SCRATCH_SIZE);
        // SAFETY: bounds are checked above; the child is stopped.
        unsafe { self.scratch.add(offset as usize).cast::<u64>().write_unaligned(value) };
    }

    /// Gives the child its first floating-point, vector and protection-key state again.
    pub fn reset_extended_state(&mut self) {
        self.xstate(libc::PTRACE_SETREGSET);
    }

    /// Runs one instruction from `before`: what came of it, and the registers after.
    pub fn step(&mut self, before: &libc::user_regs_struct) -> (Outcome, libc::user_regs_struct) {
        // No system call to restart: the kernel would move RIP back over it.
        let set = libc::user_regs_struct { orig_rax: u64::MAX, ..*before };
        self.request(libc::PTRACE_SETREGS, 0, (&raw const set) as usize);
        self.request(libc::PTRACE_SINGLESTEP, 0, 0);
        let status = wait(self.pid);
        assert!(libc::WIFSTOPPED(status), "the child is gone: status {status:#x} after {before:x?}");
        let outcome = match libc::WSTOPSIG(status) {
            libc::SIGTRAP => Outcome::Stepped,
            signal => Outcome::Faulted(signal),
        };
        (outcome, self.get())
    }

    /// Whether the kernel lets these registers be set: `wrfsbase` and `mov ds` are less particular about bases
    /// and null selectors.
    pub fn accepts(registers: &libc::user_regs_struct) -> bool {
        let selectors = [registers.ds, registers.es, registers.fs, registers.gs];
        registers.fs_base >> 47 == 0
            && registers.gs_base >> 47 == 0
            && selectors.iter().all(|s| *s == 0 || s & 3 == 3)
    }

    pub fn memory(&self, registers: &libc::user_regs_struct) -> ChildMemory {
        ChildMemory { pid: self.pid, fs_base: registers.fs_base, gs_base: registers.gs_base }
    }

    fn get(&self) -> libc::user_regs_struct {
        let mut registers = self.registers;
        self.request(libc::PTRACE_GETREGS, 0, (&raw mut registers) as usize);
        registers
    }

    fn xstate(&mut self, request: libc::c_uint) -> usize {
        let mut part = libc::iovec { iov_base: self.xstate.as_mut_ptr().cast(), iov_len: self.xstate.len() };
        self.request(request, XSTATE as usize, (&raw mut part) as usize);
        part.iov_len
    }

    fn request(&self, request: libc::c_uint, address: usize, data: usize) {
        // SAFETY: the child is stopped; each caller hands in a pointer of the type the request has.
        let result = unsafe { libc::ptrace(request, self.pid, address, data) };
        assert_ne!(result, -1, "ptrace {request}: {}", std::io::Error::last_os_error());
    }
}

impl Drop for Stepper {
    fn drop(&mut self) {
        // SAFETY: the child is ours and not yet waited for.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, ptr::null_mut(), 0);
            libc::munmap(LOW_CODE as *mut _, CODE_SIZE as usize);
            libc::munmap(HIGH_CODE as *mut _, CODE_SIZE as usize);
            libc::munmap(SCRATCH as *mut _, SCRATCH_SIZE as usize);
            libc::munmap(self.code.cast(), CODE_SIZE as usize);
            libc::munmap(self.scratch.cast(), SCRATCH_SIZE as usize);
        }
    }
}

/// The stopped child's memory.
#[derive(Clone, Copy)]
pub struct ChildMemory {
    pub pid: i32,
    pub fs_base: u64,
    pub gs_base: u64,
}

impl Memory for ChildMemory {
    fn read(&self, at: RuntimeAddr, into: &mut [u8]) -> bool {
        let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let remote = libc::iovec { iov_base: at.0 as *mut _, iov_len: into.len() };
        // SAFETY: writes only into `into`; a bad remote address is an error.
        let read = unsafe { libc::process_vm_readv(self.pid, &local, 1, &remote, 1, 0) };
        read == into.len() as isize
    }
    fn fs_base(&self) -> u64 {
        self.fs_base
    }
    fn gs_base(&self) -> u64 {
        self.gs_base
    }
}

/// Maps one new memory object at each of `places` with `protection`, and once writable anywhere: the latter.
fn shared(size: u64, places: &[u64], protection: i32) -> *mut u8 {
    let size = size as usize;
    // SAFETY: new mappings only: MAP_FIXED_NOREPLACE never replaces one.
    unsafe {
        let file = libc::memfd_create(c"successor_cpu".as_ptr(), libc::MFD_CLOEXEC);
        assert!(file >= 0 && libc::ftruncate(file, size as i64) == 0, "memfd");
        for &place in places {
            let flags = libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE;
            let at = libc::mmap(place as *mut _, size, protection, flags, file, 0);
            assert_eq!(at as u64, place, "mmap at {place:#x}: {}", std::io::Error::last_os_error());
        }
        let all = libc::PROT_READ | libc::PROT_WRITE;
        let alias = libc::mmap(ptr::null_mut(), size, all, libc::MAP_SHARED, file, 0);
        assert_ne!(alias, libc::MAP_FAILED);
        libc::close(file);
        alias.cast()
    }
}

fn wait(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: `status` is an int that lives across the call.
    let result = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(result, pid, "waitpid: {}", std::io::Error::last_os_error());
    status
}
