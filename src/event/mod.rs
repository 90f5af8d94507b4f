//! Asks the kernel for overflows: attributes, opening, ioctls, delivery, and what of it works here.

pub mod attr;
pub mod choose;
pub mod environment;
pub mod error;
pub mod fasync;
pub mod ioctl;
pub mod kernel;
pub mod open;
pub mod probe;
pub mod rearm;
pub mod siginfo;
pub mod tail;
