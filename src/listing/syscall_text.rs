//! A system call as C would write it.

use super::hex;
use super::line::Line;
use super::palette::Palette;
use super::rows::StepRow;
use super::strings::Strings;
use super::syscall_signature::{Argument, argument, returns_address};
use super::{names, syscall_arity, syscall_result};
use crate::record::step::Syscall;

/// `write(1, "hello\n", 6) = 6`; nothing where the row is no system call.
pub fn push(line: &mut Line, palette: &Palette, row: &StepRow, strings: &Strings) {
    let Some(call) = &row.entry.syscall else { return };
    let name = names::syscall(call.number);
    line.style(palette.name).push(&name).style(palette.end).push("(");
    for index in 0..syscall_arity::arguments(call.number) {
        if index > 0 {
            line.push(", ");
        }
        push_argument(line, &name, call, index, strings);
    }
    line.push(")");
    let Some(result) = syscall_result::result(call) else { return };
    line.push(" = ").style(palette.value);
    match names::error(result) {
        Some(error) => line.push("-").push(&error),
        None if returns_address(&name) => line.push_with(|text| hex::push(text, result)),
        None => line.push(&(result as i64).to_string()),
    };
    line.style(palette.end);
}

fn push_argument(line: &mut Line, name: &str, call: &Syscall, index: usize, strings: &Strings) {
    let value = call.arguments[index];
    let int = value as u32 as i32;
    let length = call.arguments.get(index + 1).copied().unwrap_or(0);
    match argument(name, index) {
        Argument::Directory if int == libc::AT_FDCWD => line.push("AT_FDCWD"),
        Argument::Int | Argument::Directory => line.push(&int.to_string()),
        Argument::Long => line.push(&(value as i64).to_string()),
        Argument::Size => line.push(&value.to_string()),
        Argument::Mode => line.push(&if value == 0 { "0".to_owned() } else { format!("0{value:o}") }),
        Argument::Pointer | Argument::Text | Argument::Bytes if value == 0 => line.push("NULL"),
        Argument::Text => match strings.at(value) {
            Some(text) => line.push(&text),
            None => line.push_with(|text| hex::push(text, value)),
        },
        Argument::Bytes => match strings.buffer(value, length) {
            Some(text) => line.push(&text),
            None => line.push_with(|text| hex::push(text, value)),
        },
        Argument::Hex | Argument::Pointer => line.push_with(|text| hex::push(text, value)),
    };
}
