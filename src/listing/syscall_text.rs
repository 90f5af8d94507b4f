//! A system call as C would write it.

use super::hex;
use super::line::Line;
use super::palette::Palette;
use super::rows::StepRow;
use super::stable::MASKED;
use super::strings::Strings;
use super::syscall_signature::{Argument, argument, returns_address};
use super::{names, syscall_arity, syscall_result};
use crate::record::step::Syscall;

/// `write(1, "hello\n", 6) = 6`; nothing where the row is no system call.
pub fn push(line: &mut Line, palette: &Palette, row: &StepRow, strings: &Strings) {
    let Some(call) = &row.entry.syscall else { return };
    let name = names::syscall(call.number);
    line.style(palette.name).push(&name).style(palette.end).push("(");
    match row.stable.as_ref().and_then(|stable| stable.syscall.as_ref()) {
        Some(arguments) => line.push(&arguments.join(", ")),
        None => line.push(&arguments(call, strings, &mut hex::hex).join(", ")),
    };
    line.push(")");
    let Some(result) = syscall_result::result(call) else { return };
    line.push(" = ").style(palette.value);
    match names::error(result) {
        _ if row.stable.is_some() => line.push(MASKED),
        Some(error) => line.push("-").push(&error),
        None if returns_address(&name) => line.push_with(|text| hex::push(text, result)),
        None => line.push(&(result as i64).to_string()),
    };
    line.style(palette.end);
}

/// The arguments that the call takes; `render` writes those that are addresses or nobody knows what.
pub fn arguments(call: &Syscall, strings: &Strings, render: &mut dyn FnMut(u64) -> String) -> Vec<String> {
    let name = names::syscall(call.number);
    (0..syscall_arity::arguments(call.number))
        .map(|index| {
            let value = call.arguments[index];
            let int = value as u32 as i32;
            let length = call.arguments.get(index + 1).copied().unwrap_or(0);
            match argument(&name, index) {
                Argument::Directory if int == libc::AT_FDCWD => "AT_FDCWD".to_owned(),
                Argument::Int | Argument::Directory => int.to_string(),
                Argument::Long => (value as i64).to_string(),
                Argument::Size => value.to_string(),
                Argument::Mode if value == 0 => "0".to_owned(),
                Argument::Mode => format!("0{value:o}"),
                Argument::Pointer | Argument::Text | Argument::Bytes if value == 0 => "NULL".to_owned(),
                Argument::Text => strings.at(value).map_or_else(|| render(value), |text| text.to_string()),
                Argument::Bytes => strings.buffer(value, length).unwrap_or_else(|| render(value)),
                Argument::Hex | Argument::Pointer => render(value),
            }
        })
        .collect()
}
