//! `/jobs/{id}`: all that one job carries, and its attempts.

use super::frame::{Loaded, Section, page};
use super::jobs::due_or_ended;
use crate::api::{Access, Request, TraceLinks};
use crate::components::attempts::attempts;
use crate::components::envelope::{Known, envelope, trace};
use crate::components::json_text::{MASKED, text_block};
use crate::components::link;
use crate::components::misses::misses;
use crate::components::moment::date_and_time;
use crate::components::name::{name, said};
use crate::components::reveal::reveal;
use crate::components::state_mark::{job_word, of_job, state};
use crate::error::AppError;
use crate::model::envelope::Envelope;
use crate::model::ids::JobId;
use crate::model::job::{JobDetail, RawJson};
use crate::model::mask::mask_job;
use crate::model::people::Role;
use leptos::prelude::*;

/// `?show=all` shows long texts whole.
#[component]
pub fn JobPage() -> impl IntoView {
    page(Section::Jobs, "Job", Role::OnCall, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let id = request.id::<JobId>("job")?;
    let mut job = access.store.find_job(id).await?.ok_or(AppError::NotFound("job"))?;
    let hidden = access.mask(&job.summary.kind.clone(), &format!("job {id}"), &mut job, mask_job).await?;
    let show_all = request.get("show") == Some("all");
    let may_see = access.viewer.may(Role::Reviewer);
    let hashes = job.envelope.as_ref().map(|json| Envelope::of(json).artifacts()).unwrap_or_default();
    let known = Known { artifacts: access.store.known_artifacts(&hashes).await?, trace_url: TraceLinks::current() };
    Ok(view! {
        {facts(&job)}
        <h2>"Attempts"</h2>
        {attempts(&job.attempt_history, job.as_of, None)}
        {shadow_misses(&job)}
        {reveal(&link::job(id), &hidden, &access.viewer)}
        {carried(&job, may_see, show_all)}
        {context(&job, may_see, show_all, &known)}
    }
    .into_any())
}

fn facts(job: &JobDetail) -> impl IntoView + use<> {
    let summary = &job.summary;
    let kind = summary.kind.clone();
    let text =
        |term: &'static str, value: &Option<String>| value.as_deref().map(|value| fact(term, said(value).into_any()));
    let time = |term: &'static str, at: Option<chrono::DateTime<chrono::Utc>>| {
        at.map(|at| fact(term, date_and_time(at).into_any()))
    };
    view! {
        <dl class="facts">
            {fact("Id", summary.id.to_string().into_any())}
            {fact("Kind", view! { <a href=link::jobs(&kind, None)>{name(&kind)}</a> }.into_any())}
            {fact("Source", name(&summary.source).into_any())}
            {text("Tenant", &summary.tenant)}
            {fact("State", view! { {state(of_job(summary.state), job_word(summary.state))}", "{due_or_ended(summary, job.as_of)} }.into_any())}
            {fact("Attempts", format!("{} of {}", summary.attempts, summary.max_attempts).into_any())}
            {text("Worker", &summary.worker)}
            {text("Verdict", &summary.verdict)}
            {text("Reason", &job.reason)}
            {text("Reason code", &summary.reason_code)}
            {text("Field", &summary.field)}
            {summary.dead_letter_id.map(|id| fact("Dead letter", view! { <a href=link::letter(id)>{format!("letter {id}")}</a> }.into_any()))}
            {job.replay_of.map(|id| fact("Replay of", view! { <a href=link::letter(id)>{format!("letter {id}")}</a> }.into_any()))}
            {job.canary.then(|| fact("Canary", "yes: counts only among canaries".into_any()))}
            {time("Enqueued", Some(summary.enqueued_at))}
            {time("Received at the source", job.received_at)}
            {time("Not before", Some(job.run_at))}
            {time("Cutoff counts from", job.anchor_at)}
            {time("Ended", summary.finished_at)}
            {text("Unique key", &job.unique_key)}
            {text("Trace", &job.trace_id)}
            {text("Payload lies at", &job.payload_ref)}
            {text("Payload SHA-256", &job.payload_sha256)}
        </dl>
    }
}

fn fact(term: &'static str, value: AnyView) -> impl IntoView {
    view! { <div><dt>{term}</dt><dd>{value}</dd></div> }
}

/// What the work was decided with, and how to see what that changed since the
/// letter that is replayed.
fn context(job: &JobDetail, may_see: bool, show_all: bool, known: &Known) -> impl IntoView + use<> {
    let path = link::job(job.summary.id);
    let parts = job.envelope.as_ref().map(|json| {
        let beside = job.replay_of.map(|letter| {
            let href = link::compare(&format!("letter:{letter}"), &format!("job:{}", job.summary.id));
            view! { <p><a href=href>"Compare with letter "{letter.to_string()}</a></p> }
        });
        let body = if may_see {
            envelope(json, known, &path, show_all)
        } else {
            view! { <p class="hint">{MASKED}</p> }.into_any()
        };
        view! { <h2>"Envelope"</h2>{beside}{body} }
    });
    let links_itself =
        may_see && job.envelope.as_ref().is_some_and(|json| Envelope::of(json).text("trace_id", None).is_some());
    let job_trace = job.trace_id.as_deref().filter(|_| !links_itself);
    view! { {trace(job_trace, known.trace_url.as_ref())}{parts} }
}

/// What checks that do not park anything yet would have parked it for.
fn shadow_misses(job: &JobDetail) -> Option<impl IntoView + use<>> {
    (!job.shadow_misses.is_empty()).then(|| {
        view! {
            <h2>"Evidence"<small>" checks in shadow: these would have parked it"</small></h2>
            {misses(&job.shadow_misses)}
        }
    })
}

/// Input and output, word for word; masked as a whole for those who may not see it.
fn carried(job: &JobDetail, may_see: bool, show_all: bool) -> impl IntoView + use<> {
    let path = link::job(job.summary.id);
    let json = |value: &Option<RawJson>| value.as_ref().map(|json| json.as_str().to_owned());
    let parts = [
        ("Payload", json(&job.payload)),
        ("Upstream handoffs", json(&job.upstream_handoffs)),
        ("Result", json(&job.result)),
        ("Evidence", json(&job.evidence)),
        ("Values", json(&job.values)),
        ("Source text", job.source_text.clone()),
    ];
    parts
        .into_iter()
        .filter_map(|(title, text)| {
            let text = text?;
            let body = if may_see {
                text_block(&text, &path, show_all).into_any()
            } else {
                view! { <p class="hint">{MASKED}</p> }.into_any()
            };
            Some(view! { <h2>{title}</h2>{body} })
        })
        .collect_view()
}
