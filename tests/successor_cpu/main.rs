//! The successor function against the CPU: random instructions, run one by one under the trap flag in a child
//! process. Length and target are the CPU's word.
//!
//! `OVERSTEP_FUZZ=1000000 cargo test --test successor_cpu -- --ignored --nocapture` is the long run;
//! `OVERSTEP_SEED` repeats a run.

mod coverage;
mod directed;
mod encoded;
mod judge;
mod random;
mod raw_bytes;
mod state;
mod stepper;
mod wrong;

use coverage::Coverage;
use iced_x86::Code;
use judge::{Predict, Verdict, judge};
use overstep::image::class::Class;
use overstep::image::decode::Vendor;
use overstep::image::successor::successor;
use random::Random;
use std::sync::{Mutex, PoisonError};
use stepper::{CODE_SIZE, HIGH_CODE, LOW_CODE, Stepper};

/// The shared pages have fixed addresses: one child at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[derive(Clone, Copy)]
enum Source {
    Encoded,
    RawBytes,
}

/// Instructions followed in one sequence.
const STEPS: usize = 4;

fn number(variable: &str, otherwise: u64) -> u64 {
    let set = std::env::var(variable).ok();
    set.map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}: not a number")))
}

/// Runs `count` sequences; `None` where ptrace is refused.
fn run(source: Source, count: u64, seed: u64, vendor: Vendor, predict: Predict) -> Option<Coverage> {
    let Some(mut stepper) = Stepper::start() else {
        println!("SKIP successor_cpu: ptrace is refused here (seccomp or a security module)");
        return None;
    };
    let all = encoded::codes();
    let interesting: Vec<Code> = all.iter().copied().filter(|c| wrong::is_interesting(*c)).collect();
    let mut random = Random::new(seed);
    let mut coverage = Coverage::default();
    for sequence in 0..count {
        if sequence % 32 == 0 {
            stepper.reset_extended_state();
        }
        let mut registers = state::fresh(&mut random, &mut stepper);
        let bytes = match source {
            Source::Encoded => encoded::sequence(&mut random, &all, &interesting, registers.rip),
            Source::RawBytes => raw_bytes::sequence(&mut random),
        };
        stepper.load(state::START as usize, &bytes);
        coverage.sequences += 1;
        for _ in 0..STEPS {
            let verdict = judge(&mut stepper, &registers, vendor, predict);
            coverage.count(&verdict);
            match verdict {
                Verdict::Retired { after, .. } if in_code(after.rip) && Stepper::accepts(&after) => {
                    registers = after;
                }
                _ => break,
            }
            // The kernel shows its own trap flag after popf.
            registers.eflags &= !overstep::registers::flag::TF;
        }
    }
    Some(coverage)
}

/// With room for the longest instruction behind it.
fn in_code(address: u64) -> bool {
    [LOW_CODE, HIGH_CODE].iter().any(|start| (*start..start + CODE_SIZE - 16).contains(&address))
}

fn check(source: Source, count: u64) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let seed = number("OVERSTEP_SEED", 0x5eed);
    let vendor = Vendor::of_this_cpu();
    let Some(coverage) = run(source, count, seed, vendor, successor) else { return };
    println!("seed {seed}, {vendor:?}: {coverage}");
    for text in coverage.wrong.iter().take(20) {
        println!("WRONG {text}");
    }
    assert!(coverage.wrong.is_empty(), "{} predictions were wrong", coverage.wrong.len());
    for (class, jumped) in [
        (Class::Plain, false),
        (Class::Conditional, false),
        (Class::Conditional, true),
        (Class::Jump { indirect: false }, true),
        (Class::Jump { indirect: true }, true),
        (Class::Call { indirect: false }, true),
        (Class::Call { indirect: true }, true),
        (Class::Return, true),
        (Class::RepString, false),
        (Class::Pushf, false),
        (Class::Popf, false),
        (Class::Cpuid, false),
    ] {
        let retired = coverage.retired(class, jumped);
        assert!(retired * 5000 > count, "{class:?} (jumped: {jumped}) retired only {retired} times");
    }
    if matches!(source, Source::RawBytes) {
        assert!(coverage.undecodable() * 50 > count, "hardly any invalid opcodes");
    }
}

#[test]
fn encoded_sequences_go_where_the_cpu_goes() {
    check(Source::Encoded, 20_000);
}

#[test]
fn raw_bytes_go_where_the_cpu_goes() {
    check(Source::RawBytes, 20_000);
}

#[test]
#[ignore = "the long run: OVERSTEP_FUZZ sequences of each kind"]
fn long_run() {
    let count = number("OVERSTEP_FUZZ", 1_000_000);
    check(Source::Encoded, count);
    check(Source::RawBytes, count);
}

#[test]
fn a_wrong_successor_function_is_found_out() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let vendor = Vendor::of_this_cpu();
    for (name, predict) in wrong::ALL {
        let found = [Source::Encoded, Source::RawBytes].into_iter().try_fold(0, |found, source| {
            run(source, 3000, 7, vendor, predict).map(|coverage| found + coverage.wrong.len())
        });
        let Some(found) = found else { return };
        println!("{name}: {found} contradictions");
        assert!(found > 0, "the CPU did not contradict: {name}");
    }
    let other = if vendor == Vendor::Amd { Vendor::Intel } else { Vendor::Amd };
    let Some(coverage) = run(Source::RawBytes, 3000, 7, other, successor) else { return };
    println!("the other vendor's decoder: {} contradictions", coverage.wrong.len());
    assert!(!coverage.wrong.is_empty(), "the CPU decodes as {other:?}");
}
