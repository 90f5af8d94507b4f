//! Standard output: buffered, flushed, and a reader that went away is no error.

use std::io::{self, BufWriter, StdoutLock, Write};

use super::exit::Failure;

pub type Stdout = BufWriter<StdoutLock<'static>>;

/// What became of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written<T> {
    All(T),
    /// The reader closed the pipe (`| head`): what it wanted, it has.
    ReaderLeft,
}

/// Runs `write` on a buffered standard output and flushes it; `status` is the exit status of a failed write.
///
/// # Errors
/// Standard output cannot be written to, but for a pipe that its reader closed.
pub fn print<T>(status: u8, write: impl FnOnce(&mut Stdout) -> io::Result<T>) -> Result<Written<T>, Failure> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    match write(&mut out).and_then(|value| out.flush().map(|()| value)) {
        Ok(value) => Ok(Written::All(value)),
        Err(error) => {
            // Dropped normally, the buffer would try to write once more.
            let _ = out.into_parts();
            if error.kind() == io::ErrorKind::BrokenPipe {
                Ok(Written::ReaderLeft)
            } else {
                Err(Failure::new(status, format_args!("cannot write to standard output: {error}"))
                    .next("make room there, or send the output elsewhere"))
            }
        }
    }
}
