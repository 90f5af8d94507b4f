//! `ulimit -f` reached while tracing: a test process of its own, since the limit is the process's.
#![allow(unsafe_code, reason = "SIGXFSZ is ignored, as the parent does")]

mod trace_support;

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use overstep::record::control::{Delivery, Engine, Into, Rearm, Settings, StepMode};
use overstep::record::counted::Counting;
use overstep::record::growth::Growth;
use overstep::record::reader::Trace;
use overstep::record::shared_control::SharedControl;
use overstep::record::window;
use overstep::record::writer::ThreadWriter;
use overstep::registers::Registers;
use trace_support::{header, plain};

#[test]
fn at_the_file_size_limit_the_trace_ends_and_stays_readable() {
    // SAFETY: ignoring installs no handler.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.expect("SIGXFSZ");
    setrlimit(Resource::RLIMIT_FSIZE, 3 << 20, 3 << 20).expect("RLIMIT_FSIZE");
    let file = tempfile::NamedTempFile::new().expect("temporary file");
    let settings = Settings {
        engine: Engine::TrapFlag,
        delivery: Delivery::Trap,
        rearm: Rearm::Refresh,
        step: StepMode::Instruction,
        into: Into::None,
        first_call: 1,
        calls: 1,
        max_steps: u64::MAX,
        registers: false,
        memory: false,
        patch: false,
        counting: Counting::NONE,
    };
    let control = Arc::new(SharedControl::create(&settings, &[]).expect("memfd"));
    let parents: File = file.reopen().expect("descriptor");
    let growth = Growth::start(parents, &header(), Arc::clone(&control)).expect("1 MiB of room");
    let agent = SharedControl::map(control.as_fd()).expect("control").leak();
    let buffer = window::map(file.as_file().as_fd(), agent).expect("window");
    let mut writer = ThreadWriter::new();
    writer.begin_call(&buffer, 1, 1, 0, &Registers::default()).expect("room");
    let mut steps = 0;
    while writer.step(&buffer, &plain(steps, steps + 1)).is_ok() {
        steps += 1;
        assert!(steps < 10_000_000, "the limit does not hold");
    }
    assert_eq!(control.progress.no_room.load(Ordering::Relaxed), libc::EFBIG as u32);
    growth.finish(0, Duration::ZERO).expect("closed");
    let trace = Trace::open(file.path()).expect("readable");
    assert!(trace.damage().is_empty(), "{:?}", trace.damage());
    assert_eq!(trace.entries(1).count() as u64, steps + 1);
    assert!(trace.ending().is_some());
}
