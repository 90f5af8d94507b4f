//! The frame that every workload shares: arm, loop, disarm, with nothing of a compiler's in between.

#![allow(unsafe_code, reason = "workloads are assembly, so that each instruction is known")]

use crate::address::RuntimeAddr;

/// What runs a workload: bytes to work on, iterations, an event's descriptor or -1, the ioctl that arms it, and that
/// ioctl's argument.
pub(super) type Entry = unsafe extern "C" fn(*mut u8, u64, i64, u64, u64);

/// A loop around one instruction of interest.
///
/// The iteration counter counts down in r15. The event is armed by the instruction before the loop and disarmed by
/// the fourth one behind it.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// The class of instruction at [`Self::subject`].
    pub name: &'static str,
    pub(super) entry: Entry,
    /// The loop's first instruction, to which its last one branches back.
    pub(super) start: RuntimeAddr,
    /// The instruction at which an overflow is expected.
    pub subject: RuntimeAddr,
    /// The first instruction behind the loop.
    pub(super) end: RuntimeAddr,
    pub touches: Touches,
}

/// The pages of its region that a workload touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touches {
    OnePage,
    /// Each iteration one of its own.
    PageEach,
}

impl Touches {
    /// What a definition says, instead of the usual.
    pub(super) const fn or(self, defined: Self) -> Self {
        match self {
            Self::OnePage => defined,
            Self::PageEach => self,
        }
    }
}

/// Instructions that an event counts behind the loop: two moves, an immediate move, and the disarming `syscall`.
pub const EPILOGUE: u64 = 4;

impl Workload {
    /// Runs `iterations` of the loop on `region`, with `event` armed by ioctl `request` with `argument` meanwhile.
    /// `event` -1 arms nothing.
    ///
    /// # Safety
    /// `region` is readable and writable for what [`Self::touches`] says.
    ///
    /// # Signal safety
    /// Calls nothing.
    pub unsafe fn run(&self, region: *mut u8, iterations: u64, event: i64, request: u64, argument: u64) {
        // SAFETY:
        // - the assembly keeps the System V ABI: it saves what a callee must, and calls nothing;
        // - what it touches is the caller's promise.
        unsafe { (self.entry)(region, iterations, event, request, argument) }
    }

    /// The loop's bytes, from its first instruction to its last.
    #[must_use]
    pub fn code(&self) -> &'static [u8] {
        let length = self.end.since(self.start) as usize;
        // SAFETY:
        // - both labels are in one piece of read-only code of this executable, in this order.
        unsafe { std::slice::from_raw_parts(self.start.0 as *const u8, length) }
    }
}

/// Defines a [`Workload`] function `$name()`: `$setup` runs before arming, `$before`, `$subject` and `$after` in the
/// loop; `PageEach` ends the definition of one that touches a page each time. rax, rbx, rcx, rdx, rsi, rdi, rbp, r8 to r11 and r13 are free; r12 is the region.
macro_rules! workload {
    ($(#[$doc:meta])* $name:ident, $symbol:literal, $title:literal, $setup:literal,
     $before:literal, $subject:literal, $after:literal $(, $touches:ident)?) => {
        std::arch::global_asm!(
            concat!(".pushsection .text.", $symbol, ", \"ax\", @progbits"),
            ".balign 64",
            concat!(".globl ", $symbol, ", ", $symbol, "_start, ", $symbol, "_subject, ", $symbol, "_end"),
            concat!(".hidden ", $symbol, ", ", $symbol, "_start, ", $symbol, "_subject, ", $symbol, "_end"),
            concat!(".type ", $symbol, ", @function"),
            concat!($symbol, ":"),
            "push rbx", "push rbp", "push r12", "push r13", "push r14", "push r15",
            "mov r12, rdi", "mov r15, rsi", "mov r14, rdx",
            "mov rdi, rdx", "mov rsi, rcx", "mov rdx, r8",
            $setup,
            "mov eax, 16", // ioctl
            "test rdi, rdi",
            concat!("js ", $symbol, "_start"),
            "syscall",
            concat!($symbol, "_start:"),
            $before,
            concat!($symbol, "_subject:"),
            $subject,
            $after,
            "dec r15",
            concat!("jnz ", $symbol, "_start"),
            concat!($symbol, "_end:"),
            "mov rdi, r14",
            "mov esi, 0x2401", // PERF_EVENT_IOC_DISABLE
            "mov eax, 16",
            "syscall", // EBADF without an event
            "pop r15", "pop r14", "pop r13", "pop r12", "pop rbp", "pop rbx",
            "ret",
            concat!(".size ", $symbol, ", . - ", $symbol),
            ".popsection",
        );
        $(#[$doc])*
        #[must_use]
        pub fn $name() -> $crate::precision::workload::Workload {
            use $crate::address::RuntimeAddr;
            mod symbols {
                unsafe extern "C" {
                    #[link_name = $symbol]
                    pub fn entry(region: *mut u8, iterations: u64, event: i64, request: u64, argument: u64);
                    #[link_name = concat!($symbol, "_start")]
                    pub safe static START: u8;
                    #[link_name = concat!($symbol, "_subject")]
                    pub safe static SUBJECT: u8;
                    #[link_name = concat!($symbol, "_end")]
                    pub safe static END: u8;
                }
            }
            let address = |label: &u8| RuntimeAddr(std::ptr::from_ref(label) as u64);
            $crate::precision::workload::Workload {
                name: $title,
                entry: symbols::entry,
                start: address(&symbols::START),
                subject: address(&symbols::SUBJECT),
                end: address(&symbols::END),
                touches: $crate::precision::workload::program::Touches::OnePage
                    $(.or($crate::precision::workload::program::Touches::$touches))?,
            }
        }
    };
}
pub(super) use workload;
