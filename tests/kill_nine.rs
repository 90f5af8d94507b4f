//! `kill -9` at random moments, of the traced program or of overstep: the file reads, and each thread's part of it is
//! a prefix of what the whole run records.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use common::event::Shape;
use common::program::Program;
use common::run::traced;
use common::skip::{skip, traceable};
use common::way::REFERENCE;
use overstep::record::marker::{LostReason, Marker};
use overstep::record::reader::{DamageCause, Entry, StepEntry, Trace};
use overstep::registers::GENERAL_NAMES;
use tempfile::TempDir;

const KILLS: u32 = 20;
const MANY_KILLS: u32 = 1_000;

/// Two threads, each in a function of its own, until both are done. Says first which process it is.
const SOURCE: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) long one(long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) { sum += i * 3; __asm__ volatile("" : "+r"(sum)); }
    return sum;
}

__attribute__((noinline)) long two(long n) {
    unsigned long hash = 1;
    while (n--) { hash = hash * 31 + n; if (hash & 4) hash ^= 77; }
    return (long)hash;
}

static void *first(void *argument) { *(long *)argument = one(*(long *)argument); return 0; }
static void *second(void *argument) { *(long *)argument = two(*(long *)argument); return 0; }

int main(void) {
    long a = 600, b = 500;
    pthread_t x, y;
    printf("%d\n", getpid());
    fflush(stdout);
    pthread_create(&x, 0, first, &a);
    pthread_create(&y, 0, second, &b);
    pthread_join(x, 0);
    pthread_join(y, 0);
    printf("%ld %ld\n", a, b);
    return 0;
}
"#;
const OPTIONS: [&str; 4] = ["-f", "one", "-f", "two"];

/// Whom the signal goes to.
#[derive(Clone, Copy, Debug)]
enum Victim {
    Program,
    Overstep,
}

/// One thread's events, as far as two runs have them alike: a call's number depends on who came first, and so does
/// where the threads' stacks are, since the agent maps memory in between.
type Events = Vec<(Shape, Vec<(&'static str, u64)>)>;

/// The events of each function's thread.
fn threads(trace: &Trace) -> [Events; 2] {
    let mut threads = [Events::new(), Events::new()];
    for thread in trace.threads() {
        let entries: Vec<_> = trace.entries(*thread).collect();
        let enter = entries.iter().find_map(|entry| match entry {
            Entry::Marker(marker) => match marker.marker {
                Marker::Enter { function, .. } => Some(function as usize),
                _ => None,
            },
            Entry::Step(_) => None,
        });
        let function =
            enter.unwrap_or_else(|| panic!("thread {thread} has rows without an entry: {entries:?}"));
        let wanted = entries.iter().filter(|entry| !ends(entry));
        threads[function] = wanted.map(|entry| event(trace, entry)).collect();
    }
    threads
}

/// The marker that a program leaves whose file nobody makes longer any more.
fn ends(entry: &Entry) -> bool {
    let no_room = |marker: &Marker| matches!(marker, Marker::Lost { reason: LostReason::NoRoom, .. });
    matches!(entry, Entry::Marker(entry) if no_room(&entry.marker))
}

fn event(trace: &Trace, entry: &Entry) -> (Shape, Vec<(&'static str, u64)>) {
    let mut changed = Vec::new();
    if let Entry::Step(StepEntry { registers: Some(change), .. }) = entry {
        let both = change.before.general.into_iter().zip(change.after.general);
        let named = GENERAL_NAMES.into_iter().zip(both).filter(|(name, _)| *name != "rsp");
        changed.extend(
            named.filter(|(_, (before, after))| before != after).map(|(name, (_, after))| (name, after)),
        );
        changed.push(("rflags", change.after.rflags));
    }
    (Shape::of(trace, entry).of_any_call(), changed)
}

/// The whole run, and how long it takes from the program's first line on.
struct Whole {
    directory: TempDir,
    program: Program,
    events: [Events; 2],
    duration: Duration,
}

impl Whole {
    fn run(test: &str) -> Option<Self> {
        traceable(test)?;
        let directory = TempDir::new().expect("a temporary directory");
        let source = directory.path().join("two.c");
        fs::write(&source, SOURCE).expect("the source is written");
        let path = directory.path().join("two");
        let mut compiler = Command::new("gcc");
        compiler.args(["-O1", "-pthread", "-fno-stack-protector", "-o"]).arg(&path).arg(&source);
        match compiler.status() {
            Ok(status) => assert!(status.success(), "{compiler:?}"),
            Err(error) => return skip(test, &format!("gcc: {error}")),
        }
        let program = Program::new(&path, &[]);
        let run = traced(&program, &OPTIONS, REFERENCE, directory.path());
        let (overstep, output, _) = start(&program, &directory.path().join("timed.ostrace"));
        let begun = Instant::now();
        let duration = finish(overstep, output).duration_since(begun);
        let events = threads(&run.trace);
        assert!(events.iter().all(|events| events.len() > 1_500), "{:?}", events.each_ref().map(Vec::len));
        Some(Self { directory, program, events, duration })
    }

    /// Starts it again and kills the victim after `delay`; the file that is left.
    fn kill(&self, victim: Victim, delay: Duration) -> PathBuf {
        let file = self.directory.path().join("killed.ostrace");
        let (mut overstep, output, line) = start(&self.program, &file);
        std::thread::sleep(delay);
        match victim {
            Victim::Program => send_kill(line.trim()),
            Victim::Overstep => overstep.kill().expect("SIGKILL"),
        }
        finish(overstep, output);
        file
    }
}

/// Traces `program` into `file`, up to the program's first line, which it returns: from then on rows are written.
fn start(program: &Program, file: &Path) -> (Child, BufReader<ChildStdout>, String) {
    let mut before: Vec<_> = [env!("CARGO_BIN_EXE_overstep"), "trace"].map(Into::into).to_vec();
    before.extend(REFERENCE.options.iter().chain(&OPTIONS).map(Into::into));
    before.extend(["--quiet", "--force", "-o"].map(Into::into));
    before.extend([file.into(), "--".into()]);
    let mut overstep = program.command(&before).stdout(Stdio::piped()).spawn().expect("overstep starts");
    let mut output = BufReader::new(overstep.stdout.take().expect("a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("the program's first line");
    (overstep, output, line)
}

/// `kill -9 pid`, of a process that may be gone by now.
fn send_kill(pid: &str) {
    let mut kill = Command::new("kill");
    kill.args(["-9", pid]).stderr(Stdio::null()).status().expect("kill runs");
}

/// Waits for both: the program, an orphan when overstep was killed, holds the pipe until it ends; when that was.
fn finish(mut overstep: Child, mut output: impl Read) -> Instant {
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).expect("the program's output");
    let ended = Instant::now();
    overstep.wait().expect("overstep ends");
    ended
}

/// Panics when `file` holds anything but a prefix of the whole run; how many events it holds.
fn assert_prefix(whole: &Whole, file: &Path, described: &str) -> usize {
    let trace = Trace::open(file).unwrap_or_else(|error| panic!("{described}: {error}"));
    // Space that a killed writer had taken and not begun is no damage: nothing was in it.
    let damaged: Vec<_> = trace.damage().iter().filter(|damage| damage.cause != DamageCause::Hole).collect();
    assert!(damaged.is_empty(), "{described}: {damaged:?}");
    let mut held = 0;
    for (function, (found, wanted)) in threads(&trace).iter().zip(&whole.events).enumerate() {
        assert!(found.len() <= wanted.len(), "{described}: {} events of {}", found.len(), wanted.len());
        for (index, (found, wanted)) in found.iter().zip(wanted).enumerate() {
            assert_eq!(found, wanted, "{described}: event {index} of function {function}");
        }
        held += found.len();
    }
    held
}

fn kill(test: &str, times: u32) {
    let Some(whole) = Whole::run(test) else { return };
    let all: usize = whole.events.iter().map(Vec::len).sum();
    let (mut parts, mut wholes, mut nothing) = (0, 0, 0);
    for time in 0..times {
        let victim = if time % 2 == 0 { Victim::Program } else { Victim::Overstep };
        // A golden-ratio sequence: spread over the run's whole length, and the same in each run of the test.
        let part = (f64::from(time) * 0.618_033_988_75).fract();
        let delay = whole.duration.mul_f64(part);
        let file = whole.kill(victim, delay);
        match assert_prefix(&whole, &file, &format!("{victim:?} killed after {delay:?} (run {time})")) {
            0 => nothing += 1,
            held if held == all => wholes += 1,
            _ => parts += 1,
        }
    }
    println!(
        "{test}: {times} kills left {parts} proper prefixes, {wholes} whole runs and {nothing} empty ones"
    );
    assert!(parts * 4 >= times, "{test}: the kills hit the run too rarely: {parts} of {times}");
}

#[test]
fn a_prefix_is_left() {
    kill("a_prefix_is_left", KILLS);
}

#[test]
#[ignore = "a thousand runs, minutes"]
fn a_prefix_is_left_a_thousand_times() {
    kill("a_prefix_is_left_a_thousand_times", MANY_KILLS);
}
