//! One block per traced thread: everything the handler remembers from one stop to the next.

#![allow(unsafe_code, reason = "thread blocks are mapped by hand, since signal context cannot allocate")]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::counter::Counter;
use super::dispatch::{Dispatch, Watch};
use super::frames::{Frames, StackBounds};
use super::nesting::Nesting;
use super::pending::Pending;
use super::perf::Breakpoint;
use super::process::Process;
use super::saved::Saved;
use super::slide::Slide;
use super::system_call::Shield;
use super::unfollowed::Unfollowed;
use super::wrapper;
use crate::address::RuntimeAddr;
use crate::image::restartable::RestartableSection;
use crate::raw;
use crate::record::marker::{LostReason, Marker};
use crate::record::writer::ThreadWriter;
use crate::registers::{Registers, flag};

/// Threads that can be traced at the same time; dead ones make room.
const THREADS: usize = 1 << 10;
/// The thread's alternate stack: for the handler, and for the program's own SA_ONSTACK handlers, which are
/// stepped on it too. Signal frames stay below 16 KiB even with AMX tiles. Touched as far as it is used.
const STACK: usize = 256 << 10;
const PAGE: usize = 4096;
/// In place of a thread's id: a slot whose thread is dead and whose events are being closed, and one where they are.
const SWEEPING: u32 = u32::MAX;
const SWEPT: u32 = SWEEPING - 1;
/// A thread that has no alternate stack.
const NO_STACK: libc::stack_t =
    libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };

/// Where a thread stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Outside every traced function.
    Idle,
    /// In a call that is counted but not traced; its frame is in `frames`.
    Untraced,
    /// Between two stops of stepped code.
    Stepping,
    /// Out of scope until control comes back to the top frame's return address.
    Native,
    /// The instruction at RIP raises a signal: in a handler of the program's, or as `Native`.
    Faulting,
    /// In a restartable sequence, until one of the places where it is left.
    Restartable(&'static RestartableSection),
    /// The call's steps ended early (limit, no room): only its return is awaited.
    Muted,
}

impl Phase {
    /// Inside a call that gets rows.
    pub(super) fn is_traced(self) -> bool {
        matches!(self, Self::Stepping | Self::Native | Self::Faulting | Self::Restartable(_))
    }
}

/// A traced thread.
pub(super) struct Thread {
    pub(super) phase: Phase,
    pub(super) step: Breakpoint,
    pub(super) guard: Breakpoint,
    /// At another exit than the end of a restartable sequence, while one runs.
    pub(super) exit: Breakpoint,
    /// Of the `instructions` engine.
    pub(super) counter: Counter,
    pub(super) writer: ThreadWriter,
    pub(super) pending: Pending,
    pub(super) frames: Frames,
    /// The mapping of the stack in use, as far as it is known.
    pub(super) bounds: StackBounds,
    /// Where the next stop must come.
    pub(super) expected: RuntimeAddr,
    /// Rows written in this call.
    pub(super) rows: u64,
    /// TF is ours in the frame that sigreturn restores.
    pub(super) trap_flag: bool,
    /// TF is set in the program's own eyes: each of its instructions owes it a trap.
    pub(super) program_trap_flag: bool,
    /// The place of a patch that is out while its instruction runs under the trap flag.
    pub(super) stepping_over: Option<RuntimeAddr>,
    /// The last place of a breakpoint whose instruction it was sent on to run, and RSP before that.
    pub(super) passed: Option<(RuntimeAddr, u64)>,
    /// Those of the tracer's signals that the program believes it blocks.
    pub(super) blocked_by_program: u64,
    /// The return slot of a call to a function that may come back elsewhere, once one was made through the PLT.
    pub(super) jump_slot: u64,
    /// Stepped out of scope, without rows, until control comes to rest.
    pub(super) sliding: Option<Slide>,
    /// In 32-bit code, which the trap flag steps through.
    pub(super) narrow: bool,
    /// Handlers of the program's that run on top of the call.
    pub(super) nesting: Nesting,
    /// Where stepping resumes inside a repeated string instruction: the registers it had set out with.
    pub(super) set_out: Option<Registers>,
    /// What raises SIGSYS for system calls of native code.
    pub(super) dispatch: Dispatch,
    /// A register that stands in for one of the program's during a system call.
    pub(super) shield: Option<Shield>,
    /// Handlers of the tracer's signals that run natively.
    pub(super) unfollowed: Unfollowed,
    /// In one of the agent's functions that wait with a mask.
    pub(super) waiting: bool,
    /// The native system call under way makes a process.
    pub(super) forking: bool,
    /// The program's alternate stack, which the tracer's stands in for.
    pub(super) program_stack: libc::stack_t,
    stack_base: u64,
    /// Its call is among those that make wrappers trap.
    counted: bool,
    /// Registers at the last stop.
    pub(super) registers: Registers,
}

impl Thread {
    /// Closes this thread's events while it runs natively, before it enters seccomp.
    pub(super) fn stand_down(&mut self, process: &Process) {
        if self.phase == Phase::Native {
            let nowhere = RuntimeAddr(0);
            let reason = LostReason::Seccomp;
            let lost = Marker::Lost { reason, expected: self.expected, found: nowhere, detail: 0 };
            let _ = self.writer.marker(&process.buffer, &lost);
            self.phase = Phase::Muted;
        }
        self.dispatch.turn_off();
        self.close_events();
    }

    /// What is to become of the system calls that the thread makes until the next stop.
    pub(super) fn watch(&self) -> Watch {
        match self.phase {
            Phase::Native => Watch::Calls,
            _ if !self.unfollowed.is_empty() => Watch::Calls,
            Phase::Idle => Watch::Off,
            _ => Watch::Paused,
        }
    }

    /// Whether TF, where it is set in a frame or on the stack, is the tracer's alone.
    pub(super) const fn hides_trap_flag(&self) -> bool {
        self.trap_flag && !self.program_trap_flag
    }

    /// A stop: is TF the program's? Where the tracer has set it, too, only an instruction that loads it tells.
    pub(super) fn learn_trap_flag(&mut self, saved: &Saved<'_>) {
        let ours = self.trap_flag || self.stepping_over.is_some();
        let last = self.pending.rows().last().filter(|row| row.next == saved.rip());
        if !ours || last.is_some_and(|row| row.fetched.loads_trap_flag()) {
            self.program_trap_flag = saved.has_flag(flag::TF);
        }
    }

    /// A call begins to be traced: the program's handlers are followed.
    pub(super) fn count_call(&mut self) {
        if !std::mem::replace(&mut self.counted, true) {
            wrapper::call_begins();
        }
    }

    /// The call is over, and with it whatever handlers ran on top of it.
    pub(super) fn uncount_call(&mut self) {
        self.nesting.clear();
        self.set_out = None;
        self.sliding = None;
        self.jump_slot = 0;
        self.narrow = false;
        if std::mem::take(&mut self.counted) {
            wrapper::call_ends();
        }
    }

    /// Closes its events.
    pub(super) fn close_events(&mut self) {
        for event in [&mut self.step, &mut self.guard, &mut self.exit] {
            event.close();
        }
        self.counter.close();
    }

    /// The tracer's alternate stack for this thread, as sigaltstack(2) wants it.
    pub(super) fn alternate_stack(&self) -> libc::stack_t {
        libc::stack_t { ss_sp: self.stack_base as *mut libc::c_void, ss_flags: 0, ss_size: STACK }
    }
}

#[derive(Default)]
struct Slot {
    /// The owner's thread id. ATOMICS: claimed by compare-exchange of the thread itself; taken over by another
    /// thread only when its owner is dead.
    tid: AtomicU32,
    /// ATOMICS: written by the slot's owner only, read by the owner and by who takes the slot over.
    thread: AtomicPtr<UnsafeCell<Thread>>,
}

/// All traced threads, found by thread id. No thread-local storage: its first touch may allocate.
pub(super) struct Threads {
    slots: [Slot; THREADS],
}

impl Threads {
    /// The calling thread's block, if it has one.
    ///
    /// # Signal safety
    /// Atomics only. Exclusive: signals are blocked in the handler, and no other thread uses this block.
    #[allow(clippy::mut_from_ref, reason = "each block belongs to the thread whose id stands in its slot")]
    pub(super) fn find(&self, tid: u32) -> Option<&mut Thread> {
        let slot = self.probe(tid).find(|slot| slot.tid.load(Ordering::Relaxed) == tid)?;
        let thread = slot.thread.load(Ordering::Relaxed);
        // SAFETY:
        // - a non-null pointer leads to a live, initialised block that is never unmapped;
        // - only the thread named `tid` comes here with it, and its signals are blocked meanwhile.
        unsafe { thread.as_ref() }.map(|cell| unsafe { &mut *cell.get() })
    }

    /// The calling thread's block, made if need be. `None` when all slots belong to living threads or memory
    /// is refused.
    ///
    /// # Signal safety
    /// Atomics, raw mmap and tgkill.
    #[allow(clippy::mut_from_ref, reason = "see `find`")]
    pub(super) fn find_or_make(&self, tid: u32, process: &'static Process) -> Option<&mut Thread> {
        // Looked up twice because the borrow checker does not see that the first miss keeps nothing.
        if self.probe(tid).any(|slot| slot.tid.load(Ordering::Relaxed) == tid) {
            return self.find(tid);
        }
        self.sweep();
        let claim = |slot: &&Slot, old| {
            slot.tid.compare_exchange(old, tid, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let slot = self.probe(tid).find(|slot| claim(slot, 0));
        let slot = slot.or_else(|| self.probe(tid).find(|slot| claim(slot, SWEPT)))?;
        let kept = slot.thread.load(Ordering::Acquire);
        if kept.is_null() {
            slot.thread.store(map_thread(process)?, Ordering::Release);
        } else {
            // SAFETY: its owner is dead, and the compare-exchange made this thread the owner.
            let thread = unsafe { &mut *(*kept).get() };
            thread.phase = Phase::Idle;
            thread.blocked_by_program = 0;
            thread.program_stack = NO_STACK;
            (thread.dispatch, thread.shield) = (Dispatch::off(), None);
            (thread.waiting, thread.forking) = (false, false);
            thread.passed = None;
            thread.unfollowed = Unfollowed::new();
            thread.writer = ThreadWriter::new();
        }
        self.find(tid)
    }

    /// The alternate stack of the program where `real` is a tracer's one, and what it believes to block: in a forked child
    /// that is the one of the thread that forked, whose block came along with the rest of its memory.
    pub(super) fn believed_behind(&self, real: &libc::stack_t) -> (libc::stack_t, u64) {
        let blocks = self.slots.iter().filter_map(|slot| {
            // SAFETY: blocks are never unmapped; only fields that their owner sets once are read, and what the
            // program believes of a block whose owner is this thread's copy or this thread.
            unsafe { slot.thread.load(Ordering::Acquire).cast::<Thread>().as_ref() }
        });
        blocks
            .filter(|thread| thread.stack_base == real.ss_sp as u64)
            .map(|thread| (thread.program_stack, thread.blocked_by_program))
            .next()
            .unwrap_or((*real, 0))
    }

    /// Closes the events of dead threads: a program may start any number of threads, and has a limit on descriptors. Their
    /// blocks are taken over only when no fresh one is left, since a forked child looks into its parent's.
    fn sweep(&self) {
        let used = self.slots.iter().map(|slot| (slot, slot.tid.load(Ordering::Relaxed)));
        for (slot, tid) in used.filter(|(_, tid)| !matches!(*tid, 0 | SWEEPING | SWEPT) && is_dead(*tid)) {
            if slot.tid.compare_exchange(tid, SWEEPING, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                continue;
            }
            // SAFETY: the owner is dead, and the compare-exchange made this thread the owner.
            if let Some(thread) = unsafe { slot.thread.load(Ordering::Acquire).as_ref() } {
                // SAFETY: as above; blocks are never unmapped while armed.
                let thread = unsafe { &mut *thread.get() };
                thread.close_events();
                thread.uncount_call();
            }
            slot.tid.store(SWEPT, Ordering::Release);
        }
    }

    /// Closes all threads' events and unmaps their blocks.
    ///
    /// # Safety
    /// No handler runs in any of these threads, nor will it.
    pub(super) unsafe fn unmap_all(&self) {
        for slot in &self.slots {
            slot.tid.store(0, Ordering::Relaxed);
            let thread = slot.thread.swap(std::ptr::null_mut(), Ordering::AcqRel);
            if !thread.is_null() {
                // SAFETY: the caller's promise makes this the only reference.
                let thread = unsafe { &mut *(*thread).get() };
                thread.close_events();
                let base = thread.stack_base - PAGE as u64;
                let length = mapping_length() as u64;
                // SAFETY: exactly what `map_thread` mapped.
                let _ = unsafe { raw::syscall(libc::SYS_munmap, [base, length, 0, 0, 0, 0]) };
            }
        }
    }

    /// The slots a thread may be in, nearest first.
    fn probe(&self, tid: u32) -> impl Iterator<Item = &Slot> {
        (0..THREADS).filter_map(move |probe| self.slots.get((tid as usize + probe) % THREADS))
    }
}

/// Whether no thread of this process has the id.
fn is_dead(tid: u32) -> bool {
    // SAFETY: signal 0 only asks whether the thread exists (tgkill(2)).
    let asked =
        unsafe { raw::syscall(libc::SYS_tgkill, [u64::from(raw::getpid()), u64::from(tid), 0, 0, 0, 0]) };
    asked == Err(raw::Errno(libc::ESRCH))
}

/// Guard page, stack and block, in bytes.
const fn mapping_length() -> usize {
    PAGE + STACK + size_of::<Thread>().next_multiple_of(PAGE)
}

/// Maps a block with its handler stack below it and a guard page below that.
fn map_thread(process: &'static Process) -> Option<*mut UnsafeCell<Thread>> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as u64;
    let length = mapping_length() as u64;
    // SAFETY: a fresh anonymous mapping; no existing memory is touched.
    let base = unsafe { raw::syscall(libc::SYS_mmap, [0, length, protection, flags, u64::MAX, 0]) }.ok()?;
    // SAFETY: the first page of the mapping just made, which nothing uses.
    let _ = unsafe { raw::syscall(libc::SYS_mprotect, [base, PAGE as u64, libc::PROT_NONE as u64, 0, 0, 0]) };
    let thread = (base as usize + PAGE + STACK) as *mut Thread;
    // SAFETY:
    // - `thread` is page-aligned and has room for a Thread;
    // - `frames` is plain numbers, for which the mapping's zeros are valid, and stays untouched: writing a
    //   whole Thread would touch a megabyte;
    // - every other field is written.
    unsafe {
        (&raw mut (*thread).phase).write(Phase::Idle);
        (&raw mut (*thread).step).write(process.step_event());
        (&raw mut (*thread).guard).write(process.guard_event());
        (&raw mut (*thread).exit).write(process.guard_event());
        (&raw mut (*thread).writer).write(ThreadWriter::new());
        Pending::write_empty(&raw mut (*thread).pending);
        (&raw mut (*thread).bounds).write(StackBounds { start: 0, end: 0 });
        (&raw mut (*thread).expected).write(RuntimeAddr(0));
        (&raw mut (*thread).rows).write(0);
        (&raw mut (*thread).trap_flag).write(false);
        (&raw mut (*thread).blocked_by_program).write(0);
        (&raw mut (*thread).program_stack).write(NO_STACK);
        (&raw mut (*thread).nesting).write(Nesting::new());
        (&raw mut (*thread).set_out).write(None);
        (&raw mut (*thread).counter).write(Counter::closed());
        (&raw mut (*thread).program_trap_flag).write(false);
        (&raw mut (*thread).stepping_over).write(None);
        (&raw mut (*thread).passed).write(None);
        (&raw mut (*thread).jump_slot).write(0);
        (&raw mut (*thread).sliding).write(None);
        (&raw mut (*thread).dispatch).write(Dispatch::off());
        (&raw mut (*thread).shield).write(None);
        (&raw mut (*thread).unfollowed).write(Unfollowed::new());
        (&raw mut (*thread).waiting).write(false);
        (&raw mut (*thread).forking).write(false);
        (&raw mut (*thread).narrow).write(false);
        (&raw mut (*thread).counted).write(false);
        (&raw mut (*thread).stack_base).write(base + PAGE as u64);
        (&raw mut (*thread).registers).write(Registers::default());
    }
    Some(thread.cast())
}
