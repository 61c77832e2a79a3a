//! One file per address. A page reads its address, asks for permission, makes
//! one call to the store and renders the answer; it decides nothing about data.

pub mod account;
pub mod alerts;
pub mod artifact;
pub mod audit;
pub mod bulk;
pub mod canaries;
pub mod canary;
pub mod compare;
pub mod dead_letter;
pub mod dead_letters;
pub mod failed;
pub mod follow_ups;
pub mod frame;
pub mod job;
pub mod jobs;
pub mod letter_work;
pub mod login;
pub mod not_found;
pub mod notice;
pub mod outbox;
pub mod outbox_notice;
pub mod password;
pub mod pipeline;
pub mod policies;
pub mod policy;
pub mod refusals;
pub mod settings;
pub mod settings_tokens;
pub mod settings_user;
pub mod setup;
#[cfg(test)]
mod tests;
pub mod told;
pub mod unread;
