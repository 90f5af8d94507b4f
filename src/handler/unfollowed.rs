//! Handlers of the tracer's signals that run natively, since their thread is not being traced: what the program believes
//! to block meanwhile ends when they return.

/// Such handlers on top of each other; a deeper one leaves the belief as it is.
const CAPACITY: usize = 4;

#[derive(Clone, Copy)]
struct Running {
    /// The frame's context, where RSP is at rt_sigreturn.
    at: u64,
    /// Those of the tracer's signals that the program believed to block before.
    blocked: u64,
}

/// The handlers that have not returned, innermost last.
pub(super) struct Unfollowed {
    running: [Option<Running>; CAPACITY],
}

impl Unfollowed {
    pub(super) const fn new() -> Self {
        Self { running: [None; CAPACITY] }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.iter().all(Option::is_none)
    }

    /// A handler begins whose frame has its context at `at`. Those at or below it were left (siglongjmp). `false`
    /// where there is no room.
    pub(super) fn begin(&mut self, at: u64, blocked: u64) -> bool {
        for running in &mut self.running {
            let _ = running.take_if(|running| running.at <= at);
        }
        let free = self.running.iter_mut().find(|running| running.is_none());
        free.map(|place| *place = Some(Running { at, blocked })).is_some()
    }

    /// rt_sigreturn with the context at `at`: what the program believes to block from then on, if it is one of these.
    pub(super) fn end(&mut self, at: u64) -> Option<u64> {
        let ends = |running: &&mut Option<Running>| running.is_some_and(|running| running.at == at);
        self.running.iter_mut().find(ends)?.take().map(|running| running.blocked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_that_was_left_is_forgotten_with_the_next() {
        let mut handlers = Unfollowed::new();
        assert!(handlers.begin(0x1000, 1));
        assert!(handlers.begin(0x800, 2), "on top of it");
        assert!(handlers.begin(0xc00, 3), "on top of the first: the second was left");
        assert_eq!(handlers.end(0x800), None);
        assert_eq!(handlers.end(0xc00), Some(3));
        assert_eq!(handlers.end(0x1000), Some(1));
        assert!(handlers.is_empty());
    }
}
