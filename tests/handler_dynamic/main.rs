//! The agent's signal handler at work, watched from outside by ptrace: which system calls it makes, and that every
//! one of its instructions lies in the agent.
//!
//! A ptraced handler is slow. `OVERSTEP_STOPS` sets how many stops each engine is stepped through.

#[path = "../agent_support/mod.rs"]
mod agent_support;
mod program;
mod tracee;

use std::collections::BTreeMap;

use overstep::record::control::{Delivery, Engine, StepMode};
use program::{Mechanism, Program};
use tracee::{Stop, Tracee};

/// All that the handler may ask of the kernel, by number.
const ALLOWED: &[(i64, &str)] = &[
    (libc::SYS_gettid, "whose stop it is"),
    (libc::SYS_getpid, "whether this is the armed process or a fork"),
    (libc::SYS_process_vm_readv, "the program's memory, without a fault"),
    (libc::SYS_process_vm_writev, "what an answered rt_sigprocmask or rt_sigaction stores"),
    (libc::SYS_ioctl, "moves and re-arms the step event"),
    (libc::SYS_read, "the step event's own count; /proc/self/maps"),
    (libc::SYS_openat, "/proc/self/maps: where the stack ends; /proc/self/mem"),
    (libc::SYS_pread64, "code that can be executed and not read, from /proc/self/mem"),
    (libc::SYS_close, "of what it opened"),
    (libc::SYS_stat, "/proc/self/task: whether another thread may bind the slot that a jump goes through"),
    (libc::SYS_close_range, "a close_range of the program's, around the tracer's descriptors"),
    (libc::SYS_mmap, "a thread's block, at its first stop"),
    (libc::SYS_mprotect, "the guard page of that block"),
    (libc::SYS_tgkill, "whether a thread block's owner is alive"),
    (libc::SYS_perf_event_open, "the step event and the return guard, at a thread's first stop"),
    (libc::SYS_prlimit64, "where descriptors are out of the program's way"),
    (libc::SYS_fcntl, "moves them there; who gets an event's signal"),
    (libc::SYS_futex, "wakes the parent for room in the trace"),
    (libc::SYS_madvise, "gives back written pages of the trace"),
    (libc::SYS_arch_prctl, "the bases of fs and gs"),
    (libc::SYS_prctl, "syscall user dispatch, on when a call goes native for the first time, off at its end"),
    (libc::SYS_rt_sigreturn, "the end"),
];

const MECHANISMS: [(&str, Engine, Delivery, StepMode); 4] = [
    ("breakpoint/sigtrap", Engine::Breakpoint, Delivery::Sigtrap, StepMode::Instruction),
    ("breakpoint/fasync", Engine::Breakpoint, Delivery::Fasync, StepMode::Instruction),
    ("trap-flag", Engine::TrapFlag, Delivery::Trap, StepMode::Instruction),
    ("breakpoint/sigtrap, blocks", Engine::Breakpoint, Delivery::Sigtrap, StepMode::Block),
];

/// Stops watched per mechanism for system calls: 10,000 over all of them.
const WATCHED: usize = 2500;
/// Stops single-stepped through per mechanism, some thousand instructions each.
const STEPPED: usize = 20;

fn each_mechanism(test: &str, mut watch: impl FnMut(&str, &mut Tracee)) {
    let Some(program) = Program::build(test) else { return };
    for (name, engine, delivery, step) in MECHANISMS {
        let Some(mechanism) = Mechanism::choose(test, engine, delivery, step) else { continue };
        let run = program.start(&mechanism);
        let mut tracee = Tracee::begin(run.child());
        watch(name, &mut tracee);
        let stops = tracee.stops();
        tracee.detach_and_end();
        let rows = run.rows();
        assert!(rows > stops / 2, "{name}: {stops} stops, but {rows} rows in the trace");
    }
}

#[test]
fn between_signal_and_sigreturn_only_listed_calls_are_made() {
    let mut total = 0;
    each_mechanism("handler_dynamic", |name, tracee| {
        let mut calls = BTreeMap::<i64, usize>::new();
        while tracee.stops() < WATCHED {
            match tracee.run_to_signal() {
                Stop::Signal(signal) => {
                    for number in tracee.handler_calls(signal) {
                        *calls.entry(number).or_default() += 1;
                    }
                }
                Stop::Ended => panic!("{name}: the program ended after {} stops", tracee.stops()),
            }
        }
        total += tracee.stops();
        println!("{name}: {} stops", tracee.stops());
        for (number, count) in &calls {
            let reason = ALLOWED.iter().find(|(allowed, _)| allowed == number);
            let (_, reason) = reason.unwrap_or_else(|| panic!("{name}: system call {number} in the handler"));
            println!("  {count:7} × call {number:3}: {reason}");
        }
        assert_eq!(calls.get(&libc::SYS_rt_sigreturn), Some(&tracee.stops()), "{name}: one end to each stop");
        assert!(calls.contains_key(&libc::SYS_gettid), "{name}: the watch sees nothing");
    });
    println!("{total} stops watched");
}

#[test]
fn every_instruction_of_the_handler_is_the_agents() {
    let wanted = std::env::var("OVERSTEP_STOPS").ok().map_or(STEPPED, |text| text.parse().expect("a number"));
    each_mechanism("handler_dynamic", |name, tracee| {
        let (mut counts, mut deepest) = (Vec::new(), 0);
        while tracee.stops() < wanted {
            match tracee.run_to_signal() {
                Stop::Signal(signal) => {
                    let text = tracee.agent_text();
                    let seen = tracee.step_through_handler(signal, |rip| {
                        assert!(
                            text.contains(&rip),
                            "{name}: {rip:#x} in the handler is outside the agent {text:#x?}"
                        );
                    });
                    counts.push(seen.instructions);
                    deepest = deepest.max(seen.stack);
                }
                Stop::Ended => panic!("{name}: the program ended after {} stops", tracee.stops()),
            }
        }
        counts.sort_unstable();
        let (instructions, median) = (counts.iter().sum::<usize>(), counts[counts.len() / 2]);
        let stops = tracee.stops();
        println!(
            "{name}: {stops} stops, {instructions} instructions, all in the agent; median {median}; \
             deepest stack {deepest} bytes"
        );
        assert!(instructions > 100 * stops, "{name}: the watch saw too little");
        assert!(deepest < 64 << 10, "{name}: the handler's stack grew to {deepest} bytes");
    });
}
