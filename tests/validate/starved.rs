//! Machines on which a limit or a missing mount stands in the way: number, cause and next command are named.

#![allow(unsafe_code, reason = "limits are set between fork and exec")]

use std::fs::{Permissions, set_permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::support::{run, skip, validate};

fn worked(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn limit(resource: libc::__rlimit_resource_t, most: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY:
    // - the limit lives.
    worked(unsafe { libc::setrlimit(resource, &raw const limit) })
}

#[test]
fn a_full_queue_of_signals_is_no_loss() {
    if !overstep::can_trace() {
        return skip("a_full_queue_of_signals_is_no_loss", "breakpoint events do not work here");
    }
    let mut command = validate(&["--quick", "--event", "page-faults", "--class", "none"]);
    command.args(["--check", "page-faults: REFRESH(5)"]);
    // SAFETY:
    // - what runs between fork and exec makes a system call.
    unsafe { command.pre_exec(|| limit(libc::RLIMIT_SIGPENDING, 0)) };
    let (status, stdout, stderr) = run(&mut command);
    assert_eq!(status, Some(1), "{stdout}{stderr}");
    for name in ["page-faults/fasync: fail, ", "page-faults: REFRESH(5)"] {
        let line = stdout.lines().find(|line| line.contains(name)).expect("a line");
        for words in ["came as SIGIO (29)", "(RLIMIT_SIGPENDING is 0)", "ulimit -i"] {
            assert!(line.contains(words), "`{words}` in {line}");
        }
    }
    assert!(!stdout.contains("lost;") && !stdout.contains("signals lost"), "{stdout}");
    assert!(
        stdout.contains("page-faults/sigtrap: synchronous"),
        "a signal that is forced needs no queue: {stdout}"
    );
}

#[test]
fn a_user_with_too_many_processes() {
    const NAME: &str = "a_user_with_too_many_processes";
    const NOBODY_ELSE: u32 = 0x5eed;
    if !nix::unistd::geteuid().is_root() {
        return skip(NAME, "only root becomes another user, and the limit does not hold for root");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("overstep");
    std::fs::copy(env!("CARGO_BIN_EXE_overstep"), &program).expect("a copy that anyone can run");
    for path in [directory.path(), &program] {
        set_permissions(path, Permissions::from_mode(0o755)).expect("it is ours");
    }
    let mut command = Command::new(program);
    command.args(["validate", "--quick"]).env("NO_COLOR", "1");
    let become_another = || {
        limit(libc::RLIMIT_NPROC, 1)?;
        // SAFETY:
        // - it takes a number.
        worked(unsafe { libc::setuid(NOBODY_ELSE) })
    };
    // SAFETY:
    // - what runs between fork and exec makes two system calls.
    unsafe { command.pre_exec(become_another) };
    let (status, stdout, stderr) = run(&mut command);
    assert_eq!(status, Some(2), "{stdout}{stderr}");
    for words in ["nothing could be measured: EAGAIN (11)", "(RLIMIT_NPROC is 1)", "ulimit -u"] {
        assert!(stderr.contains(words), "`{words}` in {stderr}");
    }
}

#[test]
fn no_proc() {
    if !nix::unistd::geteuid().is_root() {
        return skip("no_proc", "only root takes a mount away");
    }
    let take_proc_away = || {
        // SAFETY:
        // - it takes a number.
        worked(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
        let (none, root) = (std::ptr::null(), c"/".as_ptr());
        // SAFETY:
        // - the path is a string, and nothing else is pointed to.
        worked(unsafe { libc::mount(none, root, none, libc::MS_REC | libc::MS_PRIVATE, none.cast()) })?;
        // SAFETY:
        // - the path is a string.
        worked(unsafe { libc::umount2(c"/proc".as_ptr(), libc::MNT_DETACH) })
    };
    let mut command = validate(&["--quick"]);
    // SAFETY:
    // - what runs between fork and exec makes three system calls.
    unsafe { command.pre_exec(take_proc_away) };
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return skip("no_proc", &format!("/proc cannot be taken away: {error}")),
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{stderr}");
    for words in ["/proc is not mounted", "(os error 2)", "mount -t proc proc /proc"] {
        assert!(stderr.contains(words), "`{words}` in {stderr}");
    }
}
