//! Which mapping a stack pointer is in, read from /proc/self/maps without libc.

#![allow(unsafe_code, reason = "a file is read with raw system calls")]

use super::frames::StackBounds;
use super::proc_file;
use crate::raw;

/// Where the maps cannot be read (no /proc), frames are compared within this distance of RSP, in bytes.
const ASSUMED: u64 = 8 << 20;

/// The mapping that `rsp` lies in, or an assumed one around it.
///
/// # Signal safety
/// openat, read and close; parses into registers and a buffer on the handler's stack.
pub(super) fn bounds_of(rsp: u64) -> StackBounds {
    find(rsp).unwrap_or(StackBounds { start: rsp.saturating_sub(ASSUMED), end: rsp.saturating_add(ASSUMED) })
}

fn find(rsp: u64) -> Option<StackBounds> {
    let search = |fd| {
        let mut lines = Lines::default();
        let mut buffer = [0_u8; 1024];
        loop {
            // SAFETY: at most the buffer's length is written into it.
            let got =
                unsafe { raw::syscall(libc::SYS_read, [fd, buffer.as_mut_ptr() as u64, 1024, 0, 0, 0]) };
            let Ok(length @ 1..) = got else { return None };
            let found = buffer.iter().take(length as usize).find_map(|byte| lines.take(*byte, rsp));
            if found.is_some() {
                return found;
            }
        }
    };
    proc_file::with(proc_file::MAPS, libc::O_RDONLY, search).ok()?
}

/// Reads `start-end …` at the head of each line, byte by byte.
#[derive(Default)]
struct Lines {
    start: u64,
    end: u64,
    field: Field,
}

#[derive(Default)]
enum Field {
    #[default]
    Start,
    End,
    Rest,
}

impl Lines {
    /// Takes the next byte; the bounds once a line's range has been read that holds `rsp`.
    fn take(&mut self, byte: u8, rsp: u64) -> Option<StackBounds> {
        match (&self.field, byte) {
            (_, b'\n') => *self = Self::default(),
            (Field::Start, b'-') => self.field = Field::End,
            (Field::Start, digit) => self.start = self.start << 4 | hex(digit),
            (Field::End, b' ') => {
                self.field = Field::Rest;
                let bounds = StackBounds { start: self.start, end: self.end };
                return bounds.contains(rsp).then_some(bounds);
            }
            (Field::End, digit) => self.end = self.end << 4 | hex(digit),
            (Field::Rest, _) => {}
        }
        None
    }
}

fn hex(digit: u8) -> u64 {
    u64::from(match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => 0,
    })
}
