//! One ELF file: its headers checked, its bytes reachable by [`ElfAddr`].
//!
//! Section headers are optional and never trusted: a file without them, or with damaged ones, is a file
//! without sections. What a loader needs (header, program headers) must be sound.

#![allow(unsafe_code, reason = "mapping a file")]

use super::decode::Bitness;
use super::elf_dynamic::Dynamic;
use super::elf_error::ElfError;
use crate::address::{ElfAddr, FileOffset};
use goblin::container::{Container, Ctx, Endian};
use goblin::elf::program_header::{PF_W, PF_X, PT_INTERP, PT_LOAD};
use goblin::elf::section_header::SectionHeader;
use goblin::elf::{Header, ProgramHeader, header};
use std::fs::File;
use std::ops::Range;
use std::path::Path;

/// One PT_LOAD entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub start: ElfAddr,
    pub offset: FileOffset,
    /// Bytes taken from the file; the rest up to `size` is zero.
    pub file_size: u64,
    pub size: u64,
    pub executable: bool,
    pub writable: bool,
}

/// How the file becomes a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No interpreter, fixed address: LD_PRELOAD has no one to read it.
    Static,
    /// No interpreter, relocates itself.
    StaticPie,
    /// Has an interpreter, at a fixed address or not.
    Dynamic,
    /// No interpreter and not marked as a program: a library, the interpreter itself or the vdso.
    Library,
    /// Object file, core file or anything else that is not loaded.
    NotLoadable,
}

#[derive(Debug)]
enum Bytes {
    Mapped(memmap2::Mmap),
    Owned(Vec<u8>),
}

/// A parsed ELF file. 32-bit and foreign-machine files parse too, so that a refusal can say what they are.
#[derive(Debug)]
pub struct Elf {
    bytes: Bytes,
    header: Header,
    programs: Vec<ProgramHeader>,
    sections: Vec<SectionHeader>,
    segments: Vec<Segment>,
    dynamic: Dynamic,
}

impl Elf {
    /// Opens and maps `path`.
    ///
    /// # Errors
    /// [`ElfError`]: the file cannot be opened, or what it holds is no sound ELF file.
    pub fn open(path: &Path) -> Result<Self, ElfError> {
        let failed = |source| ElfError::Open { path: path.to_path_buf(), source };
        // To open a FIFO waits for its writer.
        if !std::fs::metadata(path).map_err(failed)?.is_file() {
            let kind = std::io::ErrorKind::InvalidInput;
            return Err(failed(std::io::Error::new(kind, "no regular file")));
        }
        Self::from_file(&File::open(path).map_err(failed)?, path)
    }

    /// Maps an open file; `path` is for the error only.
    ///
    /// # Errors
    /// As [`Elf::open`].
    pub fn from_file(file: &File, path: &Path) -> Result<Self, ElfError> {
        // SAFETY:
        // - the mapping is private and read-only; nothing in this process writes the file;
        // - cutting the file while it is mapped raises SIGBUS, as it does for every loader of that file.
        let map = unsafe { memmap2::Mmap::map(file) }
            .map_err(|source| ElfError::Open { path: path.to_path_buf(), source })?;
        Self::parse(Bytes::Mapped(map))
    }

    /// Parses bytes that are no file, such as the vdso.
    ///
    /// # Errors
    /// [`ElfError`], never `Open`.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ElfError> {
        Self::parse(Bytes::Owned(bytes))
    }

    fn parse(bytes: Bytes) -> Result<Self, ElfError> {
        let data = bytes.as_slice();
        let header = parse_header(data)?;
        let context = context(&header);
        let programs = parse_programs(data, &header)?;
        let sections = parse_sections(data, &header).unwrap_or_default();
        let segments = load_segments(&programs);
        let dynamic = Dynamic::parse(data, &programs, &segments, context);
        Ok(Self { header, programs, sections, segments, dynamic, bytes })
    }

    /// The whole file.
    #[must_use]
    pub fn file_bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    #[must_use]
    pub fn bitness(&self) -> Bitness {
        if self.header.e_ident[header::EI_CLASS] == header::ELFCLASS64 {
            Bitness::Bits64
        } else {
            Bitness::Bits32
        }
    }

    /// `e_machine`: 62 is x86_64, 3 is i386 (System V ABI, "Machine").
    #[must_use]
    pub const fn machine(&self) -> u16 {
        self.header.e_machine
    }

    /// Whether it is 64-bit code for this CPU; x32 is not.
    #[must_use]
    pub fn is_x86_64(&self) -> bool {
        self.machine() == header::EM_X86_64 && self.bitness() == Bitness::Bits64
    }

    #[must_use]
    pub fn kind(&self) -> Kind {
        let interpreted = self.programs.iter().any(|p| p.p_type == PT_INTERP);
        match self.header.e_type {
            header::ET_EXEC | header::ET_DYN if interpreted => Kind::Dynamic,
            header::ET_EXEC => Kind::Static,
            header::ET_DYN if self.dynamic.is_pie() => Kind::StaticPie,
            header::ET_DYN => Kind::Library,
            _ => Kind::NotLoadable,
        }
    }

    /// The path of the program that loads this one.
    #[must_use]
    pub fn interpreter(&self) -> Option<&str> {
        let entry = self.programs.iter().find(|p| p.p_type == PT_INTERP)?;
        let bytes = slice(self.file_bytes(), entry.p_offset, entry.p_filesz)?;
        std::str::from_utf8(bytes.split(|&b| b == 0).next()?).ok()
    }

    /// Whether musl loads it, by the interpreter's name (`ld-musl-x86_64.so.1`).
    #[must_use]
    pub fn uses_musl(&self) -> bool {
        let name = |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with("ld-musl"));
        self.interpreter().is_some_and(name)
    }

    /// Names of the libraries it asks for (DT_NEEDED).
    #[must_use]
    pub fn needed(&self) -> Vec<&str> {
        self.dynamic.needed(self.file_bytes())
    }

    /// The name it gives itself (DT_SONAME).
    #[must_use]
    pub fn soname(&self) -> Option<&str> {
        self.dynamic.soname(self.file_bytes())
    }

    #[must_use]
    pub const fn entry(&self) -> ElfAddr {
        ElfAddr(self.header.e_entry)
    }

    /// The NT_GNU_BUILD_ID note, usually 20 bytes.
    #[must_use]
    pub fn build_id(&self) -> Option<&[u8]> {
        super::elf_notes::build_id(self.file_bytes(), &self.programs)
    }

    /// PT_LOAD entries in file order.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Address ranges of the executable segments, as far as the file fills them.
    #[must_use]
    pub fn text_ranges(&self) -> Vec<Range<ElfAddr>> {
        let executable = self.segments.iter().filter(|s| s.executable);
        executable.map(|s| s.start..ElfAddr(s.start.0 + s.file_size)).collect()
    }

    /// The executable segment that covers `address`.
    #[must_use]
    pub fn text_at(&self, address: ElfAddr) -> Option<&Segment> {
        self.segments.iter().find(|s| s.executable && s.covers(address))
    }

    /// The file's bytes from `address` on, up to `length` of them; fewer where the segment's file part ends.
    #[must_use]
    pub fn bytes_at(&self, address: ElfAddr, length: u64) -> Option<&[u8]> {
        let segment = self.segments.iter().find(|s| s.covers(address))?;
        let skipped = address.0 - segment.start.0;
        let available = segment.file_size - skipped;
        slice(self.file_bytes(), segment.offset.0.checked_add(skipped)?, length.min(available))
    }

    pub(super) fn sections(&self) -> &[SectionHeader] {
        &self.sections
    }

    /// The bytes of the section of this name, and its header.
    pub(super) fn section(&self, name: &str) -> Option<(&SectionHeader, &[u8])> {
        let names = self.sections.get(usize::from(self.header.e_shstrndx))?;
        let table = slice(self.file_bytes(), names.sh_offset, names.sh_size)?;
        let found =
            self.sections.iter().find(|s| string(table, s.sh_name as u64) == Some(name.as_bytes()))?;
        Some((found, slice(self.file_bytes(), found.sh_offset, found.sh_size)?))
    }

    pub(super) const fn dynamic(&self) -> &Dynamic {
        &self.dynamic
    }

    pub(super) fn context(&self) -> Ctx {
        context(&self.header)
    }
}

impl Segment {
    /// Whether the file holds a byte for `address`.
    #[must_use]
    pub const fn covers(&self, address: ElfAddr) -> bool {
        address.0 >= self.start.0 && address.0 - self.start.0 < self.file_size
    }
}

impl Bytes {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// `length` bytes at `offset`, if they are there.
pub(super) fn slice(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    bytes.get(start..end)
}

/// The NUL-terminated string at `offset` of a string table.
pub(super) fn string(table: &[u8], offset: u64) -> Option<&[u8]> {
    let rest = table.get(usize::try_from(offset).ok()?..)?;
    rest.split(|&b| b == 0).next()
}

fn parse_header(data: &[u8]) -> Result<Header, ElfError> {
    if !data.starts_with(header::ELFMAG) {
        return Err(ElfError::NotElf { start: data.iter().take(4).copied().collect() });
    }
    if data.get(header::EI_DATA) == Some(&header::ELFDATA2MSB) {
        return Err(ElfError::BigEndian);
    }
    let needs = if data.get(header::EI_CLASS) == Some(&header::ELFCLASS32) { 52 } else { 64 };
    check(data, "the ELF header", 0, needs)?;
    goblin::elf::Elf::parse_header(data).map_err(|e| damaged("the ELF header", &e))
}

fn parse_programs(data: &[u8], header: &Header) -> Result<Vec<ProgramHeader>, ElfError> {
    const WHAT: &str = "the program header table";
    if header.e_phnum == 0 {
        return Ok(Vec::new());
    }
    let entry = ProgramHeader::size(context(header)) as u64;
    if u64::from(header.e_phentsize) != entry {
        let detail = format!("entries of {} bytes, not {entry}", header.e_phentsize);
        return Err(ElfError::Damaged { what: WHAT, detail });
    }
    check(data, WHAT, header.e_phoff, entry * u64::from(header.e_phnum))?;
    ProgramHeader::parse(data, header.e_phoff as usize, header.e_phnum.into(), context(header))
        .map_err(|e| damaged(WHAT, &e))
}

fn parse_sections(data: &[u8], header: &Header) -> Option<Vec<SectionHeader>> {
    let size = SectionHeader::size(context(header));
    slice(data, header.e_shoff, size as u64)?;
    if usize::from(header.e_shentsize) != size {
        return None;
    }
    SectionHeader::parse(data, header.e_shoff as usize, header.e_shnum.into(), context(header)).ok()
}

/// Segments that wrap around the address space are no segments.
fn load_segments(programs: &[ProgramHeader]) -> Vec<Segment> {
    let loaded = programs.iter().filter(|p| p.p_type == PT_LOAD);
    let sound = loaded.filter(|p| p.p_vaddr.checked_add(p.p_memsz.max(p.p_filesz)).is_some());
    sound
        .map(|p| Segment {
            start: ElfAddr(p.p_vaddr),
            offset: FileOffset(p.p_offset),
            file_size: p.p_filesz,
            size: p.p_memsz.max(p.p_filesz),
            executable: p.p_flags & PF_X != 0,
            writable: p.p_flags & PF_W != 0,
        })
        .collect()
}

fn check(data: &[u8], what: &'static str, offset: u64, needs: u64) -> Result<(), ElfError> {
    let has = data.len() as u64;
    match slice(data, offset, needs) {
        Some(_) => Ok(()),
        None => Err(ElfError::Truncated { what, offset, needs, has }),
    }
}

fn context(header: &Header) -> Ctx {
    let wide = header.e_ident[header::EI_CLASS] == header::ELFCLASS64;
    Ctx::new(if wide { Container::Big } else { Container::Little }, Endian::Little)
}

fn damaged(what: &'static str, error: &goblin::error::Error) -> ElfError {
    ElfError::Damaged { what, detail: error.to_string() }
}
