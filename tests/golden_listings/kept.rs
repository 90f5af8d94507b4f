//! Listings that are kept, and what they were made of.
//!
//! Other compilers write other code, and other C libraries have other functions: a listing is held against the kept one
//! where program and libraries are the same by their build ids. Of assembly fixtures, whose code is the assembler's alone,
//! everything is compared elsewhere, too, but the offsets that the linker chose.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use similar::TextDiff;

use super::Recorded;
use super::formats::Format;
use super::skip;

/// One case's listings on disk.
pub struct Kept {
    name: String,
    directory: PathBuf,
    /// Build ids and CPU, a line each.
    made_of: String,
    same: Same,
}

/// What of the kept listings can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Same {
    Everything,
    /// But for offsets in modules.
    Code,
    Nothing,
}

/// One format's output.
pub struct Listing {
    pub format: Format,
    pub text: String,
}

impl Kept {
    /// The case `name`, whose rows say `text`.
    pub fn of(name: &str, recorded: &Recorded, text: &str) -> Self {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/listings");
        let made_of = made_of(recorded, text);
        let path = directory.join(format!("{name}.made"));
        if blessing() {
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder for the listings");
            fs::write(&path, &made_of).expect("written");
        }
        let kept = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let same = match (kept == made_of, name.contains("-s/")) {
            (true, _) => Same::Everything,
            (false, true) => Same::Code,
            (false, false) => Same::Nothing,
        };
        Self { name: name.to_owned(), directory, made_of, same }
    }

    /// Compares, or writes anew.
    pub fn hold(&self, listing: &Listing) {
        let path = self.directory.join(format!("{}.{}", self.name, listing.format.name));
        if blessing() {
            fs::write(&path, &listing.text).expect("written");
        }
        let kept = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        match self.same {
            Same::Everything => assert_same(&kept, &listing.text, &path.display().to_string()),
            Same::Code if listing.format.name.ends_with("txt") => {
                let words = |text: &str| without_offsets(text);
                assert_same(&words(&kept), &words(&listing.text), &path.display().to_string());
            }
            Same::Code | Same::Nothing => {}
        }
    }

    /// Says what was not compared.
    pub fn finish(&self) {
        let Self { name, made_of, .. } = self;
        let here = made_of.trim().replace('\n', ", ");
        match self.same {
            Same::Everything => {}
            Same::Code => println!("{name}: made of other files; compared without offsets. Here: {here}"),
            Same::Nothing => {
                let reason =
                    format!("kept listings are of other files; only ASLR was compared. Here: {here}");
                let _: Option<()> = skip(&format!("golden_listings {name}"), &reason);
            }
        }
    }
}

fn blessing() -> bool {
    std::env::var_os("OVERSTEP_BLESS").is_some()
}

/// Of which files the rows speak; where libraries are among them, also the CPU that chose among their functions.
fn made_of(recorded: &Recorded, text: &str) -> String {
    let trace = &recorded.trace;
    let mut made_of = String::new();
    let named = |name: &str| text.contains(&format!("{name}+0x"));
    let modules =
        trace.modules().iter().map(|module| (module.path.rsplit('/').next().unwrap_or_default(), module));
    let modules: Vec<_> = modules.filter(|(name, _)| named(name)).collect();
    for (name, module) in &modules {
        let id: String = module.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(made_of, "{name} {id}");
    }
    if modules.len() > 1 {
        let cpu = &trace.header.cpu;
        let _ = writeln!(made_of, "CPU {}, family {}, model {}", cpu.name, cpu.family, cpu.model);
    }
    made_of
}

/// The words without what the linker decides, apart by one space: columns are as wide as what stands in them.
fn without_offsets(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let words: Vec<_> = line.split_whitespace().map(without_offset).collect();
        lines.push_str(&words.join(" "));
        lines.push('\n');
    }
    lines
}

/// `lea rsi,[program+0x4080]` has an offset of a module, `traced+0x5` one that is the assembler's.
fn without_offset(word: &str) -> String {
    let mut rest = word;
    let mut kept = String::new();
    while let Some(at) = rest.find("program+0x") {
        let (before, offset) = rest.split_at(at + "program+".len());
        kept.push_str(before);
        let digits = &offset[2..];
        rest = digits.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        kept.push('…');
    }
    kept + rest
}

/// # Panics
/// With what differs.
pub fn assert_same(kept: &str, found: &str, what: &str) {
    if kept == found {
        return;
    }
    let diff = TextDiff::from_lines(kept, found);
    let shown = diff.unified_diff().context_radius(2).header(what, "now").to_string();
    panic!("{shown}\nOVERSTEP_BLESS=1 accepts the new listings");
}

#[test]
fn offsets_of_the_linker_do_not_count() {
    let one = "  2  program+0x1144  traced+0xb  lea rsi,[program+0x4080]    rsi ?→program+0x4080\n";
    let other = "  2  program+0x144   traced+0xb  lea rsi,[program+0x40]  rsi ?→program+0x40\n";
    assert_eq!(without_offsets(one), without_offsets(other));
    assert_ne!(without_offsets(one), without_offsets(&one.replace("traced+0xb", "traced+0xc")));
}
