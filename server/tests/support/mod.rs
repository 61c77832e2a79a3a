//! What tests of several binaries share: a fresh database per test, a side door
//! into it, jobs and calls in one line. Must not repeat a rule of the product.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part of this")]

pub mod calls;
pub mod database;
pub mod held;
pub mod receiver;
pub mod recount;
pub mod side_door;
#[macro_use]
pub mod trials;

pub use calls::{actor, change, done, fail, job, name, names, refusal};
pub use database::{Backend, TestDatabase, run, run_on};
pub use held::HeldWriters;
pub use side_door::SideDoor;
