//! Libraries that come later. dlopen(3) depends on who calls it (`$ORIGIN`, DT_RUNPATH), so ours looks for the
//! function first and then jumps to the real one with the caller's return address in place: a library is seen at
//! the next call of either function, which is the dlsym that follows its dlopen.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use super::look_first::look_first;
use crate::armed;
use crate::invitation::Invitation;
use crate::real::Real;

static DLOPEN: Real = Real::named(c"dlopen");
static DLSYM: Real = Real::named(c"dlsym");
/// Loads the loader had done when this process was looked at last. ATOMICS: a hint.
static SEEN: AtomicU64 = AtomicU64::new(0);

look_first!(
    /// # Safety
    /// As dlopen(3).
    dlopen, before_dlopen
);
look_first!(
    /// # Safety
    /// As dlsym(3).
    dlsym, before_dlsym
);

extern "C" fn before_dlopen() -> *mut c_void {
    look_for_new_libraries();
    DLOPEN.address()
}

extern "C" fn before_dlsym() -> *mut c_void {
    look_for_new_libraries();
    DLSYM.address()
}

/// Arms, if the functions are still missing and the loader has loaded something since the last look.
fn look_for_new_libraries() {
    let Some(session) = Invitation::accepted().filter(|session| !session.is_over()) else { return };
    if armed::process().is_some() {
        return;
    }
    let mut loads = 0_u64;
    // SAFETY: the callback gets the pointer to `loads`, which lives across the call.
    unsafe { libc::dl_iterate_phdr(Some(take_count), (&raw mut loads).cast()) };
    if SEEN.swap(loads, Ordering::Relaxed) != loads {
        armed::arm(session);
    }
}

/// `dlpi_adds` is the loader's own count, the same for every object: the first one says it.
unsafe extern "C" fn take_count(info: *mut libc::dl_phdr_info, _size: usize, loads: *mut c_void) -> i32 {
    // SAFETY: the loader passes a live dl_phdr_info, and `loads` is what `look_for_new_libraries` gave.
    unsafe { loads.cast::<u64>().write((*info).dlpi_adds) };
    1
}
