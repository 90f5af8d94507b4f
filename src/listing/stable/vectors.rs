//! Instructions that only move the bytes of vector registers.

use iced_x86::{Instruction, Mnemonic as M, OpKind, Register};

use super::tag::Value;

/// What the first operand of size `size` becomes, where the instruction moves bytes; `operand` is what is in each operand.
#[must_use]
pub fn moved(instruction: &Instruction, size: usize, operand: &dyn Fn(u32) -> Value) -> Option<Value> {
    if instruction.op_mask() != Register::None || instruction.op_count() < 2 {
        return None;
    }
    let to_memory = instruction.op0_kind() == OpKind::Memory;
    // In two operands the first one is a source, too.
    let count = instruction.op_count();
    let three = count == 3 && !matches!(instruction.op_kind(2), OpKind::Immediate8) || count == 4;
    let one = || operand(u32::from(three));
    let other = || operand(1 + u32::from(three));
    let chosen = |of: usize| usize::from(instruction.immediate8()) & (of - 1);
    Some(match instruction.mnemonic() {
        M::Movups
        | M::Movupd
        | M::Movaps
        | M::Movapd
        | M::Movdqu
        | M::Movdqa
        | M::Lddqu
        | M::Movntdq
        | M::Movntps
        | M::Movntpd
        | M::Movntdqa
        | M::Vmovups
        | M::Vmovupd
        | M::Vmovaps
        | M::Vmovapd
        | M::Vmovdqu
        | M::Vmovdqa
        | M::Vmovdqu8
        | M::Vmovdqu16
        | M::Vmovdqu32
        | M::Vmovdqu64
        | M::Vmovdqa32
        | M::Vmovdqa64
        | M::Vlddqu
        | M::Vmovntdq
        | M::Vmovntps
        | M::Vmovntpd
        | M::Vmovntdqa => operand(1).part(0, size),
        M::Movd | M::Vmovd => operand(1).part(0, 4).part(0, size),
        M::Movq | M::Vmovq => operand(1).part(0, 8).part(0, size),
        M::Movss | M::Vmovss => scalar(instruction, 4, size, to_memory, &one, &other),
        M::Movsd | M::Vmovsd => scalar(instruction, 8, size, to_memory, &one, &other),
        M::Movlps | M::Movlpd | M::Vmovlps | M::Vmovlpd if to_memory => operand(1).part(0, size),
        M::Movhps | M::Movhpd | M::Vmovhps | M::Vmovhpd if to_memory => operand(1).part(8, size),
        M::Movlps | M::Movlpd | M::Vmovlps | M::Vmovlpd => one().with(0, &other().part(0, 8)),
        M::Movhps | M::Movhpd | M::Vmovhps | M::Vmovhpd | M::Movlhps | M::Vmovlhps => {
            one().with(8, &other().part(0, 8))
        }
        M::Movhlps | M::Vmovhlps => one().with(0, &other().part(8, 8)),
        M::Punpcklqdq | M::Vpunpcklqdq | M::Unpcklpd | M::Vunpcklpd => unpack(size, 0, &one(), &other()),
        M::Punpckhqdq | M::Vpunpckhqdq | M::Unpckhpd | M::Vunpckhpd => unpack(size, 8, &one(), &other()),
        M::Pinsrb | M::Vpinsrb => one().with(chosen(16), &other().part(0, 1)),
        M::Pinsrw | M::Vpinsrw => one().with(2 * chosen(8), &other().part(0, 2)),
        M::Pinsrd | M::Vpinsrd => one().with(4 * chosen(4), &other().part(0, 4)),
        M::Pinsrq | M::Vpinsrq => one().with(8 * chosen(2), &other().part(0, 8)),
        M::Pextrb | M::Vpextrb => operand(1).part(chosen(16), 1).part(0, size),
        M::Pextrw | M::Vpextrw => operand(1).part(2 * chosen(8), 2).part(0, size),
        M::Pextrd | M::Vpextrd => operand(1).part(4 * chosen(4), 4).part(0, size),
        M::Pextrq | M::Vpextrq => operand(1).part(8 * chosen(2), 8).part(0, size),
        M::Vextracti128 | M::Vextractf128 => operand(1).part(16 * chosen(2), 16),
        M::Vinserti128 | M::Vinsertf128 => one().with(16 * chosen(2), &other().part(0, 16)),
        M::Vpbroadcastq | M::Vbroadcastsd => repeated(&operand(1).part(0, 8), size),
        M::Vpbroadcastd | M::Vbroadcastss => repeated(&operand(1).part(0, 4), size),
        _ => return None,
    })
}

/// A load leaves zeros above, a move between registers what was there.
fn scalar(
    instruction: &Instruction,
    width: usize,
    size: usize,
    to_memory: bool,
    one: &dyn Fn() -> Value,
    other: &dyn Fn() -> Value,
) -> Value {
    let from_memory = instruction.op_kind(instruction.op_count() - 1) == OpKind::Memory;
    let source = other().part(0, width);
    if to_memory || from_memory { source.part(0, size) } else { one().with(0, &source) }
}

/// Of each sixteen bytes of both, eight from `from` on.
fn unpack(size: usize, from: usize, one: &Value, other: &Value) -> Value {
    (0..size).step_by(16).fold(Value::number(size), |all, lane| {
        all.with(lane, &one.part(lane + from, 8)).with(lane + 8, &other.part(lane + from, 8))
    })
}

fn repeated(element: &Value, size: usize) -> Value {
    (0..size).step_by(element.size()).fold(Value::number(size), |all, at| all.with(at, element))
}
