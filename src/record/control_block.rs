//! The control block's layout: what `overstep trace` and every armed process of its tree share.
//!
//! It lives in a sealed memfd of its own, not in the trace file: it says what to do and how far the file has grown,
//! which is of no use to a reader afterwards. Both sides check it: the descriptor number comes through the
//! environment, and anything could be behind it.

#![allow(unsafe_code, reason = "text areas are written through a shared mapping")]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use super::control::{Progress, Settings};
use super::settings_image::SettingsImage;
use crate::address::RuntimeAddr;

/// The first eight bytes.
pub(super) const MAGIC: [u8; 8] = *b"OSTPCTRL";
/// Raised with every change of this file: parent and agent come from one executable.
pub(super) const VERSION: u32 = 2;
/// Bytes for the function patterns, each ended by a zero.
pub const PATTERN_AREA: usize = 2048;
/// Functions that can be found for the patterns; further ones are counted, not named.
pub const RESOLVED_SLOTS: usize = 64;
/// Bytes of a found function's name that are kept.
pub const NAME_AREA: usize = 96;
/// Bytes of an error's text that are kept.
pub const MESSAGE_AREA: usize = 240;

const FREE: u32 = 0;
const WRITING: u32 = 1;
const READY: u32 = 2;

/// Shared by parent and agents. Fixed before the program starts, but for the atomics and the areas they guard.
#[derive(Debug)]
#[repr(C)]
pub struct ControlBlock {
    pub(super) magic: [u8; 8],
    pub(super) version: u32,
    /// Of this struct, in bytes.
    pub(super) size: u32,
    pub(super) settings: SettingsImage,
    /// Where in the trace file the `Counters` payload lies; 0 before the file is there.
    pub counters_at: AtomicU64,
    /// `overstep trace`'s own process id.
    pub(super) parent: u32,
    pub(super) pattern_length: u32,
    pub(super) patterns: [u8; PATTERN_AREA],
    pub progress: Progress,
    message: Message,
    /// Functions found in all, more than have a slot perhaps. ATOMICS: agents add, the parent loads.
    resolved_count: AtomicU32,
    resolved: [ResolvedSlot; RESOLVED_SLOTS],
}

/// The first thing that went wrong in a traced process.
#[derive(Debug)]
#[repr(C)]
struct Message {
    /// ATOMICS: FREE → WRITING by compare-exchange, then READY by release; READY is loaded by acquire.
    state: AtomicU32,
    kind: AtomicU32,
    errno: AtomicI32,
    length: AtomicU32,
    text: Text<MESSAGE_AREA>,
}

/// One function that matches a pattern.
#[derive(Debug)]
#[repr(C)]
struct ResolvedSlot {
    /// ATOMICS: as [`Message::state`].
    state: AtomicU32,
    pattern: AtomicU32,
    address: AtomicU64,
    length: AtomicU32,
    text: Text<NAME_AREA>,
}

/// Bytes that one writer fills before a state word says so.
#[repr(C)]
struct Text<const N: usize>(UnsafeCell<[u8; N]>);

// SAFETY:
// - written only between winning the compare-exchange on the state word and its release store, read only after an
//   acquire load of that store.
unsafe impl<const N: usize> Sync for Text<N> {}

impl<const N: usize> std::fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

impl<const N: usize> Text<N> {
    /// Fills in as much of `text` as fits: the length.
    ///
    /// # Signal safety
    /// Plain stores, one volatile byte each.
    fn write(&self, text: &[u8]) -> u32 {
        let at: *mut u8 = self.0.get().cast();
        let mut length = 0;
        for (place, &byte) in text.iter().take(N).enumerate() {
            // SAFETY:
            // - `place` is below N, and the caller holds the state word.
            unsafe { at.wrapping_add(place).write_volatile(byte) };
            length += 1;
        }
        length
    }

    /// The first `length` bytes, at most N. Only after the state word was seen READY.
    fn read(&self, length: u32) -> String {
        // SAFETY:
        // - no more writes follow READY; a hostile process that writes all the same can garble the copy, which is
        //   bytes whatever it holds.
        let copy: [u8; N] = unsafe { self.0.get().read_volatile() };
        String::from_utf8_lossy(copy.get(..length as usize).unwrap_or(&copy)).into_owned()
    }
}

/// What went wrong in a traced process, read back by the parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentError {
    /// The agent's own number for it.
    pub kind: u32,
    /// 0 where no system call failed.
    pub errno: i32,
    pub text: String,
}

/// A function found for a pattern, read back by the parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Index of the pattern.
    pub pattern: u32,
    pub address: RuntimeAddr,
    pub name: String,
}

impl ControlBlock {
    /// What to do. `None` when a field holds a number this version has no meaning for.
    #[must_use]
    pub fn settings(&self) -> Option<Settings> {
        self.settings.decode()
    }

    /// `overstep trace`'s process id.
    #[must_use]
    pub const fn parent(&self) -> u32 {
        self.parent
    }

    /// The functions asked for, as the user wrote them.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        let area = self.patterns.get(..self.pattern_length as usize).unwrap_or(&self.patterns);
        area.split(|&byte| byte == 0)
            .filter(|pattern| !pattern.is_empty())
            .map(|pattern| std::str::from_utf8(pattern).unwrap_or("�"))
    }

    /// Leaves an error for the parent: `false` when there is an earlier one, which stays.
    ///
    /// # Signal safety
    /// Atomics and plain stores.
    pub fn report(&self, kind: u32, errno: i32, text: &[u8]) -> bool {
        let message = &self.message;
        if !take(&message.state) {
            return false;
        }
        message.kind.store(kind, Ordering::Relaxed);
        message.errno.store(errno, Ordering::Relaxed);
        message.length.store(message.text.write(text), Ordering::Relaxed);
        message.state.store(READY, Ordering::Release);
        true
    }

    /// The error that a traced process left.
    #[must_use]
    pub fn error(&self) -> Option<AgentError> {
        let message = &self.message;
        (message.state.load(Ordering::Acquire) == READY).then(|| AgentError {
            kind: message.kind.load(Ordering::Relaxed),
            errno: message.errno.load(Ordering::Relaxed),
            text: message.text.read(message.length.load(Ordering::Relaxed)),
        })
    }

    /// Notes a function that was found and armed: its index, by which `enter` markers name it. Indices beyond
    /// [`RESOLVED_SLOTS`] are valid, but nobody can look up their name.
    ///
    /// # Signal safety
    /// Atomics and plain stores.
    pub fn resolve(&self, pattern: u32, address: RuntimeAddr, name: &[u8]) -> u32 {
        let index = self.resolved_count.fetch_add(1, Ordering::Relaxed);
        if let Some(slot) = self.resolved.get(index as usize)
            && take(&slot.state)
        {
            slot.pattern.store(pattern, Ordering::Relaxed);
            slot.address.store(address.0, Ordering::Relaxed);
            slot.length.store(slot.text.write(name), Ordering::Relaxed);
            slot.state.store(READY, Ordering::Release);
        }
        index
    }

    /// How many functions were found, and those that have a slot.
    #[must_use]
    pub fn resolved(&self) -> (u32, Vec<Resolved>) {
        let ready = self.resolved.iter().filter(|slot| slot.state.load(Ordering::Acquire) == READY);
        let found = ready.map(|slot| Resolved {
            pattern: slot.pattern.load(Ordering::Relaxed),
            address: RuntimeAddr(slot.address.load(Ordering::Relaxed)),
            name: slot.text.read(slot.length.load(Ordering::Relaxed)),
        });
        (self.resolved_count.load(Ordering::Relaxed), found.collect())
    }
}

/// Wins the right to fill an area, once.
fn take(state: &AtomicU32) -> bool {
    state.compare_exchange(FREE, WRITING, Ordering::Acquire, Ordering::Relaxed).is_ok()
}
