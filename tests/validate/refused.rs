//! Bad input, and machines that refuse.

#![allow(unsafe_code, reason = "a seccomp filter is installed between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;

use crate::support::{report, run, validate};

#[track_caller]
fn refused(arguments: &[&str], words: &[&str]) {
    let (status, stdout, stderr) = run(&mut validate(arguments));
    assert_eq!((status, stdout.as_str()), (Some(2), ""), "{arguments:?} {stderr}");
    for word in words {
        assert!(stderr.contains(word), "`{word}` in {stderr}");
    }
}

#[test]
fn a_cpu_that_is_not_there() {
    refused(&["--quick", "--cpu", "4096"], &["--cpu 4096: there is no such CPU", "this machine has 0"]);
    refused(&["--cpu=-1"], &["--cpu"]);
}

#[test]
fn a_report_that_cannot_be_written_before_anything_is_measured() {
    let began = std::time::Instant::now();
    refused(
        &["--quick", "--json", "/nonexistent/r.json"],
        &["/nonexistent/r.json", "No such file", "directory"],
    );
    refused(&["--quick", "--html", "/proc/version/r.html"], &["/proc/version/r.html"]);
    assert!(began.elapsed().as_secs() < 3, "nothing was measured");
}

#[test]
fn events_levels_and_numbers_that_are_none() {
    refused(&["--event", "instrctions"], &["`instrctions` is no event", "instructions"]);
    refused(&["--event", "rxyz"], &["`rxyz` is no event"]);
    refused(&["--precise", "4"], &["4"]);
    refused(&["--signals", "0"], &["0"]);
    refused(&["--quick", "--thorough"], &["cannot be used with"]);
}

#[test]
fn reports_that_are_none() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("the file is written");
        path.to_string_lossy().into_owned()
    };
    let newer = file("newer.json", r#"{"version": 99, "whatever": true}"#);
    refused(&["compare", &newer, &newer], &["newer.json", "layout version 99", "reads up to 1"]);
    let text = file("text.json", "hello");
    refused(&["compare", &text, &text], &["text.json", "no report of `overstep validate --json`"]);
    let zero = file("zero.json", r#"{"version": 0, "whatever": true}"#);
    refused(
        &["compare", &zero, &zero],
        &["zero.json", "layout version 0, which no overstep wrote", "validate --json"],
    );
    for none in ["[]", "17", r#"{"version": -1}"#, r#"{"version": "1"}"#, r#"{"rows": []}"#, ""] {
        let file = file("none.json", none);
        refused(&["compare", &file, &file], &["none.json", "no report of `overstep validate --json`"]);
    }
    let other = file("other.json", r#"{"version": 1}"#);
    refused(&["compare", &other, &other], &["other.json", "missing field"]);
    refused(&["compare", "/nonexistent.json", &other], &["/nonexistent.json", "No such file"]);
    refused(&["compare", &other], &["2"]);
}

/// `perf_event_open` fails with `errno` from here on, as with EPERM in many containers (seccomp(2)).
fn refuse_events(errno: i32) -> io::Result<()> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut steps = [
        step(LOAD, 0, 0, 0),
        step(EQUAL, 0, 1, libc::SYS_perf_event_open as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY:
    // - both calls take numbers, and the second a pointer to a filter that lives.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter)
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[test]
fn no_event_at_all() {
    let directory = tempfile::tempdir().expect("a directory");
    let json = directory.path().join("r.json");
    let mut command = validate(&["--quick", "--json"]);
    // SAFETY:
    // - what runs between fork and exec makes two system calls.
    unsafe { command.arg(&json).pre_exec(|| refuse_events(libc::EPERM)) };
    let (status, stdout, stderr) = run(&mut command);
    assert_eq!(status, Some(2), "{stdout}{stderr}");
    assert!(
        stdout.contains("SKIP breakpoint/sigtrap: EPERM (1), a seccomp filter refuses perf_event_open"),
        "{stdout}"
    );
    assert!(stdout.contains("This report cannot be trusted"), "{stdout}");
    assert!(stderr.contains("nothing could be measured") && stderr.contains("overstep doctor"), "{stderr}");
    assert_eq!(report(&json)["trusted"], serde_json::json!(false));
}

#[test]
fn debug_registers_are_not_blamed_for_software_events() {
    let mut command = validate(&["--quick", "--event", "page-faults,task-clock,context-switches"]);
    // SAFETY:
    // - what runs between fork and exec makes two system calls.
    unsafe { command.pre_exec(|| refuse_events(libc::ENOSPC)) };
    let (status, stdout, stderr) = run(&mut command);
    assert_eq!(status, Some(2), "{stdout}{stderr}");
    for row in ["page-faults/fasync", "task-clock/sigtrap", "context-switches/fasync"] {
        let line = stdout.lines().find(|line| line.starts_with(&format!("SKIP {row}: "))).expect("a line");
        assert!(line.contains("ENOSPC (28), ") && line.contains("a seccomp filter is in force; "), "{line}");
        assert!(!line.contains("debug register"), "{line}");
    }
}
