//! The instructions that would show or take away the flag a step sets.

use nix::errno::Errno;
use nix::unistd::Pid;

use super::instruction::{Kind, Next};
use super::memory;
use super::ptrace;
use crate::address::RuntimeAddr;

/// EFLAGS.TF.
pub const TRAP_FLAG: u64 = 1 << 8;
/// What `popf` changes in user mode: all but IF, IOPL and RF (SDM volume 2, POPF, table 4-15).
const POPPED: u64 = 0x24_4dd5;

/// Whether [`pop`] did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Popped {
    Done,
    Impossible,
}

/// Takes the flag out of what `pushf` has just pushed, unless the program set it itself.
///
/// # Errors
/// ESRCH: the thread was killed.
pub fn hide_in_pushed(thread: Pid) -> Result<(), Errno> {
    let registers = ptrace::registers(thread)?;
    if registers.eflags & TRAP_FLAG == 0 {
        let at = RuntimeAddr(registers.rsp);
        let [low, high] = memory::read(thread, at)?;
        memory::write(thread, at, &[low, high & !((TRAP_FLAG >> 8) as u8)])?;
    }
    Ok(())
}

/// What `iret` loads besides.
const RETURNED: u64 = POPPED | 1 << 16;

/// Does what `popf` or `iret` would: after a step over the real one, the kernel takes the next step's flag for the program's
/// (`arch/x86/kernel/step.c`, `is_setting_trap_flag`). `Impossible` when the stack cannot be read, or what is on it not be
/// loaded: then the CPU has to fault.
///
/// # Errors
/// ESRCH: the thread was killed.
pub fn pop(thread: Pid, next: Next) -> Result<Popped, Errno> {
    let mut registers = ptrace::registers(thread)?;
    let (size, words) = match next.kind {
        Kind::PopsFlags(size) => (size, 1),
        Kind::ReturnsWithFlags(size) => (size, 5),
        _ => return Ok(Popped::Impossible),
    };
    let size = usize::from(size);
    let mut stack = [0; 5 * 8];
    let stack = &mut stack[..words * size];
    if memory::read_exact(thread, RuntimeAddr(registers.rsp), stack).is_err() {
        return Ok(Popped::Impossible);
    }
    let word = |place: usize| {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&stack[place * size..(place + 1) * size]);
        u64::from_ne_bytes(bytes)
    };
    let loads = if size == 2 { 0xffff } else { u64::MAX };
    let load = |flags: u64, popped: u64, changed: u64| flags & !(changed & loads) | popped & changed & loads;
    if words == 1 {
        registers.eflags = load(registers.eflags, word(0), POPPED);
        registers.rsp = registers.rsp.wrapping_add(size as u64);
        registers.rip = next.at.plus(next.length).0;
    } else {
        registers.eflags = load(registers.eflags, word(2), RETURNED);
        (registers.rip, registers.cs) = (word(0), word(1) & 0xffff);
        (registers.rsp, registers.ss) = (word(3), word(4) & 0xffff);
    }
    match ptrace::set_registers(thread, &registers) {
        Ok(()) => Ok(Popped::Done),
        Err(Errno::ESRCH) => Err(Errno::ESRCH),
        Err(_) => Ok(Popped::Impossible),
    }
}
