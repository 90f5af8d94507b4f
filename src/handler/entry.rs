//! Where signals arrive: whose is it, and what does its address say?

#![allow(unsafe_code, reason = "the kernel passes a signal's facts by pointer")]

use std::sync::atomic::Ordering;

use super::calls::{count_entry, enter, is_traced_process};
use super::counter::{Again, COUNTER_TAG, Taken};
use super::crossing::{self, Crossing};
use super::deliver::deliver;
use super::dispatch;
use super::dropped::{hidden_stop, note_dropped_hit, send_again, trap_dropped};
use super::frames::Frame;
use super::patch::Home;
use super::process::Process;
use super::program_handler;
use super::saved::Saved;
use super::site;
use super::stepper::Stepper;
use super::thread::Phase;
use super::wrapper;
use crate::address::RuntimeAddr;
use crate::event::siginfo::{EventSignal, POLL_HUP, POLL_IN, TRAP_PERF, TRAP_PERF_FLAG_ASYNC, TRAP_TRACE};
use crate::event::tail::{NOTHING, Tail, handler_with_tail};
use crate::raw;
use crate::record::control::{Delivery, Engine};
use crate::record::marker::{LostReason, Marker};
use crate::record::verdict::Verdict;
use crate::registers::flag;

/// `sig_data` of the three kinds of event: what a sigtrap signal says sent it.
pub const TRIGGER_TAG: u64 = 0x6f76_7374_7472_6967;
pub const STEP_TAG: u64 = 0x6f76_7374_7374_6570;
pub const GUARD_TAG: u64 = 0x6f76_7374_6775_6172;

/// Who sent a signal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    Step,
    /// A trigger or a return guard: standing breakpoints, told apart by address.
    Standing,
    /// A breakpoint instruction that stands in for a breakpoint of any kind.
    Patch,
    TrapFlag,
    /// The instruction counter has overflowed.
    Counter,
    Program,
}

handler_with_tail! {
    /// The handler of SIGTRAP, and of the fasync signals while such an event is armed.
    ///
    /// # Signal safety
    /// Runs with all signals blocked, on the alternate stack where one is set. Raw system calls only; libc's errno
    /// is never touched. See `docs/signal-safety.md`.
    ///
    /// # Safety
    /// Called by the kernel as a handler with SA_SIGINFO, and by nobody else.
    pub on_signal => handled
}

/// What [`on_signal`] does before its tail: what the tail is to re-arm.
unsafe extern "C" fn handled(
    signal: i32,
    info: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) -> Tail {
    let Some(process) = Process::current() else { return NOTHING };
    let tid = raw::gettid();
    // SAFETY: the kernel passes a ucontext_t on this stack, which nothing else refers to.
    if let Some(context) = unsafe { context.as_mut() } {
        handle(process, tid, signal, info, context);
        if let Some(own_text) = process.watches_calls()
            && let Some(thread) = process.threads.find(tid)
        {
            thread.dispatch.settle(thread.watch(), own_text);
        }
    }
    if process.settings.engine != Engine::Instructions {
        return NOTHING;
    }
    process.threads.find(tid).map_or(NOTHING, |thread| thread.counter.to_arm())
}

fn handle(
    process: &'static Process,
    tid: u32,
    signal: i32,
    info: *mut libc::siginfo_t,
    context: &mut libc::ucontext_t,
) {
    let mut saved = Saved::new(context);
    let home = process.patches.home_of(saved.rip());
    if let Some(Home::Behind(_) | Home::Stopped(_)) = home {
        process.patches.bring_home(&mut saved);
    }
    let stopped = matches!(home, Some(Home::Stopped(_)));
    if signal == libc::SIGTRAP
        && let Some(trap) = OwnTrap::at(saved.rip())
    {
        // SAFETY: the kernel passes a whole siginfo_t.
        send_again(tid, unsafe { &*info.cast() });
        return match trap {
            OwnTrap::Wrapper(number) => program_handler::begin(process, number, saved),
            OwnTrap::Crossing(crossing) => crossing::cross(process, crossing, saved),
            OwnTrap::Site => dispatch::come_back(process, saved),
        };
    }
    let before = RuntimeAddr(saved.rip().0.wrapping_sub(1));
    let patched = signal == libc::SIGTRAP && !stopped && process.patches.trapped_at(before);
    // SAFETY: the kernel passes a siginfo_t, of which this is the beginning; it is only read.
    let event = unsafe { &*info.cast::<EventSignal>() };
    if signal == libc::SIGSYS && dispatch::take(process, event, Saved::new(context)) {
        return;
    }
    let mut saved = Saved::new(context);
    let awaited = || awaits_stop(process, tid, saved.rip());
    let sender = sender(process, signal, event, patched || stopped, awaited);
    if patched
        && (matches!(sender, Sender::Standing | Sender::Patch)
            || sender == Sender::Program && trap_dropped(process, tid, before, saved.rsp()))
    {
        saved.go_to(before);
    }
    let taken = sender != Sender::Program
        && take(process, tid, sender, is_asynchronous(sender, event), Saved::new(context));
    if taken {
        return;
    }
    let hidden = hidden_stop(process, tid, signal, stopped, &Saved::new(context));
    note_dropped_hit(process, tid, signal, Saved::new(context));
    let instead = signal == libc::SIGTRAP
        && process.settings.delivery == Delivery::Sigtrap
        && process.threads.find(tid).is_some_and(|thread| thread.counter.came_instead());
    if deliver(process, tid, signal, info, context) {
        // The handler comes first; the stop that the kernel dropped, and its event counted, is behind it.
        if hidden == Some(Sender::Step)
            && let Some(thread) = process.threads.find(tid)
        {
            thread.step.note_stop();
        }
    } else if let Some(stop) = hidden {
        take(process, tid, stop, false, Saved::new(context));
    } else if let Some(thread) = process.threads.find(tid) {
        Stepper { process, thread, saved: Saved::new(context), tid }.interrupted(instead);
    }
}

/// A breakpoint instruction in code of the tracer's.
enum OwnTrap {
    Wrapper(i32),
    Crossing(Crossing),
    Site,
}

impl OwnTrap {
    /// The one that RIP is behind.
    fn at(rip: RuntimeAddr) -> Option<Self> {
        let wrapper = wrapper::trapped_at(rip).map(Self::Wrapper);
        wrapper
            .or_else(|| crossing::trapped_at(rip).map(Self::Crossing))
            .or_else(|| site::trapped_at(rip).map(|_| Self::Site))
    }
}

fn sender(
    process: &Process,
    signal: i32,
    info: &EventSignal,
    by_instruction: bool,
    awaited: impl FnOnce() -> bool,
) -> Sender {
    let counts = process.settings.engine == Engine::Instructions;
    let overflow = if counts { Sender::Counter } else { Sender::Step };
    if signal == process.fasync_signal {
        // Codes in between do not occur.
        return if (POLL_IN..=POLL_HUP).contains(&info.code) { overflow } else { Sender::Program };
    }
    if signal == libc::SIGIO {
        // Plain SIGIO stands in for a real-time signal that found its queue full (kernel-facts 5). The program's own
        // O_ASYNC sends the very same.
        let stopped = info.code == libc::SI_KERNEL && awaited();
        return if stopped { overflow } else { Sender::Program };
    }
    match info.code {
        libc::SI_KERNEL if by_instruction => Sender::Patch,
        TRAP_TRACE => Sender::TrapFlag,
        TRAP_PERF => match info.data {
            STEP_TAG => Sender::Step,
            COUNTER_TAG => Sender::Counter,
            TRIGGER_TAG | GUARD_TAG => Sender::Standing,
            _ => Sender::Program,
        },
        _ => Sender::Program,
    }
}

/// Whether the thread's next stop is to be at `rip`.
fn awaits_stop(process: &Process, tid: u32, rip: RuntimeAddr) -> bool {
    let counts = process.settings.engine == Engine::Instructions;
    let thread = process.threads.find(tid);
    thread.is_some_and(|thread| thread.phase.is_traced() && (counts || thread.expected == rip))
}

fn is_asynchronous(sender: Sender, info: &EventSignal) -> bool {
    sender != Sender::TrapFlag && info.code == TRAP_PERF && info.flags & TRAP_PERF_FLAG_ASYNC != 0
}

/// Deals with a signal of our own events. `false`: a single-step trap that the program itself asked for.
fn take(
    process: &'static Process,
    tid: u32,
    sender: Sender,
    asynchronous: bool,
    mut saved: Saved<'_>,
) -> bool {
    let rip = saved.rip();
    let is_entry = process.function_at(rip).is_some() && !asynchronous;
    let found = if is_entry { process.threads.find_or_make(tid, process) } else { process.threads.find(tid) };
    let Some(thread) = found else {
        if process.patches.stands_at(rip) {
            match process.patches.copy_of(rip) {
                Some(copy) => saved.go_to(copy),
                // A thread without a block cannot step over a patch: it goes for good.
                None => process.patches.clear(process.memory()),
            }
        }
        if is_entry && is_traced_process(process, tid) {
            count_entry(process, false);
        }
        return sender != Sender::TrapFlag;
    };
    let taken = if sender == Sender::Counter { Taken::Counters } else { Taken::Anothers };
    let counted = thread.counter.stop(process, taken);
    let again = thread.counter.again.take();
    let owed = sender == Sender::TrapFlag && thread.trap_flag && thread.program_trap_flag;
    thread.learn_trap_flag(&saved);
    if let Some(patched) = thread.stepping_over.filter(|patched| *patched != rip) {
        process.patches.stepped_over(patched);
        thread.stepping_over = None;
        let awaited = thread.phase.is_traced() && (thread.trap_flag || thread.expected == rip);
        if sender == Sender::TrapFlag && !awaited {
            saved.set_flag(flag::TF, thread.program_trap_flag);
            return true;
        }
    } else if sender == Sender::TrapFlag && !thread.trap_flag {
        return thread.stepping_over.is_some();
    }
    if owed {
        return false;
    }
    if sender == Sender::Step {
        thread.step.note_stop();
    }
    let mut stepper = Stepper { process, thread, saved, tid };
    stepper.know_stack();
    let traced = stepper.thread.phase.is_traced();
    if stepper.thread.narrow && sender == Sender::TrapFlag {
        stepper.step_narrow();
    } else if sender == Sender::Counter {
        match (counted, again) {
            _ if stepper.thread.phase != Phase::Stepping => stepper.pass_standing(),
            // A signal of the program's came first; its wrapper is about to trap, which says what was interrupted.
            _ if wrapper::contains(rip) => stepper.pass_standing(),
            // The stop that it stands for was taken by a breakpoint, which comes once more.
            (_, Some(again)) if again.at == rip => stepper.come_again(Again { signalled: true, ..again }),
            (Some(counted), _) if counted.overflowed => stepper.overflowed(counted),
            // The same, and stepping has gone on from it.
            _ => stepper.await_stop(stepper.thread.expected, false),
        }
    } else if asynchronous {
        if traced {
            stepper.find_again();
        }
    } else if traced && stepper.is_expected() {
        // Without a pending row it is a handler of the program's that has returned there.
        if is_entry && stepper.is_called() {
            count_entry(process, true);
        } else if is_entry {
            process.progress.note_hit_again();
        }
        if sender == Sender::Patch {
            stepper.note_stand_in();
        }
        stepper.prove(Verdict::Exact);
    } else if let Some(counted) = counted
        && matches!(sender, Sender::Standing | Sender::Patch)
        && stepper.comes_first(is_entry)
    {
        if is_entry && again.is_none_or(|again| again.at != rip) {
            process.progress.note_hit_again();
        }
        stepper.stopped_before(counted, again);
    } else if is_entry {
        enter(stepper);
    } else if stepper.thread.guard.at() == Some(rip) && stepper.call_is_over() {
        stepper.returned_unseen();
    } else if sender == Sender::TrapFlag {
        stepper.trap_elsewhere();
    } else if let Some(counted) = counted
        && stepper.thread.phase == Phase::Stepping
    {
        stepper.overflowed(counted);
    } else {
        // A breakpoint on the way: a native stretch that passes its own resume address deeper down.
        stepper.pass_standing();
    }
    true
}

impl Stepper<'_> {
    /// Whether this stop is the one that was prepared. Out of scope it must also be the right activation: the
    /// same code may run deeper down.
    fn is_expected(&self) -> bool {
        let rip = self.saved.rip();
        let landing = self.thread.phase == Phase::Native && self.thread.exit.at() == Some(rip);
        let here = rip == self.thread.expected || landing;
        if let Phase::Restartable(section) = self.thread.phase {
            return here || section.exits.contains(&rip);
        }
        let awaited = |frame: Frame| self.thread.bounds.contains(frame.slot) && frame.slot < self.saved.rsp();
        here && (self.thread.phase == Phase::Stepping || self.thread.frames.top().is_some_and(awaited))
    }

    /// Whether a standing breakpoint on the way that the counter was to step along has come first: the return guard, or
    /// the entry of a nested call.
    fn comes_first(&self, is_entry: bool) -> bool {
        let nested = is_entry && !self.call_is_over_at_entry();
        let returned = self.thread.guard.at() == Some(self.saved.rip()) && self.call_is_over();
        self.thread.phase == Phase::Stepping && !self.thread.pending.rows().is_empty() && (nested || returned)
    }

    /// What was seen to come in time is no perf event's signal.
    fn note_stand_in(&self) {
        if self.process.settings.engine != Engine::TrapFlag {
            self.process.buffer.counters().stand_ins.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The call is over, but the stepper had not seen it coming: never a `leave`.
    pub(super) fn returned_unseen(&mut self) {
        if !matches!(self.thread.phase, Phase::Muted | Phase::Untraced) {
            self.note_lost(LostReason::ReturnedUnseen);
        }
        self.end();
    }

    /// SIGTRAP was blocked while the event fired: RIP is wherever it was unblocked.
    fn find_again(&mut self) {
        self.mark(&Marker::Masked { stops: 1 });
        self.note_lost(LostReason::Blocked);
        self.thread.pending.clear();
        self.thread.frames.pop_above(self.saved.rsp(), self.thread.bounds);
        if self.thread.frames.is_empty() {
            return self.end();
        }
        self.continue_here(Verdict::Lost);
    }

    /// Takes up stepping, or awaits the top frame's return, wherever the thread is now.
    pub(super) fn continue_here(&mut self, verdict: Verdict) {
        let registers = self.saved.registers(self.thread.hides_trap_flag());
        if self.process.image().in_scope(registers.rip) {
            let _ = self.thread.writer.sync(&self.process.buffer, &registers);
            self.arrive(verdict);
        } else {
            self.run_natively(registers);
        }
    }

    /// A single-step trap at another address than the expected one.
    fn trap_elsewhere(&mut self) {
        let rip = self.saved.rip();
        // A CPU or hypervisor that does not hold back the trap behind a load of ss: one more comes.
        if self.thread.pending.rows().iter().skip(1).any(|row| row.fetched.address() == rip) {
            return self.pass_standing();
        }
        let expected = self.thread.expected;
        self.prove(Verdict::Unexplained { expected });
    }

    pub(super) fn note_lost(&mut self, reason: LostReason) {
        self.note_lost_rows(reason, 0);
    }

    pub(super) fn note_lost_rows(&mut self, reason: LostReason, detail: u64) {
        let lost = Marker::Lost { reason, expected: self.thread.expected, found: self.saved.rip(), detail };
        let _ = self.thread.writer.marker(&self.process.buffer, &lost);
    }
}
