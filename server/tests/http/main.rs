//! The worker API as a worker or a monitor meets it: the router without a
//! socket, on every database, a topic per file.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;
mod client;

mod access;
mod alerts;
mod artifacts;
mod bad_input;
mod bulk;
mod canaries;
mod evidence;
mod export;
mod faults;
mod jobs;
mod letter_pages;
mod letters;
mod masking;
mod monitors;
mod names;
mod pages;
mod permission_table;
mod policies;
mod policy_page;
mod promises;
mod text;
mod verdict;
mod visitor;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let topics: [fn() -> Vec<Trial>; 21] = [
        access::trials,
        alerts::trials,
        artifacts::trials,
        bad_input::trials,
        bulk::trials,
        canaries::trials,
        evidence::trials,
        export::trials,
        faults::trials,
        jobs::trials,
        letter_pages::trials,
        letters::trials,
        masking::trials,
        monitors::trials,
        names::trials,
        pages::trials,
        policies::trials,
        promises::trials,
        policy_page::trials,
        text::trials,
        verdict::trials,
    ];
    let trials = topics.into_iter().flat_map(|trials| trials()).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
