//! CRC-32 (IEEE 802.3, as in zlib), one byte at a time: the handler's own, since a library's would look up CPU
//! features and may call `memcpy`. The reader checks with `crc32fast`.

/// Polynomial 0x04C11DB7, bit-reversed.
const POLYNOMIAL: u32 = 0xEDB8_8320;

/// What each byte value does to the remainder.
static TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            remainder = if remainder & 1 == 1 { (remainder >> 1) ^ POLYNOMIAL } else { remainder >> 1 };
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
}

/// A checksum under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crc(u32);

impl Crc {
    /// The checksum of nothing.
    pub const NEW: Self = Self(u32::MAX);

    /// The checksum with one byte more.
    ///
    /// # Signal safety
    /// Arithmetic and one load from a constant table.
    #[inline(always)]
    #[must_use]
    pub fn with(self, byte: u8) -> Self {
        let index = (self.0 as u8 ^ byte) as usize;
        let entry = match TABLE.get(index) {
            Some(&entry) => entry,
            None => 0, // a u8 always has its entry; the compiler sees that and drops this arm
        };
        Self((self.0 >> 8) ^ entry)
    }

    /// The checksum with four bytes more, little-endian.
    ///
    /// # Signal safety
    /// As [`Crc::with`].
    #[inline(always)]
    #[must_use]
    pub fn with_u32(self, value: u32) -> Self {
        self.with(value as u8).with((value >> 8) as u8).with((value >> 16) as u8).with((value >> 24) as u8)
    }

    /// The finished value.
    ///
    /// # Signal safety
    /// Arithmetic.
    #[inline(always)]
    #[must_use]
    pub const fn value(self) -> u32 {
        !self.0
    }
}

/// The checksum of several stretches of bytes in a row. Cold code only.
#[must_use]
pub fn crc32(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_standard() {
        let crc = b"123456789".iter().fold(Crc::NEW, |crc, &byte| crc.with(byte));
        assert_eq!(crc.value(), 0xCBF4_3926);
        assert_eq!(crc32(&[b"1234", b"56789"]), 0xCBF4_3926);
    }

    #[test]
    fn four_bytes_at_once() {
        let one_by_one = [0x78, 0x56, 0x34, 0x12].iter().fold(Crc::NEW, |crc, &byte| crc.with(byte));
        assert_eq!(Crc::NEW.with_u32(0x1234_5678), one_by_one);
    }
}
