//! `perf_event_open(2)`.

use std::os::fd::RawFd;

use nix::errno::Errno;
use nix::unistd::Pid;
use perf_event_open_sys::bindings as sys;

use super::control::buffer_for;
use crate::address::RuntimeAddr;
use crate::emulate::attr::{self, Attr, Counted};
use crate::emulate::call::{Answer, Then};
use crate::emulate::descriptors;
use crate::emulate::event::{Event, Key, Place};
use crate::emulate::inject::Injection;
use crate::emulate::instance::{Instance, Role, Switch};
use crate::emulate::memory::{self, Scratch};
use crate::emulate::ptrace::Registers;
use crate::emulate::status;
use crate::emulate::supervisor::Supervisor;

const NONE: i32 = -1;

/// What is asked for, apart from who asks.
struct Request {
    attr: Attr,
    counted: Counted,
    target: Pid,
    leader: Option<Key>,
    /// Whose buffer it is to write to (PERF_FLAG_FD_OUTPUT).
    output: Option<Key>,
    cpu: i32,
    flags: u64,
}

impl Supervisor {
    pub(super) fn open(&mut self, thread: Pid, registers: &Registers) -> Result<Answer, Errno> {
        let Some(request) = self.asked_of_us(thread, registers) else {
            return Ok(Answer::Kernel(Then::Nothing));
        };
        let Some(process) = self.threads.get(&thread).map(|it| it.process) else { return Err(Errno::ESRCH) };
        let mut injection = Injection::begin(thread, *registers, &mut self.reports)?;
        // What is wrong with a request, and in which order, is the kernel's to say …
        let ours = request.leader.is_some() || request.output.is_some() || registers.r10 as i32 != NONE;
        let group = if ours { NONE as u64 } else { registers.r10 };
        let alone = registers.r8 & !u64::from(sys::PERF_FLAG_FD_NO_GROUP | sys::PERF_FLAG_FD_OUTPUT);
        let real = [registers.rdi, registers.rsi, registers.rdx, group, alone, 0];
        match injection.call(libc::SYS_perf_event_open, real)? {
            // … up to the point where it finds no PMU. One that is there is not to be used.
            Ok(descriptor) => {
                let _ = injection.call(libc::SYS_close, [descriptor, 0, 0, 0, 0, 0])?;
            }
            Err(Errno::ENOENT | Errno::EOPNOTSUPP | Errno::ENODEV) => {}
            Err(errno) => {
                injection.end(Err(errno))?;
                return Ok(Answer::Made);
            }
        }
        let foreign = self.threads.get(&request.target).is_none_or(|it| it.process != process);
        let permitted =
            if foreign { permitted(thread, registers, &mut injection, &request)? } else { Ok(()) };
        let acceptable = permitted.and_then(|()| acceptable(&request, &self.events, self.model.min_period));
        // No thread of another supervisor's, or of nobody's, is in a group of ours or writes to a buffer of ours.
        let ours = self.threads.contains_key(&request.target).then_some(()).ok_or(Errno::EINVAL);
        if let Err(errno) = acceptable.and(ours) {
            injection.end(Err(errno))?;
            return Ok(Answer::Made);
        }
        let flags =
            if request.flags & u64::from(sys::PERF_FLAG_FD_CLOEXEC) != 0 { libc::O_CLOEXEC } else { 0 };
        let descriptor = match reading_end(thread, registers, &mut injection, flags)? {
            Ok(descriptor) => descriptor,
            Err(errno) => {
                injection.end(Err(errno))?;
                return Ok(Answer::Made);
            }
        };
        let duplicate = descriptors::duplicate(process, descriptor)
            .and_then(|it| Ok((it, descriptors::pipe(thread, descriptor).ok_or(Errno::ENOSYS)?)));
        match duplicate {
            Ok(duplicate) => {
                injection.end(Ok(descriptor as u64))?;
                self.opened(thread, &request, duplicate);
                self.watch(process);
            }
            Err(errno) => {
                let _ = injection.call(libc::SYS_close, [descriptor as u64, 0, 0, 0, 0, 0])?;
                injection.end(Err(errno))?;
            }
        }
        Ok(Answer::Made)
    }

    /// The request, when it is for the emulated PMU; the kernel answers everything else.
    fn asked_of_us(&self, thread: Pid, registers: &Registers) -> Option<Request> {
        let attr = attr::read(thread, RuntimeAddr(registers.rdi)).ok()?;
        let counted = Counted::asked(&attr)?;
        let (pid, cpu, group) = (registers.rsi as i32, registers.rdx as i32, registers.r10 as i32);
        // Whole CPUs, control groups and processes that are not under this supervisor are left to the kernel.
        if pid < 0 || registers.r8 & u64::from(sys::PERF_FLAG_PID_CGROUP) != 0 {
            return None;
        }
        let target = if pid == 0 { thread } else { Pid::from_raw(pid) };
        let other = match group {
            NONE => None,
            descriptor => Some(self.event_of(thread, descriptor as u64)?),
        };
        let flagged = |flag: u32| registers.r8 & u64::from(flag) != 0;
        let leader = other.filter(|_| !flagged(sys::PERF_FLAG_FD_NO_GROUP));
        let output = other.filter(|_| flagged(sys::PERF_FLAG_FD_OUTPUT));
        // Of a process elsewhere the kernel knows all, unless a group or a buffer is ours; a zombie it would look for behind the
        // PMU.
        let concerns_us = || leader.is_some() || output.is_some() || status::is_zombie(target);
        if !self.threads.contains_key(&target) && !concerns_us() {
            return None;
        }
        Some(Request { attr, counted, target, leader, output, cpu, flags: registers.r8 })
    }

    fn opened(&mut self, creator: Pid, request: &Request, descriptor: (std::os::fd::OwnedFd, u64)) {
        let id = self.events.next_id();
        let mut event = Event::new(id, request.attr, request.counted, descriptor, &self.model);
        (event.target, event.creator) = (request.target, creator);
        (event.leader, event.cpu) = (request.leader, request.cpu);
        event.output = request.output.and_then(|output| self.events.written_by(output));
        let key = self.events.insert(event);
        if let Some(leader) = request.leader.and_then(|leader| self.events.get_mut(leader)) {
            leader.siblings.push(key);
        }
        let switch = if request.attr.disabled() == 1 { Switch::Off } else { Switch::On };
        let on_exec = request.attr.enable_on_exec() == 1;
        let instance = Instance::new(key, Role::Own, switch, on_exec, &self.model);
        if let Some(target) = self.threads.get_mut(&request.target) {
            target.instances.push(instance);
        }
        self.reschedule(request.target);
        self.settle(key);
    }

    /// From now on all system calls of the process are looked at.
    pub(super) fn watch(&mut self, process: Pid) {
        if self.watched.insert(process) {
            self.interrupt_all(process);
        }
    }

    /// Has all threads of a process go on as is now right for it.
    pub(super) fn interrupt_all(&mut self, process: Pid) {
        let running: Vec<Pid> =
            self.threads.values().filter(|it| it.process == process).map(|it| it.id).collect();
        running.into_iter().for_each(|thread| self.interrupt(thread));
    }
}

/// Whether there is another process to watch, and the program may (`perf_check_permission`), which the kernel looks at behind
/// the PMU: asked of an event that every machine has.
fn permitted(
    thread: Pid,
    registers: &Registers,
    injection: &mut Injection<'_>,
    request: &Request,
) -> Result<Result<(), Errno>, Errno> {
    let mut dummy = Attr::default();
    (dummy.type_, dummy.config) = (sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_DUMMY.into());
    dummy.size = size_of::<Attr>() as u32;
    dummy.set_exclude_kernel(1);
    dummy.set_exclude_hv(1);
    dummy.set_disabled(1);
    let Ok(attr) = Scratch::write(thread, registers, attr::encode(&dummy)) else { return Ok(Ok(())) };
    let target = request.target.as_raw() as u64;
    let asked =
        injection.call(libc::SYS_perf_event_open, [attr.at.0, target, NONE as u64, NONE as u64, 0, 0])?;
    attr.put_back(thread)?;
    Ok(match asked {
        Ok(descriptor) => {
            let _ = injection.call(libc::SYS_close, [descriptor, 0, 0, 0, 0, 0])?;
            Ok(())
        }
        Err(errno @ (Errno::EACCES | Errno::EPERM | Errno::ESRCH)) => Err(errno),
        // It says nothing about the process.
        Err(_) => Ok(()),
    })
}

/// Makes a pipe in the program and closes its other end there.
fn reading_end(
    thread: Pid,
    registers: &Registers,
    injection: &mut Injection<'_>,
    flags: i32,
) -> Result<Result<RawFd, Errno>, Errno> {
    let Ok(ends) = Scratch::write(thread, registers, &[0; 8]) else { return Ok(Err(Errno::ENOMEM)) };
    let made = injection.call(libc::SYS_pipe2, [ends.at.0, flags as u64, 0, 0, 0, 0])?;
    let [reading, writing] =
        [0, 4].map(|end| memory::read(thread, ends.at.plus(end)).map(i32::from_ne_bytes));
    ends.put_back(thread)?;
    if let Err(errno) = made {
        return Ok(Err(errno));
    }
    let _ = injection.call(libc::SYS_close, [writing? as u64, 0, 0, 0, 0, 0])?;
    Ok(Ok(reading?))
}

/// The rules that the kernel checks after it has found a PMU (`kernel/events/core.c`, `perf_event_open`).
fn acceptable(
    request: &Request,
    events: &crate::emulate::table::Events,
    min_period: Option<u64>,
) -> Result<(), Errno> {
    attr::supported(&request.attr)?;
    let period = attr::period(&request.attr);
    if period != 0 && min_period.is_some_and(|least| period < least) {
        return Err(Errno::EINVAL);
    }
    let place = Place {
        target: request.target,
        cpu: request.cpu,
        clock: attr::clock(&request.attr).ok(),
        backward: request.attr.write_backward(),
    };
    if attr::needs_aux(&request.attr) {
        return Err(Errno::EINVAL);
    }
    if let Some(output) = request.output {
        buffer_for(&place, output, events)?;
    }
    let Some(leader) = request.leader.and_then(|leader| events.get(leader)) else { return Ok(()) };
    let mismatched = leader.leader.is_some()
        || leader.target != request.target
        || leader.cpu != request.cpu
        || leader.place().clock != place.clock
        || leader.attr.inherit() != request.attr.inherit()
        || request.attr.exclusive() == 1
        || request.attr.pinned() == 1;
    if mismatched { Err(Errno::EINVAL) } else { Ok(()) }
}
