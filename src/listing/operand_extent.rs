//! How much memory an instruction touched, where a row holds the beginning of it only.

use iced_x86::{Instruction, Mnemonic, Register};

use super::rows::StepRow;
use crate::image::operands;

/// Bytes of an operand that a trace holds at most (`docs/trace-format.md`).
const RECORDED: u64 = 64;

/// What is to be said of a row's operands beside their recorded bytes.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    whole: Option<u64>,
    /// A mask decides which elements the instruction touched.
    pub masked: bool,
}

impl Extent {
    #[must_use]
    pub fn of(row: &StepRow) -> Self {
        let masked = row.code.instruction.as_ref().is_some_and(is_masked);
        Self { whole: whole(row), masked }
    }

    /// A repeated instruction that ran no time touched nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.whole == Some(0)
    }

    /// How many bytes there are in all, where those are more than the `size` that a row holds.
    #[must_use]
    pub fn beyond(&self, size: u8) -> Option<u64> {
        self.whole.filter(|whole| *whole > u64::from(size))
    }
}

/// Of each operand how many bytes there are in all: of a repeated string instruction the trace holds the first element, of
/// `fxsave` and its kin the beginning. `None` where all of them are there, or nobody knows.
fn whole(row: &StepRow) -> Option<u64> {
    let instruction = row.code.instruction.as_ref()?;
    let size = u64::from(operands::size(instruction));
    let repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    if repeated && instruction.is_string_instruction() {
        if row.stable.as_ref().is_some_and(|stable| stable.unknown_count) {
            return None;
        }
        return Some(size.saturating_mul(row.entry.count?));
    }
    (size > RECORDED).then_some(size)
}

/// Whether the instruction takes or leaves elements of its operand in memory, or parts of the CPU's state, by a mask in a register: it may touch fewer bytes than
/// the operand has.
#[must_use]
pub fn is_masked(instruction: &Instruction) -> bool {
    use Mnemonic as M;
    let by_register = matches!(
        instruction.mnemonic(),
        M::Maskmovq
            | M::Maskmovdqu
            | M::Vmaskmovdqu
            | M::Vmaskmovps
            | M::Vmaskmovpd
            | M::Vpmaskmovd
            | M::Vpmaskmovq
            | M::Xrstor
            | M::Xrstor64
            | M::Xsave
            | M::Xsave64
            | M::Xsavec
            | M::Xsavec64
            | M::Xsaveopt
            | M::Xsaveopt64
    );
    by_register || instruction.op_mask() != Register::None
}

#[cfg(test)]
mod tests {
    use crate::address::RuntimeAddr;
    use crate::check::synthetic::{Synthetic, THREAD};
    use crate::listing::column::Column;
    use crate::listing::golden::{leak, text_of};
    use crate::listing::options::Options;
    use crate::record::step::{Access, MemoryAccess};

    fn listed(bytes: &'static [u8], size: u8, count: Option<u64>) -> String {
        let mut trace = Synthetic::new();
        trace.header.memory = true;
        trace.enter(THREAD, 1, 0x1100);
        let access =
            MemoryAccess { access: Access::Write, address: RuntimeAddr(0x5000), size, value: [0; 64] };
        let next = 0x1100 + bytes.len() as u64;
        trace.step(
            next,
            |_| {},
            |step| {
                (step.bytes, step.count, step.memory) = (Some(bytes), count, leak([access]));
            },
        );
        text_of(&trace.read(), &Options { columns: vec![Column::Memory], ..Options::default() })
    }

    #[test]
    fn a_mask_chooses_elements() {
        // vpmaskmovd [rax],ymm1,ymm2; vmovdqu32 [rax]{k1},zmm0; vmovdqu [rax],ymm0
        assert!(listed(&[0xc4, 0xe2, 0x75, 0x8e, 0x10], 32, None).contains("write up to 32 "));
        assert!(listed(&[0x62, 0xf1, 0x7e, 0x49, 0x7f, 0x00], 64, None).contains("write up to 64 "));
        assert!(listed(&[0xc5, 0xfe, 0x7f, 0x00], 32, None).contains("write 32 "));
    }

    #[test]
    fn what_is_left_out_is_said() {
        // rep movsb, rep stosq, fxsave [rax], mov [rax],ecx
        assert!(listed(&[0xf3, 0xa4], 1, Some(100)).contains("=0x0 … 1 of 100 bytes"));
        assert!(!listed(&[0xf3, 0x48, 0xab], 8, Some(1)).contains(" of "));
        assert!(!listed(&[0xf3, 0xa4], 1, Some(0)).contains("write"), "it did not run");
        assert!(listed(&[0x0f, 0xae, 0x00], 64, None).contains(" … 64 of 512 bytes"));
        assert!(listed(&[0x0f, 0xae, 0x20], 64, None).contains(" … 64 of 576 bytes"), "xsave");
        assert!(!listed(&[0x89, 0x08], 4, None).contains(" of "));
    }
}
