//! Registers and flags as JSON objects.

use std::collections::HashMap;

use serde::{Serialize, Serializer};

use super::changes::{self, FLAGS_NAME};
use super::hex::hex;
use super::rows::{MarkerRow, Occasion, StepRow};
use crate::address::RuntimeAddr;
use crate::record::marker::Marker;
use crate::record::step::RegisterChange;
use crate::registers::{GENERAL_NAMES, Registers};

/// Register names and values, in that order in the object.
pub(super) struct RegisterMap(pub(super) Vec<(&'static str, String)>);

impl Serialize for RegisterMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Flags by name, and whether they are set.
pub(super) struct FlagMap(pub(super) Vec<(&'static str, bool)>);

impl Serialize for FlagMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// What a reader of the lines so far knows of each thread's registers.
#[derive(Default)]
pub(super) struct RegisterStates(HashMap<u32, Registers>);

impl RegisterStates {
    /// Follows a step. What its registers were at its start, where the lines before do not say so: native calls, signals
    /// and the kernel change registers between rows, and a selection leaves rows out.
    pub(super) fn step(&mut self, row: &StepRow) -> Option<RegisterMap> {
        let before = *row.entry.before()?;
        let known = self.0.get(&row.entry.thread).copied();
        let after = row.entry.registers.as_ref().map_or(before, |change| change.after);
        self.0.insert(row.entry.thread, after);
        let Some(known) = known else { return Some(all(&before)) };
        let before = Registers { rip: RuntimeAddr(0), ..before };
        let change = RegisterChange { before: Registers { rip: RuntimeAddr(0), ..known }, after: before };
        if change.before == change.after {
            return None;
        }
        let general = changes::general(&change).map(|(name, _, now)| (name, hex(now)));
        let flags = changes::flags(&change).map(|rflags| (FLAGS_NAME, hex(rflags)));
        Some(RegisterMap(general.chain(flags).collect()))
    }

    /// Follows a marker, of which `enter` has all registers.
    pub(super) fn marker(&mut self, row: &MarkerRow) {
        if let Occasion::Recorded(Marker::Enter { registers, .. }) = row.occasion {
            self.0.insert(row.thread, registers);
        }
    }
}

/// Every general register, and RFLAGS.
fn all(registers: &Registers) -> RegisterMap {
    let general = GENERAL_NAMES.iter().zip(registers.general).map(|(name, value)| (*name, hex(value)));
    RegisterMap(general.chain([(FLAGS_NAME, hex(registers.rflags))]).collect())
}
