//! The two instructions that would show or take away the flag a step sets.

use nix::errno::Errno;
use nix::unistd::Pid;

use super::instruction::Next;
use super::memory;
use super::ptrace;
use crate::address::RuntimeAddr;

/// EFLAGS.TF.
pub const TRAP_FLAG: u64 = 1 << 8;
/// What `popf` changes in user mode: all but IF, IOPL and RF (SDM volume 2, POPF, table 4-15).
const POPPED: u64 = 0x24_4dd5;
const WORD: u64 = 8;

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

/// Does what `popfq` would: after a step over the real one, the kernel takes the next step's flag for the program's
/// (`arch/x86/kernel/step.c`, `enable_single_step`). `Impossible` when the stack cannot be
/// read: then the CPU has to fault.
///
/// # Errors
/// ESRCH: the thread was killed.
pub fn pop(thread: Pid, next: Next) -> Result<Popped, Errno> {
    let mut registers = ptrace::registers(thread)?;
    let Ok(popped) = memory::read(thread, RuntimeAddr(registers.rsp)).map(u64::from_ne_bytes) else {
        return Ok(Popped::Impossible);
    };
    registers.eflags = registers.eflags & !POPPED | popped & POPPED;
    registers.rsp = registers.rsp.wrapping_add(WORD);
    registers.rip = next.at.plus(next.length).0;
    ptrace::set_registers(thread, &registers)?;
    Ok(Popped::Done)
}
