//! `/policies/kind?kind=K`: the settings of one kind, with a form for each for
//! admins. The kind is in the query: it may be called `..` or `a/b`.

use super::frame::{Loaded, Section, page};
use super::policies::{plain, settings_table};
use crate::api::{Access, Posted, Request};
use crate::components::link;
use crate::components::moment::date_and_time;
use crate::components::name::{name, said};
use crate::components::recovery_form::text_area;
use crate::error::AppError;
use crate::model::FieldError;
use crate::model::letter::{DeadLetter, LetterStatus};
use crate::model::letter_filter::LetterFilter;
use crate::model::people::Role;
use crate::model::policy::{KindPolicy, Origin, SETTINGS};
use crate::model::policy_edit::{LIST_SETTINGS, PLAIN_SETTINGS, choices, list_change, seen};
use crate::model::workflow::{Parked, WorkflowRule, recovery_options};
use leptos::prelude::*;

/// Letters that a workflow is tried on.
const TRIED_ON: u32 = 5;

/// For everybody; the forms are for admins.
#[component]
pub fn PolicyPage() -> impl IntoView {
    page(Section::Policies, "Policy of a kind", Role::OnCall, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let kind = request.get("kind").ok_or_else(|| FieldError::new("kind", "must name a kind"))?;
    let policy = access.store.find_policy(kind).await?.ok_or(AppError::NotFound("kind"))?;
    let filter = LetterFilter { kind: Some(kind.to_owned()), limit: TRIED_ON, ..LetterFilter::default() };
    let letters = access.store.list_letters(&filter).await?.letters;
    Ok(contents(&policy, &letters, access.viewer.may(Role::Admin), request.posted.as_ref()))
}

pub(super) fn contents(
    policy: &KindPolicy,
    letters: &[DeadLetter],
    may_edit: bool,
    posted: Option<&Posted>,
) -> AnyView {
    let head =
        view! { <p class="lead"><strong>{name(&policy.kind)}</strong>" · "<a href="/policies">"all kinds"</a></p> };
    if !may_edit {
        return view! {
            {head}
            <p class="hint">"Settings are changed by admins."</p>
            {settings_table(policy)}
        }
        .into_any();
    }
    let lists = LIST_SETTINGS.into_iter().map(|setting| list_form(policy, setting, letters, posted)).collect_view();
    view! {
        {head}
        <p class="hint">"What you change holds from the next claim, end or look at a letter on, and the audit keeps it."</p>
        {resets(policy)}
        {plain_form(policy, posted)}
        {lists}
    }
    .into_any()
}

/// What was posted by the form of that name.
fn of_form<'p>(posted: Option<&'p Posted>, form: &str) -> Option<&'p Posted> {
    posted.filter(|posted| posted.get("form") == Some(form))
}

/// What every form of this page says beside what is typed. What was seen first
/// stays what was seen, unless the server took it away after a conflict.
fn hidden(policy: &KindPolicy, form: &str, settings: &[&str], posted: Option<&Posted>) -> impl IntoView + use<> {
    let fresh = || serde_json::to_string(&seen(policy, settings)).unwrap_or_default();
    let seen = posted.and_then(|posted| posted.get("seen")).map_or_else(fresh, str::to_owned);
    view! {
        <input type="hidden" name="kind" value=policy.kind.clone() />
        <input type="hidden" name="form" value=form.to_owned() />
        <input type="hidden" name="seen" value=seen />
    }
}

/// The changed settings, each with the way back to its default.
fn resets(policy: &KindPolicy) -> AnyView {
    let rows = SETTINGS
        .into_iter()
        // Pausing and masking have their own forms, beside the kind's name.
        .filter(|setting| PLAIN_SETTINGS.contains(setting) || LIST_SETTINGS.contains(setting))
        .filter_map(|setting| match &policy.settings.get(setting)?.origin {
            Origin::Default => None,
            Origin::SetBy { by, at } => Some((setting, by.clone(), *at)),
        })
        .map(|(setting, by, at)| {
            view! {
                <li>
                    <form class="pause" method="post" action="/policies/kind">
                        {hidden(policy, "reset", &[setting], None)}
                        <input type="hidden" name="reset" value=setting />
                        <span><b>{setting}</b>" set by "{name(&by)}", "{date_and_time(at)}</span>
                        <button>"Back to the default"</button>
                    </form>
                </li>
            }
        })
        .collect::<Vec<_>>();
    if rows.is_empty() {
        return view! { <p class="meta">"All settings below are at their defaults."</p> }.into_any();
    }
    view! { <h2>"Changed settings"</h2><ul class="resets">{rows}</ul> }.into_any()
}

fn plain_form(policy: &KindPolicy, posted: Option<&Posted>) -> impl IntoView + use<> {
    let posted = of_form(posted, "plain");
    let rows = PLAIN_SETTINGS
        .into_iter()
        .filter_map(|setting| policy.settings.get(setting).map(|shown| (setting, shown)))
        .map(|(setting, shown)| {
            let in_force = match &shown.value {
                serde_json::Value::Null => String::new(),
                serde_json::Value::Bool(is) => is.to_string(),
                other => plain(other),
            };
            let typed = posted.and_then(|posted| posted.get(setting)).map(str::to_owned);
            let beside = typed
                .as_ref()
                .filter(|typed| **typed != in_force)
                .map(|_| view! { <small>"in force: "{said(&plain(&shown.value))}</small> });
            let value = typed.unwrap_or(in_force);
            let control = match choices(setting) {
                None => view! { <input name=setting inputmode="decimal" value=value placeholder="none" /> }.into_any(),
                Some(words) => {
                    let options = words
                        .iter()
                        .map(|word| {
                            let is_chosen = **word == *value;
                            view! { <option value=*word selected=is_chosen>{word_of(word)}</option> }
                        })
                        .collect_view();
                    view! { <select name=setting>{options}</select> }.into_any()
                }
            };
            view! { <label><span>{setting}</span>{control}{beside}</label> }
        })
        .collect_view();
    view! {
        <h2 id="plain">"Retries, leases and limits"</h2>
        <form method="post" action="/policies/kind" class="stack">
            {hidden(policy, "plain", &PLAIN_SETTINGS, posted)}
            <div class="settings-form">{rows}</div>
            <button>"Change"</button>
            <small>"Only what differs is changed. An empty number is the default."</small>
        </form>
    }
}

fn word_of(word: &str) -> &str {
    match word {
        "true" => "yes",
        "false" => "no",
        "dead_letter" => "dead letter",
        other => other,
    }
}

fn list_form(
    policy: &KindPolicy,
    setting: &'static str,
    letters: &[DeadLetter],
    posted: Option<&Posted>,
) -> Option<impl IntoView + use<>> {
    let shown = policy.settings.get(setting)?;
    let posted = of_form(posted, setting);
    let in_force = serde_json::to_string_pretty(&shown.value).unwrap_or_default();
    let typed = posted.and_then(|posted| posted.get("text")).map(str::to_owned);
    let (title, hint) = words_of(setting);
    // Browsers send their own line ends.
    let differs = typed.as_ref().is_some_and(|typed| typed.replace("\r\n", "\n").trim() != in_force);
    let beside = differs.then(|| {
        view! { <details><summary>"What is in force now"</summary><pre tabindex="0">{in_force.clone()}</pre></details> }
    });
    let text = typed.unwrap_or_else(|| in_force.clone());
    let offered = (setting == "workflow").then(|| offered(&text, letters));
    let preview = (setting == "workflow")
        .then(|| view! { <button name="preview" value="yes">"Try on the last letters"</button> });
    let rows = u32::try_from(text.lines().count()).unwrap_or(u32::MAX).clamp(4, 24);
    let is_open = posted.is_some();
    Some(view! {
        <details class="part" open=is_open id=setting>
            <summary><b>{title}</b>" "<span class="zero">{setting}</span></summary>
            <p class="hint">{hint}</p>
            <form method="post" action="/policies/kind" class="stack">
                {hidden(policy, setting, &[setting], posted)}
                {text_area("text", "As JSON", &text, rows)}
                {beside}
                {offered}
                <div class="actions"><button>"Change"</button>{preview}</div>
            </form>
        </details>
    })
}

fn words_of(setting: &str) -> (&'static str, &'static str) {
    match setting {
        "workflow" => (
            "Ways out",
            "An ordered list of rules; the first whose `when` fits a letter gives its options. A letter that none fits \
             still gets every way out.",
        ),
        "notice_templates" => (
            "Notices",
            "What somebody outside is told, per reason. {kind}, {source}, {field}, {reason} and {letter} stand for the \
             letter's own.",
        ),
        "recipient_fields" => {
            ("Recipients", "Payload fields that may name who is told. A notice goes to exactly one recipient.")
        }
        _ => ("Reason codes", "The closed set that an agent may refuse with. Any other code is an error."),
    }
}

/// What the typed workflow would offer for the last letters of the kind, as if
/// they were open.
fn offered(text: &str, letters: &[DeadLetter]) -> AnyView {
    let workflow: Option<Vec<WorkflowRule>> = list_change("workflow", text)
        .ok()
        .and_then(|mut change| change.remove("workflow").flatten())
        .and_then(|value| serde_json::from_value(value).ok());
    let (Some(workflow), false) = (workflow, letters.is_empty()) else { return ().into_any() };
    let rows = letters
        .iter()
        .map(|letter| {
            let parked = Parked {
                kind: &letter.kind,
                route: letter.route,
                reason_code: letter.reason_code.as_deref(),
                failure_reason: letter.failure_reason.as_deref(),
                evidence: letter.evidence.as_deref(),
                error: letter.error.as_deref(),
            };
            let options = recovery_options(&workflow, &parked, LetterStatus::Open);
            let options: Vec<String> =
                options.iter().map(|option| format!("{} ({})", option.label, option.role.as_str())).collect();
            view! {
                <li>
                    <a href=link::letter(letter.id)>{format!("letter {}", letter.id)}</a>", "
                    {said(&super::dead_letters::reason(letter))}": "{options.join(" · ")}
                </li>
            }
        })
        .collect_view();
    view! { <p class="hint">"The last letters of this kind would offer:"</p><ul class="facts">{rows}</ul> }.into_any()
}
