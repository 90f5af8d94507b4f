//! What the summary says of entries and gaps that no row can show.

use crate::support::{Program, Run, overstep, run};

/// Counts its calls in three states: all descriptors closed, SIGTRAP blocked past the C library, and as ever.
const CLOSES: &str = "
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) long f(long n) { long sum = 0; for (long i = 0; i < n; i++) sum += i * i; return sum; }
static void *work(void *argument) { return (void *)f((long)argument); }
static void mask(int how) {
    unsigned long trap = 1UL << (SIGTRAP - 1);
    register long size __asm__(\"r10\") = 8;
    long result;
    __asm__ volatile(\"syscall\" : \"=a\"(result) : \"0\"(SYS_rt_sigprocmask), \"D\"(how), \"S\"(&trap), \"d\"(0), \"r\"(size) : \"rcx\", \"r11\", \"memory\");
}
int main(void) {
    long sum = f(3);
    close_range(3, ~0U, 0);
    sum += f(4);
    int low = dup(1);
    pthread_t thread;
    void *result;
    pthread_create(&thread, 0, work, (void *)5L);
    pthread_join(thread, &result);
    sum += (long)result;
    mask(SIG_BLOCK);
    sum += f(6);
    mask(SIG_UNBLOCK);
    sum += f(2);
    printf(\"%ld %d\\n\", sum, low);
    return 0;
}
";

/// Has syscall user dispatch for itself, so that its native code's system calls are its own affair: it blocks SIGTRAP in a
/// callee and unblocks it later.
const DISPATCHES: &str = "
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
static char selector;
static long mask(int how) {
    unsigned long trap = 1UL << (SIGTRAP - 1);
    register long size __asm__(\"r10\") = 8;
    long result;
    __asm__ volatile(\"syscall\" : \"=a\"(result) : \"0\"(SYS_rt_sigprocmask), \"D\"(how), \"S\"(&trap), \"d\"(0), \"r\"(size) : \"rcx\", \"r11\", \"memory\");
    return result;
}
__attribute__((noinline)) static long block(void) { return mask(SIG_BLOCK); }
__attribute__((noinline)) static long unblock(void) { return mask(SIG_UNBLOCK); }
__attribute__((noinline)) long f(long n) {
    n += block();
    n *= 3;
    n += unblock();
    return n + 1;
}
int main(void) {
    int refused = prctl(59, 1, 0L, 0L, &selector);
    printf(\"%d %ld\\n\", refused, f(2));
    return 0;
}
";

fn by_breakpoint(test: &str, source: &str, options: &[&str]) -> Option<Run> {
    let program = Program::compile(test, source, &["-pthread"])?;
    let mut command = overstep();
    command.args(["trace", "-f", "f", "--engine", "breakpoint", "--delivery", "sigtrap"]).args(options);
    let traced = run(command.arg("--").arg(&program.path));
    if traced.status == Some(125) && traced.stderr.contains("does not work here") {
        return crate::support::skip(test, traced.stderr.trim());
    }
    Some(traced)
}

#[test]
fn entries_are_counted_whatever_the_program_closes_and_blocks() {
    let Some(traced) = by_breakpoint("entries_are_counted", CLOSES, &[]) else { return };
    assert_eq!((traced.status, traced.stdout.lines().next()), (Some(0), Some("105 3")), "{traced:?}");
    assert!(traced.stderr.contains("entered 5, traced 4"), "{}", traced.stderr);
}

#[test]
fn a_stop_that_the_program_blocks_is_said_to_be_held_back() {
    let Some(traced) = by_breakpoint("a_stop_is_held_back", DISPATCHES, &["--into", "none"]) else { return };
    assert_eq!((traced.status, traced.stdout.lines().next()), (Some(0), Some("0 7")), "{traced:?}");
    assert!(traced.stdout.contains("1 stop held back: the signal was blocked"), "{}", traced.stdout);
    assert!(traced.stdout.contains("lost: the signal was blocked"), "{}", traced.stdout);
    assert!(traced.stderr.contains("entered 1, traced 1"), "{}", traced.stderr);
}
