//! Programs whose expected steps stand beside their source, in lines that start with `#@` or `//@`.
//!
//! | directive | meaning |
//! |---|---|
//! | `build FLAGS` | compiler flags; each such line is a variant of its own |
//! | `trace OPTIONS` | a case: options of `overstep trace`; the lines that follow are about it |
//! | `varies WHY` | values may differ between two runs of one engine |
//! | `lists OPTIONS` | golden listings are of these rows, since others are up to chance |
//!
//! The others are expectations: see [`Expectation`](super::expect::Expectation).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::expect::Expectation;
use super::skip::skip;

/// Flags of every build: no stack protector, so that no canary gets into registers by itself.
const FLAGS: [&str; 2] = ["-O1", "-fno-stack-protector"];

/// One source file with what it asks for.
#[derive(Debug, Default)]
pub struct Fixture {
    source: PathBuf,
    builds: Vec<Vec<String>>,
    pub cases: Vec<Case>,
}

/// One way to trace the program, and what must come of it.
#[derive(Debug, Default)]
pub struct Case {
    pub options: Vec<String>,
    pub expectations: Vec<Expectation>,
    pub varies: bool,
    /// Options of `overstep list`.
    pub lists: Vec<String>,
}

/// A compiled variant; its directory goes with it.
pub struct Built {
    directory: TempDir,
    pub path: PathBuf,
    pub flags: String,
}

impl Built {
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

/// Where the sources are.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/programs")
}

impl Fixture {
    /// Reads the fixture's source. A directive that is not known is a mistake in it.
    pub fn read(file: &str) -> Self {
        let source = directory().join(file);
        let text =
            fs::read_to_string(&source).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        let mut fixture = Self { source, ..Self::default() };
        for (number, line) in text.lines().enumerate() {
            let Some(line) = line.strip_prefix("#@ ").or_else(|| line.strip_prefix("//@ ")) else { continue };
            fixture.directive(line).unwrap_or_else(|error| panic!("{file}:{}: {error}", number + 1));
        }
        assert!(!fixture.cases.is_empty(), "{file}: nothing is traced");
        fixture
    }

    fn directive(&mut self, line: &str) -> Result<(), String> {
        let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words = || rest.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        match key {
            "build" => self.builds.push(words()),
            "trace" => self.cases.push(Case { options: words(), ..Case::default() }),
            _ => {
                let case = self.cases.last_mut().ok_or("an expectation before the first `trace`")?;
                match key {
                    "varies" => case.varies = true,
                    "lists" => case.lists = words(),
                    _ => case.expectations.push(Expectation::parse(key, &words())?),
                }
            }
        }
        Ok(())
    }

    /// Compiles each variant; none, after saying so, where the compiler is missing.
    pub fn build(&self, test: &str) -> Vec<Built> {
        let plain = [Vec::new()];
        let builds: &[Vec<String>] = if self.builds.is_empty() { &plain } else { &self.builds };
        builds.iter().map_while(|flags| self.build_with(test, flags)).collect()
    }

    fn build_with(&self, test: &str, flags: &[String]) -> Option<Built> {
        let extension = self.source.extension().and_then(|extension| extension.to_str());
        let compiler = if extension == Some("cpp") { "g++" } else { "gcc" };
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("program");
        let mut command = Command::new(compiler);
        command.args(FLAGS).args(flags).arg("-o").arg(&path).arg(&self.source);
        if extension == Some("s") {
            command.arg(self::directory().join("driver.c"));
        }
        match command.output() {
            Ok(output) if output.status.success() => {}
            Ok(output) => panic!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)),
            Err(error) => return skip(test, &format!("{compiler}: {error}")),
        }
        Some(Built { directory, path, flags: flags.join(" ") })
    }
}

/// Calls the macro `$fixtures` with a name and a file for each fixture, in one list for all who go through them.
#[allow(unused_macros, reason = "each test file uses its part")]
macro_rules! each_fixture {
    ($fixtures:ident) => {
        $fixtures! {
            around_main: "around_main.c",
            call_pop: "call_pop.s",
            callback: "callback.c",
            cet: "cet.s",
            closes: "closes.c",
            cold: "cold.c",
            compat: "compat.s",
            conditions: "conditions.s",
            deaths: "deaths.s",
            execs: "execs.s",
            exits: "exits.s",
            far: "far.s",
            faults: "faults.c",
            flags: "flags.s",
            forks: "forks.s",
            handlers: "handlers.s",
            ifunc: "ifunc.c",
            indirect: "indirect.s",
            jumps: "jumps.c",
            limits: "limits.s",
            linkage: "linkage.c",
            loop_at_entry: "loop_at_entry.c",
            native_ends: "native_ends.c",
            native_forks: "native_forks.c",
            native_jumps: "native_jumps.cpp",
            native_signals: "native_signals.c",
            native_speed: "native_speed.c",
            own_trap_flag: "own_trap_flag.c",
            page_edge: "page_edge.c",
            recursion: "recursion.c",
            red_zone: "red_zone.s",
            restartable: "restartable.s",
            returns: "returns.s",
            rewritten: "rewritten.c",
            shadows: "shadows.s",
            state: "state.c",
            strings: "strings.s",
            syscalls: "syscalls.s",
            tail_call: "tail_call.s",
            threads: "threads.c",
            timing: "timing.s",
            unsized_functions: "unsized.s",
            unwinding: "unwinding.cpp",
            virtual_calls: "virtual_calls.cpp",
            waits: "waits.c",
        }
    };
}
#[allow(unused_imports, reason = "each test file uses its part")]
pub(crate) use each_fixture;

/// # Panics
/// Where `listed` is not every file that is a fixture.
pub fn assert_all_in(listed: &[&str]) {
    let entries = fs::read_dir(directory()).expect("the fixtures");
    let files = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    let files: BTreeSet<_> = files.filter(|file| file != "driver.c").collect();
    let listed: BTreeSet<_> = listed.iter().map(|file| (*file).to_owned()).collect();
    assert_eq!(files, listed);
}
