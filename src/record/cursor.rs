//! Writes numbers and bytes into a chunk and stops at its end.

#![allow(unsafe_code, reason = "stores into the shared mapping; slices would bring memcpy and bounds panics")]

use std::marker::PhantomData;

use super::crc::Crc;
use super::varint::{ABSOLUTE, zigzag};

/// A place to write at, with a running checksum. Past the end it only remembers that there was no room.
///
/// # Signal safety
/// Every method is plain stores, one volatile byte each, so that no loop becomes a call to `memcpy`.
pub(super) struct Cursor<'a> {
    at: *mut u8,
    left: usize,
    written: usize,
    full: bool,
    crc: Crc,
    chunk: PhantomData<&'a mut [u8]>,
}

impl<'a> Cursor<'a> {
    /// Writes from `at` on, `room` bytes at most, continuing the checksum `crc`.
    ///
    /// # Safety
    /// `at` is valid for writes of `room` bytes for `'a`, and nobody else writes there.
    #[inline(always)]
    pub(super) unsafe fn new(at: *mut u8, room: usize, crc: Crc) -> Self {
        Self { at, left: room, written: 0, full: false, crc, chunk: PhantomData }
    }

    /// Bytes written and the checksum with them; `None` if they did not fit.
    #[inline(always)]
    pub(super) fn finish(self) -> Option<(usize, Crc)> {
        if self.full { None } else { Some((self.written, self.crc)) }
    }

    #[inline(always)]
    pub(super) fn byte(&mut self, byte: u8) {
        if self.left == 0 {
            self.full = true;
            return;
        }
        // SAFETY:
        // - `left` is not 0, so `at` is inside the room promised to `new`.
        unsafe { self.at.write_volatile(byte) };
        self.at = self.at.wrapping_add(1);
        self.left -= 1;
        self.written += 1;
        self.crc = self.crc.with(byte);
    }

    #[inline(always)]
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.byte(byte);
        }
    }

    #[inline(always)]
    pub(super) fn u16(&mut self, value: u16) {
        self.byte(value as u8);
        self.byte((value >> 8) as u8);
    }

    #[inline(always)]
    pub(super) fn u32(&mut self, value: u32) {
        self.u16(value as u16);
        self.u16((value >> 16) as u16);
    }

    #[inline(always)]
    pub(super) fn u64(&mut self, value: u64) {
        self.u32(value as u32);
        self.u32((value >> 32) as u32);
    }

    /// Seven bits a byte, least first, the top bit set on all but the last (LEB128).
    #[inline(always)]
    pub(super) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    /// `to` as its signed distance from `from`.
    #[inline(always)]
    pub(super) fn distance(&mut self, from: u64, to: u64) {
        self.varint(zigzag(to.wrapping_sub(from)));
    }

    /// A register's new value: itself or its distance from the old one, whichever is smaller. Six bits in the
    /// first byte, whose bit 6 says which ([`ABSOLUTE`]), then as [`Cursor::varint`].
    #[inline(always)]
    pub(super) fn change(&mut self, old: u64, new: u64) {
        let distance = zigzag(new.wrapping_sub(old));
        let (value, which) = if new < distance { (new, ABSOLUTE) } else { (distance, 0) };
        let first = value as u8 & 0x3f | which;
        if value < 0x40 {
            self.byte(first);
        } else {
            self.byte(first | 0x80);
            self.varint(value >> 6);
        }
    }
}
