//! The file header: what is known before the program starts. Written by the parent, read by everyone.

use serde::{Deserialize, Serialize};

use super::calibration::Calibration;
use super::control::{Delivery, Engine, Into, Rearm, StepMode};
use super::crc::crc32;
use super::layout::{FILE_MAGIC, FILE_PAGE, MAJOR, MINOR};

/// Whose rules the decoder follows where vendors disagree (66-prefixed near branches).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecoderVendor {
    Intel,
    Amd,
}

/// The CPU, by its own account (`cpuid` leaves 0, 1 and 0x80000002–4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    pub vendor: String,
    pub family: u32,
    pub model: u32,
    pub stepping: u32,
    pub name: String,
}

/// What is known at start. Later minor versions may add fields, with a default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceHeader {
    /// The version of overstep that wrote the trace.
    pub overstep: String,
    pub engine: Engine,
    pub delivery: Delivery,
    pub rearm: Rearm,
    pub step: StepMode,
    pub into: Into,
    /// Steps carry register changes.
    pub registers: bool,
    /// Steps carry memory operands.
    pub memory: bool,
    /// `uname -r`.
    pub kernel: String,
    pub cpu: Cpu,
    pub decoder: DecoderVendor,
    /// The program and its arguments; what is not UTF-8 is replaced.
    pub command: Vec<String>,
    /// The functions asked for, as the user wrote them.
    pub functions: Vec<String>,
    /// Of the `instructions` engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// Seconds since 1970-01-01 UTC.
    pub started: u64,
}

impl TraceHeader {
    /// The header as the file has it: fixed part, JSON, zeros up to a multiple of 4096 bytes.
    ///
    /// # Errors
    /// None in practice; serde_json's signature has one.
    pub fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        let json = serde_json::to_vec(self)?;
        let size = (FIXED + json.len()).next_multiple_of(FILE_PAGE);
        let mut bytes = Vec::with_capacity(size);
        bytes.extend_from_slice(&FILE_MAGIC);
        bytes.extend_from_slice(&MAJOR.to_le_bytes());
        bytes.extend_from_slice(&MINOR.to_le_bytes());
        bytes.extend_from_slice(&(size as u32).to_le_bytes());
        bytes.extend_from_slice(&(json.len() as u32).to_le_bytes());
        let checksum = crc32(&[&bytes, &json]);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes.extend_from_slice(&json);
        bytes.resize(size, 0);
        Ok(bytes)
    }
}

/// Bytes before the JSON: magic 8, major 2, minor 2, header size 4, JSON length 4, CRC 4.
pub(super) const FIXED: usize = 24;
