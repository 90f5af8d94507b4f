//! Flags of common system calls by name, as C would write them.

use super::hex::hex;

/// A flag or a group of them: bits and name.
type Named = (i32, &'static str);

/// Of open(2), those of several bits before those whose bits they contain; x86-64's numbers (`asm-generic/fcntl.h`).
/// `libc::O_LARGEFILE` is what programs pass, 0: the kernel sets the bit by itself.
const OPEN: [Named; 18] = [
    (libc::O_TMPFILE, "O_TMPFILE"),
    (libc::O_SYNC, "O_SYNC"),
    (libc::O_CREAT, "O_CREAT"),
    (libc::O_EXCL, "O_EXCL"),
    (libc::O_NOCTTY, "O_NOCTTY"),
    (libc::O_TRUNC, "O_TRUNC"),
    (libc::O_APPEND, "O_APPEND"),
    (libc::O_NONBLOCK, "O_NONBLOCK"),
    (libc::O_DSYNC, "O_DSYNC"),
    (libc::O_ASYNC, "O_ASYNC"),
    (libc::O_DIRECT, "O_DIRECT"),
    (0o100_000, "O_LARGEFILE"),
    (libc::O_DIRECTORY, "O_DIRECTORY"),
    (libc::O_NOFOLLOW, "O_NOFOLLOW"),
    (libc::O_NOATIME, "O_NOATIME"),
    (libc::O_CLOEXEC, "O_CLOEXEC"),
    (libc::O_PATH, "O_PATH"),
    (libc::O_WRONLY | libc::O_RDWR, "O_ACCMODE"),
];

const PROTECTION: [Named; 5] = [
    (libc::PROT_READ, "PROT_READ"),
    (libc::PROT_WRITE, "PROT_WRITE"),
    (libc::PROT_EXEC, "PROT_EXEC"),
    (libc::PROT_GROWSDOWN, "PROT_GROWSDOWN"),
    (libc::PROT_GROWSUP, "PROT_GROWSUP"),
];

const MAPPING: [Named; 13] = [
    (libc::MAP_SHARED_VALIDATE, "MAP_SHARED_VALIDATE"),
    (libc::MAP_SHARED, "MAP_SHARED"),
    (libc::MAP_PRIVATE, "MAP_PRIVATE"),
    (libc::MAP_FIXED, "MAP_FIXED"),
    (libc::MAP_ANONYMOUS, "MAP_ANONYMOUS"),
    (libc::MAP_GROWSDOWN, "MAP_GROWSDOWN"),
    (libc::MAP_DENYWRITE, "MAP_DENYWRITE"),
    (libc::MAP_LOCKED, "MAP_LOCKED"),
    (libc::MAP_NORESERVE, "MAP_NORESERVE"),
    (libc::MAP_POPULATE, "MAP_POPULATE"),
    (libc::MAP_NONBLOCK, "MAP_NONBLOCK"),
    (libc::MAP_STACK, "MAP_STACK"),
    (libc::MAP_FIXED_NOREPLACE, "MAP_FIXED_NOREPLACE"),
];

/// `O_RDONLY|O_CLOEXEC`.
#[must_use]
pub fn open(value: u64) -> String {
    let flags = value as u32 as i32;
    let access = match flags & libc::O_ACCMODE {
        libc::O_RDONLY => Some("O_RDONLY"),
        libc::O_WRONLY => Some("O_WRONLY"),
        libc::O_RDWR => Some("O_RDWR"),
        _ => None,
    };
    let rest = if access.is_some() { flags & !libc::O_ACCMODE } else { flags };
    words(access, rest, &OPEN).unwrap_or_default()
}

/// `O_NONBLOCK|O_CLOEXEC` of pipe2(2) and dup3(2): what open(2) calls O_RDONLY is no flag there.
#[must_use]
pub fn descriptor(value: u64) -> String {
    words(None, value as u32 as i32, &OPEN).unwrap_or_else(|| "0".to_owned())
}

/// `PROT_READ|PROT_WRITE`.
#[must_use]
pub fn protection(value: u64) -> String {
    words(None, value as u32 as i32, &PROTECTION).unwrap_or_else(|| "PROT_NONE".to_owned())
}

/// `MAP_PRIVATE|MAP_ANONYMOUS`.
#[must_use]
pub fn mapping(value: u64) -> String {
    words(None, value as u32 as i32, &MAPPING).unwrap_or_else(|| "0".to_owned())
}

/// The names of what is set, and what is left as a number; `None` where nothing is.
fn words(first: Option<&'static str>, flags: i32, names: &[Named]) -> Option<String> {
    let mut words: Vec<String> = first.into_iter().map(str::to_owned).collect();
    let mut left = flags;
    for (bits, name) in names {
        if left & bits == *bits {
            words.push((*name).to_owned());
            left &= !bits;
        }
    }
    if left != 0 {
        words.push(hex(u64::from(left as u32)));
    }
    (!words.is_empty()).then(|| words.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_their_names() {
        assert_eq!(open(0), "O_RDONLY");
        assert_eq!(open((libc::O_RDONLY | libc::O_CLOEXEC) as u64), "O_RDONLY|O_CLOEXEC");
        assert_eq!(open((libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC) as u64), "O_WRONLY|O_CREAT|O_TRUNC");
        assert_eq!(open((libc::O_RDWR | libc::O_TMPFILE) as u64), "O_RDWR|O_TMPFILE", "holds O_DIRECTORY");
        assert_eq!(open(libc::O_SYNC as u64), "O_RDONLY|O_SYNC", "holds O_DSYNC");
        assert_eq!(open(libc::O_DIRECTORY as u64), "O_RDONLY|O_DIRECTORY");
        assert_eq!(open(3), "O_ACCMODE", "neither: only ioctl");
        assert_eq!(open(0x4000_0001), "O_WRONLY|0x40000000");
        assert_eq!(descriptor((libc::O_NONBLOCK | libc::O_CLOEXEC) as u64), "O_NONBLOCK|O_CLOEXEC");
        assert_eq!(descriptor(0), "0");
        assert_eq!(protection(0), "PROT_NONE");
        assert_eq!(protection(5), "PROT_READ|PROT_EXEC");
        assert_eq!(mapping(0x22), "MAP_PRIVATE|MAP_ANONYMOUS");
        assert_eq!(mapping(0x812), "MAP_PRIVATE|MAP_FIXED|MAP_DENYWRITE");
        assert_eq!(mapping(3), "MAP_SHARED_VALIDATE");
        assert_eq!(mapping(0), "0");
    }
}
