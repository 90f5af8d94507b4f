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
            sys::PERF_TYPE_HARDWARE => Self::generic(attr.config as u32),
            sys::PERF_TYPE_RAW => Self::raw(attr.config, Vendor::here()),
            _ => None,
        }?;
        Some(if attr.exclude_user() == 1 { Self::Nothing } else { counted })
    }

    /// The upper half of `config` names a PMU on hybrid CPUs (`PERF_PMU_TYPE_SHIFT`); there is only one here.
    fn generic(config: u32) -> Option<Self> {
        match config {
            sys::PERF_COUNT_HW_INSTRUCTIONS => Some(Self::Instructions),
            sys::PERF_COUNT_HW_CPU_CYCLES | sys::PERF_COUNT_HW_REF_CPU_CYCLES => Some(Self::Cycles),
            sys::PERF_COUNT_HW_BRANCH_INSTRUCTIONS => Some(Self::Branches),
            _ => None,
        }
    }

    /// The encodings of these events in the vendor's manual: event select in bits 0 to 7, unit mask in 8 to 15.
    fn raw(config: u64, vendor: Vendor) -> Option<Self> {
        match (config & 0xffff, vendor) {
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

/// Whether the event asks only for what is emulated: no frequencies, no precise samples, no stacks or registers.
///
/// # Errors
/// EOPNOTSUPP, as of a PMU that lacks it.
pub fn supported(attr: &Attr) -> Result<(), Errno> {
    let lacking = attr.freq() == 1 || attr.precise_ip() > 0 || attr.sample_type & !SAMPLED != 0;
    if lacking { Err(Errno::EOPNOTSUPP) } else { Ok(()) }
}

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
}
