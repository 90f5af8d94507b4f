//! What holds of every event, whatever it counts: a program on emulated instructions prints what it prints on page faults of
//! the real kernel.

use std::fs;
use std::process::Command;

use crate::support::{Fixture, run};

/// Asserts that both print `expected`; the real kernel only where it lets a program count page faults.
#[track_caller]
fn assert_as_natively(part: &str, expected: &str) {
    assert_as_since(part, (5, 13), expected);
}

/// The same of what the kernel does only since that version.
#[track_caller]
fn assert_as_since(part: &str, version: (u32, u32), expected: &str) {
    let Some(program) = Fixture::build("natively") else { return };
    let emulated = program.run(&[], &[part]);
    assert_eq!((emulated.stdout.as_str(), emulated.stderr.as_str()), (expected, ""), "{part}: {emulated:?}");
    assert_eq!(emulated.status, Some(0), "{part}");
    if !overstep::can_trace() {
        println!("SKIP {part} on the real kernel: perf events are refused here");
        return;
    }
    if kernel() < version {
        println!("SKIP {part} on the real kernel: it is older than {version:?}");
        return;
    }
    let natively = run(Command::new(&program.path).args([part, "real"]));
    assert_eq!(natively.stdout, expected, "{part}: what is expected is not what the kernel does");
}

fn kernel() -> (u32, u32) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    let mut numbers = release.split(['.', '-', '\n']).map(|it| it.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[test]
fn waiting_for_an_event() {
    let expected = "\
no buffer, nothing asked 0x110
no buffer, urgent 0x110
of one data 2 0x1001
in or out 0 waits
write set 0
unmapped 0x110
until it ends 0x110
";
    assert_as_natively("poll", expected);
}

#[test]
fn mapping_a_buffer() {
    let expected = "\
smaller again ok
larger EFAULT
another ok
odd length ok data 4096
4 GiB ENOMEM
a child's 11
user ok ok
chroot ok ok
";
    assert_as_natively("map", expected);
}

#[test]
fn values_and_clocks() {
    let expected = "\
readv 8 same 1
readv of two 16 same 1
readv of halves ENOSPC
readv of halves at once ENOSPC
lseek ESPIPE pread ESPIPE
flags 0x802
live 1 reset 0
gone stays 1
asleep stands
elsewhere enabled 1 ran 0 counted 0
here 1
";
    assert_as_natively("values", expected);
}

#[test]
fn opening_with_every_flag() {
    let expected = "\
no group counts 1
output ok written 1
pause ok still 1 go on ok
query EINVAL
clock EINVAL
sibling's clock EINVAL
aux EOPNOTSUPP
other PMU ENOENT
output of another task EINVAL
output of another clock EINVAL
another user's EACCES
backward -16
";
    assert_as_natively("open", expected);
}

#[test]
fn signals_to_a_process_group() {
    let expected = "\
group hits 1 code 6 descriptor 1 band 0x18
group hits 1 code 6 descriptor 1 band 0x18
group hits 1 code 128 descriptor 0 band 0
group hits 1 code 6 descriptor 1 band 0x18
set again through a copy: the first 1
";
    assert_as_natively("owner", expected);
}

#[test]
fn descriptors_that_go_from_process_to_process() {
    let expected = "\
passed 8 value 1 reset ok
passed 8 value 1 reset ok
got ok 8 value 1
";
    assert_as_natively("passing", expected);
}

#[test]
fn records_that_are_no_samples() {
    let expected = "\
lost some 1
lost record of size 48 id 1 some 1
type 1 misc 0x2 size 56
name renamed misc 0 size 32
type 7 misc 0 size 40
";
    assert_as_natively("records", expected);
}

#[test]
fn instructions_that_trap() {
    let expected = "\
int3 hits 1 code 128
int $3 hits 2 code 128
int1 hits 3 code 1
";
    assert_as_natively("breakpoints", expected);
}

#[test]
fn writing_to_the_buffer_of_another() {
    let expected = "\
no buffer EINVAL at once EINVAL
itself EINVAL
buffer ok through it ok
written 1
pause through it ok
half of minus one EBADF all of it ok
pause alone EINVAL
larger EINVAL
another buffer ok head 0
of its own ok
";
    assert_as_natively("output", expected);
}

#[test]
fn a_buffers_mapping_is_whole_or_gone() {
    let expected = "\
first EINVAL second EINVAL read-only EINVAL
over it EINVAL shorter EINVAL as long ok
moved by half EINVAL moved onto half EINVAL moved ok
there now ok two halves EINVAL all ok
another's EBUSY of another size EINVAL
unmapped ok replaced ok own ok
";
    assert_as_since("split", (6, 18), expected);
}

#[test]
fn what_no_counter_takes_is_refused_by_the_same_errno() {
    let expected = "\
filter EINVAL nowhere EFAULT endless EFAULT
program EINVAL none EBADF
attributes EOPNOTSUPP of another type EINVAL nowhere EFAULT
bytes to read ENOTTY
aux sample EINVAL
member elsewhere EINVAL
zombie ESRCH as a member ESRCH
code EPERM later EACCES
";
    assert_as_natively("refused", expected);
}
