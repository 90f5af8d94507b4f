use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{GCD, Program, Run, overstep, run};

fn trace(function: &str, program: &Path) -> Run {
    run(overstep().args(["trace", "-f", function, "--"]).arg(program))
}

fn executable(path: &Path, content: &[u8]) {
    fs::write(path, content).expect("the file is written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode is set");
}

#[test]
fn a_program_that_is_not_there_is_127() {
    for name in ["/no/such/program", "no-such-program-in-path"] {
        let refused = trace("gcd", Path::new(name));
        assert_eq!(refused.status, Some(127), "{refused:?}");
        assert!(refused.stderr.contains(name), "{}", refused.stderr);
    }
}

#[test]
fn a_program_that_cannot_be_run_is_126() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("program");
    assert_eq!(trace("gcd", directory.path()).status, Some(126), "a directory");

    fs::write(&path, "#!/bin/sh\n").expect("the file is written");
    let refused = trace("gcd", &path);
    assert_eq!(refused.status, Some(126));
    assert!(refused.stderr.contains("chmod +x"), "{}", refused.stderr);

    let contents: [&[u8]; 5] = [
        b"",
        b"hello\n",
        b"\x7fELF",
        &[b"\x7fELF\x02\x01\x01".as_slice(), &[0xff; 300]].concat(),
        b"#!/no/such/sh\n",
    ];
    for content in contents {
        executable(&path, content);
        let refused = trace("gcd", &path);
        assert_eq!(refused.status, Some(126), "{content:?}: {refused:?}");
        assert!(refused.stderr.contains("cannot be run"), "{}", refused.stderr);
    }
}

#[test]
fn a_program_cut_short_or_for_another_cpu_is_126() {
    let Some(program) = Program::compile("a_program_cut_short", GCD, &[]) else { return };
    let whole = fs::read(&program.path).expect("the program is read");
    let other = program.directory().join("other");

    let mut foreign = whole.clone();
    // e_machine (elf(5)): EM_AARCH64.
    foreign[18..20].copy_from_slice(&183u16.to_le_bytes());
    executable(&other, &foreign);
    let refused = trace("gcd", &other);
    assert_eq!(refused.status, Some(126), "{refused:?}");
    assert!(refused.stderr.contains("AArch64"), "{}", refused.stderr);

    executable(&other, &whole[..100]);
    let refused = trace("gcd", &other);
    assert_eq!(refused.status, Some(126), "{refused:?}");
}

#[test]
fn what_the_agent_cannot_enter_is_refused_with_the_reason() {
    let kinds: [(&[&str], &str); 3] =
        [(&["-static"], "static"), (&["-static-pie"], "static"), (&["-m32"], "32-bit")];
    for (flags, reason) in kinds {
        let Some(program) = Program::compile("what_the_agent_cannot_enter", GCD, flags) else { continue };
        let refused = trace("gcd", &program.path);
        assert_eq!(refused.status, Some(125), "{flags:?}: {refused:?}");
        assert!(refused.stderr.contains(reason), "{flags:?}: {}", refused.stderr);
        assert_eq!(refused.stdout, "", "it was not started");
    }
}

#[test]
fn a_musl_program_is_refused() {
    let flags = ["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"];
    let Some(program) = Program::compile("a_musl_program_is_refused", GCD, &flags) else { return };
    let refused = trace("gcd", &program.path);
    assert_eq!(refused.status, Some(125), "{refused:?}");
    assert!(refused.stderr.contains("musl"), "{}", refused.stderr);
}

#[test]
fn an_unknown_function_is_refused_with_the_nearest_names() {
    let Some(program) = Program::compile("an_unknown_function", GCD, &[]) else { return };
    let refused = trace("gdc", &program.path);
    assert_eq!(refused.status, Some(125), "{refused:?}");
    assert!(refused.stderr.contains("`gdc` is not in `a.out`"), "{}", refused.stderr);
    assert!(refused.stderr.contains("did you mean `gcd`"), "{}", refused.stderr);
    assert_eq!(refused.stdout, "", "it was not started");
}

#[test]
fn a_stripped_program_is_said_to_be_the_cause() {
    let Some(program) = Program::compile("a_stripped_program", GCD, &["-s"]) else { return };
    let refused = trace("gcd", &program.path);
    assert_eq!(refused.status, Some(125), "{refused:?}");
    assert!(refused.stderr.contains("`a.out`, which is stripped"), "{}", refused.stderr);
    assert!(refused.stderr.contains("-f a.out+0xOFFSET"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("did you mean"), "{}", refused.stderr);
}

/// Code with data in it: a label that nothing but a read tells apart from code, and an object.
const DATA: &str = "
__attribute__((section(\".text#\"))) const int table[4] = {1, 2, 3, 4};
asm(\".text\\n.globl fun\\nfun: mov konst(%rip), %eax\\n ret\\n.globl konst\\nkonst: .long 41\\n.globl after\\nafter: ret\");
int fun(void);
int main(void) { return fun() + *(volatile const int *)&table[1]; }
";

#[test]
fn a_place_where_no_instruction_starts_is_refused_with_those_around_it() {
    let Some(program) = Program::compile("a_place_where_no_instruction", DATA, &[]) else { return };
    let elf = overstep::image::elf::Elf::open(&program.path).expect("an ELF file");
    let symbols = overstep::image::symbols::SymbolTable::of(&elf);
    let address = |name: &str| {
        let found = symbols.symbols().iter().find(|symbol| symbol.names().any(|it| it == name));
        found.expect("the function is there").address.0
    };
    let fun = address("fun");
    let refused = trace(&format!("a.out+{:#x}", fun + 2), &program.path);
    assert_eq!((refused.status, refused.stdout.as_str()), (Some(125), ""), "{refused:?}");
    let around = format!("the nearest: a.out+{fun:#x}, a.out+{:#x}", fun + 6);
    assert!(refused.stderr.contains(&around), "{}", refused.stderr);
    for (function, why) in [
        ("konst".to_owned(), "reads it as data"),
        ("kons*".to_owned(), "reads it as data"),
        (format!("a.out+{:#x}", address("konst")), "reads it as data"),
    ] {
        let refused = trace(&function, &program.path);
        assert_eq!((refused.status, refused.stdout.as_str()), (Some(125), ""), "{refused:?}");
        assert!(refused.stderr.contains(why), "{function}: {}", refused.stderr);
    }
    // What is code is not refused for the data beside it.
    let listed = run(overstep().args(["symbols", "--format", "json"]).arg(&program.path).arg("after"));
    assert!(listed.stdout.contains("\"after\""), "{listed:?}");
}

#[test]
fn more_matches_than_debug_registers_are_listed() {
    let Some(program) = Program::compile("more_matches", GCD, &[]) else { return };
    let refused = trace("*a*", &program.path);
    assert_eq!(refused.status, Some(125), "{refused:?}");
    assert!(refused.stderr.contains("main"), "lists what matches: {}", refused.stderr);
    assert!(refused.stderr.contains("debug register"), "says why: {}", refused.stderr);
    let first = refused.stderr.lines().nth(1).expect("a list");
    assert!(first.starts_with("    a.out+"), "the program's come first: {}", refused.stderr);
}

#[test]
fn an_existing_trace_and_what_is_no_file_are_left_alone() {
    let Some(program) = Program::compile("an_existing_trace", GCD, &[]) else { return };
    let kept = program.directory().join("t.ostrace");
    fs::write(&kept, "precious").expect("the file is written");
    let refused = run(overstep().args(["trace", "-f", "gcd", "-o"]).arg(&kept).arg("--").arg(&program.path));
    assert_eq!(refused.status, Some(125), "{refused:?}");
    assert!(refused.stderr.contains("--force"), "{}", refused.stderr);
    assert_eq!(fs::read(&kept).expect("the file is there"), b"precious");
    for place in ["/dev/null", "/", "/no/such/directory/t.ostrace"] {
        let refused =
            run(overstep().args(["trace", "-f", "gcd", "--force", "-o", place, "--"]).arg(&program.path));
        assert_eq!(refused.status, Some(125), "{place}: {refused:?}");
        assert!(refused.stderr.contains(place), "{place}: {}", refused.stderr);
        assert_eq!(refused.stdout, "", "{place}: the program was not started");
    }
}

#[test]
fn options_that_another_engine_has_name_it() {
    let refused = run(overstep().args(["trace", "-f", "x", "--period", "2", "--", "true"]));
    assert_eq!(refused.status, Some(125));
    assert!(refused.stderr.contains("pass --engine instructions"), "{}", refused.stderr);
    let counter = ["trace", "-f", "x", "--engine", "instructions", "--step", "block", "--", "true"];
    let refused = run(overstep().args(counter));
    assert_eq!(refused.status, Some(125));
    assert!(refused.stderr.contains("pass --engine breakpoint"), "{}", refused.stderr);
    for (period, why) in [("0", "would never overflow"), ("61", "at most 60")] {
        let refused = run(overstep().args(["trace", "-f", "x", "--period", period, "--", "true"]));
        assert_eq!(refused.status, Some(125));
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
}
