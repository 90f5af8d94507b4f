//! The signals that overflows send, and how they get past the kernel.
//!
//! Nobody may send another process a signal that says it comes from the kernel (`si_code` above zero is EPERM). So
//! what is queued is a plain SI_QUEUE from the supervisor whose value says what it stands for, and it is put right at
//! the stop before its delivery. Until then it waits in the real queues, blocked or not, like the real one would.

#![allow(unsafe_code, reason = "siginfo_t is a union behind its first fields")]

use std::os::fd::RawFd;

use super::event::Notice;
use super::ptrace::SignalInfo;
use crate::address::RuntimeAddr;

/// In the upper half of the value: which kind, under a number that nobody else sends.
const MAGIC: u64 = 0x6f76_7300;
const POLL_IN: u64 = MAGIC | 1;
const POLL_HUP: u64 = MAGIC | 2;
const HELD_TRAP: u64 = MAGIC | 3;
const PLAIN: u64 = MAGIC | 4;

/// `TRAP_PERF` and the flag of a signal that came while SIGTRAP was blocked (`include/uapi/asm-generic/siginfo.h`).
pub const TRAP_PERF: i32 = 6;
const TRAP_PERF_FLAG_ASYNC: u32 = 1;

/// `POLL_IN` and `POLL_HUP` of siginfo.h, with the poll bits that the kernel gives them (`fs/fcntl.c`, band_table).
const CODE_POLL_IN: i32 = 1;
const CODE_POLL_HUP: i32 = 6;
const BAND_IN: i64 = (libc::EPOLLIN | libc::EPOLLRDNORM) as i64;
const BAND_HUP: i64 = (libc::EPOLLHUP | libc::EPOLLERR) as i64;
/// `si_code` of a signal by O_ASYNC when the number has codes of its own.
const SI_SIGIO: i32 = -5;

/// What one of our signals stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// O_ASYNC of this descriptor.
    Overflow(Notice, RawFd),
    /// O_ASYNC without F_SETSIG, or when the queue of real-time signals was full: SIGIO and nothing else.
    Plain,
    /// The SIGTRAP that the supervisor holds for this thread.
    HeldTrap,
}

/// Fields behind `si_signo`, `si_errno` and `si_code`, by their place in the 128 bytes.
const AT_PID: usize = 16;
const AT_VALUE: usize = 24;
const AT_ADDRESS: usize = 16;
const AT_BAND: usize = 16;
const AT_DESCRIPTOR: usize = 24;
const AT_PERF_DATA: usize = 24;
const AT_PERF_TYPE: usize = 32;
const AT_PERF_FLAGS: usize = 36;

/// The signal that stands for `meaning` in the kernel's queues.
#[must_use]
pub fn standing_for(meaning: Meaning, signal: i32) -> SignalInfo {
    let value = match meaning {
        Meaning::Overflow(Notice::PollIn, descriptor) => POLL_IN << 32 | descriptor as u64,
        Meaning::Overflow(Notice::PollHup, descriptor) => POLL_HUP << 32 | descriptor as u64,
        Meaning::Plain => PLAIN << 32,
        Meaning::HeldTrap => HELD_TRAP << 32,
    };
    let mut info = blank(signal, libc::SI_QUEUE);
    put(&mut info, AT_PID, &std::process::id().to_ne_bytes());
    put(&mut info, AT_VALUE, &value.to_ne_bytes());
    info
}

/// What a signal about to be delivered stands for, if it is one of ours.
#[must_use]
pub fn meaning(info: &SignalInfo) -> Option<Meaning> {
    if info.si_code != libc::SI_QUEUE || take(info, AT_PID) != std::process::id().to_ne_bytes() {
        return None;
    }
    let value = u64::from_ne_bytes(take(info, AT_VALUE));
    let descriptor = value as u32 as RawFd;
    match value >> 32 {
        POLL_IN => Some(Meaning::Overflow(Notice::PollIn, descriptor)),
        POLL_HUP => Some(Meaning::Overflow(Notice::PollHup, descriptor)),
        PLAIN => Some(Meaning::Plain),
        HELD_TRAP => Some(Meaning::HeldTrap),
        _ => None,
    }
}

/// The same of a `siginfo_t` that the program was given.
#[must_use]
pub fn meaning_of_bytes(given: [u8; size_of::<SignalInfo>()]) -> Option<(i32, Meaning)> {
    // SAFETY: plain numbers, for which every bit pattern is a value.
    let info = unsafe { std::mem::transmute::<[u8; size_of::<SignalInfo>()], SignalInfo>(given) };
    Some((info.si_signo, meaning(&info)?))
}

/// The same of a `struct signalfd_siginfo` (`signalfd(2)`).
#[must_use]
pub fn meaning_of_signalfd(given: [u8; 128]) -> Option<(i32, Meaning)> {
    let number = i32::from_ne_bytes([given[0], given[1], given[2], given[3]]);
    let mut info = blank(number, i32::from_ne_bytes([given[8], given[9], given[10], given[11]]));
    put(&mut info, AT_PID, &given[12..16]);
    put(&mut info, AT_VALUE, &given[48..56]);
    Some((number, meaning(&info)?))
}

/// What a signalfd says of a signal (`fs/signalfd.c`, `signalfd_copyinfo`): of those that stand-ins stand for.
#[must_use]
pub fn for_signalfd(info: &SignalInfo) -> [u8; 128] {
    let mut said = [0; 128];
    let mut put = |at: usize, bytes: &[u8]| said[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &info.si_signo.to_ne_bytes());
    put(4, &info.si_errno.to_ne_bytes());
    put(8, &info.si_code.to_ne_bytes());
    match (info.si_signo, info.si_code) {
        (libc::SIGTRAP, code) if code > 0 && code != libc::SI_KERNEL => {
            put(72, &take::<8>(info, AT_ADDRESS));
        }
        (_, code) if code > 0 && code != libc::SI_KERNEL || code == SI_SIGIO => {
            put(20, &take::<4>(info, AT_DESCRIPTOR));
            put(28, &take::<4>(info, AT_BAND));
        }
        // Sender and value.
        _ => {
            put(12, &take::<4>(info, AT_PID));
            put(16, &take::<4>(info, AT_PID + 4));
            put(44, &take::<4>(info, AT_VALUE));
            put(48, &take::<8>(info, AT_VALUE));
        }
    }
    said
}

/// The signal by O_ASYNC as the kernel makes it (`fs/fcntl.c`, `send_sigio_to_task`).
#[must_use]
pub fn by_async(signal: i32, notice: Notice, descriptor: RawFd) -> SignalInfo {
    let (code, band) = match notice {
        Notice::PollIn => (CODE_POLL_IN, BAND_IN),
        Notice::PollHup => (CODE_POLL_HUP, BAND_HUP),
    };
    const OWN_CODES: [i32; 7] =
        [libc::SIGILL, libc::SIGFPE, libc::SIGSEGV, libc::SIGBUS, libc::SIGTRAP, libc::SIGCHLD, libc::SIGSYS];
    let mut info = blank(signal, if OWN_CODES.contains(&signal) { SI_SIGIO } else { code });
    put(&mut info, AT_BAND, &band.to_ne_bytes());
    put(&mut info, AT_DESCRIPTOR, &descriptor.to_ne_bytes());
    info
}

/// The SIGTRAP of the program's own trap flag, behind an instruction that is done for it.
#[must_use]
pub fn by_step(at: RuntimeAddr) -> SignalInfo {
    let mut info = blank(libc::SIGTRAP, libc::TRAP_TRACE);
    put(&mut info, AT_ADDRESS, &at.0.to_ne_bytes());
    info
}

/// A signal of the kernel's that says nothing more (`SEND_SIG_PRIV`).
#[must_use]
pub fn plain(signal: i32) -> SignalInfo {
    blank(signal, libc::SI_KERNEL)
}

/// The SIGTRAP of `attr.sigtrap` (`kernel/signal.c`, `send_sig_perf`).
#[must_use]
pub fn by_sigtrap(kind: u32, data: u64) -> SignalInfo {
    let mut info = blank(libc::SIGTRAP, TRAP_PERF);
    // The address is that of a data sample, which a counter does not take.
    put(&mut info, AT_ADDRESS, &[0; 8]);
    put(&mut info, AT_PERF_DATA, &data.to_ne_bytes());
    put(&mut info, AT_PERF_TYPE, &kind.to_ne_bytes());
    info
}

/// Says in a SIGTRAP of a perf event that it was blocked when it came.
pub fn mark_asynchronous(info: &mut SignalInfo) {
    if info.si_code == TRAP_PERF {
        put(info, AT_PERF_FLAGS, &TRAP_PERF_FLAG_ASYNC.to_ne_bytes());
    }
}

fn blank(signal: i32, code: i32) -> SignalInfo {
    // SAFETY: plain numbers, for which zeros are values.
    let mut info: SignalInfo = unsafe { std::mem::zeroed() };
    (info.si_signo, info.si_code) = (signal, code);
    info
}

/// As the program reads it.
#[must_use]
pub fn bytes(info: &SignalInfo) -> [u8; size_of::<SignalInfo>()] {
    // SAFETY: both are plain bytes of one size; ours is made by zeroing, the kernel's written whole.
    unsafe { std::mem::transmute_copy(info) }
}

fn put(info: &mut SignalInfo, at: usize, value: &[u8]) {
    let mut all = bytes(info);
    all[at..at + value.len()].copy_from_slice(value);
    // SAFETY: plain numbers, for which every bit pattern is a value.
    *info = unsafe { std::mem::transmute::<[u8; size_of::<SignalInfo>()], SignalInfo>(all) };
}

fn take<const N: usize>(info: &SignalInfo, at: usize) -> [u8; N] {
    let all = bytes(info);
    std::array::from_fn(|place| all[at + place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_says_what_it_stands_for() {
        let all = [
            Meaning::Overflow(Notice::PollIn, 3),
            Meaning::Overflow(Notice::PollHup, 1023),
            Meaning::Plain,
            Meaning::HeldTrap,
        ];
        for one in all {
            assert_eq!(meaning(&standing_for(one, 40)), Some(one));
        }
        assert_eq!(meaning(&by_async(40, Notice::PollIn, 3)), None);
        let overflow = Meaning::Overflow(Notice::PollHup, 9);
        assert_eq!(meaning_of_bytes(bytes(&standing_for(overflow, 40))), Some((40, overflow)));
        assert_eq!(meaning_of_bytes(bytes(&by_async(40, Notice::PollIn, 3))), None);
        assert_eq!(meaning_of_signalfd(for_signalfd(&standing_for(overflow, 40))), Some((40, overflow)));
    }

    #[test]
    fn fields_are_where_libc_has_them() {
        let trap = by_sigtrap(0, 0x1234_5678_9abc);
        // SAFETY: si_addr is valid for a SIGTRAP.
        assert!(unsafe { trap.si_addr() }.is_null());
        let stand_in = standing_for(Meaning::Overflow(Notice::PollIn, 9), 40);
        // SAFETY: si_pid and si_value are valid for SI_QUEUE.
        let (pid, value) = unsafe { (stand_in.si_pid(), stand_in.si_value()) };
        assert_eq!((pid as u32, value.sival_ptr as u64 as u32), (std::process::id(), 9));
        let hup = by_async(40, Notice::PollHup, 7);
        assert_eq!((hup.si_signo, hup.si_code), (40, 6));
        assert_eq!(by_async(libc::SIGCHLD, Notice::PollHup, 7).si_code, SI_SIGIO);
    }
}
