//! `/outbox/{id}`: one notice whole, and what a person can do about it.

use super::frame::{Loaded, Section, page};
use super::letter_work::hidden_recipient;
use super::outbox::{HIDDEN, how, when};
use crate::api::{Access, Posted, Request, SendsNotices};
use crate::components::json_text::MASKED;
use crate::components::link::{self, OUTBOX};
use crate::components::moment::date_and_time;
use crate::components::name::{name, said};
use crate::components::state_mark::{of_notice, state};
use crate::error::AppError;
use crate::model::ids::NoticeId;
use crate::model::mask::MARKER;
use crate::model::outbox::OutboxNotice;
use crate::model::people::Role;
use crate::model::text::visible_lines;
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// One notice.
#[component]
pub fn OutboxNoticePage() -> impl IntoView {
    // Asked here: after the store has answered there is no context.
    let sends = use_context::<SendsNotices>().is_some();
    page(Section::DeadLetters, "Notice", Role::OnCall, async move |access, request| load(access, request, sends).await)
}

async fn load(access: Access, request: Request, sends: bool) -> Loaded {
    let id = request.id::<NoticeId>("notice")?;
    let (notice, as_of) = access.store.find_notice(id).await?.ok_or(AppError::NotFound("notice"))?;
    let may_see = access.viewer.may(Role::Reviewer);
    Ok(contents(&notice, as_of, may_see, sends, request.posted.as_ref()))
}

/// The notice; whom it goes to and what it says come out of a payload and are as private.
pub(super) fn contents(
    notice: &OutboxNotice,
    now: DateTime<Utc>,
    may_see: bool,
    sends: bool,
    posted: Option<&Posted>,
) -> AnyView {
    let (stands, content) = (notice.state(), &notice.notice);
    let line = |text: &str| if may_see { said(text).into_any() } else { HIDDEN.into_any() };
    let text = |text: &str| {
        if may_see {
            view! { <p class="message">{visible_lines(text).into_owned()}</p> }.into_any()
        } else {
            view! { <p class="hint">{MASKED}</p> }.into_any()
        }
    };
    view! {
        <p class="lead">
            {state(of_notice(stands), stands.word())}", "{when(notice, now)}
        </p>
        <p class="meta">
            <a href=OUTBOX>"Outbox"</a>" · notice "{notice.id.to_string()}" · "
            <a href=link::letter(notice.dead_letter_id)>{format!("letter {}", notice.dead_letter_id)}</a>
            " · made by "{name(&notice.by)}" "{date_and_time(notice.at)}
        </p>
        {notice.sent_note.as_deref().filter(|_| may_see).map(|note| view! { <q>{visible_lines(note).into_owned()}</q> })}
        <dl class="facts">
            <div>
                <dt>"To"</dt>
                <dd>
                    {line(&content.recipient)}
                    {(may_see && content.recipient.contains(MARKER)).then(|| hidden_recipient(notice.dead_letter_id))}
                </dd>
            </div>
            <div><dt>"Subject"</dt><dd>{line(&content.subject)}</dd></div>
            <div><dt>"What happened"</dt><dd>{text(&content.body)}</dd></div>
            <div><dt>"What to do next"</dt><dd>{text(&content.next_action)}</dd></div>
            <div><dt>"When"</dt><dd>{text(&content.when)}</dd></div>
        </dl>
        {delivery(notice, sends)}
        {notice.sent_at.is_none().then(|| forms(notice, now, may_see, sends, posted))}
    }
    .into_any()
}

fn delivery(notice: &OutboxNotice, sends: bool) -> impl IntoView + use<> {
    let tries = match notice.tries {
        0 => "It was not tried yet.".to_owned(),
        1 => "Tried once.".to_owned(),
        n => format!("Tried {n} times."),
    };
    let is_sent = notice.sent_at.is_some();
    view! {
        <h2>"Delivery"</h2>
        <p>{(!is_sent || notice.tries > 0).then_some(tries)}" "{(!is_sent).then(|| how(sends))}</p>
        {notice.last_error.as_deref().map(|error| {
            view! { <p class="error">"Last error: "<bdi>{visible_lines(error).into_owned()}</bdi></p> }
        })}
    }
}

fn forms(notice: &OutboxNotice, now: DateTime<Utc>, may_act: bool, sends: bool, posted: Option<&Posted>) -> AnyView {
    if !may_act {
        return view! { <p class="hint">"Sending it needs the role reviewer."</p> }.into_any();
    }
    let path = link::notice(notice.id);
    let typed = posted.and_then(|posted| posted.get("note")).unwrap_or_default().to_owned();
    let hurry = (sends && notice.can_be_hurried(now)).then(|| {
        view! {
            <form method="post" action=path.clone() class="stack">
                <button name="action" value="hurry">"Try again now"</button>
                <small>"It is sent to the webhook at once, and tried again for 24 h if it is away."</small>
            </form>
        }
    });
    view! {
        {hurry}
        <form method="post" action=path class="stack">
            <label>"Note (may stay empty)"<input name="note" maxlength="2000" value=typed /></label>
            <button name="action" value="sent">"Mark as sent by hand"</button>
            <small>{sends.then_some("The webhook does not get it any more. ")}"The audit keeps that it was you."</small>
        </form>
    }
    .into_any()
}
