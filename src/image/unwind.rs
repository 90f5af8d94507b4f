//! How far functions reach by their unwind information, which stripped files keep, too.

use super::elf::Elf;
use crate::address::ElfAddr;
use std::ops::Range;

/// How `.eh_frame_hdr` begins: version 1, a count of four bytes, a table of pairs of four bytes relative to the section (LSB
/// Core, "Exception Frames": DW_EH_PE_udata4; DW_EH_PE_datarel with DW_EH_PE_sdata4). Linkers write no other.
const VERSION: u8 = 1;
const COUNT: u8 = 0x03;
const TABLE: u8 = 0x3b;
/// Where the table begins, behind the section's four bytes, the pointer to `.eh_frame` and the count.
const HEADER: usize = 12;

/// The code that the entry of `.eh_frame` covers which `at` lies in: a function, or the hot or cold part of one. `None` where there is
/// none.
#[must_use]
pub fn covered(elf: &Elf, at: ElfAddr) -> Option<Range<ElfAddr>> {
    let (header, bytes) = elf.section(".eh_frame_hdr")?;
    let [VERSION, _, COUNT, TABLE, ..] = bytes else { return None };
    let count = usize::try_from(number(bytes, 8)?).ok()?;
    let table = bytes.get(HEADER..)?;
    let relative =
        |entry: &[u8], place| Some(header.sh_addr.wrapping_add_signed(number(entry, place)?.into()));
    // Sorted by where the code starts.
    let entries: Vec<&[u8]> = table.chunks_exact(8).take(count).collect();
    let after = entries.partition_point(|entry| relative(entry, 0).is_some_and(|start| start <= at.0));
    let entry = entries.get(after.checked_sub(1)?)?;
    let (start, description) = (relative(entry, 0)?, relative(entry, 4)?);
    let (frames, bytes) = elf.section(".eh_frame")?;
    let description_at = usize::try_from(description.checked_sub(frames.sh_addr)?).ok()?;
    // Length, place of the common entry, start relative to its own place, length of the code.
    let description_bytes = bytes.get(description_at..)?;
    let stated = (description + 8).wrapping_add_signed(number(description_bytes, 8)?.into());
    let length = number(description_bytes, 12)? as u32;
    let code = ElfAddr(start)..ElfAddr(start.checked_add(length.into())?);
    (stated == start && code.contains(&at)).then_some(code)
}

/// Four bytes at `place`.
fn number(bytes: &[u8], place: usize) -> Option<i32> {
    Some(i32::from_le_bytes(*bytes.get(place..)?.first_chunk()?))
}
