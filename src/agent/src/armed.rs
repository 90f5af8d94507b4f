//! This process's part in the session: armed, still waiting for the function to be loaded, or neither.

use std::ffi::CStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

use overstep::address::RuntimeAddr;
use overstep::handler::process::{MOST_FUNCTIONS, Process};
use overstep::image::decode::Vendor;
use overstep::image::function::FunctionPattern;
use overstep::raw;
use overstep::record::control::Settings;
use overstep::session::arm::{self, Reach, Request};
use overstep::session::survey::{Survey, Wanted};

use crate::invitation::Invitation;

/// What the agent tells `overstep trace` when it cannot arm: the `kind` of `ControlBlock::report`.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Trouble {
    Patterns = 1,
    Maps = 2,
    Trace = 3,
    Ambiguous = 4,
    Arm = 5,
    AddressSpace = 6,
}

/// Bytes of address space below which the program is left alone: what the tracer needs would be missing in the program.
const LEAST_ADDRESS_SPACE: u64 = 1 << 30;

/// ATOMICS: set once (release) when this process is armed, loaded (acquire) by interposed functions.
static ARMED: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
/// One survey at a time: two threads may load libraries at once.
static LOOKING: Mutex<()> = Mutex::new(());

/// The armed process, if this one is.
pub fn process() -> Option<&'static Process> {
    // SAFETY: armed processes are never unmapped.
    unsafe { ARMED.load(Ordering::Acquire).as_ref() }
}

/// Looks for the functions and arms if they are here.
pub fn arm(session: &'static Invitation) {
    let Ok(_one) = LOOKING.try_lock() else { return };
    if process().is_none()
        && let Err((trouble, text)) = try_to_arm(session)
    {
        session.control.report(trouble as u32, 0, text.as_bytes());
    }
}

fn try_to_arm(session: &'static Invitation) -> Result<(), (Trouble, String)> {
    let address_space = raw::soft_limit(libc::RLIMIT_AS);
    if address_space < LEAST_ADDRESS_SPACE {
        let (has, wants) = (address_space >> 20, LEAST_ADDRESS_SPACE >> 20);
        let text = format!(
            "its address space is limited to {has} MiB, and tracing wants {wants}: it ran untraced; ulimit -v unlimited"
        );
        return Err((Trouble::AddressSpace, text));
    }
    let patterns: Result<Vec<_>, _> = session.control.patterns().map(FunctionPattern::parse).collect();
    let patterns = patterns.map_err(|error| (Trouble::Patterns, error.to_string()))?;
    let settings: Settings = session
        .control
        .settings()
        .ok_or_else(|| (Trouble::Patterns, "settings of another version".to_owned()))?;
    let here = RuntimeAddr(arm as *const () as u64);
    let wanted = Wanted { patterns: &patterns, into: settings.into, tracer: Some(here), spares_libc: false };
    let survey = Survey::take(&wanted).map_err(|error| (Trouble::Maps, error.to_string()))?;
    if survey.functions.is_empty() {
        return Ok(());
    }
    if survey.functions.len() > MOST_FUNCTIONS {
        let names: Vec<_> = survey.functions.iter().map(|f| format!("{} at {}", f.name, f.entry)).collect();
        return Err((Trouble::Ambiguous, names.join(", ")));
    }
    let vendor = Vendor::of_this_cpu();
    let mut functions = survey.traced(vendor);
    for (function, found) in functions.iter_mut().zip(&survey.functions) {
        function.pattern = session.control.resolve(found.pattern, found.entry, found.name.as_bytes());
    }
    let buffer = session.trace().map_err(|error| (Trouble::Trace, error.to_string()))?;
    let image = survey.into_image(&wanted, vendor);
    let own_text = image.excluded.iter().copied().find(|range| range.contains(here));
    let armed = arm::arm(Request {
        settings,
        functions,
        image,
        buffer,
        progress: &session.control.progress,
        reach: Reach::Process,
        own_text,
        watches_calls: own_text.is_some() && may_move_system_calls(),
        mispredict_at: 0,
    })
    .map_err(|error| (Trouble::Arm, error.to_string()))?;
    ARMED.store(std::ptr::from_ref(armed.process()).cast_mut(), Ordering::Release);
    armed.keep();
    session.control.progress.armed.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Whether a thread may wait in a system call that is made elsewhere than where the C library has it. From glibc 2.41
/// on, a cancellation looks for the thread between two labels, and would not find it.
fn may_move_system_calls() -> bool {
    // SAFETY: takes nothing, and gives back a string of the C library's.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    let mut numbers = version.to_str().unwrap_or("").split('.').map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(2)), Some(Ok(minor))) if minor < 41)
}

/// A forked child: takes its parent's place among the processes that wait for the function, unless one has
/// entered it. Perf events are not inherited across fork; what the program believes of its signals is.
pub extern "C" fn in_child() {
    let Some(process) = process() else { return };
    if Invitation::accepted().is_some_and(|session| !session.is_over()) {
        process.rearm_in_child();
    } else {
        process.adopt_child();
    }
}
