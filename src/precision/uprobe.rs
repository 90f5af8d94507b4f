//! Where a uprobe goes: a file and a place in it (Linux `kernel/trace/trace_event_perf.c`, `perf_uprobe_init`).

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;

use crate::address::{FileOffset, RuntimeAddr};
use crate::image::process::Process;

/// `attr.type` of uprobes here; a number that no PMU has where there are none.
pub(super) fn kind() -> u32 {
    let kind = std::fs::read_to_string("/sys/bus/event_source/devices/uprobe/type");
    kind.ok().and_then(|kind| kind.trim().parse().ok()).unwrap_or(u32::MAX)
}

/// This executable's file, and where in it lies what is mapped at `address`.
pub(super) fn place(address: RuntimeAddr) -> (&'static CStr, FileOffset) {
    static FILE: OnceLock<CString> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let path = std::fs::read_link("/proc/self/exe").map(|path| path.into_os_string().into_vec());
        path.ok().and_then(|path| CString::new(path).ok()).unwrap_or_default()
    });
    let mappings = Process::own().maps().unwrap_or_default();
    let mapping = mappings.into_iter().find(|mapping| mapping.range.contains(&address));
    let offset = mapping.map_or(0, |it| it.offset.0 + address.since(it.range.start));
    (file, FileOffset(offset))
}
