//! What this process inherited and has to hand on: descriptors 0 to 2 and the signal state.

#![allow(unsafe_code, reason = "sigaction and sigprocmask take pointers")]

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

/// Signals whose disposition overstep changes for itself; the program gets them back as they were.
const CHANGED: [i32; 9] = [
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGPIPE,
    libc::SIGXFSZ,
    libc::SIGCHLD,
];

/// The signal state overstep was started with (`sigaction(2)`, `sigprocmask(2)`).
#[derive(Clone, Copy)]
pub struct SignalState {
    dispositions: [(i32, libc::sigaction); CHANGED.len()],
    mask: libc::sigset_t,
}

static AT_START: OnceLock<SignalState> = OnceLock::new();

/// To be called first: remembers the signal state and makes descriptors 0 to 2 safe to use.
pub fn prepare() {
    AT_START.get_or_init(SignalState::now);
    fill_closed_descriptors();
    // A reader that went away is a write error that we answer ourselves.
    ignore(libc::SIGPIPE);
    // So is a file at its size limit.
    ignore(libc::SIGXFSZ);
    // Ignored, it would make the program's wait status disappear (waitpid(2), ECHILD).
    set(libc::SIGCHLD, libc::SIG_DFL);
}

/// The state [`prepare`] found.
pub fn signal_state() -> SignalState {
    *AT_START.get_or_init(SignalState::now)
}

/// Ignores `signal` in this process.
pub fn ignore(signal: i32) {
    set(signal, libc::SIG_IGN);
}

fn set(signal: i32, disposition: libc::sighandler_t) {
    // SAFETY: SIG_IGN and SIG_DFL are dispositions for every signal in CHANGED; nothing is borrowed.
    unsafe { libc::signal(signal, disposition) };
}

/// Opens `/dev/null` over each closed one of 0, 1 and 2, so that a trace file can never become standard output.
/// Close-on-exec: the program still finds them closed, as the user left them.
fn fill_closed_descriptors() {
    for descriptor in 0..3 {
        // SAFETY: F_GETFD only looks; open gives the lowest free descriptor, which is this one.
        unsafe {
            if libc::fcntl(descriptor, libc::F_GETFD) == -1 {
                libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            }
        }
    }
}

impl SignalState {
    fn now() -> Self {
        let dispositions = CHANGED.map(|signal| (signal, disposition(signal)));
        let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: with a null set the call only writes the present mask to `mask`, which is large enough.
        let mask = unsafe {
            libc::sigprocmask(libc::SIG_BLOCK, ptr::null(), mask.as_mut_ptr());
            mask.assume_init()
        };
        Self { dispositions, mask }
    }

    /// Whether `signal` was ignored when overstep was started, as under `nohup`.
    pub fn ignored(&self, signal: i32) -> bool {
        self.dispositions.iter().any(|(it, action)| *it == signal && action.sa_sigaction == libc::SIG_IGN)
    }

    /// Puts the dispositions of the `wanted` signals back: async-signal-safe calls only.
    pub fn restore_dispositions(&self, wanted: impl Fn(i32) -> bool) {
        for (signal, action) in self.dispositions.iter().filter(|(signal, _)| wanted(*signal)) {
            // SAFETY: `action` came from sigaction for this very signal.
            unsafe { libc::sigaction(*signal, action, ptr::null_mut()) };
        }
    }

    /// Puts everything back, in a forked child about to exec: async-signal-safe calls only.
    pub fn restore(&self) {
        self.restore_dispositions(|_| true);
        // SAFETY: `mask` came from sigprocmask.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.mask, ptr::null_mut()) };
    }
}

fn disposition(signal: i32) -> libc::sigaction {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with a null new action the call only writes the present one; all zero is a valid sigaction.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init()
    }
}
