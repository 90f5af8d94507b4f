//! Errors planted one at a time, each to be found as what it is.

use super::finding::Flaw;
use super::report::Report;
use super::synthetic::{Synthetic, THREAD, at, gcd_call, gcd_call_adjusted};
use super::verify::verify;
use crate::address::RuntimeAddr;
use crate::record::marker::{LostReason, Marker};
use crate::record::reader::Entry;
use crate::record::step::{Access, MemoryAccess, Step};
use crate::record::verdict::Verdict;
use crate::registers::RCX;

/// Rows of gcd(48, 18): four at its start, three rounds of six, the return.
const ROWS: u64 = 23;

fn only(report: &Report, flaw: Flaw) -> String {
    assert!(!report.holds());
    let found: Vec<_> = report.findings.iter().map(ToString::to_string).collect();
    assert!(report.has(flaw), "no {flaw:?} in {found:?}");
    report.findings.iter().find(|finding| finding.flaw == flaw).unwrap().to_string()
}

#[test]
fn a_true_trace_holds() {
    let report = verify(&gcd_call().read());
    assert!(report.holds(), "{report}");
    assert_eq!((report.summary.steps, report.summary.exact), (ROWS, ROWS));
    assert_eq!((report.summary.entered, report.summary.traced), (1, 1));
    assert_eq!(report.connected, ROWS, "each row, the first after the entry");
    assert_eq!((report.boundaries, report.boundaries_unknown), (ROWS, 0));
    assert_eq!(report.evidence.state, ROWS - 1, "all but the return, whose slot was not recorded");
    assert_eq!(report.evidence.none, 1);
    assert!(report.counted);
}

#[test]
fn a_return_is_proved_by_its_recorded_slot() {
    let mut value = [0; 64];
    value[..8].copy_from_slice(&at(0x117b).0.to_le_bytes());
    let address = RuntimeAddr(Synthetic::new().registers.general[crate::registers::RSP]);
    let slot: &'static [MemoryAccess] =
        Box::leak(Box::new([MemoryAccess { access: Access::Read, address, size: 8, value }]));
    let trace = gcd_call_adjusted(|n, step| {
        if n == ROWS {
            step.memory = slot;
        }
    });
    assert_eq!(verify(&trace.read()).evidence.state, ROWS);
    let wrong = gcd_call_adjusted(|n, step| {
        if n == ROWS {
            (step.memory, step.next) = (slot, at(0x1172));
        }
    });
    only(&verify(&wrong.read()), Flaw::WrongNext);
}

#[test]
fn a_return_is_confirmed_by_its_call() {
    let mut trace = Synthetic::new();
    trace.enter(THREAD, 1, 0x1176);
    trace.step(0x1139, |registers| registers.general[crate::registers::RSP] -= 8, |_| {});
    trace.depth = 1;
    trace.gcd(0x117b);
    let report = verify(&trace.read());
    assert!(report.holds(), "{report}");
    assert_eq!(report.evidence.call_stack, 1);
}

#[test]
fn a_wrong_successor_is_found() {
    // The jump after the first test: not taken, and recorded as taken.
    let trace = gcd_call_adjusted(|n, step| {
        if n == 4 {
            step.next = at(0x114c);
        }
    });
    let report = verify(&trace.read());
    let words = only(&report, Flaw::WrongNext);
    assert_eq!(
        words,
        "call 1 row 4 at 0x55555555513f (gcd+0x6): wrong successor: expected 0x555555555141, found 0x55555555514c"
    );
    assert!(report.has(Flaw::Discontinuous), "the next row lies where control really went");
}

#[test]
fn without_registers_both_ways_of_a_branch_are_allowed_and_no_third() {
    let run = |wrong: Option<u64>| {
        let mut trace = Synthetic::new();
        trace.header.registers = false;
        trace.enter(THREAD, 1, 0x1139);
        trace.gcd_adjusted(0x117b, |n, step| {
            if let (4, Some(next)) = (n, wrong) {
                step.next = at(next);
            }
        });
        verify(&trace.read())
    };
    let honest = run(None);
    assert!(honest.holds(), "{honest}");
    assert_eq!(honest.evidence.bytes, 4, "one je and three jne");
    assert!(honest.to_string().contains("4 only tested against the ways the bytes allow"), "{honest}");
    only(&run(Some(0x1144)), Flaw::WrongNext);
    assert!(!run(Some(0x114c)).has(Flaw::WrongNext), "the bytes allow the other way");
}

#[test]
fn a_row_off_the_instruction_map_is_found() {
    let trace = gcd_call_adjusted(|n, step| {
        if n == 6 {
            step.address = at(0x1143);
        }
    });
    let words = only(&verify(&trace.read()), Flaw::NotABoundary);
    assert!(
        words.starts_with("call 1 row 6 at 0x555555555143 (gcd+0xa): not an instruction boundary"),
        "{words}"
    );
}

#[test]
fn what_the_tracer_owns_up_to_is_found() {
    let mut trace = gcd_call();
    trace.marker(Marker::Lost {
        reason: LostReason::ReturnedUnseen,
        expected: at(0x1141),
        found: at(0x117b),
        detail: 0,
    });
    only(&verify(&trace.read()), Flaw::Lost);

    let mut limited = gcd_call();
    let nowhere = at(0);
    limited.marker(Marker::Lost { reason: LostReason::Limit, expected: nowhere, found: nowhere, detail: 0 });
    assert!(verify(&limited.read()).holds(), "a limit that was asked for is no flaw");

    for verdict in [Verdict::Zero, Verdict::Skid(1), Verdict::Unexplained { expected: at(0x1141) }] {
        let trace = gcd_call_adjusted(|n, step| {
            if n == 5 {
                step.verdict = verdict;
            }
        });
        only(&verify(&trace.read()), Flaw::Verdict);
    }
    let lost = gcd_call_adjusted(|n, step| {
        if n == 5 {
            step.verdict = Verdict::Lost;
        }
    });
    only(&verify(&lost.read()), Flaw::Lost);
}

#[test]
fn counts_that_disagree_are_found() {
    let trace = gcd_call();
    trace.count(|counters| &counters.step_hits, 1);
    let words = only(&verify(&trace.read()), Flaw::Count);
    assert_eq!(
        words,
        "counts disagree: expected 24 stops, as many as the step event counted, found 23 stops handled"
    );
    let trace = gcd_call();
    trace.count(|counters| &counters.traced, u64::MAX);
    only(&verify(&trace.read()), Flaw::Count);
}

#[test]
fn depth_rises_only_with_a_call() {
    let trace = gcd_call_adjusted(|n, step| {
        if n >= 6 {
            step.depth = 1;
        }
    });
    let words = only(&verify(&trace.read()), Flaw::Depth);
    assert!(words.contains("row 6") && words.ends_with("expected at most 0, found 1"), "{words}");
}

#[test]
fn a_hole_between_rows_is_found() {
    let mut trace = Synthetic::new();
    trace.enter(THREAD, 1, 0x1139);
    trace.gcd_adjusted(0x117b, |n, step| {
        if n == 10 {
            step.address = at(0x1141);
            step.next = at(0x1142);
        }
    });
    let report = verify(&trace.read());
    only(&report, Flaw::Discontinuous);
}

#[test]
fn other_bytes_than_the_file_are_counted_and_decoded() {
    // A `nop` that code wrote over the first half of `test ecx,ecx`.
    let trace = gcd_call_adjusted(|n, step| {
        if n == 3 {
            step.bytes = Some(&[0x66, 0x90]);
        }
    });
    let report = verify(&trace.read());
    assert_eq!(report.differs_from_file, 1);
    assert!(report.holds(), "{report}");
    let illegal = gcd_call_adjusted(|n, step| {
        if n == 3 {
            step.bytes = Some(&[0x0f, 0x0b]);
        }
    });
    only(&verify(&illegal.read()), Flaw::CannotRetire);
    let nonsense = gcd_call_adjusted(|n, step| {
        if n == 3 {
            step.bytes = Some(&[0x06]);
        }
    });
    only(&verify(&nonsense.read()), Flaw::Undecodable);
}

fn in_blocks(adjust: impl FnMut(u64, &mut Step<'_>)) -> Report {
    let mut trace = Synthetic::new();
    trace.enter(THREAD, 1, 0x1139);
    trace.gcd_in_blocks(0x117b, adjust);
    verify(&trace.read())
}

#[test]
fn block_interiors_are_reconstructed_and_branches_still_proved() {
    let report = in_blocks(|_, _| {});
    assert!(report.holds(), "{report}");
    assert_eq!((report.summary.exact, report.summary.reconstructed), (6, 17));
    assert_eq!(report.evidence.bytes, 0, "each branch by the flags at its stop: {report}");
    assert_eq!((report.evidence.state, report.evidence.none), (ROWS - 1, 1), "all but the return");
    assert_eq!(report.summary.signals(), 6);
}

#[test]
fn a_wrong_branch_between_blocks_is_found_by_its_flags() {
    // The bytes allow both ways of `je gcd+0x13`; the flags at the stop allow one.
    let report = in_blocks(|n, step| {
        if n == 4 {
            step.next = at(0x114c);
        }
    });
    let words = only(&report, Flaw::WrongNext);
    assert!(words.ends_with("expected 0x555555555141, found 0x55555555514c"), "{words}");
}

#[test]
fn inside_a_block_no_registers_are_claimed() {
    let mut trace = Synthetic::new();
    trace.enter(THREAD, 1, 0x1139);
    trace.gcd_in_blocks(0x117b, |_, _| {});
    let trace = trace.read();
    let steps = trace.entries(THREAD).filter_map(|entry| match entry {
        Entry::Step(step) => Some(step),
        Entry::Marker(_) => None,
    });
    let steps: Vec<_> = steps.collect();
    let known: Vec<_> = steps.iter().filter(|step| step.before().is_some()).map(|step| step.n).collect();
    assert_eq!(known, [1, 4, 10, 16, 22, 23]);
    let rcx = |n: usize| steps[n - 1].before().map(|before| before.general[RCX]);
    assert_eq!((rcx(4), rcx(10), rcx(22)), (Some(0x12), Some(0xc), Some(0)), "at each stop, not before it");
}

#[test]
fn space_that_a_killed_writer_left_is_no_flaw() {
    let mut trace = gcd_call();
    trace.hole(4096);
    trace.thread();
    trace.enter(THREAD + 1, 2, 0x1139);
    trace.gcd(0x117b);
    let report = verify(&trace.read());
    assert!(report.holds(), "{report}");
    assert_eq!(report.holes, 1);
    assert!(report.to_string().contains("file: 1 place taken by a writer that was killed"), "{report}");
}

#[test]
fn an_empty_trace_proves_nothing() {
    assert!(!verify(&Synthetic::new().read()).holds());
}

#[test]
fn a_native_stretch_comes_back_or_calls_back() {
    let run = |again: u64, depth| {
        let mut trace = Synthetic::new();
        trace.enter(THREAD, 1, 0x1168);
        trace.step(0x1030, |registers| registers.general[crate::registers::RSP] -= 8, |_| {});
        trace.marker(Marker::Native { target: at(0x1030), resume: at(0x116d) });
        (trace.registers.rip, trace.depth) = (at(again), depth);
        trace.step(again + if again == 0x116d { 5 } else { 2 }, |_| {}, |_| {});
        verify(&trace.read())
    };
    let back = run(0x116d, 0);
    assert!(back.holds(), "{back}");
    assert_eq!(back.connected, 2);
    let callback = run(0x1139, 1);
    assert!(callback.holds(), "gcd called by what ran natively: {callback}");
    only(&run(0x113b, 1), Flaw::Discontinuous);
}

#[test]
fn one_signal_may_come_upon_another() {
    let run = |signals: usize, slides: bool, depth| {
        let mut trace = Synthetic::new();
        trace.enter(THREAD, 1, 0x1168);
        trace.step(0x1030, |registers| registers.general[crate::registers::RSP] -= 8, |_| {});
        if slides {
            trace.marker(Marker::Native { target: at(0x1030), resume: RuntimeAddr(0) });
        }
        for _ in 0..signals {
            trace.marker(Marker::Signal { number: 14, handler: at(0x1139) });
        }
        (trace.registers.rip, trace.depth) = (at(0x1139), depth);
        trace.step(0x113b, |_| {}, |_| {});
        verify(&trace.read())
    };
    // The row before is a call, which goes a level down itself.
    assert!(run(1, false, 2).holds());
    only(&run(1, false, 3), Flaw::Depth);
    assert!(run(2, false, 3).holds());
    only(&run(2, false, 4), Flaw::Depth);
    assert!(run(1, true, 9).holds(), "calls without rows lie between");
}

#[test]
fn a_native_stretch_starts_where_control_went() {
    let mut trace = Synthetic::new();
    trace.enter(THREAD, 1, 0x1168);
    trace.step(0x1030, |registers| registers.general[crate::registers::RSP] -= 8, |_| {});
    trace.marker(Marker::Native { target: at(0x1040), resume: at(0x116d) });
    only(&verify(&trace.read()), Flaw::Discontinuous);
}

#[test]
fn a_damaged_file_does_not_hold() {
    let mut bytes = gcd_call().bytes();
    // Inside the events of the only step chunk, which is 4 KiB long and the last in the file.
    let event = bytes.len() - 4096 + 64 + 200;
    bytes[event] ^= 1;
    let report = verify(&crate::record::reader::Trace::from_bytes(bytes).unwrap());
    only(&report, Flaw::Damage);
}

/// Code stands in the file before the rows that need it, though behind them where chunks of several threads mix: a file cut
/// there has rows whose instructions nobody knows, calls among them.
#[test]
fn a_file_that_lost_its_code_is_cut_and_its_depths_are_not_wrong() {
    let mut trace = Synthetic::new();
    trace.enter(THREAD, 1, 0x1176);
    trace.step(0x1139, |_| {}, |_| {});
    trace.depth = 1;
    trace.gcd(0x117b);
    let directory = tempfile::tempdir().unwrap();
    let open = |bytes: Vec<u8>| {
        let path = directory.path().join("t.ostrace");
        std::fs::write(&path, bytes).unwrap();
        verify(&crate::record::reader::Trace::open(path).unwrap())
    };
    let report = open(trace.bytes());
    assert!(report.holds() && report.unclosed, "what a killed tracer leaves is no flaw: {report}");
    assert!(
        report.to_string().contains("\nend: none in the file; it was cut, or overstep was killed"),
        "{report}"
    );
    assert!(!open(trace.closed_bytes(0)).to_string().contains("end: none"), "it was closed");

    let mut bytes = trace.bytes();
    let code = bytes.windows(6).position(|it| it == *b"OSch\x03\0").expect("a chunk of code");
    let size = u32::from_le_bytes(bytes[code + 8..code + 12].try_into().unwrap()) as usize;
    bytes.drain(code..code + size);
    let report = open(bytes);
    let words = only(&report, Flaw::Damage);
    assert!(words.ends_with("rows whose code is not in it: its end was cut off"), "{words}");
    assert_eq!(report.flaws, 1, "{report}");
}
