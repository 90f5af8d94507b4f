//! A program's `perf_event_attr`, and whether the emulated PMU counts what it asks for.

use std::arch::x86_64::__cpuid;

use nix::errno::Errno;
use nix::unistd::Pid;
use perf_event_open_sys::bindings as sys;

use super::memory;
use crate::address::RuntimeAddr;

pub use sys::perf_event_attr as Attr;

/// `PERF_ATTR_SIZE_VER0`: the size that a zero in `attr.size` stands for.
const FIRST_SIZE: usize = 64;
/// Where `attr.size` lies.
const SIZE_AT: u64 = 4;

/// What the emulated PMU can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Instructions,
    /// As many as instructions: one a cycle.
    Cycles,
    Branches,
    ConditionalBranches,
    /// The kernel's part alone (`attr.exclude_user`), of which nothing is seen here.
    Nothing,
}

/// What retired since the last look, in one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retired {
    pub instructions: u32,
    pub branches: u32,
    pub conditional: u32,
}

impl Counted {
    #[must_use]
    pub fn of(self, retired: Retired) -> u32 {
        match self {
            Self::Instructions | Self::Cycles => retired.instructions,
            Self::Branches => retired.branches,
            Self::ConditionalBranches => retired.conditional,
            Self::Nothing => 0,
        }
    }

    /// What `attr` asks for; `None` when this PMU lacks it.
    #[must_use]
    pub fn asked(attr: &Attr) -> Option<Self> {
        let counted = match attr.type_ {
            // The upper half of `config` names a PMU on hybrid CPUs (`PERF_PMU_TYPE_SHIFT`); there is only one here.
            sys::PERF_TYPE_HARDWARE if attr.config >> 32 == 0 => Self::generic(attr.config as u32),
            sys::PERF_TYPE_RAW => Self::raw(attr.config, Vendor::here()),
            _ => None,
        }?;
        Some(if attr.exclude_user() == 1 { Self::Nothing } else { counted })
    }

    fn generic(config: u32) -> Option<Self> {
        match config {
            sys::PERF_COUNT_HW_INSTRUCTIONS => Some(Self::Instructions),
            sys::PERF_COUNT_HW_CPU_CYCLES | sys::PERF_COUNT_HW_REF_CPU_CYCLES => Some(Self::Cycles),
            sys::PERF_COUNT_HW_BRANCH_INSTRUCTIONS => Some(Self::Branches),
            _ => None,
        }
    }

    /// The encodings of these events in the vendor's manual: event select in bits 0 to 7, AMD's also in 32 to 35, and unit mask
    /// in 8 to 15. Edges, inversion and thresholds make another event of it (`X86_RAW_EVENT_MASK`); what else there is the
    /// kernel overrules.
    fn raw(config: u64, vendor: Vendor) -> Option<Self> {
        const EDGE_INVERSION_THRESHOLD: u64 = 1 << 18 | 1 << 23 | 0xff << 24;
        const AMD_EVENT: u64 = 0xf << 32;
        let select = match vendor {
            Vendor::Intel => 0xffff | EDGE_INVERSION_THRESHOLD,
            Vendor::Amd => 0xffff | EDGE_INVERSION_THRESHOLD | AMD_EVENT,
        };
        match (config & select, vendor) {
            (0x00c0, _) => Some(Self::Instructions),
            (0x003c, Vendor::Intel) | (0x0076, Vendor::Amd) => Some(Self::Cycles),
            (0x00c4, Vendor::Intel) | (0x00c2, Vendor::Amd) => Some(Self::Branches),
            (0x01c4, Vendor::Intel) | (0x00d1, Vendor::Amd) => Some(Self::ConditionalBranches),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vendor {
    Intel,
    Amd,
}

impl Vendor {
    fn here() -> Self {
        // "GenuineIntel" begins with these four bytes in EBX; everybody else counts by AMD's table.
        if __cpuid(0).ebx == u32::from_le_bytes(*b"Genu") { Self::Intel } else { Self::Amd }
    }
}

/// Reads the struct at `from`, with zeros for the fields an older program does not have.
///
/// # Errors
/// EFAULT; E2BIG for a size that no kernel takes.
pub fn read(thread: Pid, from: RuntimeAddr) -> Result<Attr, Errno> {
    let stated = u32::from_ne_bytes(memory::read(thread, from.plus(SIZE_AT))?) as usize;
    let size = if stated == 0 { FIRST_SIZE } else { stated };
    if size < FIRST_SIZE {
        return Err(Errno::E2BIG);
    }
    let mut bytes = [0; size_of::<Attr>()];
    let known = size.min(bytes.len());
    memory::read_exact(thread, from, &mut bytes[..known])?;
    Ok(decode(&bytes))
}

#[allow(unsafe_code, reason = "a plain struct is made of its bytes")]
fn decode(bytes: &[u8; size_of::<Attr>()]) -> Attr {
    // SAFETY:
    // - the struct consists of integers and unions of them: every bit pattern is a value;
    // - read_unaligned asks for no alignment.
    unsafe { bytes.as_ptr().cast::<Attr>().read_unaligned() }
}

/// As the kernel reads it.
#[allow(unsafe_code, reason = "a plain struct is its bytes")]
#[must_use]
pub fn encode(attr: &Attr) -> &[u8] {
    // SAFETY: the struct consists of integers and unions of them, without padding, and outlives the slice.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(attr).cast(), size_of::<Attr>()) }
}

/// What a sample may carry here (`PERF_SAMPLE_*`).
const SAMPLED: u64 = (sys::PERF_SAMPLE_IP
    | sys::PERF_SAMPLE_TID
    | sys::PERF_SAMPLE_TIME
    | sys::PERF_SAMPLE_ADDR
    | sys::PERF_SAMPLE_READ
    | sys::PERF_SAMPLE_ID
    | sys::PERF_SAMPLE_CPU
    | sys::PERF_SAMPLE_PERIOD
    | sys::PERF_SAMPLE_STREAM_ID
    | sys::PERF_SAMPLE_IDENTIFIER) as u64;

/// The bits of `aux_start_paused`, `aux_pause` and `aux_resume` (Linux 6.13), where older headers have `__reserved_3`, of which
/// an older kernel takes nothing.
const AUX_START_PAUSED: u32 = 1;
const AUX_PAUSE_OR_RESUME: u32 = 6;

/// Whether it can only stand in the group of an event with an AUX area, of which there is none here (`kernel/events/core.c`,
/// `perf_need_aux_event`).
#[must_use]
pub fn needs_aux(attr: &Attr) -> bool {
    attr.aux_sample_size != 0 || attr.__reserved_3 & AUX_PAUSE_OR_RESUME != 0
}

/// Whether the event asks only for what is emulated: no frequencies, no precise samples, no stacks or registers.
///
/// # Errors
/// EOPNOTSUPP, as of a PMU that lacks it. EINVAL: no such clock.
pub fn supported(attr: &Attr) -> Result<(), Errno> {
    clock(attr)?;
    let lacking = attr.freq() == 1
        || attr.aux_output() == 1
        || attr.__reserved_3 & AUX_START_PAUSED != 0
        || attr.precise_ip() > 0
        || attr.sample_type & !SAMPLED != 0;
    if lacking { Err(Errno::EOPNOTSUPP) } else { Ok(()) }
}

/// The clock of its records (`kernel/events/core.c`, `perf_event_set_clock`).
///
/// # Errors
/// EINVAL: none of those that the kernel takes.
pub fn clock(attr: &Attr) -> Result<libc::clockid_t, Errno> {
    const TAKEN: [libc::clockid_t; 5] = [
        libc::CLOCK_REALTIME,
        libc::CLOCK_MONOTONIC,
        libc::CLOCK_MONOTONIC_RAW,
        libc::CLOCK_BOOTTIME,
        libc::CLOCK_TAI,
    ];
    match attr.clockid {
        _ if attr.use_clockid() == 0 => Ok(SCHEDULERS),
        asked if TAKEN.contains(&asked) => Ok(asked),
        _ => Err(Errno::EINVAL),
    }
}

/// Without a choice: the scheduler's, which no id stands for.
pub const SCHEDULERS: libc::clockid_t = -1;

/// The sampling period; 0 for an event that only counts.
#[must_use]
pub fn period(attr: &Attr) -> u64 {
    #[allow(unsafe_code, reason = "a union of two u64 of the same meaning")]
    // SAFETY: both fields of the union are u64.
    unsafe {
        attr.__bindgen_anon_1.sample_period
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_events_are_the_vendors() {
        assert_eq!(Counted::raw(0x00c0, Vendor::Amd), Some(Counted::Instructions));
        assert_eq!(Counted::raw(0x00c4, Vendor::Intel), Some(Counted::Branches));
        assert_eq!(Counted::raw(0x00c4, Vendor::Amd), None);
        assert_eq!(Counted::raw(0x5101c4, Vendor::Intel), Some(Counted::ConditionalBranches));
        assert_eq!(Counted::raw(0x0129, Vendor::Amd), None);
        for changed in [0x1_0000_00c0, 0x0180_00c0, 0x0004_00c0, 0x0100_00c0] {
            assert_eq!(Counted::raw(changed, Vendor::Amd), None, "{changed:#x}");
        }
        assert_eq!(Counted::raw(0x0180_00c0, Vendor::Intel), None);
    }

    #[test]
    fn unsupported_samples_are_refused() {
        let mut attr = Attr::default();
        attr.sample_type = sys::PERF_SAMPLE_IP as u64;
        assert_eq!(supported(&attr), Ok(()));
        attr.sample_type |= u64::from(sys::PERF_SAMPLE_CALLCHAIN);
        assert_eq!(supported(&attr), Err(Errno::EOPNOTSUPP));
        attr.sample_type = 0;
        attr.set_freq(1);
        assert_eq!(supported(&attr), Err(Errno::EOPNOTSUPP));
    }

    #[test]
    fn an_aux_area_is_refused_where_the_kernel_looks_for_it() {
        let with = |size, actions| {
            let mut attr = Attr::default();
            (attr.aux_sample_size, attr.__reserved_3) = (size, actions);
            attr
        };
        assert_eq!(supported(&with(0, AUX_START_PAUSED)), Err(Errno::EOPNOTSUPP));
        for attr in [with(8, 0), with(0, 2), with(0, 4)] {
            assert_eq!((supported(&attr), needs_aux(&attr)), (Ok(()), true));
        }
        assert!(!needs_aux(&Attr::default()));
    }
}
