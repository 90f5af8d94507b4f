//! Random bytes that look like instructions often enough.

use crate::random::Random;

const PREFIXES: [u8; 14] =
    [0x66, 0x67, 0xf2, 0xf3, 0xf0, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0x66, 0x67, 0x48];

/// A sequence of about three instructions with prefixes, valid or not.
pub fn sequence(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..3 {
        for _ in 0..random.pick(&[0, 0, 0, 1, 1, 2, 3, 14]) {
            bytes.push(random.pick(&PREFIXES));
        }
        if random.one_in(3) {
            bytes.push(0x40 | random.below(16) as u8);
        }
        opcode(random, &mut bytes);
        // A ModRM byte that is a register or a plain pointer as often as anything else.
        bytes.push(match random.below(3) {
            0 => 0xc0 | random.next() as u8,
            1 => 0x3f & random.next() as u8,
            _ => random.next() as u8,
        });
        // Small displacements and immediates, so that what they lead to is mapped.
        let small = random.one_in(2);
        for _ in 0..random.below(9) {
            bytes.push(if small { random.pick(&[0, 0, 1, 8, 16, 0xff, 0xf8]) } else { random.next() as u8 });
        }
    }
    bytes
}

fn opcode(random: &mut Random, bytes: &mut Vec<u8>) {
    let any = random.next() as u8;
    match random.below(16) {
        0..=4 => bytes.push(any),
        5..=7 => bytes.extend([0x0f, any]),
        8 => bytes.extend([0x0f, random.pick(&[0x38, 0x3a]), any]),
        9 => bytes.push(0x70 | any & 15),
        10 => bytes.extend([0x0f, 0x80 | any & 15]),
        11 => bytes.push(random.pick(&[0xe0, 0xe1, 0xe2, 0xe3, 0xe8, 0xe9, 0xeb, 0xc2, 0xc3])),
        12 => bytes.extend([0xff, random.pick(&[0x10, 0x20, 0xd0, 0xe0]) | any & 7]),
        13 => bytes.extend([random.pick(&[0xc4, 0x62, 0x8f]), any, random.next() as u8]),
        14 => bytes.extend([0xc5, any]),
        _ => bytes.push(random.pick(&[0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf])),
    }
}
