//! Ctrl-C: what was measured is reported, and soon.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::support::{refusal, report, skip, validate};

/// A moment to look again after.
const MOMENT: Duration = Duration::from_millis(1);
/// Less than a measuring child is given, by far, and more than a loaded machine needs.
const SOON: Duration = Duration::from_secs(20);

fn thorough(json: &Path) -> Child {
    let mut command = validate(&["--thorough", "--json"]);
    command.arg(json).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("overstep starts")
}

fn id(child: &Child) -> Pid {
    Pid::from_raw(child.id() as i32)
}

/// A line of `/proc/PID/status`.
fn status(process: Pid, field: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    value.map(|value| value.trim().to_owned())
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + SOON;
    loop {
        match look() {
            Some(found) => return found,
            None if Instant::now() > deadline => panic!("no {what}"),
            None => sleep(MOMENT),
        }
    }
}

/// Waits until it catches SIGINT, and sends it.
fn interrupt_at_once(child: &Child) {
    let catches = || {
        let caught = u64::from_str_radix(&status(id(child), "SigCgt")?, 16).ok()?;
        (caught >> (Signal::SIGINT as u32 - 1) & 1 == 1).then_some(())
    };
    wait_for("handler of SIGINT", catches);
    kill(id(child), Signal::SIGINT).expect("it runs");
}

/// Standard output and the report; the status is that of an answer it could not give.
fn ended(child: Child, json: &Path) -> (String, serde_json::Value) {
    let began = Instant::now();
    let output = child.wait_with_output().expect("it ends");
    assert!(began.elapsed() < SOON, "it took {:?}", began.elapsed());
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(2), "what was not measured is not known to be good: {stdout}");
    assert!(stdout.contains("PARTIAL: "), "{stdout}");
    let report = report(json);
    assert_eq!((refusal(&report), &report["partial"]), (None, &json!(true)));
    (stdout, report)
}

#[test]
fn an_interrupted_run_reports_what_it_has() {
    if !overstep::can_trace() {
        return skip("an_interrupted_run_reports_what_it_has", "breakpoint events do not work here");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let json = directory.path().join("partial.json");
    let child = thorough(&json);
    sleep(Duration::from_secs(2));
    kill(id(&child), Signal::SIGINT).expect("it runs");
    ended(child, &json);
}

#[test]
fn the_first_moments_have_nothing_to_report_and_say_so() {
    let directory = tempfile::tempdir().expect("a directory");
    let json = directory.path().join("nothing.json");
    let child = thorough(&json);
    interrupt_at_once(&child);
    let (stdout, report) = ended(child, &json);
    assert_eq!(report["results"].as_array().map(Vec::len), Some(0), "{report}");
    assert!(stdout.ends_with("\nNothing was measured.\n"), "{stdout}");
    assert!(stdout.contains("interrupted before a control of each kind"), "{stdout}");
}

#[test]
fn a_child_that_does_not_end_is_not_waited_for() {
    if !overstep::can_trace() {
        return skip("a_child_that_does_not_end_is_not_waited_for", "breakpoint events do not work here");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let json = directory.path().join("stuck.json");
    let child = thorough(&json);
    // Each lives for a moment only: one is found, stopped, and has to be one still.
    let stuck = wait_for("measuring child", || {
        let children = processes().filter(|pid| status(*pid, "PPid") == Some(child.id().to_string()));
        let stopped = |pid: &Pid| {
            kill(*pid, Signal::SIGSTOP).is_ok() && status(*pid, "State").is_some_and(|it| it.starts_with('T'))
        };
        children.into_iter().find(stopped)
    });
    kill(id(&child), Signal::SIGINT).expect("it runs");
    ended(child, &json);
    assert_eq!(status(stuck, "State"), None, "the child is gone, too");
}

fn processes() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok().map(Pid::from_raw))
}
