//! The program's output, status and signals are its own; nothing is left behind; what cannot be run is refused.

#![allow(unsafe_code, reason = "kill(2), setuid bits and ptrace are libc calls")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{emulate, run, wait_until};

const OVERSTEP: &str = env!("CARGO_BIN_EXE_overstep");

#[test]
fn output_and_status_are_the_programs() {
    let ran = run(emulate(&[]).args(["sh", "-c", "echo out; echo err >&2; exit 41"]));
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(41), "out\n", "err\n"));
    let killed =
        Command::new(OVERSTEP).args(["emulate", "-q", "--", "sh", "-c", "kill -USR1 $$"]).output().unwrap();
    assert_eq!(killed.status.signal(), Some(libc::SIGUSR1), "{killed:?}");
}

#[test]
fn the_model_is_one_line_on_standard_error() {
    let ran = Command::new(OVERSTEP)
        .args(["emulate", "--skid", "uniform:1-4", "--lose", "0.5", "--seed", "9", "--", "true"])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&ran.stderr),
        "overstep: emulated PMU: skid uniform:1-4, lose 0.5, seed 9\n"
    );
}

/// A program under the emulator that prints its pid and sleeps.
fn sleeper() -> (Child, i32) {
    let mut child = Command::new(OVERSTEP)
        .args(["emulate", "-q", "--", "sh", "-c", "echo $$; exec sleep 1000"])
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().parse().unwrap())
}

fn is_there(pid: i32) -> bool {
    // A zombie is gone as far as this is concerned.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn send(pid: i32, signal: i32) {
    // SAFETY: kill takes numbers.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
}

#[test]
fn an_interrupt_ends_both() {
    for to_group in [false, true] {
        let (mut child, program) = sleeper();
        let overstep = child.id() as i32;
        send(if to_group { -overstep } else { overstep }, libc::SIGINT);
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGINT), "{status:?}");
        assert!(!is_there(program));
    }
}

#[test]
fn nobody_outlives_a_killed_supervisor() {
    let (mut child, program) = sleeper();
    assert!(is_there(program));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(wait_until(Duration::from_secs(5), || !is_there(program)));
}

#[test]
fn stopped_programs_stay_stopped_until_they_are_continued() {
    let (mut child, program) = sleeper();
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{program}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
    };
    send(program, libc::SIGSTOP);
    assert!(wait_until(Duration::from_secs(5), || matches!(state(), Some('t' | 'T'))), "{:?}", state());
    send(program, libc::SIGCONT);
    assert!(wait_until(Duration::from_secs(5), || state() == Some('S')), "{:?}", state());
    send(program, libc::SIGTERM);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
}

#[test]
fn an_emulator_in_an_emulator_is_refused() {
    let ran = run(emulate(&[]).args([OVERSTEP, "emulate", "true"]));
    assert_eq!(ran.status, Some(125), "{ran:?}");
    let ran = run(emulate(&[]).args([OVERSTEP, "emulate", "--", "true"]));
    assert_eq!(ran.status, Some(125), "{ran:?}");
    assert!(ran.stderr.contains("inside another"), "{ran:?}");
}

#[test]
fn a_debugger_is_named() {
    if Command::new("strace").arg("-V").output().is_err() {
        println!("SKIP a_debugger_is_named: there is no strace");
        return;
    }
    let mut command = Command::new("strace");
    command.args(["-f", "-o", "/dev/null", OVERSTEP, "emulate", "--", "true"]);
    let ran = run(&mut command);
    assert_eq!(ran.status, Some(125), "{ran:?}");
    assert!(ran.stderr.contains("`strace` (pid "), "{ran:?}");
}

#[test]
fn missing_and_unrunnable_programs_have_their_status() {
    assert_eq!(run(emulate(&[]).arg("no-such-program-anywhere")).status, Some(127));
    assert_eq!(run(emulate(&[]).arg("/")).status, Some(126));
    assert_eq!(run(emulate(&[]).arg("")).status, Some(127));
}

#[test]
fn a_smallest_period_that_no_period_can_have_is_refused() {
    let ran = run(emulate(&["--min-period", "9223372036854775808"]).arg("true"));
    assert_eq!(ran.status, Some(125), "{ran:?}");
    assert_eq!(run(emulate(&["--min-period", "9223372036854775807"]).arg("true")).status, Some(0));
}

#[test]
fn set_user_id_programs_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    // Root gains nothing from a file of root's: it has to be another's.
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("setuid");
    fs::copy("/bin/true", &path).unwrap();
    let given = std::os::unix::fs::chown(&path, Some(12_345), Some(12_345));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).unwrap();
    if given.is_err() {
        println!("SKIP set_user_id_programs_are_refused: only root can give a file away");
        return;
    }
    let ran = run(emulate(&[]).arg(&path));
    if ran.status == Some(0) {
        println!("SKIP set_user_id_programs_are_refused: the file system is mounted nosuid");
        return;
    }
    assert_eq!(ran.status, Some(126), "{ran:?}");
    assert!(ran.stderr.contains("set-user-id"), "{ran:?}");
}

/// Many threads and children at once, none of which counts anything.
#[test]
fn busy_families_run_to_their_end() {
    let script = "for i in 1 2 3 4 5 6 7 8; do (for j in 1 2 3; do /bin/true; done; echo $i) & done; wait";
    let ran = run(emulate(&[]).args(["sh", "-c", script]));
    let mut lines: Vec<_> = ran.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!((ran.status, lines.concat().as_str()), (Some(0), "12345678"), "{ran:?}");
}
