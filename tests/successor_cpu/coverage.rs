//! How much of what was tried.

use crate::judge::Verdict;
use iced_x86::Mnemonic;
use overstep::image::class::Class;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Default)]
pub struct Coverage {
    pub sequences: u64,
    pub steps: u64,
    /// Retired and gone on, retired and jumped, faulted.
    classes: BTreeMap<Class, [u64; 3]>,
    undecodable: u64,
    excluded: BTreeMap<&'static str, u64>,
    /// Instructions that the decoder knows and this CPU does not.
    pub illegal: BTreeMap<Mnemonic, u64>,
    pub wrong: Vec<String>,
}

impl Coverage {
    pub fn count(&mut self, verdict: &Verdict) {
        self.steps += 1;
        match verdict {
            Verdict::Excluded(reason) => *self.excluded.entry(reason).or_default() += 1,
            Verdict::Retired { class, jumped, .. } => {
                self.classes.entry(*class).or_default()[usize::from(*jumped)] += 1;
            }
            Verdict::Faulted { class, illegal, .. } => {
                match class {
                    Some(class) => self.classes.entry(*class).or_default()[2] += 1,
                    None => self.undecodable += 1,
                }
                if let Some(mnemonic) = illegal {
                    *self.illegal.entry(*mnemonic).or_default() += 1;
                }
            }
            Verdict::Wrong(text) => self.wrong.push(text.clone()),
        }
    }

    /// How often an instruction of `class` retired and (`jumped`) did not just go on.
    pub fn retired(&self, class: Class, jumped: bool) -> u64 {
        self.classes.get(&class).map_or(0, |counts| counts[usize::from(jumped)])
    }

    pub fn undecodable(&self) -> u64 {
        self.undecodable
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} sequences, {} instructions", self.sequences, self.steps)?;
        writeln!(f, "  {:28} {:>9} {:>9} {:>9}", "class", "went on", "jumped", "faulted")?;
        for (class, [on, jumped, faulted]) in &self.classes {
            writeln!(f, "  {:28} {on:>9} {jumped:>9} {faulted:>9}", format!("{class:?}"))?;
        }
        writeln!(f, "  {:28} {:>9} {:>9} {:>9}", "undecodable", "-", "-", self.undecodable)?;
        for (reason, count) in &self.excluded {
            writeln!(f, "  left out, {reason}: {count}")?;
        }
        let unknown: u64 = self.illegal.values().sum();
        write!(
            f,
            "  not on this CPU: {unknown} of {} mnemonics {:?}",
            self.illegal.len(),
            self.illegal.keys()
        )
    }
}
