//! What all threads of a traced process share. Made by the session before anything fires.

#![allow(unsafe_code, reason = "the one global pointer from which a signal handler finds its state")]

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};

use super::alternate_stack::{alternate_stack, replace_alternate_stack};
use super::blocks::Blocks;
use super::entry::{TRIGGER_TAG, on_signal};
use super::held::HeldSignals;
use super::known::{CodeRange, KnownImage, TracedFunction};
use super::patch::Patches;
use super::perf::{Breakpoint, out_of_the_way};
use super::program_signals::{MaskChange, ProgramSignals, mask_bit};
use super::sigaction::{KernelAction, install, pending, replace};
use super::thread::Threads;
use crate::address::RuntimeAddr;
use crate::event::attr::{self, Attr};
use crate::event::{ioctl, open};
use crate::image::decode::Vendor;
use crate::image::memory::OwnMemory;
use crate::raw::{self, Errno};
use crate::record::buffer::TraceBuffer;
use crate::record::control::{Delivery, Engine, Progress, Settings};
use crate::record::keep;
use crate::record::modules::ModuleRef;

/// Functions that can be traced at once: their entries, the stepper and the return guard share four debug
/// registers, and one stays with the program.
pub const MOST_FUNCTIONS: usize = 2;

/// What the session decides about a process that is to be armed.
pub struct Plan {
    pub settings: Settings,
    pub vendor: Vendor,
    pub buffer: TraceBuffer,
    /// Shared with the parent, or with the library's own session.
    pub progress: &'static Progress,
    pub functions: [Option<TracedFunction>; MOST_FUNCTIONS],
    /// Where the trigger events lie, to silence a process that is not the one traced.
    pub triggers: [AtomicI32; MOST_FUNCTIONS],
    /// ATOMICS: replaced (release) as a whole by the session when libraries come or go; old ones stay mapped.
    pub image: AtomicPtr<KnownImage>,
    /// The process that was armed; a forked child has another id. ATOMICS: relaxed, set before the first stop.
    pub pid: AtomicU32,
    pub step_attr: Attr,
    pub guard_attr: Attr,
    /// The signal of `Delivery::Fasync`.
    pub fasync_signal: i32,
    /// What the program believes about the tracer's signals; one that is not ours goes where it says.
    pub signals: ProgramSignals,
    /// The tracer's own code, where it is not part of the program.
    pub own_text: Option<CodeRange>,
    /// System calls of native code go through syscall user dispatch.
    pub watches_calls: bool,
    /// Forces one wrong prediction at this row of every call, to test that it ends as `lost`; 0 never.
    pub mispredict_at: u64,
}

const PAGE: u64 = 4096;

/// The armed process. Mapped once by the session, never moved, never dropped.
#[repr(C)]
pub struct Process {
    plan: Plan,
    pub(super) threads: Threads,
    /// Code blocks in the trace.
    pub(super) blocks: Blocks,
    /// Addresses out of scope that the trace can name.
    pub(super) targets: Blocks,
    /// Code that is patched.
    pub(super) patches: Patches,
    pub(super) held: HeldSignals,
    /// The program uses syscall user dispatch itself. ATOMICS: set once, relaxed.
    dispatches: AtomicBool,
}

impl std::ops::Deref for Process {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

/// ATOMICS: stored (release) by the session, loaded (acquire) by the handler.
static CURRENT: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());

impl Process {
    /// Maps a process. It is never unmapped: a handler may be running in it at any time.
    ///
    /// # Errors
    /// mmap's errno, ENOMEM above all.
    pub fn map(plan: Plan) -> Result<&'static Self, Errno> {
        let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
        let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as u64;
        // SAFETY: a fresh anonymous mapping; no existing memory is touched.
        let base = unsafe {
            raw::syscall(libc::SYS_mmap, [0, size_of::<Self>() as u64, protection, flags, u64::MAX, 0])
        }?;
        let process = base as *mut Self;
        // SAFETY:
        // - the mapping is page-aligned and large enough;
        // - the tables are atomics, for which the mapping's zeros are the empty table: writing them would touch
        //   megabytes; the plan is written.
        unsafe {
            (&raw mut (*process).plan).write(plan);
            let process = &*process;
            if process.own_text.is_some() {
                process.patches.reserve();
            }
            Ok(process)
        }
    }

    /// The process as the handler sees it, while one is armed.
    pub(super) fn current() -> Option<&'static Self> {
        // SAFETY: published processes live for ever.
        unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
    }

    /// Gives back what a disarmed process holds: the calling thread's events and block, the image, the tables'
    /// pages. The struct itself stays mapped, for a handler that may have found it just before.
    ///
    /// # Safety
    /// The process was [withdrawn](Self::withdraw), only the calling thread was ever traced, and nobody uses the
    /// image any more.
    pub unsafe fn dismantle(&'static self) {
        // SAFETY: the caller's promise: no other thread uses the table.
        unsafe { self.threads.unmap_all() };
        // SAFETY: as above.
        unsafe { self.patches.release() };
        let image = self.image.swap(std::ptr::null_mut(), Ordering::AcqRel);
        if !image.is_null() {
            // SAFETY: the session made it with Box::into_raw, and the swap gave it to this call alone.
            drop(unsafe { Box::from_raw(image) });
        }
        let tables = (&raw const self.threads as u64).next_multiple_of(PAGE);
        let end = std::ptr::from_ref(self) as u64 + size_of::<Self>() as u64;
        let length = (end & !(PAGE - 1)).saturating_sub(tables);
        // SAFETY: pages of this private mapping that hold only the tables: they read as zeros again, which is the
        // empty table.
        let _ =
            unsafe { raw::syscall(libc::SYS_madvise, [tables, length, libc::MADV_DONTNEED as u64, 0, 0, 0]) };
    }

    /// Makes this the process the handler serves.
    pub fn publish(&'static self) {
        CURRENT.store(std::ptr::from_ref(self).cast_mut(), Ordering::Release);
    }

    /// From now on the handler treats every signal as the program's own.
    pub fn withdraw() {
        CURRENT.store(std::ptr::null_mut(), Ordering::Release);
    }

    /// Makes the calling thread's block, and its stack in the block the thread's alternate one, so that stops
    /// need nothing of the program's stacks. Returns the stack that was there before, which is remembered as the
    /// program's.
    ///
    /// # Errors
    /// ENOMEM when no block is left or can be mapped, EPERM while the thread runs on an alternate stack.
    ///
    /// # Signal safety
    /// Raw system calls.
    pub fn adopt_thread(&'static self) -> Result<libc::stack_t, Errno> {
        let thread = self.threads.find_or_make(raw::gettid(), self).ok_or(Errno(libc::ENOMEM))?;
        let old = replace_alternate_stack(&thread.alternate_stack())?;
        // A forked child's first thread: what its parent believed.
        let (stack, blocked) = self.threads.believed_behind(&old);
        (thread.program_stack, thread.blocked_by_program) = (stack, thread.blocked_by_program | blocked);
        // What was blocked already is blocked for the program only.
        let (owned, real) = (self.signals.owned(), set_mask(None)?);
        if real & owned != 0 {
            thread.blocked_by_program |= real & owned;
            set_mask(Some(real & !owned))?;
        }
        Ok(old)
    }

    /// The tracer's code, where system calls of native code are to be watched and the program does not dispatch them
    /// itself.
    pub(super) fn watches_calls(&self) -> Option<CodeRange> {
        self.own_text.filter(|_| self.watches_calls && !self.dispatches.load(Ordering::Relaxed))
    }

    /// The program is about to use syscall user dispatch: from now on it has it for itself.
    ///
    /// # Signal safety
    /// An atomic, gettid and prctl.
    pub fn leave_dispatch_to_program(&self) {
        self.dispatches.store(true, Ordering::Relaxed);
        if let Some(thread) = self.threads.find(raw::gettid()) {
            thread.dispatch.turn_off();
        }
    }

    /// Changes the calling thread's signal mask for the program, or with `None` only asks: what it was, as the
    /// program believes. The tracer's signals stay unblocked.
    ///
    /// # Errors
    /// None that the kernel would not have: it takes any set.
    ///
    /// # Signal safety
    /// Atomics and rt_sigprocmask.
    pub fn change_mask(&self, change: Option<MaskChange>) -> Result<u64, Errno> {
        let owned = self.signals.owned();
        let thread = self.threads.find(raw::gettid());
        let real = set_mask(None)?;
        let believed = real | thread.as_ref().map_or(0, |thread| thread.blocked_by_program & owned);
        if let Some(change) = change {
            let now = change.apply(believed);
            // A thread that the tracer does not know is not stepped: its mask is its own.
            let kept = if thread.is_some() { owned } else { 0 };
            set_mask(Some(now & !kept))?;
            if let Some(thread) = thread {
                self.believe(thread, raw::gettid(), now & owned);
            }
        }
        Ok(believed)
    }

    /// Takes the triggers away, in all threads: the program is about to enter seccomp, and what they start would
    /// kill it.
    ///
    /// # Signal safety
    /// Atomics, ioctl, close and futex.
    pub fn close_triggers(&self) {
        self.patches.clear(self.memory());
        for place in &self.triggers {
            let fd = place.swap(-1, Ordering::Relaxed);
            // A number that leads to no event has been closed, and perhaps reused, by the program.
            if fd >= 0 && ioctl::id(fd).is_ok() {
                // SAFETY: the descriptor of a trigger of ours, given up by the swap.
                unsafe { raw::close(fd) };
            }
        }
        // The parent has another one.
        if self.own_text.is_some() {
            keep::give_up(self.progress, raw::getpid());
        }
    }

    /// Whether execveat(2) with these arguments finds a file that may be executed.
    ///
    /// # Signal safety
    /// faccessat2, which does not touch what cannot be read.
    pub(super) fn may_execute(&self, directory: u64, path: u64, flags: u64) -> bool {
        const EMPTY_OR_NOFOLLOW: u64 = (libc::AT_EMPTY_PATH | libc::AT_SYMLINK_NOFOLLOW) as u64;
        let flags = flags & EMPTY_OR_NOFOLLOW | libc::AT_EACCESS as u64;
        let arguments = [directory, path, libc::X_OK as u64, flags, 0, 0];
        // SAFETY: the program's own pointer, which the kernel checks.
        unsafe { raw::syscall(libc::SYS_faccessat2, arguments) }.is_ok()
    }

    /// Before execve(2): mask and ignored signals become, for the kernel, too, what the program believes.
    ///
    /// # Signal safety
    /// Raw system calls. May run in a vfork child, which is known by its parent's alternate stack.
    pub fn show_signals(&self) {
        if self.show_mask() {
            self.ignore_signals();
        }
    }

    /// The same for the mask alone, before a process is made that does not pass by the agent. `false`, with nothing done,
    /// where system calls raise SIGSYS: there they are seen to themselves.
    ///
    /// # Signal safety
    /// As [`Self::show_signals`].
    pub fn show_mask(&self) -> bool {
        let believed = match self.threads.find(raw::gettid()) {
            Some(thread) if thread.dispatch.is_watching() => return false,
            Some(thread) => thread.blocked_by_program,
            None => alternate_stack().map_or(0, |stack| self.threads.believed_behind(&stack).1),
        };
        if let Ok(real) = set_mask(None) {
            let _ = set_mask(Some(real | believed & self.signals.owned()));
        }
        true
    }

    /// Those of the tracer's signals that the program ignores are ignored: whether there are any.
    ///
    /// # Signal safety
    /// rt_sigaction.
    pub(super) fn ignore_signals(&self) -> bool {
        let ignore = KernelAction { handler: libc::SIG_IGN as u64, ..KernelAction::default() };
        self.signals.ignored().filter(|signal| replace(*signal, Some(&ignore)).is_ok()).count() != 0
    }

    /// After an execve(2) that failed.
    ///
    /// # Signal safety
    /// Raw system calls.
    pub fn hide_signals(&self) {
        for signal in self.signals.ignored() {
            let _ = install(signal, on_signal);
        }
        self.hide_mask();
    }

    /// Takes [`Self::show_mask`] back.
    ///
    /// # Signal safety
    /// Raw system calls.
    pub fn hide_mask(&self) {
        if let Ok(real) = set_mask(None) {
            let _ = set_mask(Some(real & !self.signals.owned()));
        }
    }

    /// Disarms the calling thread and takes the triggers away, from outside the handler; a call that is being
    /// traced gets no more rows.
    pub fn stand_down(&self) {
        let Ok(before) = set_mask(Some(u64::MAX)) else { return };
        if let Some(thread) = self.threads.find(raw::gettid()) {
            thread.stand_down(self);
        }
        self.close_triggers();
        let _ = set_mask(Some(before));
    }

    /// What the calling thread's program believes it blocks of the tracer's signals.
    pub fn blocked_by_program(&self) -> u64 {
        self.threads.find(raw::gettid()).map_or(0, |thread| thread.blocked_by_program)
    }

    /// The calling thread is about to jump to where it had this mask, which is the kernel's, without the tracer's signals.
    pub fn believe_unblocked(&self) {
        let tid = raw::gettid();
        if let Some(thread) = self.threads.find(tid) {
            thread.waiting = false;
            self.believe(thread, tid, 0);
        }
    }

    /// The calling thread has inherited a mask that blocks these of the tracer's signals.
    pub fn believe_blocked(&self, blocked: u64) {
        if let Some(thread) = self.threads.find(raw::gettid()) {
            thread.blocked_by_program |= blocked & self.signals.owned();
        }
    }

    /// In a forked child, which runs on untraced: its signal state goes on as its parent's.
    ///
    /// # Signal safety
    /// Raw system calls; the child has one thread.
    pub fn adopt_child(&'static self) {
        self.pid.store(raw::getpid(), Ordering::Relaxed);
        self.patches.forget_threads();
        // Without it, stops use the thread's own stack.
        let _ = self.adopt_thread();
    }

    /// Arms a forked child as its parent was: perf events and thread blocks are not inherited.
    ///
    /// # Signal safety
    /// Raw system calls; the child has one thread.
    pub fn rearm_in_child(&'static self) {
        self.adopt_child();
        for (function, place) in self.functions.iter().flatten().zip(&self.triggers) {
            // A patch is inherited.
            if self.patches.stands_at(function.entry) {
                continue;
            }
            let attr = attr::trigger(function.entry, TRIGGER_TAG);
            if let Ok(fd) = open::raw(&attr, 0) {
                let fd = out_of_the_way(fd);
                keep::keep(self.progress, raw::getpid(), fd);
                let old = place.swap(fd, Ordering::Relaxed);
                if old >= 0 {
                    // SAFETY: the parent's event, of which the child's table has a copy that only we know.
                    unsafe { raw::close(old) };
                }
            }
        }
    }

    pub(super) fn image(&self) -> &'static KnownImage {
        // SAFETY: never null once published, and images live for ever.
        unsafe { &*self.image.load(Ordering::Acquire) }
    }

    /// The traced function that starts at `address`.
    pub(super) fn function_at(&self, address: RuntimeAddr) -> Option<TracedFunction> {
        self.functions.iter().flatten().copied().find(|function| function.entry == address)
    }

    /// This process's memory.
    pub(super) fn memory(&self) -> OwnMemory {
        OwnMemory::of(self.pid.load(Ordering::Relaxed))
    }

    /// Writes what every reader of the trace needs, once this process is the traced one. Without room for it the
    /// first step has none either, and says so.
    pub(super) fn announce(&self, tid: u32) {
        for (id, module) in self.image().modules.iter().enumerate() {
            let module = ModuleRef {
                id: id as u32,
                path: &module.path,
                bias: module.bias,
                build_id: &module.build_id,
                ranges: &module.ranges,
            };
            let _ = self.buffer.modules(tid, &[module]);
        }
    }

    /// Whether a signal waits that an overflow may have sent.
    ///
    /// # Signal safety
    /// rt_sigpending.
    pub(super) fn awaits_overflow(&self) -> bool {
        let by_overflow = match self.settings.delivery {
            Delivery::Sigtrap | Delivery::Trap => mask_bit(libc::SIGTRAP),
            // Where the queue of real-time signals is full, plain SIGIO stands in.
            Delivery::Fasync => mask_bit(self.fasync_signal) | mask_bit(libc::SIGIO),
        };
        pending().is_ok_and(|waiting| waiting & by_overflow != 0)
    }

    /// How the moving breakpoint's hits come: next to a counter, in the way that needs no re-arming.
    pub(super) fn step_delivery(&self) -> Delivery {
        let counts = self.settings.engine == Engine::Instructions;
        if counts { Delivery::Sigtrap } else { self.settings.delivery }
    }

    pub(super) fn step_event(&'static self) -> Breakpoint {
        Breakpoint::closed(self, self.step_attr, self.step_delivery())
    }

    pub(super) fn guard_event(&'static self) -> Breakpoint {
        Breakpoint::closed(self, self.guard_attr, Delivery::Sigtrap)
    }

    /// Puts a breakpoint instruction into the code, and counts it where the user is told.
    ///
    /// # Errors
    /// As [`Patches::place`].
    pub(super) fn place_patch(&self, address: RuntimeAddr) -> Result<(), Errno> {
        self.patches.place(address, self.memory(), self.vendor)?;
        self.progress.patches.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Patches the entries of the traced functions: no trigger event is to be had.
    ///
    /// # Errors
    /// The first errno; see [`Patches::place`].
    pub fn patch_entries(&self) -> Result<(), Errno> {
        self.functions.iter().flatten().try_for_each(|function| self.place_patch(function.entry))
    }
}

/// rt_sigprocmask(2) without libc: sets the calling thread's mask if one is given, and returns the one before.
pub(super) fn set_mask(new: Option<u64>) -> Result<u64, Errno> {
    let mut old = 0_u64;
    let set = new.as_ref().map_or(0, |set| std::ptr::from_ref(set) as u64);
    // SAFETY: null or eight live bytes to read, eight to write.
    unsafe {
        raw::syscall(
            libc::SYS_rt_sigprocmask,
            [libc::SIG_SETMASK as u64, set, std::ptr::from_mut(&mut old) as u64, 8, 0, 0],
        )
    }?;
    Ok(old)
}
