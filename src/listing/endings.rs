//! How calls end that do not return, in text and in JSON.

use serde_json::{Value, json};

use super::golden::{compare, json_of, leak, mixed, text_of};
use super::options::Options;
use super::{html, markdown};
use crate::check::synthetic::{Synthetic, THREAD, at, gcd_call};
use crate::record::marker::{LostReason, Marker};
use crate::record::reader::Trace;
use crate::record::step::Syscall;
use crate::registers::{RAX, RDI, RSP};

const SIGKILL: i32 = libc::SIGKILL;
/// `exit(3)` as `waitpid` reports it.
const STATUS_3: i32 = 3 << 8;

/// A call of `gcd` with one row, and no word about its end.
fn cut_off() -> Synthetic {
    let mut trace = Synthetic::new();
    trace.enter(THREAD, 1, 0x1139);
    trace.step(0x113b, |r| r.general[RAX] = r.general[RDI], |_| {});
    trace
}

/// The last marker in JSON, after it stood word for word in the text.
fn last_marker(trace: &Trace) -> Value {
    let lines = json_of(trace, &Options::default());
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let last = lines.rev().find(|line| line["type"] == "marker").unwrap();
    let text = text_of(trace, &Options { summary: false, ..Options::default() });
    let words = format!("        ── {}", last["text"].as_str().unwrap());
    assert!(text.lines().any(|line| line == words), "{words} is not in\n{text}");
    last
}

#[test]
fn a_killed_call_says_by_what_and_where() {
    let text = "killed by signal 9 SIGKILL; the trace ends here, after step 1 at gcd (a.out+0x1139)";
    assert_eq!(
        last_marker(&cut_off().read_closed(SIGKILL)),
        json!({"type": "marker", "call": 1, "after": 1, "thread": THREAD, "kind": "exit", "text": text, "signal": 9})
    );
}

#[test]
fn a_process_that_exits_inside_a_call_says_its_status() {
    let last = last_marker(&cut_off().read_closed(STATUS_3));
    assert_eq!((&last["kind"], &last["status"]), (&json!("exit"), &json!(3)));
    assert_eq!(last["text"], "exit, status 3; the trace ends here, after step 1 at gcd (a.out+0x1139)");
    let mut entered = Synthetic::new();
    entered.enter(THREAD, 1, 0x1139);
    let last = last_marker(&entered.read_closed(STATUS_3));
    assert_eq!(last["text"], "exit, status 3; the trace ends here, before its first step");
    assert_eq!(last["after"], 0);
}

#[test]
fn a_trace_that_was_not_closed_claims_nothing_about_the_process() {
    let last = last_marker(&cut_off().read());
    assert_eq!(
        last["text"],
        "the trace ends here, after step 1 at gcd (a.out+0x1139): overstep was killed or is still running, or its \
         file was cut"
    );
    assert_eq!((last.get("status"), last.get("signal")), (None, None));
}

#[test]
fn a_file_that_was_cut_is_not_taken_for_a_killed_tracer() {
    let mut trace = cut_off();
    trace.thread();
    trace.enter(THREAD + 1, 2, 0x1139);
    let mut bytes = trace.bytes();
    // Into the committed events of the second thread's chunk, which is 4 KiB long and the last.
    bytes.truncate(bytes.len() - 4096 + 70);
    let lines = json_of(&Trace::from_bytes(bytes).unwrap(), &Options::default());
    let first = lines.lines().find(|line| line.contains("the trace ends here")).unwrap();
    assert!(first.contains("gcd (a.out+0x1139): its file is cut or damaged"), "{first}");
}

/// Files that end where a chunk does, with every call of theirs returned.
#[test]
fn a_file_that_was_cut_between_two_chunks_says_so_in_every_format() {
    let directory = tempfile::tempdir().unwrap();
    let open = |name: &str, bytes: Vec<u8>| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Trace::open(path).unwrap()
    };
    let words = "the file has no end: rows and code may be missing; it was cut, or overstep was killed or is still running";
    let options = Options::default();
    for (trace, is_cut) in [
        (open("cut", gcd_call().bytes()), true),
        (open("whole", gcd_call().closed_bytes(0)), false),
        (gcd_call().read(), false),
    ] {
        assert_eq!(trace.is_unclosed(), is_cut);
        assert_eq!(text_of(&trace, &options).contains(words), is_cut);
        let mut pages = [Vec::new(), Vec::new()];
        markdown::write_tables(&trace, &options, &mut pages[0]).unwrap();
        html::write(&trace, &options, &mut pages[1]).unwrap();
        for page in pages {
            assert_eq!(String::from_utf8(page).unwrap().contains(words), is_cut);
        }
        let lines = json_of(&trace, &options);
        let summary: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        assert_eq!(summary.get("unclosed"), is_cut.then_some(&json!(true)));
    }
}

#[test]
fn what_ran_when_the_process_was_killed_did_not_come_back() {
    let mut trace = Synthetic::new();
    trace.enter(THREAD, 1, 0x1168);
    trace.step(0x1030, |r| r.general[RSP] -= 8, |_| {});
    trace.marker(Marker::Native { target: at(0x1030), resume: at(0x116d) });
    let native = |trace: &Trace| {
        let text = text_of(trace, &Options::default());
        text.lines().find_map(|line| line.split_once("native: ").map(|(_, words)| words.to_owned())).unwrap()
    };
    let never = "puts@plt (a.out+0x1030), which did not come back";
    assert_eq!(native(&trace.read_closed(SIGKILL)), never);
    trace.marker(Marker::Exit { status: 3 });
    assert_eq!(native(&trace.read_closed(STATUS_3)), never);
    let back = "puts@plt (a.out+0x1030), stepped again from work+0xd";
    assert_eq!(native(&unreturned().read_closed(STATUS_3)), back, "a leave is a return");
    assert!(native(&mixed().read()).ends_with(back));
}

#[test]
fn a_call_with_a_known_end_gets_no_other_one() {
    let mut limited = cut_off();
    let reason = LostReason::Limit;
    limited.marker(Marker::Lost { reason, expected: at(0x113b), found: at(0x113b), detail: 1 });
    for trace in [gcd_call(), limited] {
        assert!(!json_of(&trace.read_closed(SIGKILL), &Options::default()).contains("\"kind\":\"exit\""));
    }
}

#[test]
fn a_call_that_another_one_follows_did_not_end_with_the_process() {
    let mut trace = cut_off();
    trace.enter(THREAD, 2, 0x1139);
    trace.gcd(0x117b);
    trace.marker(Marker::Leave { rax: 6, xmm0: [0; 16] });
    let lines = json_of(&trace.read_closed(0), &Options::default());
    let lost = "lost: nothing says how this call ended after step 1 at gcd (a.out+0x1139)";
    assert!(lines.contains(lost), "{lines}");
    assert!(!lines.contains("the trace ends here"), "{lines}");
}

/// `work` calls something native that does not come back to it, then exits from another call.
fn unreturned() -> Synthetic {
    let mut trace = Synthetic::new();
    trace.header.functions = vec!["work".to_owned()];
    trace.enter(THREAD, 1, 0x1168);
    trace.step(0x1030, |r| r.general[RSP] -= 8, |_| {});
    trace.marker(Marker::Native { target: at(0x1030), resume: at(0x116d) });
    trace.marker(Marker::Leave { rax: 1, xmm0: [0; 16] });
    trace.enter(THREAD, 2, 0x1174);
    let exit: &'static Syscall = leak(Syscall { number: 231, arguments: [3, 0, 0, 0, 0, 0], result: 231 });
    trace.step(0x1176, |_| {}, |step| step.syscall = Some(exit));
    trace.marker(Marker::Exit { status: 3 });
    trace.thread();
    trace.enter(THREAD + 1, 3, 0x1139);
    trace.step(0x113b, |r| r.general[RAX] = r.general[RDI], |_| {});
    trace
}

#[test]
fn calls_that_never_returned() {
    let trace = unreturned().read_closed(STATUS_3);
    compare("unreturned.txt", &text_of(&trace, &Options::default()));
    compare("unreturned.jsonl", &json_of(&trace, &Options::default()));
}

#[test]
fn what_happened_unseen_before_a_leave_is_taken_for_a_return() {
    let mut trace = Synthetic::new();
    trace.enter(THREAD, 1, 0x1168);
    trace.step(0x1030, |r| r.general[RSP] -= 8, |_| {});
    trace.marker(Marker::Fault { signal: 11, address: at(0x116d) });
    trace.marker(Marker::Leave { rax: 1, xmm0: [0; 16] });
    let text = text_of(&trace.read(), &Options::default());
    assert!(text.contains("  returned after 1 step: rax 0x1 (1)"), "{text}");
}
