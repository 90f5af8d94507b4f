//! Entering seccomp: the tracer steps back first, since the filter may kill a process for its system calls. Using syscall
//! user dispatch: the tracer leaves it to the program.

use std::ffi::{c_int, c_long, c_void};

use overstep::handler::dispatch::PR_SET_SYSCALL_USER_DISPATCH;
use overstep::handler::doors::installs_seccomp;

use super::look_first::look_first;
use crate::armed;
use crate::real::Real;

static PRCTL: Real = Real::named(c"prctl");
static SYSCALL: Real = Real::named(c"syscall");

look_first!(
    /// # Safety
    /// As prctl(2).
    prctl, before_prctl
);
look_first!(
    /// # Safety
    /// As syscall(2).
    syscall, before_syscall
);

extern "C" fn before_prctl(option: c_int) -> *mut c_void {
    step_back(libc::SYS_prctl, option as u64);
    PRCTL.address()
}

extern "C" fn before_syscall(number: c_long, first: u64) -> *mut c_void {
    step_back(number, first);
    SYSCALL.address()
}

fn step_back(number: c_long, first: u64) {
    let Some(process) = armed::process() else { return };
    if installs_seccomp(number, first) {
        process.stand_down();
    } else if number == libc::SYS_prctl && first == PR_SET_SYSCALL_USER_DISPATCH {
        process.leave_dispatch_to_program();
    }
}
