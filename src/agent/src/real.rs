//! The functions that ours stand in front of.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The next definition of a function behind this library's, looked up once.
pub struct Real {
    name: &'static CStr,
    /// Where it is, if it may not be among the libraries that all can see.
    library: Option<&'static CStr>,
    /// ATOMICS: every thread that looks it up stores the same address.
    address: AtomicPtr<c_void>,
}

impl Real {
    pub const fn named(name: &'static CStr) -> Self {
        Self { name, library: None, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    pub const fn in_library(name: &'static CStr, library: &'static CStr) -> Self {
        Self { name, library: Some(library), address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Its address; ends the process where the C library does not have it, as the loader would.
    pub fn address(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        let found = next(self.name, self.library);
        if found.is_null() {
            // SAFETY: nothing the program could do instead.
            unsafe { libc::abort() };
        }
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

/// The definition of `name` behind this library's, or else in `library` if that is loaded, or null. By way of dlvsym(3): dlsym itself is one of ours.
fn next(name: &CStr, library: Option<&CStr>) -> *mut c_void {
    // SAFETY: NUL-terminated strings; x86_64's C library has had this version of dlsym from the start.
    let dlsym = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), c"GLIBC_2.2.5".as_ptr()) };
    if dlsym.is_null() || name == c"dlsym" {
        return dlsym;
    }
    // SAFETY: the C library's dlsym has this type.
    let dlsym: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void =
        unsafe { std::mem::transmute(dlsym) };
    // SAFETY: a NUL-terminated name.
    let next = unsafe { dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    let Some(library) = library.filter(|_| next.is_null()) else { return next };
    // SAFETY: NUL-terminated names; nothing is loaded that was not there.
    unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() { next } else { dlsym(handle, name.as_ptr()) }
    }
}

/// Defines a function that reaches the real one of the same name and type.
#[macro_export]
macro_rules! real {
    ($vis:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty) => {
        #[allow(clippy::too_many_arguments, reason = "as many as the C function has")]
        #[inline(always)]
        $vis unsafe fn $name($($argument: $type),*) -> $result {
            static REAL: $crate::real::Real = $crate::real::Real::named(
                match ::std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => unreachable!(),
                },
            );
            // "C", not "C-unwind": a cancellation that comes during the call unwinds through the caller's frame, and
            // where panics abort, "C-unwind" would make it a frame that ends the process.
            let function: unsafe extern "C" fn($($type),*) -> $result =
                // SAFETY: the C library's function of this name has this type.
                unsafe { ::std::mem::transmute(REAL.address()) };
            // SAFETY: the caller keeps the function's own contract.
            unsafe { function($($argument),*) }
        }
    };
}
