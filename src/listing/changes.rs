//! The registers an instruction changed.

use super::hex;
use super::rows::StepRow;
use crate::record::step::RegisterChange;
use crate::registers::{GENERAL_NAMES, flag};

/// The name RFLAGS goes by beside [`GENERAL_NAMES`].
pub const FLAGS_NAME: &str = "rflags";

/// RFLAGS bits that a listing names, in the order of the SDM's figure of EFLAGS, volume 1, section 3.4.3.
const FLAGS: [(u64, &str); 7] = [
    (flag::CF, "CF"),
    (flag::PF, "PF"),
    (flag::AF, "AF"),
    (flag::ZF, "ZF"),
    (flag::SF, "SF"),
    (flag::DF, "DF"),
    (flag::OF, "OF"),
];

/// Each general register whose value differs after the instruction: name, value before, value after.
pub fn general(change: &RegisterChange) -> impl Iterator<Item = (&'static str, u64, u64)> + '_ {
    let values = change.before.general.iter().zip(&change.after.general);
    GENERAL_NAMES
        .iter()
        .zip(values)
        .filter(|(_, (before, after))| before != after)
        .map(|(name, (before, after))| (*name, *before, *after))
}

/// RFLAGS after the instruction, where it changed them.
#[must_use]
pub fn flags(change: &RegisterChange) -> Option<u64> {
    (change.before.rflags != change.after.rflags).then_some(change.after.rflags)
}

/// Each named flag that changed: its name, and whether it is set now.
pub fn flag_bits(change: &RegisterChange) -> impl Iterator<Item = (&'static str, bool)> {
    named(change.before.rflags ^ change.after.rflags, change.after.rflags)
}

/// Each of the flags `changed` that has a name here: the name, and whether it is set in `after`.
pub fn named(changed: u64, after: u64) -> impl Iterator<Item = (&'static str, bool)> {
    FLAGS.iter().filter(move |(bit, _)| changed & bit != 0).map(move |(bit, name)| (*name, after & bit != 0))
}

/// Whether the row changed a flag that has a name here.
#[must_use]
pub fn some_flag(row: &StepRow) -> bool {
    match &row.stable {
        Some(stable) => !stable.flags.is_empty(),
        None => row.entry.registers.as_ref().is_some_and(|change| flag_bits(change).next().is_some()),
    }
}

/// The flags that are set, by name: `PF ZF`; `-` when none is.
#[must_use]
pub fn set_flags(rflags: u64) -> String {
    let set: Vec<&str> = FLAGS.iter().filter(|(bit, _)| rflags & bit != 0).map(|(_, name)| *name).collect();
    if set.is_empty() { "-".to_owned() } else { set.join(" ") }
}

/// Appends what follows the arrow. Two addresses that share their upper digits, such as a stack pointer before
/// and after a push, would fill half a line with them: only the digits that changed are repeated.
pub fn push_after(text: &mut String, before: u64, after: u64) {
    const POINTER_DIGITS: u32 = 9;
    let digits = hex::digits(after);
    let changed = hex::digits(before ^ after).max(2);
    if digits >= POINTER_DIGITS && digits == hex::digits(before) && changed <= digits / 2 {
        text.push('…');
        hex::push_digits(text, after, changed);
    } else {
        hex::push(text, after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::{RAX, RSP, Registers};

    #[test]
    fn names_only_what_changed() {
        let before = Registers { rflags: 0x246, ..Registers::default() };
        let mut after = before;
        after.general[RAX] = 0x30;
        after.general[RSP] = 8;
        after.rflags = 0x203;
        let change = RegisterChange { before, after };
        assert_eq!(general(&change).collect::<Vec<_>>(), [("rax", 0, 0x30), ("rsp", 0, 8)]);
        assert_eq!(flags(&change), Some(0x203));
        assert_eq!(flag_bits(&change).collect::<Vec<_>>(), [("CF", true), ("PF", false), ("ZF", false)]);
        assert_eq!(set_flags(0x246), "PF ZF");
        assert_eq!(set_flags(0x202), "-");
    }

    #[test]
    fn shared_digits_are_written_once() {
        let after = |before, after| {
            let mut text = String::new();
            push_after(&mut text, before, after);
            text
        };
        assert_eq!(after(0x7ffd_1b2c_3d48, 0x7ffd_1b2c_3d40), "…40");
        assert_eq!(after(0x7ffd_1b2c_3d48, 0x7ffd_1b2c_2d48), "…2d48");
        assert_eq!(after(0x7ffd_1b2c_3d48, 0x5555_5555_5139), "0x555555555139");
        assert_eq!(after(0x30, 0x12), "0x12");
        assert_eq!(after(0x7ffd_1b2c_3d48, 0), "0x0");
    }
}
