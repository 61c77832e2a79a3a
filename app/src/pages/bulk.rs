//! `/bulk` and `/bulk/{id}`: what is done to many dead letters at once, from the
//! draft to what came of each.

use super::frame::{Loaded, Section, page};
use crate::api::{Access, Request};
use crate::components::bulk_draft::{Filled, bulk_draft};
use crate::components::bulk_progress::bulk_progress;
use crate::components::link;
use crate::components::moment::{date_and_time, wall_clock};
use crate::components::name::{name, said};
use crate::components::state_mark::{of_bulk, state};
use crate::error::AppError;
use crate::model::bulk::{Bulk, BulkAct, BulkDetail, BulkState, letters};
use crate::model::ids::{BulkId, DeadLetterId};
use crate::model::people::{Role, Viewer};
use leptos::prelude::*;
use leptos_meta::Meta;

/// Letters in the list of what failed.
const PER_PAGE: u32 = 50;
/// Bulks in the list.
const BULKS: u32 = 50;
/// Seconds until the page of a running bulk loads again by itself.
const LOOK_AGAIN_SECONDS: u32 = 3;

/// One bulk; `after` in the address pages through what failed.
#[component]
pub fn BulkPage() -> impl IntoView {
    page(Section::DeadLetters, "Bulk recovery", Role::OnCall, load)
}

/// The last bulks.
#[component]
pub fn BulksPage() -> impl IntoView {
    page(Section::DeadLetters, "Bulk recovery", Role::OnCall, load_list)
}

async fn load(access: Access, request: Request) -> Loaded {
    let id = request.id::<BulkId>("bulk")?;
    let after = request.parsed::<DeadLetterId>("after", "must be the id of a dead letter")?;
    let found = access.store.find_bulk(id, after, PER_PAGE).await?.ok_or(AppError::NotFound("bulk"))?;
    let posted = request.posted.as_ref();
    let filled = Filled {
        note: posted.and_then(|posted| posted.get("note")).map(str::to_owned),
        is_pinned: posted.is_some_and(|posted| posted.get("mode") == Some("pinned")),
    };
    let contents = contents(&found, &access.viewer, &filled, after.is_some());
    let refresh = (found.bulk.state == BulkState::Running).then(|| {
        view! { <Meta http_equiv="refresh" content=LOOK_AGAIN_SECONDS.to_string() /> }
    });
    Ok(view! { {refresh}{contents} }.into_any())
}

async fn load_list(access: Access, _: Request) -> Loaded {
    let bulks = access.store.list_bulks(BULKS).await?;
    Ok(list(&bulks))
}

/// One bulk as `viewer` sees it; `is_later` when other trouble stands before.
pub(super) fn contents(detail: &BulkDetail, viewer: &Viewer, filled: &Filled, is_later: bool) -> AnyView {
    let bulk = &detail.bulk;
    let may_steer = viewer.may(Role::Admin) || (viewer.may(Role::Reviewer) && viewer.name == bulk.made_by);
    let is_over = bulk.state == BulkState::Done;
    let others = (viewer.may(Role::Reviewer) && !may_steer && !is_over).then(|| {
        view! { <p class="hint">"Only "{name(&bulk.made_by)}", who chose these letters, or an admin may start or stop it."</p> }
    });
    // A draft that was left has come to nothing: there is no progress to show.
    let is_dropped = bulk.state == BulkState::Stopped && bulk.act.is_none();
    let body = match bulk.state {
        BulkState::Draft => bulk_draft(detail, may_steer, filled).into_any(),
        _ if is_dropped => view! { <p class="lead">"It was left. Nothing was done to any letter."</p> }.into_any(),
        _ => bulk_progress(detail, may_steer, is_later).into_any(),
    };
    view! {
        <p class="standing">
            {state(of_bulk(bulk.state), bulk.state.label())}
            " · "<b>{letters(bulk.total)}</b>
            " · as of "{wall_clock(detail.as_of, detail.as_of)}
            {(bulk.state == BulkState::Running).then(|| format!(", looks again every {LOOK_AGAIN_SECONDS} s"))}
            " · "<a href=link::bulk(bulk.id, None)>"Look again"</a>
            " · "<a href="/bulk">"All bulks"</a>
        </p>
        {facts(bulk)}
        {others}
        {body}
    }
    .into_any()
}

fn facts(bulk: &Bulk) -> impl IntoView + use<> {
    let started = bulk.started_by.as_ref().zip(bulk.started_at).map(|(actor, at)| {
        view! { <div><dt>"Confirmed"</dt><dd>"by "{name(&actor.name)}", "{date_and_time(at)}</dd></div> }
    });
    let does = bulk.act.as_ref().map(|act| {
        let note = act.note.as_deref().map(|note| view! { " · "<q>{said(note)}</q> });
        view! { <div><dt>"Does"</dt><dd>{does(act)}{note}</dd></div> }
    });
    let word = if bulk.state == BulkState::Done { "Ended" } else { "Stopped" };
    let ended = bulk.ended_at.map(|at| view! { <div><dt>{word}</dt><dd>{date_and_time(at)}</dd></div> });
    view! {
        <dl class="facts">
            <div><dt>"Which letters"</dt><dd>{said(&bulk.scope)}</dd></div>
            <div><dt>"Chosen"</dt><dd>"by "{name(&bulk.made_by)}", "{date_and_time(bulk.made_at)}</dd></div>
            {does}
            {started}
            {ended}
        </dl>
    }
}

/// `Approve & replay, current`.
fn does(act: &BulkAct) -> String {
    let mode = if act.action.replays() { format!(", {}", act.mode.as_str()) } else { String::new() };
    format!("{}{mode}", act.action.label())
}

/// The last bulks, newest first.
pub(super) fn list(bulks: &[Bulk]) -> AnyView {
    let back = view! { <p><a href="/dead-letters">"To the dead letters"</a></p> };
    if bulks.is_empty() {
        return view! {
            <p class="empty">"Nobody has acted on many letters at once yet. Tick letters in the list, or take a whole group or list."</p>
            {back}
        }
        .into_any();
    }
    let rows = bulks.iter().map(row).collect_view();
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Bulks">
            <table class="compact">
                <thead>
                    <tr>
                        <th scope="col">"No."</th>
                        <th scope="col">"State"</th>
                        <th scope="col" class="number">"Letters"</th>
                        <th scope="col">"Does"</th>
                        <th scope="col">"Chosen by"</th>
                        <th scope="col">"When"</th>
                        <th scope="col">"Which letters"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        <p class="hint">{format!("At most the last {BULKS}; the audit has all.")}</p>
        {back}
    }
    .into_any()
}

fn row(bulk: &Bulk) -> impl IntoView + use<> {
    view! {
        <tr>
            <td><a href=link::bulk(bulk.id, None)>{format!("bulk {}", bulk.id)}</a></td>
            <td>{state(of_bulk(bulk.state), bulk.state.label())}</td>
            <td class="number">{letters(bulk.total)}</td>
            <td>{bulk.act.as_ref().map(does)}</td>
            <td class="name">{name(&bulk.made_by)}</td>
            <td>{date_and_time(bulk.made_at)}</td>
            <td class="says">{said(&bulk.scope)}</td>
        </tr>
    }
}
