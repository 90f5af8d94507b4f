//! What the files of a trace's modules say beyond the trace: names of functions that were only called, and of what the
//! global offset table leads to.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::options::Values;
use crate::address::{ElfAddr, RuntimeAddr};
use crate::image::elf::Elf;
use crate::image::slots::{Slot, slots};
use crate::image::symbols::SymbolTable;
use crate::record::reader::{Module, Trace};

/// The files of modules, each opened when it is asked for; `None` for one that is gone, or another one than ran.
pub struct ModuleFiles {
    names: Names,
    files: RefCell<HashMap<u32, Option<Rc<ModuleFile>>>>,
}

/// Where names of functions may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// From the file, and where it was stripped from its separate debug file.
    WithDebugFiles,
    /// From the file alone, so that nothing depends on which debug files a machine has.
    OwnOnly,
}

/// One of them.
pub struct ModuleFile {
    names: Names,
    path: PathBuf,
    elf: Elf,
    symbols: OnceCell<SymbolTable>,
    slots: OnceCell<HashMap<ElfAddr, Slot>>,
}

impl ModuleFiles {
    #[must_use]
    pub fn new(values: Values) -> Self {
        let names = if values == Values::Stable { Names::OwnOnly } else { Names::WithDebugFiles };
        Self { names, files: RefCell::default() }
    }

    /// The file of `module`, if it is the one that ran, by its build id.
    pub fn of(&self, module: &Module) -> Option<Rc<ModuleFile>> {
        let mut files = self.files.borrow_mut();
        files.entry(module.id).or_insert_with(|| ModuleFile::open(module, self.names).map(Rc::new)).clone()
    }

    /// The name, as the linker has it, of what the slot at `address` leads to, used by code of `module`.
    #[must_use]
    pub fn slot(&self, module: &Module, address: RuntimeAddr) -> Option<String> {
        let file = self.of(module)?;
        match file.slots().get(&address.in_elf(module.bias))? {
            Slot::Symbol(name) => Some(name.clone()),
            Slot::Address(target) => {
                let (symbol, offset) = file.symbols().at(*target)?;
                (offset == 0).then(|| symbol.raw().to_owned())
            }
        }
    }

    /// The symbols of the module that `address` lies in, and the address in its file.
    pub fn symbols_at(&self, trace: &Trace, address: RuntimeAddr) -> Option<(Rc<ModuleFile>, ElfAddr)> {
        let module = trace.module(address)?;
        Some((self.of(module)?, address.in_elf(module.bias)))
    }
}

impl ModuleFile {
    fn open(module: &Module, names: Names) -> Option<Self> {
        let path = PathBuf::from(&module.path);
        let elf = Elf::open(&path).ok()?;
        let same = !module.build_id.is_empty() && elf.build_id() == Some(&module.build_id[..]);
        same.then(|| Self { names, path, elf, symbols: OnceCell::new(), slots: OnceCell::new() })
    }

    /// The functions of the file.
    pub fn symbols(&self) -> &SymbolTable {
        self.symbols.get_or_init(|| match self.names {
            Names::WithDebugFiles => symbols(&self.elf, &self.path),
            Names::OwnOnly => SymbolTable::of(&self.elf),
        })
    }

    fn slots(&self) -> &HashMap<ElfAddr, Slot> {
        self.slots.get_or_init(|| slots(&self.elf))
    }
}

#[cfg(feature = "dwarf")]
fn symbols(elf: &Elf, path: &Path) -> SymbolTable {
    crate::image::dwarf::separate::symbols(elf, path)
}

#[cfg(not(feature = "dwarf"))]
fn symbols(elf: &Elf, _path: &Path) -> SymbolTable {
    SymbolTable::of(elf)
}
