//! `/follow-ups`: what has to change, left to somebody by a date.

use super::frame::{Loaded, Section, page};
use crate::api::{Access, Posted, Request};
use crate::components::link::{self, FOLLOW_UPS, with_query};
use crate::components::moment::since;
use crate::components::name::name;
use crate::components::pager::page_steps;
use crate::components::preview::folded;
use crate::components::state_mark::{of_follow_up, state};
use crate::model::FieldError;
use crate::model::follow_up::{FollowUp, FollowUpCursor, FollowUpFilter, FollowUpPage, FollowUpShare};
use crate::model::people::{Role, Viewer};
use crate::model::text::visible_lines;
use chrono::{DateTime, Utc};
use leptos::prelude::*;

const PER_PAGE: u32 = 50;

/// Filter `show`, and `after` (a place in the list), both in the address.
#[component]
pub fn FollowUpsPage() -> impl IntoView {
    page(Section::DeadLetters, "Follow-ups", Role::OnCall, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let filter = filter_of(&request, &access.viewer)?;
    let found = access.store.list_follow_ups(&filter).await?;
    Ok(contents(&found, &filter, &access.viewer, request.posted.as_ref()))
}

fn filter_of(request: &Request, viewer: &Viewer) -> Result<FollowUpFilter, FieldError> {
    let share = request.word("show", "must be open, mine, done or all", FollowUpShare::from_word)?;
    let after = request.get("after").map(|text| FollowUpCursor::parse("after", text)).transpose()?;
    Ok(FollowUpFilter { share: share.unwrap_or_default(), viewer: viewer.name.clone(), after, limit: PER_PAGE })
}

fn href(share: FollowUpShare, after: Option<FollowUpCursor>) -> String {
    let show = (share != FollowUpShare::default()).then(|| share.as_str());
    let after = after.map(|after| after.to_string());
    with_query(FOLLOW_UPS, [("show", show), ("after", after.as_deref())])
}

/// The list, with a button for those who may say that something is done.
pub(super) fn contents(
    found: &FollowUpPage,
    filter: &FollowUpFilter,
    viewer: &Viewer,
    posted: Option<&Posted>,
) -> AnyView {
    let next = found.next.map(|after| href(filter.share, Some(after)));
    let first = filter.after.map(|_| href(filter.share, None));
    let here = href(filter.share, filter.after);
    let tabs = FollowUpShare::ALL
        .into_iter()
        .map(|share| {
            let is_current = (share == filter.share).then_some("true");
            view! { <a href=href(share, None) aria-current=is_current>{share.as_str()}</a> }
        })
        .collect_view();
    let rows = found.follow_ups.iter().map(|one| row(one, found.as_of, viewer, &here, posted)).collect_view();
    view! {
        <nav class="tabs" aria-label="Which">{tabs}</nav>
        {if found.follow_ups.is_empty() {
            view! { <p class="empty">{nothing(filter)}</p> }.into_any()
        } else {
            view! { <ul class="letters promises">{rows}</ul> }.into_any()
        }}
        {page_steps(next, first)}
    }
    .into_any()
}

/// Why the list is empty: filtered out, none yet, or all good.
fn nothing(filter: &FollowUpFilter) -> &'static str {
    match filter.share {
        _ if filter.after.is_some() => "There are no others.",
        FollowUpShare::Open => "No follow-up is open.",
        FollowUpShare::Mine => "Nothing is left to you.",
        FollowUpShare::Done => "No follow-up has been done yet.",
        FollowUpShare::All => "No dead letter has been closed with a follow-up yet.",
    }
}

fn row(
    one: &FollowUp,
    now: DateTime<Utc>,
    viewer: &Viewer,
    here: &str,
    posted: Option<&Posted>,
) -> impl IntoView + use<> {
    let (is_done, is_due) = (one.done_at.is_some(), one.is_due(now.date_naive()));
    let word = match (is_done, is_due) {
        (true, _) => "done".to_owned(),
        (false, true) => format!("due {}", one.due),
        (false, false) => format!("by {}", one.due),
    };
    let done = one.done_at.map(|at| {
        view! {
            <p class="meta">
                "done by "{name(one.done_by.as_deref().unwrap_or_default())}" "{since(at, now)}", was due "{one.due.to_string()}
            </p>
            {one.done_note.as_deref().map(|note| view! { <q>{visible_lines(note).into_owned()}</q> })}
        }
    });
    let id = one.id.to_string();
    let typed = posted.filter(|posted| posted.get("id") == Some(id.as_str())).and_then(|posted| posted.get("note"));
    let form = (!is_done && one.may_be_done_by(viewer)).then(|| {
        let (label, typed) = (format!("Note on follow-up {id}, may stay empty"), typed.unwrap_or_default().to_owned());
        view! {
            <form method="post" action=FOLLOW_UPS class="pause done">
                <input type="hidden" name="id" value=id.clone() />
                <input type="hidden" name="next" value=here.to_owned() />
                <input name="note" maxlength="2000" placeholder="Note (may stay empty)" aria-label=label value=typed />
                <button>"Done"</button>
            </form>
        }
    });
    let who = if viewer.name == one.owner { " (you)" } else { "" };
    view! {
        <li data-k=one.id.to_string()>
            <p>
                {state(of_follow_up(is_done, is_due), word)}" · "<b>{name(&one.owner)}</b>{who}" · "
                <a href=link::letter(one.dead_letter_id)>{format!("letter {}", one.dead_letter_id)}</a>" · "{name(&one.kind)}
            </p>
            {folded_text(&one.text)}
            <p class="meta">"left by "{name(&one.by)}" "{since(one.at, now)}</p>
            {done}
            {form}
        </li>
    }
}

/// What has to change is what is read here: in full ink, folded if it is long.
fn folded_text(text: &str) -> AnyView {
    view! { <div class="promise">{folded(text, "text")}</div> }.into_any()
}
