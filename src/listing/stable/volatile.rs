//! Functions out of scope whose answers no two runs share.

use super::taint::Taint;
use crate::address::RuntimeAddr;
use crate::record::reader::Trace;
use crate::registers::{RDI, RSI, Registers};

/// Functions that answer something else each time, or on each machine.
pub const VOLATILE: &[&str] = &[
    "clock",
    "clock_gettime",
    "getpid",
    "getppid",
    "getrandom",
    "gettid",
    "gettimeofday",
    "random",
    "syscall",
    "time",
    "uname",
];

/// The name of the function at `address`, without what is said about how it is reached.
#[must_use]
pub fn function_at(trace: &Trace, address: RuntimeAddr) -> String {
    let name = trace.symbol(address).map_or("", |hit| &hit.symbol.name);
    name.split('@').next().unwrap_or_default().trim_start_matches("__vdso_").to_owned()
}

/// What a function out of scope wrote through its arguments.
pub fn fill(function: &str, registers: &Registers, taint: &mut Taint) {
    const TIME: u64 = 16;
    let (first, second) = (registers.general[RDI], registers.general[RSI]);
    match function {
        "clock_gettime" => taint.set_memory(second, TIME, true),
        "gettimeofday" | "time" => taint.set_memory(first, TIME, true),
        "getrandom" => taint.set_memory(first, second, true),
        "uname" => taint.set_memory(first, size_of::<libc::utsname>() as u64, true),
        _ => {}
    }
}
