//! What is written to ring buffers, and who is woken by it.

use nix::unistd::Pid;
use perf_event_open_sys::bindings as sys;

use super::attr::Attr;
use super::event::Key;
use super::instance::Turn;
use super::read_format;
use super::record::{self, Identity, Mapping, Named};
use super::ring::Appended;
use super::supervisor::Supervisor;
use crate::address::RuntimeAddr;

impl Supervisor {
    /// A sample of an overflow in `thread`, which stands at `at`.
    pub(super) fn sample(&mut self, thread: Pid, key: Key, at: RuntimeAddr) {
        let Some(identity) = self.identity(thread, key) else { return };
        let Some(event) = self.events.get(key) else { return };
        let values = read_format::values(&self.events, key);
        let bytes = record::sample(&event.attr, identity, at, event.period, &values);
        self.write(key, &bytes, 1, identity);
    }

    /// The records that explain an image's addresses to a reader.
    pub(super) fn describe_image(&mut self, thread: Pid) {
        if self.events.is_empty() {
            return;
        }
        let mappings = record::executable_mappings(thread);
        self.describe(
            thread,
            |attr| attr.comm() == 1,
            |attr, identity| record::named(Named::ByExec, attr, identity),
        );
        for mapping in mappings {
            self.describe_mapping(thread, &mapping);
        }
    }

    /// A thread has given itself another name.
    pub(super) fn describe_name(&mut self, thread: Pid) {
        self.describe(
            thread,
            |attr| attr.comm() == 1,
            |attr, identity| record::named(Named::ByItself, attr, identity),
        );
    }

    pub(super) fn describe_throttling(&mut self, thread: Pid, key: Key, turn: Turn) {
        let Some(identity) = self.identity(thread, key) else { return };
        let Some(event) = self.events.get(key) else { return };
        let bytes = record::throttling(turn, &event.attr, identity);
        self.write(key, &bytes, 0, identity);
    }

    pub(super) fn describe_mapping(&mut self, thread: Pid, mapping: &Mapping) {
        let wanted = |attr: &Attr| attr.mmap() == 1 || attr.mmap2() == 1;
        self.describe(thread, wanted, |attr, identity| mapping.record(attr, identity));
    }

    /// A thread or process has begun or ended.
    pub(super) fn describe_task(&mut self, reporter: Pid, kind: sys::perf_event_type, task: record::Task) {
        self.describe(
            reporter,
            |attr| attr.task() == 1,
            |attr, identity| record::task(kind, attr, identity, task),
        );
    }

    /// Writes a record for each event in `thread` that wants one.
    fn describe(
        &mut self,
        thread: Pid,
        wants: impl Fn(&Attr) -> bool,
        record: impl Fn(&Attr, Identity) -> Vec<u8>,
    ) {
        let Some(it) = self.threads.get(&thread) else { return };
        let keys: Vec<Key> = it.instances.iter().filter(|it| it.active).map(|it| it.event).collect();
        for key in keys {
            let attr = match self.events.get(key) {
                Some(event) if wants(&event.attr) => event.attr,
                _ => continue,
            };
            if let Some(identity) = self.identity(thread, key) {
                self.write(key, &record(&attr, identity), 0, identity);
            }
        }
    }

    fn identity(&self, thread: Pid, key: Key) -> Option<Identity> {
        let it = self.threads.get(&thread)?;
        let event = self.events.get(key)?;
        Some(Identity {
            process: it.process,
            thread,
            time: event.time(),
            event: event.id,
            cpu: it.cpu as u32,
        })
    }

    fn write(&mut self, key: Key, bytes: &[u8], samples: u64, identity: Identity) {
        let Some(attr) = self.events.get(key).map(|event| event.attr) else { return };
        let Some(event) = self.events.written_by(key).and_then(|it| self.events.get_mut(it)) else { return };
        let Some(ring) = &mut event.ring else { return };
        match ring.append(bytes, samples, |number| record::lost(&attr, identity, number)) {
            Appended::Quietly => {}
            Appended::Due => event.wake(),
            Appended::Lost => {
                if let Some(event) = self.events.get_mut(key) {
                    event.lost += 1;
                }
            }
        }
    }

    /// Whether nothing more is to be expected of the event: it has no buffer, or all its threads have ended.
    pub(super) fn hung_up(&self, key: Key) -> bool {
        let alive = self.threads.values().any(|it| it.instances.iter().any(|it| it.event == key));
        !alive || self.events.written_by(key).is_none()
    }

    /// Makes the descriptor say what the event would (Linux `kernel/events/core.c`, `perf_poll`).
    pub(super) fn settle(&mut self, key: Key) {
        let hung_up = self.hung_up(key);
        if let Some(event) = self.events.get_mut(key) {
            event.quiet();
            event.hang_up(hung_up);
        }
    }
}
