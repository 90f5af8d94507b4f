//! What is traced: code with calls, branches and memory traffic, not nops.

#![allow(unsafe_code, reason = "workloads are called by address, as the program under trace calls them")]

use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};

pub type Entry = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// A function, and what it is called with. Each call takes the same path.
#[derive(Clone, Copy)]
pub struct Workload {
    pub name: &'static str,
    pub entry: Entry,
    pub argument: *mut c_void,
}

/// Numbers sorted by one call of [`bench_qsort`].
const NUMBERS: usize = 64;
/// Bytes that one round of [`bench_branchy`] reads.
const TEXT: &[u8; 64] = b"let sum = (a[12] + 0x3f) * 7; /* so */ if sum > 1e6 { return; }\n";

/// libc's `qsort`, with a comparison in this program.
pub fn qsort(times: usize) -> Workload {
    Workload { name: "qsort", entry: bench_qsort, argument: times as *mut c_void }
}

/// A loop that decides at every byte of a text where to go.
pub fn branchy(times: usize) -> Workload {
    Workload { name: "branchy", entry: bench_branchy, argument: times as *mut c_void }
}

/// Filled and read element by element: an array by value would be a call of the memory routines that this program
/// shares with the handler linked into it.
static SORTED: [AtomicU32; NUMBERS] = [const { AtomicU32::new(0) }; NUMBERS];

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn bench_qsort(times: *mut c_void) -> *mut c_void {
    let mut sum = 0;
    for round in 0..times as u32 {
        let mut state = 0x9e37_79b9_u32.wrapping_add(round);
        for number in &SORTED {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            number.store(state >> 8, Ordering::Relaxed);
        }
        // SAFETY: an array of that many u32, in a program of one thread, and a comparison of two of them.
        unsafe {
            libc::qsort(SORTED.as_ptr().cast_mut().cast(), NUMBERS, size_of::<u32>(), Some(ascending));
        }
        sum += SORTED[NUMBERS / 2].load(Ordering::Relaxed) as usize;
    }
    sum as *mut c_void
}

extern "C" fn ascending(a: *const c_void, b: *const c_void) -> c_int {
    // SAFETY: qsort passes two elements of the array it was given.
    let (a, b) = unsafe { (a.cast::<u32>().read(), b.cast::<u32>().read()) };
    a.cmp(&b) as c_int
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn bench_branchy(times: *mut c_void) -> *mut c_void {
    let mut words = 0_usize;
    let mut value = 0_usize;
    for _ in 0..times as usize {
        let mut in_word = false;
        for &byte in black_box(TEXT) {
            match byte {
                b'0'..=b'9' => value = value.wrapping_mul(10).wrapping_add(usize::from(byte - b'0')),
                b'a'..=b'z' | b'_' if in_word => value ^= usize::from(byte),
                b'a'..=b'z' | b'_' => {
                    in_word = true;
                    words += 1;
                }
                b'(' | b'[' | b'{' => value = value.rotate_left(3),
                b')' | b']' | b'}' => value = value.rotate_right(3),
                b' ' | b'\n' => in_word = false,
                _ => value = weigh(value, byte),
            }
        }
    }
    black_box(words.wrapping_add(value)) as *mut c_void
}

#[inline(never)]
fn weigh(value: usize, byte: u8) -> usize {
    if value & 1 == 0 { value / 2 + usize::from(byte) } else { value.wrapping_mul(3) + 1 }
}
