//! `/dead-letters/{id}`: why it is here, what the agent saw, who acted, and
//! what may be done.

use super::dead_letters::reason;
use super::frame::{Loaded, Section, page};
use crate::api::{Access, FormKeys, Request};
use crate::components::attempts::attempts;
use crate::components::json_text::{MASKED, indented, text_block};
use crate::components::letter_options::{holder, letter_options};
use crate::components::link;
use crate::components::moment::date_and_time;
use crate::components::name::{name, said};
use crate::components::preview::folded;
use crate::components::reveal::reveal;
use crate::components::state_mark::{job_word, of_job, of_letter, of_route, state};
use crate::error::AppError;
use crate::model::ids::DeadLetterId;
use crate::model::job::{JobState, RawJson, ReplayMode};
use crate::model::json_tree::JsonTree;
use crate::model::letter::{DeadLetter, DeadLetterDetail, Decision, LetterStatus, Replay, Route};
use crate::model::letter_filter::LetterFilter;
use crate::model::mask::mask_payload;
use crate::model::people::{Role, Viewer};
use crate::model::quote::find_quote;
use crate::model::text::{cut, visible_lines};
use leptos::prelude::*;

/// `?show=all` shows long texts whole.
#[component]
pub fn DeadLetterPage() -> impl IntoView {
    page(Section::DeadLetters, "Dead letter", Role::OnCall, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let id = request.id::<DeadLetterId>("dead letter")?;
    let mut detail = access.store.find_letter(id).await?.ok_or(AppError::NotFound("dead letter"))?;
    let hidden =
        access.mask(&detail.letter.kind, &format!("dead_letter {id}"), &mut detail.payload, mask_payload).await?;
    let whole = contents(&detail, &access.viewer, request.get("show") == Some("all"));
    Ok(view! { {whole}{reveal(&link::letter(id), &hidden, &access.viewer)} }.into_any())
}

/// What the page shows of one letter.
pub(super) fn contents(detail: &DeadLetterDetail, viewer: &Viewer, show_all: bool) -> AnyView {
    let letter = &detail.letter;
    let path = link::letter(letter.id);
    let may_see = viewer.may(Role::Reviewer);
    view! {
        <div class="columns letter">
            <section>{source(detail, &path, may_see, show_all)}</section>
            <section>
                {why(letter)}
                {standing(letter)}
                {holder(letter, viewer, detail.as_of, FormKeys::next)}
                {letter_options(letter, viewer, FormKeys::next)}
            </section>
        </div>
        {handoffs(detail.upstream_handoffs.as_ref())}
        <h2>"Attempts"</h2>
        {attempts(&detail.attempt_history, detail.as_of, letter.error.as_deref())}
        {decisions(detail, may_see)}
        {replays(detail)}
        {closed_with(detail, may_see)}
        {carried(detail, may_see, show_all)}
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
    resolution.map(|resolution| {
        view! { <p class="standing">{state(of_letter(letter.status), letter.status.as_str())}{resolution}</p> }
    })
}

/// The source text with the evidence marked, which is a piece of the payload and
/// as private, or where it should have been; and the error.
fn source(detail: &DeadLetterDetail, path: &str, may_see: bool, show_all: bool) -> impl IntoView + use<> {
    let letter = &detail.letter;
    let evidence = letter.evidence.as_deref().map(|evidence| {
        let body = if may_see {
            marked(detail, evidence, path, show_all)
        } else {
            view! { <p class="meta">{MASKED}</p> }.into_any()
        };
        view! { <h2>"Evidence"</h2>{body} }
    });
    view! {
        {evidence}
        // Once on this page: the attempts below only begin it.
        {letter.error.as_deref().map(|error| view! { <h2>"Error"</h2>{folded(error, "error")} })}
    }
}

/// Bytes of evidence that fit on a line.
const SHORT: usize = 300;
/// Bytes of the source shown before and behind the evidence.
const AROUND: usize = 6_000;

fn marked(detail: &DeadLetterDetail, evidence: &str, path: &str, show_all: bool) -> AnyView {
    let payload = detail.payload.as_ref().map(JsonTree::of);
    let texts: Vec<String> =
        payload.iter().flat_map(|payload| payload.leaves(1_000)).filter_map(|(_, leaf)| leaf.as_text()).collect();
    let found = texts.iter().find_map(|text| find_quote(text, evidence).map(|range| (text, range)));
    let Some((text, range)) = found else {
        // Where it should have been: the text that the agent most likely read.
        let longest = texts.iter().max_by_key(|text| text.len()).map(|text| {
            let is_cut = text.len() > AROUND;
            let shown = visible_lines(cut(text, AROUND)).into_owned();
            view! { <pre tabindex="0" class="source">{shown}{is_cut.then_some("…")}</pre> }
        });
        let quoted = if evidence.len() > SHORT {
            text_block(&visible_lines(evidence), path, show_all).into_any()
        } else {
            view! { <mark>{visible_lines(evidence).into_owned()}</mark>" · " }.into_any()
        };
        return view! {
            <div class="missed">{quoted}"not found in the text"</div>
            {longest}
        }
        .into_any();
    };
    let before = &text[..range.start];
    let skipped = (0..=before.len().saturating_sub(AROUND)).rev().find(|&at| before.is_char_boundary(at)).unwrap_or(0);
    let after = cut(&text[range.end..], AROUND);
    let is_cut = after.len() < text.len() - range.end;
    view! {
        <pre tabindex="0" class="source">
            {(skipped > 0).then_some("…")}{visible_lines(&before[skipped..]).into_owned()}
            <mark>{visible_lines(&text[range]).into_owned()}</mark>
            {visible_lines(after).into_owned()}{is_cut.then_some("…")}
        </pre>
    }
    .into_any()
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
            let became = replay.dead_letter_id.map(|id| {
                let stands = replay.dead_letter_status.map(|status| format!(" ({})", status.as_str()));
                view! { " → "<a href=link::letter(id)>{format!("letter {id}")}</a>{stands} }
            });
            view! {
                <li>
                    <a href=link::job(replay.job_id)>{job}</a>{format!(", {}: ", replay.mode.as_str())}
                    {state(of_job(replay.state), job_word(replay.state))}
                    {replay.verdict.as_deref().map(|verdict| view! { ", "{said(verdict)} })}
                    {became}
                </li>
            }
        })
        .collect_view();
    let outcome = outcome(&detail.replays);
    (!detail.replays.is_empty()).then(|| view! { <h2>"Replays"</h2><p>{outcome}</p><ul class="facts">{rows}</ul> })
}

/// How the replays ended, in one line.
fn outcome(replays: &[Replay]) -> String {
    if replays.len() > 1 {
        let count = |state| replays.iter().filter(|replay| replay.state == state).count();
        let closed = |replay: &&Replay| replay.dead_letter_status == Some(LetterStatus::Resolved);
        let resolved = replays.iter().filter(closed).count();
        let (done, dead) = (count(JobState::Done), count(JobState::Dead) - resolved);
        let parts = [
            (done, "done"),
            (dead, "dead letter"),
            (resolved, "closed"),
            (replays.len() - done - dead - resolved, "not ended"),
        ];
        let parts: Vec<String> =
            parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        return format!("split into {}: {}", replays.len(), parts.join(", "));
    }
    let answer = |mode: ReplayMode, good: &str, bad: &str| {
        let word = mode.as_str();
        match replays.iter().find(|replay| replay.mode == mode).map(|replay| replay.state) {
            None => format!("{word}: not asked"),
            Some(JobState::Done) => format!("{word}: {good}"),
            Some(JobState::Dead) => format!("{word}: {bad}"),
            Some(_) => format!("{word}: not ended yet"),
        }
    };
    format!(
        "{} · {}",
        answer(ReplayMode::Pinned, "does not reproduce", "reproduces"),
        answer(ReplayMode::Current, "fixed", "not fixed")
    )
}

/// What people did so far, and what a correction changed, which is a piece of
/// the payload and as private.
fn decisions(detail: &DeadLetterDetail, may_see: bool) -> Option<impl IntoView + use<>> {
    let rows = detail.decisions.iter().map(|one| decision(one, may_see)).collect_view();
    (!detail.decisions.is_empty()).then(|| view! { <h2 id="history">"Decisions"</h2><ol class="facts">{rows}</ol> })
}

fn decision(decision: &Decision, may_see: bool) -> impl IntoView + use<> {
    let difference: Option<serde_json::Value> =
        decision.difference.as_ref().filter(|_| may_see).and_then(|json| serde_json::from_str(json.as_str()).ok());
    let changes = difference.as_ref().and_then(|all| all.get("changes")?.as_array().cloned()).unwrap_or_default();
    let changes = changes
        .iter()
        .map(|one| {
            let text = |key: &str| one.get(key).and_then(|value| value.as_str()).unwrap_or("(absent)").to_owned();
            view! {
                <li>
                    {name(&text("path"))}": "<del>{visible_lines(&text("before")).into_owned()}</del>" → "
                    <ins>{visible_lines(&text("after")).into_owned()}</ins>
                </li>
            }
        })
        .collect_view();
    let left_out = difference.as_ref().and_then(|all| all.get("left_out")?.as_u64()).filter(|n| *n > 0);
    view! {
        <li>
            {date_and_time(decision.at)}" "<b>{name(&decision.by)}</b>": "{decision.action.label()}
            {decision.note.as_deref().map(|note| view! { <q>{visible_lines(note).into_owned()}</q> })}
            <ul class="changes">{changes}</ul>
            {left_out.map(|n| format!("and {n} more changes"))}
        </li>
    }
}

/// The notice, whose recipient comes out of the payload, or the follow-up that
/// it was closed with.
fn closed_with(detail: &DeadLetterDetail, may_see: bool) -> impl IntoView + use<> {
    let notice = detail.notice.as_ref().filter(|_| may_see).map(|sent| {
        let state = match sent.sent_at {
            Some(at) => view! { "sent "{date_and_time(at)} }.into_any(),
            None => view! { <a href=link::notice(sent.id)>"waits in the outbox"</a> }.into_any(),
        };
        view! {
            <h2>"Notice"</h2>
            <p>"To "<b>{said(&sent.notice.recipient)}</b>", "{state}": "{said(&sent.notice.subject)}</p>
            <p>{visible_lines(&sent.notice.body).into_owned()}</p>
        }
    });
    let follow_up = detail.follow_up.as_ref().map(|left| {
        let done = match left.done_at {
            Some(at) => view! { "done "{date_and_time(at)} }.into_any(),
            None => view! { "due "{left.due.to_string()} }.into_any(),
        };
        view! { <h2>"Follow-up"</h2><p><b>{name(&left.owner)}</b>", "{done}": "{visible_lines(&left.text).into_owned()}</p> }
    });
    view! { {notice}{follow_up} }
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
