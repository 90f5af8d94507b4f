//! Addresses by what they lie in.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use super::tag::{Alignment, Value};
use crate::address::RuntimeAddr;
use crate::image::elf::{Elf, Segment};
use crate::listing::hex;
use crate::listing::place::file_name;
use crate::listing::visible::visible;
use crate::record::reader::{Module, Trace};

/// The largest stack that is looked for below a call's frame: Linux's default limit.
const STACK_BELOW: u64 = 8 << 20;
/// Above the frame the callers' frames lie at fixed distances; beyond this the kernel puts strings at random ones.
const CALLERS: u64 = 0x200;
/// How far the stack is looked for above the frame.
const STACK_ABOVE: u64 = 4 << 20;
/// Addresses this near to each other are taken for one block of memory.
const NEAR: u64 = 256 << 10;
/// How far the C library's heap reaches from one chunk to another.
const HEAP: u64 = 64 << 20;
/// What is mapped lies above this, below the stack.
const LIBRARIES: u64 = 0x7000_0000_0000;
/// Where the heap of a program at a fixed address may lie behind it.
const FIXED_HEAP: u64 = 1 << 30;

/// The kernel's pages with the clock lie before the vdso (`arch/x86/entry/vdso/vma.c`).
const CLOCK: u64 = 32 << 10;

/// Names for the addresses of one call.
#[derive(Debug)]
pub struct Regions {
    modules: Vec<(Range<u64>, String, u64)>,
    /// What the C library keeps for itself.
    library_data: Vec<Range<u64>>,
    /// The kernel's data for the vdso.
    clock: Range<u64>,
    /// Behind a program at a fixed address.
    fixed_heap: Option<Range<u64>>,
    /// RSP at entry of the call.
    stack: u64,
    /// RSP after a function aligned it to more than calls do, the innermost last, and the number of the alignment.
    aligned: Vec<(u8, u64)>,
    /// All of them in this call, by number: what was made below one is written relative to it for ever.
    bases: HashMap<u8, u64>,
    /// RSP at entry of signal handlers being run, the innermost last.
    handlers: Vec<u64>,
    /// The first address seen of each other block of memory, and its extent where that is known.
    blocks: Vec<(u64, Option<Range<u64>>)>,
    /// What the kernel has mapped in this call: blocks of their own, however near they lie to others.
    mapped: Vec<Range<u64>>,
}

impl Regions {
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let modules: Vec<_> = trace
            .modules()
            .iter()
            .map(|module| (extent(module), visible(file_name(&module.path)).into_owned(), module.bias.0))
            .collect();
        let program = trace.modules().iter().zip(&modules).find(|(module, _)| module.bias.0 == 0);
        let fixed_heap = program.map(|(_, (extent, ..))| extent.end..extent.end + FIXED_HEAP);
        let library = trace.modules().iter().filter(|module| is_c_library(file_name(&module.path)));
        let library_data = library.flat_map(writable).collect();
        let vdso = trace.modules().iter().find(|module| module.path == "[vdso]");
        let clock = vdso.map_or(0..0, extent).start;
        Self {
            modules,
            library_data,
            clock: clock.saturating_sub(CLOCK)..clock,
            fixed_heap,
            stack: 0,
            aligned: Vec::new(),
            bases: HashMap::new(),
            handlers: Vec::new(),
            blocks: Vec::new(),
            mapped: Vec::new(),
        }
    }

    /// What modules map without the right to write, as far as their files say.
    #[must_use]
    pub fn constants(trace: &Trace) -> Vec<Range<u64>> {
        let of = |module| {
            let elf = file(module);
            elf.map(|elf| segments(&elf, module, |segment| !segment.writable)).unwrap_or_default()
        };
        trace.modules().iter().flat_map(of).collect()
    }

    /// The kernel has mapped so many bytes there.
    pub fn map(&mut self, address: u64, length: u64) {
        const PAGE: u64 = 4096;
        let end = address.saturating_add(length.checked_next_multiple_of(PAGE).unwrap_or(length));
        if !self.is_mapped(address) || self.in_stack(address) {
            return;
        }
        // What lay there before is gone, and a block grows where it stays.
        self.mapped.retain(|known| known.end <= address || end <= known.start);
        self.mapped.push(address..end);
    }

    /// The mapping that an address lies in, where its extent is known.
    fn mapping(&self, value: u64) -> Option<&Range<u64>> {
        self.mapped.iter().find(|extent| extent.contains(&value))
    }

    /// Begins another call: what the blocks of memory are called depends on it alone.
    pub fn begin_call(&mut self, rsp: u64) {
        self.stack = rsp;
        self.aligned.clear();
        self.bases.clear();
        self.handlers.clear();
        self.blocks.clear();
        self.mapped.clear();
    }

    /// A function has aligned RSP to more than sixteen bytes: how far that moved it differs by run.
    pub fn align(&mut self, rsp: u64) {
        let number = (self.bases.len() & 0xff) as u8;
        self.bases.insert(number, rsp);
        self.aligned.push((number, rsp));
    }

    /// RSP was set to this, behind what was aligned below.
    pub fn leave_aligned(&mut self, rsp: u64) {
        self.aligned.retain(|(_, aligned)| rsp < *aligned);
    }

    /// RSP is this, whatever brought it there: a jump out of functions, for one.
    pub fn is_at(&mut self, rsp: u64) {
        if self.aligned.last().is_some_and(|(_, aligned)| *aligned < rsp && self.in_stack(rsp)) {
            self.aligned.retain(|(_, aligned)| rsp <= *aligned);
        }
    }

    /// What RSP is now.
    #[must_use]
    pub fn of_stack_pointer(&self) -> Alignment {
        self.aligned.last().map_or(Alignment::Paragraph, |(number, _)| Alignment::Aligned(*number))
    }

    /// A signal's handler begins with this RSP. The kernel puts its frame at a distance that differs by run.
    pub fn begin_handler(&mut self, rsp: u64) {
        self.handlers.push(rsp);
    }

    pub fn end_handler(&mut self) {
        self.handlers.pop();
    }

    /// Whether a program would take the value for an address.
    #[must_use]
    pub fn is_address(&self, value: u64) -> bool {
        self.in_stack(value) || self.module(value).is_some() || self.is_mapped(value)
    }

    /// For an address whose region lies elsewhere in another run: how many of its low bits are the same there.
    #[must_use]
    pub fn alignment(&self, value: u64) -> Option<Alignment> {
        if self.handlers.iter().any(|rsp| near_handler(*rsp, value)) {
            return Some(Alignment::Paragraph);
        }
        if let Some((.., bias)) = self.module(value) {
            return (*bias != 0).then_some(Alignment::Page);
        }
        if self.in_stack(value) {
            if let Some((number, _)) = self.aligned.last().filter(|(_, aligned)| value < *aligned) {
                return Some(Alignment::Aligned(*number));
            }
            let known = value < self.stack + CALLERS;
            return Some(if known { Alignment::Paragraph } else { Alignment::Byte });
        }
        let high = value >= LIBRARIES; // among which may lie another thread's stack
        self.is_mapped(value).then_some(if high { Alignment::Paragraph } else { Alignment::Page })
    }

    /// What a value is of which nobody saw where it comes from: an address if it looks like one.
    #[must_use]
    pub fn adopt(&self, value: u64) -> Value {
        self.alignment(value).map_or(Value::number(8), Value::address)
    }

    /// Whether the word at this address is a link of a free list as glibc hides it (`malloc/malloc.c`, PROTECT_PTR): the
    /// next chunk's address, or 0, xor the link's own address by 4096. Its bits differ by run, though it may look like an
    /// address or a number.
    #[must_use]
    pub fn is_hidden_link(&self, at: u64, value: u64) -> bool {
        let next = value ^ at >> 12;
        let far = value.abs_diff(at) >= HEAP;
        let links = next == 0 || next.is_multiple_of(16) && next.abs_diff(at) < HEAP;
        far && links && self.is_mapped(at) && self.module(at).is_none()
    }

    /// Whether this is an address that was hidden, in a link or as setjmp(3) mangles what it keeps, and came back as both
    /// operands' exclusive or.
    #[must_use]
    pub fn is_revealed(&self, address: u64, operands: [u64; 2]) -> bool {
        let link = operands.into_iter().any(|operand| operand.abs_diff(address >> 12) < HEAP >> 12);
        let mangled = operands.into_iter().all(|operand| operand >> 48 != 0);
        (link || mangled) && self.is_address(address)
    }

    /// Whether the kernel keeps the time there.
    #[must_use]
    pub fn is_clock(&self, value: u64) -> bool {
        self.clock.contains(&value)
    }

    /// The value by region and offset; `None` for what is no address.
    pub fn name(&mut self, value: u64) -> Option<String> {
        self.name_as(value, None)
    }

    /// The same for one of which it is known what it was made of.
    pub fn name_as(&mut self, value: u64, made_of: Option<Alignment>) -> Option<String> {
        // An alternate stack may lie anywhere, also next to a module.
        if let Some(name) = self.in_module(value) {
            return Some(name);
        }
        for rsp in self.handlers.iter().rev() {
            if near_handler(*rsp, value) {
                return Some(offset("handler", value, *rsp));
            }
        }
        if self.in_stack(value) {
            // At the aligned address itself more often stands what RSP was before, if that was aligned by chance.
            let base = match made_of {
                Some(Alignment::Aligned(number)) => self.bases.get(&number).copied(),
                Some(_) => None,
                None => self.aligned.last().map(|(_, rsp)| *rsp).filter(|rsp| value < *rsp),
            };
            if let Some(rsp) = base {
                return Some(offset("aligned", value, rsp));
            }
            let known = value < self.stack + CALLERS;
            return Some(if known { offset("stack", value, self.stack) } else { "stack+…".to_owned() });
        }
        if !self.is_mapped(value) {
            return None;
        }
        let mapping = self.mapping(value).cloned();
        let known = self.blocks.iter().position(|(first, extent)| match (extent, &mapping) {
            (Some(extent), Some(mapping)) => extent.start == mapping.start,
            (None, None) => first.abs_diff(value) < NEAR,
            _ => false,
        });
        let index = known.unwrap_or_else(|| {
            self.blocks.push((value, mapping));
            self.blocks.len() - 1
        });
        Some(offset(&format!("mem{}", index + 1), value, self.blocks[index].0))
    }

    fn in_module(&self, value: u64) -> Option<String> {
        let (_, name, bias) = self.module(value)?;
        Some(format!("{name}+{}", hex::hex(value - bias)))
    }

    /// The value by region, or as it is.
    pub fn render(&mut self, value: u64) -> String {
        self.render_as(value, None)
    }

    /// The same for one of which it is known what it was made of.
    pub fn render_as(&mut self, value: u64, made_of: Option<Alignment>) -> String {
        self.name_as(value, made_of).unwrap_or_else(|| hex::hex(value))
    }

    /// Whether two addresses keep their distance in every run.
    #[must_use]
    pub fn are_together(&self, one: u64, other: u64) -> bool {
        let module = |value| self.modules.iter().position(|(extent, ..)| extent.contains(&value));
        match (self.in_stack(one), self.in_stack(other), module(one), module(other)) {
            (true, true, ..) => true,
            (false, false, None, None) => match (self.mapping(one), self.mapping(other)) {
                (None, None) => one.abs_diff(other) < NEAR,
                (one, other) => one == other,
            },
            (_, _, one, other) => one.is_some() && one == other,
        }
    }

    /// The same for a value of RSP itself.
    pub fn render_rsp(&mut self, value: u64) -> String {
        self.render_as(value, Some(self.of_stack_pointer()))
    }

    /// Whether it is among the C library's own variables.
    #[must_use]
    pub fn is_library_data(&self, value: u64) -> bool {
        self.library_data.iter().any(|extent| extent.contains(&value))
    }

    fn in_stack(&self, value: u64) -> bool {
        self.stack > 0 && (self.stack.saturating_sub(STACK_BELOW)..self.stack + STACK_ABOVE).contains(&value)
    }

    fn module(&self, value: u64) -> Option<&(Range<u64>, String, u64)> {
        self.modules.iter().find(|(extent, ..)| extent.contains(&value))
    }

    /// Whether Linux puts a program's memory there: position-independent programs and their heap from 0x55…,
    /// everything mapped below the stack (`arch/x86/include/asm/elf.h`, `mmap_base`).
    fn is_mapped(&self, value: u64) -> bool {
        (0x5500_0000_0000..0x5700_0000_0000).contains(&value)
            || (LIBRARIES..0x7fff_ffff_f000).contains(&value)
            || self.fixed_heap.as_ref().is_some_and(|heap| heap.contains(&value))
    }
}

/// All of a module's memory, data included, by its file; by its code alone where the file is gone or another one.
fn extent(module: &Module) -> Range<u64> {
    let code = module.ranges.iter().map(|range| range.start.0..range.end.0);
    let code = code.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0);
    let segments = file(module).map(|elf| segments(&elf, module, |_| true)).unwrap_or_default();
    segments.into_iter().fold(code, |a, b| a.start.min(b.start)..a.end.max(b.end))
}

/// The module's variables, by its file.
fn writable(module: &Module) -> Vec<Range<u64>> {
    file(module).map(|elf| segments(&elf, module, |segment| segment.writable)).unwrap_or_default()
}

/// The file that ran, if it is there still.
fn file(module: &Module) -> Option<Elf> {
    let elf = Elf::open(Path::new(&module.path)).ok()?;
    (elf.build_id().unwrap_or_default() == module.build_id).then_some(elf)
}

/// The pages of those segments.
fn segments(elf: &Elf, module: &Module, wanted: impl Fn(&Segment) -> bool) -> Vec<Range<u64>> {
    let pages = |segment: &Segment| {
        let RuntimeAddr(start) = segment.start.at(module.bias);
        start & !0xfff..start.wrapping_add(segment.size).next_multiple_of(0x1000)
    };
    elf.segments().iter().filter(|segment| wanted(segment)).map(pages).collect()
}

fn is_c_library(name: &str) -> bool {
    name.starts_with("libc.so") || name.starts_with("libc-")
}

fn near_handler(rsp: u64, value: u64) -> bool {
    (rsp.saturating_sub(NEAR)..rsp + CALLERS).contains(&value)
}

fn offset(name: &str, value: u64, base: u64) -> String {
    match (value.checked_sub(base), base.wrapping_sub(value)) {
        (Some(0), _) => name.to_owned(),
        (Some(above), _) => format!("{name}+{}", hex::hex(above)),
        (None, below) => format!("{name}-{}", hex::hex(below)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::synthetic::Synthetic;

    const CHUNK: u64 = 0x55dd_e5d3_42a0;
    const NEXT: u64 = 0x55dd_e5d3_5ac0;

    #[test]
    fn links_of_free_lists_are_hidden_and_come_back() {
        let regions = Regions::of(&Synthetic::new().read());
        let hidden = NEXT ^ CHUNK >> 12;
        assert!(regions.is_hidden_link(CHUNK, hidden), "it looks like an address");
        assert!(regions.is_address(hidden));
        assert!(regions.is_hidden_link(CHUNK, CHUNK >> 12), "the last one looks like a number");
        assert!(!regions.is_hidden_link(CHUNK, NEXT), "not hidden");
        assert!(!regions.is_hidden_link(CHUNK, 48) && !regions.is_hidden_link(CHUNK, 0));
        assert!(!regions.is_hidden_link(0x1000, 1), "no memory of the program's");

        assert!(regions.is_revealed(NEXT, [hidden, CHUNK >> 12]));
        assert!(regions.is_revealed(NEXT, [CHUNK >> 12, hidden]));
        assert!(!regions.is_revealed(hidden, [NEXT, CHUNK >> 12]), "being hidden");
        let guard = 0x97dd_ecea_8ce0_a399;
        assert!(regions.is_revealed(NEXT, [guard, guard ^ NEXT]), "mangled by setjmp");
        assert!(!regions.is_revealed(guard, [guard ^ NEXT, NEXT]));
    }
}
