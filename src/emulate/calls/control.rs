//! The ioctls of an event, and `prctl(PR_TASK_PERF_EVENTS_*)` (Linux `kernel/events/core.c`, `_perf_ioctl`).

use nix::errno::Errno;
use nix::unistd::Pid;
use perf_event_open_sys::bindings as sys;

use super::entry::FIOASYNC;
use super::unsupported;
use crate::address::RuntimeAddr;
use crate::emulate::call::{Answer, Then};
use crate::emulate::descriptors::is_real_event;
use crate::emulate::event::{Key, Place};
use crate::emulate::instance::Switch;
use crate::emulate::memory;
use crate::emulate::supervisor::Supervisor;
use crate::emulate::table::Events;

/// The event whose buffer one of this place is to write to where it asks for that of `output`, which may itself write to
/// another's (`kernel/events/core.c`, `perf_event_set_output`).
///
/// # Errors
/// EINVAL: there is no buffer, or it is of another place.
pub fn buffer_for(place: &Place, output: Key, events: &Events) -> Result<Key, Errno> {
    let other = events.get(output).ok_or(Errno::EINVAL)?.place();
    // Without a CPU of its own a buffer is a task's.
    let same_task = place.cpu != -1 || place.target == other.target;
    let fits =
        place.cpu == other.cpu && same_task && place.clock == other.clock && place.backward == other.backward;
    events.written_by(output).filter(|_| fits).ok_or(Errno::EINVAL)
}

/// What an ENABLE, DISABLE or RESET with `PERF_IOC_FLAG_GROUP` reaches.
const GROUP: u64 = sys::PERF_IOC_FLAG_GROUP as u64;

impl Supervisor {
    /// `ioctl(descriptor, request, argument)`.
    pub(super) fn control(&mut self, thread: Pid, key: Key, call: (u64, u64, u64)) -> Answer {
        let (descriptor, request, argument) = call;
        if request == FIOASYNC {
            return match memory::read::<4>(thread, RuntimeAddr(argument)) {
                Ok(on) => self.set_async(key, descriptor, i32::from_ne_bytes(on) != 0),
                Err(errno) => Answer::Error(errno),
            };
        }
        let reached = || match argument & GROUP {
            0 => vec![key],
            // Of a sibling's group the leader and all the others are reached, too.
            _ => self.events.group(self.events.get(key).and_then(|event| event.leader).unwrap_or(key)),
        };
        match request as u32 {
            sys::ENABLE => self.switch(&reached(), Switch::On),
            sys::DISABLE => self.switch(&reached(), Switch::Off),
            sys::RESET => {
                let keys = reached();
                for key in &keys {
                    if let Some(event) = self.events.get_mut(*key) {
                        event.reset();
                    }
                }
                let instances = self.threads.values_mut().flat_map(|it| &mut it.instances);
                instances.filter(|it| keys.contains(&it.event)).for_each(|it| it.counted = 0);
            }
            sys::REFRESH => return self.refresh(key, argument),
            sys::PERIOD => return self.set_period(thread, key, RuntimeAddr(argument)),
            sys::ID => {
                let id = self.events.get(key).map_or(0, |event| event.id);
                return match memory::write(thread, RuntimeAddr(argument), &id.to_ne_bytes()) {
                    Ok(()) => Answer::Value(0),
                    Err(_) => Answer::Error(Errno::EFAULT),
                };
            }
            sys::SET_OUTPUT => return self.set_output(thread, key, argument),
            sys::SET_FILTER => return Answer::Error(unsupported::filter(thread, RuntimeAddr(argument))),
            sys::SET_BPF => return Answer::Error(unsupported::program(thread, argument as i32)),
            sys::QUERY_BPF => return Answer::Error(Errno::EINVAL),
            sys::MODIFY_ATTRIBUTES => {
                let own = self.events.get(key).map(|event| event.attr.type_);
                return Answer::Error(unsupported::attributes(thread, own, RuntimeAddr(argument)));
            }
            sys::PAUSE_OUTPUT => {
                let owner = self.events.written_by(key).and_then(|it| self.events.get_mut(it));
                let ring = owner.and_then(|event| event.ring.as_mut());
                let Some(ring) = ring.filter(|ring| ring.pages() > 0) else {
                    return Answer::Error(Errno::EINVAL);
                };
                ring.pause(argument != 0);
            }
            _ => return Answer::Error(Errno::ENOTTY),
        }
        Answer::Value(0)
    }

    /// Switches the events, in the threads they were opened on and in those that inherited them.
    pub(super) fn switch(&mut self, keys: &[Key], switch: Switch) {
        let mut touched = Vec::new();
        for thread in self.threads.values_mut() {
            for instance in thread.instances.iter_mut().filter(|it| keys.contains(&it.event)) {
                instance.switch = switch;
                touched.push(thread.id);
            }
        }
        touched.into_iter().for_each(|thread| self.reschedule(thread));
    }

    /// Decides anew what counts in a thread; one that begins to is stopped, so that it can be stepped.
    pub(super) fn reschedule(&mut self, thread: Pid) {
        let Some(it) = self.threads.get_mut(&thread) else { return };
        let counted = it.counts();
        it.schedule(&mut self.events);
        if it.counts() && !counted {
            self.interrupt(thread);
        }
    }

    fn refresh(&mut self, key: Key, overflows: u64) -> Answer {
        let Some(event) = self.events.get_mut(key) else { return Answer::Error(Errno::EBADF) };
        if event.attr.inherit() == 1 || !event.samples() {
            return Answer::Error(Errno::EINVAL);
        }
        event.limit = event.limit.wrapping_add(overflows as u32);
        self.switch(&[key], Switch::On);
        Answer::Value(0)
    }

    /// Has the event write to another's buffer, or to its own again.
    fn set_output(&mut self, thread: Pid, key: Key, argument: u64) -> Answer {
        let output = match argument {
            // All 64 bits: an int's -1 may come as another number, and is no descriptor.
            u64::MAX => None,
            descriptor => match self.event_of(thread, descriptor) {
                // The kernel's buffers are not ours to write into.
                None if is_real_event(thread, descriptor as i32) => return Answer::Error(Errno::EINVAL),
                None => return Answer::Error(Errno::EBADF),
                Some(output) => Some(output),
            },
        };
        let Some(event) = self.events.get(key) else { return Answer::Error(Errno::EBADF) };
        let owner = output.map(|output| match output == key {
            true => Err(Errno::EINVAL),
            false => buffer_for(&event.place(), output, &self.events),
        });
        let owner = match owner.transpose() {
            // Nobody would look into a buffer of its own any more.
            Ok(_) if event.ring.is_some() => return Answer::Error(Errno::EINVAL),
            Ok(owner) => owner,
            Err(errno) => return Answer::Error(errno),
        };
        if let Some(event) = self.events.get_mut(key) {
            event.output = owner;
        }
        self.settle(key);
        Answer::Value(0)
    }

    /// `sched_setaffinity(thread, …)` has ended: 0 is the caller itself.
    pub(super) fn moved_to_cpus(&mut self, caller: Pid, thread: u64) {
        let thread = if thread == 0 { caller } else { Pid::from_raw(thread as i32) };
        self.reschedule(thread);
    }

    fn set_period(&mut self, thread: Pid, key: Key, argument: RuntimeAddr) -> Answer {
        let Ok(period) = memory::read(thread, argument).map(u64::from_ne_bytes) else {
            return Answer::Error(Errno::EFAULT);
        };
        let Some(event) = self.events.get_mut(key) else { return Answer::Error(Errno::EBADF) };
        let too_small = self.model.min_period.is_some_and(|least| period < least);
        if !event.samples() || period == 0 || period >> 63 != 0 || too_small {
            return Answer::Error(Errno::EINVAL);
        }
        event.period = period;
        for thread in self.threads.values_mut() {
            for instance in thread.instances.iter_mut().filter(|it| it.event == key) {
                instance.restart(period);
            }
        }
        Answer::Value(0)
    }

    /// All events that the calling thread has opened; the kernel does the same with its own.
    pub(super) fn all_events_of_task(&mut self, thread: Pid, option: u64) -> Answer {
        let switch = match option as i32 {
            libc::PR_TASK_PERF_EVENTS_DISABLE => Switch::Off,
            libc::PR_TASK_PERF_EVENTS_ENABLE => Switch::On,
            _ => return Answer::Kernel(Then::Nothing),
        };
        let own: Vec<Key> =
            self.events.iter().filter(|(_, event)| event.creator == thread).map(|(key, _)| key).collect();
        self.switch(&own, switch);
        Answer::Kernel(Then::Nothing)
    }
}
