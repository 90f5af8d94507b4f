//! Rewrites rows, one after the other, as every run has them.

use std::collections::HashMap;

use iced_x86::Mnemonic;

use super::arguments;
use super::effects::math_arguments;
use super::flow::{Flow, Written, addresses, pointer};
use super::native::{Native, documented, function_at};
use super::operand_kinds::general;
use super::outside::{mapped_length, written_by_call};
use super::regions::Regions;
use super::row::{MASKED, StableAccess, StableMarker, StableRow};
use super::scanned::{self, Scanned};
use super::shadow::Shadow;
use super::stack_move::{StackMove, stack_move};
use super::tag::{Alignment, Tag, Value};
use super::taint::{Registers as Tags, Taint};
use super::touched::Touched;
use crate::address::RuntimeAddr;
use crate::listing::code::Code;
use crate::listing::compat_call;
use crate::listing::kind::Kind;
use crate::listing::leaving::Way;
use crate::listing::operand_extent::is_masked;
use crate::listing::strings::{self, Strings};
use crate::listing::syscall_result;
use crate::listing::syscall_signature::returns_address;
use crate::listing::syscall_text::{self, Texts};
use crate::listing::{changes, hex, markers, names};
use crate::record::marker::Marker;
use crate::record::reader::{MarkerEntry, StepEntry, Trace};
use crate::record::step::{MemoryAccess, RegisterChange};
use crate::registers::{ARGUMENTS, GENERAL_NAMES, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP, SYSCALL_ARGUMENTS};

/// Where a reader of the rows so far stands.
pub struct Rewrite<'t> {
    trace: &'t Trace,
    strings: Strings,
    regions: Regions,
    flow: Flow,
    arguments: HashMap<u64, Vec<usize>>,
    threads: Vec<u32>,
    taint: Taint,
    /// What handlers being run interrupted, the innermost last.
    interrupted: Vec<Interrupted>,
    /// A function that ran natively, until what it has left behind is known.
    native: Option<Native>,
    /// Native code has run, and the first row behind it has not come yet.
    back: bool,
    /// The flags as a reader knows them.
    flags: u64,
    /// By depth, where the last call there led.
    called: Vec<RuntimeAddr>,
    /// The depth that the last row led to.
    depth: usize,
    /// Where it led.
    next: RuntimeAddr,
}

/// What a signal's handler interrupted.
#[derive(Debug)]
struct Interrupted {
    registers: Tags,
    /// The function that was running natively: it goes on behind the handler.
    native: Option<Native>,
    /// A row of the handler has come: one that runs natively has none.
    entered: bool,
}

impl<'t> Rewrite<'t> {
    #[must_use]
    pub fn new(trace: &'t Trace) -> Self {
        Self {
            trace,
            strings: Strings::of(trace),
            regions: Regions::of(trace),
            flow: Flow::default(),
            arguments: arguments::used(trace),
            threads: Vec::new(),
            taint: Taint { memory: Shadow::new(Regions::constants(trace).into()), ..Taint::default() },
            interrupted: Vec::new(),
            back: false,
            native: None,
            flags: 0,
            called: Vec::new(),
            depth: 0,
            next: RuntimeAddr(0),
        }
    }

    /// A step as every run has it.
    pub fn step(&mut self, step: &StepEntry, code: &Code) -> StableRow {
        let mut row = StableRow { thread: self.thread(step.thread), ..StableRow::default() };
        if code.place.module.is_none() {
            row.address = self.regions.render(step.address.0);
        }
        self.settle(step.before().map(|before| before.general[RAX]));
        if let Some(before) = step.before().filter(|_| std::mem::take(&mut self.back)) {
            // Called back from below, where native code has written what it passes on.
            self.taint.memory.grew(before.general[RSP]);
        }
        let entering =
            self.interrupted.last_mut().is_some_and(|it| !std::mem::replace(&mut it.entered, true));
        if let Some(before) = step.before().filter(|_| entering) {
            self.enter_handler(before.general[RSP]);
            // The kernel gives every handler a number and two addresses in its frame (Linux `arch/x86/kernel/signal_64.c`).
            for register in [RDI, RSI, RDX] {
                self.taint.registers.set_general(register, self.regions.adopt(before.general[register]));
            }
        }
        self.depth = step.depth as usize;
        if code.kind == Kind::Call {
            self.depth += 1;
            self.called.resize(self.depth + 1, RuntimeAddr(0));
            self.called[self.depth] = step.next;
        }
        if let Some(call) = &step.syscall {
            let (regions, registers) = (&mut self.regions, &self.taint.registers);
            let compat = compat_call::is_one(step);
            let taken_from = if compat { compat_call::ARGUMENTS } else { SYSCALL_ARGUMENTS };
            let unknown = |index: usize| !registers.general(taken_from[index]).is_shown();
            let made_of = |value| {
                let at = call.arguments.iter().position(|argument| *argument == value)?;
                registers.general(taken_from[at]).as_address()
            };
            let name_of = &mut |value| regions.name_as(value, made_of(value));
            let texts = Texts { constants: &self.strings, recorded: &Default::default() };
            row.syscall = Some(syscall_text::arguments(call, &texts, &unknown, name_of));
        }
        if let Some(before) = step.before() {
            self.regions.is_at(before.general[RSP]);
        }
        self.taint.registers.set_stack_pointer(self.regions.of_stack_pointer());
        let before = self.taint.registers.masked();
        let made_of = self.taint.registers.addresses();
        (row.unknown, row.rflags) = (before, (self.flags, self.flags));
        row.unknown_flags = (self.taint.registers.flags, self.taint.registers.flags);
        let change = step.registers.as_ref();
        self.next = step.next;
        let written = match &code.instruction {
            Some(instruction) => self.flow.follow(instruction, step, &mut self.taint, &self.regions),
            None => Written::default(),
        };
        if let Some(call) = step.syscall.as_ref().filter(|call| syscall_result::result(call).is_some()) {
            let (name, arguments) = (names::syscall(call.number), call.arguments.map(Some));
            let is_address = |value| self.regions.is_address(value);
            written_by_call(&name, &arguments, Some(call.result), &is_address, &mut self.taint.memory);
            // Memory that the kernel hands out is what a program goes on to use.
            if returns_address(&name) && self.regions.is_address(call.result) {
                if let Some(length) = mapped_length(&name, &call.arguments) {
                    self.regions.map(call.result, length);
                }
                self.taint.registers.set_general(RAX, self.regions.adopt(call.result));
            }
        }
        row.unknown_count = written.times;
        row.unknown_flags.1 = self.taint.registers.flags;
        let returns = step.syscall.as_ref().is_none_or(|call| syscall_result::result(call).is_some());
        let Some(change) = change.filter(|_| returns) else {
            row.memory = self.memory(step, code, &written, &made_of);
            return row;
        };
        let (rsp, moved) = (change.after.general[RSP], stack_move(code));
        if moved == StackMove::Aligned {
            let before = self.regions.render_rsp(change.before.general[RSP]);
            row.registers.push((GENERAL_NAMES[RSP], before, "aligned".to_owned()));
            self.regions.align(rsp);
            self.taint.registers.set_stack_pointer(self.regions.of_stack_pointer());
        }
        row.instruction = self.instruction(code);
        row.registers.extend(self.registers(change, (before, &made_of), &written, moved));
        row.flags = self.flags(change, &written);
        row.rflags.1 = self.flags;
        row.memory = self.memory(step, code, &written, &made_of);
        row
    }

    /// What native code has left behind, once its result is known.
    fn settle(&mut self, result: Option<u64>) {
        if let Some(native) = self.native.take() {
            if let (Some(address), Some(length)) = (result, native.maps()) {
                self.regions.map(address, length);
            }
            native.returns(result, &self.regions, &mut self.taint);
        }
    }

    /// A signal's handler begins with this RSP: above it lies the kernel's frame, with the registers of what it interrupted.
    fn enter_handler(&mut self, rsp: u64) {
        /// What lies below the stack pointer and belongs to its function (System V ABI, 3.2.2).
        const RED_ZONE: u64 = 128;
        /// Of the frame, what precedes the state of the vector registers: a return address, `ucontext_t` and `siginfo_t`.
        const FRAME: u64 = 8 + (size_of::<libc::ucontext_t>() + size_of::<libc::siginfo_t>()) as u64;
        /// The largest frame: with the state of all vector registers.
        const LARGEST: u64 = 16 << 10;
        let interrupted = self.flow.known().get(RSP);
        if interrupted == Some(rsp) {
            return self.regions.begin_handler(rsp); // no frame was seen
        }
        let interrupted = interrupted.map(|rsp| rsp - RED_ZONE);
        let below = interrupted.and_then(|end| end.checked_sub(rsp)).filter(|size| *size <= LARGEST);
        self.taint.memory.fill(rsp + 8, below.unwrap_or(FRAME) - 8, Some(Tag::Outside));
        self.taint.memory.write(rsp, &Value::number(8));
        // Of the registers what is known of them, in the order of `gregs` (`sys/ucontext.h`), and where it was interrupted.
        const GENERAL: [usize; 16] = [8, 9, 10, 11, 12, 13, 14, 15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP];
        const SAVED: u64 = 8 + std::mem::offset_of!(libc::ucontext_t, uc_mcontext) as u64;
        if let Some(interrupted) = self.interrupted.last() {
            let mut registers = interrupted.registers.clone();
            if interrupted.native.is_some() {
                registers.ran_natively();
            }
            for (slot, register) in (0..).zip(GENERAL) {
                self.taint.memory.write(rsp + SAVED + 8 * slot, registers.general(register));
            }
            // Where native code was is nobody's to know, and may be in the tracer.
            let rip = match interrupted.native {
                Some(_) => Value::of(Tag::Outside, 8),
                None => self.regions.adopt(self.next.0),
            };
            self.taint.memory.write(rsp + SAVED + 8 * GENERAL.len() as u64, &rip);
        }
        self.regions.begin_handler(rsp);
    }

    /// A marker as every run has it: its words, and what stands around a call. `way` is how control left with `native`.
    pub fn marker(&mut self, entry: &MarkerEntry, way: &Way) -> (StableMarker, Option<String>) {
        let mut marker = StableMarker { thread: self.thread(entry.thread), ..StableMarker::default() };
        let mut words = None;
        match entry.marker {
            Marker::Enter { registers, .. } => {
                let used = self.arguments.get(&entry.call).cloned().unwrap_or_default();
                self.regions.begin_call(registers.general[RSP]);
                self.taint.memory.begin_call(registers.general[RSP]);
                self.taint.registers = Tags::default();
                (self.flags, self.interrupted, self.native) = (0, Vec::new(), None);
                self.flow.known().seen(&registers);
                for index in ARGUMENTS.into_iter().filter(|index| used.contains(index)) {
                    let tags = self.regions.adopt(registers.general[index]);
                    self.taint.registers.set_general(index, tags);
                    let value = self.value(registers.general[index], None);
                    marker.registers.push((GENERAL_NAMES[index], value));
                }
            }
            Marker::Leave { rax, xmm0 } => {
                self.settle(Some(rax));
                let shown = self.taint.registers.general(RAX).is_shown();
                let made_of = self.taint.registers.general(RAX).as_address();
                let value = if shown { self.regions.render_as(rax, made_of) } else { MASKED.to_owned() };
                let number = shown && !self.regions.is_address(rax);
                let xmm0 = if self.taint.registers.shows_vector_result() { xmm0 } else { [0; 16] };
                marker.result = if number { markers::result(rax, xmm0) } else { format!("rax {value}") };
                marker.registers.push((GENERAL_NAMES[RAX], value));
                words = Some(format!("leave, {}", marker.result));
            }
            Marker::Native { target, .. } => {
                self.settle(None);
                let vdso = self.trace.module(target).is_some_and(|module| module.path == "[vdso]");
                // What was asked for counts: the dynamic linker may come first, and a function that the loader chooses has
                // another name or none.
                let called = match way {
                    Way::Slot(raw) => documented(raw).to_owned(),
                    Way::Stub(at) | Way::Binding(at) => function_at(self.trace, *at),
                    Way::Straight => {
                        let called = self.called.get(self.depth).copied().unwrap_or(RuntimeAddr(0));
                        function_at(self.trace, called)
                    }
                };
                let names = [called, function_at(self.trace, target)];
                let known = self.flow.known();
                let arguments = ARGUMENTS.map(|register| known.get(register));
                match known.get(RSP) {
                    Some(rsp) if vdso => self.taint.memory.ran_aside(rsp),
                    Some(rsp) => self.taint.memory.ran_natively(rsp),
                    None => {}
                }
                let in_al = known.get(RAX).map(|rax| (rax & 0xff) as usize);
                known.forget();
                // Text that is made of an address is another one in another run.
                let texts: Vec<_> =
                    arguments.iter().flatten().filter_map(|value| self.strings.at(*value)).collect();
                let formats_address = texts.iter().any(|text| text.contains("%p"));
                // With a variable number of arguments, AL says how many are in vector registers (System V ABI, 3.2.3).
                let formats = texts.iter().any(|text| text.contains('%'));
                let variable = in_al.filter(|count| formats && *count <= 8).unwrap_or(0);
                let vectors = names.iter().filter_map(|name| math_arguments(name)).max().unwrap_or(variable);
                let scanned = names.iter().find_map(|name| scanned::format_of(name)).and_then(|at| {
                    let format = self.strings.at(arguments[at]?)?;
                    Some(Scanned::of(at, &format))
                });
                self.back = !vdso;
                self.native = Some(Native { names, arguments, vectors, vdso, formats_address, scanned });
                self.flags = 0;
            }
            Marker::Signal { .. } => {
                let registers = std::mem::take(&mut self.taint.registers);
                let native = self.native.take();
                self.interrupted.push(Interrupted { registers, native, entered: false });
                self.flags = 0;
                self.called.clear();
            }
            Marker::Sigreturn => {
                self.settle(None);
                if let Some(interrupted) = self.interrupted.pop() {
                    (self.taint.registers, self.native) = (interrupted.registers, interrupted.native);
                    if interrupted.entered {
                        self.regions.end_handler();
                    }
                } else {
                    self.taint.registers = Tags::default();
                    self.regions.end_handler();
                }
                self.flow.known().forget();
                self.flags = 0;
            }
            Marker::Fork { .. } => words = Some(format!("fork: child {MASKED} runs on untraced")),
            _ => {}
        }
        (marker, words)
    }

    /// The end of a call where its thread's rows end.
    pub fn cut_off(&mut self, thread: u32) -> StableMarker {
        StableMarker { thread: self.thread(thread), ..StableMarker::default() }
    }

    /// Renames what a marker's words say of those of the addresses that lie outside every module.
    pub fn rename(&mut self, addresses: impl Iterator<Item = RuntimeAddr>, text: &mut String) {
        for address in addresses {
            if self.trace.module(address).is_none()
                && text.contains(&address.to_string())
                && let Some(name) = self.regions.name(address.0)
            {
                *text = text.replace(&address.to_string(), &name);
            }
        }
    }

    /// The instruction's text, where an address in it lies in no module.
    fn instruction(&mut self, code: &Code) -> Option<String> {
        let instruction = code.instruction.as_ref()?;
        let target = match instruction.near_branch_target() {
            _ if instruction.is_ip_rel_memory_operand() => instruction.ip_rel_memory_address(),
            target => target,
        };
        let raw = hex::hex(target);
        if target == 0 || !code.text.contains(&raw) {
            return None;
        }
        // What the offset in a module is called already, if the module lies where its file says.
        if code.text.contains(&format!("+{raw}")) {
            return None;
        }
        Some(code.text.replace(&raw, &self.regions.name(target)?))
    }

    fn thread(&mut self, thread: u32) -> u64 {
        let known = self.threads.iter().position(|known| *known == thread);
        let index = known.unwrap_or_else(|| {
            self.threads.push(thread);
            self.threads.len() - 1
        });
        index as u64 + 1
    }

    fn value(&mut self, value: u64, made_of: Option<Alignment>) -> String {
        let mut text = self.regions.render_as(value, made_of);
        if let Some(constant) = self.strings.at(value) {
            text.push(' ');
            text.push_str(&constant);
        }
        text
    }

    /// What was written, or changed in another way. What an unknown value becomes is always said, even where by chance it
    /// was that already.
    fn registers(
        &mut self,
        change: &RegisterChange,
        (tainted, made_of): (u16, &[Option<Alignment>; 16]),
        written: &Written,
        moved: StackMove,
    ) -> Vec<(&'static str, String, String)> {
        let mut registers = Vec::new();
        for (index, name) in GENERAL_NAMES.into_iter().enumerate() {
            let (before, after) = (change.before.general[index], change.after.general[index]);
            if index == RSP && moved == StackMove::Aligned {
                continue; // said already
            }
            let was_written = written.registers >> index & 1 != 0;
            let unknown = tainted >> index & 1 != 0;
            let unknown_now = !self.taint.registers.general(index).is_shown();
            if before == after && !(was_written && (unknown || unknown_now)) {
                continue;
            }
            let before = match index {
                _ if unknown => MASKED.to_owned(),
                RSP => self.regions.render_rsp(before),
                _ => self.regions.render_as(before, made_of[index]),
            };
            if index == RSP && moved == StackMove::Set {
                self.regions.leave_aligned(after);
                self.taint.registers.set_stack_pointer(self.regions.of_stack_pointer());
            }
            let after = match index {
                _ if unknown_now => MASKED.to_owned(),
                RSP => self.regions.render_rsp(after),
                _ => self.value(after, self.taint.registers.general(index).as_address()),
            };
            registers.push((name, before, after));
        }
        registers
    }

    /// Flags that are not what a reader knew; those that are undefined or up to chance count as clear.
    fn flags(&mut self, change: &RegisterChange, written: &Written) -> Vec<(&'static str, bool)> {
        let known = change.after.rflags & !self.taint.registers.flags;
        let now = self.flags & !written.flags & !self.taint.registers.flags | known & written.flags;
        let shown = (self.flags ^ now) & written.flags & !self.taint.registers.flags;
        self.flags = now;
        changes::named(shown, now).collect()
    }

    /// The row's operands in memory. `made_of` is what registers held addresses of before it.
    fn memory(
        &mut self,
        step: &StepEntry,
        code: &Code,
        written: &Written,
        made_of: &[Option<Alignment>; 16],
    ) -> Vec<StableAccess> {
        let Some(instruction) = &code.instruction else { return Vec::new() };
        let is_unknown = |index: usize| written.unnamed >> index & 1 != 0;
        let kinds = (0..instruction.op_count()).map(|i| instruction.op_kind(i));
        let pointers: Vec<usize> = kinds.filter_map(pointer).collect();
        let stack = if instruction.mnemonic() == Mnemonic::Leave { RBP } else { RSP };
        let last = step.memory.len().saturating_sub(1);
        let explicit = addresses(instruction).filter_map(general).any(is_unknown);
        let all = step.memory.iter().enumerate();
        all.map(|(i, memory)| {
            let (unknown, made_of) = match pointers.get(i) {
                Some(index) => (is_unknown(*index), made_of[*index]),
                None if instruction.is_stack_instruction() && i == last => (false, made_of[stack]),
                None => (explicit, written.operand),
            };
            let known = if is_masked(instruction) {
                // Which of the elements it touched is not recorded: those that nobody wrote in sight may be anything.
                let size = usize::from(memory.size);
                self.taint.memory.read(memory.address.0, size, |_| Tag::Garbage)
            } else {
                Touched::recorded(memory).read(&self.taint.memory, &self.regions)
            };
            self.access(memory, &known, (written.elsewhere, unknown), made_of)
        })
        .collect()
    }

    /// One operand, of whose value so much is known. What lies `elsewhere` in every run, and an address that is `unknown`, is not
    /// said.
    fn access(
        &mut self,
        memory: &MemoryAccess,
        known: &Value,
        (elsewhere, unknown): (bool, bool),
        made_of: Option<Alignment>,
    ) -> StableAccess {
        let bytes = memory.value.get(..usize::from(memory.size)).unwrap_or(&memory.value);
        let value = if elsewhere { MASKED.to_owned() } else { self.operand(bytes, known) };
        let address = match elsewhere || unknown {
            true => MASKED.to_owned(),
            false => self.regions.render_as(memory.address.0, made_of),
        };
        StableAccess { access: memory.access, size: memory.size, address, value }
    }

    fn operand(&mut self, bytes: &[u8], known: &Value) -> String {
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|word| word.iter().rev().fold(0, |all, b| all << 8 | u64::from(*b)))
            .collect();
        if let [value] = words[..]
            && bytes.len() == 8
            && known.is_shown()
            && let Some(name) = self.regions.name_as(value, known.as_address())
        {
            return name;
        }
        let addresses = words.iter().any(|word| self.regions.is_address(*word));
        if bytes.len() > 8 && bytes.len().is_multiple_of(8) && (addresses || !known.is_number()) {
            let shown = |(i, word)| match known.part(8 * i, 8).is_shown() {
                true => self.regions.render_as(word, known.part(8 * i, 8).as_address()),
                false => MASKED.to_owned(),
            };
            let words: Vec<_> = words.into_iter().enumerate().map(shown).collect();
            let some = words.iter().any(|word| word != MASKED);
            return if some { format!("{{{}}}", words.join(", ")) } else { MASKED.to_owned() };
        }
        if !known.is_number() {
            return MASKED.to_owned();
        }
        let mut text = String::new();
        hex::push_little_endian(&mut text, bytes);
        if let Some(words) = strings::operand(bytes) {
            text.push(' ');
            text.push_str(&words);
        }
        text
    }
}
