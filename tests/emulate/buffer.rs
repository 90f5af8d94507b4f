//! The ring buffer and those who wait for it.

use std::process::Command;

use crate::support::{assert_prints, emulate, run};

#[test]
fn samples_wakeups_and_the_rules_of_mmap_are_the_kernels() {
    let expected = "\
no buffer 0x110
private EINVAL
three pages EINVAL
offset EINVAL
map ok size 4096 offset 4096
quiet 0
woken 0x101
once 0
record 9 misc 2 size 40 ip 100 me 1 time 1 period 100
record 9 misc 2 size 40 ip 200 me 1 time 1 period 100
record 9 misc 2 size 40 ip 300 me 1 time 1 period 100
epoll 1 events 0x1 data 77
epoll again 0
full 1
lost record 1 number 1
inherited EINVAL
output 0
written 40
child ok 0 gone 0x110
";
    assert_prints("ring", &[], &[], expected);
}

#[test]
fn throttling_is_logged() {
    assert_prints("throttled", &["--throttle", "5"], &[], "samples 15 throttled 3 unthrottled 2 odd 0\n");
    assert_prints("throttled", &[], &[], "samples 25 throttled 0 unthrottled 0 odd 0\n");
}

#[test]
fn perf_report_reads_what_perf_record_wrote() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("perf.data");
    let mut record = emulate(&[]);
    record.args(["perf", "record", "-e", "instructions:u", "-c", "1000", "-o"]).arg(&file).arg("/bin/true");
    if Command::new("perf").arg("--version").output().is_err() {
        println!("SKIP perf record: there is no perf (package linux-perf)");
        return;
    }
    let recorded = run(&mut record);
    assert_eq!(recorded.status, Some(0), "{recorded:?}");
    let report = run(Command::new("perf").args(["report", "--stdio", "--sort", "comm,dso", "-i"]).arg(&file));
    assert_eq!(report.status, Some(0), "{report:?}");
    let samples = report.stdout.lines().find_map(|line| line.strip_prefix("# Samples: "));
    let number = samples.and_then(|it| it.split(' ').next()).and_then(|it| it.parse::<u64>().ok());
    assert!(number.is_some_and(|it| it > 10), "{}", report.stdout);
    // Every sample was taken in the dynamic loader, libc or the program: nothing is unknown.
    assert!(report.stdout.contains("ld-linux") && !report.stdout.contains("[unknown]"), "{}", report.stdout);
}
