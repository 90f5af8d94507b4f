//! What a step chunk's bytes are relative to: the same on the writing and the reading side.

use crate::address::RuntimeAddr;
use crate::record::verdict::Verdict;
use crate::registers::{Registers, flag};

/// Event tags. A byte below 0x80 is a step with these bits for its optional parts, which follow the distance
/// `next - address` in this order.
pub(super) mod part {
    pub const REGISTERS: u8 = 0x01;
    pub const MEMORY: u8 = 0x02;
    pub const COUNT: u8 = 0x04;
    pub const BYTES: u8 = 0x08;
    pub const VERDICT: u8 = 0x10;
    pub const DEPTH: u8 = 0x20;
    pub const SYSCALL: u8 = 0x40;
}

/// Tags of what is no step. From [`event::SKIPPABLE`] on, a varint length follows, so that an older reader can
/// skip what a newer minor version adds.
pub(super) mod event {
    pub const KEYFRAME: u8 = 0x80;
    pub const SYNC: u8 = 0x81;
    pub const RESUME: u8 = 0x82;
    pub const ENTER: u8 = 0x90;
    pub const LEAVE: u8 = 0x91;
    pub const SIGNAL: u8 = 0x92;
    pub const SIGRETURN: u8 = 0x93;
    pub const FAULT: u8 = 0x94;
    pub const NATIVE: u8 = 0x95;
    pub const RSEQ: u8 = 0x96;
    pub const MASKED: u8 = 0x97;
    pub const FORK: u8 = 0x98;
    pub const EXEC: u8 = 0x99;
    pub const EXIT: u8 = 0x9a;
    pub const LOST: u8 = 0x9b;
    /// A row without any part, whose `next` lies these many bytes on: its instruction's length, 1 to 15, is added to the tag.
    pub const PLAIN: u8 = 0xa0;
    pub const SKIPPABLE: u8 = 0xc0;
}

/// Verdict numbers, where a step states one.
pub(super) mod verdict_number {
    pub const EXACT: u8 = 0;
    pub const ZERO: u8 = 1;
    pub const SKID: u8 = 2;
    pub const RECONSTRUCTED: u8 = 3;
    pub const UNEXPLAINED: u8 = 4;
    pub const LOST: u8 = 5;
}

/// How register bits are ordered in a change mask: the ones that change most often first, so that the mask is
/// mostly one byte. 16 is RFLAGS.
pub(super) const MASK_ORDER: [usize; 17] = [16, 0, 1, 2, 4, 6, 7, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15];

/// RFLAGS bits that fit the packed byte, in its bit order; bit 7 set means that a varint with all of RFLAGS follows.
pub(super) const PACKED_FLAGS: [u64; 7] =
    [flag::CF, flag::PF, flag::AF, flag::ZF, flag::SF, flag::DF, flag::OF];
/// The rest of RFLAGS when the packed byte is enough: IF and the bit that is always 1.
pub(super) const PACKED_REST: u64 = 0x202;
pub(super) const FLAGS_ESCAPE: u8 = 0x80;

/// The state that both sides carry from event to event. A keyframe states it whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamState {
    /// The outermost entry that rows belong to; 0 before the first.
    pub call: u64,
    /// The number of the next row.
    pub n: u64,
    /// Where the next row lies, as far as is known.
    pub address: RuntimeAddr,
    /// Depth of the last row.
    pub depth: u32,
    /// A row that states no verdict is `Reconstructed` rather than `Exact`.
    pub reconstructed: bool,
    /// The registers as last known; `rip` is not kept here.
    pub registers: Registers,
    /// The last memory operand's address; 0 at a keyframe.
    pub memory: RuntimeAddr,
}

impl StreamState {
    pub const NEW: Self = Self {
        call: 0,
        n: 1,
        address: RuntimeAddr(0),
        depth: 0,
        reconstructed: false,
        registers: Registers { general: [0; 16], rip: RuntimeAddr(0), rflags: 0 },
        memory: RuntimeAddr(0),
    };

    /// The verdict of a row that states none.
    #[inline(always)]
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        if self.reconstructed { Verdict::Reconstructed } else { Verdict::Exact }
    }

    /// Takes over the registers that differ.
    ///
    /// # Signal safety
    /// Compares and stores one by one; a plain copy could become a call to `memcpy`.
    #[inline(always)]
    pub fn set_registers(&mut self, now: &Registers) {
        for (old, &new) in self.registers.general.iter_mut().zip(&now.general) {
            if *old != new {
                *old = new;
            }
        }
        self.registers.rflags = now.rflags;
    }

    /// Whether `now` is what the stream knows.
    ///
    /// # Signal safety
    /// Compares one by one; comparing arrays may call `bcmp`.
    #[inline(always)]
    #[must_use]
    pub fn knows(&self, now: &Registers) -> bool {
        let mut difference = self.registers.rflags ^ now.rflags;
        for (&old, &new) in self.registers.general.iter().zip(&now.general) {
            difference |= old ^ new;
        }
        difference == 0
    }

    /// Starts call `call` at its first instruction.
    #[inline(always)]
    pub fn enter(&mut self, call: u64, registers: &Registers) {
        self.call = call;
        self.n = 1;
        self.depth = 0;
        self.reconstructed = false;
        self.address = registers.rip;
        self.set_registers(registers);
    }

    /// Moves on past a row.
    #[inline(always)]
    pub fn step(&mut self, next: RuntimeAddr, depth: u32, verdict: Verdict) {
        self.n = self.n.wrapping_add(1);
        self.address = next;
        self.depth = depth;
        self.reconstructed = matches!(verdict, Verdict::Reconstructed);
    }
}

impl StreamState {
    /// Moves on past a marker that moves control or registers.
    #[inline(always)]
    pub fn marker(&mut self, marker: &crate::record::marker::Marker) {
        use crate::record::marker::Marker;
        match marker {
            Marker::Enter { registers, .. } => self.enter(self.call, registers),
            Marker::Signal { handler, .. } => self.address = *handler,
            Marker::Native { resume, .. } => self.address = *resume,
            _ => {}
        }
    }
}
