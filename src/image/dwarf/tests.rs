//! On what gcc makes of a small program.

use super::inlined::InlineSite;
use super::sections::DebugSections;
use super::separate::{mismatched, separate, stripped_symbols, symbols};
use crate::address::ElfAddr;
use crate::image::elf::Elf;
use crate::image::symbols::SymbolTable;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "\
#include <stdlib.h>
static inline __attribute__((always_inline)) long twice(long a) {
    return a * 2 + (a >> 3);
}

__attribute__((noinline, noipa)) long gcd(long a, long b) {
    while (b) { long t = a % b;
        a = b; b = t; }
    return a;
}
/* nothing */
__attribute__((noinline, noipa)) long sum(long a) { return twice(a) + 1; }
int main(int argc, char **argv) {
    long a = atol(argv[argc - 1]);
    return gcd(a, 5) + sum(a) +
           twice(a + 7);
}
";

struct Built {
    _directory: tempfile::TempDir,
    path: PathBuf,
    elf: Elf,
}

/// Compiles [`SOURCE`]; `None` after a SKIP line where gcc is missing or does not know the flags.
fn build(test: &str, flags: &[&str]) -> Option<Built> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("src")).unwrap();
    std::fs::write(directory.path().join("src/a.c"), SOURCE).unwrap();
    let path = directory.path().join("a.out");
    let arguments = ["-O1", "-o", "a.out", "src/a.c"];
    run(test, Command::new("gcc").current_dir(directory.path()).args(arguments).args(flags))?;
    let elf = Elf::open(&path).unwrap();
    Some(Built { _directory: directory, path, elf })
}

fn run(test: &str, command: &mut Command) -> Option<()> {
    match command.output() {
        Ok(output) if output.status.success() => Some(()),
        Ok(output) => {
            println!("SKIP {test}: {command:?}: {}", String::from_utf8_lossy(&output.stderr));
            None
        }
        Err(error) => {
            println!("SKIP {test}: {command:?}: {error}");
            None
        }
    }
}

fn address(elf: &Elf, name: &str) -> ElfAddr {
    let table = SymbolTable::of(elf);
    table.symbols().iter().find(|symbol| symbol.raw() == name).unwrap().address
}

/// The functions that the line is in: name, whether it is their first line, and what is inlined there.
fn functions(debug: &Elf, program: &Elf, file: &str, line: u32) -> BTreeSet<(String, bool, Option<String>)> {
    let sections = DebugSections::of(debug).unwrap().expect("debug information");
    let info = sections.info().unwrap();
    let lines = info.lines_of(file).unwrap().retain(|address| program.text_at(address).is_some());
    let addresses: BTreeSet<ElfAddr> = lines.at(line).iter().copied().collect();
    let found = info.enclosing(&addresses).unwrap();
    assert_eq!(found.len(), addresses.len(), "every statement is in a function");
    let functions = found.into_values().map(|it| {
        let name = it.name.unwrap();
        assert_eq!(it.entry, address(program, &name));
        (name, addresses.contains(&it.entry), it.inlined)
    });
    functions.collect()
}

fn gcd_lines_are_found(debug: &Elf, program: &Elf) {
    let gcd = |entry| BTreeSet::from([("gcd".to_owned(), entry, None)]);
    assert_eq!(functions(debug, program, "a.c", 6), gcd(true));
    assert_eq!(functions(debug, program, "src/a.c", 9), gcd(false));
    assert_eq!(functions(debug, program, "./src/a.c", 9), gcd(false));
    let nowhere = BTreeSet::new();
    assert_eq!(functions(debug, program, "a.c", 11), nowhere, "a comment");
    assert_eq!(functions(debug, program, "b/a.c", 9), nowhere, "another directory");
    assert_eq!(functions(debug, program, "c", 9), nowhere, "half a name");
}

#[test]
fn lines_lead_to_functions_in_every_version_and_compression() {
    let flags: [&[&str]; 7] = [
        &["-gdwarf-2"],
        &["-gdwarf-4"],
        &["-gdwarf-5"],
        &["-g1"],
        &["-g", "-gz=zlib"],
        &["-g", "-gz=zstd"],
        &["-g", "-Wl,--compress-debug-sections=zlib-gnu"],
    ];
    for flags in flags {
        let Some(built) = build(&format!("lines_lead_to_functions {flags:?}"), flags) else { continue };
        gcd_lines_are_found(&built.elf, &built.elf);
    }
}

#[test]
fn an_inlined_line_is_in_every_caller() {
    let Some(built) = build("an_inlined_line", &["-g"]) else { return };
    let twice = || Some("twice".to_owned());
    let found: BTreeSet<_> = functions(&built.elf, &built.elf, "a.c", 3)
        .into_iter()
        .map(|(name, _, inlined)| (name, inlined))
        .collect();
    assert_eq!(found, BTreeSet::from([("main".to_owned(), twice()), ("sum".to_owned(), twice())]));
}

#[test]
fn the_nearest_lines_with_code_are_named() {
    let Some(built) = build("the_nearest_lines", &["-g"]) else { return };
    let sections = DebugSections::of(&built.elf).unwrap().unwrap();
    let info = sections.info().unwrap();
    let lines = info.lines_of("a.c").unwrap();
    let around: Vec<u32> = lines.around(11).collect();
    assert!(matches!(around[..], [9 | 10, 12]), "{around:?}");
    assert_eq!(lines.around(1_000).count(), 1);
    assert!(info.source_files().iter().any(|path| path.ends_with("src/a.c")));
    assert!(lines.retain(|_| false).at(6).is_empty());
}

#[test]
fn inlined_functions_name_their_callers() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let Some(built) = build("inlined_functions", &[version]) else { return };
        let sections = DebugSections::of(&built.elf).unwrap().unwrap();
        let info = sections.info().unwrap();
        let site = |caller: &str, line| InlineSite {
            caller: caller.to_owned(),
            place: Some(("a.c".to_owned(), line)),
        };
        let expected = BTreeSet::from([site("main", 16), site("sum", 12)]);
        assert_eq!(info.inlined(|name| name == "twice").unwrap(), Some(expected), "{version}");
        let one_has_code = |name: &str| name == "twice" || name == "gcd";
        assert_eq!(info.inlined(one_has_code).unwrap(), None, "{version}");
        for name in ["gcd", "main", "nowhere"] {
            assert_eq!(info.inlined(|it| it == name).unwrap(), None, "{name}");
        }
    }
}

#[test]
fn debug_information_in_another_file_is_found_by_its_link() {
    const TEST: &str = "debug_information_in_another_file";
    let Some(built) = build(TEST, &["-g", "-Wl,--build-id=none"]) else { return };
    let directory = built.path.parent().unwrap();
    let objcopy =
        |arguments: &[&str]| run(TEST, Command::new("objcopy").current_dir(directory).args(arguments));
    assert!(separate(&built.elf, &built.path).is_none(), "it has its own");
    let Some(()) = objcopy(&["--only-keep-debug", "a.out", "a.debug"]) else { return };
    let Some(()) = objcopy(&["--strip-all", "--add-gnu-debuglink=a.debug", "a.out", "stripped"]) else {
        return;
    };
    let path = directory.join("stripped");
    let stripped = Elf::open(&path).unwrap();
    assert!(DebugSections::of(&stripped).unwrap().is_none());
    gcd_lines_are_found(&separate(&stripped, &path).expect("a.debug is found"), &built.elf);

    assert_eq!(mismatched(&stripped, &path), None);
    let named = |table: SymbolTable| {
        let symbol =
            table.symbols().iter().find(|symbol| symbol.raw() == "gcd").map(|it| (it.address, it.size));
        (symbol, table.symbols().iter().any(|symbol| symbol.raw().ends_with("@plt")))
    };
    assert_eq!(named(SymbolTable::of(&stripped)), (None, true));
    assert_eq!(named(symbols(&stripped, &path)), named(SymbolTable::of(&built.elf)));
    assert!(stripped_symbols(&built.elf, &built.path).is_none(), "it was not stripped");
    let mut other = std::fs::read(directory.join("a.debug")).unwrap();
    other.push(0);
    std::fs::write(directory.join("a.debug"), other).unwrap();
    assert!(separate(&stripped, Path::new(&path)).is_none(), "a file of another build");
    assert_eq!(mismatched(&stripped, &path), Some(directory.canonicalize().unwrap().join("a.debug")));
}

#[test]
fn damaged_debug_information_is_an_error_or_nothing() {
    let Some(built) = build("damaged_debug_information", &["-g", "-gz=zlib"]) else { return };
    let whole = built.elf.file_bytes().to_vec();
    let (header, _) = built.elf.section(".debug_info").unwrap();
    let at = header.sh_offset as usize;
    for (place, byte) in [(at, 9), (at + 8, 0xff), (at + 30, 0xff), (at + 40, 0x55)] {
        let mut damaged = whole.clone();
        damaged[place] = byte;
        let elf = Elf::from_bytes(damaged).unwrap();
        let Err(error) = DebugSections::of(&elf) else { panic!("byte {} went unnoticed", place - at) };
        assert!(error.to_string().contains(".debug_info"), "{error}");
    }
}

#[test]
fn addresses_lead_to_lines_through_inlined_calls() {
    const TEST: &str = "addresses_lead_to_lines";
    for flags in [&["-g"][..], &["-gdwarf-4"]] {
        let Some(built) = build(TEST, flags) else { return };
        let sections = DebugSections::of(&built.elf).unwrap().expect("debug information");
        let info = sections.info().unwrap();
        let (sum, gcd) = (address(&built.elf, "sum"), address(&built.elf, "gcd"));
        let places = info.places(&[sum..ElfAddr(sum.0 + 8)]).unwrap();
        let frames: Vec<_> = (sum.0..sum.0 + 8).map(|at| places.at(ElfAddr(at))).collect();
        let inlined = frames.iter().find(|frames| frames.len() == 2).expect("twice is inlined into sum");
        let short: Vec<_> = inlined.iter().map(|it| (it.function, it.line)).collect();
        assert_eq!(short, [(Some("twice"), 3), (Some("sum"), 12)], "{flags:?}");
        assert!(inlined.iter().all(|frame| frame.file.ends_with("src/a.c")));
        assert!(places.at(gcd).is_empty(), "only what was asked for is read");
    }
}
