//! The trace file as a whole: what goes in comes out, and what was damaged never comes out wrong.

#![allow(unsafe_code, reason = "a buffer borrows the trace that the test keeps")]

mod trace_support;

use std::ops::RangeInclusive;

use overstep::address::RuntimeAddr;
use overstep::record::buffer::TraceBuffer;
use overstep::record::code::{BLOCK, CodeBlock, NO_MODULE, SymbolRef};
use overstep::record::marker::{LostReason, Marker};
use overstep::record::memory_trace::MemoryTrace;
use overstep::record::modules::ModuleRef;
use overstep::record::reader::{Boundary, DamageCause, Entry, ReadError, Trace};
use overstep::record::writer::ThreadWriter;
use overstep::registers::Registers;
use proptest::prelude::*;
use trace_support::{Event, event, header, model, rows_of, write_events};

const THREAD: u32 = 77;

fn traced(write: impl FnOnce(&TraceBuffer)) -> Vec<u8> {
    let memory = MemoryTrace::new(64 << 20).expect("mmap");
    // SAFETY: the buffer is used within this function, and so lives shorter than the memory.
    let buffer = unsafe { memory.buffer() };
    write(&buffer);
    memory.to_bytes(&header()).expect("header")
}

fn events_traced(events: &[Event]) -> Vec<u8> {
    traced(|buffer| write_events(buffer, &mut ThreadWriter::new(), THREAD, events))
}

fn read(bytes: Vec<u8>) -> Vec<Entry> {
    Trace::from_bytes(bytes).expect("readable").entries(THREAD).collect()
}

/// A few thousand events, the same every time: long enough for several chunks of each size.
fn many_events(count: usize) -> Vec<Event> {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| event().new_tree(&mut runner).expect("strategy").current()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_goes_in_comes_out(events in prop::collection::vec(event(), 0..200)) {
        let bytes = events_traced(&events);
        let trace = Trace::from_bytes(bytes).expect("readable");
        prop_assert!(trace.damage().is_empty());
        let entries: Vec<_> = trace.entries(THREAD).collect();
        prop_assert_eq!(entries, model(THREAD, &events));
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..4096)) {
        let mut file = header().to_bytes().expect("header");
        file.extend_from_slice(&bytes);
        let trace = Trace::from_bytes(file).expect("the header is whole");
        prop_assert!(trace.threads().is_empty());
        let _refused = Trace::from_bytes(bytes).expect_err("no header");
    }
}

#[test]
fn rows_go_on_from_chunk_to_chunk() {
    let events = many_events(20_000);
    let bytes = events_traced(&events);
    assert!(bytes.len() > 10 * (64 << 10), "{} bytes are too few chunks", bytes.len());
    let entries = read(bytes);
    let model = model(THREAD, &events);
    for (index, (entry, expected)) in entries.iter().zip(&model).enumerate() {
        assert_eq!(entry, expected, "entry {index}");
    }
    assert_eq!(entries.len(), model.len());
}

#[test]
fn cut_at_every_byte_it_gives_a_prefix() {
    let events = many_events(90);
    let bytes = events_traced(&events);
    let chunks = ends_of_chunks(&bytes);
    assert!(chunks.len() >= 3, "counters and two step chunks: {chunks:?}");
    let model = model(THREAD, &events);
    let mut lengths = Vec::new();
    for cut in 0..bytes.len() {
        let Ok(trace) = Trace::from_bytes(bytes[..cut].to_vec()) else {
            assert!(cut < 4096, "{cut}: with a whole header a trace is readable");
            continue;
        };
        let rows = rows_of(trace.entries(THREAD));
        assert!(model.starts_with(&rows), "cut at {cut}");
        if cut > 4096 && !chunks.iter().any(|chunk| chunk.contains(&cut)) {
            assert!(!trace.damage().is_empty(), "cut at {cut} goes unsaid");
        }
        lengths.push(rows.len());
    }
    assert!(lengths.is_sorted());
    assert!(lengths.iter().any(|&length| length > 0 && length < model.len()));
}

/// For each chunk the places where a cut loses nothing of it: behind its last committed byte, up to its end.
fn ends_of_chunks(bytes: &[u8]) -> Vec<RangeInclusive<usize>> {
    let number = |offset: usize| u32::from_le_bytes(bytes[offset..offset + 4].try_into().unwrap()) as usize;
    let mut ends = Vec::new();
    let mut start = 4096;
    while start < bytes.len() {
        let end = start + number(start + 8);
        ends.push(start + 64 + number(start + 24)..=end);
        start = end;
    }
    ends
}

#[test]
fn a_flipped_bit_is_never_a_wrong_row() {
    let events = many_events(90);
    let bytes = events_traced(&events);
    let model = model(THREAD, &events);
    let mut noticed = 0;
    // Every bit of the first two chunks, and every thirteenth of the rest.
    let dense = (4096 + 128 + 4096) * 8;
    for bit in (4096 * 8..dense).chain((dense..bytes.len() * 8).step_by(13)) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let trace = Trace::from_bytes(flipped).expect("the header is whole");
        let rows = rows_of(trace.entries(THREAD));
        let mut rest = model.iter();
        assert!(rows.iter().all(|row| rest.any(|known| known == row)), "bit {bit}: a row that never was");
        if rows.len() < model.len() {
            assert!(!trace.damage().is_empty(), "bit {bit}: rows are missing without a word");
            noticed += 1;
        }
    }
    assert!(noticed > 10_000, "only {noticed} flips hit anything");
}

#[test]
fn a_damaged_chunk_says_so_between_the_rows_around_it() {
    let events = many_events(2000);
    let mut bytes = events_traced(&events);
    // Header 4096, counters 128, first step chunk 4096: the middle of the second one.
    bytes[4096 + 128 + 4096 + 5000] ^= 0x10;
    let trace = Trace::from_bytes(bytes).expect("readable");
    assert_eq!(trace.damage().len(), 1);
    assert_eq!(trace.damage()[0].cause, DamageCause::Checksum);
    let offset = trace.damage()[0].offset;
    let entries: Vec<_> = trace.entries(THREAD).collect();
    let place = entries.iter().position(|entry| {
        matches!(entry, Entry::Marker(marker) if matches!(marker.marker,
            Marker::Lost { reason: LostReason::Damaged, detail, .. } if detail == offset))
    });
    let place = place.expect("a marker at the gap");
    let model = model(THREAD, &events);
    assert_eq!(entries[..place], model[..place]);
    let after = &entries[place + 1..];
    assert!(!after.is_empty());
    assert_eq!(after, &model[model.len() - after.len()..]);
}

#[test]
fn a_header_cut_or_flipped_anywhere_is_an_error_that_says_so() {
    let bytes = header().to_bytes().expect("header");
    let json = 24 + u32::from_le_bytes(bytes[16..20].try_into().unwrap()) as usize;
    for cut in 1..json {
        let error = Trace::from_bytes(bytes[..cut].to_vec()).expect_err("cut");
        assert!(
            matches!(error, ReadError::Truncated { length, .. } if length == cut as u64),
            "{cut}: {error}"
        );
    }
    for bit in 0..json * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        Trace::from_bytes(flipped).expect_err("flipped");
    }
}

#[test]
fn what_is_no_trace_is_refused_with_the_next_step() {
    let error = Trace::from_bytes(Vec::new()).expect_err("empty").to_string();
    assert!(error.contains("empty") && error.contains("overstep trace"), "{error}");
    let error = Trace::from_bytes(b"\x7fELF and more".to_vec()).expect_err("foreign").to_string();
    assert!(error.contains("not an overstep trace"), "{error}");
    let mut newer = header().to_bytes().expect("header");
    newer[8] = 3;
    let error = Trace::from_bytes(newer).expect_err("newer").to_string();
    assert!(error.contains("trace format 3.0 is newer than the 2.x"), "{error}");
    let error = Trace::open("/nonexistent/x.ostrace").expect_err("missing").to_string();
    assert!(error.contains("/nonexistent/x.ostrace"), "{error}");
}

#[test]
fn a_newer_minor_version_is_read_without_what_it_added() {
    let mut bytes = traced(|buffer| {
        let mut writer = ThreadWriter::new();
        writer.begin_call(buffer, THREAD, 1, 0, &Registers::default()).unwrap();
    });
    let json = 24 + u32::from_le_bytes(bytes[16..20].try_into().unwrap()) as usize;
    bytes[10] = 9; // minor
    let crc = overstep::record::crc::crc32(&[&bytes[..20], &bytes[24..json]]);
    bytes[20..24].copy_from_slice(&crc.to_le_bytes());
    let trace = Trace::from_bytes(bytes).expect("same major version");
    assert_eq!(trace.entries(THREAD).count(), 1);
}

#[test]
fn code_symbols_and_modules_answer_by_address() {
    let bytes = traced(|buffer| {
        let ranges = [RuntimeAddr(0x1000)..RuntimeAddr(0x3000)];
        let module = ModuleRef {
            id: 4,
            path: b"/bin/a.out",
            bias: overstep::address::Bias(0x1000),
            build_id: &[0xab, 0xcd],
            ranges: &ranges,
        };
        buffer.modules(THREAD, &[module]).unwrap();
        let symbol = SymbolRef {
            start: RuntimeAddr(0x11f8),
            size: 16,
            module: 4,
            name: b"demo::gcd",
            raw: b"_ZN4demo3gcdE",
        };
        for (address, fill) in [(0x1000, 0x90), (0x1200, 0xcc), (0x1000, 0xff)] {
            let mut differs = [0; BLOCK / 8];
            differs[0] = 1;
            let mut start = [0; BLOCK / 8];
            start[63] = 0x01; // offset 504
            let block = CodeBlock {
                address: RuntimeAddr(address),
                bytes: &[fill; BLOCK],
                known: &[0xff; BLOCK / 8],
                start: &start,
                differs: &differs,
                module: 4,
            };
            buffer.code(THREAD, &block, &[symbol]).unwrap();
        }
        let far =
            SymbolRef { start: RuntimeAddr(0x9000), size: 1, module: NO_MODULE, name: b"far", raw: b"far" };
        buffer.symbols(THREAD, &[far]).unwrap();
        let mut writer = ThreadWriter::new();
        let entry = Registers { rip: RuntimeAddr(0x11f8), ..Registers::default() };
        writer.begin_call(buffer, THREAD, 1, 0, &entry).unwrap();
        for (address, next) in [(0x11f8, 0x1200), (0x1200, 0x5000), (0x5000, 0x5001)] {
            writer.step(buffer, &trace_support::plain(address, next)).unwrap();
        }
    });
    let trace = Trace::from_bytes(bytes).expect("readable");
    assert!(trace.damage().is_empty());
    let hit = trace.symbol(RuntimeAddr(0x1203)).expect("inside gcd");
    assert_eq!(
        (hit.symbol.name.as_str(), hit.symbol.raw.as_str(), hit.offset),
        ("demo::gcd", "_ZN4demo3gcdE", 11)
    );
    assert_eq!(trace.symbol(RuntimeAddr(0x9000)).expect("far").symbol.module, None);
    let module = trace.module(RuntimeAddr(0x1203)).expect("a.out");
    assert_eq!((module.path.as_str(), module.build_id.as_slice()), ("/bin/a.out", &[0xab, 0xcd][..]));
    assert_eq!(trace.module(RuntimeAddr(0x3000)), None);
    assert_eq!(trace.boundary(RuntimeAddr(0x11f8)), Boundary::Start);
    assert_eq!(trace.boundary(RuntimeAddr(0x11f9)), Boundary::Inside);
    assert_eq!(trace.boundary(RuntimeAddr(0x1400)), Boundary::Unknown);
    let rows: Vec<_> = trace
        .entries(THREAD)
        .filter_map(|entry| match entry {
            Entry::Step(step) => Some((step.bytes.to_vec(), step.differs_from_file)),
            Entry::Marker(_) => None,
        })
        .collect();
    let across = [[0x90; 8].as_slice(), &[0xcc; 7]].concat();
    assert_eq!(rows, [(across, false), (vec![0xcc; 15], true), (vec![], false)]);
}

/// A trace of each event, as it was written when this version was new, says what it said then.
fn reads_as_ever(name: &str) -> Vec<u8> {
    let path = format!("{}/fixtures/trace/{name}", env!("CARGO_MANIFEST_DIR"));
    let trace = Trace::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(trace.header, header());
    assert!(trace.damage().is_empty());
    let entries: Vec<_> = trace.entries(THREAD).collect();
    assert_eq!(entries, model(THREAD, &trace_support::one_of_each()));
    std::fs::read(path).expect("fixture")
}

/// In which every row has a tag and a distance, and the figures are six.
#[test]
fn the_fixture_of_version_1_reads() {
    let fixture = reads_as_ever("v1.ostrace");
    assert_eq!(fixture[8], 1);
    assert_eq!(Trace::from_bytes(fixture).expect("readable").counters().stand_ins, 0);
}

/// A changed layout gets a version and a fixture of its own; `OVERSTEP_BLESS=1` writes this one, while version 2 is unreleased.
#[test]
fn the_fixture_of_version_2_reads_and_is_still_what_is_written() {
    let written = events_traced(&trace_support::one_of_each());
    if std::env::var_os("OVERSTEP_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/trace/v2.ostrace");
        std::fs::write(path, &written).expect("fixture");
    }
    assert!(reads_as_ever("v2.ostrace") == written, "the layout has changed: raise the version");
}

#[test]
fn two_threads_write_while_a_reader_looks() {
    let memory = MemoryTrace::new(64 << 20).expect("mmap");
    // SAFETY: the threads that use the buffer are joined below, before the memory goes.
    let buffer = unsafe { memory.buffer() };
    let events = many_events(20_000);
    let models = [1, 2].map(|thread| model(thread, &events));
    let mut partial = 0;
    std::thread::scope(|scope| {
        let writers = [1, 2].map(|thread| {
            let events = &events;
            scope.spawn(move || write_events(&buffer, &mut ThreadWriter::new(), thread, events))
        });
        while writers.iter().any(|writer| !writer.is_finished()) {
            let trace = Trace::from_bytes(memory.to_bytes(&header()).expect("header")).expect("readable");
            for (thread, model) in [1, 2].into_iter().zip(&models) {
                let rows: Vec<_> = trace.entries(thread).collect();
                assert!(model.starts_with(&rows), "thread {thread} after {} rows", rows.len());
                partial += usize::from(!rows.is_empty() && rows.len() < model.len());
            }
        }
    });
    let trace = Trace::from_bytes(memory.to_bytes(&header()).expect("header")).expect("readable");
    for (thread, model) in [1, 2].into_iter().zip(&models) {
        assert_eq!(trace.entries(thread).count(), model.len());
    }
    assert!(partial > 0, "the reader never came in between");
}

#[test]
fn without_room_the_last_thing_said_is_lost() {
    let memory = MemoryTrace::new(8192).expect("mmap");
    // SAFETY: used within this function only.
    let buffer = unsafe { memory.buffer() };
    let mut writer = ThreadWriter::new();
    writer.begin_call(&buffer, THREAD, 1, 0, &Registers::default()).unwrap();
    let mut written = 0;
    while writer.step(&buffer, &trace_support::plain(written, written + 1)).is_ok() {
        written += 1;
    }
    let lost = Marker::Lost {
        reason: LostReason::NoRoom,
        expected: RuntimeAddr(u64::MAX),
        found: RuntimeAddr(u64::MAX / 2),
        detail: u64::MAX,
    };
    writer.marker(&buffer, &lost).expect("room is kept for the last words");
    let entries = read(memory.to_bytes(&header()).expect("header"));
    assert_eq!(entries.len() as u64, written + 2);
    assert!(
        matches!(entries.last(), Some(Entry::Marker(last)) if last.marker == lost && last.after == written)
    );
}
