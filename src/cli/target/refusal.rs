//! Programs that the agent cannot enter, told apart before they are started.

use std::path::{Path, PathBuf};

use super::privilege::{self, Gain};
use super::program::Program;
use crate::cli::exit::{CANNOT_RUN, Failure, OVERSTEP_FAILED};
use crate::image::decode::Bitness;
use crate::image::elf::{Elf, Kind};
use crate::image::elf_error::ElfError;

/// A program whose loader will load the agent.
#[derive(Debug)]
pub struct Image {
    /// The ELF file: the program, or the interpreter of a script.
    pub path: PathBuf,
    /// Its loader (PT_INTERP).
    pub interpreter: PathBuf,
}

impl Image {
    /// The file's name, for messages.
    pub fn name(&self) -> String {
        file_name(&self.path)
    }
}

/// The last component of `path`, for messages.
pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Looks at the ELF file of `program`.
///
/// # Errors
/// 126: the kernel would not run it. 125: it would run, but without the agent.
pub fn loadable(program: &Program) -> Result<Image, Failure> {
    let path = &program.elf;
    let elf = Elf::open(path).map_err(|error| match error {
        // The kernel runs what it may execute; reading is our need alone.
        ElfError::Open { source, .. } => refuse(
            path,
            format_args!("overstep has to read it first: {source}"),
            "make it readable: chmod +r",
        ),
        error => cannot_run(path, &error),
    })?;
    right_machine(path, &elf)?;
    let interpreter = match elf.kind() {
        Kind::Dynamic => elf.interpreter().map(PathBuf::from),
        Kind::Static | Kind::StaticPie | Kind::Library => None,
        Kind::NotLoadable => return Err(cannot_run(path, &"it is an object or core file, no program")),
    };
    let interpreter = interpreter.ok_or_else(|| without_loader(path, elf.kind()))?;
    if elf.uses_musl() {
        let why =
            format_args!("it is a musl program ({}), the agent is made for glibc", interpreter.display());
        return Err(refuse(path, why, "build it for x86_64-unknown-linux-gnu, or with gcc and glibc"));
    }
    if !interpreter.exists() {
        let why = format!("its loader `{}` is not there", interpreter.display());
        return Err(cannot_run(path, &why).next("install the libraries it was built for"));
    }
    same_privileges(path)?;
    Ok(Image { path: path.clone(), interpreter })
}

fn right_machine(path: &Path, elf: &Elf) -> Result<(), Failure> {
    if elf.is_x86_64() {
        return Ok(());
    }
    Err(match (elf.machine(), elf.bitness()) {
        // elf(5), e_machine; x32 is the second.
        (3, _) | (62, Bitness::Bits32) => refuse(
            path,
            "it is a 32-bit program, the agent is 64-bit code",
            "build it for 64 bits, without -m32 or -mx32",
        ),
        (machine, _) => cannot_run(path, &format_args!("it is for another CPU: {}", machine_name(machine)))
            .next("build it for x86_64, or run overstep on that machine's emulator from inside"),
    })
}

fn machine_name(machine: u16) -> String {
    match machine {
        8 => "MIPS".to_owned(),
        20 | 21 => "PowerPC".to_owned(),
        22 => "S390".to_owned(),
        40 => "ARM".to_owned(),
        183 => "AArch64".to_owned(),
        243 => "RISC-V".to_owned(),
        other => format!("ELF machine {other}"),
    }
}

fn without_loader(path: &Path, kind: Kind) -> Failure {
    let what = match kind {
        Kind::StaticPie => "it is a static-pie program",
        Kind::Library => "it is a library or a loader",
        _ => "it is a static program",
    };
    let why = format_args!("{what}: no loader runs in it that could load the agent (LD_PRELOAD)");
    refuse(path, why, "link it dynamically: without -static, -static-pie or crt-static")
}

fn same_privileges(path: &Path) -> Result<(), Failure> {
    let gain = privilege::gained_by(path)
        .map_err(|error| cannot_run(path, &format_args!("its mode cannot be read: {error}")))?;
    let what = match gain {
        Gain::Nothing => return Ok(()),
        Gain::User(user) => format!("it is set-user-id and would run as user {user}"),
        Gain::Group(group) => format!("it is set-group-id and would run as group {group}"),
        Gain::Capabilities => "it has file capabilities".to_owned(),
    };
    let why = format_args!("{what}: its loader then ignores LD_PRELOAD, and the agent stays out");
    Err(refuse(path, why, "trace a copy (cp drops the privilege), or run overstep as the user it runs as"))
}

fn cannot_run(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::new(CANNOT_RUN, format_args!("`{}` cannot be run: {why}", path.display()))
}

fn refuse(path: &Path, why: impl std::fmt::Display, next: impl std::fmt::Display) -> Failure {
    Failure::new(OVERSTEP_FAILED, format_args!("`{}` cannot be traced: {why}", path.display())).next(next)
}
