//! Header and summary of a listing that every run repeats: without what tells runs, machines and engines apart.

use serde::Serialize;

use super::json::VERSION;
use super::options::Values;
use super::text_frame::subject_words;
use crate::check::summary::Summary;
use crate::record::reader::Trace;

#[derive(Serialize)]
#[serde(tag = "type", rename = "header")]
pub struct StableHeaderLine<'a> {
    version: u32,
    /// Says that values are words.
    values: &'static str,
    command: Vec<String>,
    functions: &'a [String],
}

impl<'a> StableHeaderLine<'a> {
    pub fn new(trace: &'a Trace) -> Self {
        Self {
            version: VERSION,
            values: "stable",
            command: subject_words(trace, Values::Stable),
            functions: &trace.header.functions,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "summary")]
pub struct StableSummaryLine {
    entered: u64,
    traced: u64,
    steps: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unclosed: bool,
}

impl StableSummaryLine {
    pub fn new(summary: &Summary, trace: &Trace) -> Self {
        let Summary { entered, traced, steps, .. } = *summary;
        Self { entered, traced, steps, unclosed: trace.is_unclosed() }
    }
}
