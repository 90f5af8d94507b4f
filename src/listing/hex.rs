//! Hexadecimal without the formatting machinery: a listing writes several numbers a row, half a million rows a
//! second.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Digits of `value` without leading zeros; at least one.
#[must_use]
pub const fn digits(value: u64) -> u32 {
    let bits = u64::BITS - value.leading_zeros();
    if bits == 0 { 1 } else { bits.div_ceil(4) }
}

/// Appends the lowest `count` hexadecimal digits of `value`, without a prefix.
pub fn push_digits(text: &mut String, value: u64, count: u32) {
    for place in (0..count).rev() {
        text.push(char::from(DIGITS[(value >> (4 * place) & 15) as usize]));
    }
}

/// Appends `value` as `0x12`.
pub fn push(text: &mut String, value: u64) {
    text.push_str("0x");
    push_digits(text, value, digits(value));
}

/// Appends bytes in memory order, two digits each: `4889f8`.
pub fn push_bytes(text: &mut String, bytes: &[u8]) {
    for &byte in bytes {
        push_digits(text, u64::from(byte), 2);
    }
}

/// Appends a little-endian value of any width as one number: `[0x39, 0x11]` as `0x1139`.
pub fn push_little_endian(text: &mut String, bytes: &[u8]) {
    let top = bytes.iter().rposition(|&byte| byte != 0).unwrap_or(0);
    let mut from_top = bytes[..bytes.len().min(top + 1)].iter().rev();
    push(text, u64::from(from_top.next().copied().unwrap_or(0)));
    for &byte in from_top {
        push_digits(text, u64::from(byte), 2);
    }
}

/// `value` as `0x12`, for places that are not written once a row.
#[must_use]
pub fn hex(value: u64) -> String {
    let mut text = String::with_capacity(18);
    push(&mut text, value);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_formatter() {
        for value in [0, 1, 0xf, 0x10, 0xff, 0x100, 0x1139, 0x7ffd_1b2c_3d48, u64::MAX >> 1, u64::MAX] {
            assert_eq!(hex(value), format!("{value:#x}"));
        }
    }

    #[test]
    fn wide_values_are_one_number() {
        let wide = |bytes: &[u8]| {
            let mut text = String::new();
            push_little_endian(&mut text, bytes);
            text
        };
        assert_eq!(wide(&[0x39, 0x11, 0, 0]), "0x1139");
        assert_eq!(wide(&[0; 16]), "0x0");
        assert_eq!(wide(&[]), "0x0");
        assert_eq!(wide(&[5, 0, 1]), "0x10005");
    }
}
