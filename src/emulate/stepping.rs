//! How a stopped thread goes on, and what has retired when it stops again.

use nix::errno::Errno;
use nix::unistd::Pid;

use super::attr::Retired;
use super::disturbance::will_restart;
use super::flags::{self, Popped, TRAP_FLAG};
use super::instance::{Boundary, Switch};
use super::instruction::{Kind, Next};
use super::model::Fusion;
use super::ptrace::{self, Resume};
use super::signal;
use super::status::{self, Disposition};
use super::supervisor::Supervisor;
use super::thread::HeldTrap;
use crate::address::RuntimeAddr;

impl Supervisor {
    /// Lets a stopped thread go on, with `signal` delivered to it (0: none).
    pub(super) fn go_on(&mut self, thread: Pid, signal: i32) -> Result<(), Errno> {
        // A handler is entered by a step, which then stops at its first instruction; its frame gets the real mask.
        let known = self.threads.get_mut(&thread).and_then(|it| it.disposition.take());
        let into_handler = signal != 0
            && known.unwrap_or_else(|| status::disposition(thread, signal)) == Disposition::Caught;
        if into_handler && let Some(it) = self.threads.get_mut(&thread) {
            // Whether the call is made again afterwards is between the handler and the kernel.
            (it.sent_back, it.wait) = (false, None);
        }
        let how = self.how(thread, into_handler)?;
        if how == Resume::OneInstruction && !into_handler {
            self.unblock_trap(thread)?;
        } else {
            self.restore_mask(thread)?;
        }
        self.told_to_go_on(thread);
        ptrace::resume(thread, how, signal)
    }

    fn how(&mut self, thread: Pid, into_handler: bool) -> Result<Resume, Errno> {
        loop {
            let Some(it) = self.threads.get_mut(&thread) else { return Err(Errno::ESRCH) };
            it.step = None;
            if it.call.is_some() {
                return Ok(Resume::ToSystemCall);
            }
            if !it.counts() {
                let waits_on = it.sent_back && it.wait.is_some();
                let of_process = [&self.watched, &self.ignoring_trap, &self.timed];
                let watched = waits_on || of_process.iter().any(|these| these.contains(&it.process));
                return Ok(if watched { Resume::ToSystemCall } else { Resume::Freely });
            }
            if into_handler {
                // This step ends at the handler's first instruction, and runs nothing.
                return Ok(Resume::OneInstruction);
            }
            if it.mask.is_none() {
                let registers = ptrace::registers(thread)?;
                if will_restart(&registers) {
                    return Ok(Resume::ToSystemCall);
                }
                it.traps_itself = registers.eflags & TRAP_FLAG != 0;
            }
            let at = match it.at.take() {
                Some(at) => at,
                None => ptrace::instruction_pointer(thread)?,
            };
            let next = Next::read(thread, at);
            match next.kind {
                Kind::SystemCall | Kind::OtherSystemCall => return Ok(Resume::ToSystemCall),
                Kind::PopsFlags(_) | Kind::ReturnsWithFlags(_)
                    if flags::pop(thread, next)? == Popped::Done =>
                {
                    let retired = Retired {
                        instructions: 1,
                        branches: u32::from(next.branches()),
                        ..Retired::default()
                    };
                    if it.traps_itself {
                        let behind = ptrace::instruction_pointer(thread)?;
                        self.send_trap(thread, signal::by_step(behind))?;
                    }
                    // Whether it set the flag is looked at before the next step.
                    self.restore_mask(thread)?;
                    self.retire(thread, retired, Boundary::User);
                }
                _ => {
                    it.step = Some(next);
                    return Ok(Resume::OneInstruction);
                }
            }
        }
    }

    /// A single step's SIGTRAP that finds the signal blocked takes the program's handler away
    /// (`kernel/signal.c`, `force_sig_info_to_task`): the mask lacks it for the step.
    fn unblock_trap(&mut self, thread: Pid) -> Result<(), Errno> {
        let Some(it) = self.threads.get_mut(&thread) else { return Err(Errno::ESRCH) };
        if it.mask.is_none() {
            if status::ignores(thread, libc::SIGTRAP) {
                self.ignoring_trap.insert(it.process);
            }
            let mask = ptrace::signal_mask(thread)?;
            if mask.has(libc::SIGTRAP) {
                ptrace::set_signal_mask(thread, mask.without(libc::SIGTRAP))?;
            } else if let HeldTrap::Waiting(info) = it.trap {
                it.trap = HeldTrap::None;
                it.mask = Some(mask);
                return self.send_trap(thread, info);
            }
            it.mask = Some(mask);
        }
        Ok(())
    }

    /// Gives the thread its own mask back, before anything but a step can look at it.
    pub(super) fn restore_mask(&mut self, thread: Pid) -> Result<(), Errno> {
        let Some(it) = self.threads.get_mut(&thread) else { return Err(Errno::ESRCH) };
        if let Some(mask) = it.mask.take()
            && mask.has(libc::SIGTRAP)
        {
            ptrace::set_signal_mask(thread, mask)?;
        }
        if let HeldTrap::Waiting(info) = it.trap {
            self.queue_trap(thread, info);
        }
        Ok(())
    }

    /// The step has ended as it should: what has retired, if anything.
    pub(super) fn stepped(&mut self, thread: Pid, now: RuntimeAddr) -> Result<(), Errno> {
        let Some(it) = self.threads.get_mut(&thread) else { return Err(Errno::ESRCH) };
        it.at = Some(now);
        let Some(step) = it.step.take() else { return Ok(()) };
        let instructions = match step.kind {
            Kind::Repeated if now == step.at => return Ok(()),
            // Unless the step ended between the two after all.
            Kind::Shadowing if now != step.at.plus(step.length) => 2,
            _ => 1,
        };
        let retired = Retired {
            instructions,
            branches: u32::from(step.branches()),
            conditional: u32::from(step.kind == Kind::ConditionalBranch),
        };
        if step.kind == Kind::PushesFlags {
            flags::hide_in_pushed(thread)?;
        }
        let fused = self.model.fuse == Fusion::CompareAndBranch
            && step.kind == Kind::Compare
            && Next::read(thread, now).kind == Kind::ConditionalBranch;
        self.retire(thread, retired, if fused { Boundary::Fused } else { Boundary::User });
        Ok(())
    }

    /// Counts in all events of a thread, and has those overflow that do.
    pub(super) fn retire(&mut self, thread: Pid, retired: Retired, boundary: Boundary) {
        let Some(it) = self.threads.get_mut(&thread) else { return };
        it.instructions += u64::from(retired.instructions);
        let instructions = it.instructions;
        let (mut overflows, mut turns) = (Vec::new(), Vec::new());
        for instance in it.instances.iter_mut().filter(|instance| instance.active) {
            let Some(event) = self.events.get_mut(instance.event) else { continue };
            let overflows_now = instance.count(thread, event, retired, boundary, instructions, &self.model);
            turns.extend(instance.turned.take().map(|turn| (instance.event, turn)));
            if overflows_now {
                let overflow = event.overflow(&self.model);
                if overflow.ended {
                    instance.switch = Switch::Off;
                }
                overflows.push((instance.event, overflow));
            }
        }
        if overflows.is_empty() && turns.is_empty() {
            return;
        }
        it.schedule(&mut self.events);
        for (event, turn) in turns {
            self.describe_throttling(thread, event, turn);
        }
        for (event, overflow) in overflows {
            self.announce(thread, event, overflow);
        }
    }
}
