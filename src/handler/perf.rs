//! The thread's own perf events, opened and moved from signal context with raw system calls.

#![allow(unsafe_code, reason = "perf events are driven by raw system calls")]

use perf_event_open_sys::bindings::perf_event_attr;

use crate::address::RuntimeAddr;
use crate::raw::{self, Errno};
use crate::record::control::{Delivery, Rearm};

// Linux include/uapi/linux/perf_event.h: _IO('$', n), and _IOW('$', n, pointer or u64).
const IOC_ENABLE: u64 = 0x2400;
const IOC_DISABLE: u64 = 0x2401;
const IOC_REFRESH: u64 = 0x2402;
const IOC_PERIOD: u64 = 0x4008_2404;
const IOC_MODIFY_ATTRIBUTES: u64 = 0x4008_240b;
const FLAG_FD_CLOEXEC: u64 = 8;
const F_SETSIG: u64 = 10;
const F_SETOWN_EX: u64 = 15;
const F_OWNER_TID: u32 = 0;

/// An execute breakpoint of the calling thread.
pub(super) struct Breakpoint {
    fd: i32,
    attr: perf_event_attr,
    delivery: Delivery,
    rearm: Rearm,
    /// Where it stands while enabled.
    at: Option<RuntimeAddr>,
}

impl Breakpoint {
    /// One that is not open yet.
    pub(super) fn closed(attr: perf_event_attr, delivery: Delivery, rearm: Rearm) -> Self {
        Self { fd: -1, attr, delivery, rearm, at: None }
    }

    /// The address it will fire at, while it is armed.
    pub(super) fn at(&self) -> Option<RuntimeAddr> {
        self.at
    }

    /// Puts it at `address`, armed, opening it if need be.
    ///
    /// # Errors
    /// The errno of perf_event_open(2) or of the ioctl: ENOSPC when all four debug registers are taken.
    ///
    /// # Signal safety
    /// Raw system calls only: perf_event_open and fcntl at the first call in a thread, ioctl afterwards.
    pub(super) fn place(&mut self, address: RuntimeAddr, signal: i32) -> Result<(), Errno> {
        self.attr.__bindgen_anon_3.bp_addr = address.0;
        if self.fd < 0 {
            self.open(signal)?;
        } else {
            // SAFETY: the kernel reads an attr of the size its `size` field names.
            unsafe { self.ioctl(IOC_MODIFY_ATTRIBUTES, std::ptr::from_ref(&self.attr) as u64) }?;
        }
        if matches!(self.delivery, Delivery::Fasync) {
            self.rearm()?;
        }
        self.at = Some(address);
        Ok(())
    }

    /// Starts an event that its REFRESH limit stopped, in the way the probe found to work here.
    fn rearm(&self) -> Result<(), Errno> {
        let one: u64 = 1;
        let pointer = std::ptr::from_ref(&one) as u64;
        // SAFETY: REFRESH, ENABLE and DISABLE take a plain number; PERIOD reads the u64 `one`.
        unsafe {
            match self.rearm {
                Rearm::Refresh => self.ioctl(IOC_REFRESH, 1),
                Rearm::RefreshPeriod => self.ioctl(IOC_REFRESH, 1).and_then(|_| self.ioctl(IOC_PERIOD, pointer)),
                Rearm::KeepAboveZero => self.ioctl(IOC_REFRESH, if self.at.is_none() { 2 } else { 1 }),
                Rearm::DisableEnable => self.ioctl(IOC_DISABLE, 0).and_then(|_| self.ioctl(IOC_ENABLE, 0)),
            }
        }?;
        Ok(())
    }

    /// Takes it out of the debug register; [`Self::place`] arms it again.
    pub(super) fn lift(&mut self) {
        if self.at.take().is_some() {
            // SAFETY: DISABLE takes no pointer.
            let _ = unsafe { self.ioctl(IOC_DISABLE, 0) };
        }
    }

    /// How often it fired since it was opened.
    pub(super) fn count(&self) -> Option<u64> {
        if self.fd < 0 {
            return None;
        }
        let mut count = 0_u64;
        // SAFETY: the kernel writes at most 8 bytes into `count` (read_format 0: the bare value).
        let got = unsafe {
            raw::syscall(libc::SYS_read, [self.fd as u64, std::ptr::from_mut(&mut count) as u64, 8, 0, 0, 0])
        };
        (got == Ok(8)).then_some(count)
    }

    /// Forgets a descriptor that belongs to a thread that is gone.
    pub(super) fn close(&mut self) {
        if self.fd >= 0 {
            // SAFETY: closing our own descriptor; nobody else holds its number.
            let _ = unsafe { raw::syscall(libc::SYS_close, [self.fd as u64, 0, 0, 0, 0, 0]) };
            self.fd = -1;
            self.at = None;
        }
    }

    fn open(&mut self, signal: i32) -> Result<(), Errno> {
        // SAFETY: attr is a live perf_event_attr; pid 0 and cpu -1 mean this thread on any CPU.
        let fd = unsafe {
            raw::syscall(
                libc::SYS_perf_event_open,
                [std::ptr::from_ref(&self.attr) as u64, 0, u64::MAX, u64::MAX, FLAG_FD_CLOEXEC, 0],
            )
        }?;
        self.fd = out_of_the_way(fd);
        if matches!(self.delivery, Delivery::Fasync) {
            let owner = [F_OWNER_TID, raw::gettid()];
            self.fcntl(F_SETSIG, signal as u64)?;
            self.fcntl(F_SETOWN_EX, std::ptr::from_ref(&owner) as u64)?;
            self.fcntl(libc::F_SETFL as u64, (libc::O_ASYNC | libc::O_NONBLOCK) as u64)?;
        }
        Ok(())
    }

    fn fcntl(&self, command: u64, argument: u64) -> Result<u64, Errno> {
        // SAFETY: the three commands used take a number or a live f_owner_ex.
        unsafe { raw::syscall(libc::SYS_fcntl, [self.fd as u64, command, argument, 0, 0, 0]) }
    }

    /// # Safety
    /// `argument` must be what `request` takes.
    unsafe fn ioctl(&self, request: u64, argument: u64) -> Result<u64, Errno> {
        // SAFETY: passed on to the caller.
        unsafe { raw::syscall(libc::SYS_ioctl, [self.fd as u64, request, argument, 0, 0, 0]) }
    }
}

/// Moves a fresh descriptor to the top of the program's limit, so that the program's own keep the low
/// numbers they have untraced. Where that fails, the low number stays.
fn out_of_the_way(fd: u64) -> i32 {
    let mut limit = [0_u64; 2];
    // SAFETY: prlimit64 writes a struct of two u64 into `limit`.
    let asked = unsafe {
        raw::syscall(
            libc::SYS_prlimit64,
            [0, libc::RLIMIT_NOFILE as u64, 0, limit.as_mut_ptr() as u64, 0, 0],
        )
    };
    let [soft, _] = limit;
    // 64 below the top, so that several threads find room, and never above what fits an i32.
    let floor = soft.min(1 << 20).saturating_sub(64);
    if asked.is_err() || floor <= fd {
        return fd as i32;
    }
    // SAFETY: duplicating and closing our own descriptor.
    unsafe {
        match raw::syscall(libc::SYS_fcntl, [fd, libc::F_DUPFD_CLOEXEC as u64, floor, 0, 0, 0]) {
            Ok(high) => {
                let _ = raw::syscall(libc::SYS_close, [fd, 0, 0, 0, 0, 0]);
                high as i32
            }
            Err(_) => fd as i32,
        }
    }
}
