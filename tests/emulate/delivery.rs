//! Where signals come, and what they carry.

use crate::support::{Fixture, assert_prints};

/// Two instructions stand between REFRESH and the sled (`fixtures/emulate/oneshot.c`).
const TAIL: i64 = 2;

/// Stops of `oneshot`: how far into the sled, and the count.
fn stops(model: &[&str], period: i64, stops: usize) -> Vec<(i64, i64)> {
    let Some(program) = Fixture::build("oneshot") else { return Vec::new() };
    let run = program.run(model, &[&period.to_string(), &stops.to_string()]);
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let lines = run.stdout.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(&words[1..3], ["HUP", "fd"], "{line}");
        (words[0].parse().unwrap(), words[3].parse().unwrap())
    });
    lines.collect()
}

#[test]
fn periods_up_to_the_tail_make_no_progress_and_longer_ones_exactly_the_rest() {
    for period in 1..8 {
        let stops = stops(&[], period, 6);
        // x86 cannot count down from one.
        let real = period.max(2);
        for (nth, (at, count)) in (0..).zip(stops) {
            // The first REFRESH comes from outside the handler: nothing stands between it and the sled.
            assert_eq!(at, real + nth * (real - TAIL), "period {period}, stop {nth}");
            assert_eq!(count, real * (nth + 1), "period {period}, stop {nth}");
        }
    }
}

#[test]
fn a_skid_moves_every_stop_and_no_count() {
    for (nth, (at, count)) in (0..).zip(stops(&["--skid", "3"], 100, 6)) {
        assert_eq!(at, 103 + nth * (100 - TAIL), "stop {nth}");
        assert_eq!(count, 100 * (nth + 1) + 3, "stop {nth}");
    }
}

#[test]
fn one_seed_is_one_run() {
    let model = ["--skid", "uniform:0-9", "--seed", "5"];
    let first = stops(&model, 100, 20);
    assert_eq!(first, stops(&model, 100, 20));
    let other = stops(&["--skid", "uniform:0-9", "--seed", "6"], 100, 20);
    assert!(first.is_empty() || first != other, "{first:?}");
}

#[test]
fn every_kind_of_instruction_is_counted_once() {
    let expected = "nothing 0\nnops 1000\nrep 4\nrep-zero 3\nloop 101\ngetpid 4\nshadow 4\nflags 4\ncpuid 4\nsignal 8\nint3 5\nint-3 5\n";
    assert_prints("counts", &[], &[], expected);
}

#[test]
fn a_sigtrap_that_waits_is_not_delivered_by_the_steps_of_another_period() {
    let expected = "while blocked 0, then 1, flags 1, handler kept 1\n";
    assert_prints("held", &[], &[], expected);
    assert_prints("held", &["--skid", "3"], &[], expected);
}

#[test]
fn sigtrap_comes_with_its_data_and_is_flagged_when_it_was_blocked() {
    let data = "data 0xfeedface12345678 type 0";
    let expected = format!(
        "open code 6 {data} flags 0 at 100\n\
         open code 6 {data} flags 1\n\
         pending 1 handled 0\n\
         blocked code 6 {data} flags 1\n\
         blocked-now 0 handler-kept 1\n\
         int3 traps 1 code 1\n\
         raise traps 1 code 1\n"
    );
    assert_prints("sigtrap", &[], &[], &expected);
}

#[test]
fn errnos_are_the_kernels() {
    let expected = "\
size-60 E2BIG says 1
size-0 ok
size-big-zeros ok
size-big E2BIG
read-format EINVAL
period-63 EINVAL
unknown ENOENT
cache-misses ENOENT
sigtrap-without-remove EINVAL
bad-pid ESRCH
bad-group EBADF
flags EINVAL
nobody EINVAL
fault EFAULT
refresh-counting EINVAL
refresh-inherited EINVAL
period-counting EINVAL
period-0 EINVAL
period-huge EINVAL
period-fault EFAULT
period-50 ok
id ok 1
modify EOPNOTSUPP
kernels-output EINVAL
output-kernels EINVAL
unknown-ioctl ENOTTY
read-short ENOSPC
write EINVAL
closed EBADF
pinned-sibling EINVAL
group-of-sibling EINVAL
";
    assert_prints("errors", &[], &[], expected);
}

#[test]
fn signals_taken_off_the_queue_look_like_delivered_ones() {
    let expected = "\
sigwaitinfo 40 code 1 fd 1 band 0x41
signalfd 128 signo 40 code 1 fd 1 band 0x41
handler code 6 fd 1
restarted 1 counted 1
";
    assert_prints("taken", &[], &[], expected);
}
