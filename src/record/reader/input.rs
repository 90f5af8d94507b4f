//! Takes numbers and bytes off the front of a payload, and says `None` where it ends.

use crate::record::varint::{ABSOLUTE, unzigzag};

/// What is left of a payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    pub(super) fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// LEB128; `None` also where it states more than 64 bits.
    #[inline]
    pub(super) fn varint(&mut self) -> Option<u64> {
        self.varint_onto(0, 0)
    }

    pub(super) fn varint_u32(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    /// A number that lies a signed distance from `from`.
    #[inline]
    pub(super) fn distance(&mut self, from: u64) -> Option<u64> {
        Some(from.wrapping_add(unzigzag(self.varint()?)))
    }

    /// A register's new value, given its old one: see `Cursor::change`.
    #[inline]
    pub(super) fn change(&mut self, old: u64) -> Option<u64> {
        let first = self.byte()?;
        let low = u64::from(first & 0x3f);
        let value = if first & 0x80 == 0 { low } else { self.varint_onto(low, 6)? };
        Some(if first & ABSOLUTE != 0 { value } else { old.wrapping_add(unzigzag(value)) })
    }

    #[inline]
    fn varint_onto(&mut self, low: u64, mut shift: u32) -> Option<u64> {
        let mut value = low;
        loop {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            let placed = bits.checked_shl(shift)?;
            if placed >> shift != bits {
                return None;
            }
            value |= placed;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            shift += 7;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_varint_beyond_64_bits_is_refused() {
        let mut longest = [0xff; 10];
        longest[9] = 0x01;
        assert_eq!(Input::new(&longest).varint(), Some(u64::MAX));
        longest[9] = 0x02;
        assert_eq!(Input::new(&longest).varint(), None);
        assert_eq!(Input::new(&[0x80; 64]).varint(), None);
    }

    #[test]
    fn an_end_inside_a_number_is_refused() {
        assert_eq!(Input::new(&[0x80]).varint(), None);
        assert_eq!(Input::new(&[1, 2, 3]).u32(), None);
        assert_eq!(Input::new(&[1]).bytes(2), None);
    }
}
