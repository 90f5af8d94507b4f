//! The program whose stops are watched, started as `overstep trace` starts one.
#![allow(unsafe_code, reason = "PTRACE_TRACEME is called between fork and exec")]

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use overstep::event::choose::choose;
use overstep::record::control::{Delivery, Engine, Into, Settings, StepMode};
use overstep::record::counted::Counting;
use overstep::record::growth::Growth;
use overstep::record::reader::{Entry, Trace};
use overstep::record::shared_control::SharedControl;
use overstep::session::header::header;
use tempfile::TempDir;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/handler/mixed.c");
/// More rounds than any test watches.
const ROUNDS: &str = "1000000000";

pub struct Mechanism(Settings);

impl Mechanism {
    /// `None`, said on the output, where this machine does not have it.
    pub fn choose(test: &str, engine: Engine, delivery: Delivery, step: StepMode) -> Option<Self> {
        let choice = match choose(Some(engine), Some(delivery)) {
            Ok(choice) => choice,
            Err(error) => {
                println!("SKIP {test}: {error}");
                return None;
            }
        };
        Some(Self(Settings {
            engine,
            delivery,
            rearm: choice.rearm,
            step,
            into: Into::Module,
            first_call: 1,
            calls: u64::MAX,
            max_steps: u64::MAX,
            registers: true,
            memory: true,
            patch: false,
            counting: Counting::NONE,
        }))
    }
}

pub struct Program {
    directory: TempDir,
    path: PathBuf,
    agent: PathBuf,
}

impl Program {
    /// Compiles it; `None`, said on the output, without a C compiler or an agent.
    pub fn build(test: &str) -> Option<Self> {
        let agent = crate::agent_support::agent(test)?;
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("mixed");
        match Command::new("gcc").args(["-O1", "-o"]).arg(&path).arg(SOURCE).status() {
            Ok(status) => assert!(status.success(), "gcc cannot build {SOURCE}"),
            Err(error) => {
                println!("SKIP {test}: gcc: {error}");
                return None;
            }
        }
        Some(Self { directory, path, agent })
    }

    /// Starts it in a session of its own, ptraced by the calling thread and stopped behind execve.
    pub fn start(&self, mechanism: &Mechanism) -> Run {
        let functions = vec!["mixed".to_owned()];
        let control = Arc::new(SharedControl::create(&mechanism.0, &functions).expect("a control block"));
        let path = self.directory.path().join("mixed.ostrace");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.expect("a trace file");
        let header = header(&mechanism.0, None, vec!["mixed".to_owned()], functions);
        let own = file.try_clone().expect("a second descriptor");
        let growth = Growth::start(own, &header, Arc::clone(&control)).expect("room for a trace");
        let session =
            format!("1:{}:{}:{}", std::process::id(), control.as_fd().as_raw_fd(), file.as_raw_fd());
        let mut command = Command::new(&self.path);
        command
            .arg(ROUNDS)
            .env("LD_PRELOAD", &self.agent)
            .env("OVERSTEP_SESSION", session)
            .stdin(Stdio::null());
        // SAFETY: ptrace(2) is a system call and nothing else.
        unsafe { command.pre_exec(trace_me) };
        let child = command.spawn().expect("the program starts");
        Run { child, growth, path, _file: file }
    }
}

fn trace_me() -> std::io::Result<()> {
    // SAFETY: takes no pointers.
    match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0_u64, 0_u64) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// A program that has been started.
pub struct Run {
    child: Child,
    growth: Growth,
    path: PathBuf,
    _file: File,
}

impl Run {
    pub fn child(&self) -> i32 {
        self.child.id() as i32
    }

    /// Rows in the trace, once the program has ended.
    pub fn rows(self) -> usize {
        self.growth.finish(0, Duration::ZERO).expect("the trace is closed");
        let trace = Trace::open(&self.path).expect("the trace is readable");
        let entries = trace.threads().iter().flat_map(|thread| trace.entries(*thread));
        entries.filter(|entry| matches!(entry, Entry::Step(_))).count()
    }
}
