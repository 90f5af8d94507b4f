//! One event of a step chunk, taken apart: the other half of `record::encode`.

use super::input::Input;
use crate::address::RuntimeAddr;
use crate::record::marker::{LostReason, Marker};
use crate::record::step::{Access, MAX_INSTRUCTION, MAX_OPERANDS, MemoryAccess, RegisterChange, Syscall};
use crate::record::stream::{
    FLAGS_ESCAPE, MASK_ORDER, PACKED_FLAGS, PACKED_REST, StreamState, event, part, verdict_number,
};
use crate::record::verdict::Verdict;
use crate::registers::{GENERAL_NAMES, Registers};

/// A row without what the whole trace knows about its address.
#[derive(Debug)]
pub(super) struct Row<'a> {
    pub n: u64,
    pub address: RuntimeAddr,
    pub next: RuntimeAddr,
    pub registers: Option<RegisterChange>,
    pub memory: Vec<MemoryAccess>,
    pub count: Option<u64>,
    pub bytes: Option<&'a [u8]>,
    pub verdict: Verdict,
    pub depth: u32,
    pub syscall: Option<Syscall>,
}

/// The tag of the longest row that one byte holds.
const LONGEST_PLAIN: u8 = event::PLAIN + MAX_INSTRUCTION as u8;

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "lives in a register or on the stack, once")]
pub(super) enum Event<'a> {
    Row(Row<'a>),
    Marker(Marker),
    /// Only the state moved.
    Silent,
}

/// Takes the next event and moves `state` past it. `None` where the bytes make no event.
pub(super) fn next<'a>(input: &mut Input<'a>, state: &mut StreamState) -> Option<Event<'a>> {
    let tag = input.byte()?;
    if tag < event::KEYFRAME {
        return row(input, state, tag).map(Event::Row);
    }
    match tag {
        event::KEYFRAME => keyframe(input, state)?,
        event::SYNC => state.registers = registers(input, &state.registers)?,
        event::RESUME => state.address = RuntimeAddr(input.distance(state.address.0)?),
        event::PLAIN..=LONGEST_PLAIN => return plain(state, tag - event::PLAIN).map(Event::Row),
        event::SKIPPABLE.. => {
            let length = usize::try_from(input.varint()?).ok()?;
            input.bytes(length)?;
        }
        _ => return marker(input, state, tag).map(Event::Marker),
    }
    Some(Event::Silent)
}

/// A chunk's first event, without which nothing in it has a meaning.
pub(super) fn first(input: &mut Input<'_>) -> Option<StreamState> {
    let mut state = StreamState::NEW;
    (input.byte()? == event::KEYFRAME).then_some(())?;
    keyframe(input, &mut state)?;
    Some(state)
}

fn keyframe(input: &mut Input<'_>, state: &mut StreamState) -> Option<()> {
    *state = StreamState {
        call: input.varint()?,
        n: input.varint()?,
        address: RuntimeAddr(input.u64()?),
        depth: input.varint_u32()?,
        reconstructed: input.byte()? != 0,
        registers: registers(input, &StreamState::NEW.registers)?,
        memory: RuntimeAddr(0),
    };
    Some(())
}

/// A row that falls through an instruction of `length` bytes, and says nothing more.
fn plain(state: &mut StreamState, length: u8) -> Option<Row<'static>> {
    let (n, address, depth, verdict) = (state.n, state.address, state.depth, state.verdict());
    let next = (length != 0).then(|| address.plus(length.into()))?;
    state.step(next, depth, verdict);
    let (registers, count, bytes, syscall) = (None, None, None, None);
    Some(Row { n, address, next, registers, memory: Vec::new(), count, bytes, verdict, depth, syscall })
}

fn row<'a>(input: &mut Input<'a>, state: &mut StreamState, tag: u8) -> Option<Row<'a>> {
    let address = state.address;
    let next = RuntimeAddr(input.distance(address.0)?);
    let registers =
        if tag & part::REGISTERS != 0 { Some(change(input, state, address, next)?) } else { None };
    let memory = if tag & part::MEMORY != 0 { memory(input, state)? } else { Vec::new() };
    let count = if tag & part::COUNT != 0 { Some(input.varint()?) } else { None };
    let bytes = if tag & part::BYTES != 0 { Some(inline_bytes(input)?) } else { None };
    let verdict = if tag & part::VERDICT != 0 { verdict(input, address)? } else { state.verdict() };
    let depth = if tag & part::DEPTH != 0 {
        u32::try_from(input.distance(u64::from(state.depth))?).ok()?
    } else {
        state.depth
    };
    let syscall = if tag & part::SYSCALL != 0 { Some(syscall(input)?) } else { None };
    let n = state.n;
    state.step(next, depth, verdict);
    Some(Row { n, address, next, registers, memory, count, bytes, verdict, depth, syscall })
}

fn marker(input: &mut Input<'_>, state: &mut StreamState, tag: u8) -> Option<Marker> {
    let address = state.address.0;
    let marker = match tag {
        event::ENTER => {
            let call = input.varint()?;
            let function = input.varint_u32()?;
            let rip = RuntimeAddr(input.distance(address)?);
            let registers = Registers { rip, ..registers(input, &state.registers)? };
            state.enter(call, &registers);
            Marker::Enter { function, registers }
        }
        event::LEAVE => Marker::Leave { rax: input.varint()?, xmm0: input.array()? },
        event::SIGNAL => {
            Marker::Signal { number: input.varint_u32()?, handler: RuntimeAddr(input.distance(address)?) }
        }
        event::SIGRETURN => Marker::Sigreturn,
        event::FAULT => Marker::Fault { signal: input.varint_u32()?, address: RuntimeAddr(input.u64()?) },
        event::NATIVE => Marker::Native {
            target: RuntimeAddr(input.distance(address)?),
            resume: RuntimeAddr(input.distance(address)?),
        },
        event::RSEQ => {
            let start = input.distance(address)?;
            Marker::Rseq { start: RuntimeAddr(start), end: RuntimeAddr(input.distance(start)?) }
        }
        event::MASKED => Marker::Masked { stops: input.varint()? },
        event::FORK => Marker::Fork { child: input.varint_u32()? },
        event::EXEC => Marker::Exec,
        event::EXIT => Marker::Exit { status: input.varint_u32()? },
        event::LOST => Marker::Lost {
            reason: LostReason::from_number(input.byte()?)?,
            expected: RuntimeAddr(input.distance(address)?),
            found: RuntimeAddr(input.distance(address)?),
            detail: input.varint()?,
        },
        _ => return None,
    };
    state.marker(&marker);
    Some(marker)
}

fn change(
    input: &mut Input<'_>,
    state: &mut StreamState,
    address: RuntimeAddr,
    next: RuntimeAddr,
) -> Option<RegisterChange> {
    let after = registers(input, &state.registers)?;
    let before = std::mem::replace(&mut state.registers, after);
    Some(RegisterChange {
        before: Registers { rip: address, ..before },
        after: Registers { rip: next, ..after },
    })
}

fn registers(input: &mut Input<'_>, before: &Registers) -> Option<Registers> {
    let mut after = Registers { rip: RuntimeAddr(0), ..*before };
    let mut mask = input.varint()?;
    if mask >> MASK_ORDER.len() != 0 {
        return None;
    }
    while mask != 0 {
        let register = MASK_ORDER[mask.trailing_zeros() as usize];
        mask &= mask - 1;
        if register < GENERAL_NAMES.len() {
            after.general[register] = input.change(before.general[register])?;
        } else {
            after.rflags = flags(input)?;
        }
    }
    Some(after)
}

fn flags(input: &mut Input<'_>) -> Option<u64> {
    let packed = input.byte()?;
    if packed & FLAGS_ESCAPE != 0 {
        return input.varint();
    }
    let set = PACKED_FLAGS.iter().enumerate().filter(|(place, _)| packed >> place & 1 != 0);
    Some(set.fold(PACKED_REST, |flags, (_, flag)| flags | flag))
}

fn memory(input: &mut Input<'_>, state: &mut StreamState) -> Option<Vec<MemoryAccess>> {
    let count = usize::from(input.byte()?);
    if count > MAX_OPERANDS {
        return None;
    }
    let mut operands = Vec::with_capacity(count);
    for _ in 0..count {
        let access = match input.byte()? {
            1 => Access::Read,
            2 => Access::Write,
            3 => Access::ReadWrite,
            _ => return None,
        };
        let size = input.byte()?;
        let address = RuntimeAddr(input.distance(state.memory.0)?);
        let mut value = [0; 64];
        value.get_mut(..usize::from(size))?.copy_from_slice(input.bytes(usize::from(size))?);
        state.memory = address;
        operands.push(MemoryAccess { access, address, size, value });
    }
    Some(operands)
}

fn inline_bytes<'a>(input: &mut Input<'a>) -> Option<&'a [u8]> {
    let length = usize::from(input.byte()?);
    if length > MAX_INSTRUCTION { None } else { input.bytes(length) }
}

fn verdict(input: &mut Input<'_>, address: RuntimeAddr) -> Option<Verdict> {
    Some(match input.byte()? {
        verdict_number::EXACT => Verdict::Exact,
        verdict_number::ZERO => Verdict::Zero,
        verdict_number::SKID => Verdict::Skid(input.varint_u32()?),
        verdict_number::RECONSTRUCTED => Verdict::Reconstructed,
        verdict_number::UNEXPLAINED => {
            Verdict::Unexplained { expected: RuntimeAddr(input.distance(address.0)?) }
        }
        verdict_number::LOST => Verdict::Lost,
        _ => return None,
    })
}

fn syscall(input: &mut Input<'_>) -> Option<Syscall> {
    let number = input.varint()?;
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = input.varint()?;
    }
    Some(Syscall { number, arguments, result: input.distance(0)? })
}
