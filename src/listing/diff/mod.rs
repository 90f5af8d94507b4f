//! Two traces held against each other, addresses by region, so that two runs of one program differ in nothing that
//! address space randomisation, the clock or the engine decides.

mod divergence;
mod item;
mod pair;
mod resync;
mod side;
#[cfg(test)]
mod tests;
mod walk;
mod write;

pub use divergence::{Comparison, Divergence, Meeting, What};
pub use pair::pair;
pub use walk::compare;
pub use write::write;
