//! `/jobs`: the jobs, newest first, by kind and state.

use super::frame::{Loaded, Section, page};
use crate::api::{Access, Request};
use crate::components::filter_chips::{Chip, filter_chips};
use crate::components::link::{self, with_query};
use crate::components::moment::{date_and_time, since, until};
use crate::components::name::{name, said};
use crate::components::pager::pager;
use crate::components::preview::short;
use crate::components::state_mark::{job_word, of_job, state};
use crate::model::ids::JobId;
use crate::model::job::{JobFilter, JobState, JobSummary};
use crate::model::people::Role;
use chrono::{DateTime, Utc};
use leptos::prelude::*;

const PER_PAGE: u32 = 50;

/// Filters `kind`, `state`, and `before` (an id), all in the address.
#[component]
pub fn JobsPage() -> impl IntoView {
    page(Section::Jobs, "Jobs", Role::OnCall, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let filter = filter_of(&request)?;
    let found = access.store.list_jobs(&filter).await?;
    let older = found.next.map(|before| href(&JobFilter { before: Some(before), ..filter.clone() }));
    let newest = filter.before.map(|_| href(&JobFilter { before: None, ..filter.clone() }));
    Ok(view! {
        {states(&filter)}
        {filter_chips(chips(&filter), "/jobs")}
        {list(&found.jobs, &filter, found.as_of)}
        {pager(older, newest)}
    }
    .into_any())
}

fn filter_of(request: &Request) -> Result<JobFilter, crate::model::FieldError> {
    Ok(JobFilter {
        kind: request.text("kind"),
        state: request.word("state", "must be a state of a job", JobState::from_word)?,
        before: request.parsed::<JobId>("before", "must be the id of a job")?,
        limit: PER_PAGE,
    })
}

fn href(filter: &JobFilter) -> String {
    let before = filter.before.map(|id| id.to_string());
    with_query(
        "/jobs",
        [
            ("kind", filter.kind.as_deref()),
            ("state", filter.state.map(|state| state.as_str())),
            ("before", before.as_deref()),
        ],
    )
}

fn states(filter: &JobFilter) -> impl IntoView + use<> {
    let tabs = std::iter::once(None)
        .chain(JobState::ALL.map(Some))
        .map(|state| {
            let to = href(&JobFilter { state, before: None, ..filter.clone() });
            let is_current = (state == filter.state).then_some("true");
            view! { <a href=to aria-current=is_current>{state.map_or("all", job_word)}</a> }
        })
        .collect_view();
    view! { <nav class="tabs" aria-label="States">{tabs}</nav> }
}

fn chips(filter: &JobFilter) -> Vec<Chip> {
    let without_kind = href(&JobFilter { kind: None, before: None, ..filter.clone() });
    let without_state = href(&JobFilter { state: None, before: None, ..filter.clone() });
    let kind = filter.kind.clone().map(|value| Chip { name: "kind", value, without: without_kind });
    let state =
        filter.state.map(|state| Chip { name: "state", value: job_word(state).to_owned(), without: without_state });
    kind.into_iter().chain(state).collect()
}

fn list(jobs: &[JobSummary], filter: &JobFilter, now: DateTime<Utc>) -> AnyView {
    if jobs.is_empty() {
        let text = match (filter.before, filter.kind.is_some() || filter.state.is_some()) {
            (Some(_), _) => "There are no older jobs.",
            (None, true) => "No job matches these filters.",
            (None, false) => "No job has been enqueued yet, or all of them have been purged.",
        };
        return view! { <p class="empty">{text}</p> }.into_any();
    }
    let rows = jobs.iter().map(|job| row(job, now)).collect_view();
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Jobs">
            <table class="jobs compact">
                <thead>
                    <tr>
                        <th scope="col">"Job"</th>
                        <th scope="col">"State"</th>
                        <th scope="col">"Kind"</th>
                        <th scope="col">"Source"</th>
                        <th scope="col">"Attempts"</th>
                        <th scope="col">"Enqueued"</th>
                        <th scope="col">"Due or ended"</th>
                        <th scope="col">"Says"</th>
                        <th scope="col">"Last failure"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn row(job: &JobSummary, now: DateTime<Utc>) -> impl IntoView {
    view! {
        <tr data-k=job.id.to_string()>
            <th scope="row"><a href=link::job(job.id)>{job.id.to_string()}</a></th>
            <td>{state(of_job(job.state), job_word(job.state))}</td>
            <td class="name"><a href=link::jobs(&job.kind, None)>{name(&job.kind)}</a></td>
            <td class="name">{name(&job.source)}</td>
            <td class="number" data-label="Attempts">{format!("{} of {}", job.attempts, job.max_attempts)}</td>
            <td data-label="Enqueued">{date_and_time(job.enqueued_at)}</td>
            <td data-label=when_label(job)>{due_or_ended(job, now)}</td>
            <td class="says">{says(job)}</td>
            <td class="says">{failure(job)}</td>
        </tr>
    }
}

/// What the work said: its verdict, or why the agent said no or its evidence did
/// not hold. A failure said nothing; it has a column of its own.
fn says(job: &JobSummary) -> AnyView {
    let refusal = [&job.reason_code, &job.field].into_iter().flatten().cloned().collect::<Vec<_>>().join(" · ");
    match (job.dead_letter_id, &job.verdict) {
        (Some(letter), _) if !refusal.is_empty() => {
            view! { <a href=link::letter(letter)>{said(&refusal)}</a> }.into_any()
        }
        (_, Some(verdict)) => said(verdict).into_any(),
        _ => ().into_any(),
    }
}

/// What its last failed attempt ran into, with the letter if that parked it.
fn failure(job: &JobSummary) -> impl IntoView + use<> {
    let letter = job.dead_letter_id.filter(|_| job.reason_code.is_none());
    view! {
        {job.last_error.as_deref().map(short)}
        {letter.map(|id| view! { <a href=link::letter(id)>{format!("→ letter {id}")}</a> })}
    }
}

/// What stands before the time where the header does not stand above it.
fn when_label(job: &JobSummary) -> Option<&'static str> {
    job.finished_at.map(|_| "ended")
}

/// When a job may be claimed, when its lease ends, or when it ended.
pub(super) fn due_or_ended(job: &JobSummary, now: DateTime<Utc>) -> AnyView {
    match (job.state, job.due_at, job.lease_expires_at, job.finished_at) {
        (_, _, _, Some(at)) => since(at, now).into_any(),
        (JobState::InProgress, _, Some(at), None) if at > now => view! { "lease ends "{until(at, now)} }.into_any(),
        (JobState::InProgress, _, Some(at), None) => view! { "lease expired "{since(at, now)} }.into_any(),
        (_, Some(at), _, None) if at > now => view! { "due "{until(at, now)} }.into_any(),
        (_, Some(at), _, None) => view! { "due since "{since(at, now)} }.into_any(),
        _ => "–".into_any(),
    }
}
