//! What the kernel writes into memory, by system call, and the C library's functions that answer as it does.

use super::shadow::Shadow;
use super::tag::Tag;

/// How many bytes an output has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    Bytes(u64),
    /// As many as that argument says, times so many.
    Argument(usize, u64),
    /// As many as that argument says, times the next one.
    Items(usize),
    /// As many as the result says, times so many; and so many more.
    Result(u64, u64),
}

use Length::{Argument, Bytes, Items, Result};

/// Index of an argument that says where, and the length.
type Outputs = &'static [(usize, Length)];

const STAT: Length = Bytes(size_of::<libc::stat>() as u64);
const SIGINFO: Length = Bytes(size_of::<libc::siginfo_t>() as u64);
const RUSAGE: Length = Bytes(size_of::<libc::rusage>() as u64);
const ADDRESS: Length = Bytes(size_of::<libc::sockaddr_storage>() as u64);
const TIMESPEC: Length = Bytes(16);
const ITIMER: Length = Bytes(32);
const DIRENT: Length = Bytes(size_of::<libc::dirent>() as u64);
/// A file name that the C library fills in: as long as such names are, since nobody says how long this one is.
const TEMPLATE: Length = Bytes(64);

/// From the manual pages in section 2; a call that writes nothing has no outputs.
const CALLS: &[(&str, Outputs)] = &[
    ("accept", &[(1, ADDRESS), (2, Bytes(4))]),
    ("accept4", &[(1, ADDRESS), (2, Bytes(4))]),
    ("arch_prctl", &[(1, Bytes(8))]),
    ("capget", &[(1, Bytes(24))]),
    ("clock_getres", &[(1, TIMESPEC)]),
    ("clock_gettime", &[(1, TIMESPEC)]),
    ("clock_nanosleep", &[(3, TIMESPEC)]),
    ("clone", &[(2, Bytes(4)), (3, Bytes(4))]),
    ("copy_file_range", &[(1, Bytes(8)), (3, Bytes(8))]),
    ("epoll_pwait", &[(1, Result(12, 0))]),
    ("epoll_wait", &[(1, Result(12, 0))]),
    ("fcntl", &[(2, Bytes(32))]),
    ("fgetxattr", &[(2, Result(1, 0))]),
    ("flistxattr", &[(1, Result(1, 0))]),
    ("fstat", &[(1, STAT)]),
    ("fstatfs", &[(1, Bytes(120))]),
    ("get_robust_list", &[(1, Bytes(8)), (2, Bytes(8))]),
    ("getcpu", &[(0, Bytes(4)), (1, Bytes(4))]),
    ("getcwd", &[(0, Argument(1, 1))]),
    ("getdents", &[(1, Result(1, 0))]),
    ("getdents64", &[(1, Result(1, 0))]),
    ("getgroups", &[(1, Argument(0, 4))]),
    ("getitimer", &[(1, ITIMER)]),
    ("getpeername", &[(1, ADDRESS), (2, Bytes(4))]),
    ("getrandom", &[(0, Result(1, 0))]),
    ("getresgid", &[(0, Bytes(4)), (1, Bytes(4)), (2, Bytes(4))]),
    ("getresuid", &[(0, Bytes(4)), (1, Bytes(4)), (2, Bytes(4))]),
    ("getrlimit", &[(1, Bytes(16))]),
    ("getrusage", &[(1, RUSAGE)]),
    ("getsockname", &[(1, ADDRESS), (2, Bytes(4))]),
    ("getsockopt", &[(3, Bytes(128)), (4, Bytes(4))]),
    ("gettimeofday", &[(0, TIMESPEC), (1, Bytes(8))]),
    ("getxattr", &[(2, Result(1, 0))]),
    ("ioctl", &[(2, Bytes(256))]),
    ("lgetxattr", &[(2, Result(1, 0))]),
    ("listxattr", &[(1, Result(1, 0))]),
    ("lstat", &[(1, STAT)]),
    ("mincore", &[(2, Argument(1, 1))]),
    ("nanosleep", &[(1, TIMESPEC)]),
    ("newfstatat", &[(2, STAT)]),
    ("pipe", &[(0, Bytes(8))]),
    ("pipe2", &[(0, Bytes(8))]),
    ("poll", &[(0, Argument(1, 8))]),
    ("ppoll", &[(0, Argument(1, 8)), (2, TIMESPEC)]),
    ("prctl", &[(1, Bytes(16))]),
    ("pread64", &[(1, Result(1, 0))]),
    ("prlimit64", &[(3, Bytes(16))]),
    ("pselect6", &[(1, Bytes(128)), (2, Bytes(128)), (3, Bytes(128)), (4, TIMESPEC)]),
    ("read", &[(1, Result(1, 0))]),
    ("readlink", &[(1, Result(1, 0))]),
    ("readlinkat", &[(2, Result(1, 0))]),
    ("recvfrom", &[(1, Result(1, 0)), (4, ADDRESS), (5, Bytes(4))]),
    ("rt_sigaction", &[(2, Bytes(32))]),
    ("rt_sigpending", &[(0, Argument(1, 1))]),
    ("rt_sigprocmask", &[(2, Argument(3, 1))]),
    ("rt_sigtimedwait", &[(1, SIGINFO)]),
    ("sched_getaffinity", &[(2, Result(1, 0))]),
    ("sched_getparam", &[(1, Bytes(4))]),
    ("sched_rr_get_interval", &[(1, TIMESPEC)]),
    ("select", &[(1, Bytes(128)), (2, Bytes(128)), (3, Bytes(128)), (4, TIMESPEC)]),
    ("sendfile", &[(2, Bytes(8))]),
    ("setitimer", &[(2, ITIMER)]),
    ("sigaltstack", &[(1, Bytes(24))]),
    ("socketpair", &[(3, Bytes(8))]),
    ("splice", &[(1, Bytes(8)), (3, Bytes(8))]),
    ("stat", &[(1, STAT)]),
    ("statfs", &[(1, Bytes(120))]),
    ("statx", &[(4, Bytes(256))]),
    ("sysinfo", &[(0, Bytes(112))]),
    ("time", &[(0, Bytes(8))]),
    ("timer_create", &[(2, Bytes(4))]),
    ("timer_gettime", &[(1, ITIMER)]),
    ("timer_settime", &[(3, ITIMER)]),
    ("timerfd_gettime", &[(1, ITIMER)]),
    ("timerfd_settime", &[(3, ITIMER)]),
    ("times", &[(0, Bytes(32))]),
    ("uname", &[(0, Bytes(size_of::<libc::utsname>() as u64))]),
    ("wait4", &[(1, Bytes(4)), (3, RUSAGE)]),
    ("waitid", &[(2, SIGINFO), (4, RUSAGE)]),
];

/// Calls that write nothing through their arguments, beside those that take none.
const READ_ONLY: &[&str] = &[
    "access",
    "alarm",
    "bind",
    "brk",
    "chdir",
    "chmod",
    "chown",
    "close",
    "connect",
    "creat",
    "dup",
    "dup2",
    "dup3",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "eventfd",
    "eventfd2",
    "execve",
    "exit",
    "exit_group",
    "faccessat",
    "faccessat2",
    "fadvise64",
    "fallocate",
    "fchdir",
    "fchmod",
    "fchmodat",
    "fchown",
    "fchownat",
    "fdatasync",
    "flock",
    "fsync",
    "ftruncate",
    "futex",
    "getpgid",
    "getpriority",
    "getsid",
    "inotify_init1",
    "kill",
    "lchown",
    "link",
    "linkat",
    "listen",
    "lseek",
    "madvise",
    "mkdir",
    "mkdirat",
    "mlock",
    "mmap",
    "mprotect",
    "mremap",
    "msync",
    "munlock",
    "munmap",
    "open",
    "openat",
    "personality",
    "pkey_mprotect",
    "pwrite64",
    "pwritev",
    "rename",
    "renameat",
    "renameat2",
    "rmdir",
    "rseq",
    "rt_sigqueueinfo",
    "rt_sigreturn",
    "rt_sigsuspend",
    "sched_setaffinity",
    "sendmsg",
    "sendto",
    "set_robust_list",
    "set_tid_address",
    "setpgid",
    "setpriority",
    "setrlimit",
    "setsockopt",
    "shutdown",
    "signalfd4",
    "socket",
    "symlink",
    "symlinkat",
    "tgkill",
    "timerfd_create",
    "tkill",
    "truncate",
    "umask",
    "unlink",
    "unlinkat",
    "utimensat",
    "write",
    "writev",
];

/// Calls that write where addresses in memory say.
const SCATTERED: &[&str] =
    &["preadv", "preadv2", "process_vm_readv", "ptrace", "readv", "recvmmsg", "recvmsg", "io_uring_enter"];

/// Of the C library beside those that are called like system calls: what answers what no two runs or machines share, and where
/// it leaves more.
const FUNCTIONS: &[(&str, Outputs)] = &[
    ("arc4random", &[]),
    ("arc4random_buf", &[(0, Argument(1, 1))]),
    ("arc4random_uniform", &[]),
    ("clock", &[]),
    ("drand48", &[]),
    ("erand48", &[(0, Bytes(6))]),
    ("fgetc", &[]),
    ("fgetc_unlocked", &[]),
    ("fgets", &[(0, Argument(1, 1))]),
    ("fgets_unlocked", &[(0, Argument(1, 1))]),
    ("fread", &[(0, Items(1))]),
    ("fread_unlocked", &[(0, Items(1))]),
    ("fstat64", &[(1, STAT)]),
    ("fstatat", &[(2, STAT)]),
    ("fstatat64", &[(2, STAT)]),
    ("fstatvfs", &[(1, Bytes(112))]),
    ("fxstat", &[(2, STAT)]),
    ("get_nprocs", &[]),
    ("getauxval", &[]),
    ("getc", &[]),
    ("getchar", &[]),
    ("getdomainname", &[(0, Argument(1, 1))]),
    ("getentropy", &[(0, Argument(1, 1))]),
    ("gethostid", &[]),
    ("gethostname", &[(0, Argument(1, 1))]),
    ("getloadavg", &[(0, Argument(1, 8))]),
    ("getlogin_r", &[(0, Argument(1, 1))]),
    ("gmtime_r", &[(1, Bytes(56))]),
    ("IO_getc", &[]),
    ("jrand48", &[(0, Bytes(6))]),
    ("localtime_r", &[(1, Bytes(56))]),
    ("lrand48", &[]),
    ("lstat64", &[(1, STAT)]),
    ("lxstat", &[(2, STAT)]),
    ("mkdtemp", &[(0, TEMPLATE)]),
    ("mkostemp", &[(0, TEMPLATE)]),
    ("mkostemps", &[(0, TEMPLATE)]),
    ("mkstemp", &[(0, TEMPLATE)]),
    ("mkstemp64", &[(0, TEMPLATE)]),
    ("mkstemps", &[(0, TEMPLATE)]),
    ("mktemp", &[(0, TEMPLATE)]),
    ("mrand48", &[]),
    ("nrand48", &[(0, Bytes(6))]),
    ("posix_spawn", &[(0, Bytes(4))]),
    ("posix_spawnp", &[(0, Bytes(4))]),
    ("pread", &[(1, Result(1, 0))]),
    ("pthread_getattr_np", &[(1, Bytes(56))]),
    ("pthread_getcpuclockid", &[(1, Bytes(4))]),
    ("rand", &[]),
    ("rand_r", &[(0, Bytes(4))]),
    ("random", &[]),
    ("random_r", &[(1, Bytes(4))]),
    ("readdir64_r", &[(1, DIRENT)]),
    ("readdir_r", &[(1, DIRENT)]),
    ("recv", &[(1, Result(1, 0))]),
    ("sched_getcpu", &[]),
    ("stat64", &[(1, STAT)]),
    ("statvfs", &[(1, Bytes(112))]),
    ("sysconf", &[]),
    ("timespec_get", &[(0, TIMESPEC)]),
    ("tmpnam", &[(0, TEMPLATE)]),
    ("ttyname_r", &[(1, Argument(2, 1))]),
    ("ungetc", &[]),
    ("wait", &[(0, Bytes(4))]),
    ("wait3", &[(0, Bytes(4)), (2, RUSAGE)]),
    ("waitpid", &[(1, Bytes(4))]),
    ("xstat", &[(2, STAT)]),
];

/// How many bytes of memory of its own the call of that name hands out, where its arguments say so.
#[must_use]
pub fn mapped_length(name: &str, arguments: &[u64; 6]) -> Option<u64> {
    match name {
        "mmap" | "mmap64" => Some(arguments[1]),
        "mremap" => Some(arguments[2]),
        _ => None,
    }
}

/// What a system call wrote: `arguments` as far as they are known, `result` that of the call. `is_address` says what the
/// kernel may have been given to write at.
pub fn written_by_call(
    name: &str,
    arguments: &[Option<u64>; 6],
    result: Option<u64>,
    is_address: &dyn Fn(u64) -> bool,
    memory: &mut Shadow,
) {
    /// What a call that this version does not know may write at each of its arguments.
    const UNKNOWN: u64 = 256;
    if SCATTERED.contains(&name) {
        memory.overwrite();
    } else if let Some(outputs) = find(CALLS, name) {
        write(outputs, arguments, result, memory);
    } else if !READ_ONLY.contains(&name) {
        for address in arguments.iter().flatten().filter(|value| is_address(**value)) {
            memory.fill(*address, UNKNOWN, Some(Tag::Outside));
        }
    }
}

/// What a function of the C library wrote that runs out of sight, if its answer is from outside; else `false`.
pub fn written_by_function(
    name: &str,
    arguments: &[Option<u64>; 6],
    result: Option<u64>,
    memory: &mut Shadow,
) -> bool {
    if let Some(outputs) = find(FUNCTIONS, name) {
        write(outputs, arguments, result, memory);
        return true;
    }
    let call = name.parse::<syscalls::Sysno>().is_ok();
    if call {
        written_by_call(name, arguments, result, &|_| false, memory);
    }
    call
}

fn find(table: &[(&str, Outputs)], name: &str) -> Option<Outputs> {
    table.iter().find(|(known, _)| *known == name).map(|(_, outputs)| *outputs)
}

fn write(outputs: Outputs, arguments: &[Option<u64>; 6], result: Option<u64>, memory: &mut Shadow) {
    // A negated errno, or the C library's -1: nothing was written.
    let succeeded = result.filter(|result| (*result as i64) >= 0);
    for (at, length) in outputs {
        let Some(address) = arguments[*at].filter(|address| *address != 0) else { continue };
        let argument = |index: usize| arguments[index].unwrap_or(0);
        let length = match *length {
            Bytes(bytes) => bytes,
            Argument(index, times) => argument(index).saturating_mul(times),
            Items(index) => argument(index).saturating_mul(argument(index + 1)),
            Result(times, more) => succeeded.map_or(0, |it| it.saturating_mul(times).saturating_add(more)),
        };
        memory.fill(address, length, Some(Tag::Outside));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_system_call() {
        let names = CALLS.iter().map(|(name, _)| name).chain(READ_ONLY).chain(SCATTERED);
        for name in names {
            assert!(name.parse::<syscalls::Sysno>().is_ok(), "{name}");
        }
        assert!(CALLS.windows(2).all(|two| two[0].0 < two[1].0));
    }

    fn filled(name: &str, arguments: [u64; 3], result: u64) -> Vec<(u64, u64)> {
        let mut memory = Shadow::default();
        let [a, b, c] = arguments.map(Some);
        written_by_call(name, &[a, b, c, None, None, None], Some(result), &|it| it >= 0x1000, &mut memory);
        arguments.iter().map(|it| (*it, memory.outside_from(*it))).filter(|(_, length)| *length > 0).collect()
    }

    #[test]
    fn what_calls_write() {
        assert_eq!(filled("read", [0, 0x1000, 64], 5), [(0x1000, 5)], "no more than was read");
        assert_eq!(filled("read", [0, 0x1000, 64], (-4_i64) as u64), []);
        assert_eq!(filled("clock_gettime", [1, 0x1000, 0], 0), [(0x1000, 16)]);
        assert_eq!(filled("write", [1, 0x1000, 64], 64), []);
        assert_eq!(filled("bpf", [1, 0x1000, 64], 0), [(0x1000, 256)], "nobody knows");
        let mut memory = Shadow::default();
        let arguments = [Some(0x1000), None, None, None, None, None];
        assert!(written_by_function("mkstemp", &arguments, Some(3), &mut memory));
        assert_eq!(memory.outside_from(0x1000), 64);
        assert_eq!(filled("poll", [0x1000, 2, 64], 0), [(0x1000, 16)]);
    }
}
