//! By which way control leaves the code that is stepped.

use std::rc::Rc;

use iced_x86::Mnemonic;

use super::code::Code;
use super::kind::Kind;
use super::rows::StepRow;
use crate::address::RuntimeAddr;
use crate::record::reader::Trace;

/// How a stub of the linkage table is named.
pub const LINKAGE: &str = "@plt";

/// One way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// A call or jump straight there.
    Straight,
    /// Through a slot of the global offset table; the function's name as the linker has it.
    Slot(Rc<str>),
    /// Through this stub of the linkage table.
    Stub(RuntimeAddr),
    /// Through this stub to the dynamic linker, which looks the function up and goes on there.
    Binding(RuntimeAddr),
}

/// The stub of the linkage table that control is on its way through.
#[derive(Debug, Default)]
pub struct Leaving {
    stub: Option<RuntimeAddr>,
    /// Of the last stretch out of scope that a stub led to: where it is to come back, and the stub.
    left: Option<(RuntimeAddr, RuntimeAddr)>,
}

impl Leaving {
    /// Follows a row. A stub is a jump through a slot, or while the slot is not filled yet, a push and a jump to the table's
    /// first entry, which has no name and jumps to the dynamic linker.
    pub fn step(&mut self, trace: &Trace, row: &StepRow) {
        let in_stub = || {
            let mnemonic = row.code.instruction.map(|it| it.mnemonic());
            mnemonic.is_some_and(|it| {
                matches!(it, Mnemonic::Jmp | Mnemonic::Push | Mnemonic::Endbr64 | Mnemonic::Nop)
            })
        };
        match trace.symbol(row.entry.address).map(|hit| (hit.symbol.raw.ends_with(LINKAGE), hit.offset)) {
            Some((true, 0)) => self.stub = Some(row.entry.address),
            Some((true, _)) | None if in_stub() => {}
            _ => self.stub = None,
        }
    }

    /// Follows a marker: what comes behind it does not go through the stub before it.
    pub fn marker(&mut self) {
        self.stub = None;
    }

    /// By which way control left behind the `last` row, to come back at `resume`.
    #[must_use]
    pub fn way(&mut self, trace: &Trace, last: Option<(RuntimeAddr, &Code)>, resume: RuntimeAddr) -> Way {
        let Some(stub) = self.stub else {
            // What was called back returns into what called it.
            let returns = last.is_some_and(|(_, code)| code.kind == Kind::Return);
            if let Some((_, stub)) = self.left.filter(|(back, _)| returns && *back == resume) {
                return Way::Stub(stub);
            }
            let through = last.and_then(|(_, code)| code.through.clone());
            return through.map_or(Way::Straight, Way::Slot);
        };
        self.left = Some((resume, stub));
        let in_stub = |at| trace.symbol(at).is_some_and(|hit| hit.symbol.raw.ends_with(LINKAGE));
        if last.is_some_and(|(at, _)| in_stub(at)) { Way::Stub(stub) } else { Way::Binding(stub) }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::synthetic::{Synthetic, THREAD, at};
    use crate::listing::golden::text_of;
    use crate::listing::options::Options;
    use crate::record::marker::Marker;

    /// A call of `puts@plt`, and rows by their bytes up to where control leaves for `target`.
    fn left(rows: &[(u64, &'static [u8])], target: u64) -> String {
        let mut trace = Synthetic::new();
        trace.enter(THREAD, 1, 0x1168);
        trace.step(rows[0].0, |_| {}, |_| {});
        for (i, (_, bytes)) in rows.iter().enumerate() {
            let next = rows.get(i + 1).map_or(target, |(next, _)| *next);
            trace.step(next, |_| {}, |step| step.bytes = Some(bytes));
        }
        trace.marker(Marker::Native { target: at(target), resume: at(0x116d) });
        trace.registers.rip = at(0x116d);
        trace.step(0x1172, |_| {}, |_| {});
        let text = text_of(&trace.read(), &Options::default());
        let words = text.lines().find_map(|line| line.split_once("native: ")).unwrap().1;
        words.split_once(", stepped").unwrap().0.to_owned()
    }

    const JUMP: &[u8] = &[0xff, 0x25, 0, 0, 0, 0];
    const PUSH: &[u8] = &[0x68, 0, 0, 0, 0];

    #[test]
    fn a_slot_that_is_not_filled_yet_leads_to_the_function_all_the_same() {
        let unfilled: [(u64, &[u8]); 5] = [
            (0x1030, JUMP),
            (0x1036, PUSH),
            (0x103b, &[0xe9, 0xe0, 0xff, 0xff, 0xff]),
            (0x1020, &[0xff, 0x35, 0, 0, 0, 0]),
            (0x1026, JUMP),
        ];
        assert_eq!(left(&unfilled, 0x1900), "puts@plt → puts (bound on this call)");
        assert_eq!(left(&[(0x1030, JUMP)], 0x1900), "puts@plt → a.out+0x1900");
        // Code without a name behind the stub that is none of it.
        let elsewhere: [(u64, &[u8]); 3] = [(0x1030, JUMP), (0x1100, &[0x31, 0xc0]), (0x1102, JUMP)];
        assert_eq!(left(&elsewhere, 0x1900), "a.out+0x1900");
    }
}
