//! Arming a process: state for the handler, the handler itself, then the triggers; undone in reverse order.

#![allow(unsafe_code, reason = "descriptors and the handler's state change owners here")]

use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};

use crate::address::RuntimeAddr;
use crate::event::attr;
use crate::event::error::{OpenError, Wanted};
use crate::event::open;
use crate::handler::alternate_stack::replace_alternate_stack;
use crate::handler::entry::{GUARD_TAG, STEP_TAG, TRIGGER_TAG, on_signal};
use crate::handler::known::{CodeRange, KnownImage, TracedFunction};
use crate::handler::perf::out_of_the_way;
use crate::handler::process::{MOST_FUNCTIONS, Plan, Process};
use crate::handler::program_signals::ProgramSignals;
use crate::handler::sigaction::{self, KernelAction};
use crate::image::decode::{Vendor, warm_up};
use crate::raw::{Errno, getpid};
use crate::record::buffer::TraceBuffer;
use crate::record::control::{Delivery, Engine, Progress, Settings};
use crate::record::keep::keep;

/// The signal of fasync deliveries: real-time, so that each is queued, and below the ones that programs count
/// down from SIGRTMAX for themselves.
pub const FASYNC_SIGNAL: i32 = 50;

/// Which threads a trigger fires in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The calling thread and all it starts: armed before the program has any other.
    Process,
    /// The calling thread alone.
    Thread,
}

/// What to arm.
pub struct Request {
    pub settings: Settings,
    pub functions: Vec<TracedFunction>,
    pub image: KnownImage,
    pub buffer: TraceBuffer,
    pub progress: &'static Progress,
    pub reach: Reach,
    /// See [`Plan::own_text`] and [`Plan::watches_calls`].
    pub own_text: Option<CodeRange>,
    pub watches_calls: bool,
    /// See [`Plan::mispredict_at`].
    pub mispredict_at: u64,
}

/// Why a process cannot be armed.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    #[error("the trigger at {address}: {source}; {}", .source.remedy())]
    Trigger { address: RuntimeAddr, source: OpenError },
    #[error(
        "{0} functions match; at most {MOST_FUNCTIONS} can be traced at once, since each entry takes one of the CPU's four debug registers"
    )]
    TooMany(usize),
    #[error("the program's code cannot be patched (errno {})", .0.0)]
    Patch(Errno),
    #[error("no memory for the tracer's tables (errno {})", .0.0)]
    NoMemory(Errno),
    #[error("signal {signal} cannot be handled (errno {})", .errno.0)]
    Signal { signal: i32, errno: Errno },
}

/// An armed process. Dropping it takes triggers, handler and state back, in that order.
pub struct Armed {
    process: &'static Process,
    triggers: Vec<OwnedFd>,
    replaced: Vec<(i32, KernelAction)>,
    stack: Option<libc::stack_t>,
}

/// Arms this process.
///
/// # Errors
/// [`ArmError`]; nothing stays behind then.
pub fn arm(request: Request) -> Result<Armed, ArmError> {
    let Request {
        settings,
        functions,
        image,
        buffer,
        progress,
        reach,
        own_text,
        watches_calls,
        mispredict_at,
    } = request;
    let mut slots = [None; MOST_FUNCTIONS];
    if functions.len() > MOST_FUNCTIONS {
        return Err(ArmError::TooMany(functions.len()));
    }
    for (slot, function) in slots.iter_mut().zip(&functions) {
        *slot = Some(*function);
    }
    warm_up();
    // The trap flag steps between breakpoints, which then are sigtrap ones.
    let delivery = if settings.delivery == Delivery::Trap { Delivery::Sigtrap } else { settings.delivery };
    let counts = settings.engine == Engine::Instructions;
    let step_delivery = if counts { Delivery::Sigtrap } else { delivery };
    let fasync: &[i32] = if delivery == Delivery::Fasync { &[FASYNC_SIGNAL, libc::SIGIO] } else { &[] };
    let dispatch: &[i32] = if watches_calls { &[libc::SIGSYS] } else { &[] };
    let taken = || [libc::SIGTRAP].iter().chain(dispatch).chain(fasync).copied();
    let signals = ProgramSignals::new(library_restorer()?);
    for signal in taken() {
        let before = sigaction::replace(signal, None).map_err(|errno| ArmError::Signal { signal, errno })?;
        signals.own(signal, &before);
    }
    let process = Process::map(Plan {
        settings: Settings { delivery, ..settings },
        vendor: Vendor::of_this_cpu(),
        buffer,
        progress,
        functions: slots,
        triggers: [const { AtomicI32::new(-1) }; MOST_FUNCTIONS],
        image: AtomicPtr::new(Box::into_raw(Box::new(image))),
        pid: AtomicU32::new(getpid()),
        step_attr: attr::step(RuntimeAddr(0), step_delivery, STEP_TAG),
        guard_attr: attr::guard(RuntimeAddr(0), GUARD_TAG),
        fasync_signal: FASYNC_SIGNAL,
        signals,
        own_text,
        watches_calls,
        mispredict_at,
    })
    .map_err(ArmError::NoMemory)?;
    process.publish();
    let mut armed = Armed { process, triggers: Vec::new(), replaced: Vec::new(), stack: None };
    armed.stack = Some(process.adopt_thread().map_err(ArmError::NoMemory)?);

    for signal in taken() {
        let old =
            sigaction::install(signal, on_signal).map_err(|errno| ArmError::Signal { signal, errno })?;
        armed.replaced.push((signal, old));
    }
    if settings.patch {
        process.patch_entries().map_err(ArmError::Patch)?;
        return Ok(armed);
    }
    for (function, place) in functions.iter().zip(&process.triggers) {
        let attr = match reach {
            Reach::Process => attr::trigger(function.entry, TRIGGER_TAG),
            Reach::Thread => attr::guard(function.entry, TRIGGER_TAG),
        };
        let fd = open::open(&attr, Wanted::Trigger, 0)
            .map_err(|source| ArmError::Trigger { address: function.entry, source })?;
        let fd = own(out_of_the_way(fd.into_raw_fd()));
        place.store(fd.as_raw_fd(), Ordering::Relaxed);
        if reach == Reach::Process {
            keep(progress, getpid(), fd.as_raw_fd());
        }
        armed.triggers.push(fd);
    }
    Ok(armed)
}

/// Where the C library has signal handlers return to: it tells nobody but the kernel.
fn library_restorer() -> Result<u64, ArmError> {
    let signal = libc::SIGRTMAX();
    let fails = |errno| ArmError::Signal { signal, errno };
    let before = sigaction::replace(signal, None).map_err(fails)?;
    // SAFETY: all zeros is the default action.
    let default: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a live action; what stood before is put back at once.
    if unsafe { libc::sigaction(signal, &raw const default, std::ptr::null_mut()) } != 0 {
        return Err(fails(Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))));
    }
    sigaction::replace(signal, Some(&before)).map(|library| library.restorer).map_err(fails)
}

fn own(fd: i32) -> OwnedFd {
    // SAFETY: `out_of_the_way` gives back a descriptor that only we know.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

impl Drop for Armed {
    fn drop(&mut self) {
        self.triggers.clear();
        while let Some((signal, old)) = self.replaced.pop() {
            let _ = sigaction::replace(signal, Some(&old));
        }
        if let Some(stack) = self.stack.take() {
            let _ = replace_alternate_stack(&stack);
        }
        Process::withdraw();
        // SAFETY: `Reach::Thread` sessions are dropped by the thread that was traced; `Reach::Process` ones are
        // kept, or dropped before anything was armed.
        unsafe { self.process.dismantle() };
    }
}

impl Armed {
    /// What the handler works with.
    #[must_use]
    pub fn process(&self) -> &'static Process {
        self.process
    }

    /// Leaves the process armed until it ends.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}
