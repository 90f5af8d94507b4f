//! What the agent writes about the files mapped into the process.

use crate::address::{Bias, RuntimeAddr};
use std::ops::Range;

/// One module. Later ones win where ranges overlap: a `dlopen` may reuse a closed library's addresses.
#[derive(Clone, Copy, Debug)]
pub struct ModuleRef<'a> {
    /// Any number that no other module of the trace has.
    pub id: u32,
    pub path: &'a [u8],
    pub bias: Bias,
    /// The `NT_GNU_BUILD_ID` note, empty where the file has none.
    pub build_id: &'a [u8],
    /// The executable ranges, in the process.
    pub ranges: &'a [Range<RuntimeAddr>],
}
