//! A system call that a thread is in.

use super::calls::Waited;
use super::event::Key;
use super::memory::Pieces;
use crate::address::RuntimeAddr;

/// From its entry to its exit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub number: i64,
    pub then: Then,
}

/// What is left to do at its exit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    Nothing,
    /// F_GETFL of an event's descriptor: some are missing in it.
    ShowFlags(Key),
    /// Its first argument was changed on the way in: this is the program's.
    RestoreFirst(u64),
    /// The third.
    RestoreThird(u64),
    /// Descriptors of these events went into a socket, one each.
    Sent(Vec<Key>),
    /// A message was received to this `struct msghdr`, or to as many `struct mmsghdr` from there on as the call returns.
    Received(RuntimeAddr, Messages),
    /// The thread has given itself a name.
    Renamed,
    /// A thread may run on other CPUs: its id, 0 for the caller.
    MovedToCpus(u64),
    /// A descriptor was taken from another process.
    GotDescriptor,
    /// Memory was unmapped, or mapped anew, that a ring buffer lay in.
    RingUnmapped,
    /// A ring buffer's mapping at this address was moved.
    RingMoved(RuntimeAddr),
    /// A descriptor of an event was closed: was it the last?
    LookForClosed,
    /// A mapping of code, which readers of a ring buffer have to know.
    Mapped,
    /// It has waited for descriptors, of events among others.
    Waited(Waited),
    /// A signal was taken off the queue, to this place (zero: nowhere).
    TookSignal(RuntimeAddr),
    /// Bytes were read from a signalfd to this place.
    TookSignals(Pieces),
    /// The disposition of SIGTRAP was read to this place (zero: nowhere), and perhaps set.
    TrapAction {
        old: RuntimeAddr,
        set: Change,
    },
    /// The return from a signal handler.
    Returned,
}

/// How many messages a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    One,
    Several,
}

/// Whether a call changes what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    None,
    Made,
}

/// How an intercepted call is answered.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// The kernel does it.
    Kernel(Then),
    /// Done; this is the result.
    Value(u64),
    Error(nix::errno::Errno),
    /// Other calls were made in its place, and the thread stands at its exit.
    Made,
}
