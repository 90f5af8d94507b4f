//! One step of the CPU against one prediction.

use crate::state::registers;
use crate::stepper::{ChildMemory, Outcome, Stepper};
use iced_x86::{Instruction, Mnemonic};
use overstep::address::RuntimeAddr;
use overstep::image::class::Class;
use overstep::image::decode::{MAX_LENGTH, Undecodable, Vendor, decode};
use overstep::image::memory::Memory;
use overstep::image::successor::Successor;
use overstep::registers::Registers;

/// A successor function, the real one or one made wrong on purpose.
pub type Predict = fn(&Instruction, &Registers, &ChildMemory) -> Successor;

/// What became of one instruction.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Not run, and why: see [`excluded`].
    Excluded(&'static str),
    /// The CPU did as predicted and goes on from these registers.
    Retired {
        class: Class,
        jumped: bool,
        after: libc::user_regs_struct,
    },
    /// It faulted, which was predicted or, for a bad address or an extension this CPU lacks, allowed; `illegal`
    /// is what the decoder knows and the CPU does not.
    Faulted {
        class: Option<Class>,
        illegal: Option<Mnemonic>,
    },
    Wrong(String),
}

/// Why an instruction is not given to the CPU. Nothing else is left out.
pub fn excluded(instruction: &Instruction) -> Option<&'static str> {
    match instruction.mnemonic() {
        Mnemonic::Int | Mnemonic::Int1 | Mnemonic::Int3 => return Some("raises a trap of its own"),
        Mnemonic::Mwait | Mnemonic::Mwaitx | Mnemonic::Umwait | Mnemonic::Tpause => return Some("waits"),
        Mnemonic::Wrpkru => return Some("hides the child's memory, from the kernel's rseq code too"),
        Mnemonic::Vmcall | Mnemonic::Vmmcall => return Some("the hypervisor decides"),
        _ => {}
    }
    match Class::of(instruction) {
        Class::Syscall => Some("enters the kernel"),
        Class::Far => Some("changes the code segment; see the directed cases"),
        Class::DescriptorStore => Some("may lose its trap to the kernel; see the directed cases"),
        Class::LoadsSs => Some("holds the trap back for one instruction; see the directed cases"),
        _ => None,
    }
}

/// Predicts the instruction at `before.rip`, runs it, compares.
pub fn judge(
    stepper: &mut Stepper,
    before: &libc::user_regs_struct,
    vendor: Vendor,
    predict: Predict,
) -> Verdict {
    let memory = stepper.memory(before);
    let ip = RuntimeAddr(before.rip);
    let mut bytes = [0; MAX_LENGTH];
    assert!(memory.read(ip, &mut bytes), "no code at {ip}");
    let decoded = decode(&bytes, ip, vendor);
    if let Some(reason) = decoded.as_ref().ok().and_then(excluded) {
        return Verdict::Excluded(reason);
    }
    let predicted = decoded.map(|instruction| predict(&instruction, &registers(before), &memory));
    let (outcome, after) = stepper.step(before);
    let agreed = agrees(decoded, predicted, outcome, before, &after);
    if !agreed {
        let name = decoded.map(|i| format!("{:?}", i.code()));
        return Verdict::Wrong(format!(
            "{bytes:02x?} {name:x?} at {ip}: predicted {predicted:x?}, CPU {outcome:?} to {:#x}, {:x?}",
            after.rip,
            registers(before)
        ));
    }
    let class = decoded.ok().map(|i| Class::of(&i));
    match (outcome, class) {
        (Outcome::Stepped, Some(class)) => {
            let next = decoded.map_or(0, |i| i.next_ip());
            Verdict::Retired { class, jumped: after.rip != next, after }
        }
        (outcome, class) => {
            let unforeseen = matches!(predicted, Ok(Successor::One(_)));
            let illegal = decoded.ok().filter(|_| unforeseen && outcome == Outcome::Faulted(libc::SIGILL));
            Verdict::Faulted { class, illegal: illegal.map(|i| i.mnemonic()) }
        }
    }
}

fn agrees(
    decoded: Result<Instruction, Undecodable>,
    predicted: Result<Successor, Undecodable>,
    outcome: Outcome,
    before: &libc::user_regs_struct,
    after: &libc::user_regs_struct,
) -> bool {
    match (predicted, outcome) {
        // Under the trap flag a repeated string instruction stops after each iteration.
        (Ok(Successor::One(to)), Outcome::Stepped) => {
            let repeats = decoded.is_ok_and(|i| Class::of(&i) == Class::RepString);
            after.rip == to.0 || (repeats && after.rip == before.rip && after.rcx != 0)
        }
        // A fault leaves RIP at the instruction.
        (_, Outcome::Faulted(_)) => after.rip == before.rip,
        (_, Outcome::Stepped) => false,
    }
}
