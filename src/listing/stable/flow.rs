//! How one instruction carries values on.

use iced_x86::{
    ConditionCode, EncodingKind, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
    UsedRegister,
};

use super::arithmetic::{Flags, Operands, Operation, result};
use super::known::Known;
use super::operand_kinds::{general, reads, rflags, vector, writes};
use super::regions::Regions;
use super::scalar::Scalars;
use super::tag::{Alignment, Tag, Value};
use super::taint::Taint;
use super::touched::{Touched, is_secret, touched};
use super::vectors::moved;
use crate::image::class::Class;
use crate::image::decode::warm_up;
use crate::listing::operand_extent::is_masked;
use crate::listing::syscall_result;
use crate::record::reader::StepEntry;
use crate::record::step::{Access, RegisterChange};
use crate::registers::{R11, RAX, RBP, RCX, RDI, RSI, RSP};

/// What an instruction wrote.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// General registers, a bit each.
    pub registers: u16,
    /// RFLAGS bits.
    pub flags: u64,
    /// Where it read or wrote differs by run.
    pub elsewhere: bool,
    /// How often it was repeated differs by run.
    pub times: bool,
    /// General registers that held no address every run can name, a bit each, though it may lead to what is known.
    pub unnamed: u16,
    /// What the address of its explicit operand is made of.
    pub operand: Option<Alignment>,
}

/// Follows instructions.
pub struct Flow {
    factory: InstructionInfoFactory,
    scalars: Scalars,
    known: Known,
}

impl Default for Flow {
    fn default() -> Self {
        warm_up(); // what lists the operands of instructions
        Self { factory: InstructionInfoFactory::new(), scalars: Scalars::default(), known: Known::default() }
    }
}

/// One instruction and everything that decides about it.
struct Step<'a> {
    instruction: &'a Instruction,
    used: &'a [UsedRegister],
    /// How it accesses each explicit operand.
    accesses: [OpAccess; 5],
    touched: &'a [Touched],
    change: Option<&'a RegisterChange>,
    known: &'a Known,
    regions: &'a Regions,
    scalar: Option<usize>,
    secret: bool,
    /// Its address is made of what came from outside.
    elsewhere: bool,
}

impl Flow {
    /// The registers' values, as far as they are known.
    pub const fn known(&mut self) -> &mut Known {
        &mut self.known
    }

    /// Carries `taint` over the instruction, and says what it wrote.
    pub fn follow(
        &mut self,
        instruction: &Instruction,
        entry: &StepEntry,
        taint: &mut Taint,
        regions: &Regions,
    ) -> Written {
        let change = entry.registers.as_ref();
        if let Some(before) = entry.before() {
            for (index, value) in before.general.into_iter().enumerate() {
                // Changed out of sight, by a handler or in rows that are lost.
                let unseen = self.known.get(index).is_some_and(|known| known != value);
                if unseen && taint.registers.general(index).is_shown() {
                    taint.registers.set_general(index, regions.adopt(value));
                }
            }
            self.known.seen(before);
        }
        let call = entry.syscall.as_ref().filter(|_| Class::of(instruction) == Class::Syscall);
        let written = if call.is_some_and(|call| syscall_result::result(call).is_none()) {
            Written::default() // it never came back
        } else if Class::of(instruction) == Class::Syscall {
            // The kernel's answer, where it returned to, and all flags (SDM volume 2, SYSCALL).
            let answer: &[_] = match instruction.mnemonic() {
                Mnemonic::Syscall => &[(RAX, Tag::Outside), (RCX, Tag::Number), (R11, Tag::Garbage)],
                // An interrupt keeps the other registers.
                _ => &[(RAX, Tag::Outside)],
            };
            let mut registers = 0;
            for (register, tag) in answer {
                taint.registers.set_general(*register, Value::of(*tag, 8));
                normalise(*register, change, regions, taint);
                registers |= 1 << register;
            }
            Written { registers, ..Written::default() }
        } else {
            let touched = touched(instruction, entry, change, &self.known);
            let info = self.factory.info(instruction);
            let used = info.used_registers().to_vec();
            let accesses = std::array::from_fn(|operand| info.op_access(operand as u32));
            let step = Step {
                instruction,
                used: &used,
                accesses,
                touched: &touched,
                change,
                known: &self.known,
                regions,
                scalar: self.scalars.width(instruction.mnemonic()),
                secret: is_secret(instruction, entry, &touched, regions),
                elsewhere: addresses(instruction).any(|it| taint.registers.read(it).is_outside()),
            };
            let explicit = step.has_memory().then(|| step.lea(taint).as_address()).flatten();
            let unnamed = taint.registers.unnamed();
            Written { operand: explicit, unnamed, ..step.run(entry.count, taint) }
        };
        match change {
            Some(change) => self.known.seen(&change.after),
            None => self.known.follow(instruction, &mut self.factory),
        }
        written
    }
}

impl Step<'_> {
    fn run(&self, count: Option<u64>, taint: &mut Taint) -> Written {
        let times = self.repeats_by_chance(count, taint);
        let flags = if self.instruction.is_string_instruction() {
            self.string(count, taint)
        } else {
            self.transfer(taint).unwrap_or_else(|| self.generic(taint))
        };
        if self.secret {
            for it in self.touched {
                taint.memory.fill(it.address, it.size as u64, Some(Tag::Outside));
            }
        }
        let mut registers = 0;
        for it in self.used.iter().filter(|it| writes(it.access())) {
            if let Some(index) = general(it.register()) {
                registers |= 1 << index;
                normalise(index, self.change, self.regions, taint);
            }
        }
        let flags = if !times && self.leaves_flags(count) { 0 } else { self.flags(flags, taint) };
        Written { registers, flags, elsewhere: self.elsewhere, times, ..Written::default() }
    }

    fn flags(&self, flags: Flags, taint: &mut Taint) -> u64 {
        let written = rflags(self.instruction.rflags_written());
        let fixed = rflags(self.instruction.rflags_cleared() | self.instruction.rflags_set());
        let undefined = rflags(self.instruction.rflags_undefined());
        let chance = flags.up_to_chance(written);
        taint.registers.flags = taint.registers.flags & !(written | fixed) | chance | undefined;
        written | fixed | undefined
    }

    /// Whether the flags are as they were, though the instruction writes them as a rule: shifts and rotations by nothing,
    /// and comparisons of no elements (SDM volume 2, SAL/SAR/SHL/SHR, REP).
    fn leaves_flags(&self, count: Option<u64>) -> bool {
        use Mnemonic as M;
        let last = match self.instruction.mnemonic() {
            M::Shl | M::Sal | M::Shr | M::Sar | M::Rol | M::Ror | M::Rcl | M::Rcr => 1,
            M::Shld | M::Shrd => 2,
            _ => {
                let none = count == Some(0) || self.before(RCX) == Some(0);
                let repeated = self.instruction.has_rep_prefix() || self.instruction.has_repne_prefix();
                return none && repeated && self.instruction.is_string_instruction();
            }
        };
        let mask = if self.size(0) == 8 { 63 } else { 31 };
        self.number(last).is_some_and(|count| count & mask == 0)
    }

    fn is_register(&self, operand: u32) -> bool {
        self.instruction.op_kind(operand) == OpKind::Register
    }

    fn is_memory(&self, operand: u32) -> bool {
        self.instruction.op_kind(operand) == OpKind::Memory
    }

    fn has_memory(&self) -> bool {
        (0..self.instruction.op_count()).any(|operand| self.is_memory(operand))
    }

    fn memory(&self, it: &Touched, taint: &Taint) -> Value {
        if self.secret || self.elsewhere {
            return Value::of(Tag::Outside, it.size);
        }
        it.read(&taint.memory, self.regions)
    }

    /// What is in an explicit operand before the instruction; a number of eight bytes for immediates.
    fn operand(&self, operand: u32, taint: &Taint) -> Value {
        if self.is_register(operand) {
            return taint.registers.read(self.instruction.op_register(operand));
        }
        if self.is_memory(operand) {
            let size = self.instruction.memory_size().size();
            return self.touched.first().map_or(Value::number(size), |it| self.memory(it, taint));
        }
        Value::number(8)
    }

    fn size(&self, operand: u32) -> usize {
        match self.is_register(operand) {
            true => self.instruction.op_register(operand).size(),
            false => self.instruction.memory_size().size(),
        }
    }

    fn assign(&self, operand: u32, value: &Value, taint: &mut Taint) {
        let vex = self.instruction.encoding() != EncodingKind::Legacy;
        if self.is_register(operand) {
            taint.registers.write(self.instruction.op_register(operand), value, vex);
        } else if let Some(it) = self.touched.first().filter(|_| self.is_memory(operand)) {
            taint.memory.write(it.address, &value.part(0, it.size));
        }
    }

    /// A general register's number before the instruction, and what an immediate says.
    fn number(&self, operand: u32) -> Option<u64> {
        if self.is_memory(operand) {
            return None;
        }
        if self.is_register(operand) {
            return self.before(general(self.instruction.op_register(operand))?);
        }
        Some(self.instruction.immediate(operand))
    }

    fn before(&self, index: usize) -> Option<u64> {
        self.change.map(|change| change.before.general[index]).or_else(|| self.known.get(index))
    }

    fn same_register(&self, one: u32, other: u32) -> bool {
        self.is_register(one)
            && self.is_register(other)
            && self.instruction.op_register(one) == self.instruction.op_register(other)
    }

    /// Instructions that move values, add to addresses or mask them; `None` for the others.
    fn transfer(&self, taint: &mut Taint) -> Option<Flags> {
        use Mnemonic as M;
        let instruction = self.instruction;
        let known = Some(Flags::Known);
        match instruction.mnemonic() {
            M::Mov | M::Movzx => {
                let value = self.operand(1, taint).part(0, self.size(0));
                self.assign(0, &value, taint);
                known
            }
            M::Push | M::Call => {
                let pushed = match instruction.mnemonic() {
                    M::Push => self.operand(0, taint),
                    // Where it returns to, in a module that may lie anywhere.
                    _ => self.address_or_number(Some(instruction.next_ip())),
                };
                let top = self.touched.last().filter(|it| it.access == Access::Write);
                if let Some(top) = top {
                    taint.memory.write(top.address, &pushed.part(0, top.size));
                }
                known
            }
            M::Pop => {
                let value = self.touched.last().map_or(Value::number(8), |top| self.memory(top, taint));
                self.assign(0, &value, taint);
                known
            }
            // Without nested frames, which no compiler uses: `push rbp; mov rbp,rsp; sub rsp,…` (SDM volume 2, ENTER).
            M::Enter if self.instruction.immediate8_2nd() & 31 == 0 => {
                let pushed = *taint.registers.general(RBP);
                if let Some(top) = self.touched.last().filter(|it| it.access == Access::Write) {
                    taint.memory.write(top.address, &pushed.part(0, top.size));
                }
                let stack = *taint.registers.general(RSP);
                taint.registers.set_general(RBP, stack);
                known
            }
            M::Leave => {
                let value = self.touched.last().map_or(Value::number(8), |top| self.memory(top, taint));
                taint.registers.set_general(RBP, value);
                known
            }
            M::Xchg => {
                let (one, other) = (self.operand(0, taint), self.operand(1, taint));
                self.assign(0, &other, taint);
                self.assign(1, &one, taint);
                known
            }
            M::Lea => {
                let value = self.lea(taint).part(0, self.size(0));
                self.assign(0, &value, taint);
                known
            }
            _ if self.is_zero() => {
                self.assign(0, &Value::number(self.size(0)), taint);
                known
            }
            M::Add => Some(self.arithmetic(Operation::Add, true, taint)),
            M::Sub => Some(self.arithmetic(Operation::Subtract, true, taint)),
            M::Cmp => Some(self.arithmetic(Operation::Subtract, false, taint)),
            M::And => Some(self.arithmetic(Operation::And, true, taint)),
            M::Test => Some(self.arithmetic(Operation::And, false, taint)),
            M::Or | M::Xor => Some(self.arithmetic(Operation::Or, true, taint)),
            M::Inc => Some(self.arithmetic(Operation::Add, true, taint)),
            M::Dec => Some(self.arithmetic(Operation::Subtract, true, taint)),
            _ if is_conditional_move(instruction) => {
                let value = self.conditional(taint);
                self.assign(0, &value, taint);
                known
            }
            _ => {
                let value = moved(instruction, self.size(0), &|operand| self.operand(operand, taint))?;
                self.assign(0, &value, taint);
                known
            }
        }
    }

    /// Whether the result is the same whatever was there: `xor eax,eax`, `pxor xmm0,xmm0`.
    fn is_zero(&self) -> bool {
        use Mnemonic as M;
        let last = self.instruction.op_count().saturating_sub(1);
        let zeroes = matches!(
            self.instruction.mnemonic(),
            M::Xor
                | M::Sub
                | M::Pxor
                | M::Vpxor
                | M::Vpxord
                | M::Vpxorq
                | M::Xorps
                | M::Xorpd
                | M::Vxorps
                | M::Vxorpd
                | M::Pcmpeqb
                | M::Pcmpeqw
                | M::Pcmpeqd
                | M::Pcmpeqq
                | M::Vpcmpeqb
                | M::Vpcmpeqw
                | M::Vpcmpeqd
                | M::Vpcmpeqq
        );
        zeroes
            && last > 0
            && self.same_register(last - 1, last)
            && self.instruction.op_mask() == Register::None
    }

    fn arithmetic(&self, operation: Operation, keeps: bool, taint: &mut Taint) -> Flags {
        let one = self.operand(0, taint);
        let unary = self.instruction.op_count() == 1;
        let other =
            if unary { Value::number(one.size()) } else { self.operand(1, taint).part(0, one.size()) };
        let numbers = || Some((self.word(0)?, self.word(1)?));
        let operands = Operands {
            same: !unary && self.same_register(0, 1),
            together: !unary
                && one
                    .as_address()
                    .zip(other.as_address())
                    .is_some_and(|(one, other)| one.keeps_distance(other))
                && numbers().is_some_and(|(one, other)| self.regions.are_together(one, other)),
            second: if unary { None } else { self.number(1) },
        };
        let (mut value, flags) = result(operation, &one, &other, operands);
        if self.instruction.mnemonic() == Mnemonic::Xor && value.is_outside() {
            value = self.revealed().unwrap_or(value);
        }
        if keeps {
            self.assign(0, &value, taint);
        }
        flags
    }

    /// The address that `xor` has brought back, if it has.
    fn revealed(&self) -> Option<Value> {
        let register = self.instruction.op0_register();
        let index = general(register).filter(|_| register.size() == 8)?;
        let after = self.change?.after.general[index];
        let operands = [self.word(0)?, self.word(1)?];
        self.regions.is_revealed(after, operands).then(|| self.regions.adopt(after))
    }

    /// The number in a register, or in memory as recorded.
    fn word(&self, operand: u32) -> Option<u64> {
        if self.is_memory(operand) {
            return self.touched.first().and_then(Touched::number);
        }
        self.number(operand)
    }

    fn lea(&self, taint: &Taint) -> Value {
        let part = |register: Register| match register {
            Register::None | Register::RIP | Register::EIP => None,
            register => Some(taint.registers.read(register)),
        };
        if self.instruction.is_ip_rel_memory_operand() {
            return self.address_or_number(Some(self.instruction.ip_rel_memory_address()));
        }
        let (base, index) = (part(self.instruction.memory_base()), part(self.instruction.memory_index()));
        let none = Value::number(8);
        let scale = self.instruction.memory_index_scale();
        let (base, index) = (base.unwrap_or(none), index.unwrap_or(none));
        if scale > 1 && !index.is_number() {
            return Value::of(base.joined().join(index.joined()).join(index.joined()), 8);
        }
        result(Operation::Add, &base.part(0, 8), &index.part(0, 8), Operands::default()).0
    }

    /// What a number is that the instruction has with it.
    fn address_or_number(&self, value: Option<u64>) -> Value {
        value.map_or(Value::number(8), |value| self.regions.adopt(value))
    }

    /// Which of both values a conditional move leaves is told by the number.
    fn conditional(&self, taint: &Taint) -> Value {
        let size = self.size(0);
        let (kept, taken) = (self.operand(0, taint), self.operand(1, taint).part(0, size));
        if self.reads_chance(taint) {
            return Value::of(Tag::Outside, size);
        }
        if kept == taken {
            return kept;
        }
        let mask = if size == 8 { u64::MAX } else { (1 << (8 * size)) - 1 };
        let after = general(self.instruction.op0_register())
            .and_then(|index| self.change.map(|change| change.after.general[index] & mask));
        match (after, self.number(0), self.word(1)) {
            (Some(after), Some(before), _) if after != before & mask => taken,
            (Some(after), _, Some(source)) if after != source & mask => kept,
            _ => Value::of(kept.joined().join(taken.joined()), size),
        }
    }

    fn reads_chance(&self, taint: &Taint) -> bool {
        rflags(self.instruction.rflags_read()) & taint.registers.flags != 0
    }

    fn is_repeated(&self) -> bool {
        self.instruction.has_rep_prefix() || self.instruction.has_repne_prefix()
    }

    /// Whether chance decides how often a string instruction is repeated: by its count, or by what it compares.
    fn repeats_by_chance(&self, count: Option<u64>, taint: &Taint) -> bool {
        if !self.instruction.is_string_instruction() || !self.is_repeated() {
            return false;
        }
        !taint.registers.general(RCX).is_number() || self.compares() && self.compares_chance(count, taint)
    }

    fn compares(&self) -> bool {
        use Mnemonic as M;
        matches!(
            self.instruction.mnemonic(),
            M::Scasb | M::Scasw | M::Scasd | M::Scasq | M::Cmpsb | M::Cmpsw | M::Cmpsd | M::Cmpsq
        )
    }

    /// Whether any of the elements compared, or what they are compared with, may be others in another run.
    fn compares_chance(&self, count: Option<u64>, taint: &Taint) -> bool {
        let size = self.instruction.memory_size().size() as u64;
        let length = size.saturating_mul(if self.is_repeated() { count.unwrap_or(1) } else { 1 });
        let pointers = (0..self.instruction.op_count()).filter_map(|i| pointer(self.instruction.op_kind(i)));
        let mut lengths = pointers.filter_map(|index| Some((self.before(index)?, length)));
        self.inputs(taint) != Tag::Number || lengths.any(|(at, length)| taint.memory.is_outside(at, length))
    }

    /// Copies and fills, as many bytes as they came to. Pointers and counts move on whatever the data is, unless chance
    /// decides how far.
    fn string(&self, count: Option<u64>, taint: &mut Taint) -> Flags {
        let size = self.instruction.memory_size().size() as u64;
        let length = size * if self.is_repeated() { count.unwrap_or(1) } else { 1 };
        let by_chance = self.repeats_by_chance(count, taint);
        let flags = self.elements(size, length, count, taint);
        if by_chance {
            for it in self.used.iter().filter(|it| writes(it.access())) {
                if let Some(index) = general(it.register()).filter(|index| [RCX, RSI, RDI].contains(index)) {
                    taint.registers.set_general(index, Value::of(Tag::Outside, 8));
                }
            }
        }
        flags
    }

    /// The elements of a string instruction: of `size` bytes, `length` in all.
    fn elements(&self, size: u64, length: u64, count: Option<u64>, taint: &mut Taint) -> Flags {
        use Mnemonic as M;
        let pointer = |index: usize| self.before(index);
        match self.instruction.mnemonic() {
            M::Movsb | M::Movsw | M::Movsd | M::Movsq => {
                if let (Some(to), Some(from)) = (pointer(RDI), pointer(RSI)) {
                    taint.memory.copy(to, from, length);
                }
                Flags::Known
            }
            M::Stosb | M::Stosw | M::Stosd | M::Stosq => {
                let element = taint.registers.general(RAX).part(0, size as usize);
                if let Some(to) = pointer(RDI) {
                    let elements = (length / size.max(1)).min(1 << 17);
                    (0..elements).for_each(|i| taint.memory.write(to.wrapping_add(i * size), &element));
                }
                Flags::Known
            }
            M::Lodsb | M::Lodsw | M::Lodsd | M::Lodsq => {
                let value = self.touched.first().map(|it| self.memory(it, taint));
                if let Some(value) = value {
                    taint.registers.write(self.instruction.op0_register(), &value, false);
                }
                Flags::Known
            }
            _ if self.compares_chance(count, taint) => Flags::Chance,
            _ => Flags::Known,
        }
    }

    /// What goes into the result, registers that only compute an address left out.
    fn inputs(&self, taint: &Taint) -> Tag {
        let mut all = Tag::Number;
        for register in self.used.iter().filter(|it| reads(it.access())).map(UsedRegister::register) {
            let stack = general(register) == Some(RSP) && self.instruction.is_stack_instruction();
            if stack || self.only_addresses(register) {
                continue;
            }
            let value = taint.registers.read(register);
            let width = self.scalar.filter(|_| vector(register).is_some()).unwrap_or(value.size());
            all = all.join(value.part(0, width).joined());
        }
        if self.reads_chance(taint) {
            all = Tag::Outside;
        }
        let read = self.touched.iter().filter(|it| it.access != Access::Write);
        read.fold(all, |all, it| all.join(self.memory(it, taint).joined()))
    }

    /// Whether the register serves only to compute an address: what is loaded from there does not come from it.
    fn only_addresses(&self, register: Register) -> bool {
        let full = register.full_register();
        let parts = [self.instruction.memory_base(), self.instruction.memory_index()];
        let operand = |i: u32| {
            self.is_register(i)
                && self.instruction.op_register(i).full_register() == full
                && self.accesses.get(i as usize).is_some_and(|access| reads(*access))
        };
        let explicit = (0..self.instruction.op_count()).any(operand);
        let string =
            self.instruction.is_string_instruction() && general(register).is_some_and(|index| index != RAX);
        string || !explicit && parts.iter().any(|it| *it != Register::None && it.full_register() == full)
    }

    /// Everything else: what goes in decides about all that comes out.
    fn generic(&self, taint: &mut Taint) -> Flags {
        let inputs = self.inputs(taint);
        let output = if is_source(self.instruction) { Tag::Outside } else { inputs };
        let vex = self.instruction.encoding() != EncodingKind::Legacy;
        for it in self.used.iter().filter(|it| writes(it.access())) {
            let register = it.register();
            match self.scalar.filter(|_| vector(register).is_some()) {
                Some(width) => {
                    let whole = taint.registers.read(register);
                    taint.registers.write(register, &whole.with(0, &Value::of(output, width)), vex);
                }
                None => taint.registers.write(register, &Value::of(output, register.size()), vex),
            }
        }
        for it in self.touched.iter().filter(|it| it.access != Access::Read) {
            if is_masked(self.instruction) {
                taint.memory.write_some(it.address, it.size as u64, output);
            } else {
                taint.memory.write(it.address, &Value::of(output, it.size));
            }
        }
        if inputs == Tag::Number { Flags::Known } else { Flags::Chance }
    }
}

/// A register holds an address only if it looks like one, and a number only if it does not.
fn normalise(index: usize, change: Option<&RegisterChange>, regions: &Regions, taint: &mut Taint) {
    let Some(after) = change.map(|change| change.after.general[index]) else { return };
    let value = taint.registers.general(index);
    match regions.alignment(after) {
        Some(alignment) if value.is_number() => {
            taint.registers.set_general(index, Value::address(alignment));
        }
        None if value.as_address().is_some() => {
            taint.registers.set_general(index, Value::of(Tag::Outside, 8));
        }
        _ => {}
    }
}

/// Of the instructions with a condition, moves alone have two operands.
fn is_conditional_move(instruction: &Instruction) -> bool {
    instruction.condition_code() != ConditionCode::None && instruction.op_count() == 2
}

/// The registers that an explicit operand's address is made of.
pub fn addresses(instruction: &Instruction) -> impl Iterator<Item = Register> {
    let memory = (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
    let bit = match instruction.mnemonic() {
        Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc => instruction.op1_register(),
        _ => Register::None,
    };
    let parts = [instruction.memory_base(), instruction.memory_index(), bit];
    let computes = memory && instruction.mnemonic() != Mnemonic::Lea;
    parts.into_iter().filter(move |it| computes && it.is_gpr())
}

/// The register that an operand of a string instruction is addressed by.
pub const fn pointer(kind: OpKind) -> Option<usize> {
    match kind {
        OpKind::MemorySegRSI | OpKind::MemorySegESI | OpKind::MemorySegSI => Some(RSI),
        OpKind::MemorySegRDI | OpKind::MemorySegEDI | OpKind::MemorySegDI => Some(RDI),
        OpKind::MemoryESRDI | OpKind::MemoryESEDI | OpKind::MemoryESDI => Some(RDI),
        _ => None,
    }
}

/// Whether the instruction asks the CPU for something that differs between machines or moments.
fn is_source(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Cpuid
            | Mnemonic::Rdtsc
            | Mnemonic::Rdtscp
            | Mnemonic::Rdrand
            | Mnemonic::Rdseed
            | Mnemonic::Rdpid
            | Mnemonic::Rdpmc
            | Mnemonic::Xgetbv
            | Mnemonic::Rdfsbase
            | Mnemonic::Rdgsbase
            | Mnemonic::Xbegin
    )
}
