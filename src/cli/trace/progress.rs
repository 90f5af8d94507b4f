//! What the traced program has done so far, on a terminal, once a run lasts longer than a second.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Runs shorter than this show nothing.
const PATIENCE: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(200);

/// Figures to show, read from the control block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Entries that were traced.
    pub traced: u64,
    /// Bytes of the trace.
    pub bytes: u64,
}

/// A line on standard error that lives until [`Self::finish`].
pub struct ProgressLine {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl ProgressLine {
    /// Starts the line, `None` when standard error is no terminal. `figures` is asked from another thread.
    pub fn start(figures: impl Fn() -> Figures + Send + 'static) -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
                line.set_style(style);
            }
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                line.set_message(describe(figures()));
                line.tick();
            }
            line.finish_and_clear();
        });
        Some(Self { stop, thread })
    }

    /// Takes the line away.
    pub fn finish(self) {
        drop(self.stop);
        let _ = self.thread.join();
    }
}

fn describe(figures: Figures) -> String {
    match figures.traced {
        0 => "waiting for the first call".to_owned(),
        calls => {
            let entries = if calls == 1 { "entry" } else { "entries" };
            format!("{} {entries} traced, {} recorded", HumanCount(calls), HumanBytes(figures.bytes))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_words() {
        assert_eq!(describe(Figures { traced: 0, bytes: 0 }), "waiting for the first call");
        assert_eq!(describe(Figures { traced: 1, bytes: 1 << 10 }), "1 entry traced, 1.00 KiB recorded");
        let found = describe(Figures { traced: 1_200, bytes: 3 << 20 });
        assert_eq!(found, "1,200 entries traced, 3.00 MiB recorded");
    }
}
