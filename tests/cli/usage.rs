use std::fs;

use crate::support::{overstep, run};

#[test]
fn usage_errors_of_trace_leave_the_low_statuses_to_the_program() {
    let wrong: [&[&str]; 8] = [
        &["trace"],
        &["trace", "-f", "gcd"],
        &["trace", "--", "true"],
        &["trace", "-f", "gcd", "--nth", "0", "--", "true"],
        &["trace", "-f", "gcd", "--calls", "0", "--", "true"],
        &["trace", "-f", "gcd", "--engine", "magic", "--", "true"],
        &["trace", "-f", "gcd", "--force", "--", "true"],
        &["trace", "--no-such-option"],
    ];
    for arguments in wrong {
        let usage = run(overstep().args(arguments));
        assert_eq!(usage.status, Some(125), "{arguments:?}: {usage:?}");
        assert!(usage.stderr.starts_with("error: "), "{arguments:?}: {}", usage.stderr);
        assert_eq!(usage.stdout, "", "{arguments:?}");
    }
}

#[test]
fn usage_errors_elsewhere_are_2() {
    let wrong: [&[&str]; 5] = [&[], &["no-such-command"], &["list"], &["check"], &["completions", "cmd.exe"]];
    for arguments in wrong {
        assert_eq!(run(overstep().args(arguments)).status, Some(2), "{arguments:?}");
    }
}

#[test]
fn messages_say_what_is_allowed() {
    let engine = run(overstep().args(["trace", "-f", "x", "--engine", "magic", "--", "true"]));
    assert!(engine.stderr.contains("auto, breakpoint, trap-flag, instructions"), "{}", engine.stderr);
    let nth = run(overstep().args(["trace", "-f", "x", "--nth", "0", "--", "true"]));
    assert!(nth.stderr.contains("counts start at 1"), "{}", nth.stderr);
}

#[test]
fn what_is_no_trace_is_refused_by_list_and_check() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str, content: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, content).expect("the file is written");
        path
    };
    let cases = [
        (directory.path().join("missing"), "there is no file"),
        (file("empty", b""), "empty"),
        (file("foreign", &[b'x'; 5000]), "not an overstep trace"),
        (file("cut", b"OVERSTEP\x01\0\0\0\0\x10\0\0"), "header"),
        (file("newer", &[b"OVERSTEP\xff\0\0\0\0\x10\0\0", [0u8; 4096].as_slice()].concat()), "newer"),
        (directory.path().to_path_buf(), "directory"),
    ];
    for (path, words) in cases {
        for command in ["list", "check"] {
            let refused = run(overstep().arg(command).arg(&path));
            assert_eq!(refused.status, Some(2), "{command} {path:?}: {refused:?}");
            assert!(refused.stderr.contains(words), "{command} {path:?}: {}", refused.stderr);
            assert!(refused.stderr.contains(&*path.to_string_lossy()), "names the file: {}", refused.stderr);
        }
    }
}
