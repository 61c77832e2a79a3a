//! `/dead-letters/{id}/correct`, `/split`, `/notify` and `/follow-up`: where a way
//! out is prepared and seen before it is pressed. Plain forms, posted to the
//! page's own address; what was typed comes back with any answer.

use super::frame::{Loaded, Section, page};
use crate::api::{Access, FormKeys, Posted, Request};
use crate::components::link;
use crate::components::moment::date_and_time;
use crate::components::name::{name, said};
use crate::components::recovery_form::{hidden, note, text_area};
use crate::error::AppError;
use crate::model::cover::{Cover, mask_letter};
use crate::model::customer_notice::of_letter;
use crate::model::field_edits::{Field, encoded, fields, kind_of};
use crate::model::ids::DeadLetterId;
use crate::model::job::RawJson;
use crate::model::json_tree::{Difference, JsonTree, Step, differences, path_text};
use crate::model::letter::DeadLetterDetail;
use crate::model::letter_policy::LetterPolicy;
use crate::model::people::Role;
use crate::model::recovery::{FOLLOW_UP_DAYS, RecoveryAction, SPLIT_PARTS};
use crate::model::text::{preview, visible_lines};
use chrono::Days;
use leptos::prelude::*;

/// Rows for fields that the payload does not have yet.
const NEW_FIELDS: usize = 3;
/// Characters shown of a value in a difference.
const VALUE_CHARACTERS: usize = 500;
/// Users that are looked at for an owner; anybody else can be typed.
const OWNERS_OFFERED: u32 = 500;

/// Edits the payload.
#[component]
pub fn CorrectPage() -> impl IntoView {
    page(Section::DeadLetters, "Correct & replay", Role::Reviewer, async |access, request| {
        let detail = find_masked(&access, &request).await?;
        Ok(framed(&detail, correct(&detail, request.posted.as_ref())))
    })
}

/// Makes several payloads of one.
#[component]
pub fn SplitPage() -> impl IntoView {
    page(Section::DeadLetters, "Split & replay", Role::Reviewer, async |access, request| {
        let detail = find_masked(&access, &request).await?;
        Ok(framed(&detail, split(&detail, request.posted.as_ref(), request.get("by"))))
    })
}

/// Shows the notice before it goes into the outbox.
#[component]
pub fn NotifyPage() -> impl IntoView {
    page(Section::DeadLetters, "Close & notify", Role::Reviewer, notify)
}

/// Leaves something to somebody by a date.
#[component]
pub fn FollowUpPage() -> impl IntoView {
    page(Section::DeadLetters, "Policy update", Role::Reviewer, async |access, request| {
        let detail = find_masked(&access, &request).await?;
        let people = access.store.list_users(None, OWNERS_OFFERED).await?;
        let owners: Vec<&str> = people
            .iter()
            .filter(|person| !person.disabled && person.role >= Role::Reviewer)
            .map(|person| person.name.as_str())
            .collect();
        Ok(framed(&detail, follow_up(&detail, request.posted.as_ref(), &access.viewer.name, &owners)))
    })
}

async fn find(access: &Access, request: &Request) -> Result<DeadLetterDetail, crate::api::PageError> {
    let id = request.id_above::<DeadLetterId>("dead letter")?;
    Ok(access.store.find_letter(id).await?.ok_or(AppError::NotFound("dead letter"))?)
}

/// For the pages that show the payload: its masked fields stay hidden, and what
/// comes back with their marker keeps the original.
async fn find_masked(access: &Access, request: &Request) -> Result<DeadLetterDetail, crate::api::PageError> {
    let mut detail = find(access, request).await?;
    let subject = format!("dead_letter {}", detail.letter.id);
    access.mask(&detail.letter.kind.clone(), &subject, &mut detail, mask_letter).await?;
    Ok(detail)
}

/// The letter above, and a sentence instead of the form once it is resolved.
fn framed(detail: &DeadLetterDetail, form: AnyView) -> AnyView {
    let letter = &detail.letter;
    let contents = match &letter.resolution {
        None => form,
        Some(done) => {
            let label = done.action.label();
            view! {
                <p class="notice odd">
                    "This letter is resolved: "{label}" by "{name(&done.by)}", "{date_and_time(done.at)}". Nothing more can be done to it."
                </p>
            }
            .into_any()
        }
    };
    view! {
        <p class="lead">
            <a href=link::letter(letter.id)>{format!("Letter {}", letter.id)}</a>": "
            <strong>{said(&super::dead_letters::reason(letter))}</strong>
        </p>
        <p class="meta">{name(&letter.kind)}" from "{name(&letter.source)}</p>
        {contents}
    }
    .into_any()
}

/// The payload that is edited; a job whose payload lies elsewhere starts from nothing.
fn original(detail: &DeadLetterDetail) -> JsonTree {
    detail.payload.as_ref().map_or(JsonTree::Object(Vec::new()), JsonTree::of)
}

pub(super) fn correct(detail: &DeadLetterDetail, posted: Option<&Posted>) -> AnyView {
    let letter = &detail.letter;
    let (before, action) = (original(detail), RecoveryAction::CorrectAndReplay);
    let path = format!("{}/correct", link::letter(letter.id));
    let typed = |name: &str| posted.and_then(|posted| posted.get(name));
    let json = typed("payload").map_or_else(|| indented(&before), str::to_owned);
    let confirmation = posted.filter(|posted| posted.sentence.is_none()).map(|_| {
        let after = JsonTree::of(&RawJson::stored(json.clone()));
        view! {
            <h2>"What changes"</h2>
            {changes(&differences(&before, &after))}
            <form method="post" action=path.clone() class="stack">
                {hidden(letter, action, FormKeys::next())}
                <input type="hidden" name="payload" value=json.clone() />
                {note(typed("note"), false)}
                <button name="confirmed" value="yes">"Replay with these changes"</button>
                <small>"A new job with the corrected payload is due at once. The original stays as it is."</small>
            </form>
            <h2>"Or go on editing"</h2>
        }
    });
    let by_field = fields(&before).map(|leaves| {
        let shown = posted.map(posted_fields).filter(|fields| !fields.is_empty());
        let rows = shown.unwrap_or_else(|| offered(letter.field.as_deref(), &before, leaves));
        let rows = rows.into_iter().enumerate().map(|(at, field)| field_row(at, &field)).collect_view();
        view! {
            <form method="post" action=path.clone() class="stack">
                {hidden(letter, action, None)}
                <input type="hidden" name="by" value="fields" />
                <div class="fields">{rows}</div>
                {note(typed("note"), false)}
                <button>"Show the difference"</button>
            </form>
        }
    });
    let many = by_field
        .is_none()
        .then(|| view! { <p class="hint">"This payload has too many fields for a form; it is edited as JSON."</p> });
    view! {
        {confirmation}
        {by_field}
        {many}
        <h2>"The whole payload as JSON"</h2>
        <form method="post" action=path class="stack">
            {hidden(letter, action, None)}
            <input type="hidden" name="by" value="json" />
            {text_area("payload", "Payload", &json, 16)}
            {note(typed("note"), false)}
            <button>"Show the difference"</button>
        </form>
    }
    .into_any()
}

fn indented(tree: &JsonTree) -> String {
    crate::components::json_text::indented(&tree.to_json())
}

/// The named field first, as a new one if it is absent; then all others, and
/// rows for new ones.
fn offered(named: Option<&str>, before: &JsonTree, leaves: Vec<(Vec<Step>, Field)>) -> Vec<Field> {
    let path = named.map(|named| named.split('.').map(|key| Step::Key(key.to_owned())).collect::<Vec<_>>());
    let at = path.as_deref().map(encoded);
    let (mut first, others): (Vec<Field>, Vec<Field>) =
        leaves.into_iter().map(|(_, field)| field).partition(|field| Some(&field.at) == at.as_ref());
    if let (Some(path), Some(at)) = (&path, at)
        && before.get(path).is_none()
    {
        first.push(Field { at, kind: "text", text: String::new() });
    }
    first.extend(others);
    first.extend((0..NEW_FIELDS).map(|_| Field { at: String::new(), kind: "text", text: String::new() }));
    first
}

/// The fields that a form posted, with the names of new ones turned into places.
pub fn posted_fields(posted: &Posted) -> Vec<Field> {
    (0..=crate::model::field_edits::MAX_FIELDS + NEW_FIELDS + 1)
        .map_while(|at| {
            let get = |name: &str| posted.get(&format!("{name}{at}"));
            let text = get("v").unwrap_or_default().to_owned();
            let place = get("at").map(str::to_owned).or_else(|| {
                let name = get("name")?.trim();
                Some(if name.is_empty() { String::new() } else { encoded(&[Step::Key(name.to_owned())]) })
            })?;
            Some(Field { at: place, kind: get("kind").and_then(kind_of).unwrap_or("text"), text })
        })
        .collect()
}

fn field_row(at: usize, field: &Field) -> impl IntoView + use<> {
    let label = serde_json::from_str::<Vec<serde_json::Value>>(&field.at).ok().map(|steps| {
        let steps: Vec<Step> = steps
            .into_iter()
            .map(|step| match step {
                serde_json::Value::String(key) => Step::Key(key),
                other => Step::Item(other.as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or_default()),
            })
            .collect();
        path_text(&steps)
    });
    let place = match &label {
        Some(label) => view! {
            <span>{name(label)}</span>
            <input type="hidden" name=format!("at{at}") value=field.at.clone() />
        }
        .into_any(),
        None => view! { <input name=format!("name{at}") placeholder="new field" aria-label="Name of a new field" /> }
            .into_any(),
    };
    let chosen = field.kind;
    let kinds =
        [("text", "text"), ("number", "number"), ("true", "yes"), ("false", "no"), ("null", "null"), ("json", "JSON")]
            .into_iter()
            .map(|(kind, word)| {
                let is_chosen = kind == chosen;
                view! { <option value=kind selected=is_chosen>{word}</option> }
            })
            .collect_view();
    let of = label.unwrap_or_else(|| "the new field".to_owned());
    let (value_label, kind_label) = (format!("Value of {of}"), format!("Type of {of}"));
    let value = if field.text.contains(['\n', '\r']) || field.text.len() > 120 {
        let inner = crate::components::recovery_form::area_text(&field.text);
        view! { <textarea name=format!("v{at}") rows="4" aria-label=value_label inner_html=inner></textarea> }
            .into_any()
    } else {
        view! { <input name=format!("v{at}") value=field.text.clone() aria-label=value_label /> }.into_any()
    };
    view! { <div>{place}<select name=format!("kind{at}") aria-label=kind_label>{kinds}</select>{value}</div> }
}

/// What a correction changes.
pub(super) fn changes(found: &[Difference]) -> impl IntoView + use<> {
    let text = |tree: &Option<JsonTree>| match tree {
        None => "(absent)".to_owned(),
        Some(tree) => preview(tree.to_json().as_str(), VALUE_CHARACTERS),
    };
    let rows = found
        .iter()
        .take(200)
        .map(|one| {
            view! {
                <li>
                    {name(&path_text(&one.path))}": "<del>{visible_lines(&text(&one.before)).into_owned()}</del>" → "
                    <ins>{visible_lines(&text(&one.after)).into_owned()}</ins>
                </li>
            }
        })
        .collect_view();
    view! { <ul class="changes">{rows}</ul> }
}

pub(super) fn split(detail: &DeadLetterDetail, posted: Option<&Posted>, by: Option<&str>) -> AnyView {
    let letter = &detail.letter;
    let (before, action) = (original(detail), RecoveryAction::SplitAndReplay);
    let path = format!("{}/split", link::letter(letter.id));
    let typed = |name: &str| posted.and_then(|posted| posted.get(name));
    let lists = lists(&before);
    let chosen = lists.iter().find(|(name, _)| by.is_none_or(|by| by == name.as_str()));
    let text = match (typed("payloads"), chosen) {
        (Some(typed), _) => typed.to_owned(),
        (None, Some((_, parts))) => indented(&JsonTree::Array(parts.clone())),
        (None, None) => indented(&JsonTree::Array(vec![before.clone()])),
    };
    let offers = lists
        .iter()
        .map(|(field, parts)| {
            let href = link::with_query(&path, [("by", Some(field.as_str()))]);
            view! { <li><a href=href>{format!("{} parts, one per item of ", parts.len())}{name(field)}</a></li> }
        })
        .collect_view();
    let confirmation = posted.filter(|posted| posted.sentence.is_none()).map(|_| {
        let parts = match JsonTree::of(&RawJson::stored(text.clone())) {
            JsonTree::Array(items) => items,
            one => vec![one],
        };
        let count = parts.len();
        let shown = parts
            .iter()
            .map(|part| view! { <li><code>{visible_lines(&preview(part.to_json().as_str(), VALUE_CHARACTERS)).into_owned()}</code></li> })
            .collect_view();
        view! {
            <h2>{format!("{count} parts")}</h2>
            <ol class="changes">{shown}</ol>
            <form method="post" action=path.clone() class="stack">
                {hidden(letter, action, FormKeys::next())}
                <input type="hidden" name="payloads" value=text.clone() />
                {note(typed("note"), false)}
                <button name="confirmed" value="yes">{format!("Replay as {count} jobs")}</button>
            </form>
            <h2>"Or go on editing"</h2>
        }
    });
    view! {
        {confirmation}
        <ul class="facts">{offers}</ul>
        <form method="post" action=path.clone() class="stack">
            {hidden(letter, action, None)}
            {text_area("payloads", "A JSON list with one payload for each part", &text, 16)}
            {note(typed("note"), false)}
            <button>"Show the parts"</button>
        </form>
    }
    .into_any()
}

/// The lists by which the payload can be split: itself, or a member of it.
fn lists(payload: &JsonTree) -> Vec<(String, Vec<JsonTree>)> {
    let fits = |count: usize| SPLIT_PARTS.contains(&count);
    match payload {
        JsonTree::Array(items) if fits(items.len()) => vec![("$".to_owned(), items.clone())],
        _ => payload
            .members()
            .into_iter()
            .filter_map(|(key, value)| match value {
                JsonTree::Array(items) if fits(items.len()) => {
                    let part = |item: &JsonTree| {
                        let mut part = payload.clone();
                        part.set(&[Step::Key(key.clone())], JsonTree::Array(vec![item.clone()]));
                        part
                    };
                    Some((key.clone(), items.iter().map(part).collect()))
                }
                _ => None,
            })
            .collect(),
    }
}

async fn notify(access: Access, request: Request) -> Loaded {
    let mut detail = find(&access, &request).await?;
    let kind = detail.letter.kind.clone();
    let policy = access.store.find_policy(&kind).await?;
    let policy = policy.as_ref().map(LetterPolicy::of_kind).unwrap_or_default();
    let notice = notice(&detail, &policy, request.posted.as_ref());
    mask_letter(&mut detail, &policy.masked_fields);
    Ok(framed(&detail, notice))
}

pub(super) fn notice(detail: &DeadLetterDetail, policy: &LetterPolicy, posted: Option<&Posted>) -> AnyView {
    let letter = &detail.letter;
    let path = format!("{}/notify", link::letter(letter.id));
    match of_letter(letter, detail.payload.as_ref(), policy) {
        Err(error) => view! {
            <p class="notice odd">
                "No notice can be sent: "{said(&error.rule)}". Correct the payload or close the letter in another way."
            </p>
        }
        .into_any(),
        Ok(mut notice) => {
            let recipient = notice.recipient.clone();
            Cover::of(detail.payload.as_ref(), &policy.masked_fields).put_on_notice(&mut notice);
            let is_hidden = notice.recipient != recipient;
            view! {
            <dl class="facts">
                <div><dt>"To"</dt><dd>{said(&notice.recipient)}{is_hidden.then(|| hidden_recipient(letter.id))}</dd></div>
                <div><dt>"Subject"</dt><dd>{said(&notice.subject)}</dd></div>
                <div><dt>"What happened"</dt><dd>{visible_lines(&notice.body).into_owned()}</dd></div>
                <div><dt>"What to do next"</dt><dd>{visible_lines(&notice.next_action).into_owned()}</dd></div>
                <div><dt>"When"</dt><dd>{visible_lines(&notice.when).into_owned()}</dd></div>
            </dl>
            <form method="post" action=path class="stack">
                {hidden(letter, RecoveryAction::CloseAndNotify, FormKeys::next())}
                {note(posted.and_then(|posted| posted.get("note")), true)}
                <button name="confirmed" value="yes">"Close and put the notice into the outbox"</button>
            </form>
            }
            .into_any()
        }
    }
}

/// The notice goes to the address itself; only its preview does not show it.
pub(super) fn hidden_recipient(letter: DeadLetterId) -> impl IntoView + use<> {
    view! { <small>"Masked here. "<a href=link::letter(letter)>"Reveal it on the letter's page"</a>"; the audit keeps that."</small> }
}

pub(super) fn follow_up(detail: &DeadLetterDetail, posted: Option<&Posted>, viewer: &str, owners: &[&str]) -> AnyView {
    let letter = &detail.letter;
    let path = format!("{}/follow-up", link::letter(letter.id));
    let typed = |name: &str| posted.and_then(|posted| posted.get(name)).map(str::to_owned);
    let today = detail.as_of.date_naive();
    let due = today.checked_add_days(Days::new(FOLLOW_UP_DAYS)).unwrap_or(today).to_string();
    let owners = owners.iter().map(|owner| view! { <option value=(*owner).to_owned()></option> }).collect_view();
    view! {
        <form method="post" action=path class="stack">
            {hidden(letter, RecoveryAction::PolicyUpdate, FormKeys::next())}
            <datalist id="owners">{owners}</datalist>
            <label>"Owner"<input name="owner" list="owners" maxlength="200" value=typed("owner").unwrap_or_else(|| viewer.to_owned()) /></label>
            <label>"Due (end of that day, UTC)"<input type="date" name="due" min=today.to_string() value=typed("due").unwrap_or(due) /></label>
            {note(typed("note").as_deref(), true)}
            <button name="confirmed" value="yes">"Close and leave the follow-up"</button>
        </form>
    }
    .into_any()
}
