//! What every store must do, on every database: one suite, a topic per file.
//!
//! Written against the trait's promises, never against an implementation.
//! Each test has a fresh database; time passes by changing rows, not by waiting.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod accounts;
mod alerts;
mod artifacts;
mod audit;
mod bulk;
mod canaries;
mod claim;
mod enqueue;
mod finish;
mod follow_ups;
mod lease;
mod letter_groups;
mod letter_lists;
mod letters;
mod migrations;
mod outage;
mod outbox;
mod panel;
mod park_rate;
mod people;
mod policies;
mod purge;
mod races;
mod recovery;
mod retry;
mod text;
mod verdict;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let topics: [fn() -> Vec<Trial>; 27] = [
        accounts::trials,
        alerts::trials,
        artifacts::trials,
        audit::trials,
        enqueue::trials,
        claim::trials,
        lease::trials,
        finish::trials,
        retry::trials,
        letters::trials,
        recovery::trials,
        bulk::trials,
        canaries::trials,
        outbox::trials,
        follow_ups::trials,
        letter_lists::trials,
        letter_groups::trials,
        policies::trials,
        panel::trials,
        verdict::trials,
        people::trials,
        park_rate::trials,
        purge::trials,
        races::trials,
        text::trials,
        migrations::trials,
        outage::trials,
    ];
    let trials = topics.into_iter().flat_map(|trials| trials()).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
