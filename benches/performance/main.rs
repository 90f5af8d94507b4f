//! `cargo bench`: what a step costs and what a trace weighs, each against a peer measured in the same run.
//!
//! Nothing here is a timed test. Every line states a ratio of two minima over interleaved rounds, in CPU time, so that
//! a busy machine costs patience rather than truth; a missed target is printed and fails nothing.
//! `cargo bench -- NAME` runs the lines whose name contains NAME.

mod clock;
mod command;
// Linked here as into the agent: `--into all` steps through libc's memcpy, which the handler must not meet.
#[allow(unsafe_code, reason = "assembly; the agent admits it in the same way")]
#[path = "../../src/agent/src/compiler_calls.rs"]
mod compiler_calls;
mod fixed_stack;
mod forked;
mod inert;
mod line;
mod list;
mod machine;
mod memory;
mod peer;
mod program;
mod python;
mod selection;
mod size;
mod step;
mod workload;

use selection::Selection;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(name) = program::asked_for(&arguments) {
        return program::run(&name, &arguments);
    }
    let selection = Selection::new(&arguments);
    machine::stay_on_one_cpu();
    println!("{}\n", machine::describe());
    line::print_heading();
    step::run(&selection);
    size::run(&selection);
    memory::run(&selection);
    list::run(&selection);
    inert::run(&selection);
}
