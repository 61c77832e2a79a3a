//! A bulk that was confirmed: how far it is, what came of each letter, and what
//! a person can still do about it.

use super::bulk_draft::steer;
use super::link;
use super::name::{name, said};
use super::state_mark::{Mark, of_item, of_job, state};
use crate::model::bulk::{BulkDetail, BulkItem, BulkState, ItemOutcome, TRIAL_LETTERS};
use crate::model::job::JobState;
use leptos::prelude::*;

/// All of it; buttons only for those who may steer it.
pub fn bulk_progress(detail: &BulkDetail, may_steer: bool, is_later: bool) -> impl IntoView + use<> {
    let (tried, total) = (detail.counts.tried(), detail.bulk.total);
    let label = format!("{tried} of {total} tried");
    view! {
        <p class="lead">{detail.summary()}</p>
        <p>
            <progress max=total.to_string() value=tried.to_string() aria-label="Letters tried"></progress>
            " "{label}
        </p>
        {standing(detail)}
        {may_steer.then(|| controls(detail))}
        {counts(detail)}
        {trouble(detail, is_later)}
    }
}

/// Why it does not go on by itself, or what it waits for.
fn standing(detail: &BulkDetail) -> Option<AnyView> {
    let bulk = &detail.bulk;
    let replays = bulk.act.as_ref().is_some_and(|act| act.action.replays());
    match bulk.state {
        BulkState::Halted | BulkState::Stopped => {
            let said_so = bulk.said.clone().unwrap_or_default();
            let left = detail.counts.outstanding;
            let left = (left > 0).then(|| format!(". {left} were not tried."));
            Some(view! { <p class="notice odd">{state_word(detail)}": "{said(&said_so)}{left}</p> }.into_any())
        }
        BulkState::Running if bulk.is_trial && replays && detail.counts.outstanding > 0 => {
            let waits = detail.counts.replays_running;
            let waits = (waits > 0).then(|| format!(" {waits} of them have not ended."));
            let text = format!(
                "The first {TRIAL_LETTERS} go alone. The others follow when these replays have ended and one succeeded."
            );
            Some(view! { <p>{text}{waits}</p> }.into_any())
        }
        _ => None,
    }
}

fn state_word(detail: &BulkDetail) -> &'static str {
    match detail.bulk.state {
        BulkState::Halted => "It stopped itself",
        _ => "Stopped",
    }
}

/// Only what the state allows.
fn controls(detail: &BulkDetail) -> impl IntoView + use<> {
    let outstanding = detail.counts.outstanding > 0;
    let bulk = &detail.bulk;
    let stop = (bulk.state == BulkState::Running)
        .then(|| steer(detail, "stop", "Stop", "Acts on no further letter. What was done stays done."));
    let go_on = match bulk.state {
        BulkState::Halted => Some("Acts on the others, too, without waiting for any replay."),
        BulkState::Stopped if outstanding && bulk.act.is_some() => Some("Acts on those that were not tried."),
        BulkState::Running if bulk.is_trial && outstanding => Some("Does not wait for the first replays."),
        _ => None,
    };
    let go_on = go_on.map(|does| steer(detail, "go_on", "Go on", does));
    let leave = (bulk.state == BulkState::Halted)
        .then(|| steer(detail, "stop", "Leave it", "The others stay as they are, open for whoever comes."));
    view! { <div class="actions">{go_on}{leave}{stop}</div> }
}

fn counts(detail: &BulkDetail) -> impl IntoView + use<> {
    let counts = &detail.counts;
    let line = |mark: Mark, word: &str, count: i64| {
        view! { <div><dt>{state(mark, word)}</dt><dd>{count.to_string()}</dd></div> }
    };
    let outcomes = ItemOutcome::ALL
        .into_iter()
        .filter(|outcome| matches!(outcome, ItemOutcome::Acted | ItemOutcome::Failed) || counts.of(*outcome) > 0)
        .map(|outcome| line(of_item(outcome), outcome.label(), counts.of(outcome)))
        .collect_view();
    let replays = detail.bulk.act.as_ref().is_some_and(|act| act.action.replays()).then(|| {
        view! {
            <dl class="facts">
                {line(of_job(JobState::Done), "replays done", counts.replays_done)}
                {line(of_job(JobState::InProgress), "replays not ended", counts.replays_running)}
                {line(of_job(JobState::Dead), "replays parked again", counts.replays_parked)}
            </dl>
        }
    });
    view! {
        <div class="columns">
            <dl class="facts">{outcomes}{line(of_job(JobState::Waiting), "not tried yet", counts.outstanding)}</dl>
            {replays}
        </div>
    }
}

/// What was skipped, failed or came back, page by page.
fn trouble(detail: &BulkDetail, is_later: bool) -> impl IntoView + use<> {
    let rows = detail.trouble.iter().map(row).collect_view();
    let list = if detail.trouble.is_empty() {
        let nothing = match (is_later, detail.bulk.state) {
            (true, _) => "There is no more.",
            (_, BulkState::Done) => "Nothing was skipped, nothing failed, and no replay was parked again so far.",
            _ => "Nothing so far.",
        };
        view! { <p class="empty">{nothing}</p> }.into_any()
    } else {
        view! {
            <div class="scroll" tabindex="0" role="region" aria-label="What failed and why">
                <table class="compact">
                    <thead>
                        <tr>
                            <th scope="col">"Letter"</th>
                            <th scope="col">"Kind"</th>
                            <th scope="col">"What became of it"</th>
                            <th scope="col">"Why"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any()
    };
    let first = is_later.then(|| link::bulk(detail.bulk.id, None));
    let more = detail.next.map(|after| link::bulk(detail.bulk.id, Some(after)));
    view! {
        <h2>"What failed, was skipped or came back"</h2>
        {list}
        {(first.is_some() || more.is_some()).then(|| view! {
            <nav class="pager" aria-label="Pages of this list">
                {first.map(|href| view! { <a href=href>"← From the first"</a> })}
                {more.map(|href| view! { <a href=href rel="next">"More →"</a> })}
            </nav>
        })}
    }
}

fn row(item: &BulkItem) -> impl IntoView + use<> {
    let id = item.dead_letter_id;
    let (became, why) = match (&item.parked_again, item.outcome) {
        (Some((again, why)), _) => (
            view! { {state(of_job(JobState::Dead), "replay parked again:")}" "<a href=link::letter(*again)>{format!("letter {again}")}</a> }.into_any(),
            why.clone(),
        ),
        (None, outcome) => (
            outcome.map(|outcome| state(of_item(outcome), outcome.label())).into_any(),
            item.said.clone().unwrap_or_default(),
        ),
    };
    view! {
        <tr>
            <td><a href=link::letter(id)>{format!("letter {id}")}</a></td>
            <td class="name">{item.kind.as_deref().map(name)}</td>
            <td>{became}</td>
            <td class="says">{said(&why)}</td>
        </tr>
    }
}
