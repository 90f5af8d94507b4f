use crate::support::{overstep, run};

#[test]
fn help_names_the_commands_examples_and_what_is_not_there() {
    let help = run(overstep().arg("--help"));
    assert_eq!(help.status, Some(0), "{help:?}");
    assert_eq!(help.stderr, "");
    for word in [
        "demo",
        "trace",
        "list",
        "diff",
        "check",
        "symbols",
        "doctor",
        "emulate",
        "validate",
        "completions",
        "Examples:",
    ] {
        assert!(help.stdout.contains(word), "`{word}` in {}", help.stdout);
    }
    let missing = help.stdout.split("Not there yet:").nth(1).expect("a paragraph on what is not there");
    for word in ["attaching", "following children"] {
        assert!(missing.contains(word), "`{word}` in {missing}");
    }
}

#[test]
fn every_command_explains_itself_with_an_example() {
    for command in
        ["demo", "trace", "list", "diff", "check", "symbols", "doctor", "emulate", "validate", "completions"]
    {
        let help = run(overstep().args([command, "--help"]));
        assert_eq!(help.status, Some(0), "{command}");
        assert!(help.stdout.contains(&format!("overstep {command}")), "{}", help.stdout);
        assert!(help.stdout.contains("Example"), "{command}: {}", help.stdout);
    }
}

#[test]
fn the_version_is_the_packages() {
    let version = run(overstep().arg("--version"));
    assert_eq!(version.stdout, format!("overstep {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(version.status, Some(0));
}

#[test]
fn completions_and_manual_pages_are_generated() {
    let completions = run(overstep().args(["completions", "bash"]));
    assert_eq!(completions.status, Some(0));
    assert!(completions.stdout.contains("--max-steps"), "the script knows trace's options");
    let manual = run(overstep().args(["man", "trace"]));
    assert_eq!(manual.status, Some(0));
    assert!(manual.stdout.contains(".TH overstep-trace 1"), "{}", manual.stdout);
    assert_eq!(run(overstep().args(["man", "nothing"])).status, Some(2));
}

#[test]
fn a_reader_that_left_is_no_error() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    for arguments in [&["--help"][..], &["completions", "zsh"], &["man", "trace"]] {
        let writer = writer.try_clone().expect("a copy of the pipe's end");
        let output = overstep().args(arguments).stdout(writer).output().expect("overstep starts");
        assert_eq!(output.status.code(), Some(0), "{arguments:?} {output:?}");
        assert_eq!(output.stderr, b"", "{arguments:?}");
    }
}

#[test]
fn a_full_device_is_one() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
    let output = overstep().args(["completions", "bash"]).stdout(full).output().expect("overstep starts");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("No space left on device"), "{stderr}");
}
