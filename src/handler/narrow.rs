//! 32-bit stretches: code that a far transfer to the 32-bit code segment has reached. The successor function is one of
//! 64-bit code, so they get no rows; the trap flag steps through them until control is back in 64-bit code.

use super::stepper::Stepper;
use super::thread::Phase;
use crate::address::RuntimeAddr;
use crate::record::marker::Marker;
use crate::record::verdict::Verdict;
use crate::registers::{RSP, flag};

/// The code segment selector of 32-bit user code (Linux `arch/x86/include/asm/segment.h`, `__USER32_CS`).
pub(super) const USER32_CS: u16 = 0x23;

impl Stepper<'_> {
    /// 32-bit code comes next, at `at`.
    pub(super) fn begin_narrow(&mut self, at: RuntimeAddr) {
        self.mark(&Marker::Native { target: at, resume: RuntimeAddr(0) });
        if self.thread.phase == Phase::Muted {
            return;
        }
        self.thread.pending.clear();
        self.thread.phase = Phase::Stepping;
        self.thread.narrow = true;
        self.thread.expected = at;
        self.thread.trap_flag = true;
        self.saved.set_flag(flag::TF, true);
        self.pass_standing();
    }

    /// A single-step trap in such a stretch or at its end.
    pub(super) fn step_narrow(&mut self) {
        if self.saved.code_segment() == USER32_CS {
            return self.pass_standing();
        }
        self.thread.narrow = false;
        let registers = self.saved.registers(true);
        self.thread.trap_flag = false;
        self.saved.set_flag(flag::TF, false);
        let _ = self.thread.writer.sync(&self.process.buffer, &registers);
        self.thread.frames.pop_above(registers.general[RSP], self.thread.bounds);
        if self.thread.frames.is_empty() { self.leave() } else { self.continue_here(Verdict::Exact) }
    }
}
