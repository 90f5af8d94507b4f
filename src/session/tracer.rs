//! The library's entrance: trace a closure of this process.

#![allow(unsafe_code, reason = "the handler's state borrows what this call owns")]

use std::sync::{Mutex, PoisonError};

use super::arm::{self, ArmError, Reach, Request};
use super::header::header;
use super::recorded::Recorded;
use super::survey::{Survey, SurveyError, Wanted};
use crate::address::RuntimeAddr;
use crate::event::choose::{ChooseError, choose};
use crate::image::decode::Vendor;
use crate::image::function::{FunctionPattern, Place};
use crate::record::control::{Delivery, Engine, Into, Settings, StepMode};
use crate::record::counted::Counting;
use crate::record::memory_trace::MemoryTrace;
use crate::record::reader::{ReadError, Trace};

/// Address space for one trace, in bytes: some ten million steps. Taken page by page.
const WINDOW: usize = 256 << 20;

/// One trace at a time: a process has one handler of SIGTRAP.
static ONE: Mutex<()> = Mutex::new(());

/// Traces what a closure does, instruction by instruction, in the calling thread.
///
/// ```
/// use overstep::Tracer;
///
/// #[inline(never)]
/// extern "C" fn gcd(mut a: u64, mut b: u64) -> u64 {
///     while b != 0 {
///         (a, b) = (b, a % b);
///     }
///     a
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if !overstep::can_trace() { println!("SKIP: no breakpoint events here"); return Ok(()); }
/// let (value, trace) = Tracer::new().trace(|| gcd(48, 18))?;
/// assert_eq!(value, 6);
/// let summary = trace.summary();
/// assert!(summary.steps > 5);
/// assert!(summary.all_expected());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Tracer {
    engine: Option<Engine>,
    delivery: Option<Delivery>,
    step: StepMode,
    into: Into,
    registers: bool,
    memory: bool,
    max_steps: u64,
    functions: Vec<RuntimeAddr>,
    spares_libc: bool,
    pub(crate) mispredict_at: u64,
}

/// Why a closure could not be traced. It has not run then.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error(transparent)]
    Choose(#[from] ChooseError),
    #[error(transparent)]
    Image(#[from] SurveyError),
    #[error(transparent)]
    Arm(#[from] ArmError),
    #[error("no address space for the trace: {0}; raise the limit: ulimit -v unlimited")]
    NoMemory(#[source] std::io::Error),
    #[error("no function of this process starts at {0}")]
    NoFunction(RuntimeAddr),
    /// The closure has run.
    #[error("the trace cannot be read back: {0}")]
    Read(#[from] ReadError),
}

impl Default for Tracer {
    fn default() -> Self {
        Self::new()
    }
}

impl Tracer {
    /// A tracer that takes the best engine and delivery that work here, steps every instruction, follows calls
    /// within the module that the closure is in, and records registers.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            engine: None,
            delivery: None,
            step: StepMode::Instruction,
            into: Into::Module,
            registers: true,
            memory: false,
            max_steps: u64::MAX,
            functions: Vec::new(),
            spares_libc: true,
            mispredict_at: 0,
        }
    }

    /// Decides by this engine when the tracer gets control, or fails.
    #[must_use]
    pub const fn engine(mut self, engine: Engine) -> Self {
        self.engine = Some(engine);
        self
    }

    /// Has the kernel tell of stops in this way, or fails. The trap flag has only [`Delivery::Trap`].
    #[must_use]
    pub const fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = Some(delivery);
        self
    }

    /// Takes control at every instruction, or at the end of each basic block only.
    #[must_use]
    pub const fn step(mut self, step: StepMode) -> Self {
        self.step = step;
        self
    }

    /// Follows calls into the same module, everywhere, or nowhere; the others run natively.
    ///
    /// Everywhere is not libc: this library is linked to it, its handler may call memcpy as the compiler sees fit,
    /// and would meet its own breakpoint there. `overstep trace --into all` steps libc, too.
    #[must_use]
    pub const fn into(mut self, into: Into) -> Self {
        self.into = into;
        self
    }

    /// Whether rows say which registers changed.
    #[must_use]
    pub const fn registers(mut self, registers: bool) -> Self {
        self.registers = registers;
        self
    }

    /// Whether rows say what memory was read and written.
    #[must_use]
    pub const fn memory(mut self, memory: bool) -> Self {
        self.memory = memory;
        self
    }

    /// Ends a call's rows after this many, with a marker; the closure runs on.
    #[must_use]
    pub const fn max_steps(mut self, steps: u64) -> Self {
        self.max_steps = steps;
        self
    }

    /// Traces the calls of the function that starts at `entry`, not the closure as a whole. Two at most.
    #[must_use]
    pub fn function(mut self, entry: *const ()) -> Self {
        self.functions.push(RuntimeAddr(entry as u64));
        self
    }

    /// For a program whose memory routines (memcpy and its like) are its own, as the agent's are: steps libc, too.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_own_memory_routines(mut self) -> Self {
        self.spares_libc = false;
        self
    }

    /// Runs `closure`, traced.
    ///
    /// A closure that panics is traced until it unwinds out of the traced code; the panic goes on to the caller.
    ///
    /// # Errors
    /// [`TraceError`]: what the machine refuses, with the remedy.
    pub fn trace<T>(&self, closure: impl FnOnce() -> T) -> Result<(T, Recorded), TraceError> {
        // A panic of an earlier closure has been cleaned up behind.
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let choice = choose(self.engine, self.delivery)?;
        let settings = Settings {
            engine: choice.engine,
            delivery: choice.delivery,
            rearm: choice.rearm,
            step: self.step,
            into: self.into,
            first_call: 1,
            calls: u64::MAX,
            max_steps: self.max_steps,
            registers: self.registers,
            memory: self.memory,
            patch: false,
            counting: Counting::NONE,
        };
        let mut work = Work { closure: Some(closure), value: None };
        let start = Work::run as fn(&mut Work<_, T>);
        let entries = if self.functions.is_empty() {
            vec![RuntimeAddr(start as usize as u64)]
        } else {
            self.functions.clone()
        };
        let patterns: Vec<_> = entries
            .iter()
            .map(|entry| FunctionPattern { module: None, place: Place::Address(*entry) })
            .collect();
        let wanted =
            Wanted { patterns: &patterns, into: self.into, tracer: None, spares_libc: self.spares_libc };
        let survey = Survey::take(&wanted)?;
        if let Some(missing) =
            entries.iter().find(|entry| !survey.functions.iter().any(|f| f.entry == **entry))
        {
            return Err(TraceError::NoFunction(*missing));
        }
        let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let names = survey.functions.iter().map(|function| function.name.clone()).collect();
        let memory = MemoryTrace::new(WINDOW).map_err(TraceError::NoMemory)?;
        let vendor = Vendor::of_this_cpu();
        let functions = survey.traced(vendor);
        let image = survey.into_image(&wanted, vendor);
        let armed = arm::arm(Request {
            settings,
            functions,
            image,
            // SAFETY: `armed` is dropped before `memory`, on a panic too, and nothing is traced after that.
            buffer: unsafe { memory.buffer() },
            // SAFETY: as above.
            progress: unsafe { &*std::ptr::from_ref(memory.progress()) },
            reach: Reach::Thread,
            own_text: None,
            watches_calls: false,
            mispredict_at: self.mispredict_at,
        })?;
        start(std::hint::black_box(&mut work));
        drop(armed);
        let bytes =
            memory.to_bytes(&header(&settings, None, command, names)).map_err(TraceError::NoMemory)?;
        let trace = Trace::from_bytes(bytes)?;
        // `run` has put it there, or unwound past this line.
        let value = work.value.take().unwrap_or_else(|| unreachable!("the closure returned"));
        Ok((value, Recorded::new(trace)))
    }
}

/// The closure and its value, at a place that a function with a plain address can be given.
struct Work<F, T> {
    closure: Option<F>,
    value: Option<T>,
}

impl<F: FnOnce() -> T, T> Work<F, T> {
    /// The traced function when no other is named.
    #[inline(never)]
    fn run(&mut self) {
        if let Some(closure) = self.closure.take() {
            self.value = Some(closure());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::marker::{LostReason, Marker};
    use crate::record::verdict::Verdict;

    #[inline(never)]
    extern "C" fn collatz(mut n: u64) -> u64 {
        let mut steps = 0;
        while n != 1 {
            n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        steps
    }

    fn mispredicting(tracer: Tracer) -> Recorded {
        let tracer = Tracer { mispredict_at: 7, ..tracer.function(collatz as *const ()) };
        let (value, trace) = tracer.trace(|| collatz(std::hint::black_box(6))).unwrap();
        assert_eq!(value, 8, "the program does not notice");
        trace
    }

    /// A breakpoint that is set wrong never fires: the return guard must find out, and no `leave` may be claimed.
    #[test]
    fn a_wrong_prediction_ends_as_lost_and_never_as_leave() {
        for delivery in [Delivery::Sigtrap, Delivery::Fasync] {
            if choose(None, None).is_err() {
                println!("SKIP a_wrong_prediction: no breakpoint events here");
                return;
            }
            let trace = mispredicting(Tracer::new().engine(Engine::Breakpoint).delivery(delivery));
            let markers: Vec<_> = trace.markers().collect();
            let lost = |m: &Marker| matches!(m, Marker::Lost { reason: LostReason::ReturnedUnseen, .. });
            assert!(markers.iter().any(lost), "{delivery:?}: {markers:?}");
            assert!(!markers.iter().any(|m| matches!(m, Marker::Leave { .. })), "{delivery:?}: {markers:?}");
            let summary = trace.summary();
            assert_eq!((summary.steps, summary.lost), (6, 1), "{delivery:?}");
            assert!(!summary.all_expected() && !summary.strict_holds(), "{delivery:?}");
        }
    }

    /// The trap flag stops wherever the CPU really is, and says that this was not expected.
    #[test]
    fn a_wrong_prediction_is_seen_by_the_trap_flag() {
        if choose(None, None).is_err() {
            println!("SKIP a_wrong_prediction_is_seen: no breakpoint events here");
            return;
        }
        let trace = mispredicting(Tracer::new().engine(Engine::TrapFlag));
        let unexplained: Vec<_> =
            trace.steps().filter(|s| matches!(s.verdict, Verdict::Unexplained { .. })).map(|s| s.n).collect();
        assert_eq!(unexplained, [8], "the row behind the wrong prediction");
        assert!(trace.markers().any(|m| matches!(m, Marker::Leave { rax: 8, .. })));
        assert!(!trace.summary().strict_holds());
    }
}
