//! ELF reading on real files: what gcc makes of small sources, and what the system has.

use overstep::address::ElfAddr;
use overstep::image::decode::Vendor;
use overstep::image::elf::{Elf, Kind};
use overstep::image::elf_symbols::SymbolKind;
use overstep::image::entry::{Certainty, Entries, NoEntry};
use overstep::image::function::{FunctionPattern, find, find_at, nearest};
use overstep::image::symbols::{Symbol, SymbolTable};
use overstep::image::unwind::covered;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles `source` with `flags`; `None`, and a line that says so, where there is no gcc.
fn compile(directory: &Path, name: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let input = directory.join(format!("{name}.c"));
    let output = directory.join(name);
    std::fs::write(&input, source).unwrap();
    match Command::new("gcc").arg(&input).arg("-o").arg(&output).args(flags).output() {
        Err(error) => {
            println!("SKIP {name}: no gcc ({error})");
            None
        }
        Ok(run) => {
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
            Some(output)
        }
    }
}

fn table(path: &Path) -> (Elf, SymbolTable) {
    let elf = Elf::open(path).unwrap();
    let table = SymbolTable::of(&elf);
    (elf, table)
}

fn named<'a>(table: &'a SymbolTable, name: &str) -> &'a Symbol {
    let found = table.symbols().iter().find(|s| s.names().any(|n| n == name));
    found.unwrap_or_else(|| panic!("no {name} in {table:?}"))
}

const PROGRAM: &str = r#"
#include <string.h>
#include <stdio.h>
int table[4] = {1, 2, 3, 4};
__attribute__((noinline)) int gcd(int a, int b) { return b ? gcd(b, a % b) : a; }
extern int gcd_alias(int, int) __attribute__((alias("gcd")));
int __gcd_reserved(int, int) __attribute__((alias("gcd")));
static void *choose(void) { return gcd; }
int chosen(int, int) __attribute__((ifunc("choose")));
asm(".text\n.globl bare\nbare: mov $1, %eax\n ret\n.skip 32, 0xcc\n.size gcd_end, 0\ngcd_end: nop\n ret\n");
int main(int argc, char **argv) { puts(argv[0]); return chosen(argc, (int)strlen(argv[0])) + table[argc & 3]; }
"#;

#[test]
fn aliases_merge_under_the_best_name_and_data_is_no_function() {
    let directory = tempfile::tempdir().unwrap();
    let Some(path) = compile(directory.path(), "program", PROGRAM, &["-O1"]) else { return };
    let (elf, table) = table(&path);
    assert!(elf.is_x86_64());
    assert_eq!(elf.kind(), Kind::Dynamic);
    assert!(elf.interpreter().unwrap().contains("ld-linux"));
    assert!(!elf.uses_musl());
    assert!(elf.needed().iter().any(|n| n.starts_with("libc.so")));

    let gcd = named(&table, "gcd");
    assert_eq!(gcd.raw(), "gcd");
    assert_eq!(gcd.address, named(&table, "gcd_alias").address);
    assert_eq!(gcd.address, named(&table, "__gcd_reserved").address);
    assert_eq!(named(&table, "chosen").kind, SymbolKind::IndirectFunction);
    assert!(table.symbols().iter().all(|s| s.raw() != "table" && s.raw() != "_etext"));

    // Strictly within the size.
    let last = ElfAddr(gcd.address.0 + gcd.size - 1);
    assert_eq!(table.at(last).map(|(s, offset)| (s.raw(), offset)), Some(("gcd", gcd.size - 1)));
    let behind = ElfAddr(gcd.address.0 + gcd.size);
    assert!(table.at(behind).is_none_or(|(s, _)| s.raw() != "gcd"));
    // Assembly without a size ends where the next symbol starts.
    let bare = named(&table, "bare");
    assert!(!bare.sized);
    assert_eq!(bare.range().end, named(&table, "gcd_end").address);
}

#[test]
fn stubs_are_named_after_what_they_call() {
    let directory = tempfile::tempdir().unwrap();
    for (name, flags) in [
        ("lazy", &["-O1", "-Wl,-z,lazy"][..]),
        ("now", &["-O1", "-Wl,-z,now"]),
        // Nothing is exported, so that the hash table knows of no symbol.
        ("fixed", &["-O1", "-no-pie", "-Wl,--hash-style=gnu"]),
        ("fixed-sysv", &["-O1", "-no-pie", "-Wl,--hash-style=sysv"]),
        ("cet", &["-O1", "-fcf-protection=full", "-Wl,-z,ibtplt"]),
        ("static-pie", &["-O1", "-static-pie"]),
    ] {
        let Some(path) = compile(directory.path(), name, PROGRAM, flags) else { return };
        let (elf, table) = table(&path);
        if name == "static-pie" {
            assert_eq!(elf.kind(), Kind::StaticPie);
            continue;
        }
        let stub = named(&table, "puts@plt");
        assert_eq!(stub.kind, SymbolKind::Plt, "{name}");
        assert_eq!(table.at(stub.address).map(|(s, _)| s.raw()), Some("puts@plt"), "{name}");
        assert!(stub.size >= 6 && stub.size <= 16, "{name}: {}", stub.size);
        named(&table, "strlen@plt");
    }
}

/// A module's own indirect function is called through a slot whose relocation names no symbol, only the address of the code
/// that chooses, which has a name of its own.
#[test]
fn a_stub_of_an_indirect_function_has_its_name_and_not_the_choosers() {
    const SOURCE: &str = "
        int one(int x) { return x + 1; }
        int two(int x) { return x + 2; }
        void *a(void) { return (void *)one; }
        static void *pick(void) { return (void *)two; }
        int chosen(int) __attribute__((ifunc(\"a\")));
        int picked(int) __attribute__((ifunc(\"pick\")));
        int main(int argc, char **argv) { return chosen(argc) + picked(argc); }";
    let directory = tempfile::tempdir().unwrap();
    let Some(path) = compile(directory.path(), "indirect", SOURCE, &["-O1"]) else { return };
    let (_, table) = table(&path);
    let stubs: Vec<_> =
        table.symbols().iter().filter(|s| s.kind == SymbolKind::Plt).map(Symbol::raw).collect();
    for name in ["chosen@plt", "picked@plt"] {
        assert!(stubs.contains(&name), "{stubs:?}");
    }
    assert!(!stubs.contains(&"a@plt") && !stubs.contains(&"pick@plt"), "{stubs:?}");
    assert_eq!(named(&table, "a").raw(), "chosen");
    assert_eq!(named(&table, "pick").kind, SymbolKind::IndirectFunction);
}

#[test]
fn kinds_are_told_apart_and_a_stripped_file_still_has_its_exports() {
    let directory = tempfile::tempdir().unwrap();
    let source = "int answer(void) { return 42; } int __attribute__((weak)) main(void) { return answer(); }";
    let cases: [(&str, &[&str], Kind); 3] = [
        ("static", &["-static"], Kind::Static),
        ("no-pie", &["-no-pie"], Kind::Dynamic),
        ("shared", &["-shared", "-fPIC", "-s"], Kind::Library),
    ];
    for (name, flags, kind) in cases {
        let Some(path) = compile(directory.path(), name, source, flags) else { return };
        let (elf, table) = table(&path);
        assert_eq!(elf.kind(), kind, "{name}");
        assert_eq!(named(&table, "answer").raw(), "answer", "{name}");
    }
}

#[test]
fn without_local_symbols_a_name_without_a_size_is_that_of_its_first_byte() {
    let directory = tempfile::tempdir().unwrap();
    let source = "asm(\".globl bare\\nbare: lea 7(%rdi),%eax\\n ret\\nhidden: lea 9(%rdi),%eax\\n ret\\n\");";
    for (name, strip) in [("kept", "-Wl,--build-id"), ("stripped", "-s")] {
        let Some(path) = compile(directory.path(), name, source, &["-shared", "-fPIC", strip]) else {
            return;
        };
        let (_, table) = table(&path);
        let bare = named(&table, "bare");
        let at = |offset| table.at(ElfAddr(bare.address.0 + offset)).map(|(symbol, at)| (symbol.raw(), at));
        assert_eq!(at(0), Some(("bare", 0)), "{name}");
        let (inside, behind) = match name {
            "kept" => (Some(("bare", 3)), Some(("hidden", 0))),
            _ => (None, None),
        };
        assert_eq!((at(3), at(4)), (inside, behind), "{name}");
        // Who asks for the function gets more than its first instruction.
        assert!(bare.range().end.0 >= bare.address.0 + 4, "{name}: {bare:?}");
    }
}

#[test]
fn symbols_survive_the_loss_of_the_section_headers() {
    let directory = tempfile::tempdir().unwrap();
    let source = "int answer(void) { return 42; } int other(int a) { return a; }";
    for hash in ["gnu", "sysv"] {
        let flag = format!("-Wl,--hash-style={hash}");
        let flags = ["-shared", "-fPIC", "-s", flag.as_str()];
        let Some(path) = compile(directory.path(), hash, source, &flags) else { return };
        let mut bytes = std::fs::read(&path).unwrap();
        // e_shoff, and e_shentsize, e_shnum, e_shstrndx.
        bytes[0x28..0x30].fill(0);
        bytes[0x3a..0x40].fill(0);
        let elf = Elf::from_bytes(bytes).unwrap();
        let table = SymbolTable::of(&elf);
        assert!(named(&table, "answer").size > 0, "{hash}");
        assert!(named(&table, "other").sized, "{hash}");
        // A place is as good as a name, inside a function and where nothing has a name.
        let answer = named(&table, "answer");
        let inside = ElfAddr(answer.address.0 + 4);
        let found = find_at(&table, inside).unwrap();
        assert_eq!((found.entry, found.symbol.raw()), (inside, "answer"));
        let start = elf.text_ranges()[0].start;
        let unnamed = find_at(&table, start).unwrap();
        assert_eq!((unnamed.entry, unnamed.symbol.sized), (start, false));
        assert!(unnamed.ranges[0].end <= answer.address, "{unnamed:?}");
        assert_eq!(find_at(&table, ElfAddr(0)), None);
    }
}

const CLONES: &str = r#"
#include <stdio.h>
#include <stdlib.h>
__attribute__((cold, noinline)) void bad(int a) { printf("%d\n", a); }
__attribute__((noinline)) static int work(int a, int b) {
    if (a == b) { bad(a); bad(b); a = bad == 0; }
    return a * b + a / (b + 1);
}
int loop(int n) { int s = 0; for (int i = 0; i < n; i++) s += work(i, 17); return s; }
int main(int argc, char **argv) { (void)argv; return loop(argc); }
"#;

#[test]
fn cold_parts_and_clones_belong_to_their_function() {
    let directory = tempfile::tempdir().unwrap();
    let Some(path) = compile(directory.path(), "clones", CLONES, &["-O2"]) else { return };
    let (_, table) = table(&path);
    let pattern = FunctionPattern::parse("work").unwrap();
    let found = find(&pattern, &table, "/tmp/clones");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].symbol.raw().starts_with("work."), "{}", found[0].symbol.raw());
    assert_eq!(found[0].ranges.len(), 2, "{found:?}");
    assert_eq!(found[0].entry, found[0].symbol.address);
    assert_eq!(find(&FunctionPattern::parse("other!work").unwrap(), &table, "/tmp/clones"), []);
    assert_eq!(nearest("wrok", &table, 1), ["work"]);
    assert_eq!(nearest("mian", &table, 1), ["main"]);
}

#[test]
fn libc_has_its_public_names() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let Some(path) =
        maps.lines().find_map(|l| l.split_whitespace().last().filter(|p| p.contains("libc.so.6")))
    else {
        println!("SKIP libc_has_its_public_names: not linked to glibc");
        return;
    };
    let (elf, table) = table(Path::new(path));
    assert_eq!(elf.soname(), Some("libc.so.6"));
    assert!(elf.build_id().is_some_and(|id| id.len() >= 8));
    for name in ["puts", "malloc", "fputs_unlocked", "qsort"] {
        assert_eq!(named(&table, name).raw(), name);
    }
    // memcpy@@GLIBC_2.14 and memcpy@GLIBC_2.2.5 are both `memcpy`.
    assert!(table.symbols().iter().flat_map(Symbol::names).all(|n| !n.contains("@GLIBC")));
    assert!(!find(&FunctionPattern::parse("libc!memcpy").unwrap(), &table, path).is_empty());
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    let whole = std::fs::read("/proc/self/exe").unwrap();
    assert!(Elf::from_bytes(b"#!/bin/sh\n".to_vec()).unwrap_err().to_string().contains("not an ELF file"));
    assert!(Elf::open(Path::new("/nonexistent")).unwrap_err().to_string().contains("/nonexistent"));
    let cut = Elf::from_bytes(whole[..100].to_vec()).unwrap_err().to_string();
    assert!(cut.contains("the program header table") && cut.contains("has 100"), "{cut}");

    let directory = tempfile::tempdir().unwrap();
    let Some(path) = compile(directory.path(), "small", PROGRAM, &["-O1"]) else { return };
    let whole = std::fs::read(path).unwrap();
    let read_all = |bytes: Vec<u8>| {
        if let Ok(elf) = Elf::from_bytes(bytes) {
            let table = SymbolTable::of(&elf);
            let _ = (elf.kind(), elf.interpreter(), elf.needed(), elf.soname(), elf.build_id());
            let _ = table.at(elf.entry());
            let _ = elf.bytes_at(elf.entry(), 64);
        }
    };
    for length in (0..whole.len()).step_by(61) {
        read_all(whole[..length].to_vec());
    }
    // A fixed sequence: each run breaks the same bytes.
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    for _ in 0..2000 {
        let mut bytes = whole.clone();
        for _ in 0..8 {
            // Half of the hits in the headers, where they hurt.
            let limit = if next() & 1 == 0 { 0x400 } else { bytes.len() as u64 };
            let at = (next() % limit) as usize;
            bytes[at] = if next() & 1 == 0 { 0xff } else { next() as u8 };
        }
        read_all(bytes);
    }
}

#[test]
fn unwind_information_bounds_functions_without_symbols() {
    let directory = tempfile::tempdir().unwrap();
    for (name, flags) in [("pie", &["-O1"][..]), ("fixed", &["-O1", "-no-pie"])] {
        let Some(path) = compile(directory.path(), name, PROGRAM, flags) else { return };
        let (_, table) = table(&path);
        let gcd = named(&table, "gcd").range();
        assert!(Command::new("strip").arg(&path).status().unwrap().success());
        let stripped = Elf::open(&path).unwrap();
        assert_eq!(covered(&stripped, gcd.start), Some(gcd.clone()), "{name}");
        assert_eq!(covered(&stripped, ElfAddr(gcd.end.0 - 1)), Some(gcd.clone()), "{name}: in its middle");
        assert_eq!(covered(&stripped, ElfAddr(1)), None);
    }
}

/// Data between code, which only some of the file's words tell apart, and code that no function covers.
#[test]
fn a_trace_can_begin_where_an_instruction_starts_as_far_as_the_file_says() {
    const SOURCE: &str = "
        asm(\".text\\nfun: mov konst(%rip), %eax\\n ret\\nkonst: .long 41\\n\"
            \".type table, @object\\n.size table, 4\\ntable: .long 42\\n\"
            \".type one, @function\\n.size one, 1\\none: ret\\n nop\\n .byte 6\\n\"
            \".type two, @function\\ntwo: mov $5, %eax\\n ret\\n.size two, . - two\\n\");
        __attribute__((noinline, noipa)) int three(int n) { return n + 1234567; }
        int main(int argc, char **argv) { return three(argc); }";
    let directory = tempfile::tempdir().unwrap();
    let Some(path) = compile(directory.path(), "entries", SOURCE, &["-O1"]) else { return };
    let Some(stripped) = compile(directory.path(), "stripped", SOURCE, &["-O1", "-s"]) else { return };
    let (elf, symbols) = table(&path);
    let entries = Entries::of(&elf, &symbols, Vendor::Intel);
    let place = |name: &str, offset| ElfAddr(named(&symbols, name).address.0 + offset);
    let at = |name, offset| entries.at(place(name, offset), "a.out");
    for (name, offset) in [("fun", 0), ("fun", 6), ("one", 0), ("two", 0), ("two", 5), ("three", 0)] {
        assert_eq!(at(name, offset), Ok(Certainty::Known), "{name}+{offset}");
    }
    assert_eq!(at("one", 1), Ok(Certainty::Unknown), "a nop behind the function");
    assert!(matches!(at("one", 2), Err(NoEntry::Undecodable { .. })), "{:?}", at("one", 2));
    let nearest = vec![place("two", 0), place("two", 5)];
    let inside = NoEntry::Inside { file: "a.out".to_owned(), at: place("two", 1), nearest };
    assert_eq!(at("two", 1), Err(inside));
    assert!(matches!(at("konst", 0), Err(NoEntry::Read { by, .. }) if by == place("fun", 0)));
    assert!(matches!(at("konst", 1), Err(NoEntry::Read { .. })));
    assert!(matches!(at("konst", 4), Err(NoEntry::Object { name, .. }) if name == "table"));
    // Without names, by what unwinding needs.
    let (elf, names) = table(&stripped);
    let entries = Entries::of(&elf, &names, Vendor::Intel);
    assert_eq!(entries.at(place("three", 0), "a.out"), Ok(Certainty::Known));
    let inside = entries.at(place("three", 1), "a.out");
    assert!(matches!(inside, Err(NoEntry::Inside { .. })), "{inside:?}");
}
