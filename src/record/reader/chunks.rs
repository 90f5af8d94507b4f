//! Finds the chunks of a file, good and bad.

use super::input::Input;
use super::{Damage, DamageCause};
use crate::record::crc::crc32;
use crate::record::layout::{CHUNK_ALIGN, CHUNK_HEADER, CHUNK_MAGIC, FLAG_LIVE, at};

/// A chunk whose header holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk<'a> {
    pub offset: usize,
    /// As stated; `ChunkKind` has the known ones.
    pub kind: u16,
    pub thread: u32,
    pub sequence: u32,
    /// The committed bytes; `None` when they are not all there or their checksum does not hold.
    pub payload: Option<&'a [u8]>,
}

const ALIGN: usize = CHUNK_ALIGN as usize;

/// Walks `bytes` from `start` on: every chunk with a whole header, in order, and what else there is.
pub(super) fn scan(bytes: &[u8], start: usize) -> (Vec<Chunk<'_>>, Vec<Damage>) {
    let mut chunks = Vec::new();
    let mut damage = Vec::new();
    let mut offset = start;
    let mut gap = start;
    while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
        let Some((chunk, size)) = header(rest, offset) else {
            offset = offset.saturating_add(ALIGN);
            continue;
        };
        close_gap(bytes, gap, offset, &mut damage);
        if chunk.payload.is_none() {
            let cause = if size > rest.len() { DamageCause::Cut } else { DamageCause::Checksum };
            damage.push(Damage { offset: offset as u64, length: size.min(rest.len()) as u64, cause });
        }
        chunks.push(chunk);
        offset = offset.saturating_add(size);
        gap = offset;
    }
    // Zeros up to the end are room that nobody took.
    if bytes.get(gap..).is_some_and(|tail| tail.iter().any(|&byte| byte != 0)) {
        close_gap(bytes, gap, bytes.len(), &mut damage);
    }
    (chunks, damage)
}

/// The chunk at the front of `rest` and its size, if its header holds.
fn header(rest: &[u8], offset: usize) -> Option<(Chunk<'_>, usize)> {
    let (head, _) = rest.split_first_chunk::<CHUNK_HEADER>()?;
    let mut input = Input::new(head);
    if input.u32()? != CHUNK_MAGIC {
        return None;
    }
    let kind = input.u16()?;
    let flags = input.u16()?;
    let size = input.u32()? as usize;
    let thread = input.u32()?;
    let sequence = input.u32()?;
    let header_crc = input.u32()?;
    let length = input.u32()? as usize;
    let payload_crc = input.u32()?;
    if crc32(&[&head[..at::HEADER_CRC]]) != header_crc || size < CHUNK_HEADER || !size.is_multiple_of(ALIGN) {
        return None;
    }
    let inside = length <= size - CHUNK_HEADER;
    let payload = rest.get(CHUNK_HEADER..).and_then(|rest| rest.get(..length)).filter(|payload| {
        let covered = if flags & FLAG_LIVE != 0 { &[] } else { *payload };
        inside && crc32(&[&header_crc.to_le_bytes(), covered]) == payload_crc
    });
    Some((Chunk { offset, kind, thread, sequence, payload }, size))
}

fn close_gap(bytes: &[u8], from: usize, to: usize, damage: &mut Vec<Damage>) {
    let Some(gap) = bytes.get(from..to).filter(|gap| !gap.is_empty()) else { return };
    let cause = if gap.chunks(ALIGN).all(never_begun) { DamageCause::Hole } else { DamageCause::NoChunk };
    damage.push(Damage { offset: from as u64, length: gap.len() as u64, cause });
}

/// A line of a chunk whose writer was killed before it stored the magic: zeros but for the header's fields.
fn never_begun(line: &[u8]) -> bool {
    let fields = at::KIND..at::COMMIT + 8;
    line.iter().enumerate().all(|(place, &byte)| byte == 0 || fields.contains(&place))
}
