//! From the word after `--` to the ELF file the kernel would run: PATH as `execvp(3)`, then `#!` lines.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use crate::cli::exit::{CANNOT_RUN, Failure, NOT_FOUND};

/// The kernel follows this many `#!` lines (Linux `fs/exec.c`, `exec_binprm`).
const MAX_INTERPRETERS: usize = 5;
/// The length of a `#!` line the kernel reads (`BINPRM_BUF_SIZE`).
const HEAD: usize = 256;

/// A program that the kernel will try to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What to pass to `execve(2)`.
    pub path: PathBuf,
    /// The ELF file that will run: `path` itself, or the interpreter of a script.
    pub elf: PathBuf,
}

/// Finds `name` as `execvp(3)` does and follows `#!` lines to an ELF file.
///
/// # Errors
/// 127: there is no such program. 126: it is a directory, not executable, or neither ELF nor script.
pub fn resolve(name: &OsStr) -> Result<Program, Failure> {
    let path = find(name)?;
    let mut elf = path.clone();
    for _ in 0..=MAX_INTERPRETERS {
        match interpreter(&elf)? {
            None => return Ok(Program { path, elf }),
            Some(next) => elf = runnable(&next).map_err(|failure| through(&path, &next, failure))?,
        }
    }
    Err(Failure::new(
        CANNOT_RUN,
        format_args!("`{}`: its `#!` lines follow each other in a ring", path.display()),
    ))
}

fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    if name.is_empty() {
        // ENOENT of `execve(2)`, which no directory of PATH is searched for.
        return Err(Failure::new(NOT_FOUND, "there is no program without a name"));
    }
    if name.as_bytes().contains(&b'/') {
        return runnable(Path::new(name));
    }
    // The first one that can be run wins; one that cannot is only reported when no other is found.
    let mut refused = None;
    for directory in std::env::split_paths(&search_path()) {
        let directory = if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory };
        match runnable(&directory.join(name)) {
            Ok(path) => return Ok(path),
            Err(failure) if failure.status == CANNOT_RUN => refused = refused.or(Some(failure)),
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_else(|| {
        let failure =
            Failure::new(NOT_FOUND, format_args!("there is no program `{}` in PATH", name.display()));
        match runnable(&Path::new(".").join(name)) {
            Ok(_) => failure.next(format_args!("one stands here: `./{}`", name.display())),
            Err(_) => failure,
        }
    }))
}

/// `PATH`, or what `execvp(3)` takes without it (`confstr(_CS_PATH)`).
fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into())
}

fn runnable(path: &Path) -> Result<PathBuf, Failure> {
    let cannot = |why: &dyn std::fmt::Display| {
        Failure::new(CANNOT_RUN, format_args!("`{}` cannot be run: {why}", path.display()))
    };
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::new(NOT_FOUND, format_args!("there is no program `{}`", path.display()))
        }
        _ => cannot(&error),
    })?;
    if metadata.is_dir() {
        return Err(cannot(&"it is a directory"));
    }
    // The kernel runs nothing else (execve(2)), and opening a FIFO to look into it would wait for a writer.
    if !metadata.is_file() {
        return Err(cannot(&"it is no regular file (EACCES)"));
    }
    access(path, AccessFlags::X_OK).map_err(|_| {
        cannot(&"permission denied (EACCES)")
            .next(format_args!("make it executable: chmod +x {}", path.display()))
    })?;
    Ok(path.to_path_buf())
}

/// The interpreter of a script, `None` for an ELF file.
fn interpreter(path: &Path) -> Result<Option<PathBuf>, Failure> {
    let cannot = |why: &dyn std::fmt::Display| {
        Failure::new(CANNOT_RUN, format_args!("`{}` cannot be run: {why}", path.display()))
    };
    let mut head = Vec::with_capacity(HEAD);
    // A program may be executable but not readable: the kernel runs it, but nothing can be said about it.
    let file = File::open(path).map_err(|error| {
        cannot(&format_args!("overstep has to read it first: {error}")).next("make it readable: chmod +r")
    })?;
    file.take(HEAD as u64).read_to_end(&mut head).map_err(|error| cannot(&error))?;
    if head.starts_with(b"\x7fELF") {
        return Ok(None);
    }
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or(line).trim_ascii();
        let word = line.split(u8::is_ascii_whitespace).next().unwrap_or(line);
        if word.is_empty() {
            return Err(cannot(&"its `#!` line names no interpreter"));
        }
        return Ok(Some(PathBuf::from(OsString::from_vec(word.to_vec()))));
    }
    Err(match head.is_empty() {
        true => cannot(&"it is empty"),
        false => cannot(&"it is neither an ELF file nor a script with a `#!` line (ENOEXEC)")
            .next(format_args!("if it is a shell script, name the shell: sh {}", path.display())),
    })
}

fn through(script: &Path, interpreter: &Path, failure: Failure) -> Failure {
    // The script is there: whatever is wrong with its interpreter, it is not "no such program".
    Failure::new(
        CANNOT_RUN,
        format_args!(
            "`{}` cannot be run: its interpreter `{}`: {}",
            script.display(),
            interpreter.display(),
            failure.what
        ),
    )
}

impl Program {
    /// `path` for `execve(2)`.
    ///
    /// # Errors
    /// The path has a zero byte in it, which no path of the kernel's can have.
    pub fn exec_path(&self) -> Result<CString, Failure> {
        CString::new(self.path.as_os_str().as_bytes())
            .map_err(|_| Failure::new(NOT_FOUND, "a program's name cannot contain a zero byte"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn script(directory: &Path, name: &str, content: &str, mode: u32) -> PathBuf {
        let path = directory.join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_script_leads_to_its_interpreters_elf() {
        let directory = tempfile::tempdir().unwrap();
        let path = script(directory.path(), "s", "#! /bin/sh -e\n", 0o755);
        let outer = script(directory.path(), "outer", &format!("#!{}\n", path.display()), 0o755);
        let program = resolve(outer.as_os_str()).unwrap();
        assert_eq!(program, Program { path: outer, elf: PathBuf::from("/bin/sh") });
    }

    #[test]
    fn each_obstacle_has_its_status() {
        let directory = tempfile::tempdir().unwrap();
        let status = |path: &Path| resolve(path.as_os_str()).unwrap_err().status;
        assert_eq!(status(&directory.path().join("nothing")), NOT_FOUND);
        assert_eq!(status(directory.path()), CANNOT_RUN);
        assert_eq!(status(&script(directory.path(), "plain", "#!/bin/sh\n", 0o644)), CANNOT_RUN);
        assert_eq!(status(&script(directory.path(), "empty", "", 0o755)), CANNOT_RUN);
        assert_eq!(status(&script(directory.path(), "text", "hello\n", 0o755)), CANNOT_RUN);
        assert_eq!(status(&script(directory.path(), "lost", "#!/no/such/interpreter\n", 0o755)), CANNOT_RUN);
        let fifo = directory.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(status(&fifo), CANNOT_RUN);
        let ring = directory.path().join("ring");
        assert_eq!(
            status(&script(directory.path(), "ring", &format!("#!{}\n", ring.display()), 0o755)),
            CANNOT_RUN
        );
    }

    #[test]
    fn a_name_is_looked_up_in_path() {
        assert!(resolve(OsStr::new("sh")).unwrap().path.is_absolute());
        let missing = resolve(OsStr::new("no-such-program-anywhere")).unwrap_err();
        assert_eq!(missing.status, NOT_FOUND);
    }
}
