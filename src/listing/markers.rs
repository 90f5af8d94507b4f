//! Markers by kind and in words.

use super::hex::hex;
use super::names;
use super::place::Place;
use super::rows::MarkerRow;
use crate::address::RuntimeAddr;
use crate::record::counted::Unit;
use crate::record::marker::{LostReason, Marker};
use crate::record::reader::Trace;

/// The marker's kind, as the JSON contract has it.
#[must_use]
pub const fn kind(marker: &Marker) -> &'static str {
    match marker {
        Marker::Enter { .. } => "enter",
        Marker::Leave { .. } => "leave",
        Marker::Signal { .. } => "signal",
        Marker::Sigreturn => "sigreturn",
        Marker::Fault { .. } => "fault",
        Marker::Native { .. } => "native",
        Marker::Rseq { .. } => "rseq",
        Marker::Masked { .. } => "masked",
        Marker::Fork { .. } => "fork",
        Marker::Exec => "exec",
        Marker::Exit { .. } => "exit",
        Marker::Lost { .. } => "lost",
    }
}

/// What happened, in words.
#[must_use]
pub fn text(trace: &Trace, marker: &Marker) -> String {
    let short = |address| Place::of(trace, address).short(address);
    let full = |address| Place::of(trace, address).full(address);
    match *marker {
        Marker::Enter { registers, .. } => format!("enter {}", full(registers.rip)),
        Marker::Leave { rax, xmm0 } => format!("leave, {}", result(rax, xmm0)),
        Marker::Signal { number, handler } => {
            format!("signal {number} {} → {}", names::signal(number), short(handler))
        }
        Marker::Sigreturn => "sigreturn: the signal's handler is done".to_owned(),
        Marker::Fault { signal, address } => {
            format!("fault {signal} {} at {}", names::signal(signal), full(address))
        }
        Marker::Native { target, resume } => native(&full(target), Back::of(resume), short),
        Marker::Rseq { start, end } => {
            format!("rseq critical section {} – {}, run natively", full(start), short(end))
        }
        Marker::Masked { stops } => format!("{stops} {} held back: the signal was blocked", plural(stops)),
        Marker::Fork { child } => format!("fork: child {child} runs on untraced"),
        Marker::Exec => "exec: another program took this process over".to_owned(),
        Marker::Exit { status } => format!("exit, status {}", exit_status(status)),
        Marker::Lost { reason, expected, found, detail } => match reason {
            LostReason::ReturnedUnseen => format!(
                "lost: control was back at {} unseen; the stop at {} never came",
                full(found),
                full(expected)
            ),
            LostReason::Limit => "lost: limit; --max-steps was reached and the program ran on".to_owned(),
            LostReason::NoRoom => {
                "lost: the trace file could not grow (full file system or RLIMIT_FSIZE)".to_owned()
            }
            LostReason::Rearm => {
                format!("lost: the kernel refused to move the event to {}: {}", full(expected), errno(detail))
            }
            LostReason::Uncounted => {
                format!("lost: the step event counted {detail} more {} than were handled", plural(detail))
            }
            LostReason::Undecodable => {
                format!("lost: no instruction could be decoded at {}; the program ran on", full(found))
            }
            LostReason::Blocked => {
                format!("lost: the signal was blocked at the stop for {}", full(expected))
            }
            LostReason::NoThreadSlot => {
                format!("lost: this thread could not be stepped: {}", errno(detail))
            }
            LostReason::FrameGone => {
                format!("lost: the traced frame was left at {} by another way than a return", full(found))
            }
            LostReason::Resumed => {
                format!("lost: control was expected at {} and found again at {}", full(expected), full(found))
            }
            LostReason::Seccomp => {
                "lost: the program enters seccomp, which may forbid what stepping needs; it runs on untraced"
                    .to_owned()
            }
            LostReason::PathUnknown => {
                format!("lost: {} up to {}, path unknown", counted(trace, detail), full(found))
            }
            LostReason::NoProgress => format!(
                "lost: {detail} overflows in a row came before the instruction at {} had run; the program ran on",
                full(found)
            ),
            LostReason::NotCounting => format!(
                "lost: up to {} the counter counted {detail} thousandths of the time only: it is shared with others, or \
                 this core's type lacks the event",
                full(found)
            ),
            LostReason::SignalLost => format!(
                "lost: the counter overflowed and its signal never came; control was back at {} unseen",
                full(found)
            ),
            LostReason::Damaged => format!("lost: the trace file is damaged at byte {detail}"),
        },
    }
}

/// The addresses that the marker's words name.
pub fn addresses(marker: &Marker) -> impl Iterator<Item = RuntimeAddr> + use<> {
    let [one, other] = match *marker {
        Marker::Enter { registers, .. } => [registers.rip; 2],
        Marker::Signal { handler, .. } => [handler; 2],
        Marker::Fault { address, .. } => [address; 2],
        Marker::Native { target, resume } => [target, resume],
        Marker::Rseq { start, end } => [start, end],
        Marker::Lost { expected, found, .. } => [expected, found],
        _ => [RuntimeAddr(0); 2],
    };
    [one, other].into_iter().filter(|address| *address != RuntimeAddr(0))
}

/// A `leave` by another way than a return, in words.
#[must_use]
pub fn discarded(rax: u64, xmm0: [u8; 16]) -> String {
    format!("leave without a return (longjmp or unwinding), {}", result(rax, xmm0))
}

/// How control comes back from a stretch out of scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    /// By a return, to be stepped again from here.
    At(RuntimeAddr),
    /// By another way than a return, such as longjmp: it is not known where to.
    Elsewhere,
    /// Not at all: the process ended.
    Never,
}

impl Back {
    /// By what the marker says, which was written when control left.
    #[must_use]
    pub const fn of(resume: RuntimeAddr) -> Self {
        if resume.0 == 0 { Self::Elsewhere } else { Self::At(resume) }
    }
}

/// A stretch out of scope.
#[must_use]
pub fn native(target: &str, back: Back, name: impl FnOnce(RuntimeAddr) -> String) -> String {
    match back {
        Back::At(resume) => format!("native: {target}, stepped again from {}", name(resume)),
        Back::Elsewhere => format!("native: {target}, which comes back elsewhere"),
        Back::Never => format!("native: {target}, which did not come back"),
    }
}

/// What a parent sees of the status that a process passed to `exit`: its lowest byte (`man 3 exit`).
#[must_use]
pub const fn exit_status(passed: u32) -> u8 {
    (passed & 0xff) as u8
}

/// The result of a call that left, as the listing shows values.
#[must_use]
pub fn result_of(row: &MarkerRow, rax: u64, xmm0: [u8; 16]) -> String {
    row.stable.as_ref().map_or_else(|| result(rax, xmm0), |stable| stable.result.clone())
}

/// A function's result: rax in hexadecimal and decimal, and xmm0 where it looks like a number.
#[must_use]
pub fn result(rax: u64, xmm0: [u8; 16]) -> String {
    let mut text = format!("rax {} ({})", hex(rax), rax as i64);
    if let Some(number) = plausible_double(xmm0) {
        text.push_str(&format!(", xmm0 {number:?}"));
    }
    text
}

/// The lower half of xmm0 as a double, where a person would take it for one: nothing in the upper half, and a
/// magnitude that programs compute with. Pointers and characters left in the register are denormal or huge.
fn plausible_double(xmm0: [u8; 16]) -> Option<f64> {
    let (low, high) = xmm0.split_at(8);
    let number = f64::from_le_bytes(low.try_into().ok()?);
    let magnitude = number.abs();
    (high.iter().all(|&byte| byte == 0) && (1e-30..1e30).contains(&magnitude)).then_some(number)
}

/// What the counter says to have run, in the words of its event.
fn counted(trace: &Trace, count: u64) -> String {
    let counter = trace.header.calibration.as_ref();
    let plural = if count == 1 { "" } else { "s" };
    match counter.map(|counter| (counter.unit, counter.event)) {
        None | Some((Unit::Instruction, _)) => format!("{count} instruction{plural} ran"),
        Some((Unit::Branch, _)) => format!("{count} branch{} ran", if count == 1 { "" } else { "es" }),
        Some((Unit::Other, event)) => format!("{event} counted {count}"),
    }
}

fn errno(detail: u64) -> String {
    match names::error(detail.wrapping_neg()) {
        Some(name) if detail != 0 => format!("{name} ({detail})"),
        _ => "no slot was left".to_owned(),
    }
}

const fn plural(stops: u64) -> &'static str {
    if stops == 1 { "stop" } else { "stops" }
}

/// Where a marker's listing line may stand for the end of a call that never returns.
#[must_use]
pub const fn ends_call(marker: &Marker) -> bool {
    matches!(marker, Marker::Leave { .. } | Marker::Exec | Marker::Exit { .. } | Marker::Lost { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn double(number: f64) -> [u8; 16] {
        let mut xmm0 = [0; 16];
        xmm0[..8].copy_from_slice(&number.to_le_bytes());
        xmm0
    }

    #[test]
    fn results_as_a_reader_wants_them() {
        assert_eq!(result(6, [0; 16]), "rax 0x6 (6)");
        assert_eq!(result(u64::MAX - 1, [0; 16]), "rax 0xfffffffffffffffe (-2)");
        assert_eq!(result(0, double(2.5)), "rax 0x0 (0), xmm0 2.5");
        assert_eq!(result(0, double(f64::NAN)), "rax 0x0 (0)");
        assert_eq!(result(0, 0x7fff_1234_5678_u128.to_le_bytes()), "rax 0x0 (0)", "a pointer is no double");
        assert_eq!(result(0, [0x3f; 16]), "rax 0x0 (0)", "a filled upper half is a vector");
    }
}
