//! The drainboard server: store, worker API, sign-in, pages, duties, command line.
//!
//! Knows `app` (what is shown, and the rules); `app` never knows this crate.

pub mod auth;
pub mod cli;
pub mod config;
pub mod demo;
pub mod duties;
pub mod export;
pub mod forms;
pub mod live;
pub mod site;
pub mod state;
pub mod store;
pub mod web;
pub mod webhook;
pub mod worker_api;
pub mod worker_client;
