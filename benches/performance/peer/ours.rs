//! overstep itself, by the library: breakpoint/sigtrap.

use overstep::record::control::{Delivery, Engine, Into, StepMode};
use overstep::{Recorded, Tracer};

use crate::clock;
use crate::fixed_stack::{FixedStack, Flags};
use crate::forked::{Board, Sample};
use crate::workload::Workload;

/// A traced run. The sample covers the workload alone, not what arming takes.
fn traced(step: StepMode, registers: bool, workload: &Workload, stack: &FixedStack) -> (Sample, Recorded) {
    let tracer = Tracer::new()
        .with_own_memory_routines()
        .engine(Engine::Breakpoint)
        .delivery(Delivery::Sigtrap)
        .step(step)
        .into(Into::All)
        .registers(registers)
        .function(workload.entry as *const ());
    let run = || {
        let start = clock::of_this_process();
        stack.run(workload, Flags::AsTheyAre);
        clock::of_this_process() - start
    };
    let (nanoseconds, trace) = tracer.trace(run).unwrap_or_else(|error| panic!("{}: {error}", workload.name));
    let summary = trace.summary();
    assert!(summary.lost == 0 && summary.steps > 0, "{}: {summary:?}", workload.name);
    (Sample { nanoseconds, steps: summary.steps }, trace)
}

/// One stop per instruction, registers recorded.
pub fn instructions(board: &Board, workload: &Workload, stack: &FixedStack) {
    board.set(traced(StepMode::Instruction, true, workload, stack).0);
}

/// One stop per basic block, addresses only.
pub fn blocks(board: &Board, workload: &Workload, stack: &FixedStack) {
    board.set(traced(StepMode::Block, false, workload, stack).0);
}

/// Leaves on the board where the workload goes, for [`bare`](super::bare).
pub fn path(board: &Board, workload: &Workload, stack: &FixedStack) {
    let (sample, trace) = traced(StepMode::Instruction, true, workload, stack);
    board.set(sample);
    board.set_path(trace.steps().map(|step| step.address.0));
}
