//! Jobs: enqueued, claimed, ended, called off, looked at.

pub mod cancel;
pub mod claim;
pub mod done;
pub mod enqueue;
pub mod fail;
pub mod heartbeat;
pub mod refuse;
pub mod show;
