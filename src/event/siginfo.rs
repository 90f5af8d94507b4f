//! The fields of `siginfo_t` that an event's signal fills, which libc's type does not name.

/// `siginfo_t` as the kernel lays it out for SIGTRAP and for SIGIO-like signals on x86_64
/// (`include/uapi/asm-generic/siginfo.h`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EventSignal {
    pub signal: i32,
    pub errno: i32,
    /// [`TRAP_PERF`], [`TRAP_TRACE`], [`POLL_IN`] or [`POLL_HUP`].
    pub code: i32,
    _pad: i32,
    /// `si_addr` of a SIGTRAP, `si_band` otherwise.
    pub address: u64,
    /// `si_perf_data` (the event's `sig_data`) of a TRAP_PERF; its low half is `si_fd` otherwise.
    pub data: u64,
    /// `si_perf_type`: the event's `attr.type`.
    pub kind: u32,
    /// `si_perf_flags`: [`TRAP_PERF_FLAG_ASYNC`].
    pub flags: u32,
}

/// The trap flag's single step.
pub const TRAP_TRACE: i32 = 2;
/// An event with `attr.sigtrap`.
pub const TRAP_PERF: i32 = 6;
/// The signal was blocked when the event fired, so the saved RIP is not where it fired (5.18).
pub const TRAP_PERF_FLAG_ASYNC: u32 = 1;
/// An overflow, and the event goes on.
pub const POLL_IN: i32 = 1;
/// The overflow that used up the REFRESH limit: the event is disabled.
pub const POLL_HUP: i32 = 6;

/// An `si_code` by its name in the kernel's headers, for the signal of a fasync or sigtrap event.
#[must_use]
pub fn code_name(signal: i32, code: i32) -> &'static str {
    match (signal == libc::SIGTRAP, code) {
        (true, TRAP_TRACE) => "TRAP_TRACE",
        (true, TRAP_PERF) => "TRAP_PERF",
        (false, POLL_IN) => "POLL_IN",
        (false, POLL_HUP) => "POLL_HUP",
        (_, libc::SI_KERNEL) => "SI_KERNEL",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::EventSignal;
    use std::mem::offset_of;

    #[test]
    fn layout_is_the_kernels() {
        assert_eq!(offset_of!(EventSignal, code), 8);
        assert_eq!(offset_of!(EventSignal, address), 16);
        assert_eq!(offset_of!(EventSignal, data), 24);
        assert_eq!(offset_of!(EventSignal, flags), 36);
    }
}
