//! System calls by the table of 32-bit programs: `int 0x80` makes them in 64-bit code, too, with the numbers and registers of
//! i386 (Linux `arch/x86/entry/syscall_32.c`, do_int80_syscall_64).

use crate::record::reader::StepEntry;
use crate::record::step::Syscall;
use crate::registers::{RBP, RBX, RCX, RDI, RDX, RSI};

/// Numbers from here on are those of i386: no call of either table has one.
const FIRST: u64 = 1 << 32;

/// The registers of the arguments (syscall(2)).
pub const ARGUMENTS: [usize; 6] = [RBX, RCX, RDX, RSI, RDI, RBP];

/// Whether the row makes its call so.
#[must_use]
pub fn is_one(step: &StepEntry) -> bool {
    step.syscall.is_some() && step.bytes.starts_with(&[0xcd, 0x80])
}

/// The call that the row makes, with a number from a range of its own; `None` for one of 64-bit programs, and where the
/// registers that it took its arguments from are not known.
#[must_use]
pub fn of(step: &StepEntry) -> Option<Syscall> {
    let call = step.syscall.as_ref().filter(|_| is_one(step))?;
    let before = step.before()?;
    let half = |value: u64| value & u64::from(u32::MAX);
    // An error is a negated number of 32 bits.
    let result = call.result as u32 as i32;
    let result = if (-4095..0).contains(&result) { i64::from(result) as u64 } else { call.result };
    Some(Syscall {
        number: FIRST + half(call.number),
        arguments: ARGUMENTS.map(|index| half(before.general[index])),
        result,
    })
}

/// The number in the table of i386, of a call that came from [`of`].
#[must_use]
pub fn number(number: u64) -> Option<u64> {
    number.checked_sub(FIRST).filter(|number| *number < FIRST)
}

/// Calls whose arguments are others than those of the 64-bit one by that name: halves of offsets, or a structure.
const OTHERS: [&str; 9] = [
    "fadvise64",
    "fallocate",
    "mmap",
    "pread64",
    "pwrite64",
    "readahead",
    "select",
    "sync_file_range",
    "truncate64",
];

/// The number of the 64-bit call that takes the same arguments: by name, which may end in a width.
#[must_use]
pub fn twin(name: &str) -> Option<u64> {
    let number = |name: &str| name.parse::<syscalls::Sysno>().ok().map(|call| call.id() as u64);
    let plain = || number(name.strip_suffix("32").or_else(|| name.strip_suffix("64"))?);
    if OTHERS.contains(&name) || name == "ftruncate64" { None } else { number(name).or_else(plain) }
}

#[cfg(test)]
mod tests {
    use crate::check::synthetic::{Synthetic, THREAD};
    use crate::listing::column::Column;
    use crate::listing::golden::{json_of, leak, text_of};
    use crate::listing::options::{Options, Values};
    use crate::record::step::Syscall;
    use crate::registers::{R11, RAX, RBX, RCX, RDX};

    fn listed(number: u64, result: u64, values: Values) -> (String, String) {
        let mut trace = Synthetic::new();
        trace.enter(THREAD, 1, 0x1100);
        let at_start = [(RAX, number), (RBX, 0xffff_0001), (RCX, 0), (RDX, 7), (R11, 0x1234)];
        trace.step(
            0x1102,
            |r| at_start.into_iter().for_each(|(index, value)| r.general[index] = value),
            |step| step.bytes = Some(&[0x31, 0xc0]),
        );
        let call = leak(Syscall { number, arguments: [1, 2, 3, 4, 5, 6], result });
        trace.step(
            0x1104,
            |r| r.general[RAX] = result,
            |step| (step.bytes, step.syscall) = (Some(&[0xcd, 0x80][..]), Some(call)),
        );
        let columns = vec![Column::Instruction, Column::Syscall, Column::Registers];
        let options = Options { columns, summary: false, values, ..Options::default() };
        let trace = trace.read();
        let row =
            |text: String| text.lines().rfind(|line| line.contains("0x80")).unwrap_or_default().to_owned();
        (row(text_of(&trace, &options)), json_of(&trace, &options))
    }

    #[test]
    fn the_table_of_32_bit_programs_and_their_registers() {
        let (text, json) = listed(20, 18_517, Values::Recorded);
        assert!(text.contains("getpid() = 18517"), "{text}");
        assert!(json.contains(r#""number":20,"name":"getpid","abi":"i386""#), "{json}");
        let (text, _) = listed(4, 0xffff_fff2, Values::Recorded);
        assert!(text.contains("write(-65535, NULL, 7) = -EFAULT"), "{text}");
        assert!(listed(1, 1, Values::Recorded).0.contains("exit(-65535)"));
        assert!(listed(192, 0, Values::Recorded).0.contains("mmap2(0xffff0001, "));
        assert!(listed(999, 0, Values::Recorded).0.contains("i386_syscall_999("));
    }

    #[test]
    fn it_changes_no_register_but_the_result() {
        let (text, _) = listed(20, 18_517, Values::Stable);
        assert!(text.contains("getpid() = ?"), "{text}");
        assert!(text.contains("rax 0x14→?") && !text.contains("rcx") && !text.contains("r11"), "{text}");
    }
}
