//! Whole listings against files under `fixtures/listing`; `OVERSTEP_BLESS=1` writes them anew.

use std::path::{Path, PathBuf};

use super::options::{Options, Syntax, Values};
use super::palette::Palette;
use super::{json, text};
use crate::address::RuntimeAddr;
use crate::check::synthetic::{Synthetic, THREAD, at, gcd_call};
use crate::record::marker::{LostReason, Marker};
use crate::record::reader::Trace;
use crate::record::step::{Access, MemoryAccess, Step, Syscall};
use crate::record::verdict::Verdict;
use crate::registers::{R11, RAX, RBX, RCX, RDI, RDX, RSI, RSP, Registers};

pub fn text_of(trace: &Trace, options: &Options) -> String {
    let mut out = Vec::new();
    text::write(trace, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub fn json_of(trace: &Trace, options: &Options) -> String {
    let mut out = Vec::new();
    json::write(trace, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub fn compare(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/listing").join(name);
    if std::env::var_os("OVERSTEP_BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (number, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
        assert_eq!(found, expected, "{name}, line {}; OVERSTEP_BLESS=1 accepts the new text", number + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{name}: number of lines");
}

/// The listings of real runs (`tests/golden_listings`) in one format: files and what is in them.
pub fn real_runs(extension: &str) -> impl Iterator<Item = (PathBuf, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/listings");
    let entries = |path: &Path| std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let files = entries(&directory).flat_map(move |fixture| entries(&fixture).collect::<Vec<_>>());
    let suffix = format!(".{extension}");
    files.filter(move |path| path.to_str().unwrap().ends_with(&suffix)).map(|path| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path, text)
    })
}

/// One call of `work` with a bit of everything, and one of `gcd` in another thread that was cut off.
pub fn mixed() -> Synthetic {
    let mut trace = Synthetic::new();
    trace.header.memory = true;
    trace.header.functions = vec!["work".to_owned()];
    trace.enter(THREAD, 1, 0x1160);
    let slot = trace.registers.general[RSP] - 8;
    let pushed = memory(Access::Write, slot, 8, 0);
    trace.step(0x1161, |r| r.general[RSP] -= 8, |step| step.memory = pushed);
    trace.step(0x1168, |r| r.general[RDI] = at(0x2000).0, |_| {});
    trace.step(0x1030, |r| r.general[RSP] -= 8, |_| {});
    trace.marker(Marker::Native { target: at(0x1030), resume: at(0x116d) });
    back_from_puts(&mut trace.registers);
    trace.step(0x1172, |r| r.general[RCX] = 5, |_| {});
    trace.step(0x1174, copied, |step| step.count = Some(5));
    trace.marker(Marker::Signal { number: 10, handler: at(0x1139) });
    trace.depth = 1;
    trace.registers.rip = at(0x1139);
    trace.step(0x113b, |r| r.general[RAX] = 10, |step| step.verdict = Verdict::Skid(2));
    trace.marker(Marker::Sigreturn);
    trace.depth = 0;
    trace.registers.rip = at(0x1174);
    trace.registers.general[RAX] = 1;
    trace.registers.general[RDX] = 5;
    let write: &'static Syscall =
        leak(Syscall { number: 1, arguments: [99, 0x5555_5555_6000, 5, 0, 0, 0], result: (-9_i64) as u64 });
    trace.step(0x1176, system_call, |step| step.syscall = Some(write));
    trace.registers.general[RDI] = 7;
    trace.registers.general[RSI] = 0;
    trace.step(0x1139, |r| r.general[RSP] -= 8, |_| {});
    trace.depth = 1;
    trace.gcd_adjusted(0x117b, |n, step| match n {
        3 => step.verdict = Verdict::Unexplained { expected: at(0x1141) },
        4 => step.bytes = Some(&[0x0f, 0x84, 0x07, 0x00, 0x00, 0x00]),
        _ => {}
    });
    trace.depth = 0;
    trace.step(0x117c, |r| (r.general[RBX], r.general[RSP]) = (3, slot + 8), |_| {});
    trace.step(0x1500, |r| r.general[RSP] += 8, |_| {});
    let mut xmm0 = [0; 16];
    xmm0[..8].copy_from_slice(&0.5_f64.to_le_bytes());
    trace.marker(Marker::Leave { rax: trace.registers.general[RAX], xmm0 });

    trace.thread();
    trace.enter(THREAD + 1, 2, 0x1139);
    trace.step(0x113b, |r| r.general[RAX] = r.general[RDI], |_| {});
    trace.step(0x113d, |_| {}, |step: &mut Step<'_>| step.depth = 12);
    trace.marker(Marker::Lost {
        reason: LostReason::ReturnedUnseen,
        expected: at(0x113d),
        found: at(0x117b),
        detail: 0,
    });
    trace
}

fn back_from_puts(registers: &mut Registers) {
    registers.general[RSP] += 8;
    registers.general[RAX] = 6;
    registers.rip = at(0x116d);
}

fn copied(registers: &mut Registers) {
    registers.general[RCX] = 0;
    registers.general[RSI] += 5;
    registers.general[RDI] += 5;
}

fn system_call(registers: &mut Registers) {
    registers.general[RAX] = (-9_i64) as u64;
    registers.general[RCX] = at(0x1176).0;
    registers.general[R11] = registers.rflags;
}

pub fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

pub fn memory(access: Access, address: u64, size: u8, number: u64) -> &'static [MemoryAccess] {
    let mut value = [0; 64];
    value[..8].copy_from_slice(&number.to_le_bytes());
    leak([MemoryAccess { access, address: RuntimeAddr(address), size, value }])
}

fn blocks() -> Synthetic {
    let mut trace = Synthetic::new();
    trace.enter(THREAD, 1, 0x1139);
    trace.gcd_in_blocks(0x117b, |_, _| {});
    trace.marker(Marker::Leave { rax: trace.registers.general[RAX], xmm0: [0; 16] });
    trace
}

#[test]
fn gcd() {
    let trace = gcd_call().read();
    compare("gcd.txt", &text_of(&trace, &Options::default()));
    compare("gcd.jsonl", &json_of(&trace, &Options::default()));
    let gas = Options { syntax: Syntax::Gas, ..Options::default() };
    compare("gcd-gas.txt", &text_of(&trace, &gas));
}

#[test]
fn a_bit_of_everything() {
    let trace = mixed().read();
    compare("mixed.txt", &text_of(&trace, &Options::default()));
    compare("mixed.jsonl", &json_of(&trace, &Options::default()));
    let stable = Options { values: Values::Stable, ..Options::default() };
    compare("mixed-stable.jsonl", &json_of(&trace, &stable));
}

#[test]
fn block_stepping() {
    compare("blocks.txt", &text_of(&blocks().read(), &Options::default()));
}

/// `work` of a library with a long file name, whose code calls into `a.out`.
fn long_module() -> Synthetic {
    let mut trace = Synthetic::with_module("/usr/lib/liboverstep-example-8a495ebc256baf7b.so.1.0");
    trace.enter(THREAD, 1, 0x1160);
    trace.step(0x1161, |r| r.general[RSP] -= 8, |_| {});
    trace.step(0x1168, |r| r.general[RDI] = at(0x2000).0, |_| {});
    trace.step(0x1030, |r| r.general[RSP] -= 8, |_| {});
    trace.marker(Marker::Native { target: at(0x1030), resume: at(0x116d) });
    back_from_puts(&mut trace.registers);
    trace.step(0x1172, |r| r.general[RCX] = 5, |_| {});
    trace
}

#[test]
fn long_module_names() {
    let text = text_of(&long_module().read(), &Options::default());
    compare("long-module.txt", &text);
    let rows: Vec<_> = text.lines().filter(|line| line.contains("work+0x")).collect();
    let column = |line: &str| line.find("work+").map(|end| line[..end].chars().count());
    let columns: Vec<_> = rows.iter().filter(|row| !row.contains("──")).map(|row| column(row)).collect();
    assert!(columns.len() > 2 && columns.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
}

#[test]
fn colours_add_nothing_but_escape_sequences() {
    let trace = mixed().read();
    let coloured = text_of(&trace, &Options { palette: Palette::TERMINAL, ..Options::default() });
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\x1b') {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    assert_ne!(coloured, plain);
    // A space inside a coloured cell at the end of a line stays; there is none.
    assert_eq!(plain, text_of(&trace, &Options::default()));
}

#[test]
fn calls_come_in_order_of_their_numbers() {
    let mut trace = Synthetic::new();
    let one = |trace: &mut Synthetic, thread, call| {
        trace.enter(thread, call, 0x1139);
        (trace.registers.general[RDI], trace.registers.general[RSI]) = (6, 6);
        trace.gcd(0x117b);
        trace.marker(Marker::Leave { rax: 6, xmm0: [0; 16] });
    };
    one(&mut trace, THREAD, 1);
    one(&mut trace, THREAD, 3);
    trace.thread();
    one(&mut trace, THREAD + 1, 2);
    one(&mut trace, THREAD + 1, 4);
    let text = text_of(&trace.read(), &Options::default());
    let headings: Vec<_> = text.lines().filter(|line| line.starts_with("call")).collect();
    assert_eq!(
        headings,
        [
            "call 1: gcd (a.out+0x1139), thread 4242",
            "call 2: gcd (a.out+0x1139), thread 4243",
            "call 3: gcd (a.out+0x1139), thread 4242",
            "call 4: gcd (a.out+0x1139), thread 4243",
        ]
    );
    assert_eq!(text.matches("returned after 11 steps: rax 0x6 (6)").count(), 4, "{text}");
}

#[test]
fn without_the_summary_the_rest_is_the_same() {
    let trace = gcd_call().read();
    let whole = text_of(&trace, &Options::default());
    let rows = text_of(&trace, &Options { summary: false, ..Options::default() });
    let summary = whole.strip_prefix(&rows).unwrap();
    assert_eq!(
        summary,
        "\n23 steps, 23 exact; entered 1, traced 1\n\
         no counterexample in 23 (miss rate below 13 % at 95 %)\n"
    );
}

/// How fast a long trace is written, for whoever works on it:
/// `cargo test --release --no-default-features listing::golden::speed -- --ignored --nocapture`.
#[test]
#[ignore = "prints a rate and proves nothing"]
fn speed() {
    let mut trace = Synthetic::with_window(256 << 20);
    for call in 1..=40_000 {
        trace.enter(THREAD, call, 0x1139);
        (trace.registers.general[RDI], trace.registers.general[RSI]) = (48, 18);
        trace.gcd(0x117b);
        trace.marker(Marker::Leave { rax: trace.registers.general[RAX], xmm0: [0; 16] });
    }
    let trace = trace.read();
    let rate = |name: &str, write: &dyn Fn() -> u64| {
        let start = std::time::Instant::now();
        let rows = write();
        println!("{name}: {rows} rows, {:.0} rows/s", rows as f64 / start.elapsed().as_secs_f64());
    };
    let options = Options::default();
    rate("text", &|| text::write(&trace, &options, &mut std::io::sink()).unwrap().steps);
    rate("json", &|| json::write(&trace, &options, &mut std::io::sink()).unwrap().steps);
    rate("check", &|| crate::check::verify::verify(&trace).summary.steps);
    rate("decode", &|| trace.threads().iter().map(|&thread| trace.entries(thread).count() as u64).sum());
}
