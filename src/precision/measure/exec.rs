//! Whether an event with `remove_on_exec` is gone in the next image: the kernel's selftest of that name.

#![allow(unsafe_code, reason = "execve, with descriptors arranged before it")]

use std::ffi::CStr;
use std::sync::atomic::Ordering::Relaxed;

use super::isolated::{Trouble, measure};
use super::observation::Observation;
use crate::event::open;
use crate::precision::event::{Delivery, Event};
use crate::precision::plan::Patience;
use crate::precision::workload::class;
use crate::raw::{Errno, syscall};

/// Arms page faults by sigtrap, of which the next image has hundreds and no handler, and executes this executable's
/// `--version`: killed by SIGTRAP, it had the event still.
///
/// # Errors
/// [`Trouble`]; [`Trouble::Ended`] is what happens where the event survives.
pub(in crate::precision) fn observe(patience: Patience) -> Result<Observation, Trouble> {
    let attr = {
        let mut attr = Event::PageFaults.attr(1, 0, Delivery::Sigtrap, &class::page_store());
        attr.set_disabled(0);
        attr
    };
    measure(patience, 0, |ledger| {
        ledger.note(silence());
        let event = match open::raw(&attr, 0) {
            Ok(event) => event,
            Err(errno) => return ledger.refused.store(errno.0, Relaxed),
        };
        // Closed by execve, the event would be gone in any case.
        ledger.note(call(libc::SYS_fcntl, [event as u64, libc::F_SETFD as u64, 0]));
        let words: [*const u8; 3] =
            [c"overstep".as_ptr().cast(), c"--version".as_ptr().cast(), std::ptr::null()];
        let path: &CStr = c"/proc/self/exe";
        let arguments = [path.as_ptr() as u64, words.as_ptr() as u64, words[2..].as_ptr() as u64];
        ledger.note(call(libc::SYS_execve, arguments));
    })
}

/// Standard output and error go nowhere.
fn silence() -> Result<(), Errno> {
    let null = call(libc::SYS_open, [c"/dev/null".as_ptr() as u64, libc::O_RDWR as u64, 0])?;
    call(libc::SYS_dup2, [null, 1, 0])?;
    call(libc::SYS_dup2, [null, 2, 0]).map(drop)
}

fn call(number: i64, [a, b, c]: [u64; 3]) -> Result<u64, Errno> {
    // SAFETY: the pointers that callers pass are to live strings and a live, null-terminated array of such.
    unsafe { syscall(number, [a, b, c, 0, 0, 0]) }
}
