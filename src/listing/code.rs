//! Executed instructions as text, each address looked at once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use iced_x86::{
    Formatter, GasFormatter, Instruction, IntelFormatter, MasmFormatter, Mnemonic, NasmFormatter,
    SymbolResolver, SymbolResult,
};

use super::hex;
use super::kind::{Kind, may_return, touches_memory};
use super::module_files::ModuleFiles;
use super::options::{Options, Syntax};
use super::place::{Place, file_name, name_of, shortened};
use super::source::{Location, Sources};
use super::visible::visible;
use crate::address::RuntimeAddr;
use crate::check::vendor::vendor_of;
use crate::image::decode::{Vendor, decode};
use crate::image::names::demangle;
use crate::record::reader::{CodeBytes, StepEntry, Symbol, Trace};

/// How a slot of the global offset table is named.
const SLOT: &str = "@got";

/// Instructions kept; a trace of more distinct ones starts the cache afresh, which costs time and no memory.
const CACHED: usize = 1 << 16;

/// Columns for a symbol and offset in a line. Demangled names run to hundreds.
pub const NAME: usize = 24;

/// Characters of a symbol that every row of a document repeats.
const DOCUMENT_NAME: usize = 60;

/// Columns for a module's file name in a line. Those of Cargo's test binaries end with sixteen digits.
pub const MODULE_NAME: usize = 17;

/// One executed instruction in all its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub address: RuntimeAddr,
    pub place: Place,
    /// `a.out+0x1139`, its name in at most [`MODULE_NAME`] columns, or the bare address.
    pub in_module: String,
    /// The module's whole name, where [`Code::in_module`] had to shorten it.
    pub long_module: Option<Rc<str>>,
    /// `gcd+0x3` in at most [`NAME`] columns; empty outside every symbol.
    pub in_symbol: String,
    /// The symbol's whole name, where [`Code::in_symbol`] had to shorten it.
    pub long_symbol: Option<Rc<str>>,
    /// The instruction's own bytes in memory order, `4889f8`; all that were recorded where they do not decode.
    pub hex: String,
    /// Disassembly with symbolic targets: `jne gcd+0x14`.
    pub text: String,
    /// The same with its target in at most [`NAME`] columns, for lines with columns.
    pub cell: String,
    /// A frame may be left behind it as by a return: a return itself, or the jump of a tail call.
    pub may_return: bool,
    pub kind: Kind,
    /// By its operands: reads or writes memory, the stack included.
    pub touches_memory: bool,
    /// The function that a call or jump leads to through a slot of the global offset table, as the linker has its name.
    pub through: Option<Rc<str>>,
    /// Where a direct jump leads that stays in its function.
    pub jump_inside: Option<RuntimeAddr>,
    /// The symbol as the linker sees it, where that is not its name.
    pub raw_symbol: Option<Rc<str>>,
    /// The source lines it comes from, where they are wanted and known.
    pub source: Option<Rc<Location>>,
    pub instruction: Option<Instruction>,
    /// Bytes of the instruction; 0 where they were not recorded.
    pub length: u64,
    /// The bytes that the text was made from, at least as long as the instruction.
    recorded: CodeBytes,
}

impl Code {
    /// The symbol's name where it is too long for a document's cells, which give its end only.
    #[must_use]
    pub fn name_beyond_documents(&self) -> Option<&Rc<str>> {
        self.long_symbol.as_ref().filter(|name| name.chars().count() > DOCUMENT_NAME)
    }
}

/// Turns a trace's instructions into [`Code`].
pub struct CodeTexts<'t> {
    trace: &'t Trace,
    formatter: Box<dyn Formatter>,
    vendor: Vendor,
    target: Rc<RefCell<Option<Target>>>,
    source: Option<Rc<Sources>>,
    files: Rc<ModuleFiles>,
    cache: HashMap<RuntimeAddr, Rc<Code>>,
}

impl<'t> CodeTexts<'t> {
    #[must_use]
    pub fn new(trace: &'t Trace, options: &Options, files: Rc<ModuleFiles>) -> Self {
        let target = Rc::default();
        let source = options.source.clone();
        let formatter = formatter(options.syntax, Rc::clone(&target));
        Self { trace, formatter, vendor: vendor_of(trace), target, source, files, cache: HashMap::new() }
    }

    /// The instruction that `step` retired.
    pub fn of(&mut self, step: &StepEntry) -> Rc<Code> {
        // Code may have been overwritten since this address was last executed.
        if let Some(code) = self.cache.get(&step.address).filter(|code| code.recorded == step.bytes) {
            return Rc::clone(code);
        }
        let code = Rc::new(self.read(step));
        if self.cache.len() >= CACHED {
            self.cache.clear();
        }
        self.cache.insert(step.address, Rc::clone(&code));
        code
    }

    fn read(&mut self, step: &StepEntry) -> Code {
        let said = |length, text: &str| (length, text.to_owned(), text.to_owned());
        let decoded = decode(&step.bytes, step.address, self.vendor).ok();
        let (length, text, cell) = match &decoded {
            Some(instruction) => {
                let (text, cell) = self.disassemble(instruction);
                (instruction.len(), text, cell)
            }
            None if step.bytes.is_empty() => said(0, "(code not recorded)"),
            None => said(step.bytes.len(), "(bad)"),
        };
        let hit = self.trace.symbol(step.address);
        let raw_symbol = hit.filter(|hit| hit.symbol.raw != name_of(hit.symbol)).map(|hit| &*hit.symbol.raw);
        let through = decoded.as_ref().filter(|it| leads_on(it)).and_then(|it| self.slot_of(it));
        let jump_inside = decoded.as_ref().and_then(|it| self.jump_inside(it, hit?.symbol));
        let place = Place::of(self.trace, step.address);
        let mut hex = String::with_capacity(2 * length);
        hex::push_bytes(&mut hex, &step.bytes[..length]);
        let in_symbol = place.in_symbol_within(NAME).unwrap_or_default();
        let long_symbol = place.symbol.as_ref().filter(|_| in_symbol.starts_with('…'));
        let long_module = place.module.as_ref().filter(|(name, _)| name.chars().count() > MODULE_NAME);
        Code {
            address: step.address,
            in_module: place.in_module_within(MODULE_NAME, step.address),
            long_module: long_module.map(|(name, _)| Rc::clone(name)),
            long_symbol: long_symbol.map(|(name, _)| Rc::clone(name)),
            in_symbol,
            place,
            hex,
            text,
            cell,
            // What is not known to be anything else may have been a return.
            may_return: decoded.as_ref().is_none_or(may_return),
            kind: decoded.as_ref().map_or(Kind::Other, Kind::of),
            touches_memory: decoded.as_ref().is_some_and(touches_memory),
            through: through.map(Into::into),
            jump_inside,
            instruction: decoded,
            raw_symbol: raw_symbol.map(|raw| visible(raw).into()),
            source: self.source.as_ref().and_then(|source| source.at(step.address)),
            length: length as u64,
            recorded: step.bytes,
        }
    }

    /// The target of a direct jump that lies in `symbol`, as the instruction itself does.
    fn jump_inside(&self, instruction: &Instruction, symbol: &Symbol) -> Option<RuntimeAddr> {
        let jumps = matches!(Kind::of(instruction), Kind::Jump | Kind::Conditional);
        let target = RuntimeAddr(instruction.near_branch_target());
        let inside = self.trace.symbol(target).is_some_and(|hit| hit.symbol.start == symbol.start);
        (jumps && target.0 != 0 && inside).then_some(target)
    }

    /// The instruction's text, and the text for a cell.
    fn disassemble(&mut self, instruction: &Instruction) -> (String, String) {
        let target = self.target_of(instruction);
        let short = target
            .as_ref()
            .filter(|target| target.short != target.name)
            .map(|target| Target { name: target.short.clone(), ..target.clone() });
        let text = self.format(instruction, target);
        let cell = short.map_or_else(|| text.clone(), |short| self.format(instruction, Some(short)));
        (text, cell)
    }

    fn format(&mut self, instruction: &Instruction, target: Option<Target>) -> String {
        *self.target.borrow_mut() = target;
        let mut text = String::new();
        self.formatter.format(instruction, &mut text);
        text
    }

    /// What the slot of the global offset table leads to that the instruction reads.
    fn slot_of(&self, instruction: &Instruction) -> Option<String> {
        if !instruction.is_ip_rel_memory_operand() || instruction.mnemonic() == Mnemonic::Lea {
            return None;
        }
        let module = self.trace.module(RuntimeAddr(instruction.ip()))?;
        self.files.slot(module, RuntimeAddr(instruction.ip_rel_memory_address()))
    }

    /// The address that the instruction names relative to itself: a branch target or RIP-relative memory.
    fn target_of(&self, instruction: &Instruction) -> Option<Target> {
        let address = match instruction.near_branch_target() {
            _ if instruction.is_ip_rel_memory_operand() => instruction.ip_rel_memory_address(),
            0 => return None,
            target => target,
        };
        if let Some(slot) = self.slot_of(instruction) {
            let name = visible(&demangle(&slot)).into_owned() + SLOT;
            return Some(Target { address, short: shortened(&name, NAME), name });
        }
        let at = RuntimeAddr(address);
        let mut place = Place::of(self.trace, at);
        if place == Place::default() {
            // Data lies outside the executable ranges that the trace knows a module by, but what an instruction
            // reaches relative to itself was linked into its own module.
            let module = self.trace.module(RuntimeAddr(instruction.ip()))?;
            place.module = Some((visible(file_name(&module.path)).into(), at.in_elf(module.bias)));
        }
        let name = place.short(at);
        let short = place.in_symbol_within(NAME).unwrap_or_else(|| place.in_module_within(MODULE_NAME, at));
        Some(Target { address, name, short })
    }
}

/// Whether control goes where the operand says.
fn leads_on(instruction: &Instruction) -> bool {
    matches!(Kind::of(instruction), Kind::Call | Kind::Jump)
}

#[derive(Clone)]
struct Target {
    address: u64,
    name: String,
    short: String,
}

/// Names the one target that the instruction being formatted has. The formatter owns its resolver for good, so
/// the target is handed over through a shared cell.
struct TargetName(Rc<RefCell<Option<Target>>>);

impl SymbolResolver for TargetName {
    fn symbol(
        &mut self,
        _instruction: &Instruction,
        _operand: u32,
        _instruction_operand: Option<u32>,
        address: u64,
        _address_size: u32,
    ) -> Option<SymbolResult<'_>> {
        let target = self.0.borrow();
        let target = target.as_ref().filter(|target| target.address == address)?;
        Some(SymbolResult::with_string(address, target.name.clone()))
    }
}

fn formatter(syntax: Syntax, target: Rc<RefCell<Option<Target>>>) -> Box<dyn Formatter> {
    let resolver: Option<Box<dyn SymbolResolver>> = Some(Box::new(TargetName(target)));
    let mut formatter: Box<dyn Formatter> = match syntax {
        Syntax::Intel => Box::new(IntelFormatter::with_options(resolver, None)),
        Syntax::Gas => Box::new(GasFormatter::with_options(resolver, None)),
        Syntax::Nasm => Box::new(NasmFormatter::with_options(resolver, None)),
        Syntax::Masm => Box::new(MasmFormatter::with_options(resolver, None)),
    };
    let options = formatter.options_mut();
    options.set_uppercase_hex(false);
    if syntax != Syntax::Masm {
        options.set_hex_prefix("0x");
        options.set_hex_suffix("");
    }
    options.set_show_branch_size(false);
    options.set_branch_leading_zeros(false);
    options.set_rip_relative_addresses(false);
    formatter
}
