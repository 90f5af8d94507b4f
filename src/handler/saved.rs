//! The signal frame: the registers the kernel saved, and what it will restore at sigreturn.

#![allow(unsafe_code, reason = "a signal frame is reached through the pointer the kernel passes")]

use super::signal_frame::Delivered;
use crate::address::RuntimeAddr;
use crate::registers::{Registers, flag};

/// Positions in `gregs` (Linux `arch/x86/include/uapi/asm/sigcontext.h`), in hardware encoding order.
const GENERAL: [usize; 16] = [
    libc::REG_RAX as usize,
    libc::REG_RCX as usize,
    libc::REG_RDX as usize,
    libc::REG_RBX as usize,
    libc::REG_RSP as usize,
    libc::REG_RBP as usize,
    libc::REG_RSI as usize,
    libc::REG_RDI as usize,
    libc::REG_R8 as usize,
    libc::REG_R9 as usize,
    libc::REG_R10 as usize,
    libc::REG_R11 as usize,
    libc::REG_R12 as usize,
    libc::REG_R13 as usize,
    libc::REG_R14 as usize,
    libc::REG_R15 as usize,
];
const RIP: usize = libc::REG_RIP as usize;
const EFLAGS: usize = libc::REG_EFL as usize;

/// The interrupted code's state, to be read and, before the handler returns, changed.
pub(super) struct Saved<'a>(&'a mut libc::ucontext_t);

impl<'a> Saved<'a> {
    pub(super) fn new(context: &'a mut libc::ucontext_t) -> Self {
        Self(context)
    }

    /// One of the saved registers; every position here is one of libc's, inside the array.
    fn greg(&self, position: usize) -> u64 {
        self.0.uc_mcontext.gregs.get(position).copied().unwrap_or(0) as u64
    }

    pub(super) fn rip(&self) -> RuntimeAddr {
        RuntimeAddr(self.greg(RIP))
    }

    /// Control goes on at `address`.
    pub(super) fn go_to(&mut self, address: RuntimeAddr) {
        self.0.uc_mcontext.gregs[RIP] = address.0 as i64;
    }

    /// Gives a general register, by its number in the encoding, another value.
    pub(super) fn set_general(&mut self, register: usize, value: u64) {
        if let Some(place) =
            GENERAL.get(register).and_then(|position| self.0.uc_mcontext.gregs.get_mut(*position))
        {
            *place = value as i64;
        }
    }

    /// At a handler's first instruction: its frame has moved by `shift` bytes, and with it RSP and the pointers to
    /// siginfo and context that the kernel passes in rsi and rdx.
    pub(super) fn shift_handler_arguments(&mut self, shift: u64) {
        for register in [libc::REG_RSP, libc::REG_RSI, libc::REG_RDX] {
            if let Some(value) = self.0.uc_mcontext.gregs.get_mut(register as usize) {
                *value = value.wrapping_add(shift as i64);
            }
        }
    }

    /// The interrupted code goes on at the first instruction of a handler whose frame is at `frame`, `shift` bytes from
    /// the one that this is in: registers as the kernel sets them (Linux `x64_setup_rt_frame`), the initial
    /// floating-point state, and what the handler blocks.
    pub(super) fn enter_handler(&mut self, delivered: &Delivered<'_>, frame: u64, shift: u64) {
        let context = (&raw const *self.0) as u64;
        let flags = self.greg(EFLAGS) & !(flag::TF | flag::DF | flag::RF);
        let values = [
            (RIP, delivered.action.handler),
            (libc::REG_RSP as usize, frame),
            (libc::REG_RDI as usize, delivered.signal as u64),
            (libc::REG_RSI as usize, (delivered.info as u64).wrapping_add(shift)),
            (libc::REG_RDX as usize, context.wrapping_add(shift)),
            (libc::REG_RAX as usize, 0),
            (EFLAGS, flags),
        ];
        for (position, value) in values {
            if let Some(register) = self.0.uc_mcontext.gregs.get_mut(position) {
                *register = value as i64;
            }
        }
        // Without a saved state, sigreturn gives the initial one.
        self.0.uc_mcontext.fpregs = std::ptr::null_mut();
        self.set_mask((self.mask() | delivered.blocks()) & !delivered.owned);
    }

    /// At a handler's first instruction: whether its signal comes from the kernel (`si_code` above zero), and not
    /// from a process.
    pub(super) fn sent_by_kernel(&self) -> bool {
        let info = self.greg(libc::REG_RSI as usize) as *const libc::siginfo_t;
        // SAFETY: every wrapper is installed with SA_SIGINFO.
        unsafe { (*info).si_code > 0 }
    }

    pub(super) fn rsp(&self) -> u64 {
        self.greg(libc::REG_RSP as usize)
    }

    /// The code segment selector: what decides between 64-bit and 32-bit code.
    pub(super) fn code_segment(&self) -> u16 {
        self.greg(libc::REG_CSGSFS as usize) as u16
    }

    /// The registers as the program would see them: without RF, and without TF when `hide_trap_flag`.
    pub(super) fn registers(&self, hide_trap_flag: bool) -> Registers {
        let mut general = [0; 16];
        for (to, from) in general.iter_mut().zip(GENERAL) {
            *to = self.greg(from);
        }
        let hidden = flag::RF | if hide_trap_flag { flag::TF } else { 0 };
        Registers { general, rip: self.rip(), rflags: self.greg(EFLAGS) & !hidden }
    }

    pub(super) fn has_flag(&self, bit: u64) -> bool {
        self.greg(EFLAGS) & bit != 0
    }

    /// Sets or clears `bits` of the flags that sigreturn restores.
    pub(super) fn set_flag(&mut self, bits: u64, on: bool) {
        let flags = &mut self.0.uc_mcontext.gregs[EFLAGS];
        *flags = if on { *flags | bits as i64 } else { *flags & !(bits as i64) };
    }

    /// The signal mask that sigreturn restores: the kernel's eight bytes.
    pub(super) fn mask(&self) -> u64 {
        // SAFETY: sigset_t is 128 bytes; the kernel's set is its first eight.
        unsafe { (&raw const self.0.uc_sigmask).cast::<u64>().read() }
    }

    pub(super) fn set_mask(&mut self, mask: u64) {
        // SAFETY: as in `mask`.
        unsafe { (&raw mut self.0.uc_sigmask).cast::<u64>().write(mask) };
    }

    /// Finishes a system call that was answered here: what the CPU and the kernel leave in registers.
    pub(super) fn finish_syscall(&mut self, result: u64, next: RuntimeAddr, hide_trap_flag: bool) {
        let flags = self.registers(hide_trap_flag).rflags;
        let values = [
            (libc::REG_RAX as usize, result),
            (libc::REG_RCX as usize, next.0),
            (libc::REG_R11 as usize, flags),
            (RIP, next.0),
        ];
        for (position, value) in values {
            if let Some(register) = self.0.uc_mcontext.gregs.get_mut(position) {
                *register = value as i64;
            }
        }
    }

    /// xmm0 as saved in the FXSAVE area (SDM volume 1, table 10-2: byte 160), or zeros without one.
    pub(super) fn xmm0(&self) -> [u8; 16] {
        let area = self.0.uc_mcontext.fpregs;
        if area.is_null() {
            return [0; 16];
        }
        // SAFETY: the kernel saved at least the 512-byte legacy area at this address, inside the frame.
        let element = unsafe { (*area)._xmm[0] };
        let mut bytes = [0; 16];
        for (to, from) in bytes.chunks_exact_mut(4).zip(element.element) {
            to.copy_from_slice(&from.to_le_bytes());
        }
        bytes
    }
}
