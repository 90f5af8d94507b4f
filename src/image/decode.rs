//! Bytes to one instruction, as this vendor's CPUs read them.

#![allow(unsafe_code, reason = "CPUID is an intrinsic that older compilers mark unsafe")]

use super::access_table;
use crate::address::RuntimeAddr;
use iced_x86::{Code, Decoder, DecoderError, DecoderOptions, Instruction, OpKind};
use std::mem::ManuallyDrop;

/// The longest instruction, in bytes (SDM volume 2, section 2.3.11).
pub const MAX_LENGTH: usize = 15;

/// Whose CPU it is. Near branches with a 66 prefix have another length on each (APM volume 3, section 1.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Vendor {
    /// Intel, and those who follow it: the operand-size prefix of a near branch is ignored.
    Intel = 1,
    /// AMD and Hygon: the prefix makes the branch 16 bits wide and cuts RIP to 16 bits.
    Amd = 2,
}

/// The code segment's default width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bitness {
    Bits64 = 64,
    /// Compatibility mode, after a far transfer to a 32-bit code segment.
    Bits32 = 32,
}

/// Why bytes are no instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undecodable {
    #[error("the bytes end inside an instruction; read up to 15 bytes from its start")]
    NoMoreBytes,
    #[error("the CPU has no such instruction (it would raise #UD)")]
    Invalid,
}

impl Vendor {
    /// The running CPU's vendor, by CPUID leaf 0. CPUID exits to the hypervisor in a VM: ask once, keep it.
    #[must_use]
    pub fn of_this_cpu() -> Self {
        #[allow(unused_unsafe, reason = "safe from Rust 1.94 on")]
        // SAFETY: every x86_64 CPU has CPUID leaf 0 (SDM volume 2, CPUID).
        let leaf = unsafe { std::arch::x86_64::__cpuid(0) };
        let mut name = [0u8; 12];
        for (part, register) in name.chunks_exact_mut(4).zip([leaf.ebx, leaf.edx, leaf.ecx]) {
            part.copy_from_slice(&register.to_le_bytes());
        }
        match &name {
            b"AuthenticAMD" | b"HygonGenuine" => Self::Amd,
            _ => Self::Intel,
        }
    }

    const fn decoder_options(self) -> u32 {
        match self {
            Self::Intel => DecoderOptions::NONE,
            Self::Amd => DecoderOptions::AMD,
        }
    }
}

/// Decodes the 64-bit instruction at `ip`, whose bytes `bytes` starts with.
///
/// # Errors
/// [`Undecodable`]. Up to 15 bytes are looked at; hand in as many as are readable. Of an invalid opcode
/// whose next byte is missing it says `NoMoreBytes`.
///
/// # Signal safety
/// Reads `bytes` and iced-x86's tables, which [`warm_up`] must have built in this process.
#[inline]
pub fn decode(bytes: &[u8], ip: RuntimeAddr, vendor: Vendor) -> Result<Instruction, Undecodable> {
    decode_as(bytes, ip, vendor, Bitness::Bits64)
}

/// [`decode`] for a code segment of either width.
///
/// # Errors
/// [`Undecodable`].
///
/// # Signal safety
/// As [`decode`].
pub fn decode_as(
    bytes: &[u8],
    ip: RuntimeAddr,
    vendor: Vendor,
    bitness: Bitness,
) -> Result<Instruction, Undecodable> {
    let amd = vendor == Vendor::Amd;
    let (mut instruction, error) = decode_with(bytes, ip, bitness, vendor.decoder_options());
    match error {
        DecoderError::None => {
            if amd {
                repeat_prefix_on_loop(&mut instruction);
            }
            Ok(instruction)
        }
        DecoderError::NoMoreBytes => Err(Undecodable::NoMoreBytes),
        _ if amd => locked_verw(bytes, ip, bitness).ok_or(Undecodable::Invalid),
        _ => Err(Undecodable::Invalid),
    }
}

fn decode_with(bytes: &[u8], ip: RuntimeAddr, bitness: Bitness, options: u32) -> (Instruction, DecoderError) {
    let mut instruction = Instruction::default();
    // The width is a valid one and the slice cannot wrap, so the constructor's error is never seen.
    let mut made = ManuallyDrop::new(Decoder::try_with_ip(bitness as u32, bytes, ip.0, options));
    // Borrowed where it lies, since moving it out would be a call of libc's memcpy; never dropped, since only the
    // error would have anything to free.
    let Ok(decoder) = &mut *made else {
        return (instruction, DecoderError::InvalidInstruction);
    };
    decoder.decode_out(&mut instruction);
    (instruction, decoder.last_error())
}

/// AMD CPUs whose microcode gave `verw` a second job (clearing buffers) run it with a lock prefix, which is #UD by
/// the manual (APM volume 3, VERW). `tests/successor_cpu` found it on Zen 4. A CPU without that microcode faults,
/// which any prediction allows for.
fn locked_verw(bytes: &[u8], ip: RuntimeAddr, bitness: Bitness) -> Option<Instruction> {
    let options = DecoderOptions::AMD | DecoderOptions::NO_INVALID_CHECK;
    let (instruction, error) = decode_with(bytes, ip, bitness, options);
    let is_verw = matches!(instruction.code(), Code::Verw_rm16 | Code::Verw_r32m16 | Code::Verw_r64m16);
    let from_memory = instruction.op0_kind() != OpKind::Register;
    (error == DecoderError::None && is_verw && from_memory && instruction.has_lock_prefix())
        .then_some(instruction)
}

/// On AMD a repeat prefix decides what `loope` and `loopne` wait for, whatever the opcode says: with F3 both are
/// `loope`, with F2 both are `loopne`. No manual says so; `tests/successor_cpu` found it on Zen 4.
fn repeat_prefix_on_loop(instruction: &mut Instruction) {
    const PAIRS: [(Code, Code); 7] = [
        (Code::Loope_rel8_64_RCX, Code::Loopne_rel8_64_RCX),
        (Code::Loope_rel8_64_ECX, Code::Loopne_rel8_64_ECX),
        (Code::Loope_rel8_16_RCX, Code::Loopne_rel8_16_RCX),
        (Code::Loope_rel8_16_ECX, Code::Loopne_rel8_16_ECX),
        (Code::Loope_rel8_32_ECX, Code::Loopne_rel8_32_ECX),
        (Code::Loope_rel8_32_CX, Code::Loopne_rel8_32_CX),
        (Code::Loope_rel8_16_CX, Code::Loopne_rel8_16_CX),
    ];
    let code = instruction.code();
    let (equal, not_equal) = (instruction.has_rep_prefix(), instruction.has_repne_prefix());
    if !(equal || not_equal) {
        return;
    }
    if let Some(&(loope, loopne)) = PAIRS.iter().find(|(one, two)| code == *one || code == *two) {
        instruction.set_code(if equal { loope } else { loopne });
    }
}

/// Builds every table that decoding and operand listing look things up in. Allocates: call it before arming.
///
/// The tables outlive `fork`; a process made by `exec` needs its own call.
pub fn warm_up() {
    let nop = decode(&[0x90], RuntimeAddr(0), Vendor::Intel);
    debug_assert!(nop.is_ok());
    access_table::build();
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::Code;

    fn code_and_length(bytes: &[u8], vendor: Vendor) -> (Code, usize) {
        let instruction = decode(bytes, RuntimeAddr(0x1000), vendor).unwrap();
        (instruction.code(), instruction.len())
    }

    #[test]
    fn a_66_prefixed_call_has_another_length_on_each_vendor() {
        let bytes = [0x66, 0xe8, 0x10, 0x00, 0x00, 0x00];
        assert_eq!(code_and_length(&bytes, Vendor::Intel), (Code::Call_rel32_64, 6));
        assert_eq!(code_and_length(&bytes, Vendor::Amd), (Code::Call_rel16, 4));
    }

    #[test]
    fn a_66_prefixed_near_conditional_has_another_length_on_each_vendor() {
        let bytes = [0x66, 0x0f, 0x84, 0x10, 0x00, 0x00, 0x00];
        assert_eq!(code_and_length(&bytes, Vendor::Intel), (Code::Je_rel32_64, 7));
        assert_eq!(code_and_length(&bytes, Vendor::Amd), (Code::Je_rel16, 5));
    }

    #[test]
    fn a_66_prefixed_return_pops_two_bytes_on_amd_only() {
        assert_eq!(code_and_length(&[0x66, 0xc3], Vendor::Intel), (Code::Retnq, 2));
        assert_eq!(code_and_length(&[0x66, 0xc3], Vendor::Amd), (Code::Retnw, 2));
    }

    #[test]
    fn a_repeat_prefix_turns_loops_around_on_amd_only() {
        assert_eq!(code_and_length(&[0xf2, 0xe1, 0], Vendor::Intel), (Code::Loope_rel8_64_RCX, 3));
        assert_eq!(code_and_length(&[0xf2, 0xe1, 0], Vendor::Amd), (Code::Loopne_rel8_64_RCX, 3));
        assert_eq!(code_and_length(&[0xf3, 0x67, 0xe0, 0], Vendor::Amd), (Code::Loope_rel8_64_ECX, 4));
        assert_eq!(code_and_length(&[0xe0, 0], Vendor::Amd), (Code::Loopne_rel8_64_RCX, 2));
    }

    #[test]
    fn verw_takes_a_lock_prefix_on_amd_only() {
        let bytes = [0xf0, 0x0f, 0x00, 0x2f, 0x90];
        let at = RuntimeAddr(0x1000);
        assert_eq!(decode(&bytes, at, Vendor::Intel), Err(Undecodable::Invalid));
        assert_eq!(code_and_length(&bytes, Vendor::Amd), (Code::Verw_r32m16, 4));
        // Neither from a register nor of its neighbour.
        assert_eq!(decode(&[0xf0, 0x0f, 0x00, 0xef], at, Vendor::Amd), Err(Undecodable::Invalid));
        assert_eq!(decode(&[0xf0, 0x0f, 0x00, 0x27, 0x90], at, Vendor::Amd), Err(Undecodable::Invalid));
    }

    #[test]
    fn cut_and_invalid_bytes_are_told_apart() {
        let at = RuntimeAddr(0x1000);
        assert_eq!(decode(&[], at, Vendor::Intel), Err(Undecodable::NoMoreBytes));
        assert_eq!(decode(&[0x48], at, Vendor::Intel), Err(Undecodable::NoMoreBytes));
        assert_eq!(decode(&[0x06, 0x00], at, Vendor::Intel), Err(Undecodable::Invalid));
        assert_eq!(decode(&[0x66; 15], at, Vendor::Intel), Err(Undecodable::Invalid));
    }

    #[test]
    fn the_same_byte_means_another_thing_in_32_bit_code() {
        let at = RuntimeAddr(0x1000);
        let inc = decode_as(&[0x40, 0x90], at, Vendor::Intel, Bitness::Bits32).unwrap();
        assert_eq!((inc.code(), inc.len()), (Code::Inc_r32, 1));
        assert_eq!(code_and_length(&[0x40, 0x90], Vendor::Intel), (Code::Nopd, 2));
    }

    #[test]
    fn this_cpu_has_the_vendor_that_the_kernel_names() {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let amd = cpuinfo.contains("AuthenticAMD") || cpuinfo.contains("HygonGenuine");
        assert_eq!(Vendor::of_this_cpu(), if amd { Vendor::Amd } else { Vendor::Intel });
    }
}
