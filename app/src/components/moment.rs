//! Points in time as a person reads them, with the absolute time one hover away.
//!
//! Ages come from the database's clock, handed in with the data; nothing here
//! reads a clock.

use crate::model::age::{age, ago, clock};
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// `2026-11-30 14:07:12Z`: valid for machines, readable for people.
pub fn absolute(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// `text`, standing for `at`.
pub fn moment(at: DateTime<Utc>, text: String) -> impl IntoView + use<> {
    let absolute = absolute(at);
    view! { <time datetime=absolute.clone() title=absolute>{text}</time> }
}

/// `20 s ago`.
pub fn since(at: DateTime<Utc>, now: DateTime<Utc>) -> impl IntoView + use<> {
    moment(at, ago(at, now))
}

/// `in 4 min`, or `now` once it has come.
pub fn until(at: DateTime<Utc>, now: DateTime<Utc>) -> impl IntoView + use<> {
    let text = match (at - now).num_seconds() {
        ..=0 => "now".to_owned(),
        seconds => format!("in {}", age(seconds)),
    };
    moment(at, text)
}

/// `14:07:12 UTC`, with its date when it is another day than `now`.
pub fn wall_clock(at: DateTime<Utc>, now: DateTime<Utc>) -> impl IntoView + use<> {
    let text =
        if at.date_naive() == now.date_naive() { clock(at) } else { at.format("%Y-%m-%d %H:%M:%S UTC").to_string() };
    moment(at, text)
}

/// Date and time, always both.
pub fn date_and_time(at: DateTime<Utc>) -> impl IntoView + use<> {
    moment(at, at.format("%Y-%m-%d %H:%M:%S UTC").to_string())
}
