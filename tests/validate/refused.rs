//! Bad input.

use crate::support::{run, validate};

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
    let other = file("other.json", r#"{"version": 1}"#);
    refused(&["compare", &other, &other], &["other.json", "missing field"]);
    refused(&["compare", "/nonexistent.json", &other], &["/nonexistent.json", "No such file"]);
    refused(&["compare", &other], &["2"]);
}
