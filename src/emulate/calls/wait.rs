//! `poll(2)`, `select(2)` and `epoll_wait(2)`: the reading end of a pipe is ready where an event is (Linux
//! `kernel/events/core.c`, `perf_poll`), but stays so until it is read. An event is ready once per wakeup, which whoever is told
//! uses up.

use std::fs;

use nix::errno::Errno;
use nix::unistd::Pid;

use crate::address::RuntimeAddr;
use crate::emulate::supervisor::Supervisor;
use crate::emulate::{memory, ptrace};

/// `struct pollfd`, and the packed `struct epoll_event` of x86-64, in bytes.
const POLLFD: u64 = 8;
const EPOLL_EVENT: u64 = 12;
const MOST: u64 = 4096;

/// The bits that poll and epoll share.
const READABLE: u32 = (libc::POLLIN | libc::POLLRDNORM) as u32;

/// What a waiting call has written its answer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// `struct pollfd`s, this many.
    Poll(RuntimeAddr, u64),
    /// `struct epoll_event`s, as many as the call returns, of this epoll descriptor.
    Epoll(RuntimeAddr, i32),
    /// The set of descriptors that could be read, below this one.
    Select(RuntimeAddr, u64),
}

impl Supervisor {
    pub(super) fn waited(&mut self, thread: Pid, waited: Waited) -> Result<(), Errno> {
        let result = ptrace::registers(thread)?.rax as i64;
        if result <= 0 || self.events.is_empty() {
            return Ok(());
        }
        let told = match waited {
            Waited::Poll(at, number) => by_poll(thread, at, number)?,
            Waited::Epoll(at, epoll) => by_epoll(thread, at, (epoll, result as u64))?,
            Waited::Select(at, below) => by_select(thread, at, below)?,
        };
        for descriptor in told {
            if let Some(event) = self.event_of(thread, descriptor).and_then(|key| self.events.get(key)) {
                event.quiet();
            }
        }
        Ok(())
    }
}

/// The descriptors that could be read.
fn by_poll(thread: Pid, at: RuntimeAddr, number: u64) -> Result<Vec<u64>, Errno> {
    let mut told = Vec::new();
    for place in 0..number.min(MOST) {
        let [a, b, c, d, _, _, e, f] = memory::read(thread, at.plus(place * POLLFD))?;
        if u32::from(u16::from_ne_bytes([e, f])) & READABLE != 0 {
            told.push(u64::from(u32::from_ne_bytes([a, b, c, d])));
        }
    }
    Ok(told)
}

/// The same; of several with the same data, all.
fn by_epoll(thread: Pid, at: RuntimeAddr, call: (i32, u64)) -> Result<Vec<u64>, Errno> {
    let (epoll, number) = call;
    let registered = registered(thread, epoll);
    let mut told = Vec::new();
    for place in 0..number.min(MOST) {
        let [a, b, c, d, data @ ..] = memory::read::<12>(thread, at.plus(place * EPOLL_EVENT))?;
        if u32::from_ne_bytes([a, b, c, d]) & READABLE != 0 {
            let data = u64::from_ne_bytes(data);
            told.extend(registered.iter().filter(|(_, it)| *it == data).map(|(descriptor, _)| *descriptor));
        }
    }
    Ok(told)
}

fn by_select(thread: Pid, at: RuntimeAddr, below: u64) -> Result<Vec<u64>, Errno> {
    const BITS: u64 = 64;
    let mut told = Vec::new();
    if at.0 == 0 {
        return Ok(told);
    }
    for word in 0..below.min(MOST).div_ceil(BITS) {
        let set = u64::from_ne_bytes(memory::read(thread, at.plus(word * 8))?);
        told.extend((0..BITS).filter(|bit| set & 1 << bit != 0).map(|bit| word * BITS + bit));
    }
    Ok(told)
}

/// The descriptors that an epoll instance watches, with the data they are known by (`proc_pid_fdinfo(5)`).
fn registered(thread: Pid, epoll: i32) -> Vec<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{thread}/fdinfo/{epoll}")).unwrap_or_default();
    let parse = |line: &str| {
        let mut words = line.strip_prefix("tfd:")?.split_whitespace();
        let descriptor = words.next()?.parse().ok()?;
        let data = words.skip_while(|word| *word != "data:").nth(1)?;
        Some((descriptor, u64::from_str_radix(data, 16).ok()?))
    };
    text.lines().filter_map(parse).collect()
}
