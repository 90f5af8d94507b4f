//! The `instructions` engine under a software PMU: the same rows as the breakpoint engine where signals come at once,
//! and where they do not, verdicts that say what the model did.

#[path = "../agent_support/mod.rs"]
mod agent_support;
#[path = "../common/mod.rs"]
mod common;

mod ends;
mod events;
mod models;
mod refusals;
mod stepped;

use common::fixture::Fixture;
use common::judge::References;
use common::program::Program;
use common::skip::traceable;
use common::way::{COUNTER, COUNTER_SIGTRAP};

/// Every case of the fixture, in both deliveries, row by row against breakpoint/sigtrap.
fn agrees(file: &str) {
    if traceable(file).is_none() {
        return;
    }
    let fixture = Fixture::read(file);
    for built in fixture.build(file) {
        for case in &fixture.cases {
            let options: Vec<&str> = case.options.iter().map(String::as_str).collect();
            let program = Program::new(&built.path, &[]);
            let mut references = References::new(&program, &options, built.directory());
            for way in [COUNTER, COUNTER_SIGTRAP] {
                let described = format!("{file} {options:?} by {}", way.name);
                let (run, _) = references.against(way).unwrap_or_else(|error| panic!("{described}: {error}"));
                for expectation in &case.expectations {
                    expectation.assert(&run.trace, &built.path, &described);
                }
            }
        }
    }
}

macro_rules! fixtures {
    ($($name:ident: $file:literal,)*) => {
        $(#[test] fn $name() { agrees($file); })*
    };
}

fixtures! {
    call_pop: "call_pop.s",
    conditions: "conditions.s",
    flags: "flags.s",
    handlers: "handlers.s",
    indirect: "indirect.s",
    jumps: "jumps.c",
    loop_at_entry: "loop_at_entry.c",
    recursion: "recursion.c",
    returns: "returns.s",
    strings: "strings.s",
    syscalls: "syscalls.s",
    tail_call: "tail_call.s",
}
