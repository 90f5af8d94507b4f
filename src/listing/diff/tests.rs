//! Runs that are the same, that compute something else, and that go another way.

use super::{What, compare, pair, write};
use crate::check::synthetic::{Synthetic, THREAD, at};
use crate::listing::palette::Palette;
use crate::record::marker::{LostReason, Marker};
use crate::record::reader::Trace;
use crate::registers::{RAX, RDI, RSI, RSP};

fn gcd(a: u64, b: u64, rsp: u64) -> Trace {
    let mut trace = Synthetic::new();
    (trace.registers.general[RDI], trace.registers.general[RSI]) = (a, b);
    trace.registers.general[RSP] = rsp;
    trace.enter(THREAD, 1, 0x1139);
    trace.gcd(0x117b);
    let rax = trace.registers.general[RAX];
    trace.marker(Marker::Leave { rax, xmm0: [0; 16] });
    trace.read()
}

fn words(a: &Trace, b: &Trace) -> String {
    let mut out = Vec::new();
    write(&compare(a, b, 3), a, b, Palette::PLAIN, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn two_runs_of_one_thing_differ_in_nothing() {
    let (a, b) = (gcd(48, 18, 0x7ffd_1b2c_3d48), gcd(48, 18, 0x7ffc_0000_1d48));
    let result = compare(&a, &b, 3);
    assert!(result.divergence.is_none(), "{}", words(&a, &b));
    assert_eq!((result.common, result.different, result.only_a, result.only_b), (23, 0, 0, 0));
    assert_eq!(words(&a, &b), "the same: 23 steps, no difference\n");
}

#[test]
fn other_values_on_the_same_path() {
    let (a, b) = (gcd(12, 8, 0x7ffd_1b2c_3d48), gcd(15, 10, 0x7ffd_1b2c_3d48));
    let result = compare(&a, &b, 3);
    let divergence = result.divergence.as_ref().unwrap();
    assert!(
        matches!(
            &divergence.what[..],
            [What::Register { name: "rdi", .. }, What::Register { name: "rsi", .. }]
        ),
        "{:?}",
        divergence.what
    );
    assert_eq!((result.only_a, result.only_b), (0, 0));
    assert!(result.different > 0);
    assert!(words(&a, &b).contains("  rdi: 0xc in A, 0xf in B\n  rsi: 0x8 in A, 0xa in B\n"));
}

#[test]
fn another_way_and_back() {
    // One iteration less: the second run skips to the end of the loop.
    let (a, b) = (gcd(48, 18, 0x7ffd_1b2c_3d48), gcd(36, 12, 0x7ffd_1b2c_3d48));
    let result = compare(&a, &b, 3);
    assert_eq!(result.only_a - result.only_b, 12, "two iterations of six rows: {result:?}");
    assert_eq!(result.common + result.only_a, 23);
}

#[test]
fn a_trace_that_is_the_beginning_of_the_other() {
    let mut cut = Synthetic::new();
    (cut.registers.general[RDI], cut.registers.general[RSI]) = (48, 18);
    cut.enter(THREAD, 1, 0x1139);
    cut.step(0x113b, |r| r.general[RAX] = r.general[RDI], |_| {});
    let (a, b) = (gcd(48, 18, 0x7ffd_1b2c_3d48), cut.read());
    let result = compare(&a, &b, 3);
    let [What::Ends { side: "B", why }] = &result.divergence.as_ref().unwrap().what[..] else {
        panic!("{:?}", result.divergence)
    };
    assert!(why.contains("overstep was killed"), "{why}");
    assert_eq!((result.common, result.only_a, result.only_b), (1, 22, 0));
    assert!(words(&a, &b).contains("first difference: B ends: the trace ends here"), "{}", words(&a, &b));
}

#[test]
fn a_trace_that_the_limit_cut() {
    let mut cut = Synthetic::new();
    (cut.registers.general[RDI], cut.registers.general[RSI]) = (48, 18);
    cut.enter(THREAD, 1, 0x1139);
    cut.step(0x113b, |r| r.general[RAX] = r.general[RDI], |_| {});
    let at = cut.registers.rip;
    cut.marker(Marker::Lost { reason: LostReason::Limit, expected: at, found: at, detail: 0 });
    let (a, b) = (gcd(48, 18, 0x7ffd_1b2c_3d48), cut.read());
    let text = words(&a, &b);
    assert!(text.starts_with("first difference: B ends: --max-steps cut it off; A call 1 row 2,"), "{text}");
    assert!(!text.contains("goes another way"), "{text}");
}

#[test]
fn a_value_that_decides_later() {
    // The same rows but for an argument, until the loop of one of them is over.
    let (a, b) = (gcd(36, 12, 0x7ffd_1b2c_3d48), gcd(48, 18, 0x7ffd_1b2c_3d48));
    let result = compare(&a, &b, 3);
    assert!(!result.divergence.as_ref().unwrap().parts(), "{result:?}");
    let parting = result.parting.as_ref().unwrap();
    assert_eq!(parting.what, [What::Path]);
    let rejoined = result.rejoined.as_ref().unwrap();
    assert_eq!((rejoined.passed_a, rejoined.passed_b), (0, 12), "two iterations of six rows");
    let text = words(&a, &b);
    let order = [
        "first difference: other values",
        "the paths part: control goes another way",
        "the paths meet again from",
    ];
    let places: Vec<_> =
        order.iter().map(|words| text.find(words).unwrap_or_else(|| panic!("{text}"))).collect();
    assert!(places.is_sorted(), "{text}");
    assert!(text.contains("they differ to the end"), "other results: {text}");
}

#[test]
fn the_same_program_under_another_name() {
    let run = |path| {
        let mut trace = Synthetic::with_module(path);
        (trace.registers.general[RDI], trace.registers.general[RSI]) = (48, 18);
        trace.enter(THREAD, 1, 0x1139);
        trace.gcd(0x117b);
        trace.read()
    };
    let (a, mut b) = (run("/home/ada/a.out"), run("/home/ada/gcd"));
    assert!(compare(&a, &b, 3).divergence.is_some());
    pair(&a, &mut b);
    assert!(compare(&a, &b, 3).divergence.is_none(), "{}", words(&a, &b));
}

#[test]
fn a_process_id_from_wait_is_no_difference() {
    let waited = |child: u64| {
        let mut trace = Synthetic::new();
        trace.enter(THREAD, 1, 0x1139);
        let number = libc::SYS_wait4 as u64;
        let call =
            crate::record::step::Syscall { number, arguments: [u64::MAX, 0, 0, 0, 0, 0], result: child };
        let call = crate::listing::golden::leak(call);
        trace.step(
            0x113b,
            |r| r.general[RAX] = child,
            |step| {
                (step.bytes, step.syscall) = (Some(&[0x0f, 0x05][..]), Some(call));
            },
        );
        trace.read()
    };
    let (a, b, failed) = (waited(4711), waited(4712), waited(-10_i64 as u64));
    assert!(compare(&a, &b, 3).divergence.is_none(), "{}", words(&a, &b));
    assert!(compare(&a, &failed, 3).divergence.is_some(), "that it failed is one");
}

#[test]
fn what_a_cut_trace_has_lost_is_no_difference() {
    // mov rax,rdi, which one of them has the bytes of.
    let moved = |bytes: &'static [u8]| {
        let mut trace = Synthetic::new();
        trace.registers.general[RDI] = 48;
        trace.enter(THREAD, 1, 0x1900);
        trace.step(0x1903, |r| r.general[RAX] = 48, |step| step.bytes = Some(bytes));
        trace.read()
    };
    let (whole, cut) = (moved(&[0x48, 0x89, 0xf8]), moved(&[]));
    assert!(compare(&whole, &cut, 3).divergence.is_none(), "{}", words(&whole, &cut));
    let listed = crate::listing::golden::text_of(&cut, &crate::listing::options::Options::default());
    assert!(listed.contains("(code not recorded)"), "{listed}");
}

#[test]
fn markers_on_the_way_are_no_rows() {
    let run = |detour: bool| {
        let mut trace = Synthetic::new();
        trace.enter(THREAD, 1, 0x1160);
        trace.step(0x1161, |_| {}, |_| {});
        for address in (0x1200..0x1203).filter(|_| detour) {
            trace.registers.rip = at(address);
            trace.step(address + 1, |_| {}, |_| {});
            trace.marker(Marker::Native { target: at(0x1900), resume: at(address + 1) });
        }
        trace.registers.rip = at(0x1139);
        (trace.registers.general[RDI], trace.registers.general[RSI]) = (48, 18);
        trace.gcd(0x117b);
        trace.read()
    };
    let result = compare(&run(true), &run(false), 3);
    let rejoined = result.rejoined.unwrap();
    assert_eq!((rejoined.passed_a, rejoined.passed_b), (3, 0));
}
