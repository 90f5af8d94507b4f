//! What this machine can do, and the remedy where it cannot.
