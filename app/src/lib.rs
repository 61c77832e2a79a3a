//! What Drainboard shows, and the rules behind it.
//!
//! Compiles for the server (feature `ssr`) and for wasm (feature `hydrate`).
//! Knows data only through [`store::Store`]; must not name a database driver
//! or a web framework. Pages are rendered on the server alone; what moves in
//! the browser is in [`islands`].
//!
//! Who may know whom: `pages → components, islands, charts, api → store →
//! model, error`. `model` imports nothing of ours, `components` never call `api`.

pub mod error;
pub mod islands;
pub mod model;
pub mod panel;
pub mod store;

#[cfg(feature = "ssr")]
pub mod api;
#[cfg(feature = "ssr")]
pub mod charts;
#[cfg(feature = "ssr")]
pub mod components;
#[cfg(feature = "ssr")]
pub mod pages;
#[cfg(feature = "ssr")]
pub mod routes;
#[cfg(feature = "ssr")]
pub mod shell;

#[cfg(feature = "ssr")]
pub use routes::App;
