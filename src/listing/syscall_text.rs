//! A system call as C would write it.

use std::rc::Rc;

use super::hex;
use super::line::Line;
use super::palette::Palette;
use super::rows::StepRow;
use super::stable::MASKED;
use super::strings::Strings;
use super::syscall_signature::{Argument, argument, returns_address};
use super::{names, syscall_arity, syscall_flags, syscall_result};
use crate::record::step::Syscall;

/// `write(1, "hello\n", 6) = 6`; nothing where the row is no system call.
pub fn push(line: &mut Line, palette: &Palette, row: &StepRow, strings: &Strings) {
    let Some(call) = &row.entry.syscall else { return };
    let name = names::syscall(call.number);
    line.style(palette.name).push(&name).style(palette.end).push("(");
    match row.stable.as_ref().and_then(|stable| stable.syscall.as_ref()) {
        Some(arguments) => line.push(&arguments.join(", ")),
        None => {
            let none = Default::default();
            let texts = Texts { constants: strings, recorded: row.texts.as_deref().unwrap_or(&none) };
            line.push(&arguments(call, &texts, &|_| false, &mut |_| None).join(", "))
        }
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

/// Where the strings are that arguments point to.
pub struct Texts<'a> {
    pub constants: &'a Strings,
    /// By argument, what the rows before hold.
    pub recorded: &'a [Option<Rc<str>>; 6],
}

/// The arguments that the call takes: masked where `unknown` says so of their index, and by the `name` of what they are the
/// address of, where there is one.
pub fn arguments(
    call: &Syscall,
    texts: &Texts<'_>,
    unknown: &dyn Fn(usize) -> bool,
    name_of: &mut dyn FnMut(u64) -> Option<String>,
) -> Vec<String> {
    let name = names::syscall(call.number);
    (0..syscall_arity::arguments(call.number))
        .map(|index| {
            let value = call.arguments[index];
            let int = value as u32 as i32;
            let length = call.arguments.get(index + 1).copied().unwrap_or(0);
            let or_hex = |name: Option<String>| name.unwrap_or_else(|| hex::hex(value));
            match argument(&name, index) {
                _ if unknown(index) => MASKED.to_owned(),
                Argument::Directory if int == libc::AT_FDCWD => "AT_FDCWD".to_owned(),
                Argument::Int | Argument::Directory => int.to_string(),
                Argument::Long => name_of(value).unwrap_or_else(|| (value as i64).to_string()),
                Argument::Size => name_of(value).unwrap_or_else(|| value.to_string()),
                Argument::Mode if value == 0 => "0".to_owned(),
                Argument::Mode => format!("0{value:o}"),
                Argument::Pointer | Argument::Text | Argument::Bytes if value == 0 => "NULL".to_owned(),
                Argument::Text => {
                    let text = texts.constants.text(value);
                    let text = text.or_else(|| texts.recorded[index].as_deref().map(str::to_owned));
                    text.unwrap_or_else(|| or_hex(name_of(value)))
                }
                Argument::Bytes => {
                    let text = texts.constants.buffer(value, length);
                    let text = text.or_else(|| texts.recorded[index].as_deref().map(str::to_owned));
                    text.unwrap_or_else(|| or_hex(name_of(value)))
                }
                Argument::Open => syscall_flags::open(value),
                Argument::Descriptor => syscall_flags::descriptor(value),
                Argument::Protection => syscall_flags::protection(value),
                Argument::Mapping => syscall_flags::mapping(value),
                Argument::Hex | Argument::Pointer => or_hex(name_of(value)),
            }
        })
        .collect()
}
