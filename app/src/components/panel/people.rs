//! Who works, what starts them, and what needs somebody.

use crate::components::link;
use crate::components::moment::{since, until};
use crate::components::name::name;
use crate::model::age::age;
use crate::model::letter_filter::{LetterFilter, StatusFilter};
use crate::model::reading::{LastRefusal, Reading, Tick, WorkerSeen};
use chrono::{DateTime, Utc};
use leptos::prelude::*;

pub(super) fn workers(reading: &Reading) -> impl IntoView {
    // By name: a list ordered by "last seen" would never stand still.
    let mut workers: Vec<&WorkerSeen> = reading.workers.iter().collect();
    workers.sort_by(|a, b| a.worker.cmp(&b.worker));
    let rows = workers.into_iter().map(|worker| row(worker, reading.as_of)).collect_view();
    view! {
        <section>
            <h2>"Who works"</h2>
            {if reading.workers.is_empty() {
                view! { <p class="empty">"No worker was seen in the last 24 h."</p> }.into_any()
            } else {
                view! {
                    <div class="scroll" tabindex="0" role="region" aria-label="Workers">
                        <table class="workers compact"><tbody>{rows}</tbody></table>
                    </div>
                }
                .into_any()
            }}
            {(!reading.ticks.is_empty()).then(|| {
                let ticks = reading.ticks.iter().map(|tick| trigger(tick, reading.as_of)).collect_view();
                view! { <ul class="facts">{ticks}</ul> }
            })}
            <p class=(reading.late_answers_last_day == 0).then_some("zero")>
                {format!("late answers refused in 24 h: {}", reading.late_answers_last_day)}
            </p>
        </section>
    }
}

fn row(worker: &WorkerSeen, now: DateTime<Utc>) -> impl IntoView {
    view! {
        <tr data-k=worker.worker.clone()>
            <th scope="row">{name(&worker.worker)}</th>
            <td>"seen "{since(worker.last_seen_at, now)}</td>
            <td>{held(worker, now)}</td>
        </tr>
    }
}

fn held(worker: &WorkerSeen, now: DateTime<Utc>) -> impl IntoView {
    let expired = (worker.lease_expired > 0)
        .then(|| view! { " "<span class="s-dead">{format!("▲ {} lease expired", worker.lease_expired)}</span> });
    let main = match (worker.holds, worker.next_lease_expires_at) {
        (0, _) if worker.last_claim_was_empty => "polls and gets nothing".into_any(),
        (0, _) => "holds nothing".into_any(),
        (holds, Some(at)) => view! { {format!("holds {holds}, lease ends ")}{until(at, now)} }.into_any(),
        (holds, None) => format!("holds {holds}").into_any(),
    };
    view! { {main}{expired} }
}

fn trigger(tick: &Tick, now: DateTime<Utc>) -> impl IntoView {
    view! {
        <li data-k=tick.trigger.clone()>
            "trigger "<b>{name(&tick.trigger)}</b>" ticked "{since(tick.last_at, now)}
            {format!(", every {}", age(tick.every_seconds))}
        </li>
    }
}

/// Sources that the panel lists.
const SOURCES_SHOWN: usize = 8;

/// When the agent last said no: those with an alert first, then by name, so that
/// the list stands still.
pub(super) fn last_refusals(reading: &Reading) -> Option<impl IntoView + use<>> {
    let mut found: Vec<&LastRefusal> = reading.last_refusals.iter().collect();
    if found.is_empty() {
        return None;
    }
    found.sort_by(|a, b| (!a.is_zero, &a.source, &a.kind).cmp(&(!b.is_zero, &b.source, &b.kind)));
    let more = found.len().saturating_sub(SOURCES_SHOWN);
    let rows = found.into_iter().take(SOURCES_SHOWN).map(|one| last_refusal(one, reading.as_of)).collect_view();
    Some(view! {
        <section>
            <h2>"When did the agent last say no?"</h2>
            <div class="scroll" tabindex="0" role="region" aria-label="Sources">
                <table class="compact"><tbody>{rows}</tbody></table>
            </div>
            {(more > 0).then(|| view! { <p><a href="/refusals">{format!("{more} more")}</a></p> })}
        </section>
    })
}

fn last_refusal(one: &LastRefusal, now: DateTime<Utc>) -> impl IntoView + use<> {
    let when = match one.at {
        Some(at) => since(at, now).into_any(),
        None => "never".into_any(),
    };
    let processed = match (one.at, one.processed_since) {
        (Some(_), 0) => None,
        (Some(_), n) => Some(format!("{n} processed since")),
        (None, n) => Some(format!("{n} processed")),
    };
    let zero =
        one.is_zero.then(|| view! { <a href=link::ALERTS class="s-held"><i aria-hidden="true">"▲"</i>" zero"</a> });
    let href =
        link::with_query("/refusals", [("source", Some(one.source.as_str())), ("kind", Some(one.kind.as_str()))]);
    view! {
        <tr data-k=format!("{} {}", one.source, one.kind)>
            <th scope="row"><a href=href>{name(&one.source)}</a>" "<small>{name(&one.kind)}</small></th>
            <td class="says">
                {when}{one.reason_code.as_deref().map(|code| view! { " · "{name(code)} })}
                {processed.map(|said| format!(" · {said}"))}" "{zero}
            </td>
        </tr>
    }
}

/// Alerts that nobody knows of yet, the critical ones counted by themselves.
fn calling_alerts(reading: &Reading) -> Option<impl IntoView + use<>> {
    let said = match reading.calling_alerts {
        0 => return None,
        1 => "1 alert".to_owned(),
        n => format!("{n} alerts"),
    };
    let critical = (reading.critical_alerts > 0).then(|| {
        view! { ", "<b class="s-dead"><i aria-hidden="true">"■"</i>{format!(" {} critical", reading.critical_alerts)}</b> }
    });
    Some(view! { <p><a href=link::ALERTS>{said}</a>" open"{critical}"."</p> })
}

pub(super) fn needs_somebody(reading: &Reading) -> impl IntoView {
    let open =
        link::letter_groups(&LetterFilter { status: Some(StatusFilter::Unresolved), ..LetterFilter::default() }, None);
    view! {
        <section>
            <h2>"Needs somebody"</h2>
            {calling_alerts(reading)}
            {match reading.unresolved_dead_letters {
                0 => view! { <p class="empty">"No dead letter waits for a person."</p> }.into_any(),
                1 => view! { <p><a href=open>"1 dead letter"</a>" waits for a person."</p> }.into_any(),
                n => view! { <p><a href=open>{format!("{n} dead letters")}</a>" wait for a person."</p> }.into_any(),
            }}
            {match reading.due_follow_ups {
                0 => ().into_any(),
                1 => view! { <p><a href=link::FOLLOW_UPS>"1 follow-up"</a>" due."</p> }.into_any(),
                n => view! { <p><a href=link::FOLLOW_UPS>{format!("{n} follow-ups")}</a>" due."</p> }.into_any(),
            }}
            {match reading.stuck_notices {
                0 => ().into_any(),
                1 => view! { <p><a href=link::OUTBOX>"1 notice"</a>" is not sent."</p> }.into_any(),
                n => view! { <p><a href=link::OUTBOX>{format!("{n} notices")}</a>" are not sent."</p> }.into_any(),
            }}
        </section>
    }
}
