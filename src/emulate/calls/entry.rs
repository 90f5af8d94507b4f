//! Into a system call and out of it again.

use nix::errno::Errno;
use nix::unistd::Pid;
use perf_event_open_sys::bindings as sys;

use super::Waited;
use crate::address::RuntimeAddr;
use crate::emulate::attr::Retired;
use crate::emulate::call::{Answer, Call, Change, Messages, Then};
use crate::emulate::descriptors;
use crate::emulate::event::Key;
use crate::emulate::inject::answer;
use crate::emulate::instance::Boundary;
use crate::emulate::memory::{self, Pieces};
use crate::emulate::model::Iret;
use crate::emulate::ptrace::{self, Registers};
use crate::emulate::record;
use crate::emulate::supervisor::Supervisor;

const SYSCALL: [u8; 2] = [0x0f, 0x05];
/// `FIOASYNC` (`ioctl_tty(2)`'s relative of O_ASYNC).
pub(super) const FIOASYNC: u64 = 0x5452;

impl Supervisor {
    /// A stop at the entry into a call or at the exit from it.
    pub(in crate::emulate) fn system_call(&mut self, thread: Pid) -> Result<i32, Errno> {
        match self.threads.get_mut(&thread).and_then(|it| it.call.take()) {
            Some(call) => {
                self.ends_wait(thread)?;
                self.leave(thread, &call.then)
            }
            None => self.enter(thread),
        }
    }

    /// The filter's stop: between entry and exit, where a thread that goes freely is seen first.
    pub(in crate::emulate) fn filtered(&mut self, thread: Pid) -> Result<i32, Errno> {
        match self.threads.get(&thread) {
            Some(it) if it.call.is_some() => Ok(0),
            _ => self.enter(thread),
        }
    }

    fn enter(&mut self, thread: Pid) -> Result<i32, Errno> {
        // `syscall` retires on its way into the kernel.
        let retired = Retired { instructions: 1, ..Retired::default() };
        self.restore_mask(thread)?;
        let Some(it) = self.threads.get_mut(&thread) else { return Err(Errno::ESRCH) };
        it.note_time();
        let again = std::mem::take(&mut it.sent_back);
        if !again {
            self.retire(thread, retired, Boundary::Kernel);
        }
        let mut registers = ptrace::registers(thread)?;
        let number = self.waits_on(thread, again, &mut registers)?;
        let before = RuntimeAddr(registers.rip.wrapping_sub(SYSCALL.len() as u64));
        let answered = match memory::read(thread, before) {
            Ok(SYSCALL) => self.answered(thread, number, &registers)?,
            // `int 0x80` has other numbers.
            _ => Answer::Kernel(Then::Nothing),
        };
        let Some(it) = self.threads.get_mut(&thread) else { return Err(Errno::ESRCH) };
        let (then, result) = match answered {
            // The call is over: the thread stands at its exit.
            Answer::Made => return Ok(0),
            Answer::Kernel(then) => (then, None),
            Answer::Value(value) => (Then::Nothing, Some(Ok(value))),
            Answer::Error(errno) => (Then::Nothing, Some(Err(errno))),
        };
        it.call = Some(Call { number, then });
        if let Some(result) = result {
            answer(&mut registers, result);
            ptrace::set_registers(thread, &registers)?;
        }
        Ok(0)
    }

    fn answered(&mut self, thread: Pid, number: i64, registers: &Registers) -> Result<Answer, Errno> {
        let [first, second, third, ..] = ptrace::arguments(registers);
        let of_first = |it: &Self| it.event_of(thread, first);
        Ok(match number {
            libc::SYS_perf_event_open => return self.open(thread, registers),
            // FIONREAD, too: a pipe would answer it.
            libc::SYS_ioctl
                if second >> 8 & 0xff == u64::from(b'$') || [FIOASYNC, libc::FIONREAD].contains(&second) =>
            {
                match of_first(self) {
                    Some(event) => self.control(thread, event, (first, second, third)),
                    // The kernel cannot write into a buffer of ours.
                    None if second as u32 == sys::SET_OUTPUT && self.event_of(thread, third).is_some() => {
                        Answer::Error(Errno::EINVAL)
                    }
                    None => Answer::Kernel(Then::Nothing),
                }
            }
            libc::SYS_read => {
                self.reads(thread, of_first(self), first, || Ok(Pieces::one(RuntimeAddr(second), third)))
            }
            libc::SYS_readv => self.reads(thread, of_first(self), first, || {
                Pieces::of_iovecs(thread, RuntimeAddr(second), third)
            }),
            // perf's descriptors have no position (`no_llseek`).
            libc::SYS_lseek | libc::SYS_pread64 | libc::SYS_preadv if of_first(self).is_some() => {
                Answer::Error(Errno::ESPIPE)
            }
            // perf's descriptors have no write (`perf_fops`).
            libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev => match of_first(self) {
                Some(_) => Answer::Error(Errno::EINVAL),
                None => Answer::Kernel(Then::Nothing),
            },
            libc::SYS_fcntl => match of_first(self) {
                Some(event) => self.descriptor_control(thread, event, registers)?,
                None => Answer::Kernel(Then::Nothing),
            },
            libc::SYS_close => self.closes(of_first(self)),
            libc::SYS_dup2 | libc::SYS_dup3 => self.closes(self.event_of(thread, second)),
            libc::SYS_close_range => Answer::Kernel(Then::LookForClosed),
            libc::SYS_mmap => return self.map(thread, registers),
            libc::SYS_munmap => self.unmaps(thread, RuntimeAddr(first), second),
            libc::SYS_mremap => self.moves(thread, registers),
            libc::SYS_mprotect | libc::SYS_pkey_mprotect => {
                self.protects(thread, RuntimeAddr(first), second, third)
            }
            libc::SYS_sendmsg => self.sends(thread, RuntimeAddr(second), 1),
            libc::SYS_sendmmsg => self.sends(thread, RuntimeAddr(second), third),
            // Where it only looks, the message stays.
            libc::SYS_recvmsg if third & libc::MSG_PEEK as u64 == 0 => {
                Answer::Kernel(Then::Received(RuntimeAddr(second), Messages::One))
            }
            libc::SYS_recvmmsg if registers.r10 & libc::MSG_PEEK as u64 == 0 => {
                Answer::Kernel(Then::Received(RuntimeAddr(second), Messages::Several))
            }
            libc::SYS_pidfd_getfd => Answer::Kernel(Then::GotDescriptor),
            libc::SYS_poll | libc::SYS_ppoll => {
                Answer::Kernel(Then::Waited(Waited::Poll(RuntimeAddr(first), second)))
            }
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => {
                Answer::Kernel(Then::Waited(Waited::Epoll(RuntimeAddr(second), first as i32)))
            }
            libc::SYS_select | libc::SYS_pselect6 => {
                Answer::Kernel(Then::Waited(Waited::Select(RuntimeAddr(second), first)))
            }
            libc::SYS_setsockopt if second == libc::SOL_SOCKET as u64 => {
                self.times_sockets(thread);
                Answer::Kernel(Then::Nothing)
            }
            libc::SYS_rt_sigtimedwait => Answer::Kernel(Then::TookSignal(RuntimeAddr(second))),
            libc::SYS_rt_sigaction if first == libc::SIGTRAP as u64 => {
                let set = if second == 0 { Change::None } else { Change::Made };
                Answer::Kernel(Then::TrapAction { old: RuntimeAddr(third), set })
            }
            libc::SYS_rt_sigreturn => Answer::Kernel(Then::Returned),
            libc::SYS_clone => return show_child(thread, registers),
            libc::SYS_prctl if first == libc::PR_SET_NAME as u64 => Answer::Kernel(Then::Renamed),
            libc::SYS_prctl => self.all_events_of_task(thread, first),
            libc::SYS_sched_setaffinity => Answer::Kernel(Then::MovedToCpus(first)),
            _ => Answer::Kernel(Then::Nothing),
        })
    }

    /// The event behind a descriptor of the thread's process.
    pub(super) fn event_of(&self, thread: Pid, descriptor: u64) -> Option<Key> {
        if self.events.is_empty() {
            return None;
        }
        self.events.of_pipe(descriptors::pipe(thread, descriptor as i32)?)
    }

    /// A program that ignores SIGTRAP reads that, although the first step has reset it.
    fn trap_action(&mut self, thread: Pid, old: RuntimeAddr, set: Change) -> Result<(), Errno> {
        let process = self.threads.get(&thread).map(|it| it.process);
        let Some(process) = process.filter(|it| self.ignoring_trap.contains(it)) else { return Ok(()) };
        if ptrace::registers(thread)?.rax != 0 {
            return Ok(());
        }
        if old.0 != 0 {
            memory::write(thread, old, &libc::SIG_IGN.to_ne_bytes())?;
        }
        if set == Change::Made {
            self.ignoring_trap.remove(&process);
        }
        Ok(())
    }

    fn mapped(&mut self, thread: Pid) -> Result<(), Errno> {
        let at = RuntimeAddr(ptrace::registers(thread)?.rax);
        if let Some(mapping) = record::executable_mappings(thread).iter().find(|it| it.contains(at)) {
            self.describe_mapping(thread, mapping);
        }
        Ok(())
    }

    fn closes(&self, event: Option<Key>) -> Answer {
        Answer::Kernel(if event.is_some() { Then::LookForClosed } else { Then::Nothing })
    }

    fn leave(&mut self, thread: Pid, then: &Then) -> Result<i32, Errno> {
        match then {
            Then::Nothing => {}
            Then::ShowFlags(event) => self.show_flags(thread, *event)?,
            Then::Sent(sent) => self.sent(thread, sent)?,
            Then::Received(at, messages) => self.received(thread, *at, *messages)?,
            Then::Renamed => self.describe_name(thread),
            Then::MovedToCpus(moved) => self.moved_to_cpus(thread, *moved),
            Then::GotDescriptor => self.got_descriptor(thread)?,
            Then::RingUnmapped => self.unmapped(),
            Then::RingMoved(from) => self.moved(thread, *from)?,
            Then::RestoreThird(value) => {
                let mut registers = ptrace::registers(thread)?;
                registers.rdx = *value;
                ptrace::set_registers(thread, &registers)?;
            }
            Then::RestoreFirst(value) => {
                let mut registers = ptrace::registers(thread)?;
                registers.rdi = *value;
                ptrace::set_registers(thread, &registers)?;
            }
            Then::TrapAction { old, set } => self.trap_action(thread, *old, *set)?,
            Then::TookSignal(at) => self.took_signal(thread, *at)?,
            Then::TookSignals(to) => self.took_signals(thread, to)?,
            Then::Mapped => self.mapped(thread)?,
            Then::Waited(waited) => self.waited(thread, *waited)?,
            Then::LookForClosed => self.look_for_closed(),
            Then::Returned => {
                if self.model.iret == Iret::Counted {
                    let retired = Retired { instructions: 1, ..Retired::default() };
                    self.retire(thread, retired, Boundary::Kernel);
                }
            }
        }
        Ok(0)
    }
}

/// `CLONE_UNTRACED` would start a child that the filter refuses everything, because nobody answers its stops.
fn show_child(thread: Pid, registers: &Registers) -> Result<Answer, Errno> {
    let hidden = libc::CLONE_UNTRACED as u64;
    if registers.rdi & hidden == 0 {
        return Ok(Answer::Kernel(Then::Nothing));
    }
    let mut shown = *registers;
    shown.rdi &= !hidden;
    ptrace::set_registers(thread, &shown)?;
    Ok(Answer::Kernel(Then::RestoreFirst(registers.rdi)))
}
