//! What bears on signal frames and on code that restarts when one arrives.

#![allow(unsafe_code, reason = "libc tells of its rseq area by a symbol only")]

use serde::Serialize;

use crate::event::environment::Status;

/// `AT_NULL` and `AT_MINSIGSTKSZ` (`getauxval(3)`).
const AT_NULL: u64 = 0;
const AT_MINSIGSTKSZ: u64 = 51;

/// Signal frames, restartable sequences and shadow stacks in this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signals {
    /// Bytes that one signal frame needs here; `None` before 5.14.
    pub minimum_signal_stack: Option<u64>,
    /// libc registered a restartable sequence in every thread (glibc 2.35 and later).
    pub rseq_registered: bool,
    /// This process runs with a user shadow stack.
    pub shadow_stack: bool,
}

impl Signals {
    pub(super) fn read() -> Self {
        let features = Status::of_this_thread();
        let features = features.field("x86_Thread_features").unwrap_or_default();
        Self {
            minimum_signal_stack: auxiliary(
                &std::fs::read("/proc/self/auxv").unwrap_or_default(),
                AT_MINSIGSTKSZ,
            ),
            rseq_registered: rseq_registered(),
            shadow_stack: features.split_whitespace().any(|feature| feature == "shstk"),
        }
    }
}

/// The value of `key` in the bytes of an auxiliary vector: pairs of native u64, ended by AT_NULL.
fn auxiliary(vector: &[u8], key: u64) -> Option<u64> {
    let words = vector.chunks_exact(8).filter_map(|word| word.try_into().ok().map(u64::from_ne_bytes));
    let words: Vec<u64> = words.collect();
    let pairs = words.chunks_exact(2).map_while(|pair| match *pair {
        [AT_NULL, _] => None,
        [key, value] => Some((key, value)),
        _ => None,
    });
    pairs.into_iter().find(|(found, _)| *found == key).map(|(_, value)| value)
}

/// glibc sets `__rseq_size` to 0 when it did not register; other libcs have no such symbol.
fn rseq_registered() -> bool {
    // SAFETY:
    // - the name ends with a NUL, and RTLD_DEFAULT is a valid handle.
    let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()) };
    let size = symbol.cast::<u32>();
    // SAFETY:
    // - where the symbol exists it is glibc's `const unsigned int`, written before main and never after.
    !size.is_null() && unsafe { *size } != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auxiliary_vector_ends_at_null() {
        let words = [6u64, 4096, 51, 3376, 0, 0, 51, 1];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(auxiliary(&bytes, AT_MINSIGSTKSZ), Some(3376));
        assert_eq!(auxiliary(&bytes, 7), None);
        assert_eq!(auxiliary(&bytes[..20], AT_MINSIGSTKSZ), None);
    }

    #[test]
    fn this_process_agrees_with_libc() {
        // SAFETY: getauxval takes a number.
        let told = unsafe { libc::getauxval(AT_MINSIGSTKSZ) };
        assert_eq!(Signals::read().minimum_signal_stack.unwrap_or(0), told);
    }
}
