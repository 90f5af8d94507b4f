//! One row or marker, as the other trace may have it.

use std::rc::Rc;

use super::divergence::What;
use crate::address::ElfAddr;
use crate::listing::names;
use crate::listing::rows::{MarkerRow, Row, StepRow};
use crate::listing::stable::{MASKED, StableAccess};
use crate::listing::syscall_result;
use crate::record::step::Syscall;

/// A row in the words of every run.
#[derive(Clone, Debug)]
pub struct Item(pub Row);

/// What two items have in common if control went the same way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    Step(Rc<str>, ElfAddr, u32),
    /// Outside every module.
    Elsewhere(String, u32),
    /// A marker, by kind; native stretches also by where they lead.
    Marker(&'static str, String),
}

impl Item {
    #[must_use]
    pub fn key(&self) -> Key {
        match &self.0 {
            Row::Step(row) => match &row.code.place.module {
                Some((module, offset)) => Key::Step(Rc::clone(module), *offset, row.entry.depth),
                None => Key::Elsewhere(row.code.text.clone(), row.entry.depth),
            },
            Row::Marker(row) => {
                let text =
                    if matches!(row.kind, "native" | "signal") { row.text.clone() } else { String::new() };
                Key::Marker(row.kind, text)
            }
            Row::Fold(_) => Key::Marker("fold", String::new()),
        }
    }

    /// Whether it is a step.
    #[must_use]
    pub const fn is_step(&self) -> bool {
        matches!(self.0, Row::Step(_))
    }

    /// What differs between two items of one key.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<What> {
        match (&self.0, &other.0) {
            (Row::Step(a), Row::Step(b)) => steps(a, b),
            (Row::Marker(a), Row::Marker(b)) => markers(a, b),
            _ => Vec::new(),
        }
    }
}

fn steps(a: &StepRow, b: &StepRow) -> Vec<What> {
    let (Some(one), Some(two)) = (&a.stable, &b.stable) else { return Vec::new() };
    let mut what = Vec::new();
    // Nor what follows from an instruction that only one of them has the bytes of: a trace may have been cut.
    let known = a.code.instruction.is_some() == b.code.instruction.is_some();
    // What only one of them recorded is no difference.
    if a.entry.registers.is_some() && b.entry.registers.is_some() {
        let unchanged = || "unchanged".to_owned();
        let after = |all: &[(&'static str, String, String)], name| {
            all.iter().find(|(it, ..)| *it == name).map_or_else(unchanged, |(.., after)| after.clone())
        };
        let names = one.registers.iter().chain(&two.registers).map(|(name, ..)| *name);
        let mut seen = Vec::new();
        for name in names {
            let (a, b) = (after(&one.registers, name), after(&two.registers, name));
            let said = known || a != unchanged() && b != unchanged();
            if said && !agree(&a, &b) && !seen.contains(&name) {
                seen.push(name);
                what.push(What::Register { name, a, b });
            }
        }
        // Where the flags before differ, or one trace did not see them, that was said or cannot be known.
        if known && one.flags != two.flags && one.rflags.0 == two.rflags.0 {
            what.push(What::Register { name: "flags", a: flags(&one.flags), b: flags(&two.flags) });
        }
    }
    if !a.entry.memory.is_empty() && !b.entry.memory.is_empty() && one.memory != two.memory {
        let same = |a: &StableAccess, b: &StableAccess| {
            (a.access, a.size) == (b.access, b.size)
                && agree(&a.address, &b.address)
                && agree(&a.value, &b.value)
        };
        for (a, b) in one.memory.iter().zip(&two.memory).filter(|(a, b)| !same(a, b)) {
            let words = |it: &StableAccess| format!("[{}]={}", it.address, it.value);
            what.push(What::Memory { a: words(a), b: words(b) });
        }
    }
    if one.syscall != two.syscall {
        let words = |it: &Option<Vec<String>>| it.as_ref().map_or_else(String::new, |all| all.join(", "));
        what.push(What::Arguments { a: words(&one.syscall), b: words(&two.syscall) });
    }
    if let (Some(a), Some(b)) = (&a.entry.syscall, &b.entry.syscall) {
        let (a, b) = (answer(a), answer(b));
        if a != b {
            what.push(What::Answer { a, b });
        }
    }
    what
}

/// What is masked is not known to differ: stepping by blocks knows less than stepping by instructions.
fn agree(a: &str, b: &str) -> bool {
    a == b || a == MASKED || b == MASKED
}

fn flags(flags: &[(&'static str, bool)]) -> String {
    if flags.is_empty() {
        return "unchanged".to_owned();
    }
    let words = flags.iter().map(|(name, set)| format!("{}{name}", if *set { "+" } else { "-" }));
    words.collect::<Vec<_>>().join(" ")
}

/// What the kernel answered, where two runs may expect the same.
fn answer(call: &Syscall) -> String {
    /// Numbers and addresses that the kernel hands out.
    const HANDED_OUT: [i64; 21] = [
        libc::SYS_wait4,
        libc::SYS_getpgrp,
        libc::SYS_getpgid,
        libc::SYS_getsid,
        libc::SYS_setsid,
        libc::SYS_alarm,
        libc::SYS_getcpu,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_getppid,
        libc::SYS_brk,
        libc::SYS_mmap,
        libc::SYS_mremap,
        libc::SYS_shmat,
        libc::SYS_fork,
        libc::SYS_vfork,
        libc::SYS_clone,
        libc::SYS_clone3,
        libc::SYS_set_tid_address,
        libc::SYS_time,
        libc::SYS_times,
    ];
    let Some(result) = syscall_result::result(call) else { return "no return".to_owned() };
    match names::error(result) {
        Some(error) => format!("-{error}"),
        None if HANDED_OUT.contains(&(call.number as i64)) => "success".to_owned(),
        None => (result as i64).to_string(),
    }
}

/// Where `enter` stands by module and offset: `enter gcd (a.out+0x1139)`, or `enter a.out+0x1139` where no name is known.
fn in_module(text: &str) -> &str {
    let place = text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")).map(|(_, place)| place);
    place.or_else(|| text.strip_prefix("enter ")).unwrap_or(text)
}

fn markers(a: &MarkerRow, b: &MarkerRow) -> Vec<What> {
    let mut what = Vec::new();
    // A trace that was cut may have lost the names of its code.
    let same_place = a.kind == "enter" && in_module(&a.text) == in_module(&b.text);
    let masked = a.kind == "leave" && [a, b].iter().any(|it| it.text.ends_with(MASKED));
    if a.text != b.text && !same_place && !masked {
        what.push(What::Words { a: a.text.clone(), b: b.text.clone() });
    }
    if let (Some(a), Some(b), "enter") = (&a.stable, &b.stable, a.kind) {
        // Of arguments those that both calls made use of: a cut trace may not have come to all.
        for (name, a) in &a.registers {
            let other = b.registers.iter().find(|(other, b)| other == name && b != a);
            what.extend(other.map(|(name, b)| What::Register { name, a: a.clone(), b: b.clone() }));
        }
    }
    what
}

#[cfg(test)]
mod tests {
    use super::in_module;

    #[test]
    fn entries_by_module_and_offset() {
        assert_eq!(in_module("enter gcd (a.out+0x1139)"), "a.out+0x1139");
        assert_eq!(in_module("enter f(int) (a.out+0x1139)"), "a.out+0x1139");
        assert_eq!(in_module("enter a.out+0x1139"), "a.out+0x1139");
    }
}
