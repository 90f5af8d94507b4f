//! A call of a Python function, in an interpreter loaded into this process.

#![allow(unsafe_code, reason = "libpython is reached by dlsym")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::process::Command;

use crate::workload::{Entry, Workload};

const ASK: &str = "import sys, sysconfig; \
    print(sys.base_prefix); print(sysconfig.get_config_var('LIBDIR') + '/' + sysconfig.get_config_var('INSTSONAME')); \
    print(sys.executable)";

const SOURCE: &str = "
def call():
    seen = {}
    for i in range(40):
        key = str(i % 7)
        seen[key] = seen.get(key, 0) + i
    return sorted(seen.items())
";

/// Calls before the measurement: the interpreter specialises code that runs often.
const WARM_UP: usize = 64;

/// Where the python3 of PATH lies.
pub struct Installation {
    home: String,
    library: String,
    pub executable: String,
}

impl Installation {
    /// `None` without a python3.
    pub fn of_path() -> Option<Self> {
        let output = Command::new("python3").args(["-c", ASK]).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let mut lines = text.lines().map(str::to_owned);
        Some(Self { home: lines.next()?, library: lines.next()?, executable: lines.next()? })
    }
}

/// `call` of [`SOURCE`], by `PyObject_CallNoArgs`.
///
/// # Errors
/// Why there is none here, in words.
pub fn call() -> Result<Workload, String> {
    let installation = Installation::of_path().ok_or("no python3 here")?;
    let library = Library::open(&installation.library)?;
    // SAFETY: before the interpreter and any other thread exist.
    unsafe {
        std::env::set_var("PYTHONHOME", &installation.home);
        std::env::set_var("PYTHONHASHSEED", "0");
    }
    let source = CString::new(SOURCE).map_err(|error| error.to_string())?;
    // SAFETY:
    // - the types are those of Python's C interface (docs.python.org/3/c-api), stable since 3.9;
    // - strings are NUL-terminated, and this one thread holds the interpreter's lock from here on.
    unsafe {
        let initialize: unsafe extern "C" fn(c_int) = std::mem::transmute(library.symbol("Py_InitializeEx")?);
        let run: unsafe extern "C" fn(*const c_char) -> c_int =
            std::mem::transmute(library.symbol("PyRun_SimpleString")?);
        let module: unsafe extern "C" fn(*const c_char) -> *mut c_void =
            std::mem::transmute(library.symbol("PyImport_AddModule")?);
        let attribute: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void =
            std::mem::transmute(library.symbol("PyObject_GetAttrString")?);
        let entry: Entry = std::mem::transmute(library.symbol("PyObject_CallNoArgs")?);

        initialize(0);
        if run(source.as_ptr()) != 0 {
            return Err("the interpreter refuses the source".to_owned());
        }
        let function = attribute(module(c"__main__".as_ptr()), c"call".as_ptr());
        for _ in 0..WARM_UP {
            if entry(function).is_null() {
                return Err("the call raises".to_owned());
            }
        }
        Ok(Workload { name: "python", entry, argument: function })
    }
}

/// A shared library that stays loaded.
struct Library {
    handle: *mut c_void,
    path: String,
}

impl Library {
    fn open(path: &str) -> Result<Self, String> {
        let name = CString::new(path).map_err(|error| error.to_string())?;
        // SAFETY: a path that the interpreter itself named; its initialisers run as in python3.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if handle.is_null() {
            return Err(format!("{path} cannot be loaded (a python3 without a shared library?)"));
        }
        Ok(Self { handle, path: path.to_owned() })
    }

    fn symbol(&self, name: &str) -> Result<*mut c_void, String> {
        let text = CString::new(name).map_err(|error| error.to_string())?;
        // SAFETY: an open handle and a NUL-terminated name.
        let address = unsafe { libc::dlsym(self.handle, text.as_ptr()) };
        if address.is_null() { Err(format!("{} has no {name}", self.path)) } else { Ok(address) }
    }
}
