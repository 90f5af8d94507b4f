//! Calls that wait for a while and are not made again by the kernel: what is left of it when they are made again here.

#![allow(unsafe_code, reason = "getsockopt and setsockopt take pointers")]

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::unistd::Pid;

use super::memory::{self, Scratch};
use super::ptrace::Registers;
use super::{descriptors, ptrace};
use crate::address::RuntimeAddr;

/// `struct timespec`, in bytes.
const TIMESPEC: usize = 16;

/// How long a call waits, and where it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// Milliseconds in the fourth argument.
    Milliseconds,
    /// A `struct timespec` that this argument points to.
    Timespec(usize),
    /// As long as the socket in the first argument has been told: SO_RCVTIMEO or SO_SNDTIMEO.
    Socket(libc::c_int),
}

impl Asked {
    fn by(number: i64) -> Option<Self> {
        Some(match number {
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait => Self::Milliseconds,
            libc::SYS_rt_sigtimedwait => Self::Timespec(2),
            libc::SYS_semtimedop | libc::SYS_epoll_pwait2 => Self::Timespec(3),
            libc::SYS_io_getevents | libc::SYS_recvmmsg => Self::Timespec(4),
            libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_accept
            | libc::SYS_accept4 => Self::Socket(libc::SO_RCVTIMEO),
            libc::SYS_write
            | libc::SYS_writev
            | libc::SYS_sendto
            | libc::SYS_sendmsg
            | libc::SYS_sendmmsg
            | libc::SYS_connect => Self::Socket(libc::SO_SNDTIMEO),
            _ => return None,
        })
    }
}

/// What has to be undone at the call's exit.
enum Changed {
    Nothing,
    Register,
    Memory(Scratch),
    Socket(OwnedFd, libc::timeval),
}

/// A call that ends by itself after a while.
pub struct Wait {
    asked: Asked,
    began: Instant,
    /// As the program passed them.
    arguments: [u64; 6],
    changed: Changed,
}

impl Wait {
    /// For a call that begins now; `None` when it has no end of its own.
    #[must_use]
    pub fn of(number: i64, arguments: [u64; 6]) -> Option<Self> {
        let asked = Asked::by(number)?;
        let endless = matches!(asked, Asked::Timespec(place) if arguments[place] == 0)
            || asked == Asked::Milliseconds && arguments[3] as i32 <= 0;
        (!endless).then(|| Self { asked, began: Instant::now(), arguments, changed: Changed::Nothing })
    }

    /// It is made again, and stands at its entry: it waits for what is left only.
    ///
    /// # Errors
    /// ESRCH: the thread was killed.
    pub fn shorten(&mut self, thread: Pid, registers: &mut Registers) -> Result<(), Errno> {
        let gone = self.began.elapsed();
        match self.asked {
            Asked::Milliseconds => {
                let asked = Duration::from_millis(self.arguments[3]);
                registers.r10 = asked.saturating_sub(gone).as_micros().div_ceil(1000) as u64;
                self.changed = Changed::Register;
            }
            Asked::Timespec(place) => {
                let Some(asked) = timespec(thread, RuntimeAddr(self.arguments[place])) else { return Ok(()) };
                let left = asked.saturating_sub(gone);
                let words = [left.as_secs(), u64::from(left.subsec_nanos())].map(u64::to_ne_bytes);
                // Without room on its stack it waits anew.
                let Ok(scratch) = Scratch::write(thread, registers, words.as_flattened()) else {
                    return Ok(());
                };
                let mut arguments = ptrace::arguments(registers);
                arguments[place] = scratch.at.0;
                ptrace::set_arguments(registers, arguments);
                self.changed = Changed::Memory(scratch);
            }
            Asked::Socket(option) => {
                let Ok(socket) = descriptors::duplicate(thread, self.arguments[0] as i32) else {
                    return Ok(());
                };
                let Some(told) =
                    socket_timeout(&socket, option).filter(|it| it.tv_sec != 0 || it.tv_usec != 0)
                else {
                    return Ok(());
                };
                let asked = Duration::new(told.tv_sec as u64, told.tv_usec as u32 * 1000);
                // Zero would be for ever.
                let left = asked.saturating_sub(gone).max(Duration::from_micros(1));
                let left =
                    libc::timeval { tv_sec: left.as_secs() as i64, tv_usec: i64::from(left.subsec_micros()) };
                set_socket_timeout(&socket, option, &left);
                self.changed = Changed::Socket(socket, told);
            }
        }
        ptrace::set_registers(thread, registers)
    }

    /// At its exit: the program finds everything as it left it.
    ///
    /// # Errors
    /// ESRCH: the thread was killed.
    pub fn restore(&mut self, thread: Pid) -> Result<(), Errno> {
        match std::mem::replace(&mut self.changed, Changed::Nothing) {
            Changed::Nothing => return Ok(()),
            Changed::Register => {}
            Changed::Memory(scratch) => scratch.put_back(thread)?,
            Changed::Socket(socket, told) => {
                if let Asked::Socket(option) = self.asked {
                    set_socket_timeout(&socket, option, &told);
                }
                return Ok(());
            }
        }
        let mut registers = ptrace::registers(thread)?;
        ptrace::set_arguments(&mut registers, self.arguments);
        ptrace::set_registers(thread, &registers)
    }
}

impl Drop for Wait {
    /// A thread that was killed meanwhile leaves the socket to others.
    fn drop(&mut self) {
        if let (Changed::Socket(socket, told), Asked::Socket(option)) = (&self.changed, self.asked) {
            set_socket_timeout(socket, option, told);
        }
    }
}

fn timespec(thread: Pid, at: RuntimeAddr) -> Option<Duration> {
    let bytes = memory::read::<TIMESPEC>(thread, at).ok()?;
    let word =
        |at: usize| bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map(u64::from_ne_bytes);
    let nanoseconds = word(8)?.try_into().ok().filter(|it| *it < 1_000_000_000)?;
    Some(Duration::new(word(0)?, nanoseconds))
}

fn socket_timeout(socket: &OwnedFd, option: libc::c_int) -> Option<libc::timeval> {
    let mut told = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut length = size_of::<libc::timeval>() as libc::socklen_t;
    // SAFETY: the kernel writes no more than `length` bytes, and the length itself.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw mut told).cast(),
            &raw mut length,
        )
    };
    (done == 0).then_some(told)
}

fn set_socket_timeout(socket: &OwnedFd, option: libc::c_int, told: &libc::timeval) {
    let length = size_of::<libc::timeval>() as libc::socklen_t;
    // SAFETY: the kernel reads one `timeval`.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            std::ptr::from_ref(told).cast(),
            length,
        )
    };
}
