//! The shared libraries of a program, as its own loader finds them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the loader would map beside the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Libraries {
    pub found: Vec<PathBuf>,
    /// Names of DT_NEEDED that the loader does not find: the program will not start.
    pub missing: Vec<String>,
}

/// Asks `interpreter` (PT_INTERP) for the libraries of `elf`: RPATH, RUNPATH, `$ORIGIN`, LD_LIBRARY_PATH,
/// LD_PRELOAD and the cache are the loader's business, and its answer is right by definition. It runs no code of
/// the program (ld.so(8), `--list`). Without an answer the list is empty.
pub fn libraries(interpreter: &Path, elf: &Path) -> Libraries {
    // A bare name would be looked up in the library path, and `$ORIGIN` is where the file is, whatever link leads to it:
    // of a program that runs the loader asks /proc/self/exe, of one that it lists its name.
    let elf = elf.canonicalize().unwrap_or_else(|_| Path::new(".").join(elf));
    let listed = Command::new(interpreter)
        .arg("--list")
        .arg(elf)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .map(|output| output.stdout)
        .unwrap_or_default();
    parse(&String::from_utf8_lossy(&listed))
}

/// Lines are `name => path (address)`, `path (address)`, `name (address)` for the vdso, or `name => not found`.
fn parse(listed: &str) -> Libraries {
    let mut libraries = Libraries::default();
    for line in listed.lines().map(str::trim) {
        let (name, place) = line.split_once(" => ").unwrap_or((line, line));
        if place.starts_with("not found") {
            libraries.missing.push(name.to_owned());
        } else if let Some((path, _)) = place.rsplit_once(" (0x")
            && path.contains('/')
        {
            libraries.found.push(path.into());
        }
    }
    libraries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_line_is_understood() {
        let listed = "\tlinux-vdso.so.1 (0x00007ffd1b5f2000)\n\
                      \tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f1e3a000000)\n\
                      \tlibodd.so => /opt/a (1)/libodd.so (0x00007f1e3b000000)\n\
                      \tlibgone.so.3 => not found\n\
                      \t/lib64/ld-linux-x86-64.so.2 (0x00007f1e3a2f4000)\n";
        let expected = Libraries {
            found: vec![
                "/lib/x86_64-linux-gnu/libm.so.6".into(),
                "/opt/a (1)/libodd.so".into(),
                "/lib64/ld-linux-x86-64.so.2".into(),
            ],
            missing: vec!["libgone.so.3".into()],
        };
        assert_eq!(parse(listed), expected);
    }
}
