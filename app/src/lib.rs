//! What Drainboard shows, and the rules behind it.
//!
//! Compiles for the server (feature `ssr`) and for wasm (feature `hydrate`).
//! Knows data only through [`store::Store`]; must not name a database driver
//! or a web framework.
//!
//! Who may know whom: `pages → components, islands, charts, api → store →
//! model, error`. `model` imports nothing of ours, `components` never call `api`.

pub mod error;
pub mod model;
pub mod panel;
pub mod store;
