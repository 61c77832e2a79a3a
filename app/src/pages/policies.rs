//! `/policies`: the settings in force for each kind, and where each comes from.

use super::frame::{Loaded, Section, page};
use crate::api::{Access, Request};
use crate::components::link;
use crate::components::moment::date_and_time;
use crate::components::name::{name, said};
use crate::components::state_mark::{of_kind, state};
use crate::model::people::{Role, Viewer};
use crate::model::policy::{KindPolicy, Origin, SETTINGS, Shown};
use crate::model::text::preview;
use crate::model::verdict::KindState;
use leptos::prelude::*;
use serde_json::Value;

/// Characters of a changed value in a kind's line.
const VALUE_CHARACTERS: usize = 40;

/// One line per kind, its settings folded away; admins may pause and resume a kind here.
#[component]
pub fn PoliciesPage() -> impl IntoView {
    page(Section::Policies, "Policies", Role::OnCall, load)
}

async fn load(access: Access, _request: Request) -> Loaded {
    let policies = access.store.list_policies().await?;
    if policies.is_empty() {
        return Ok(
            view! { <p class="empty">"No kind has been enqueued yet, so there is nothing to set."</p> }.into_any()
        );
    }
    let kinds = policies.iter().map(|policy| kind(policy, &access.viewer)).collect_view();
    Ok(view! { <p class="hint">"Values in force. Admins change them on the page of a kind, or by "<code>"PUT /api/v1/policies/{kind}"</code>"."</p>{kinds} }.into_any())
}

fn kind(policy: &KindPolicy, viewer: &Viewer) -> impl IntoView + use<> {
    let is_paused = policy.settings.get("paused").is_some_and(|shown| shown.value == Value::Bool(true));
    let changed = SETTINGS
        .into_iter()
        .filter_map(|setting| policy.settings.get(setting).map(|shown| (setting, shown)))
        .filter(|(_, shown)| shown.origin != Origin::Default)
        .map(|(setting, shown)| format!("{setting} {}", preview(&plain(&shown.value), VALUE_CHARACTERS)))
        .collect::<Vec<_>>();
    let summary = match changed.as_slice() {
        [] => "all settings at their defaults".to_owned(),
        changed => format!("changed: {}", changed.join(", ")),
    };
    let open = if viewer.may(Role::Admin) { "Change settings" } else { "Settings" };
    view! {
        <section class="policy">
            <h2><a href=link::policy(&policy.kind)>{name(&policy.kind)}</a>" "{is_paused.then(|| state(of_kind(KindState::Paused), "paused"))}</h2>
            {viewer.may(Role::Admin).then(|| pause_form(policy.kind.clone(), is_paused))}
            {viewer.may(Role::Admin).then(|| masks_form(policy.kind.clone(), &policy.masked_fields()))}
            <details>
                <summary>{said(&summary)}</summary>
                {settings_table(policy)}
                <p><a href=link::policy(&policy.kind)>{open}</a></p>
            </details>
        </section>
    }
}

/// Every setting with its value in force and where that comes from.
pub(super) fn settings_table(policy: &KindPolicy) -> impl IntoView + use<> {
    let rows = SETTINGS
        .into_iter()
        .filter_map(|setting| policy.settings.get(setting).map(|shown| row(setting, shown)))
        .collect_view();
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Settings">
            <table class="settings">
                <thead>
                    <tr><th scope="col">"Setting"</th><th scope="col">"In force"</th><th scope="col">"Origin"</th></tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

fn row(setting: &'static str, shown: &Shown) -> impl IntoView + use<> {
    let origin = match &shown.origin {
        Origin::Default => view! { <span class="zero">"default"</span> }.into_any(),
        Origin::SetBy { by, at } => view! { "set by "{name(by)}", "{date_and_time(*at)} }.into_any(),
    };
    view! { <tr><th scope="row">{setting}</th><td>{said(&plain(&shown.value))}</td><td>{origin}</td></tr> }
}

/// A setting's value without the quotes and brackets of JSON.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn pause_form(kind: String, is_paused: bool) -> impl IntoView {
    let (wanted, label, consequence) = if is_paused {
        ("false", "Resume", "Due jobs of this kind may be claimed again at once.")
    } else {
        ("true", "Pause", "No job of this kind is handed out; those in progress go on.")
    };
    view! {
        <form class="pause" method="post" action="/kinds/pause">
            <input type="hidden" name="kind" value=kind />
            <input type="hidden" name="paused" value=wanted />
            <input type="hidden" name="next" value="/policies" />
            <button>{label}</button>
            <small>{consequence}</small>
        </form>
    }
}

/// Commas part the fields; a path that holds one is left to the API.
fn masks_form(kind: String, fields: &[String]) -> Option<impl IntoView + use<>> {
    if fields.iter().any(|field| field.contains(',')) {
        return None;
    }
    let fields = fields.join(", ");
    Some(view! {
        <form class="pause" method="post" action="/kinds/masked-fields">
            <input type="hidden" name="kind" value=kind />
            <label>
                "Masked payload fields "
                <input name="fields" value=fields maxlength="20000" placeholder="customer.iban, lines.*.account" />
            </label>
            <button>"Mask"</button>
            <small>"Shown as ••• until a reviewer reveals them, which is audited."</small>
        </form>
    })
}
