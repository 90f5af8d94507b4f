//! Parent and traced process at work on one file: it grows under the writer, is closed, and is read back.

mod trace_support;

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use overstep::address::RuntimeAddr;
use overstep::record::control::{Delivery, Engine, Into, Rearm, Settings, StepMode};
use overstep::record::counted::Counting;
use overstep::record::growth::Growth;
use overstep::record::reader::{Entry, Trace};
use overstep::record::shared_control::SharedControl;
use overstep::record::window;
use overstep::record::writer::ThreadWriter;
use overstep::registers::Registers;
use trace_support::{header, plain};

const THREAD: u32 = 5;

fn settings() -> Settings {
    Settings {
        engine: Engine::Breakpoint,
        delivery: Delivery::Sigtrap,
        rearm: Rearm::RefreshPeriod,
        step: StepMode::Instruction,
        into: Into::Module,
        first_call: 1,
        calls: u64::MAX,
        max_steps: u64::MAX,
        registers: true,
        memory: false,
        patch: false,
        counting: Counting::NONE,
    }
}

fn create(path: &std::path::Path) -> File {
    File::options().read(true).write(true).create(true).truncate(true).open(path).expect("temporary file")
}

#[test]
fn settings_patterns_and_reports_cross_the_control_block() {
    let patterns = ["gcd".to_owned(), "a.out!f*".to_owned()];
    let parent = SharedControl::create(&settings(), &patterns).expect("memfd");
    let agent = SharedControl::map(parent.as_fd()).expect("the same block").leak();
    assert_eq!(agent.settings(), Some(settings()));
    assert_eq!(agent.parent(), std::process::id());
    assert!(agent.patterns().eq(["gcd", "a.out!f*"]));
    assert_eq!(parent.error(), None);
    assert!(agent.report(3, libc::EPERM, b"seccomp"));
    assert!(!agent.report(4, 0, b"later"), "the first error stays");
    let error = parent.error().expect("reported");
    assert_eq!((error.kind, error.errno, error.text.as_str()), (3, libc::EPERM, "seccomp"));
    assert_eq!(agent.resolve(1, RuntimeAddr(0x1139), b"foo"), 0);
    assert_eq!(agent.resolve(0, RuntimeAddr(0x1200), b"gcd"), 1);
    let (count, resolved) = parent.resolved();
    assert_eq!((count, resolved[1].pattern, resolved[1].address), (2, 0, RuntimeAddr(0x1200)));
    assert_eq!(resolved[0].name, "foo");
}

#[test]
fn what_is_no_control_block_is_refused() {
    let file = tempfile::tempfile().expect("temporary file");
    file.set_len(100).expect("100 bytes");
    let error = SharedControl::map(file.as_fd()).expect_err("foreign").to_string();
    assert!(error.contains("100 bytes"), "{error}");
    let error = SharedControl::create(&settings(), &["x".repeat(5000)]).expect_err("too long").to_string();
    assert!(error.contains("5001 bytes"), "{error}");
}

#[test]
fn a_file_grows_under_its_writer_and_is_cut_to_size() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("t.ostrace");
    let control = Arc::new(SharedControl::create(&settings(), &[]).expect("memfd"));
    let growth = Growth::start(create(&path), &header(), Arc::clone(&control)).expect("room");
    let agent = SharedControl::map(control.as_fd()).expect("control").leak();
    let agents_file = File::options().read(true).write(true).open(&path).expect("the agent's descriptor");
    let buffer = window::map(agents_file.as_fd(), agent).expect("window");
    buffer.counters().entered.fetch_add(7, Ordering::Relaxed);
    let mut writer = ThreadWriter::new();
    writer.begin_call(&buffer, THREAD, 1, 0, &Registers::default()).expect("room");
    let steps = 6_000_000;
    for n in 0..steps {
        writer.step(&buffer, &plain(n * 4, n * 4 + 4)).expect("room");
    }
    let length = growth.finish(0x0b00, Duration::from_millis(1500)).expect("closed");
    assert_eq!(std::fs::metadata(&path).expect("file").len(), length);
    assert!((5 << 20..8 << 20).contains(&length), "{length} bytes");
    writer.sync(&buffer, &Registers { rflags: 7, ..Registers::default() }).expect("room in the last chunk");
    let mut other = ThreadWriter::new();
    other.begin_call(&buffer, THREAD + 1, 2, 0, &Registers::default()).expect_err("the trace is closed");
    let trace = Trace::open(&path).expect("readable");
    assert!(trace.damage().is_empty(), "{:?}", trace.damage());
    assert_eq!(trace.counters().entered, 7);
    let ending = trace.ending().expect("closed");
    assert_eq!((ending.wait_status, ending.nanoseconds), (0x0b00, 1_500_000_000));
    assert_eq!(trace.threads(), [THREAD]);
    let last = trace.entries(THREAD).last().expect("rows");
    assert!(matches!(last, Entry::Step(step) if step.n == steps && step.next == RuntimeAddr(steps * 4)));
}
