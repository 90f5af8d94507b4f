//! The signals that the tracer needs for itself, as the program believes them to be: dispositions and masks.
//!
//! Three doors lead here: system calls in stepped code ([`super::doors`]), and the C library's functions, which the
//! agent stands in front of. The program reads back what it set.

use std::sync::atomic::{AtomicU64, Ordering};

use super::sigaction::{AtomicAction, KernelAction, SA_RESTORER};

/// Signals the tracer may own: SIGTRAP always, SIGSYS where native system calls are watched, two more while an fasync
/// event may be armed.
const MOST: usize = 4;

/// The bit of `signal` in a kernel signal mask.
#[must_use]
pub const fn mask_bit(signal: i32) -> u64 {
    1 << (signal as u64 - 1)
}

/// What the program asked to happen on the tracer's signals.
#[derive(Debug, Default)]
pub struct ProgramSignals {
    /// Where the C library has handlers return to.
    library_restorer: u64,
    slots: [Slot; MOST],
}

/// One owned signal; number 0 while free.
#[derive(Debug, Default)]
struct Slot {
    /// ATOMICS: set once, before the handler is installed.
    signal: AtomicU64,
    action: AtomicAction,
}

impl ProgramSignals {
    /// None taken yet. `library_restorer`: where handlers return to that the C library installs.
    #[must_use]
    pub fn new(library_restorer: u64) -> Self {
        Self { library_restorer, ..Self::default() }
    }

    /// [`Self::set_action`] by a function of the C library's, which adds where the handler returns to.
    pub fn set_by_library(&self, signal: i32, action: KernelAction) -> bool {
        let flags = action.flags | SA_RESTORER;
        self.set_action(signal, &KernelAction { flags, restorer: self.library_restorer, ..action })
    }

    /// Takes `signal` over from an action that stood before. Signals beyond the table's four are not taken.
    pub fn own(&self, signal: i32, before: &KernelAction) {
        let free = self.slots.iter().find(|slot| slot.signal.load(Ordering::Relaxed) == 0);
        if let Some(slot) = free {
            slot.action.set(before);
            slot.signal.store(signal as u64, Ordering::Release);
        }
    }

    /// The mask bits of all owned signals, which the program never really blocks.
    #[must_use]
    pub fn owned(&self) -> u64 {
        let numbers = self.slots.iter().map(|slot| slot.signal.load(Ordering::Acquire));
        numbers.filter(|&number| number != 0).fold(0, |mask, number| mask | mask_bit(number as i32))
    }

    /// What the program believes stands for `signal`; `None` where that is the kernel's affair.
    ///
    /// # Signal safety
    /// Atomics.
    #[must_use]
    pub fn action(&self, signal: i32) -> Option<KernelAction> {
        self.slot(signal).map(|slot| slot.action.get())
    }

    /// Remembers what the program sets for `signal`; `false` where that is the kernel's affair.
    ///
    /// # Signal safety
    /// Atomics.
    pub fn set_action(&self, signal: i32, action: &KernelAction) -> bool {
        self.slot(signal).map(|slot| slot.action.set(action)).is_some()
    }

    /// The owned signals that the program ignores.
    pub(super) fn ignored(&self) -> impl Iterator<Item = i32> {
        let ignored = self.slots.iter().filter(|slot| slot.action.get().handler == libc::SIG_IGN as u64);
        ignored.map(|slot| slot.signal.load(Ordering::Acquire) as i32).filter(|signal| *signal != 0)
    }

    fn slot(&self, signal: i32) -> Option<&Slot> {
        self.slots.iter().find(|slot| signal > 0 && slot.signal.load(Ordering::Acquire) == signal as u64)
    }
}

/// A change of the signal mask, as rt_sigprocmask(2) states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskChange {
    Block(u64),
    Unblock(u64),
    Set(u64),
}

impl MaskChange {
    /// `how` and `set` of the call; `None` for an unknown `how`, which is EINVAL.
    #[must_use]
    pub const fn of(how: u64, set: u64) -> Option<Self> {
        match how as i32 {
            libc::SIG_BLOCK => Some(Self::Block(set)),
            libc::SIG_UNBLOCK => Some(Self::Unblock(set)),
            libc::SIG_SETMASK => Some(Self::Set(set)),
            _ => None,
        }
    }

    /// The mask after the change.
    #[must_use]
    pub const fn apply(self, mask: u64) -> u64 {
        match self {
            Self::Block(set) => mask | set,
            Self::Unblock(set) => mask & !set,
            Self::Set(set) => set,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]
mod tests {
    use super::*;

    #[test]
    fn an_owned_signal_reads_back_as_the_program_set_it() {
        let signals = ProgramSignals::default();
        assert_eq!(signals.action(libc::SIGTRAP), None);
        signals.own(libc::SIGTRAP, &KernelAction::default());
        let set = KernelAction { handler: 0x1234, flags: 4, restorer: 7, mask: 0b1010 };
        assert!(signals.set_action(libc::SIGTRAP, &set));
        assert!(!signals.set_action(libc::SIGUSR1, &set));
        let KernelAction { handler, flags, restorer, mask } = signals.action(libc::SIGTRAP).unwrap();
        assert_eq!((handler, flags, restorer, mask), (0x1234, 4, 7, 0b1010));
        assert_eq!(signals.owned(), 1 << 4, "SIGTRAP is signal 5");
    }

    #[test]
    fn mask_changes_are_the_kernels() {
        assert_eq!(MaskChange::of(0, 0b11).unwrap().apply(0b100), 0b111);
        assert_eq!(MaskChange::of(1, 0b110).unwrap().apply(0b101), 0b001);
        assert_eq!(MaskChange::of(2, 0b110).unwrap().apply(0b101), 0b110);
        assert_eq!(MaskChange::of(3, 0), None);
    }
}
