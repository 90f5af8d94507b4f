//! Which 512-byte blocks of code are in the trace already, for all threads.

#![allow(unsafe_code, reason = "block copies are reached through pointers into the trace window")]

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use crate::address::RuntimeAddr;
use crate::record::code::BLOCK;

/// Blocks a trace can hold: 32 MiB of executed code. Beyond that every step carries its own bytes.
const CAPACITY: usize = 1 << 16;
/// Probes before a block counts as having no place.
const PROBES: usize = 64;

#[derive(Default)]
struct Place {
    /// Block address; 0 while free. ATOMICS: claimed once by compare-exchange of any thread, never given back.
    block: AtomicU64,
    /// The recorded bytes. ATOMICS: stored (release) by the claimer once they are in the trace, loaded
    /// (acquire) by any thread; null until then.
    bytes: AtomicPtr<u8>,
    /// The page can be executed but not read. ATOMICS: stored before `bytes`, which publishes it.
    unreadable: AtomicBool,
}

/// An open-addressed table that only grows.
pub struct Blocks {
    places: [Place; CAPACITY],
}

/// What the table says of a block.
pub(super) enum Found<'a> {
    Recorded(Block<'a>),
    /// Nobody has it: the caller has just claimed it and must [`Claim::publish`] it.
    Claimed(Claim<'a>),
    /// Another thread is recording it right now, or the table is full.
    Unavailable,
}

/// A block of code in the trace.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) bytes: &'a [u8; BLOCK],
    /// Memory can be read in place.
    pub(super) readable: bool,
}

pub(super) struct Claim<'a>(&'a Place);

impl Claim<'_> {
    /// Announces where the trace holds the block.
    pub(super) fn publish(self, block: Block<'_>) {
        let bytes: *const [u8; BLOCK] = block.bytes;
        self.0.unreadable.store(!block.readable, Ordering::Relaxed);
        self.0.bytes.store(bytes.cast_mut().cast(), Ordering::Release);
    }
}

impl Blocks {
    /// # Signal safety
    /// Atomics only; no thread ever waits for another.
    pub(super) fn find(&self, block: RuntimeAddr) -> Found<'_> {
        let hash = (block.0 / BLOCK as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        for probe in 0..PROBES {
            let Some(place) = self.places.get((hash as usize + probe) % CAPACITY) else { break };
            match place.block.compare_exchange(0, block.0, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Found::Claimed(Claim(place)),
                Err(taken) if taken == block.0 => {
                    let bytes = place.bytes.load(Ordering::Acquire);
                    if bytes.is_null() {
                        return Found::Unavailable;
                    }
                    // SAFETY:
                    // - published pointers lead to a block in the trace window, which stays mapped;
                    // - a published block is never written again.
                    let bytes = unsafe { &*bytes.cast::<[u8; BLOCK]>() };
                    return Found::Recorded(Block {
                        bytes,
                        readable: !place.unreadable.load(Ordering::Relaxed),
                    });
                }
                Err(_) => {}
            }
        }
        Found::Unavailable
    }
}
