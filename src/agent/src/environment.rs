//! The program's environment, without what `overstep trace` put into it; and for the programs it starts, with it.

use std::ffi::{CStr, c_char};

use crate::invitation::{Invitation, VARIABLE};

pub const PRELOAD: &str = "LD_PRELOAD=";

/// What was found in the environment.
pub struct Found {
    pub session: &'static [u8],
    pub agent: &'static [u8],
}

unsafe extern "C" {
    #[link_name = "environ"]
    pub static mut ENVIRON: *mut *mut c_char;
}

/// The strings of a NULL-terminated array, with their places in it.
///
/// # Safety
/// `array` is null or such an array, of C strings that live as long as the iterator is used.
pub unsafe fn strings(array: *const *mut c_char) -> impl Iterator<Item = &'static CStr> {
    let mut place = array;
    std::iter::from_fn(move || {
        if place.is_null() {
            return None;
        }
        // SAFETY: not behind the terminating NULL yet; the caller vouches for the string.
        let string = unsafe { place.read() };
        place = place.wrapping_add(1);
        // SAFETY: as above.
        (!string.is_null()).then(|| unsafe { CStr::from_ptr(string) })
    })
}

/// Takes the session out of the environment: the variable goes, and LD_PRELOAD becomes the user's again or goes.
/// `None`, with nothing changed, when there is no session.
///
/// # Safety
/// Only in the constructor, while no other thread runs.
pub unsafe fn take_session() -> Option<Found> {
    // SAFETY: the C library's own array, while nobody else changes it.
    let environ = unsafe { ENVIRON };
    // SAFETY: as above; the kernel put the strings on the stack, where they stay.
    let session =
        unsafe { strings(environ) }.map(CStr::to_bytes).find(|s| s.starts_with(VARIABLE.as_bytes()))?;
    let mut agent: &'static [u8] = &[];
    let (mut from, mut to) = (environ, environ);
    loop {
        // SAFETY: `from` is not behind the terminating NULL, and `to` not behind `from`.
        let entry = unsafe { from.read() };
        let mut keep = true;
        if !entry.is_null() {
            // SAFETY: an entry of the environment is a C string.
            let text: &'static [u8] = unsafe { CStr::from_ptr(entry) }.to_bytes();
            if text.starts_with(VARIABLE.as_bytes()) {
                keep = false;
            } else if let Some(value) = text.strip_prefix(PRELOAD.as_bytes()) {
                let length = value.iter().position(|byte| *byte == b':').unwrap_or(value.len());
                agent = Vec::leak(value.get(..length).unwrap_or(value).to_vec());
                let rest = value.get(length + 1..).unwrap_or(&[]);
                keep = !rest.is_empty();
                // SAFETY: moves the tail of a writable string to the front of its value, NUL included.
                unsafe {
                    let start = entry.add(PRELOAD.len());
                    std::ptr::copy(start.add(value.len() - rest.len()), start, rest.len() + 1);
                }
            }
        }
        if keep {
            // SAFETY: `to` is a place of the array at or before `from`.
            unsafe { to.write(entry) };
            to = to.wrapping_add(1);
        }
        if entry.is_null() {
            return Some(Found { session: Vec::leak(session.to_vec()), agent });
        }
        from = from.wrapping_add(1);
    }
}

/// An environment for a program that this one starts: `given`, with the session in it. Calls `start` with it.
///
/// Lives on the stack, since a vfork child must not leave anything in its parent's memory.
///
/// # Safety
/// `given` is null or a NULL-terminated array of C strings.
pub unsafe fn with_session<R>(given: *const *mut c_char, start: impl FnOnce(*const *mut c_char) -> R) -> R {
    let Some(session) = Invitation::accepted().filter(|session| !session.is_over()) else {
        return start(given);
    };
    // SAFETY: the caller's promise.
    let count = unsafe { strings(given) }.count();
    // Two more entries and the NULL.
    match count + 3 {
        // SAFETY: the caller's promise, and the count.
        0..=256 => unsafe { fill::<256, 4096, R>(session, given, start) },
        // SAFETY: as above.
        257..=4096 => unsafe { fill::<4096, 4096, R>(session, given, start) },
        // An environment this large is passed on as it is: the child runs untraced rather than not at all.
        _ => start(given),
    }
}

/// # Safety
/// As [`with_session`], and `given` has at most `ENTRIES - 3` strings.
unsafe fn fill<const ENTRIES: usize, const TEXT: usize, R>(
    session: &Invitation,
    given: *const *mut c_char,
    start: impl FnOnce(*const *mut c_char) -> R,
) -> R {
    let mut entries = [std::ptr::null_mut::<c_char>(); ENTRIES];
    let mut preload = [0_u8; TEXT];
    let mut variable = [0_u8; 128];
    let mut theirs: &[u8] = &[];
    let mut used = 0;
    // SAFETY: the caller's promise.
    for string in unsafe { strings(given) } {
        if let Some(value) = string.to_bytes().strip_prefix(PRELOAD.as_bytes()) {
            theirs = value;
        } else if let Some(place) = entries.get_mut(used) {
            *place = string.as_ptr().cast_mut();
            used += 1;
        }
    }
    let separator: &[u8] = if theirs.is_empty() { b"" } else { b":" };
    if !write(&mut preload, &[PRELOAD.as_bytes(), session.agent, separator, theirs])
        || !write(&mut variable, &[session.variable])
    {
        return start(given);
    }
    for (place, text) in entries.iter_mut().skip(used).zip([preload.as_mut_ptr(), variable.as_mut_ptr()]) {
        *place = text.cast();
    }
    start(entries.as_ptr())
}

/// Writes the parts one after the other and a NUL; `false` when they do not fit.
fn write(to: &mut [u8], parts: &[&[u8]]) -> bool {
    let mut bytes = parts.iter().copied().flatten();
    let mut places = to.iter_mut();
    for byte in &mut bytes {
        let Some(place) = places.next() else { return false };
        *place = *byte;
    }
    places.next().is_some()
}
