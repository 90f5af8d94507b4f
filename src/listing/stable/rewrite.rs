//! Rewrites rows, one after the other, as every run has them.

use std::collections::HashMap;

use super::arguments::{self, ORDER, SYSCALL_ARGUMENTS};
use super::flow::{Flow, Written};
use super::regions::Regions;
use super::row::{MASKED, StableAccess, StableMarker, StableRow};
use super::stack_move::{StackMove, stack_move};
use super::taint::Taint;
use super::volatile::{VOLATILE, fill, function_at};
use crate::address::RuntimeAddr;
use crate::listing::code::Code;
use crate::listing::kind::Kind;
use crate::listing::strings::{self, Strings};
use crate::listing::syscall_text::{self, Texts};
use crate::listing::{changes, hex, markers};
use crate::record::marker::Marker;
use crate::record::reader::{MarkerEntry, StepEntry, Trace};
use crate::record::step::{MemoryAccess, RegisterChange};
use crate::registers::{GENERAL_NAMES, RAX, RDI, RSP, Registers};

/// Where a reader of the rows so far stands.
pub struct Rewrite<'t> {
    trace: &'t Trace,
    strings: Strings,
    regions: Regions,
    flow: Flow,
    arguments: HashMap<u64, Vec<usize>>,
    threads: Vec<u32>,
    taint: Taint,
    /// Of handlers being run: the state of what they interrupted.
    interrupted: Vec<Taint>,
    /// A handler was entered, and its first row has not come yet.
    entering: bool,
    /// The flags as a reader knows them.
    flags: u64,
    /// Registers behind the last row.
    last: Registers,
    /// Where the last call led.
    called: RuntimeAddr,
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
            taint: Taint::default(),
            interrupted: Vec::new(),
            entering: false,
            flags: 0,
            last: Registers::default(),
            called: RuntimeAddr(0),
        }
    }

    /// A step as every run has it.
    pub fn step(&mut self, step: &StepEntry, code: &Code) -> StableRow {
        let mut row = StableRow { thread: self.thread(step.thread), ..StableRow::default() };
        if code.place.module.is_none() {
            row.address = self.regions.render(step.address.0);
        }
        if let Some(before) = step.before().filter(|_| std::mem::take(&mut self.entering)) {
            self.regions.begin_handler(before.general[RSP]);
        }
        if code.kind == Kind::Call {
            self.called = step.next;
        }
        if let Some(call) = &step.syscall {
            let (regions, taint) = (&mut self.regions, &self.taint);
            let unknown = |index: usize| taint.register(SYSCALL_ARGUMENTS[index]);
            let name_of = &mut |value| regions.name(value);
            let texts = Texts { constants: &self.strings, recorded: &Default::default() };
            row.syscall = Some(syscall_text::arguments(call, &texts, &unknown, name_of));
        }
        let before = self.taint.registers();
        (row.unknown, row.rflags) = (before, (self.flags, self.flags));
        let change = step.registers.as_ref();
        let written = match &code.instruction {
            Some(instruction) => self.flow.follow(instruction, step, change, &mut self.taint, &self.regions),
            None => Written::default(),
        };
        let Some(change) = change else {
            row.memory = step.memory.iter().map(|memory| self.access(memory)).collect();
            return row;
        };
        let (rsp, moved) = (change.after.general[RSP], stack_move(code));
        if moved == StackMove::Aligned {
            let before = self.regions.render(change.before.general[RSP]);
            row.registers.push((GENERAL_NAMES[RSP], before, "aligned".to_owned()));
            self.regions.align(rsp);
        }
        row.instruction = self.instruction(code);
        row.registers.extend(self.registers(change, before, &written, moved));
        row.flags = self.flags(change, &written);
        row.rflags.1 = self.flags;
        row.memory = step.memory.iter().map(|memory| self.access(memory)).collect();
        self.last = change.after;
        row
    }

    /// A marker as every run has it: its words, and what stands around a call.
    pub fn marker(&mut self, entry: &MarkerEntry) -> (StableMarker, Option<String>) {
        let mut marker = StableMarker { thread: self.thread(entry.thread), ..StableMarker::default() };
        let mut words = None;
        match entry.marker {
            Marker::Enter { registers, .. } => {
                let used = self.arguments.get(&entry.call).cloned().unwrap_or_default();
                self.regions.begin_call(registers.general[RSP]);
                self.taint = Taint::at_entry(&used);
                self.taint.set_register(RSP, false);
                (self.flags, self.last, self.interrupted) = (0, registers, Vec::new());
                for index in ORDER.into_iter().filter(|index| used.contains(index)) {
                    let value = self.value(registers.general[index]);
                    marker.registers.push((GENERAL_NAMES[index], value));
                }
            }
            Marker::Leave { rax, xmm0 } => {
                let value = match self.taint.register(RAX) {
                    true => MASKED.to_owned(),
                    false => self.regions.render(rax),
                };
                let number = !self.taint.register(RAX) && !self.regions.is_address(rax);
                marker.result = if number { markers::result(rax, xmm0) } else { format!("rax {value}") };
                marker.registers.push((GENERAL_NAMES[RAX], value));
                words = Some(format!("leave, {}", marker.result));
            }
            Marker::Native { target, .. } => {
                let vdso = self.trace.module(target).is_some_and(|module| module.path == "[vdso]");
                // A call through the linkage table may lead to the dynamic linker first: what was called counts.
                let names = [function_at(self.trace, self.called), function_at(self.trace, target)];
                let volatile = names.iter().find(|name| VOLATILE.contains(&name.as_str()));
                if let Some(name) = volatile {
                    fill(name, &self.last, &mut self.taint);
                }
                self.taint.ran_natively(vdso || volatile.is_some());
                self.flags = 0;
            }
            Marker::Signal { .. } => {
                self.interrupted.push(self.taint.clone());
                self.taint = Taint::at_entry(&[RDI, RSP]);
                (self.entering, self.flags) = (true, 0);
            }
            Marker::Sigreturn => {
                self.taint = self.interrupted.pop().unwrap_or_default();
                self.regions.end_handler();
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

    fn value(&mut self, value: u64) -> String {
        let mut text = self.regions.render(value);
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
        tainted: u16,
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
            let (unknown, unknown_now) = (tainted >> index & 1 != 0, self.taint.register(index));
            if before == after && !(was_written && (unknown || unknown_now)) {
                continue;
            }
            let before = match index {
                _ if unknown => MASKED.to_owned(),
                RSP => self.regions.render_rsp(before),
                _ => self.regions.render(before),
            };
            if index == RSP && moved == StackMove::Set {
                self.regions.leave_aligned(after);
            }
            let after = match index {
                _ if unknown_now => MASKED.to_owned(),
                RSP => self.regions.render_rsp(after),
                _ => self.value(after),
            };
            registers.push((name, before, after));
        }
        registers
    }

    /// Flags that are not what a reader knew; those that are undefined or up to chance count as clear.
    fn flags(&mut self, change: &RegisterChange, written: &Written) -> Vec<(&'static str, bool)> {
        let known = change.after.rflags & !self.taint.flags;
        let now = self.flags & !written.flags & !self.taint.flags | known & written.flags;
        let shown = (self.flags ^ now) & written.flags & !self.taint.flags;
        self.flags = now;
        changes::named(shown, now).collect()
    }

    fn access(&mut self, memory: &MemoryAccess) -> StableAccess {
        let bytes = memory.value.get(..usize::from(memory.size)).unwrap_or(&memory.value);
        let value = if self.taint.memory(memory.address.0, u64::from(memory.size)) {
            MASKED.to_owned()
        } else {
            self.operand(bytes)
        };
        let address = self.regions.render(memory.address.0);
        StableAccess { access: memory.access, size: memory.size, address, value }
    }

    fn operand(&mut self, bytes: &[u8]) -> String {
        let lanes: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|lane| lane.iter().rev().fold(0, |all, b| all << 8 | u64::from(*b)))
            .collect();
        if let [value] = lanes[..]
            && bytes.len() == 8
            && let Some(name) = self.regions.name(value)
        {
            return name;
        }
        if lanes.len() > 1 && lanes.iter().any(|lane| self.regions.is_address(*lane)) {
            let lanes: Vec<_> = lanes.into_iter().map(|lane| self.regions.render(lane)).collect();
            return format!("{{{}}}", lanes.join(", "));
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
