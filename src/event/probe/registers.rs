//! How many debug registers are free for this thread.

use super::sled;
use crate::event::error::{OpenError, Wanted};
use crate::event::{attr, open};
use crate::record::control::Delivery;

/// x86 has DR0 to DR3 (SDM volume 3, 19.2).
const REGISTERS: u32 = 4;

/// Opens disabled breakpoints on this thread until there is no register left, and closes them again. A disabled
/// one holds its register all the same, and fires nothing. One that a debugger holds on this thread, or
/// `perf record` on every CPU, counts as taken.
///
/// # Errors
/// Any refusal but ENOSPC.
pub fn free() -> Result<u32, OpenError> {
    let held: Result<Vec<_>, _> = (0..REGISTERS)
        .map(|n| open::open(&attr::step(sled::at(n), Delivery::Fasync, 0), Wanted::Step, 0))
        .take_while(|opened| !matches!(opened, Err(error) if error.errno == libc::ENOSPC))
        .collect();
    held.map(|events| events.len() as u32)
}
