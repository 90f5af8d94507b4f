//! Everything in a trace that is not a retired instruction in scope.

use crate::address::RuntimeAddr;
use crate::registers::Registers;

/// Why a trace knows that it misses steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LostReason {
    /// The return guard fired, but the stepper had expected another address.
    ReturnedUnseen = 1,
    /// `--max-steps` was reached; the program ran on.
    Limit = 2,
    /// The trace file could not grow.
    NoRoom = 3,
    /// The kernel refused to move or re-arm the event; `detail` is the errno.
    Rearm = 4,
    /// The step event counted more hits than the handler saw; `detail` is the difference.
    Uncounted = 5,
    /// The instruction at the stop could not be decoded; the program ran on.
    Undecodable = 6,
    /// The signal was blocked while the event fired.
    Blocked = 7,
    /// No per-thread block was left, or its event could not be opened; `detail` is the errno.
    NoThreadSlot = 8,
    /// The program moved to another stack or left by an unwinder in a way this version does not follow.
    FrameGone = 9,
    /// Two events asked for the same stop and the wrong one came; control was found again at `found`.
    Resumed = 10,
    /// The reader found this part of the trace file damaged; `detail` is the file offset. Never written.
    Damaged = 11,
    /// The program entered seccomp, which may forbid the system calls that stepping needs.
    Seccomp = 12,
    /// On a path that is not known, the counter counted `detail` from one stop to the next: instructions, branches, or
    /// whatever its event is.
    PathUnknown = 13,
    /// The counter overflowed again and again before anything retired: `detail` times.
    NoProgress = 14,
    /// The counter counted `detail` thousandths of the time only: it is shared, or this core's type lacks the event.
    NotCounting = 15,
    /// The counter overflowed and stopped, and its signal never came.
    SignalLost = 16,
}

impl LostReason {
    /// The reason a trace file states by number; `None` for one that a newer version may know.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::ReturnedUnseen,
            2 => Self::Limit,
            3 => Self::NoRoom,
            4 => Self::Rearm,
            5 => Self::Uncounted,
            6 => Self::Undecodable,
            7 => Self::Blocked,
            8 => Self::NoThreadSlot,
            9 => Self::FrameGone,
            10 => Self::Resumed,
            11 => Self::Damaged,
            12 => Self::Seccomp,
            13 => Self::PathUnknown,
            14 => Self::NoProgress,
            15 => Self::NotCounting,
            16 => Self::SignalLost,
            _ => return None,
        })
    }
}

/// One marker, in the order it happened in its thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Marker {
    /// An outermost entry into a traced function. `function` indexes the control block's function list. The
    /// handler writes it with `ThreadWriter::begin_call`: this variant is too large to move without `memcpy`.
    Enter {
        function: u32,
        registers: Registers,
    },
    /// The outermost frame returned.
    Leave {
        rax: u64,
        xmm0: [u8; 16],
    },
    Signal {
        number: u32,
        handler: RuntimeAddr,
    },
    Sigreturn,
    Fault {
        signal: u32,
        address: RuntimeAddr,
    },
    /// Control went out of scope to `target` and was taken up again at `resume`; 0 for a function that comes back
    /// elsewhere than behind its call (longjmp, unwinding).
    Native {
        target: RuntimeAddr,
        resume: RuntimeAddr,
    },
    /// An rseq critical section was run natively.
    Rseq {
        start: RuntimeAddr,
        end: RuntimeAddr,
    },
    /// `stops` stops were held back while the program blocked the signal.
    Masked {
        stops: u64,
    },
    Fork {
        child: u32,
    },
    Exec,
    Exit {
        status: u32,
    },
    Lost {
        reason: LostReason,
        expected: RuntimeAddr,
        found: RuntimeAddr,
        detail: u64,
    },
}
