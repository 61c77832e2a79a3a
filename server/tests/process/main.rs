//! Tests that start the real binary and look at it from outside, as an
//! operator, a browser or a script does.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod anonymous;
mod bulk;
mod canaries;
mod command_line;
mod cross_site;
mod demo;
mod export;
mod forms;
mod letter_work;
mod live;
mod outbox;
mod people;
mod set_up;
mod shut_down;
mod sign_in;
mod support;
