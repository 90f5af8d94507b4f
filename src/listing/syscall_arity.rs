//! How many arguments each system call takes.

use super::{compat_call, names};

/// One digit per call, ten calls a line, from number 0 (Linux `arch/x86/entry/syscalls/syscall_64.tbl`, and the
/// `SYSCALL_DEFINEn` of each call).
const FROM_0: &[u8] = b"\
3331222336\
3214403443\
3215053333\
3312022130\
4333663323\
2334555003\
1421334124\
5332112232\
1122122123\
2233312221\
1403011002\
0002222333\
3111122243\
2223112223\
2322311122\
2100321521\
2101252214\
2213232154\
3555330355\
5444333222\
2163312153\
3131445310\
4434211222\
4144325635\
4155234554\
5320324434\
5343453433\
6512364446\
4632144244\
2132155455\
2545321423\
6653345332\
5351336664\
21564";

/// The same from number 424 on, where all architectures count alike.
const FROM_424: &[u8] = b"4264352533223434565";

/// The arguments that system call `number` takes; all six where this version does not know it.
#[must_use]
pub fn arguments(number: u64) -> usize {
    known(number).unwrap_or(6)
}

/// The same where it is known.
#[must_use]
pub fn known(number: u64) -> Option<usize> {
    if compat_call::number(number).is_some() {
        return known(compat_call::twin(&names::syscall(number))?);
    }
    let digit = |table: &[u8], start: u64| {
        let place = usize::try_from(number.checked_sub(start)?).ok()?;
        table.get(place).map(|digit| usize::from(digit - b'0'))
    };
    digit(FROM_0, 0).or_else(|| digit(FROM_424, 424))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_from_every_part_of_the_table() {
        let number = |call: i64| arguments(call as u64);
        let cases = [
            (libc::SYS_read, 3),
            (libc::SYS_mmap, 6),
            (libc::SYS_rt_sigaction, 4),
            (libc::SYS_getpid, 0),
            (libc::SYS_clone, 5),
            (libc::SYS_exit, 1),
            (libc::SYS_rename, 2),
            (libc::SYS_ptrace, 4),
            (libc::SYS_prctl, 5),
            (libc::SYS_gettid, 0),
            (libc::SYS_futex, 6),
            (libc::SYS_exit_group, 1),
            (libc::SYS_openat, 4),
            (libc::SYS_prlimit64, 4),
            (libc::SYS_getrandom, 3),
            (libc::SYS_copy_file_range, 6),
            (libc::SYS_rseq, 4),
            (libc::SYS_pidfd_send_signal, 4),
            (libc::SYS_clone3, 2),
            (libc::SYS_mount_setattr, 5),
        ];
        for (call, count) in cases {
            assert_eq!(number(call), count, "system call {call}");
        }
        assert_eq!(arguments(400), 6, "no such call");
        assert_eq!(arguments(u64::MAX), 6);
    }
}
