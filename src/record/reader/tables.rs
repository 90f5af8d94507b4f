//! Payloads that are written once, taken apart: the other half of `record::tables`. `None` where the bytes make no
//! sense.

use super::code_map::Block;
use super::input::Input;
use super::{Ending, Module, Symbol};
use crate::address::{Bias, RuntimeAddr};
use crate::record::code::{BLOCK, NO_MODULE};
use crate::record::counters::{CounterValues, FIGURES};

/// Figures in the `Counters` chunk of format version 1.
const FIGURES_OF_VERSION_1: usize = 6;

/// A code block, and the symbols that overlap it.
pub(super) fn code(payload: &[u8]) -> Option<(Block, Vec<Symbol>)> {
    let mut input = Input::new(payload);
    let address = RuntimeAddr(input.u64()?);
    if !address.0.is_multiple_of(BLOCK as u64) {
        return None;
    }
    let module = input.u32()?;
    let _zeros = input.u32()?;
    let block = Block {
        address,
        module: (module != NO_MODULE).then_some(module),
        bytes: Box::new(input.array()?),
        known: input.array()?,
        start: input.array()?,
        differs: input.array()?,
    };
    Some((block, rest_symbols(input)?))
}

pub(super) fn symbols(payload: &[u8]) -> Option<Vec<Symbol>> {
    rest_symbols(Input::new(payload))
}

fn rest_symbols(mut input: Input<'_>) -> Option<Vec<Symbol>> {
    let mut symbols = Vec::new();
    while !input.is_empty() {
        let start = RuntimeAddr(input.u64()?);
        let size = input.u64()?;
        let module = input.u32()?;
        let name = usize::from(input.u16()?);
        let raw = usize::from(input.u16()?);
        symbols.push(Symbol {
            name: text(input.bytes(name)?),
            raw: text(input.bytes(raw)?),
            start,
            size,
            module: (module != NO_MODULE).then_some(module),
        });
    }
    Some(symbols)
}

pub(super) fn modules(payload: &[u8]) -> Option<Vec<Module>> {
    let mut input = Input::new(payload);
    let mut modules = Vec::new();
    while !input.is_empty() {
        let id = input.u32()?;
        let bias = Bias(input.u64()?);
        let path = usize::from(input.u16()?);
        let build_id = usize::from(input.u16()?);
        let count = usize::from(input.u16()?);
        let path = text(input.bytes(path)?);
        let build_id = input.bytes(build_id)?.to_vec();
        let mut ranges = Vec::new();
        for _ in 0..count {
            ranges.push(RuntimeAddr(input.u64()?)..RuntimeAddr(input.u64()?));
        }
        modules.push(Module { id, path, bias, build_id, ranges });
    }
    Some(modules)
}

/// Later versions may add figures at the end: those that an older one lacks are 0.
pub(super) fn counters(payload: &[u8]) -> Option<CounterValues> {
    let mut input = Input::new(payload);
    let mut figures = [0; FIGURES];
    for (place, figure) in figures.iter_mut().enumerate() {
        *figure = if place >= FIGURES_OF_VERSION_1 && input.is_empty() { 0 } else { input.u64()? };
    }
    let [entered, traced, stops, step_hits, trigger_hits, guard_stops, stand_ins] = figures;
    Some(CounterValues { entered, traced, stops, step_hits, trigger_hits, guard_stops, stand_ins })
}

pub(super) fn end(payload: &[u8]) -> Option<Ending> {
    let mut input = Input::new(payload);
    let wait_status = input.u32()? as i32;
    let _zeros = input.u32()?;
    Some(Ending { wait_status, nanoseconds: input.u64()? })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
