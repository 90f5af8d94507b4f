//! What a function that ran out of sight has left behind.

use super::effects::{self, Effect};
use super::outside::{mapped_length, written_by_call, written_by_function};
use super::regions::Regions;
use super::scanned::{self, Scanned};
use super::tag::{Tag, Value};
use super::taint::Taint;
use crate::address::RuntimeAddr;
use crate::listing::names;
use crate::record::reader::Trace;
use crate::registers::{ARGUMENTS, RAX, RSI};

/// Functions whose number of arguments is known (the manual pages in section 3): what other argument registers hold is
/// nothing to them.
const ARITY: &[(&str, usize)] = &[
    ("atof", 1),
    ("atoi", 1),
    ("atol", 1),
    ("atoll", 1),
    ("calloc", 2),
    ("fclose", 1),
    ("fflush", 1),
    ("fopen", 2),
    ("fputs", 2),
    ("free", 1),
    ("getenv", 1),
    ("malloc", 1),
    ("memchr", 3),
    ("memcmp", 3),
    ("memcpy", 3),
    ("memmove", 3),
    ("memset", 3),
    ("putchar", 1),
    ("puts", 1),
    ("qsort", 4),
    ("realloc", 2),
    ("strcasecmp", 2),
    ("strcat", 2),
    ("strchr", 2),
    ("strcmp", 2),
    ("strcpy", 2),
    ("strcspn", 2),
    ("strdup", 1),
    ("strlen", 1),
    ("strncmp", 3),
    ("strncpy", 3),
    ("strnlen", 2),
    ("strrchr", 2),
    ("strspn", 2),
    ("strstr", 2),
    ("strtod", 2),
    ("strtol", 3),
    ("strtoll", 3),
    ("strtoul", 3),
    ("strtoull", 3),
    ("tolower", 1),
    ("toupper", 1),
];

const TM: u64 = size_of::<libc::tm>() as u64;
const DIRENT: u64 = size_of::<libc::dirent>() as u64;

/// Functions whose result leads to what comes from outside, a `struct tm` or a text for instance, and how long that is.
const LEADING: &[(&str, u64)] = &[
    ("asctime", TM),
    ("ctime", TM),
    ("getlogin", TM),
    ("getpwnam", 48),
    ("getpwuid", 48),
    ("gmtime", TM),
    ("localtime", TM),
    ("readdir", DIRENT),
    ("readdir64", DIRENT),
    ("tmpnam", TM),
    ("ttyname", TM),
];

/// A call that has left the scope, and its arguments, as far as they are known.
#[derive(Clone, Debug)]
pub struct Native {
    /// The name of the function, or the names that it goes by.
    pub names: [String; 2],
    pub arguments: [Option<u64>; 6],
    /// How many of the vector registers hold arguments, as far as that is known.
    pub vectors: usize,
    pub vdso: bool,
    /// An argument is a format that asks for an address.
    pub formats_address: bool,
    /// What a format of scanf(3) among the arguments says of what is read.
    pub scanned: Option<Scanned>,
}

/// The name of the function at `address` as the documentation has it.
#[must_use]
pub fn function_at(trace: &Trace, address: RuntimeAddr) -> String {
    documented(trace.symbol(address).map_or("", |hit| &hit.symbol.name)).to_owned()
}

/// A function's name without what is said about how it is reached, and as the documentation calls it.
#[must_use]
pub fn documented(name: &str) -> &str {
    let name = name.split('@').next().unwrap_or_default();
    let name = name.strip_prefix("__vdso_").or_else(|| name.strip_prefix("_IO_")).unwrap_or(name);
    let name = name.trim_start_matches('_');
    let name = name.strip_suffix("_chk").unwrap_or(name);
    // Newer standards of C have some functions anew.
    name.strip_prefix("isoc99_").or_else(|| name.strip_prefix("isoc23_")).unwrap_or(name)
}

impl Native {
    /// How many bytes of memory of its own it hands out, if it does.
    #[must_use]
    pub fn maps(&self) -> Option<u64> {
        let arguments = self.arguments.map(Option::unwrap_or_default);
        self.names.iter().find_map(|name| mapped_length(name, &arguments)).filter(|length| *length > 0)
    }

    /// What it made of memory and its result, once that is known. The registers are as before the call; but the scratch ones
    /// are left to [`Registers::ran_natively`](super::taint::Registers::ran_natively), which this does.
    pub fn returns(&self, result: Option<u64>, regions: &Regions, taint: &mut Taint) {
        let arguments = &self.arguments;
        let known = |table: &[&str]| self.names.iter().any(|name| table.contains(&name.as_str()));
        let jumped = known(&["longjmp", "siglongjmp"]).then(|| *taint.registers.general(RSI));
        let masked = self.takes_masked(taint);
        let mut outside = self.vdso;
        // What it writes is known, if it writes anything.
        let mut known_writes = self.vdso;
        for name in &self.names {
            if name == "syscall" {
                // syscall(2) takes the call's number first.
                let shifted = std::array::from_fn(|i| arguments.get(i + 1).copied().flatten());
                if let Some(number) = arguments[0] {
                    let is_address = |value| regions.is_address(value);
                    let call = names::syscall(number);
                    written_by_call(&call, &shifted, result, &is_address, &mut taint.memory);
                }
                (outside, known_writes) = (true, true);
                break;
            }
            if written_by_function(name, arguments, result, &mut taint.memory) {
                (outside, known_writes) = (true, true);
                break;
            }
        }
        known_writes |= self.passes_on(masked, result, taint);
        outside |= self.names.iter().any(|name| effects::of(name) == Effect::Brings);
        if let Some(scanned) = &self.scanned {
            let from_outside = self.names.iter().any(|name| scanned::reads_outside(name));
            outside |= from_outside;
            if from_outside || masked {
                scanned.fill(arguments, &mut taint.memory);
            }
            known_writes = true;
        }
        if (masked || outside) && !known_writes {
            let places = arguments.iter().flatten().filter(|value| regions.is_address(**value));
            taint.memory.doubt(places.copied());
        }
        taint.registers.ran_natively();
        let tags = result.map_or(Value::number(8), |result| regions.adopt(result));
        let address = tags.as_address().is_some();
        let leading = LEADING.iter().find(|(name, _)| known(&[name]));
        if let (Some((_, length)), Some(result)) = (leading, result.filter(|_| address)) {
            taint.memory.fill(result, *length, Some(Tag::Outside));
        }
        let found = masked && self.names.iter().any(|name| effects::searches(name));
        // A jump gives what it was told (longjmp(3)); and where something lies tells nothing about what it was made from, unless
        // it was looked for.
        let by_chance = found || !address && (outside || masked);
        let tags = if by_chance { Value::of(Tag::Outside, 8) } else { tags };
        taint.registers.set_general(RAX, jumped.unwrap_or(tags));
        taint.registers.set_vector_result(if outside || masked { Tag::Outside } else { Tag::Number });
    }

    /// Whether an argument, or what lies where it leads, is from outside.
    fn takes_masked(&self, taint: &Taint) -> bool {
        if self.formats_address {
            return true;
        }
        if (0..self.vectors).any(|index| taint.registers.vector_argument(index).is_outside()) {
            return true;
        }
        let arity = ARITY.iter().find(|(name, _)| self.names.iter().any(|known| known == name));
        let count = arity.map_or(ARGUMENTS.len(), |(_, count)| *count);
        ARGUMENTS.into_iter().zip(self.arguments).take(count).any(|(register, value)| {
            let tags = taint.registers.general(register);
            let points = tags.is_shown().then_some(value).flatten().filter(|value| *value >= 0x1000);
            // A stream holds what its own library keeps there.
            let stream = || self.names.iter().any(|name| effects::of(name) == Effect::Stream);
            tags.is_outside()
                || points.is_some_and(|address| match stream() {
                    true => taint.memory.outside_from(address) > 0,
                    false => taint.memory.is_outside(address, 1),
                })
        })
    }

    /// What functions leave in memory of which that is known; whether it is.
    fn passes_on(&self, masked: bool, result: Option<u64>, taint: &mut Taint) -> bool {
        let [first, second, third, ..] = self.arguments;
        for name in &self.names {
            match effects::of(name) {
                Effect::None => return true,
                Effect::OpensMemory => taint.memory.opens_stream(),
                Effect::Stream => return !taint.memory.has_streams(),
                Effect::End => {
                    if let Some(end) = second.filter(|end| masked && *end != 0) {
                        taint.memory.fill(end, 8, Some(Tag::Outside));
                    }
                    return true;
                }
                Effect::Sorts => {
                    let Some(((first, count), size)) = first.zip(second).zip(third) else { return false };
                    let length = count.saturating_mul(size);
                    if taint.memory.is_outside(first, length) {
                        taint.memory.fill(first, length, Some(Tag::Outside));
                    }
                    return true;
                }
                Effect::Moves => {
                    let moved = first.zip(result).filter(|(from, to)| from != to && *from != 0 && *to != 0);
                    if let (Some((from, to)), Some(size)) = (moved, second) {
                        taint.memory.copy(to, from, size);
                    }
                    return true;
                }
                Effect::Brings | Effect::Unknown => {}
            }
            let Some(to) = first else { continue };
            let text = || result.filter(|it| (*it as i64) >= 0).map_or(0, |length| length + 1);
            match name.as_str() {
                "memcpy" | "memmove" | "mempcpy" => {
                    if let (Some(from), Some(length)) = (second, third) {
                        taint.memory.copy(to, from, length);
                    }
                }
                "strcpy" | "stpcpy" | "strncpy" => match second.map(|from| taint.memory.outside_from(from)) {
                    Some(length @ 1..) => taint.memory.fill(to, length, Some(Tag::Outside)),
                    // As far as that may be masked, nobody knows how long it is.
                    _ => return !masked,
                },
                "calloc" => {
                    if let (Some(block), Some(size)) = (result.filter(|block| *block != 0), second) {
                        taint.memory.fill(block, to.saturating_mul(size), Some(Tag::Number));
                    }
                }
                "memset" => taint.memory.fill(to, third.unwrap_or(0), Some(Tag::Number)),
                "sprintf" | "snprintf" | "vsprintf" | "vsnprintf" | "strftime" => {
                    taint.memory.fill(to, text(), masked.then_some(Tag::Outside));
                }
                _ => continue,
            }
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::synthetic::Synthetic;
    use crate::registers::{RDI, RDX};

    const RSP: u64 = 0x7ffd_1b2c_3d48;
    const BUFFER: u64 = RSP + 0x40;

    /// A call of a function with these arguments, and what is known of the first three.
    fn call(name: &str, arguments: [(u64, Value); 3], result: u64, taint: &mut Taint) -> bool {
        let mut regions = Regions::of(&Synthetic::new().read());
        regions.begin_call(RSP);
        for ((_, value), register) in arguments.iter().zip([RDI, RSI, RDX]) {
            taint.registers.set_general(register, *value);
        }
        let [a, b, c] = arguments.map(|(number, _)| Some(number));
        let native = Native {
            names: [name.to_owned(), String::new()],
            arguments: [a, b, c, None, None, None],
            vectors: 0,
            vdso: false,
            formats_address: false,
            scanned: None,
        };
        native.returns(Some(result), &regions, taint);
        taint.registers.general(RAX).is_shown()
    }

    fn number(number: u64) -> (u64, Value) {
        (number, Value::number(8))
    }

    fn pointer() -> (u64, Value) {
        (BUFFER, Value::address(super::super::tag::Alignment::Paragraph))
    }

    #[test]
    fn what_functions_answer() {
        let shown = |name, arguments| call(name, arguments, 5, &mut Taint::default());
        for name in ["getuid", "getpid", "rand", "fgetc", "read", "syscall", "time"] {
            assert!(!shown(name, [number(0); 3]), "{name}");
        }
        for name in ["strlen", "strcmp", "qsort", "printf", "work"] {
            assert!(shown(name, [number(0); 3]), "{name}");
        }
        let outside = (7, Value::of(Tag::Outside, 8));
        assert!(!shown("work", [number(1), outside, number(0)]), "made of what is masked");
        assert!(shown("strlen", [number(1), outside, number(0)]), "not its argument");
        assert!(shown("work", [number(1), (7, Value::of(Tag::Garbage, 8)), number(0)]), "left behind");
    }

    #[test]
    fn what_a_result_leads_to() {
        let mut taint = Taint::default();
        assert!(call("readdir", [pointer(), number(0), number(0)], 0x5500_0000_0100, &mut taint));
        assert_eq!(taint.memory.outside_from(0x5500_0000_0100), DIRENT);
    }

    #[test]
    fn a_jump_gives_what_it_was_told() {
        let mut taint = Taint::default();
        taint.memory.fill(BUFFER, 8, Some(Tag::Outside)); // registers, mangled
        assert!(call("longjmp", [pointer(), number(7), number(0)], 7, &mut taint));
    }

    #[test]
    fn what_scanned_text_leaves() {
        let scan = |name: &str, input: (u64, Value)| {
            let mut taint = Taint::default();
            let mut regions = Regions::of(&Synthetic::new().read());
            regions.begin_call(RSP);
            taint.registers.set_general(RDI, input.1);
            let native = Native {
                names: [name.to_owned(), String::new()],
                arguments: [Some(input.0), Some(0x5000), Some(BUFFER), None, None, None],
                vectors: 0,
                vdso: false,
                formats_address: false,
                scanned: Some(Scanned::of(1, "%d")),
            };
            native.returns(Some(1), &regions, &mut taint);
            (taint.registers.general(RAX).is_shown(), taint.memory.outside_from(BUFFER))
        };
        assert_eq!(scan("fscanf", number(0x5500_0000_0010)), (false, 4));
        assert_eq!(scan("sscanf", number(7)), (true, 0), "of a text that every run has");
        assert_eq!(scan("sscanf", (7, Value::of(Tag::Outside, 8))), (false, 4));
    }

    #[test]
    fn what_functions_leave_in_memory() {
        let mut taint = Taint::default();
        call("read", [number(0), pointer(), number(64)], 3, &mut taint);
        assert_eq!(taint.memory.outside_from(BUFFER), 3);
        assert!(!call("atoi", [pointer(), number(0), number(0)], 5, &mut taint), "of a masked text");
        call("memset", [pointer(), number(0), number(64)], BUFFER, &mut taint);
        assert!(call("atoi", [pointer(), number(0), number(0)], 5, &mut taint));
        let outside = (7, Value::of(Tag::Outside, 8));
        call("sprintf", [pointer(), number(0x5000), outside], 4, &mut taint);
        assert_eq!(taint.memory.outside_from(BUFFER), 5);
        let arguments = [number(libc::SYS_getrandom as u64), pointer(), number(16)];
        call("syscall", arguments, 16, &mut taint);
        assert_eq!(taint.memory.outside_from(BUFFER), 16);
    }

    const BLOCK: u64 = 0x5566_0000_1000;

    /// Whether memory that nobody wrote in sight is doubtful behind these functions, given text that is masked.
    fn doubted(names: &[&str]) -> bool {
        let mut taint = Taint::default();
        taint.memory.fill(BUFFER, 8, Some(Tag::Outside));
        for name in names {
            call(name, [pointer(), number(1), number(2)], BLOCK, &mut taint);
        }
        taint.memory.is_outside(BLOCK + 9, 1)
    }

    #[test]
    fn functions_of_which_nobody_knows_what_they_write_leave_doubt() {
        for name in ["strdup", "asprintf", "memccpy", "swab", "strcat", "getline", "work", ""] {
            assert!(doubted(&[name]), "{name}");
        }
        for name in ["strlen", "puts", "fputs", "atoi", "free", "memcpy", "read", "strtol", "sqrt"] {
            assert!(!doubted(&[name]), "{name}");
        }
        assert!(doubted(&["open_memstream", "fputs"]), "a stream on memory");
        let mut taint = Taint::default();
        call("work", [pointer(), number(1), number(2)], BLOCK, &mut taint);
        assert!(!taint.memory.is_outside(BLOCK, 8), "it was given nothing that is masked");
    }

    #[test]
    fn floating_point_arguments_count() {
        let mut taint = Taint::default();
        taint.registers.set_vector_result(Tag::Outside);
        let regions = Regions::of(&Synthetic::new().read());
        let native = |vectors| Native {
            names: ["sqrt".to_owned(), String::new()],
            arguments: [None; 6],
            vectors,
            vdso: false,
            formats_address: false,
            scanned: None,
        };
        native(1).returns(Some(5), &regions, &mut taint);
        assert!(!taint.registers.general(RAX).is_shown() && !taint.registers.shows_vector_result());
        let mut taint = Taint::default();
        native(1).returns(Some(5), &regions, &mut taint);
        assert!(taint.registers.shows_vector_result());
    }

    #[test]
    fn what_is_found_in_masked_text_lies_anywhere_in_it() {
        let found = |name| {
            let mut taint = Taint::default();
            taint.memory.fill(BUFFER, 8, Some(Tag::Outside));
            call(name, [pointer(), number(1), number(2)], BUFFER + 3, &mut taint)
        };
        assert!(!found("strchr") && !found("memccpy"));
        assert!(found("strdup"), "a block of its own");
    }

    #[test]
    fn what_is_moved_and_sorted_stays_masked() {
        let mut taint = Taint::default();
        taint.memory.fill(BUFFER + 4, 4, Some(Tag::Outside));
        call("realloc", [pointer(), number(64), number(0)], BLOCK, &mut taint);
        assert!(!taint.memory.is_outside(BLOCK, 4) && taint.memory.is_outside(BLOCK + 4, 1));
        call("qsort", [pointer(), number(2), number(4)], 0, &mut taint);
        assert!(taint.memory.is_outside(BUFFER, 1));
        call("strtol", [pointer(), (BLOCK + 0x40, number(0).1), number(10)], 7, &mut taint);
        assert_eq!(taint.memory.outside_from(BLOCK + 0x40), 8, "how far the text was a number");
    }
}
