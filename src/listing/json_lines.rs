//! Header, markers and summary as JSON objects, in the contract's order of fields. What was not recorded is absent.

use serde::Serialize;

use super::changes::FLAGS_NAME;
use super::ending::Ending;
use super::hex::{self, hex};
use super::json::VERSION;
use super::json_registers::RegisterMap;
use super::markers::exit_status;
use super::names;
use super::rows::{MarkerRow, Occasion};
use crate::check::summary::Summary;
use crate::record::marker::Marker;
use crate::record::reader::Trace;
use crate::registers::GENERAL_NAMES;

#[derive(Serialize)]
#[serde(tag = "type", rename = "header")]
pub struct HeaderLine<'a> {
    version: u32,
    engine: &'static str,
    delivery: &'static str,
    /// What the `instructions` engine counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<String>,
    step: &'static str,
    kernel: &'a str,
    cpu: &'a str,
    command: &'a [String],
    functions: &'a [String],
    modules: Vec<ModuleObject<'a>>,
    overstep: &'a str,
}

#[derive(Serialize)]
struct ModuleObject<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    build_id: Option<String>,
    /// What the loader added to the addresses of the ELF file; `offset` in a step is its address minus this.
    base: String,
}

impl<'a> HeaderLine<'a> {
    pub fn new(trace: &'a Trace) -> Self {
        let header = &trace.header;
        let modules = trace.modules().iter().map(|module| ModuleObject {
            path: &module.path,
            build_id: Some(&module.build_id).filter(|id| !id.is_empty()).map(|id| {
                let mut text = String::new();
                hex::push_bytes(&mut text, id);
                text
            }),
            base: hex(module.bias.0),
        });
        Self {
            version: VERSION,
            engine: names::engine(header.engine),
            delivery: names::delivery(header.delivery),
            event: header.calibration.as_ref().map(|counter| counter.event.to_string()),
            step: names::step_mode(header.step),
            kernel: &header.kernel,
            cpu: &header.cpu.name,
            command: &header.command,
            functions: &header.functions,
            modules: modules.collect(),
            overstep: &header.overstep,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "marker")]
pub struct MarkerLine<'a> {
    call: u64,
    after: u64,
    thread: u64,
    kind: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    regs: Option<RegisterMap>,
    /// With `exit`, where the process ended by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u8>,
    /// With `exit`, where a signal ended the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<u32>,
}

impl<'a> MarkerLine<'a> {
    pub fn new(row: &'a MarkerRow) -> Self {
        let stable = row.stable.as_deref();
        let regs = match &row.occasion {
            _ if stable.is_some() => stable.map(|it| it.registers.clone()).filter(|it| !it.is_empty()),
            Occasion::Recorded(Marker::Enter { registers, .. }) => {
                let general =
                    GENERAL_NAMES.iter().zip(registers.general).map(|(name, value)| (*name, hex(value)));
                let others = [("rip", hex(registers.rip.0)), (FLAGS_NAME, hex(registers.rflags))];
                Some(general.chain(others).collect())
            }
            Occasion::Recorded(Marker::Leave { rax, xmm0 }) | Occasion::Discarded { rax, xmm0 } => {
                let mut vector = String::new();
                hex::push_little_endian(&mut vector, xmm0);
                Some(vec![("rax", hex(*rax)), ("xmm0", vector)])
            }
            _ => None,
        };
        let (status, signal) = match row.occasion {
            Occasion::Recorded(Marker::Exit { status }) => (Some(exit_status(status)), None),
            Occasion::CutOff(Ending::Exited(status)) => (Some(status), None),
            Occasion::CutOff(Ending::Killed(signal)) => (None, Some(signal)),
            _ => (None, None),
        };
        Self {
            call: row.call,
            after: row.after,
            thread: row.thread(),
            kind: row.kind,
            text: &row.text,
            regs: regs.map(RegisterMap),
            status,
            signal,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "summary")]
pub struct SummaryLine {
    entered: u64,
    traced: u64,
    steps: u64,
    exact: u64,
    zero: u64,
    skid: u64,
    reconstructed: u64,
    unexplained: u64,
    lost: u64,
    /// Absent where every stop was an event's.
    #[serde(skip_serializing_if = "is_zero")]
    stand_ins: u64,
    all_expected: bool,
    /// Three significant digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    miss_rate_95: Option<f64>,
    /// Absent of a trace that was closed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unclosed: bool,
}

impl SummaryLine {
    pub fn new(summary: &Summary, trace: &Trace) -> Self {
        Self {
            entered: summary.entered,
            traced: summary.traced,
            steps: summary.steps,
            exact: summary.exact,
            zero: summary.zero,
            skid: summary.skid,
            reconstructed: summary.reconstructed,
            unexplained: summary.unexplained,
            lost: summary.lost,
            stand_ins: summary.stand_ins,
            all_expected: summary.all_expected(),
            miss_rate_95: summary.miss_rate_95().and_then(|rate| format!("{rate:.2e}").parse().ok()),
            unclosed: trace.is_unclosed(),
        }
    }
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}
