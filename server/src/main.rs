//! The drainboard command.
fn main() {}
