//! The instruction map: which addresses of a file's code start an instruction, by the file alone.
//!
//! Every function is decoded from its start to its end. The targets of direct branches are further roots, since
//! jumping past a prefix into the middle of an instruction is legal (glibc jumps over `lock`).

use super::decode::{MAX_LENGTH, Vendor};
use super::elf::Elf;
use super::symbols::{Symbol, SymbolTable};
use crate::address::ElfAddr;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind};
use std::ops::Range;

/// What the file says about one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// An instruction starts here.
    Yes,
    /// Inside an instruction, and no branch goes here.
    No,
    /// Not code of a known function, or not decodable.
    Unknown,
}

/// Two bits a byte of code: 1/4 of the code's size.
#[derive(Clone, Debug, Default)]
pub struct InstructionMap {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug)]
struct Segment {
    range: Range<ElfAddr>,
    starts: Bits,
    /// Bytes that belong to a decoded instruction.
    decoded: Bits,
}

impl InstructionMap {
    /// Decodes all functions of `symbols`, and the entry point.
    #[must_use]
    pub fn of(elf: &Elf, symbols: &SymbolTable, vendor: Vendor) -> Self {
        let functions: Vec<_> = symbols.symbols().iter().map(Symbol::range).collect();
        Self::of_ranges(elf, &functions, vendor)
    }

    /// The same for functions that are known by their code alone.
    #[must_use]
    pub fn of_ranges(elf: &Elf, functions: &[Range<ElfAddr>], vendor: Vendor) -> Self {
        if !elf.is_x86_64() {
            return Self::default();
        }
        let ranges = elf.text_ranges().into_iter().filter(|range| range.start < range.end);
        let segments = ranges.filter_map(|range| {
            let bytes = elf.bytes_at(range.start, range.end.0 - range.start.0)?;
            let functions = functions.iter().filter(|r| range.contains(&r.start)).cloned();
            Some(Segment::decode(range.clone(), bytes, functions, elf.entry(), vendor))
        });
        Self { segments: segments.collect() }
    }

    /// What the file says about `address`.
    ///
    /// # Signal safety
    /// Bounded lookups.
    #[must_use]
    pub fn is_start(&self, address: ElfAddr) -> Boundary {
        let Some(segment) = self.segments.iter().find(|s| s.range.contains(&address)) else {
            return Boundary::Unknown;
        };
        let at = (address.0 - segment.range.start.0) as usize;
        if segment.starts.get(at) {
            Boundary::Yes
        } else if segment.decoded.get(at) {
            Boundary::No
        } else {
            Boundary::Unknown
        }
    }

    /// Where instructions are known to start, by address in each segment.
    pub fn starts(&self) -> impl Iterator<Item = ElfAddr> {
        self.segments.iter().flat_map(|segment| {
            let length = segment.range.end.0 - segment.range.start.0;
            let known = (0..length).filter(|&at| segment.starts.get(at as usize));
            known.map(|at| ElfAddr(segment.range.start.0 + at))
        })
    }

    /// How many instructions are known.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.segments.iter().map(|s| s.starts.count()).sum()
    }
}

impl Segment {
    fn decode(
        range: Range<ElfAddr>,
        bytes: &[u8],
        functions: impl Iterator<Item = Range<ElfAddr>>,
        entry: ElfAddr,
        vendor: Vendor,
    ) -> Self {
        let (starts, decoded) = (Bits::new(bytes.len()), Bits::new(bytes.len()));
        let mut walk = Walk { map: Self { range, starts, decoded }, bytes, vendor, targets: Vec::new() };
        for function in functions {
            walk.linear(function);
        }
        walk.targets.push(entry);
        while let Some(target) = walk.targets.pop() {
            walk.follow(target);
        }
        walk.map
    }
}

struct Walk<'a> {
    map: Segment,
    bytes: &'a [u8],
    vendor: Vendor,
    targets: Vec<ElfAddr>,
}

impl Walk<'_> {
    /// Every instruction of `function`, whatever control flow does.
    fn linear(&mut self, function: Range<ElfAddr>) {
        let end = function.end.min(self.map.range.end);
        self.decode(function.start, end, |_, _| true);
    }

    /// On from a branch target, up to code that is known or to where control leaves for good.
    fn follow(&mut self, target: ElfAddr) {
        if !self.map.range.contains(&target) {
            return;
        }
        self.decode(target, self.map.range.end, |map, instruction| {
            let leaves = matches!(
                instruction.flow_control(),
                FlowControl::UnconditionalBranch
                    | FlowControl::IndirectBranch
                    | FlowControl::Return
                    | FlowControl::Exception
            );
            !leaves && !map.starts.get((instruction.next_ip() - map.range.start.0) as usize)
        });
    }

    /// Marks instructions from `from` on until `end`, an undecodable one, or `goes_on` says no.
    fn decode(&mut self, from: ElfAddr, end: ElfAddr, goes_on: impl Fn(&Segment, &Instruction) -> bool) {
        let start = self.map.range.start.0;
        let at = (from.0 - start) as usize;
        if self.map.starts.get(at) {
            return;
        }
        let Some(bytes) = self.bytes.get(at..(end.0 - start) as usize) else { return };
        let options = match self.vendor {
            Vendor::Intel => DecoderOptions::NONE,
            Vendor::Amd => DecoderOptions::AMD,
        };
        let mut decoder = Decoder::with_ip(64, bytes, from.0, options);
        let mut instruction = Instruction::default();
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            if instruction.is_invalid() {
                return;
            }
            let at = (instruction.ip() - start) as usize;
            self.map.starts.set(at, 1);
            self.map.decoded.set(at, instruction.len());
            if matches!(instruction.op0_kind(), OpKind::NearBranch64) && instruction.op_count() == 1 {
                let target = ElfAddr(instruction.near_branch64());
                if self.map.range.contains(&target) && !self.map.starts.get((target.0 - start) as usize) {
                    self.targets.push(target);
                }
            }
            if !goes_on(&self.map, &instruction) {
                return;
            }
        }
    }
}

/// A bitmap with one bit a byte of code.
#[derive(Clone, Debug)]
struct Bits {
    words: Vec<u64>,
}

impl Bits {
    fn new(bits: usize) -> Self {
        Self { words: vec![0; bits.div_ceil(64)] }
    }

    /// # Signal safety
    /// A bounded lookup.
    fn get(&self, at: usize) -> bool {
        self.words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Sets up to [`MAX_LENGTH`] bits, so at most two words.
    fn set(&mut self, at: usize, count: usize) {
        debug_assert!(count <= MAX_LENGTH);
        let mask = ((1u128 << count) - 1) << (at % 64);
        for (word, part) in [(at / 64, mask as u64), (at / 64 + 1, (mask >> 64) as u64)] {
            if let Some(word) = self.words.get_mut(word) {
                *word |= part;
            }
        }
    }

    fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x1000;

    fn map(bytes: &[u8], functions: &[(u64, u64)]) -> InstructionMap {
        let range = ElfAddr(BASE)..ElfAddr(BASE + bytes.len() as u64);
        let functions = functions.iter().map(|&(start, end)| ElfAddr(BASE + start)..ElfAddr(BASE + end));
        let segment = Segment::decode(range, bytes, functions, ElfAddr(0), Vendor::Intel);
        InstructionMap { segments: vec![segment] }
    }

    fn starts(map: &InstructionMap, length: u64) -> String {
        let letter = |at| match map.is_start(ElfAddr(BASE + at)) {
            Boundary::Yes => 'y',
            Boundary::No => 'n',
            Boundary::Unknown => '?',
        };
        (0..length).map(letter).collect()
    }

    #[test]
    fn functions_are_decoded_to_their_end_and_no_further() {
        // mov eax, 1; ret; (padding) nop; nop
        let bytes = [0xb8, 1, 0, 0, 0, 0xc3, 0x90, 0x90];
        assert_eq!(starts(&map(&bytes, &[(0, 6)]), 9), "ynnnny???");
    }

    #[test]
    fn a_jump_over_a_prefix_makes_a_boundary_inside_an_instruction() {
        // je +1; lock cmpxchg [rdi], ecx; ret
        let bytes = [0x74, 0x01, 0xf0, 0x0f, 0xb1, 0x0f, 0xc3];
        assert_eq!(starts(&map(&bytes, &[(0, 7)]), 7), "ynyynny");
    }

    #[test]
    fn code_that_only_a_branch_leads_to_is_found() {
        // call +2; ret; (data) 06; xor eax, eax; ret; (unreached) nop
        let bytes = [0xe8, 2, 0, 0, 0, 0xc3, 0x06, 0x31, 0xc0, 0xc3, 0x90];
        assert_eq!(starts(&map(&bytes, &[(0, 6)]), 11), "ynnnny?yny?");
    }

    #[test]
    fn bits_span_words() {
        let mut bits = Bits::new(128);
        bits.set(60, 15);
        assert!(!bits.get(59) && bits.get(60) && bits.get(74) && !bits.get(75));
        assert_eq!(bits.count(), 15);
    }

    #[test]
    fn libc_is_mapped_and_its_functions_start_on_boundaries() {
        use crate::image::module::Modules;
        use crate::image::process::Process;
        let modules = Modules::of(&Process::own()).unwrap();
        let qsort = crate::address::RuntimeAddr(libc::qsort as *const () as u64);
        let module = modules.at(qsort).unwrap();
        let table = SymbolTable::of(&module.elf);
        let started = std::time::Instant::now();
        let map = InstructionMap::of(&module.elf, &table, Vendor::of_this_cpu());
        let bytes: u64 = module.elf.text_ranges().iter().map(|r| r.end.0 - r.start.0).sum();
        println!("{} instructions, {} bytes in {:?}", map.instructions(), bytes, started.elapsed());
        assert!(map.instructions() > 10_000);
        assert_eq!(map.is_start(module.elf_address(qsort)), Boundary::Yes);
        assert_eq!(map.is_start(ElfAddr(u64::MAX)), Boundary::Unknown);
    }
}
