//! All emulated events.

use super::event::{Event, Key};

/// Events by key; keys are used again.
#[derive(Default)]
pub struct Events {
    slots: Vec<Option<Event>>,
    /// Ids are not.
    last_id: u64,
}

impl Events {
    /// An id that no other event had.
    pub fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub fn insert(&mut self, event: Event) -> Key {
        let free = self.slots.iter().position(Option::is_none);
        let place = free.unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[place] = Some(event);
        Key(place)
    }

    #[must_use]
    pub fn get(&self, key: Key) -> Option<&Event> {
        self.slots.get(key.0)?.as_ref()
    }

    pub fn get_mut(&mut self, key: Key) -> Option<&mut Event> {
        self.slots.get_mut(key.0)?.as_mut()
    }

    pub fn remove(&mut self, key: Key) -> Option<Event> {
        self.slots.get_mut(key.0)?.take()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Key, &Event)> {
        self.slots.iter().enumerate().filter_map(|(place, event)| Some((Key(place), event.as_ref()?)))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.iter().all(Option::is_none)
    }

    /// The event whose descriptors are the pipe of this number.
    #[must_use]
    pub fn of_pipe(&self, pipe: u64) -> Option<Key> {
        self.iter().find(|(_, event)| event.pipe == pipe).map(|(key, _)| key)
    }

    /// The event whose buffer this one writes to: itself, or another (`PERF_EVENT_IOC_SET_OUTPUT`); `None` without a buffer.
    #[must_use]
    pub fn written_by(&self, key: Key) -> Option<Key> {
        let owner = self.get(key)?.output.unwrap_or(key);
        self.get(owner)?.ring.is_some().then_some(owner)
    }

    /// The buffer of `owner` is gone: whoever wrote to it writes nowhere.
    pub fn detach_writers(&mut self, owner: Key) -> Vec<Key> {
        let mut writers = Vec::new();
        for (place, event) in self.slots.iter_mut().enumerate() {
            if let Some(event) = event.as_mut().filter(|event| event.output == Some(owner)) {
                event.output = None;
                writers.push(Key(place));
            }
        }
        writers
    }

    /// The event and its siblings, when it leads a group; else the event alone.
    #[must_use]
    pub fn group(&self, key: Key) -> Vec<Key> {
        let siblings = self.get(key).map_or(&[][..], |event| &event.siblings);
        [key].into_iter().chain(siblings.iter().copied()).collect()
    }
}
