//! `/outbox`: the customer notices, those first that are not sent.

use super::frame::{Loaded, Section, page};
use crate::api::{Access, Request, SendsNotices};
use crate::components::link::{self, OUTBOX, with_query};
use crate::components::moment::{since, until};
use crate::components::name::{name, said};
use crate::components::pager::pager;
use crate::components::preview::short;
use crate::components::state_mark::{of_notice, state};
use crate::model::FieldError;
use crate::model::outbox::{NoticeCursor, NoticeFilter, NoticePage, NoticeShare, NoticeState, OutboxNotice};
use crate::model::people::Role;
use crate::model::text::preview;
use chrono::{DateTime, Utc};
use leptos::prelude::*;

const PER_PAGE: u32 = 50;
/// Characters of a recipient or subject in a list.
const LISTED_CHARACTERS: usize = 120;
/// What stands for a text that the viewer may not see.
pub(super) const HIDDEN: &str = "hidden";

/// Filter `state`, and `after` (a place in the list), both in the address.
#[component]
pub fn OutboxPage() -> impl IntoView {
    // Asked here: after the store has answered there is no context.
    let sends = use_context::<SendsNotices>().is_some();
    page(Section::DeadLetters, "Outbox", Role::OnCall, async move |access, request| load(access, request, sends).await)
}

async fn load(access: Access, request: Request, sends: bool) -> Loaded {
    let filter = filter_of(&request)?;
    let found = access.store.list_notices(&filter).await?;
    Ok(contents(&found, &filter, access.viewer.may(Role::Reviewer), sends))
}

fn filter_of(request: &Request) -> Result<NoticeFilter, FieldError> {
    let share = request.word("state", "must be waiting, failed or sent", NoticeShare::from_word)?;
    let after = request.get("after").map(|text| NoticeCursor::parse("after", text)).transpose()?;
    Ok(NoticeFilter { share, after, limit: PER_PAGE })
}

fn href(share: Option<NoticeShare>, after: Option<NoticeCursor>) -> String {
    let after = after.map(|after| after.to_string());
    with_query(OUTBOX, [("state", share.map(NoticeShare::as_str)), ("after", after.as_deref())])
}

/// The list; recipients and subjects come out of payloads and are as private.
pub(super) fn contents(found: &NoticePage, filter: &NoticeFilter, may_see: bool, sends: bool) -> AnyView {
    let older = found.next.map(|after| href(filter.share, Some(after)));
    let newest = filter.after.map(|_| href(filter.share, None));
    let rows = found.notices.iter().map(|notice| row(notice, found.as_of, may_see)).collect_view();
    let list = if found.notices.is_empty() {
        view! { <p class="empty">{nothing(found, filter)}</p> }.into_any()
    } else {
        view! {
            <div class="scroll" tabindex="0" role="region" aria-label="Notices">
                <table class="notices compact">
                    <thead>
                        <tr>
                            <th scope="col">"Notice"</th>
                            <th scope="col">"State"</th>
                            <th scope="col">"To"</th>
                            <th scope="col">"Subject"</th>
                            <th scope="col">"Letter"</th>
                            <th scope="col">"Made"</th>
                            <th scope="col">"Tries"</th>
                            <th scope="col">"Next try, or sent"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any()
    };
    view! {
        {shares(found, filter)}
        <p class="hint">{how(sends)}</p>
        {list}
        {pager(older, newest)}
    }
    .into_any()
}

/// Who sends what stands here.
pub(super) fn how(sends: bool) -> &'static str {
    if sends {
        "Notices are sent to the webhook as they come, and tried again for 24 h if it is away."
    } else {
        "No webhook is set on this server: send each notice yourself, then mark it as sent."
    }
}

fn shares(found: &NoticePage, filter: &NoticeFilter) -> impl IntoView + use<> {
    let tabs = std::iter::once(None)
        .chain(NoticeShare::ALL.map(Some))
        .map(|share| {
            let count = match share {
                Some(NoticeShare::Waiting) => Some(found.waiting),
                Some(NoticeShare::Failed) => Some(found.failed),
                _ => None,
            };
            let label = share.map_or("all", NoticeShare::as_str);
            let is_current = (share == filter.share).then_some("true");
            let label = count.map_or_else(|| label.to_owned(), |count| format!("{label} {count}"));
            view! { <a href=href(share, None) aria-current=is_current>{label}</a> }
        })
        .collect_view();
    view! { <nav class="tabs" aria-label="States">{tabs}</nav> }
}

/// Why the list is empty: filtered out, none yet, or all good.
fn nothing(found: &NoticePage, filter: &NoticeFilter) -> &'static str {
    match filter.share {
        _ if filter.after.is_some() => "There are no older notices.",
        None => "No dead letter has been closed with a notice yet.",
        Some(NoticeShare::Sent) => "No notice has been sent yet.",
        Some(NoticeShare::Failed) => "No notice failed.",
        Some(NoticeShare::Waiting) if found.failed > 0 => {
            "No notice waits; those that failed have a list of their own."
        }
        Some(NoticeShare::Waiting) => "No notice waits to be sent.",
    }
}

fn row(notice: &OutboxNotice, now: DateTime<Utc>, may_see: bool) -> impl IntoView + use<> {
    let shown = |text: &str| {
        if may_see {
            said(&preview(text, LISTED_CHARACTERS)).into_any()
        } else {
            view! { <span class="zero">{HIDDEN}</span> }.into_any()
        }
    };
    let stands = notice.state();
    let error = notice.last_error.as_deref().filter(|_| stands != NoticeState::Sent);
    let tries_class = if notice.tries == 0 { "number zero" } else { "number" };
    view! {
        <tr data-k=notice.id.to_string()>
            <th scope="row"><a href=link::notice(notice.id)>{format!("Notice {}", notice.id)}</a></th>
            <td>{state(of_notice(stands), stands.word())}</td>
            <td class="to" data-label="to">{shown(&notice.notice.recipient)}</td>
            <td class="says">{shown(&notice.notice.subject)}</td>
            <td><a href=link::letter(notice.dead_letter_id)>{format!("letter {}", notice.dead_letter_id)}</a></td>
            <td data-label="made">{since(notice.at, now)}</td>
            <td class=tries_class data-label="tries">{notice.tries}</td>
            <td class="says">{when(notice, now)}{error.map(short)}</td>
        </tr>
    }
}

/// When it was sent and by whom, or when it is tried next.
pub(super) fn when(notice: &OutboxNotice, now: DateTime<Utc>) -> AnyView {
    match (notice.sent_at, &notice.sent_by, notice.failed_at, notice.next_try_at) {
        (Some(at), Some(by), ..) => view! { "by hand, by "{name(by)}" "{since(at, now)} }.into_any(),
        (Some(at), None, ..) => view! { "by the webhook "{since(at, now)} }.into_any(),
        (None, _, Some(at), _) => view! { "given up "{since(at, now)} }.into_any(),
        (None, _, None, Some(at)) if at > now => view! { "next try "{until(at, now)} }.into_any(),
        (None, _, None, Some(at)) => view! { "waits since "{since(at, now)} }.into_any(),
        _ => "–".into_any(),
    }
}
