//! Notes: the build id.

use super::elf::slice;
use goblin::elf::ProgramHeader;
use goblin::elf::program_header::PT_NOTE;

/// `NT_GNU_BUILD_ID` (binutils `include/elf/common.h`).
const BUILD_ID: u32 = 3;

/// The description of the first build-id note among the PT_NOTE segments.
pub(super) fn build_id<'a>(file: &'a [u8], programs: &[ProgramHeader]) -> Option<&'a [u8]> {
    let segments = programs.iter().filter(|p| p.p_type == PT_NOTE);
    segments.filter_map(|p| Some((slice(file, p.p_offset, p.p_filesz)?, p.p_align))).find_map(in_notes)
}

/// Each note: name size, description size, type (4 bytes each), name, description, the last two padded.
fn in_notes((mut notes, alignment): (&[u8], u64)) -> Option<&[u8]> {
    let alignment = if alignment == 8 { 8 } else { 4 };
    while let Some((head, rest)) = notes.split_first_chunk::<12>() {
        let [name_size, description_size, kind] =
            [0, 4, 8].map(|at| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
        let description_at = (12 + name_size as usize).next_multiple_of(alignment) - 12;
        let description = rest.get(description_at..)?.get(..description_size as usize)?;
        if kind == BUILD_ID && rest.starts_with(b"GNU\0") && name_size == 4 {
            return Some(description);
        }
        let end = 12 + description_at + description_size as usize;
        notes = notes.get(end.next_multiple_of(alignment)..)?;
    }
    None
}
