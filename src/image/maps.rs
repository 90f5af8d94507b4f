//! `/proc/PID/maps`, line by line (man 5 proc_pid_maps).

use crate::address::{FileOffset, RuntimeAddr};
use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// What a mapping is a mapping of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backing {
    /// A file. `deleted` when the kernel says that the path no longer leads to it.
    File {
        path: PathBuf,
        deleted: bool,
    },
    /// A name in brackets: `[heap]`, `[stack]`, `[vdso]`, `[vsyscall]`, `[anon:…]`.
    Special(String),
    Anonymous,
}

/// A file's identity, as the kernel sees it. File systems with many devices of their own (btrfs, overlayfs) give
/// `stat` another device number than the maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    pub major: u32,
    pub minor: u32,
    pub inode: u64,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub range: Range<RuntimeAddr>,
    pub readable: bool,
    pub writable: bool,
    pub executable: bool,
    pub offset: FileOffset,
    pub file: FileId,
    pub backing: Backing,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the process's maps is not as `man 5 proc_pid_maps` has it: `{text}`")]
pub struct MapsError {
    pub line: usize,
    pub text: String,
}

/// Reads the whole file's contents.
///
/// # Errors
/// [`MapsError`] at the first line that is none.
pub fn parse(contents: &[u8]) -> Result<Vec<Mapping>, MapsError> {
    let lines = contents.split(|&b| b == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    lines
        .map(|(index, line)| {
            let error = || MapsError { line: index + 1, text: String::from_utf8_lossy(line).into_owned() };
            mapping(line).ok_or_else(error)
        })
        .collect()
}

/// `start-end perms offset major:minor inode` and, behind padding, the name, which may hold spaces.
fn mapping(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |&b| b == b' ');
    let mut field = || std::str::from_utf8(fields.next()?).ok();
    let (start, end) = field()?.split_once('-')?;
    let permissions = field()?.as_bytes();
    let offset = hexadecimal(field()?)?;
    let (major, minor) = field()?.split_once(':')?;
    let inode = field()?.parse().ok()?;
    let file = FileId {
        major: u32::from_str_radix(major, 16).ok()?,
        minor: u32::from_str_radix(minor, 16).ok()?,
        inode,
    };
    Some(Mapping {
        range: RuntimeAddr(hexadecimal(start)?)..RuntimeAddr(hexadecimal(end)?),
        readable: permissions.first()? == &b'r',
        writable: permissions.get(1)? == &b'w',
        executable: permissions.get(2)? == &b'x',
        offset: FileOffset(offset),
        file,
        backing: backing(fields.next().unwrap_or(b"").trim_ascii_start(), inode),
    })
}

fn backing(name: &[u8], inode: u64) -> Backing {
    if name.is_empty() {
        return Backing::Anonymous;
    }
    if name.starts_with(b"[") && inode == 0 {
        return Backing::Special(String::from_utf8_lossy(name).into_owned());
    }
    let whole = unescape(name);
    let (path, deleted) = match whole.strip_suffix(b" (deleted)") {
        Some(path) => (path.to_vec(), true),
        None => (whole, false),
    };
    Backing::File { path: PathBuf::from(OsString::from_vec(path)), deleted }
}

/// The kernel writes a newline in a path as `\012`, and nothing else that way (Linux `fs/proc/task_mmu.c`).
fn unescape(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let [first, after @ ..] = rest {
        if let Some(behind) = rest.strip_prefix(br"\012") {
            out.push(b'\n');
            rest = behind;
        } else {
            out.push(*first);
            rest = after;
        }
    }
    out
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line() {
        let text = b"\
55d0c0a01000-55d0c0a02000 r-xp 00001000 fe:00 1837 /tmp/a b\n\
7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n\
7f0000001000-7f0000002000 r--s 00002000 00:2f 18446744073709551615                   /tmp/x (deleted)\n\
7f0000002000-7f0000003000 r--p 00000000 fe:00 7                          /tmp/new\\012line\n\
7ffd0f9f5000-7ffd0f9f7000 r-xp 00000000 00:00 0                          [vdso]\n";
        let maps = parse(text).unwrap();
        assert_eq!(maps.len(), 5);
        assert_eq!(maps[0].range, RuntimeAddr(0x55d0_c0a0_1000)..RuntimeAddr(0x55d0_c0a0_2000));
        assert!(maps[0].readable && !maps[0].writable && maps[0].executable);
        assert_eq!(maps[0].offset, FileOffset(0x1000));
        assert_eq!(maps[0].file, FileId { major: 0xfe, minor: 0, inode: 1837 });
        let file = |path: &str, deleted| Backing::File { path: path.into(), deleted };
        assert_eq!(maps[0].backing, file("/tmp/a b", false));
        assert_eq!(maps[1].backing, Backing::Anonymous);
        assert_eq!(maps[2].backing, file("/tmp/x", true));
        assert_eq!(maps[2].file.inode, u64::MAX);
        assert_eq!(maps[3].backing, file("/tmp/new\nline", false));
        assert_eq!(maps[4].backing, Backing::Special("[vdso]".into()));
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = parse(b"0-1 r-xp 0 0:0 0\nnonsense\n").unwrap_err();
        assert_eq!((error.line, error.text.as_str()), (2, "nonsense"));
    }

    #[test]
    fn own_maps_cover_own_code() {
        let maps = parse(&std::fs::read("/proc/self/maps").unwrap()).unwrap();
        let here = RuntimeAddr(own_maps_cover_own_code as fn() as usize as u64);
        let mapping = maps.iter().find(|m| m.range.contains(&here)).unwrap();
        assert!(mapping.executable);
        let Backing::File { path, .. } = &mapping.backing else { panic!("{mapping:?}") };
        assert_eq!(path, &std::env::current_exe().unwrap());
    }
}
