//! A bar on a terminal, from the first check on: with `--thorough` that one takes a minute.

use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const INTERVAL: Duration = Duration::from_millis(200);

/// Shows nothing where standard error is no terminal.
pub struct Progress {
    bar: RefCell<Option<ProgressBar>>,
    terminal: bool,
}

impl Progress {
    pub fn new() -> Self {
        Self { bar: RefCell::new(None), terminal: io::stderr().is_terminal() }
    }

    /// `done` of `total` checks are done, and `name` is next.
    pub fn show(&self, done: usize, total: usize, name: &str) {
        if !self.terminal {
            return;
        }
        let mut bar = self.bar.borrow_mut();
        let bar = bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) =
                ProgressStyle::with_template("{spinner} {elapsed} {pos} of {len} {bar:24} {msg}")
            {
                bar.set_style(style);
            }
            bar.enable_steady_tick(INTERVAL);
            bar
        });
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(name.to_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get_mut() {
            bar.finish_and_clear();
        }
    }
}
