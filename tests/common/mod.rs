//! What the tests on whole programs share: fixtures, runs in each way of stepping, and the comparison of their rows.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod compare;
pub mod event;
pub mod expect;
pub mod fixture;
pub mod judge;
pub mod program;
pub mod run;
pub mod sandbox;
pub mod skip;
pub mod way;
pub mod work;
