//! [`Settings`] as plain numbers, the way they cross from process to process.

use super::control::{Delivery, Engine, Into, Rearm, Settings, StepMode};
use super::counted::{Counted, Counting, Unit};

/// Bytes from another process are never taken for an enum: they are numbers until [`SettingsImage::decode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct SettingsImage {
    pub engine: u32,
    pub delivery: u32,
    pub rearm: u32,
    pub step: u32,
    pub into: u32,
    pub registers: u32,
    pub memory: u32,
    pub patch: u32,
    pub event: u32,
    pub unit: u32,
    pub first_call: u64,
    pub calls: u64,
    pub max_steps: u64,
    /// With `event` [`RAW`].
    pub encoding: u64,
    pub tail: u64,
    pub period: u64,
}

const INSTRUCTIONS: u32 = 1;
const BRANCHES: u32 = 2;
const CYCLES: u32 = 3;
const RAW: u32 = 4;

impl From<&Settings> for SettingsImage {
    fn from(settings: &Settings) -> Self {
        let Counting { event, unit, tail, period } = settings.counting;
        let (event, encoding) = match event {
            Counted::Instructions => (INSTRUCTIONS, 0),
            Counted::Branches => (BRANCHES, 0),
            Counted::Cycles => (CYCLES, 0),
            Counted::Raw(encoding) => (RAW, encoding),
        };
        Self {
            engine: settings.engine as u32,
            delivery: settings.delivery as u32,
            rearm: settings.rearm as u32,
            step: settings.step as u32,
            into: settings.into as u32,
            registers: u32::from(settings.registers),
            memory: u32::from(settings.memory),
            patch: u32::from(settings.patch),
            event,
            unit: unit as u32,
            first_call: settings.first_call,
            calls: settings.calls,
            max_steps: settings.max_steps,
            encoding,
            tail,
            period,
        }
    }
}

impl SettingsImage {
    /// `None` when a number has no meaning.
    pub(super) fn decode(&self) -> Option<Settings> {
        Some(Settings {
            engine: match self.engine {
                1 => Engine::Breakpoint,
                2 => Engine::TrapFlag,
                3 => Engine::Instructions,
                _ => return None,
            },
            delivery: match self.delivery {
                1 => Delivery::Sigtrap,
                2 => Delivery::Fasync,
                3 => Delivery::Trap,
                _ => return None,
            },
            rearm: match self.rearm {
                1 => Rearm::Refresh,
                2 => Rearm::RefreshPeriod,
                3 => Rearm::KeepAboveZero,
                4 => Rearm::DisableEnable,
                _ => return None,
            },
            step: match self.step {
                1 => StepMode::Instruction,
                2 => StepMode::Block,
                _ => return None,
            },
            into: match self.into {
                1 => Into::Module,
                2 => Into::All,
                3 => Into::None,
                _ => return None,
            },
            first_call: self.first_call,
            calls: self.calls,
            max_steps: self.max_steps,
            registers: flag(self.registers)?,
            memory: flag(self.memory)?,
            patch: flag(self.patch)?,
            counting: Counting {
                event: match self.event {
                    INSTRUCTIONS => Counted::Instructions,
                    BRANCHES => Counted::Branches,
                    CYCLES => Counted::Cycles,
                    RAW => Counted::Raw(self.encoding),
                    _ => return None,
                },
                unit: match self.unit {
                    1 => Unit::Instruction,
                    2 => Unit::Branch,
                    3 => Unit::Other,
                    _ => return None,
                },
                tail: self.tail,
                period: self.period,
            },
        })
    }
}

fn flag(number: u32) -> Option<bool> {
    match number {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            engine: Engine::Instructions,
            delivery: Delivery::Fasync,
            rearm: Rearm::DisableEnable,
            step: StepMode::Block,
            into: Into::None,
            first_call: 3,
            calls: u64::MAX,
            max_steps: 17,
            registers: true,
            memory: false,
            patch: true,
            counting: Counting { event: Counted::Raw(0x1c2), unit: Unit::Branch, tail: 3, period: 4 },
        }
    }

    #[test]
    fn settings_come_back() {
        assert_eq!(SettingsImage::from(&settings()).decode(), Some(settings()));
    }

    #[test]
    fn numbers_without_meaning_are_refused() {
        let good = SettingsImage::from(&settings());
        let bad = [
            SettingsImage { engine: 0, ..good },
            SettingsImage { delivery: 4, ..good },
            SettingsImage { rearm: 5, ..good },
            SettingsImage { step: 3, ..good },
            SettingsImage { into: 0, ..good },
            SettingsImage { registers: 2, ..good },
            SettingsImage { memory: u32::MAX, ..good },
            SettingsImage { patch: 2, ..good },
            SettingsImage { event: 0, ..good },
            SettingsImage { unit: 4, ..good },
        ];
        assert!(bad.iter().all(|image| image.decode().is_none()));
    }
}
