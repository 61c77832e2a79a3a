//! `/dead-letters/{id}`: why it is here, what the agent saw, who acted, and
//! what may be done.

use super::dead_letters::reason;
use super::frame::{Loaded, Section, page};
use crate::api::{Access, FormKeys, PageError, Posted, Request, TraceLinks};
use crate::components::attempts::attempts;
use crate::components::envelope::{Known, envelope, trace};
use crate::components::handoffs::handoffs;
use crate::components::json_text::{MASKED, text_block};
use crate::components::letter_options::{holder, letter_options};
use crate::components::link;
use crate::components::misses::misses;
use crate::components::moment::date_and_time;
use crate::components::name::{name, said};
use crate::components::preview::folded;
use crate::components::replays::replays;
use crate::components::reveal::reveal;
use crate::components::state_mark::{of_letter, of_route, state};
use crate::error::AppError;
use crate::model::cover::mask_letter;
use crate::model::envelope::Envelope;
use crate::model::ids::DeadLetterId;
use crate::model::json_tree::JsonTree;
use crate::model::letter::{DeadLetter, DeadLetterDetail, Decision, Route};
use crate::model::letter_filter::LetterFilter;
use crate::model::mask::MARKER;
use crate::model::people::{Role, Viewer};
use crate::model::quote::find_quote;
use crate::model::text::{cut, visible_lines};
use leptos::prelude::*;

/// `?show=all` shows long texts whole.
#[component]
pub fn DeadLetterPage() -> impl IntoView {
    page(Section::DeadLetters, "Dead letter", Role::OnCall, load)
}

/// Other letters of the same group that a letter offers to be compared with.
const COMPARED_WITH: usize = 5;

async fn load(access: Access, request: Request) -> Loaded {
    let id = request.id::<DeadLetterId>("dead letter")?;
    let mut detail = access.store.find_letter(id).await?.ok_or(AppError::NotFound("dead letter"))?;
    let kind = detail.letter.kind.clone();
    let hidden = access.mask(&kind, &format!("dead_letter {id}"), &mut detail, mask_letter).await?;
    let beside = beside(&access, &detail, request.posted.clone()).await?;
    let whole = contents(&detail, &access.viewer, request.get("show") == Some("all"), &beside);
    Ok(view! { {whole}{reveal(&link::letter(id), &hidden, &access.viewer)} }.into_any())
}

/// What the page knows beside the letter itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Beside {
    /// Where texts and traces are.
    pub known: Known,
    /// The newest other letters of its group.
    pub group: Vec<DeadLetterId>,
    /// What was posted and could not be done.
    pub posted: Option<Posted>,
}

async fn beside(access: &Access, detail: &DeadLetterDetail, posted: Option<Posted>) -> Result<Beside, PageError> {
    let hashes = detail.envelope.as_ref().map(|json| Envelope::of(json).artifacts()).unwrap_or_default();
    let artifacts = access.store.known_artifacts(&hashes).await?;
    let same = LetterFilter {
        group: Some(detail.letter.group.clone()),
        limit: u32::try_from(COMPARED_WITH + 1).unwrap_or(u32::MAX),
        ..LetterFilter::default()
    };
    let group = access.store.list_letters(&same).await?.letters;
    let group = group.iter().map(|letter| letter.id).filter(|id| *id != detail.letter.id).take(COMPARED_WITH);
    let known = Known { artifacts, trace_url: TraceLinks::current() };
    Ok(Beside { known, group: group.collect(), posted })
}

/// What the page shows of one letter.
pub(super) fn contents(detail: &DeadLetterDetail, viewer: &Viewer, show_all: bool, beside: &Beside) -> AnyView {
    let letter = &detail.letter;
    let path = link::letter(letter.id);
    let may_see = viewer.may(Role::Reviewer);
    let typed = beside.posted.as_ref().and_then(|posted| posted.get("action").zip(posted.get("note")));
    view! {
        <div class="columns letter">
            <section>{source(detail, &path, may_see, show_all)}</section>
            <section>
                {why(detail)}
                {compared_with(letter, &beside.group)}
                {standing(letter)}
                {holder(letter, viewer, detail.as_of, FormKeys::next)}
                {letter_options(letter, viewer, FormKeys::next, typed)}
            </section>
        </div>
        {handoffs(detail.upstream_handoffs.as_ref())}
        <h2>"Attempts"</h2>
        {attempts(&detail.attempt_history, detail.as_of, letter.error.as_deref())}
        {replays(letter.id, &detail.replays)}
        {decisions(detail, may_see)}
        {closed_with(detail, may_see)}
        {carried(detail, may_see, show_all, &beside.known)}
    }
    .into_any()
}

/// The way to see what this one had otherwise than those that ended like it.
fn compared_with(letter: &DeadLetter, group: &[DeadLetterId]) -> Option<impl IntoView + use<>> {
    let this = format!("letter:{}", letter.id);
    let links = group
        .iter()
        .enumerate()
        .map(|(at, id)| {
            let href = link::compare(&this, &format!("letter:{id}"));
            view! { {(at > 0).then_some(",")}" "<a href=href>{format!("letter {id}")}</a> }
        })
        .collect_view();
    (!group.is_empty()).then(|| view! { <p class="meta">"Compare with"{links}" of the same group"</p> })
}

/// Why it is here, in one sentence.
fn why(detail: &DeadLetterDetail) -> impl IntoView + use<> {
    let letter = &detail.letter;
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
        {(!detail.misses.is_empty()).then(|| misses(&detail.misses))}
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
    // Nothing is told of a text that is masked: neither that it holds the quote nor that it does not.
    let is_hidden = texts.iter().any(|text| text.contains(MARKER));
    let found = texts.iter().find_map(|text| find_quote(text, evidence).map(|range| (text, range)));
    let found = found.filter(|_| !evidence.contains(MARKER));
    let Some((text, range)) = found else {
        // Where it should have been: the text that the agent most likely read.
        let longest = texts.iter().filter(|text| *text != MARKER).max_by_key(|text| text.len()).map(|text| {
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
            <div class="missed">{quoted}{if is_hidden { "a part of the text is masked here" } else { "not found in the text" }}</div>
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

/// Input and decision context; masked as a whole for those who may not see them.
fn carried(detail: &DeadLetterDetail, may_see: bool, show_all: bool, known: &Known) -> impl IntoView + use<> {
    let path = link::letter(detail.letter.id);
    let hidden = || view! { <p class="hint">{MASKED}</p> }.into_any();
    let payload = detail.payload.as_ref().map(|json| {
        let body = if may_see { text_block(json.as_str(), &path, show_all).into_any() } else { hidden() };
        view! { <h2>"Payload"</h2>{body} }
    });
    let context = match &detail.envelope {
        Some(json) if may_see => envelope(json, known, &path, show_all),
        Some(_) => hidden(),
        None => view! {
            <p class="empty">"The last attempt left none: its worker sent none, or died before it could."</p>
        }
        .into_any(),
    };
    let has_trace = detail.envelope.as_ref().is_some_and(|json| Envelope::of(json).text("trace_id", None).is_some());
    let job_trace = detail.trace_id.as_deref().filter(|_| !(may_see && has_trace));
    let payload_ref = detail.payload_ref.clone().map(|at| view! { <p>"Payload lies at "<code>{at}</code></p> });
    view! {
        {payload_ref}
        {payload}
        <h2>"Envelope"</h2>
        {trace(job_trace, known.trace_url.as_ref())}
        {context}
    }
}
