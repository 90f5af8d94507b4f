//! Whose instruction set a trace was recorded on.

use crate::image::decode::Vendor;
use crate::record::header::DecoderVendor;
use crate::record::reader::Trace;

/// The rules by which the trace's instructions are decoded, wherever they are looked at.
#[must_use]
pub const fn vendor_of(trace: &Trace) -> Vendor {
    match trace.header.decoder {
        DecoderVendor::Intel => Vendor::Intel,
        DecoderVendor::Amd => Vendor::Amd,
    }
}
