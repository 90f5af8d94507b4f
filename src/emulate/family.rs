//! Threads and processes that come and go, and what they inherit.

use std::fs;
use std::time::Duration;

use nix::errno::Errno;
use nix::unistd::Pid;
use perf_event_open_sys::bindings as sys;

use super::call::{Call, Then};
use super::clock::Running;
use super::descriptors;
use super::event::{Event, Key};
use super::instance::{Instance, Role, Switch};
use super::ptrace;
use super::record::Task;
use super::ring;
use super::status;
use super::supervisor::Supervisor;
use super::thread::Thread;

impl Supervisor {
    /// `parent` has started a thread or process, which goes on with what it inherits.
    pub(super) fn started(&mut self, parent: Pid) -> Result<i32, Errno> {
        let child = Pid::from_raw(ptrace::event_message(parent)? as i32);
        let process = status::process(child).unwrap_or(child);
        let Some(it) = self.threads.get(&parent) else { return Err(Errno::ESRCH) };
        let same_process = it.process == process;
        let mut thread = Thread::new(child, process);
        thread.stopped = false;
        thread.instances = it
            .instances
            .iter()
            .filter(|instance| {
                self.events.get(instance.event).is_some_and(|event| {
                    let attr = &event.attr;
                    attr.inherit() == 1 && (same_process || attr.inherit_thread() == 0)
                })
            })
            .map(|it| Instance::new(it.event, Role::Inherited, it.switch, it.enable_on_exec, &self.model))
            .collect();
        thread.schedule(&mut self.events);
        if self.watched.contains(&it.process) {
            self.watched.insert(process);
        }
        let task = Task { process, thread: child, parent_process: it.process, parent_thread: parent };
        for these in [&mut self.ignoring_trap, &mut self.timed] {
            if these.contains(&it.process) {
                these.insert(process);
            }
        }
        self.threads.insert(child, thread);
        self.describe_task(parent, sys::PERF_RECORD_FORK, task);
        if self.early.remove(&child) {
            if let Some(it) = self.threads.get_mut(&child) {
                it.stopped = true;
            }
            let _ = self.go_on(child, 0);
        }
        Ok(0)
    }

    /// A new image: the other threads are gone, and the one that executed it has become the first.
    pub(super) fn executed(&mut self, thread: Pid) -> Result<i32, Errno> {
        let former = Pid::from_raw(ptrace::event_message(thread)? as i32);
        if former != thread {
            self.release(thread);
            if let Some(mut it) = self.threads.remove(&former) {
                it.id = thread;
                for instance in &it.instances {
                    if let Some(event) = self.events.get_mut(instance.event) {
                        event.rename_clock(former, thread);
                    }
                }
                self.threads.insert(thread, it);
            }
        }
        let Some(it) = self.threads.get_mut(&thread) else { return Err(Errno::ESRCH) };
        it.stopped = true;
        let (gone, stay) = std::mem::take(&mut it.instances).into_iter().partition(|instance| {
            self.events.get(instance.event).is_some_and(|event| event.attr.remove_on_exec() == 1)
        });
        it.instances = stay;
        let gone: Vec<Instance> = gone;
        for instance in gone {
            if let Some(event) = self.events.get_mut(instance.event) {
                event.clock(thread, Running::Off, Duration::ZERO);
            }
            self.bury(&instance);
        }
        let Some(it) = self.threads.get_mut(&thread) else { return Err(Errno::ESRCH) };
        for instance in &mut it.instances {
            if std::mem::take(&mut instance.enable_on_exec) {
                instance.switch = Switch::On;
            }
        }
        it.schedule(&mut self.events);
        let process = it.process;
        self.mappings.retain(|it| it.process != process);
        if it.call.is_none() {
            // It was going freely: the exit from this call is still to come.
            it.call = Some(Call { number: libc::SYS_execve, then: Then::Nothing });
        }
        self.describe_image(thread);
        self.look_for_closed();
        if !self.passed_on && self.watched.contains(&process) && !self.has_descriptors(process) {
            self.watched.remove(&process);
        }
        Ok(0)
    }

    /// A thread has ended.
    pub(super) fn gone(&mut self, thread: Pid) {
        self.early.remove(&thread);
        let Some(process) = self.threads.get(&thread).map(|it| it.process) else { return };
        let task = Task { process, thread, parent_process: process, parent_thread: process };
        self.describe_task(thread, sys::PERF_RECORD_EXIT, task);
        self.release(thread);
        if !self.threads.values().any(|it| it.process == process) {
            self.ignoring_trap.remove(&process);
            self.timed.remove(&process);
            self.mappings.retain(|it| it.process != process);
            if self.watched.remove(&process) {
                self.look_for_closed();
            }
        }
    }

    /// Takes the thread's events off it.
    fn release(&mut self, thread: Pid) {
        if let Some(mut it) = self.threads.remove(&thread) {
            it.instances.iter_mut().for_each(|instance| instance.switch = Switch::Off);
            it.schedule(&mut self.events);
            for instance in it.instances {
                self.bury(&instance);
                if self.hung_up(instance.event) {
                    self.settle(instance.event);
                }
            }
        }
    }

    /// What an inherited copy has counted stays with its event.
    fn bury(&mut self, instance: &Instance) {
        if instance.role == Role::Inherited
            && let Some(event) = self.events.get_mut(instance.event)
        {
            event.bury(instance.counted);
        }
    }

    fn has_descriptors(&self, process: Pid) -> bool {
        descriptors::pipes(process).iter().any(|&it| self.events.of_pipe(it).is_some())
    }

    /// Ends the events that no process has a descriptor of any more.
    pub(super) fn look_for_closed(&mut self) {
        if self.events.is_empty() {
            return;
        }
        let open: Vec<u64> = self.watched.iter().flat_map(|&process| descriptors::pipes(process)).collect();
        let closed: Vec<_> = self
            .events
            .iter()
            .filter(|(_, event)| {
                !open.contains(&event.pipe) && event.on_the_way == 0 && !self.is_mapped(event)
            })
            .map(|(key, _)| key)
            .collect();
        for key in closed {
            self.close(key);
        }
    }

    /// A mapped buffer keeps its event, as the kernel's mapping keeps the file.
    pub(super) fn is_mapped(&self, event: &Event) -> bool {
        let name = format!("/memfd:{} ", ring::name(event.id));
        event.ring.is_some()
            && self.watched.iter().any(|process| {
                fs::read_to_string(format!("/proc/{process}/maps")).is_ok_and(|maps| maps.contains(&name))
            })
    }

    fn close(&mut self, key: Key) {
        let Some(event) = self.events.remove(key) else { return };
        // Its siblings go on as events of their own.
        for sibling in event.siblings {
            if let Some(sibling) = self.events.get_mut(sibling) {
                sibling.leader = None;
            }
        }
        if let Some(leader) = event.leader.and_then(|leader| self.events.get_mut(leader)) {
            leader.siblings.retain(|&it| it != key);
        }
        self.events.detach_writers(key);
        for thread in self.threads.values_mut() {
            thread.instances.retain(|instance| instance.event != key);
            thread.schedule(&mut self.events);
        }
    }
}
