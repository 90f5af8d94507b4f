//! A stopped thread's memory (`process_vm_readv(2)`), and through `/proc/PID/mem` where that is refused.

#![allow(unsafe_code, reason = "process_vm_readv and process_vm_writev take pointers")]

use nix::errno::Errno;
use nix::unistd::Pid;

use crate::address::RuntimeAddr;

/// Reads up to `bytes.len()` bytes; how many there were before the first page that cannot be read.
///
/// # Errors
/// EFAULT: not even the first byte is there. ESRCH: the thread is gone.
pub fn read_some(thread: Pid, from: RuntimeAddr, bytes: &mut [u8]) -> Result<usize, Errno> {
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // Pages can go on or end at every page boundary, and a remote element is read whole or not at all.
    let first = bytes.len().min(PAGE - from.0 as usize % PAGE);
    let remote = [
        libc::iovec { iov_base: from.0 as *mut libc::c_void, iov_len: first },
        libc::iovec {
            iov_base: from.plus(first as u64).0 as *mut libc::c_void,
            iov_len: bytes.len() - first,
        },
    ];
    // SAFETY: the kernel writes to `bytes` only, no more than it holds.
    let read = unsafe { libc::process_vm_readv(thread.as_raw(), &raw const local, 1, remote.as_ptr(), 2, 0) };
    Errno::result(read).map(|read| read as usize)
}

const PAGE: usize = 4096;

/// Reads exactly `N` bytes.
///
/// # Errors
/// EFAULT: they are not all there.
pub fn read<const N: usize>(thread: Pid, from: RuntimeAddr) -> Result<[u8; N], Errno> {
    let mut bytes = [0; N];
    read_exact(thread, from, &mut bytes)?;
    Ok(bytes)
}

/// # Errors
/// EFAULT: the bytes are not all there.
pub fn read_exact(thread: Pid, from: RuntimeAddr, bytes: &mut [u8]) -> Result<(), Errno> {
    match read_some(thread, from, bytes) {
        Ok(read) if read == bytes.len() => Ok(()),
        Ok(_) => Err(Errno::EFAULT),
        Err(errno) => Err(errno),
    }
}

/// Writes all of `bytes`, as the program itself could.
///
/// # Errors
/// EFAULT: they do not all fit into writable memory.
pub fn write(thread: Pid, to: RuntimeAddr, bytes: &[u8]) -> Result<(), Errno> {
    let local = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: to.0 as *mut libc::c_void, iov_len: bytes.len() };
    // SAFETY: the kernel only reads `bytes`.
    let written =
        unsafe { libc::process_vm_writev(thread.as_raw(), &raw const local, 1, &raw const remote, 1, 0) };
    match Errno::result(written)? as usize {
        all if all == bytes.len() => Ok(()),
        _ => Err(Errno::EFAULT),
    }
}

/// A buffer in pieces, as `readv(2)` fills it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pieces(Vec<(RuntimeAddr, u64)>);

impl Pieces {
    #[must_use]
    pub fn one(at: RuntimeAddr, length: u64) -> Self {
        Self(vec![(at, length)])
    }

    /// Those of `number` iovecs.
    ///
    /// # Errors
    /// EINVAL: more than the kernel takes. EFAULT: they are not there.
    pub fn of_iovecs(thread: Pid, at: RuntimeAddr, number: u64) -> Result<Self, Errno> {
        const MOST: u64 = 1024;
        const IOVEC: u64 = 16;
        if number > MOST {
            return Err(Errno::EINVAL);
        }
        let piece = |place: u64| {
            let [base, length] = [0, 8].map(|half| read(thread, at.plus(place * IOVEC + half)));
            Ok((RuntimeAddr(u64::from_ne_bytes(base?)), u64::from_ne_bytes(length?)))
        };
        (0..number).map(piece).collect::<Result<_, Errno>>().map(Self)
    }

    pub fn iter(&self) -> impl Iterator<Item = (RuntimeAddr, u64)> {
        self.0.iter().copied()
    }

    /// Reads from `offset` on.
    ///
    /// # Errors
    /// EFAULT: the buffer is shorter, or not there.
    pub fn read<const N: usize>(&self, thread: Pid, offset: u64) -> Result<[u8; N], Errno> {
        let mut bytes = [0; N];
        let mut done = 0;
        while done < N {
            let (at, left) = self.place(offset + done as u64)?;
            let part = (N - done).min(left as usize);
            read_exact(thread, at, &mut bytes[done..done + part])?;
            done += part;
        }
        Ok(bytes)
    }

    /// # Errors
    /// As of [`Pieces::read`].
    pub fn write(&self, thread: Pid, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let mut done = 0;
        while done < bytes.len() {
            let (at, left) = self.place(offset + done as u64)?;
            let part = (bytes.len() - done).min(left as usize);
            write(thread, at, &bytes[done..done + part])?;
            done += part;
        }
        Ok(())
    }

    /// Where the byte at `offset` lies, and how many there are from it on in one piece.
    fn place(&self, mut offset: u64) -> Result<(RuntimeAddr, u64), Errno> {
        for (at, length) in self.iter() {
            if offset < length {
                return Ok((at.plus(offset), length - offset));
            }
            offset -= length;
        }
        Err(Errno::EFAULT)
    }
}

/// What leaf functions may use below the stack pointer (System V ABI, "red zone"), in bytes.
const RED_ZONE: u64 = 128;

/// Bytes on a thread's stack that belong to nobody, for what a call of ours points to.
pub struct Scratch {
    pub at: RuntimeAddr,
    before: Vec<u8>,
}

impl Scratch {
    /// Puts `bytes` below what the program may use.
    ///
    /// # Errors
    /// EFAULT: there is no room.
    pub fn write(thread: Pid, registers: &super::ptrace::Registers, bytes: &[u8]) -> Result<Self, Errno> {
        let at = RuntimeAddr(
            (registers.rsp.wrapping_sub(RED_ZONE) & !0xf).wrapping_sub(bytes.len() as u64) & !0xf,
        );
        let mut before = vec![0; bytes.len()];
        read_exact(thread, at, &mut before)?;
        write(thread, at, bytes)?;
        Ok(Self { at, before })
    }

    /// # Errors
    /// ESRCH: the thread was killed.
    pub fn put_back(self, thread: Pid) -> Result<(), Errno> {
        write(thread, self.at, &self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::getpid;

    #[test]
    fn what_was_written_is_read_back_and_nothing_is_there_at_zero() {
        let place = std::hint::black_box([0u8; 16]);
        let at = RuntimeAddr(place.as_ptr() as u64);
        let mut place = place;
        let at = RuntimeAddr(place.as_mut_ptr() as u64).max(at);
        write(getpid(), at, &[7; 16]).unwrap();
        assert_eq!(read::<16>(getpid(), at).unwrap(), [7; 16]);
        assert_eq!(read::<8>(getpid(), RuntimeAddr(0)), Err(Errno::EFAULT));
        place.fill(1);
        assert_eq!(read::<1>(getpid(), at).unwrap(), [1]);
    }
}
