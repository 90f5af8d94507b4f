//! Builders of `perf_event_attr`: one reason per attribute line.
//!
//! The struct is plain and `Copy`: the handler keeps one as a template, patches the address and passes it to
//! `perf_event_open` or to `PERF_EVENT_IOC_MODIFY_ATTRIBUTES`, which refuses (EINVAL) any other change than
//! `bp_addr`, `bp_type`, `bp_len`, `disabled` and `sig_data` (Linux `kernel/events/hw_breakpoint.c`,
//! `modify_user_hw_breakpoint_check`).

use perf_event_open_sys::bindings as sys;

use crate::address::RuntimeAddr;
use crate::record::control::Delivery;
use crate::record::counted::Counted;

pub use sys::perf_event_attr as Attr;

/// An execute breakpoint's `bp_len` must be `sizeof(long)`, whatever the instruction's length
/// (Linux `arch/x86/kernel/hw_breakpoint.c`, `arch_build_bp_info`); anything else is EINVAL.
const EXECUTE_LENGTH: u64 = 8;

/// The standing breakpoint on a traced function's entry, in every thread, those to come included.
///
/// Enabled from the moment it is opened. `tag` comes back in `si_perf_data`.
#[must_use]
pub fn trigger(address: RuntimeAddr, tag: u64) -> Attr {
    let mut attr = guard(address, tag);
    // Threads that the opening thread starts get the breakpoint too …
    attr.set_inherit(1);
    // … but forked children do not: they run on untraced (5.13).
    attr.set_inherit_thread(1);
    attr
}

/// The moving breakpoint of one thread, at the instruction that must come next.
///
/// With [`Delivery::Fasync`] it starts disabled: it needs [`super::fasync::direct`] and then
/// [`super::rearm::start`]. `tag` comes back in `si_perf_data` with [`Delivery::Sigtrap`] only.
#[must_use]
pub fn step(address: RuntimeAddr, delivery: Delivery, tag: u64) -> Attr {
    let mut attr = execute(address);
    deliver(&mut attr, delivery, tag);
    attr
}

/// The standing breakpoint on the frame's return address, in one thread. Enabled from the moment it is opened.
#[must_use]
pub fn guard(address: RuntimeAddr, tag: u64) -> Attr {
    step(address, Delivery::Sigtrap, tag)
}

/// The counter of what `event` does in user mode that overflows every `period` times.
///
/// Starts disabled for either delivery, because the counter would count the rest of its own opening.
#[must_use]
pub fn counter(event: Counted, period: u64, delivery: Delivery, tag: u64) -> Attr {
    let mut attr = user_only(period);
    let hardware = |id| (sys::PERF_TYPE_HARDWARE, u64::from(id));
    (attr.type_, attr.config) = match event {
        Counted::Instructions => hardware(sys::PERF_COUNT_HW_INSTRUCTIONS),
        Counted::Branches => hardware(sys::PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
        Counted::Cycles => hardware(sys::PERF_COUNT_HW_CPU_CYCLES),
        Counted::Raw(encoding) => (sys::PERF_TYPE_RAW, encoding),
    };
    deliver(&mut attr, delivery, tag);
    attr.set_disabled(1);
    attr
}

/// [`counter`] as the `instructions` engine steps with it, to be read with [`super::ioctl::reading`].
#[must_use]
pub fn stepping_counter(event: Counted, period: u64, delivery: Delivery, tag: u64) -> Attr {
    let mut attr = counter(event, period, delivery, tag);
    // It must not share a counter with others, or steps would go uncounted: it has one, or fails where one can see it.
    attr.set_pinned(1);
    // On a core of another type it counts nothing, which only these two say.
    attr.read_format = u64::from(sys::PERF_FORMAT_TOTAL_TIME_ENABLED | sys::PERF_FORMAT_TOTAL_TIME_RUNNING);
    attr
}

/// Points a breakpoint's attributes at `address`.
///
/// # Signal safety
/// One store into the struct.
#[inline(always)]
pub fn point_at(attr: &mut Attr, address: RuntimeAddr) {
    attr.__bindgen_anon_3.bp_addr = address.0;
}

/// An execute breakpoint with no delivery chosen yet.
fn execute(address: RuntimeAddr) -> Attr {
    // Every hit is a signal. No PERF_SAMPLE_PERIOD in sample_type: software and breakpoint events then
    // overflow on every hit whatever the period.
    let mut attr = user_only(1);
    attr.type_ = sys::PERF_TYPE_BREAKPOINT;
    attr.bp_type = sys::HW_BREAKPOINT_X;
    attr.__bindgen_anon_4.bp_len = EXECUTE_LENGTH;
    point_at(&mut attr, address);
    attr
}

/// What every event of ours shares.
fn user_only(period: u64) -> Attr {
    let mut attr = Attr::default();
    // Says which fields there are. Kernels that know fewer accept it, since those beyond are zero.
    attr.size = size_of::<Attr>() as u32;
    attr.sample_period = period;
    // perf_event_paranoid 2, the usual default, refuses (EACCES) an unprivileged user who counts the kernel …
    attr.set_exclude_kernel(1);
    // … and the hypervisor's instructions are not the program's either.
    attr.set_exclude_hv(1);
    attr
}

fn deliver(attr: &mut Attr, delivery: Delivery, tag: u64) {
    match delivery {
        Delivery::Sigtrap => {
            // A synchronous SIGTRAP by task_work, with si_code TRAP_PERF (5.13).
            attr.set_sigtrap(1);
            // The kernel demands it with sigtrap: the next image has no handler and would die.
            attr.set_remove_on_exec(1);
            attr.sig_data = tag;
        }
        Delivery::Fasync | Delivery::Trap => {
            // Nobody is told of a hit until F_SETOWN_EX names the thread, and REFRESH enables it anyway.
            attr.set_disabled(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: RuntimeAddr = RuntimeAddr(0x40_1000);

    #[test]
    fn trigger_reaches_threads_and_not_children() {
        let attr = trigger(HERE, 7);
        assert_eq!(
            (attr.inherit(), attr.inherit_thread(), attr.sigtrap(), attr.remove_on_exec()),
            (1, 1, 1, 1)
        );
        assert_eq!((attr.disabled(), attr.sig_data, attr.bp_addr, attr.bp_len), (0, 7, HERE.0, 8));
    }

    #[test]
    fn step_differs_by_delivery_in_what_the_kernel_has_to_know() {
        let sigtrap = step(HERE, Delivery::Sigtrap, 9);
        let fasync = step(HERE, Delivery::Fasync, 9);
        assert_eq!((sigtrap.sigtrap(), sigtrap.disabled(), sigtrap.sig_data), (1, 0, 9));
        assert_eq!((fasync.sigtrap(), fasync.disabled(), fasync.sig_data), (0, 1, 0));
        assert_eq!((sigtrap.inherit(), fasync.inherit()), (0, 0));
        assert_eq!((sigtrap.exclude_kernel(), sigtrap.exclude_hv(), sigtrap.sample_period), (1, 1, 1));
    }

    #[test]
    fn raw_counter_keeps_its_encoding() {
        let attr = counter(Counted::Raw(0x01c0), 1000, Delivery::Fasync, 0);
        assert_eq!((attr.type_, attr.config, attr.sample_period, attr.disabled()), (4, 0x01c0, 1000, 1));
    }

    #[test]
    fn a_counter_to_step_with_is_pinned_and_tells_its_times() {
        let attr = stepping_counter(Counted::Branches, 3, Delivery::Sigtrap, 5);
        assert_eq!((attr.type_, attr.config, attr.pinned(), attr.read_format), (0, 4, 1, 3));
        assert_eq!(counter(Counted::Branches, 3, Delivery::Sigtrap, 5).pinned(), 0);
    }
}
