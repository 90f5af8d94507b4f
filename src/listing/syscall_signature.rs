//! How the arguments of common system calls are written.

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// An `int`, in decimal.
    Int,
    /// A descriptor that may be AT_FDCWD.
    Directory,
    /// A `long` or an offset, in decimal.
    Long,
    /// A length or a count, in decimal.
    Size,
    /// Flags or anything else, in hexadecimal.
    Hex,
    /// A file mode, in octal.
    Mode,
    /// An address that the kernel reads or writes at.
    Pointer,
    /// The address of a C string.
    Text,
    /// Flags of open(2).
    Open,
    /// Those of them that a new descriptor gets from other calls, which have no access mode.
    Descriptor,
    /// Protection of memory, as mmap(2) has it.
    Protection,
    /// Flags of mmap(2).
    Mapping,
    /// The address of bytes that the call takes, as many as the next argument says.
    Bytes,
}

/// Names and a letter for each argument, by name; from the manual pages in section 2.
const SIGNATURES: &[(&str, &str)] = &[
    ("access", "to"),
    ("brk", "p"),
    ("chdir", "t"),
    ("chmod", "to"),
    ("chown", "tii"),
    ("chroot", "t"),
    ("clock_gettime", "ip"),
    ("clock_nanosleep", "iipp"),
    ("close", "i"),
    ("connect", "ips"),
    ("creat", "to"),
    ("dup", "i"),
    ("dup2", "ii"),
    ("dup3", "iin"),
    ("execve", "tpp"),
    ("execveat", "dtppx"),
    ("exit", "i"),
    ("exit_group", "i"),
    ("faccessat", "dto"),
    ("faccessat2", "dtox"),
    ("fchmod", "io"),
    ("fchmodat", "dto"),
    ("fchownat", "dtiix"),
    ("fcntl", "iix"),
    ("fgetxattr", "itps"),
    ("fremovexattr", "it"),
    ("fsetxattr", "itbsx"),
    ("fstat", "ip"),
    ("ftruncate", "il"),
    ("futex", "piippi"),
    ("getcwd", "ps"),
    ("getdents64", "ips"),
    ("getrandom", "psx"),
    ("getxattr", "ttps"),
    ("inotify_add_watch", "itx"),
    ("ioctl", "ixx"),
    ("kill", "ii"),
    ("lchown", "tii"),
    ("lgetxattr", "ttps"),
    ("link", "tt"),
    ("linkat", "dtdtx"),
    ("listxattr", "tps"),
    ("llistxattr", "tps"),
    ("lremovexattr", "tt"),
    ("lseek", "ili"),
    ("lsetxattr", "ttbsx"),
    ("lstat", "tp"),
    ("madvise", "psi"),
    ("memfd_create", "tx"),
    ("mkdir", "to"),
    ("mkdirat", "dto"),
    ("mknod", "tox"),
    ("mknodat", "dtox"),
    ("mmap", "psrmix"),
    ("mount", "tttxp"),
    ("mprotect", "psr"),
    ("munmap", "ps"),
    ("nanosleep", "pp"),
    ("newfstatat", "dtpx"),
    ("open", "tfo"),
    ("openat", "dtfo"),
    ("openat2", "dtps"),
    ("pipe", "p"),
    ("pipe2", "pn"),
    ("pivot_root", "tt"),
    ("poll", "psi"),
    ("ppoll", "psppx"),
    ("pread64", "ipsl"),
    ("prlimit64", "iipp"),
    ("pwrite64", "ibsl"),
    ("read", "ips"),
    ("readlink", "tps"),
    ("readlinkat", "dtps"),
    ("readv", "ips"),
    ("removexattr", "tt"),
    ("rename", "tt"),
    ("renameat", "dtdt"),
    ("renameat2", "dtdtx"),
    ("rmdir", "t"),
    ("rt_sigaction", "ipps"),
    ("rt_sigprocmask", "ipps"),
    ("sched_yield", ""),
    ("sendto", "ibsxps"),
    ("sethostname", "bs"),
    ("setxattr", "ttbsx"),
    ("socket", "iii"),
    ("stat", "tp"),
    ("statfs", "tp"),
    ("statx", "dtxxp"),
    ("symlink", "tt"),
    ("symlinkat", "tdt"),
    ("tgkill", "iii"),
    ("tkill", "ii"),
    ("truncate", "tl"),
    ("umount2", "tx"),
    ("uname", "p"),
    ("unlink", "t"),
    ("unlinkat", "dtx"),
    ("utime", "tp"),
    ("utimensat", "dtpx"),
    ("utimes", "tp"),
    ("wait4", "ipip"),
    ("write", "ibs"),
    ("writev", "ips"),
];

/// What argument `index` of the call is; hexadecimal where this version does not know.
#[must_use]
pub fn argument(call: &str, index: usize) -> Argument {
    let found = SIGNATURES.binary_search_by_key(&call, |(name, _)| *name).ok();
    match found.and_then(|at| SIGNATURES[at].1.as_bytes().get(index)) {
        Some(b'i') => Argument::Int,
        Some(b'd') => Argument::Directory,
        Some(b'l') => Argument::Long,
        Some(b's') => Argument::Size,
        Some(b'o') => Argument::Mode,
        Some(b'p') => Argument::Pointer,
        Some(b't') => Argument::Text,
        Some(b'b') => Argument::Bytes,
        Some(b'f') => Argument::Open,
        Some(b'n') => Argument::Descriptor,
        Some(b'r') => Argument::Protection,
        Some(b'm') => Argument::Mapping,
        _ => Argument::Hex,
    }
}

/// Whether the call gives back an address.
#[must_use]
pub fn returns_address(call: &str) -> bool {
    matches!(call, "brk" | "mmap" | "mremap" | "shmat")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::syscall_arity;

    #[test]
    fn sorted_and_as_long_as_the_kernel_has_them() {
        assert!(SIGNATURES.windows(2).all(|two| two[0].0 < two[1].0));
        for (name, letters) in SIGNATURES {
            let number = syscalls::Sysno::iter().find(|call| call.name() == *name).unwrap();
            assert_eq!(letters.len(), syscall_arity::arguments(number.id() as u64), "{name}");
        }
    }

    #[test]
    fn unknown_ones_are_hexadecimal() {
        assert_eq!(argument("write", 1), Argument::Bytes);
        assert_eq!(argument("write", 3), Argument::Hex);
        assert_eq!(argument("bpf", 0), Argument::Hex);
    }
}
