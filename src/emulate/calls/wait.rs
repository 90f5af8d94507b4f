//! `poll(2)`, `select(2)` and `epoll_wait(2)`: an eventfd is readable where an event is, and what else differs is put
//! right at the exit (Linux `kernel/events/core.c`, `perf_poll`).
//!
//! An event is readable once per wakeup, and hung up as long as it has no buffer or all its threads have ended. An
//! eventfd can only stay readable until it is read, and is always writable.

use std::fs;

use nix::errno::Errno;
use nix::unistd::Pid;

use crate::address::RuntimeAddr;
use crate::emulate::event::Key;
use crate::emulate::supervisor::Supervisor;
use crate::emulate::{memory, ptrace};

/// `struct pollfd`, and the packed `struct epoll_event` of x86-64, in bytes.
const POLLFD: u64 = 8;
const EPOLL_EVENT: u64 = 12;
const MOST: u64 = 4096;

/// The bits that poll and epoll share.
const READABLE: u32 = (libc::POLLIN | libc::POLLRDNORM) as u32;
const WRITABLE: u32 = (libc::POLLOUT | libc::POLLWRNORM) as u32;
const HUNG_UP: u32 = libc::POLLHUP as u32;

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
        let mut registers = ptrace::registers(thread)?;
        let result = registers.rax as i64;
        if result <= 0 || self.events.is_empty() {
            return Ok(());
        }
        let nothing_left = match waited {
            Waited::Poll(at, number) => self.after_poll(thread, at, number)?,
            Waited::Epoll(at, epoll) => self.after_epoll(thread, at, (epoll, result as u64))?,
            Waited::Select(at, below) => self.after_select(thread, at, below)?,
        };
        if nothing_left > 0 {
            registers.rax = (result - nothing_left).max(0) as u64;
            ptrace::set_registers(thread, &registers)?;
        }
        Ok(())
    }

    /// How many of the descriptors have nothing to report after all.
    fn after_poll(&mut self, thread: Pid, at: RuntimeAddr, number: u64) -> Result<i64, Errno> {
        let mut nothing_left = 0;
        for place in 0..number.min(MOST) {
            let entry = at.plus(place * POLLFD);
            let bytes = memory::read::<8>(thread, entry)?;
            let descriptor = i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let reported = u16::from_ne_bytes([bytes[6], bytes[7]]);
            if reported == 0 {
                continue;
            }
            let Some(key) = self.event_of(thread, descriptor as u64) else { continue };
            let real = self.readiness(key, u32::from(reported)) as u16;
            memory::write(thread, entry.plus(6), &real.to_ne_bytes())?;
            nothing_left += i64::from(real == 0);
        }
        Ok(nothing_left)
    }

    fn after_epoll(&mut self, thread: Pid, at: RuntimeAddr, call: (i32, u64)) -> Result<i64, Errno> {
        let (epoll, number) = call;
        let registered = registered(thread, epoll);
        for place in 0..number.min(MOST) {
            let entry = at.plus(place * EPOLL_EVENT);
            let bytes = memory::read::<12>(thread, entry)?;
            let [a, b, c, d, data @ ..] = bytes;
            let reported = u32::from_ne_bytes([a, b, c, d]);
            let data = u64::from_ne_bytes(data);
            let of_data = registered.iter().filter(|(_, it)| *it == data);
            let Some(key) = of_data.filter_map(|(fd, _)| self.event_of(thread, *fd)).next() else { continue };
            let real = self.readiness(key, reported);
            memory::write(thread, entry, &real.to_ne_bytes())?;
        }
        Ok(0)
    }

    fn after_select(&mut self, thread: Pid, at: RuntimeAddr, below: u64) -> Result<i64, Errno> {
        const BITS: u64 = 64;
        if at.0 == 0 {
            return Ok(0);
        }
        for word in 0..below.div_ceil(BITS) {
            let set = u64::from_ne_bytes(memory::read(thread, at.plus(word * 8))?);
            for bit in (0..BITS).filter(|bit| set & 1 << bit != 0) {
                if let Some(key) = self.event_of(thread, word * BITS + bit) {
                    self.readiness(key, READABLE);
                }
            }
        }
        Ok(0)
    }

    /// What an event reports where its eventfd reported `reported`. A wakeup is used up by that.
    fn readiness(&mut self, key: Key, reported: u32) -> u32 {
        let rest = reported & !(READABLE | WRITABLE);
        if reported & READABLE == 0 {
            return rest;
        }
        if self.hung_up(key) {
            return rest | HUNG_UP;
        }
        if let Some(event) = self.events.get(key) {
            event.quiet();
        }
        rest | reported & READABLE
    }
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
