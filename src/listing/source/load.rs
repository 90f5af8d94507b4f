//! Reads the debug information of a trace's modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::brief::brief;
use super::shorten::shortened;
use super::sources::Ranged;
use super::{Frame, Location, Remap, Sources};
use crate::address::{ElfAddr, RuntimeAddr};
use crate::image::dwarf::places::{SourceFrame, SourcePlaces};
use crate::image::dwarf::sections::DebugSections;
use crate::image::dwarf::separate::{mismatched, separate};
use crate::image::elf::Elf;
use crate::image::names::demangle;
use crate::listing::place::file_name;
use crate::listing::visible::visible;
use crate::record::code::BLOCK;
use crate::record::reader::{Module, Trace};

/// How each file is read and called.
type Names = BTreeMap<PathBuf, (Rc<Path>, Rc<str>)>;

impl Sources {
    /// What the modules' files say about the code that was executed. Never fails: what cannot be had is among
    /// [`Sources::notices`].
    #[must_use]
    pub fn of(trace: &Trace, remaps: &[Remap]) -> Self {
        let mut sources = Self::default();
        let mut found = Vec::new();
        for module in trace.modules() {
            let blocks = executed(trace, module);
            if blocks.is_empty() || module.path.starts_with('[') {
                continue;
            }
            match places(module, &blocks) {
                Ok((places, split)) => {
                    if split > 0 {
                        sources.missing.push(format!(
                            "`{}` has split debug information (.dwo), which is not read: lines without inlined functions; compile without -gsplit-dwarf",
                            module.path
                        ));
                    }
                    found.push((module, blocks, places));
                }
                Err(why) => sources.missing.push(format!("no source lines for `{}`: {why}", module.path)),
            }
        }
        let paths: BTreeSet<PathBuf> =
            found.iter().flat_map(|(_, _, places)| places.files().iter().cloned()).collect();
        let mut names = Names::new();
        for (path, short) in shortened(&paths) {
            let remapped = remaps.iter().find_map(|remap| remap.apply(&path));
            // A folder of this machine is no part of what the lines are called, but one beside the reader may be.
            let beside = remapped.as_ref().filter(|path| path.is_relative());
            let shown = beside.map_or(short, |path| path.to_string_lossy().into_owned());
            let read: Rc<Path> = remapped.unwrap_or_else(|| path.clone()).into();
            names.insert(path, (read, visible(&shown).into()));
        }
        for (module, _, places) in &found {
            let Ok(written) = std::fs::metadata(&module.path).and_then(|about| about.modified()) else {
                continue;
            };
            for path in places.files().iter().filter(|path| remaps.iter().all(|it| it.apply(path).is_none()))
            {
                let compiled = sources.files.compiled.entry(path.as_path().into()).or_insert(written);
                *compiled = written.max(*compiled);
            }
        }
        for (module, blocks, places) in &found {
            sources.add(module, blocks, places, &names);
        }
        sources.locations.sort_by_key(|it| it.start);
        sources
    }

    /// One entry per run of addresses with the same frames.
    fn add(&mut self, module: &Module, blocks: &[Range<ElfAddr>], places: &SourcePlaces, names: &Names) {
        for block in blocks {
            let mut run: Option<(ElfAddr, Vec<SourceFrame<'_>>)> = None;
            for address in (block.start.0..block.end.0).map(ElfAddr).chain([block.end]) {
                let frames = if address == block.end { Vec::new() } else { places.at(address) };
                if run.as_ref().is_some_and(|(_, known)| *known == frames) {
                    continue;
                }
                if let Some((start, frames)) = run.replace((address, frames))
                    && !frames.is_empty()
                {
                    let location = Rc::new(location(&frames, names));
                    let (start, end) = (start.at(module.bias), address.at(module.bias));
                    self.locations.push(Ranged { start, end, location });
                }
            }
        }
    }
}

fn location(frames: &[SourceFrame<'_>], names: &Names) -> Location {
    let frame = |frame: &SourceFrame<'_>| {
        let (path, file) = names.get(frame.file)?.clone();
        let function = frame.function.map(|name| visible(&brief(&demangle(name))).into());
        Some(Frame { function, path, file, line: frame.line })
    };
    Location { frames: frames.iter().filter_map(frame).collect() }
}

/// The code blocks of the module that were stepped into, in order.
fn executed(trace: &Trace, module: &Module) -> Vec<Range<ElfAddr>> {
    let inside = |at: &RuntimeAddr| {
        trace.module(*at).is_some_and(|it| it.id == module.id)
            || trace.module(at.plus(BLOCK as u64 - 1)).is_some_and(|it| it.id == module.id)
    };
    let blocks = trace.code_blocks().filter(inside).map(|at| at.in_elf(module.bias));
    let mut blocks: Vec<_> = blocks.map(|at| at..ElfAddr(at.0 + BLOCK as u64)).collect();
    blocks.sort_by_key(|block| block.start);
    blocks
}

/// The debug information for the blocks and how many units of it lie elsewhere, or why there is none.
fn places(module: &Module, blocks: &[Range<ElfAddr>]) -> Result<(SourcePlaces, usize), String> {
    let path = Path::new(&module.path);
    let elf = Elf::open(path).map_err(|error| error.to_string())?;
    let now = elf.build_id().unwrap_or_default();
    if now != module.build_id {
        let (then, now) = (hexadecimal(&module.build_id), hexadecimal(now));
        return Err(format!("it changed since the run (build id then {then}, now {now}); record again"));
    }
    let separate = separate(&elf, path);
    let sections = DebugSections::of(separate.as_ref().unwrap_or(&elf)).map_err(|error| error.to_string())?;
    let Some(sections) = sections else {
        if let Some(other) = mismatched(&elf, path) {
            return Err(format!(
                "it has no debug information, and `{}` is not what `.gnu_debuglink` names: another checksum (CRC-32); \
                 put the one of its build there",
                other.display()
            ));
        }
        let name = file_name(&module.path);
        return Err(format!(
            "it has no debug information, nor is there a separate file with it; compile with -g, or install that of {name}"
        ));
    };
    let info = sections.info().map_err(|error| error.to_string())?;
    Ok((info.places(blocks).map_err(|error| error.to_string())?, info.split_units()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "none".to_owned();
    }
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
