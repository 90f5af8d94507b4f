//! Every fixture in every format, as `list --stable` writes it: the same bytes with addresses randomised and without, and
//! those kept under `fixtures/listings`. `OVERSTEP_BLESS=1` writes them anew.

#[path = "../common/mod.rs"]
mod common;
mod formats;
mod kept;

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use common::fixture::{Built, Case, Fixture, each_fixture};
use common::program::Program;
use common::skip::{skip, traceable};
use common::way::REFERENCE;
use formats::{FORMATS, Format};
use kept::{Kept, Listing};
use overstep::record::reader::Trace;

/// Rows of each call that are listed: enough to show what the fixture is there for.
const RANGE: &str = "1..60";

/// No two machines run it alike.
const UNREPEATABLE: &str = "state.c";

/// Lists one fixture, each case in each variant.
fn list(file: &str) {
    let Some(()) = traceable(file) else { return };
    if file == UNREPEATABLE {
        return skip(file, "its path is as long as what it reads of the system").unwrap_or_default();
    }
    let fixture = Fixture::read(file);
    let stem = file.replace('.', "-");
    for (variant, built) in fixture.build(file).iter().enumerate() {
        for (number, case) in fixture.cases.iter().enumerate() {
            let name = format!("{stem}/{}.{}", variant + 1, number + 1);
            list_case(&name, built, case);
        }
    }
}

fn list_case(name: &str, built: &Built, case: &Case) {
    let program = Program::new(&built.path, &[]);
    let fixed = record(&program, case, built.directory(), Addresses::Fixed);
    let random = record(&program, case, built.directory(), Addresses::Random);
    let kept = Kept::of(name, &fixed, &listed(&fixed.path, FORMATS[0], &case.lists));
    for format in FORMATS {
        let listing = listed(&fixed.path, format, &case.lists);
        let other = listed(&random.path, format, &case.lists);
        kept::assert_same(&listing, &other, &format!("{name} as {}: without and with ASLR", format.name));
        kept.hold(&Listing { format, text: listing });
    }
    kept.finish();
}

/// A trace and the file it is in.
pub struct Recorded {
    path: std::path::PathBuf,
    trace: Trace,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Addresses {
    Fixed,
    Random,
}

fn record(program: &Program, case: &Case, directory: &Path, addresses: Addresses) -> Recorded {
    let name = if addresses == Addresses::Fixed { "fixed.ostrace" } else { "random.ostrace" };
    let path = directory.join(name);
    let mut words: Vec<OsString> = [env!("CARGO_BIN_EXE_overstep"), "trace"].map(OsString::from).into();
    words.extend(REFERENCE.options.iter().map(OsString::from));
    words.extend(case.options.iter().map(OsString::from));
    words.extend(["--memory", "--quiet", "--force", "-o"].map(OsString::from));
    words.extend([path.clone().into(), "--".into()]);
    let mut command = match addresses {
        Addresses::Fixed => program.command(&words),
        Addresses::Random => {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).arg(&program.path).args(&program.arguments);
            command.env_clear().envs(program.environment()).stdin(std::process::Stdio::null());
            command
        }
    };
    let output = command.output().expect("overstep starts");
    let trace = Trace::open(&path);
    let trace = trace.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    Recorded { path, trace }
}

/// What `list --stable` writes.
fn listed(trace: &Path, format: Format, rows: &[String]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_overstep"));
    command.arg("list").arg(trace).args(["--stable", "--range", RANGE]).args(format.options).args(rows);
    let output = command.output().expect("overstep starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{command:?}: {stderr}");
    (format.part)(&String::from_utf8(output.stdout).expect("UTF-8"))
}

macro_rules! fixtures {
    ($($name:ident: $file:literal,)*) => {
        const FILES: &[&str] = &[$($file),*];
        $(#[test] fn $name() { list($file); })*
    };
}

each_fixture!(fixtures);

#[test]
fn every_fixture_is_listed() {
    common::fixture::assert_all_in(FILES);
}
