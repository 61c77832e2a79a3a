//! `/dead-letters/{id}`: why it is here, what the agent saw, who acted, and
//! what may be done.

use super::dead_letters::reason;
use super::frame::{Loaded, Section, page};
use crate::api::{Access, FormKeys, Request};
use crate::components::attempts::attempts;
use crate::components::json_text::{MASKED, indented, text_block};
use crate::components::letter_actions::letter_actions;
use crate::components::link;
use crate::components::moment::date_and_time;
use crate::components::name::{name, said};
use crate::components::preview::folded;
use crate::components::reveal::reveal;
use crate::components::state_mark::{job_word, of_job, of_letter, of_route, state};
use crate::error::AppError;
use crate::model::ids::DeadLetterId;
use crate::model::job::RawJson;
use crate::model::letter::{DeadLetter, DeadLetterDetail, Route};
use crate::model::letter_filter::LetterFilter;
use crate::model::people::{Role, Viewer};
use crate::model::text::visible_lines;
use leptos::prelude::*;

/// `?show=all` shows long texts whole.
#[component]
pub fn DeadLetterPage() -> impl IntoView {
    page(Section::DeadLetters, "Dead letter", Role::OnCall, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let id = request.id::<DeadLetterId>("dead letter")?;
    let mut detail = access.store.find_letter(id).await?.ok_or(AppError::NotFound("dead letter"))?;
    let hidden = access.mask(&detail.letter.kind, &format!("dead_letter {id}"), &mut detail.payload).await?;
    let whole = contents(&detail, &access.viewer, request.get("show") == Some("all"));
    Ok(view! { {whole}{reveal(&link::letter(id), &hidden, &access.viewer)} }.into_any())
}

/// What the page shows of one letter.
pub(super) fn contents(detail: &DeadLetterDetail, viewer: &Viewer, show_all: bool) -> AnyView {
    let letter = &detail.letter;
    let path = link::letter(letter.id);
    view! {
        {why(letter)}
        {standing(letter)}
        {letter_actions(letter, viewer, &path, FormKeys::next)}
        {quoted(letter, &path, viewer.may(Role::Reviewer), show_all)}
        {handoffs(detail.upstream_handoffs.as_ref())}
        <h2>"Attempts"</h2>
        {attempts(&detail.attempt_history, detail.as_of, letter.error.as_deref())}
        {replays(detail)}
        {carried(detail, viewer.may(Role::Reviewer), show_all)}
    }
    .into_any()
}

/// Why it is here, in one sentence.
fn why(letter: &DeadLetter) -> impl IntoView + use<> {
    let because = match letter.route {
        Route::RefusedByAgent => "the agent said no",
        Route::FailedEvidenceCheck => "the agent said yes, and its evidence did not hold",
        Route::Exception => "the work could not be done",
    };
    let kind = letter.kind.clone();
    let same = link::letters(&LetterFilter { group: Some(letter.group.clone()), ..LetterFilter::default() });
    view! {
        <p class="lead">
            {state(of_route(letter.route), letter.route.label())}": "{because}", "<strong>{said(&reason(letter))}</strong>
        </p>
        <p class="meta">
            "letter "{letter.id.to_string()}", "<a href=link::job(letter.job_id)>{format!("job {}", letter.job_id)}</a>", "
            <a href=link::jobs(&kind, None)>{name(&kind)}</a>" from "{name(&letter.source)}
            {letter.tenant.as_deref().map(|tenant| view! { " for "{name(tenant)} })}
            ", parked "{date_and_time(letter.dead_lettered_at)}", "<a href=same>"letters like this"</a>
        </p>
    }
}

/// Who has it, or how it was resolved.
fn standing(letter: &DeadLetter) -> impl IntoView + use<> {
    let resolution = letter.resolution.as_ref().map(|done| {
        let label = done.action.label();
        view! {
            " by "<b>{name(&done.by)}</b>": "{label}", "{date_and_time(done.at)}
            {done.note.as_deref().map(|note| view! { <q>{visible_lines(note).into_owned()}</q> })}
        }
    });
    view! { <p class="standing">{state(of_letter(letter.status), letter.status.as_str())}{resolution}</p> }
}

/// What the agent quoted, which is a piece of the payload and as private, and the error.
fn quoted(letter: &DeadLetter, path: &str, may_see: bool, show_all: bool) -> impl IntoView + use<> {
    let part = |title: &'static str, text: &Option<String>| {
        text.as_deref().map(|text| view! { <h2>{title}</h2>{text_block(&visible_lines(text), path, show_all)} })
    };
    let masked = letter.evidence.is_some() && !may_see;
    let evidence = if masked { None } else { part("Evidence", &letter.evidence) };
    view! {
        {masked.then(|| view! { <h2>"Evidence"</h2><p class="meta">{MASKED}</p> })}
        {evidence}
        // Once on this page: the attempts below only begin it.
        {letter.error.as_deref().map(|error| view! { <h2>"Error"</h2>{folded(error, "error")} })}
    }
}

/// What earlier agents did to the input. A note is where an upstream fault says
/// its name (`pages_emitted=1 of 2`), so it stands out.
fn handoffs(raw: Option<&RawJson>) -> Option<impl IntoView + use<>> {
    let raw = raw?;
    let parsed: Option<Vec<serde_json::Value>> = serde_json::from_str(raw.as_str()).ok();
    let body = match parsed {
        None => view! { <pre tabindex="0">{indented(raw)}</pre> }.into_any(),
        Some(handoffs) => {
            let rows = handoffs.iter().map(handoff).collect_view();
            view! { <ol class="handoffs">{rows}</ol> }.into_any()
        }
    };
    Some(view! { <h2>"Handoffs"</h2>{body} })
}

fn handoff(handoff: &serde_json::Value) -> impl IntoView + use<> {
    let text = |key: &str| handoff.get(key).and_then(|value| value.as_str()).map(str::to_owned);
    let whole = handoff.get("agent").is_none().then(|| handoff.to_string());
    view! {
        <li>
            <b>{text("agent").as_deref().map(name)}</b>{text("version").map(|version| view! { " "{said(&version)} })}
            {text("note").map(|note| view! { " "<mark>{visible_lines(&note).into_owned()}</mark> })}
            {text("output_sha256").map(|hash| view! { " "<small>{name(&hash)}</small> })}
            {whole}
        </li>
    }
}

fn replays(detail: &DeadLetterDetail) -> Option<impl IntoView + use<>> {
    let rows = detail
        .replays
        .iter()
        .map(|replay| {
            let job = format!("job {}", replay.job_id);
            view! {
                <li>
                    <a href=link::job(replay.job_id)>{job}</a>{format!(", {}: ", replay.mode.as_str())}
                    {state(of_job(replay.state), job_word(replay.state))}
                </li>
            }
        })
        .collect_view();
    (!detail.replays.is_empty()).then(|| view! { <h2>"Replays"</h2><ul class="facts">{rows}</ul> })
}

fn carried(detail: &DeadLetterDetail, may_see: bool, show_all: bool) -> impl IntoView + use<> {
    let path = link::letter(detail.letter.id);
    let payload = detail.payload.as_ref().map(|json| json.as_str().to_owned());
    let parts = [("Payload", payload), ("Envelope", detail.envelope.as_ref().map(indented))];
    let parts = parts
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
        .collect_view();
    let payload_ref = detail.payload_ref.clone().map(|at| view! { <p>"Payload lies at "<code>{at}</code></p> });
    view! { {payload_ref}{parts} }
}
