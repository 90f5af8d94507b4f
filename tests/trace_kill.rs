//! `kill -9` at random moments: whatever was being written, the file reads as a prefix for each thread.
mod trace_support;

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use overstep::address::RuntimeAddr;
use overstep::record::control::{Delivery, Engine, Into, Rearm, Settings, StepMode};
use overstep::record::counted::Counting;
use overstep::record::growth::Growth;
use overstep::record::reader::{DamageCause, Entry, Trace};
use overstep::record::shared_control::SharedControl;
use overstep::record::step::{RegisterChangeRef, Step};
use overstep::record::window;
use overstep::record::writer::ThreadWriter;
use overstep::registers::Registers;
use trace_support::{header, plain};

const KILLS: u32 = 100;
const CONTROL: &str = "OVERSTEP_TEST_CONTROL";
const FILE: &str = "OVERSTEP_TEST_FILE";

/// Row `n` of every call: its place and registers are known from `n` alone.
fn registers_before(n: u64) -> Registers {
    let general = std::array::from_fn(|i| if i < 3 { n.wrapping_mul(0x9e37_79b9 + i as u64) } else { 0 });
    Registers { general, rip: RuntimeAddr(n * 4), rflags: 0x202 }
}

#[test]
fn a_killed_writer_leaves_a_prefix() {
    let mut rows = 0;
    let mut cut_short = 0;
    for round in 0..KILLS {
        let trace = trace_of_a_killed_writer(Duration::from_micros(u64::from(round * 7919 % 12_000)));
        let holes_only = trace.damage().iter().all(|damage| damage.cause == DamageCause::Hole);
        assert!(holes_only, "round {round}: {:?}", trace.damage());
        cut_short += usize::from(!trace.damage().is_empty());
        for &thread in trace.threads() {
            rows += check(&trace, thread);
        }
    }
    println!("{KILLS} kills, {rows} rows, {cut_short} files with holes");
    assert!(rows > u64::from(KILLS), "the writers never got going");
}

/// All rows of `thread`, each the one that had to come: how many.
fn check(trace: &Trace, thread: u32) -> u64 {
    let mut entries = trace.entries(thread);
    assert!(matches!(entries.next(), Some(Entry::Marker(_))), "enter comes first");
    let mut n = 0;
    for entry in entries {
        let Entry::Step(step) = entry else { panic!("no other marker was written: {entry:?}") };
        n += 1;
        assert_eq!((step.n, step.address), (n, RuntimeAddr(n * 4)));
        let change = step.registers.expect("recorded");
        assert_eq!((change.before, change.after), (registers_before(n), registers_before(n + 1)));
    }
    n
}

fn trace_of_a_killed_writer(after: Duration) -> Trace {
    let settings = Settings {
        engine: Engine::TrapFlag,
        delivery: Delivery::Trap,
        rearm: Rearm::Refresh,
        step: StepMode::Instruction,
        into: Into::None,
        first_call: 1,
        calls: 1,
        max_steps: u64::MAX,
        registers: true,
        memory: false,
        patch: false,
        counting: Counting::NONE,
    };
    let file = tempfile::NamedTempFile::new().expect("temporary file");
    let control = Arc::new(SharedControl::create(&settings, &[]).expect("memfd"));
    let growth =
        Growth::start(file.reopen().expect("descriptor"), &header(), Arc::clone(&control)).expect("room");
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "writer", "--ignored"])
        .env(CONTROL, format!("/proc/{}/fd/{}", std::process::id(), control.as_fd().as_raw_fd()))
        .env(FILE, file.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("this test again");
    while control.progress.calls.load(std::sync::atomic::Ordering::Relaxed) < 2 {
        assert_eq!(child.try_wait().expect("child"), None, "the writer ended by itself");
        std::thread::yield_now();
    }
    std::thread::sleep(after);
    child.kill().expect("SIGKILL");
    child.wait().expect("reaped");
    growth.finish(libc::SIGKILL, after).expect("closed");
    let trace = Trace::open(file.path()).expect("readable");
    assert_eq!(trace.ending().map(|ending| ending.wait_status), Some(libc::SIGKILL));
    trace
}

#[test]
#[ignore = "the process that a_killed_writer_leaves_a_prefix kills"]
fn writer() {
    let Some(path) = std::env::var_os(CONTROL) else {
        return; // `--ignored` runs it alone, too
    };
    // As an armed process opens it: the descriptor itself is close-on-exec.
    let control = File::options().read(true).write(true).open(path).expect("the other test's descriptor");
    let control = SharedControl::map(control.as_fd()).expect("control block").leak();
    let path = std::env::var_os(FILE).expect("run by the other test");
    let file = File::options().read(true).write(true).open(path).expect("trace file");
    let buffer = window::map(file.as_fd(), control).expect("window");
    std::thread::scope(|scope| {
        for thread in [1, 2] {
            scope.spawn(move || {
                let mut writer = ThreadWriter::new();
                writer.begin_call(&buffer, thread, thread.into(), 0, &registers_before(1)).expect("room");
                control.progress.calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                for n in 1.. {
                    let (before, after) = (registers_before(n), registers_before(n + 1));
                    let registers = Some(RegisterChangeRef { before: &before, after: &after });
                    writer.step(&buffer, &Step { registers, ..plain(n * 4, n * 4 + 4) }).expect("room");
                }
            });
        }
    });
}
