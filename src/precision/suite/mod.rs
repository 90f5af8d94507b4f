//! Measures what the plan asks for, check after check, and puts the report together.

mod checks;
mod classes;
mod row;
mod run;
mod trouble;

pub use run::{Watch, check_names, run};
