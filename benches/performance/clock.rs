//! CPU time in nanoseconds: what others do on the machine in the meantime does not count.

#![allow(unsafe_code, reason = "clock_gettime(2) and wait4(2) fill structs of ours")]

use std::process::{Child, Command};

/// CPU time of this process so far.
pub fn of_this_process() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of process `pid` so far; 0 once it is gone.
pub fn of_process(pid: libc::pid_t) -> u64 {
    let mut clock = 0;
    // SAFETY: `clock` is ours to fill (clock_getcpuclockid(3)).
    match unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) } {
        0 => read(clock),
        _ => 0,
    }
}

/// CPU time that a whole run of `command` took, its waited-for children included. `None` when it does not start
/// or fails.
pub fn of_run(command: &mut Command) -> Option<u64> {
    let usage = usage_of_run(command)?;
    let nanoseconds = |time: libc::timeval| (time.tv_sec * 1_000_000 + time.tv_usec) as u64 * 1000;
    Some(nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime))
}

/// The most memory that a run of `command` had resident, in KiB (getrusage(2)).
pub fn peak_of_run(command: &mut Command) -> Option<u64> {
    usage_of_run(command).map(|usage| usage.ru_maxrss as u64)
}

fn usage_of_run(command: &mut Command) -> Option<libc::rusage> {
    let child: Child = command.spawn().ok()?;
    let mut status = 0;
    // SAFETY: plain numbers, for which zeros are values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY:
    // - both places are ours to fill;
    // - the child is waited for here and nowhere else: `Child` does not wait when dropped.
    let waited = unsafe { libc::wait4(child.id() as i32, &raw mut status, 0, &raw mut usage) };
    let ended_well = waited == child.id() as i32 && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
    ended_well.then_some(usage)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is ours to fill; a clock that does not exist leaves it zero.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
