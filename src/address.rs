//! Addresses, each kind a type of its own, so that a file offset never meets a runtime address unnoticed.

use std::fmt;

/// An address in the traced process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct RuntimeAddr(pub u64);

/// An address as an ELF file states it (`p_vaddr`, `st_value`), before the load bias is added, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ElfAddr(pub u64);

/// A position in a file, in bytes from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FileOffset(pub u64);

/// What the loader added to every [`ElfAddr`] of a module to get its [`RuntimeAddr`]; 0 for a non-PIE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Bias(pub u64);

impl RuntimeAddr {
    /// This address moved on by `bytes`, wrapping as the CPU does.
    #[inline]
    #[must_use]
    pub const fn plus(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// Distance in bytes from `earlier` to this address, wrapping.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.wrapping_sub(earlier.0)
    }

    /// The address the module's ELF file gives this place.
    #[inline]
    #[must_use]
    pub const fn in_elf(self, bias: Bias) -> ElfAddr {
        ElfAddr(self.0.wrapping_sub(bias.0))
    }
}

impl ElfAddr {
    /// Where this place lies in the process, given the module's load bias.
    #[inline]
    #[must_use]
    pub const fn at(self, bias: Bias) -> RuntimeAddr {
        RuntimeAddr(self.0.wrapping_add(bias.0))
    }
}

macro_rules! hex_display {
    ($($t:ty),*) => {$(
        impl fmt::Display for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
        impl fmt::LowerHex for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::LowerHex::fmt(&self.0, f)
            }
        }
    )*};
}
hex_display!(RuntimeAddr, ElfAddr, FileOffset, Bias);
