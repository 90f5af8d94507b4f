//! By which way control leaves the code that is stepped.

use std::rc::Rc;

use iced_x86::Mnemonic;

use super::code::Code;
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

    /// By which way control left behind the `last` row.
    #[must_use]
    pub fn way(&self, trace: &Trace, last: Option<(RuntimeAddr, &Code)>) -> Way {
        let Some(stub) = self.stub else {
            let through = last.and_then(|(_, code)| code.through.clone());
            return through.map_or(Way::Straight, Way::Slot);
        };
        let in_stub = |at| trace.symbol(at).is_some_and(|hit| hit.symbol.raw.ends_with(LINKAGE));
        if last.is_some_and(|(at, _)| in_stub(at)) { Way::Stub(stub) } else { Way::Binding(stub) }
    }
}
