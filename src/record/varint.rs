//! Numbers of variable length: small ones are short. The writing half is in [`Cursor`](super::cursor::Cursor).

/// Signed distance as an unsigned number, small in either direction: 0, -1, 1, -2 … become 0, 1, 2, 3 …
///
/// # Signal safety
/// Arithmetic.
#[inline(always)]
pub(super) const fn zigzag(distance: u64) -> u64 {
    (distance << 1) ^ ((distance as i64 >> 63) as u64)
}

/// The distance that [`zigzag`] was given.
#[inline(always)]
pub(super) const fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// In the first byte of a register value: what follows is the value itself, not its distance from the old one.
pub(super) const ABSOLUTE: u8 = 0x40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zigzag_keeps_small_distances_small() {
        assert_eq!([0, u64::MAX, 1, (-2i64) as u64].map(zigzag), [0, 1, 2, 3]);
        for value in [0, 1, 63, 64, u64::MAX, i64::MAX as u64, i64::MIN as u64] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }
}
