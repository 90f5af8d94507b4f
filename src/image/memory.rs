//! Reading the traced process's memory and segment bases, where a bad pointer is an answer and not a fault.

#![allow(unsafe_code, reason = "process_vm_readv and arch_prctl take pointers")]

use crate::address::RuntimeAddr;
use crate::raw;

/// `arch_prctl` codes (Linux `arch/x86/include/uapi/asm/prctl.h`).
const ARCH_GET_FS: u64 = 0x1003;
const ARCH_GET_GS: u64 = 0x1004;

/// What the successor function asks about beyond the registers.
pub trait Memory {
    /// Fills `into` from `at`; `false`, with `into` in an unspecified state, if any byte cannot be read.
    fn read(&self, at: RuntimeAddr, into: &mut [u8]) -> bool;

    /// The address that `fs:0` means in the traced thread.
    fn fs_base(&self) -> u64;

    /// The address that `gs:0` means in the traced thread.
    fn gs_base(&self) -> u64;
}

/// Reads a little-endian value of `N` bytes, zero-extended.
///
/// # Signal safety
/// As safe as `memory`.
#[inline]
pub(crate) fn read_value<const N: usize>(memory: &impl Memory, at: RuntimeAddr) -> Option<u64> {
    const { assert!(N <= 8) };
    let mut bytes = [0u8; 8];
    let part = bytes.get_mut(..N)?;
    memory.read(at, part).then_some(u64::from_le_bytes(bytes))
}

/// The calling process and thread.
///
/// # Signal safety
/// Each method is one or two raw system calls.
#[derive(Clone, Copy, Debug)]
pub struct OwnMemory {
    pid: u32,
}

impl OwnMemory {
    /// Of the process that calls this; a forked child needs its own.
    #[must_use]
    pub fn new() -> Self {
        Self { pid: raw::getpid() }
    }

    /// The same where the caller knows its process id: the handler saves a system call a step.
    #[must_use]
    pub const fn of(pid: u32) -> Self {
        Self { pid }
    }

    fn segment_base(code: u64) -> u64 {
        let mut base = 0u64;
        // SAFETY:
        // - arch_prctl(ARCH_GET_FS or ARCH_GET_GS, address) stores 8 bytes at the address (man 2 arch_prctl);
        // - `base` is 8 bytes and lives across the call.
        let result = unsafe { raw::syscall(libc::SYS_arch_prctl, [code, &raw mut base as u64, 0, 0, 0, 0]) };
        debug_assert!(result.is_ok());
        base
    }
}

impl Default for OwnMemory {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory for OwnMemory {
    fn read(&self, at: RuntimeAddr, into: &mut [u8]) -> bool {
        let length = into.len();
        let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: length };
        let remote = libc::iovec { iov_base: at.0 as *mut libc::c_void, iov_len: length };
        let arguments = [u64::from(self.pid), &raw const local as u64, 1, &raw const remote as u64, 1, 0];
        // SAFETY:
        // - process_vm_readv(pid, local, 1, remote, 1, 0) writes only into `into` (man 2 process_vm_readv);
        // - a remote address that is not readable makes it return EFAULT or a short count, never fault.
        let copied = unsafe { raw::syscall(libc::SYS_process_vm_readv, arguments) };
        copied == Ok(length as u64)
    }

    fn fs_base(&self) -> u64 {
        Self::segment_base(ARCH_GET_FS)
    }

    fn gs_base(&self) -> u64 {
        Self::segment_base(ARCH_GET_GS)
    }
}

/// Writes `bytes` to `at` in the process of `memory`; `false` if any byte cannot be written.
///
/// # Signal safety
/// process_vm_writev, which cannot fault.
#[must_use]
pub fn write(memory: &OwnMemory, at: RuntimeAddr, bytes: &[u8]) -> bool {
    let length = bytes.len();
    let local = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: length };
    let remote = libc::iovec { iov_base: at.0 as *mut libc::c_void, iov_len: length };
    let arguments = [u64::from(memory.pid), &raw const local as u64, 1, &raw const remote as u64, 1, 0];
    // SAFETY:
    // - process_vm_writev(pid, local, 1, remote, 1, 0) only reads `bytes` (man 2 process_vm_writev);
    // - a remote address that is not writable makes it return EFAULT or a short count, never fault.
    let written = unsafe { raw::syscall(libc::SYS_process_vm_writev, arguments) };
    written == Ok(length as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_bytes_are_read_and_bad_pointers_are_an_answer() {
        let memory = OwnMemory::new();
        let source = *b"overstep";
        let mut copy = [0u8; 8];
        assert!(memory.read(RuntimeAddr(source.as_ptr() as u64), &mut copy));
        assert_eq!(&copy, b"overstep");
        assert!(!memory.read(RuntimeAddr(8), &mut copy));
        assert!(!memory.read(RuntimeAddr(u64::MAX - 3), &mut copy));
        assert_eq!(read_value::<2>(&memory, RuntimeAddr(source.as_ptr() as u64)), Some(0x766f));
    }

    #[test]
    fn fs_base_is_the_thread_control_block() {
        // x86_64 TLS ABI (variant II): the word at fs:0 holds its own address.
        let memory = OwnMemory::new();
        let base = memory.fs_base();
        assert_ne!(base, 0);
        assert_eq!(read_value::<8>(&memory, RuntimeAddr(base)), Some(base));
    }
}
