//! What `overstep trace` says to its children through the environment: `OVERSTEP_SESSION`.

use std::fs::OpenOptions;
use std::os::fd::AsFd;
use std::sync::OnceLock;

use overstep::record::buffer::TraceBuffer;
use overstep::record::control_block::ControlBlock;
use overstep::record::shared_control::SharedControl;
use overstep::record::window;

/// The variable's name and `=`.
pub const VARIABLE: &str = "OVERSTEP_SESSION=";
/// The first field of its value: parent and agent come from one executable, but a nested trace may mix two.
const VERSION: &str = "1";

/// A session this process was invited to.
pub struct Invitation {
    /// The variable as it came, name included: what a child needs.
    pub variable: &'static [u8],
    /// The agent's own path in LD_PRELOAD.
    pub agent: &'static [u8],
    pub control: &'static ControlBlock,
    trace: String,
}

static ACCEPTED: OnceLock<Invitation> = OnceLock::new();

impl Invitation {
    /// The session this process belongs to, if any.
    pub fn accepted() -> Option<&'static Self> {
        ACCEPTED.get()
    }

    /// Reads the variable and maps the control block. `None` when either is not as `overstep trace` makes it: then
    /// the program runs as if the agent were not there.
    pub fn accept(variable: &'static [u8], agent: &'static [u8]) -> Option<&'static Self> {
        let value = std::str::from_utf8(variable.strip_prefix(VARIABLE.as_bytes())?).ok()?;
        let mut fields = value.split(':');
        let [version, parent, control, trace] =
            [fields.next()?, fields.next()?, fields.next()?, fields.next()?];
        let numbers = [parent, control, trace].map(|field| field.parse::<u32>().ok());
        let ([Some(parent), Some(control), Some(trace)], VERSION) = (numbers, version) else { return None };
        let path = |fd: u32| format!("/proc/{parent}/fd/{fd}");
        let file = OpenOptions::new().read(true).write(true).open(path(control)).ok()?;
        let control = SharedControl::map(file.as_fd()).ok()?.leak();
        let _ = ACCEPTED.set(Self { variable, agent, control, trace: path(trace) });
        ACCEPTED.get()
    }

    /// Maps the trace file, for good.
    pub fn trace(&self) -> std::io::Result<TraceBuffer> {
        let file = OpenOptions::new().read(true).write(true).open(&self.trace)?;
        window::map(file.as_fd(), self.control)
    }

    /// Whether some process has entered the function already: then nobody else is to be armed.
    pub fn is_over(&self) -> bool {
        self.control.progress.owner.load(std::sync::atomic::Ordering::Acquire) != 0
    }
}
