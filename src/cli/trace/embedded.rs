//! The agent: carried in this executable, handed to the program as a sealed memfd.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::{env, process};

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::cli::exit::{Failure, OVERSTEP_FAILED};

static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent.so"));

/// The shared object that LD_PRELOAD names; the program can load it while this value lives.
#[derive(Debug)]
pub enum Agent {
    Embedded(OwnedFd),
    /// From OVERSTEP_AGENT, for those who develop the agent.
    Own(PathBuf),
}

impl Agent {
    /// # Errors
    /// OVERSTEP_AGENT names no readable file, or `memfd_create(2)` failed.
    pub fn provide() -> Result<Self, Failure> {
        match env::var_os("OVERSTEP_AGENT") {
            Some(path) => own(path),
            None => embedded().map(Self::Embedded).map_err(|error| {
                let what = format_args!("cannot put the agent ({} bytes) into a memfd: {error}", AGENT.len());
                Failure::new(OVERSTEP_FAILED, what)
                    .next("raise the limits (ulimit -f unlimited, ulimit -n 64), or set OVERSTEP_AGENT to an agent file")
            }),
        }
    }

    /// The path by which the program's loader finds it. It goes through `/proc`, since the descriptor itself is
    /// not inherited: a program sees none that it would not see untraced.
    pub fn path(&self) -> PathBuf {
        match self {
            // Slashes fill it to one length, as a longer process id would move the program's stack.
            Self::Embedded(memfd) => format!("/proc{:/>8}/fd/{}", process::id(), memfd.as_raw_fd()).into(),
            Self::Own(path) => path.clone(),
        }
    }
}

fn own(path: OsString) -> Result<Agent, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(
            OVERSTEP_FAILED,
            format_args!("OVERSTEP_AGENT={}: {error}", PathBuf::from(&path).display()),
        )
        .next("unset it to use the agent inside overstep")
    };
    let path = PathBuf::from(&path).canonicalize().map_err(|error| failed(&error))?;
    File::open(&path).map_err(|error| failed(&error))?;
    // The loader splits LD_PRELOAD at both (ld.so(8)).
    if path.to_string_lossy().contains([':', ' ']) {
        return Err(failed(&"LD_PRELOAD cannot name a path with a colon or a blank"));
    }
    Ok(Agent::Own(path))
}

fn embedded() -> io::Result<OwnedFd> {
    // MFD_EXEC (Linux 6.3) is refused by older kernels; without it vm.memfd_noexec may refuse the mapping.
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let executable = MFdFlags::from_bits_retain(libc::MFD_EXEC);
    let memfd = memfd_create(c"overstep-agent", flags | executable)
        .or_else(|_| memfd_create(c"overstep-agent", flags))?;
    let mut file = File::from(memfd);
    file.write_all(AGENT)?;
    let seals =
        SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
    Ok(file.into())
}
