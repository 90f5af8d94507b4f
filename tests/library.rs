//! The library's `Tracer` on functions of this test program.

#![allow(unsafe_code, reason = "a function of the C library is called")]

use overstep::record::control::{Delivery, Engine, Into, StepMode};
use overstep::record::marker::Marker;
use overstep::{Recorded, Tracer};

#[inline(never)]
extern "C" fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn tracers() -> [(&'static str, Tracer); 4] {
    let breakpoint = Tracer::new().engine(Engine::Breakpoint);
    [
        ("breakpoint/sigtrap", breakpoint.clone().delivery(Delivery::Sigtrap)),
        ("breakpoint/fasync", breakpoint.clone().delivery(Delivery::Fasync)),
        ("trap-flag", Tracer::new().engine(Engine::TrapFlag)),
        ("breakpoint/sigtrap, blocks", breakpoint.delivery(Delivery::Sigtrap).step(StepMode::Block)),
    ]
}

/// Address and depth of every row.
fn path(trace: &Recorded) -> Vec<(u64, u32)> {
    trace.steps().map(|step| (step.address.0, step.depth)).collect()
}

#[test]
fn every_engine_sees_the_same_path() {
    let mut first = None;
    for (name, tracer) in tracers() {
        let (value, trace) =
            tracer.function(gcd as *const ()).trace(|| gcd(48, 18)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(value, 6, "{name}");
        let summary = trace.summary();
        assert!(summary.all_expected(), "{name}: {summary:?}");
        assert_eq!((summary.entered, summary.traced), (1, 1), "{name}");
        let leave = trace.markers().find_map(|marker| match marker {
            Marker::Leave { rax, .. } => Some(rax),
            _ => None,
        });
        assert_eq!(leave, Some(6), "{name}");
        let path = path(&trace);
        assert!(path.len() > 10, "{name}: {path:?}");
        let mut text = Vec::new();
        trace.write_text(&mut text).unwrap();
        if name == "breakpoint/sigtrap" {
            println!("{}", String::from_utf8_lossy(&text));
        }
        match &first {
            None => first = Some(path),
            Some(first) => assert_eq!(&path, first, "{name}"),
        }
    }
}

/// The library's handler may call libc's memory routines, as the compiler sees fit: libc is never stepped, or the
/// handler would meet its own breakpoint.
#[test]
fn libc_runs_natively_with_everything_in_scope() {
    extern "C" fn compare(a: *const std::ffi::c_void, b: *const std::ffi::c_void) -> i32 {
        // SAFETY: qsort passes pointers to two elements of the array below.
        unsafe { (*a.cast::<u64>()).cmp(&*b.cast::<u64>()) as i32 }
    }
    let mut numbers: Vec<u64> = (0..24).map(|n| n * 7 % 24).collect();
    let sort = || {
        let (length, width) = (numbers.len(), size_of::<u64>());
        // SAFETY: an array of `length` elements of `width` bytes, and a comparison of two of them.
        unsafe { libc::qsort(numbers.as_mut_ptr().cast(), length, width, Some(compare)) }
    };
    let ((), trace) = Tracer::new().into(Into::All).trace(sort).unwrap();
    assert!(numbers.is_sorted());
    assert!(trace.summary().all_expected(), "{:?}", trace.summary());
    let qsort = libc::qsort as *const () as u64;
    let left = |marker| matches!(marker, Marker::Native { target, .. } if target.0 == qsort);
    assert!(trace.markers().any(left), "{:?}", trace.markers().collect::<Vec<_>>());
}
