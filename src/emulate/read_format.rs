//! An event's values in the layout of its `read_format` (`perf_event_open(2)`, "Reading results").

use perf_event_open_sys::bindings as sys;

use super::event::{Event, Key};
use super::table::Events;

const ENABLED: u64 = sys::PERF_FORMAT_TOTAL_TIME_ENABLED as u64;
const RUNNING: u64 = sys::PERF_FORMAT_TOTAL_TIME_RUNNING as u64;
const ID: u64 = sys::PERF_FORMAT_ID as u64;
const GROUP: u64 = sys::PERF_FORMAT_GROUP as u64;
const LOST: u64 = sys::PERF_FORMAT_LOST as u64;

/// What `read(2)` of the event gives, in native byte order.
#[must_use]
pub fn values(events: &Events, key: Key) -> Vec<u8> {
    let Some(event) = events.get(key) else { return Vec::new() };
    let format = event.attr.read_format;
    let mut words = Vec::new();
    let times = |words: &mut Vec<u64>| {
        let asked = [ENABLED, RUNNING].into_iter().zip(event.times());
        words.extend(asked.filter(|(bit, _)| format & bit != 0).map(|(_, time)| time));
    };
    if format & GROUP == 0 {
        words.push(event.count());
        times(&mut words);
        extras(event, format, &mut words);
    } else {
        // Of a sibling the whole group is read, too (`perf_read_group`).
        let group = events.group(event.leader.unwrap_or(key));
        words.push(group.len() as u64);
        times(&mut words);
        for member in group.iter().filter_map(|&key| events.get(key)) {
            words.push(member.count());
            extras(member, format, &mut words);
        }
    }
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn extras(event: &Event, format: u64, words: &mut Vec<u64>) {
    if format & ID != 0 {
        words.push(event.id);
    }
    if format & LOST != 0 {
        words.push(event.lost);
    }
}
