//! A running drainboard with a database of its own, and a browser that is only
//! HTTP: it keeps one cookie and follows nothing by itself.

pub mod browser;
pub mod events;
pub mod postgres;
pub mod server;

pub use browser::Browser;
pub use events::Events;
pub use postgres::Postgres;
pub use server::{Database, Server};
