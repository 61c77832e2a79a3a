//! `/canaries`: is every known-bad input still refused, and which code does nobody test?

use super::frame::{Loaded, Section, page};
use crate::api::{Access, Posted, Request};
use crate::components::link::{self, CANARIES};
use crate::components::moment::since;
use crate::components::name::{name, said};
use crate::components::recovery_form::text_area;
use crate::components::state_mark::{of_run, state};
use crate::model::canary::{CanaryInput, CanaryOverview, CanaryRun, RunResult, SavedCanary, gaps};
use crate::model::people::{Role, Viewer};
use crate::model::policy::KindPolicy;
use crate::model::text::visible;
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// The matrix of kinds and codes.
#[component]
pub fn CanariesPage() -> impl IntoView {
    page(Section::Refusals, "Canaries", Role::OnCall, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let found = access.store.list_canaries().await?;
    let policies = access.store.list_policies().await?;
    Ok(contents(&found, &policies, &access.viewer, request.posted.as_ref()))
}

/// Alarms, one table per kind that may refuse, and the forms of admins.
pub(super) fn contents(
    found: &CanaryOverview,
    policies: &[KindPolicy],
    viewer: &Viewer,
    posted: Option<&Posted>,
) -> AnyView {
    let may_clear = viewer.may(Role::Admin);
    let alarms = found.alarms.iter().map(|run| alarm(run, found.as_of, may_clear)).collect_view();
    let mut kinds: Vec<(&str, Vec<String>)> = policies
        .iter()
        .filter(|policy| policy.may_refuse() || found.canaries.iter().any(|one| one.input.kind.as_str() == policy.kind))
        .map(|policy| (policy.kind.as_str(), policy.reason_codes()))
        .collect();
    for one in &found.canaries {
        if !kinds.iter().any(|(kind, _)| *kind == one.input.kind.as_str()) {
            kinds.push((one.input.kind.as_str(), Vec::new()));
        }
    }
    let tables = kinds.iter().map(|(kind, codes)| table(kind, codes, found, viewer)).collect_view();
    view! {
        <p class="hint">
            "A canary is an input that must be refused with a known reason code. Its job is in no count, rate or verdict; "
            "only workers that accept canaries get it."
        </p>
        {alarms}
        {kinds.is_empty().then(|| view! { <p class="empty">"No kind has been enqueued yet, and there is no canary."</p> })}
        {tables}
        {viewer.may(Role::Admin).then(|| admin_forms(posted))}
    }
    .into_any()
}

fn alarm(run: &CanaryRun, now: DateTime<Utc>, may_clear: bool) -> impl IntoView + use<> {
    let of = run.canary_id.map(|id| view! { " · "<a href=link::canary(id)>"its canary"</a> });
    view! {
        <div class="notice bad">
            <p>
                {state(of_run(run.result()), "done: not refused")}" · "{name(&run.kind)}" · expected "{said(&run.reason_code)}" · "
                {since(run.ended.map_or(run.started_at, |(at, _)| at), now)}" · "
                <a href=link::job(run.job_id)>{format!("job {}", run.job_id)}</a>{of}
            </p>
            {may_clear.then(|| view! {
                <form method="post" action=CANARIES>
                    <input type="hidden" name="run" value=run.id.to_string() />
                    <button name="form" value="clear">"Acknowledge"</button>
                </form>
            })}
        </div>
    }
}

fn table(kind: &str, codes: &[String], found: &CanaryOverview, viewer: &Viewer) -> AnyView {
    let missing = gaps(kind, codes, &found.canaries);
    let of_kind: Vec<&SavedCanary> = found.canaries.iter().filter(|one| one.input.kind.as_str() == kind).collect();
    if of_kind.is_empty() {
        return view! {
            <section>
                <h2>{name(kind)}</h2>
                <p class="gap">"□ gap: no canary at all. No enabled canary expects "{said(&missing.join(", "))}"."</p>
            </section>
        }
        .into_any();
    }
    let rows = of_kind.into_iter().map(|one| row(one, codes, found.as_of, viewer)).collect_view();
    let gap_rows = missing
        .iter()
        .map(|code| {
            view! { <tr class="gap"><td>{said(code)}</td><td colspan="4" class="says">"□ gap: no enabled canary expects this code"</td></tr> }
        })
        .collect_view();
    view! {
        <section>
            <h2>{name(kind)}</h2>
            <div class="scroll" tabindex="0" role="group" aria-label=format!("Canaries of {}", visible(kind))>
                <table class="compact">
                    <thead><tr><th scope="col">"Expects"</th><th scope="col">"Canary"</th><th scope="col">"Last run"</th><th scope="col">"When"</th><th scope="col">"Schedule"</th></tr></thead>
                    <tbody>{rows}{gap_rows}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}

fn row(one: &SavedCanary, codes: &[String], now: DateTime<Utc>, viewer: &Viewer) -> impl IntoView + use<> {
    let last = one.last_run.as_ref();
    let schedule = match one.input.every_seconds {
        _ if !one.input.enabled => "disabled".to_owned(),
        Some(seconds) => format!("every {}", crate::model::age::age(i64::from(seconds))),
        None => "on change, or by hand".to_owned(),
    };
    let path = link::canary(one.id);
    let is_unknown = !codes.contains(&one.input.reason_code);
    let unknown = is_unknown.then_some(" · ▲ no longer a code of this kind: it cannot pass");
    let run = (one.input.enabled && viewer.may(Role::Reviewer)).then(|| run_form(&path));
    view! {
        <tr>
            <td>{said(&one.input.reason_code)}{one.input.field.as_deref().map(|field| view! { " at "{said(field)} })}{unknown}</td>
            <td><a href=path.clone()>{name(one.input.name.as_str())}</a></td>
            <td class="says">{last.map_or_else(|| "never run".into_any(), |run| result(run).into_any())}</td>
            <td data-label="last run">{last.map(|run| since(run.ended.map_or(run.started_at, |(at, _)| at), now))}</td>
            <td class="end">{schedule}{one.is_overdue(now).then_some(" · ▲ overdue")}{run}</td>
        </tr>
    }
}

/// How a run ended, and what was said.
pub(super) fn result(run: &CanaryRun) -> impl IntoView + use<> {
    let word = run.result().map_or("running", RunResult::in_words);
    view! { {state(of_run(run.result()), word)}{run.said.as_deref().map(|text| view! { ": "{said(text)} })} }
}

/// The button that runs it now.
pub(super) fn run_form(path: &str) -> impl IntoView + use<> {
    view! { <form method="post" action=path.to_owned()><button name="form" value="run">"Run now"</button></form> }
}

fn admin_forms(posted: Option<&Posted>) -> impl IntoView + use<> {
    let is_open = |form: &str| posted.is_some_and(|posted| posted.get("form") == Some(form));
    let fixture = posted.and_then(|posted| posted.get("fixture")).unwrap_or_default().to_owned();
    view! {
        <details open=is_open("save")>
            <summary>"Add a canary"</summary>
            {edit_form(CANARIES, None, posted)}
        </details>
        <details open=is_open("import")>
            <summary>"Import"</summary>
            <form method="post" action=CANARIES class="stack">
                {text_area("fixture", "A JSON fixture; a canary whose name is there is replaced", &fixture, 6)}
                <button name="form" value="import">"Import"</button>
            </form>
        </details>
    }
}

/// The form of one canary, filled with what was typed, or with what it is.
pub(super) fn edit_form(path: &str, is: Option<&CanaryInput>, posted: Option<&Posted>) -> impl IntoView + use<> {
    let posted = posted.filter(|posted| posted.get("form") == Some("save"));
    let value = |field: &str, of: &dyn Fn(&CanaryInput) -> String| match posted {
        Some(posted) => posted.get(field).unwrap_or_default().to_owned(),
        None => is.map(of).unwrap_or_default(),
    };
    let enabled = posted.map_or_else(|| is.is_none_or(|is| is.enabled), |posted| posted.get("enabled").is_some());
    let line = |label: &'static str, field: &'static str, value: String, required: bool| {
        view! { <label>{label}<input name=field maxlength="200" required=required value=value /></label> }
    };
    view! {
        <form method="post" action=path.to_owned() class="stack">
            {line("Name", "name", value("name", &|is| is.name.as_str().to_owned()), true)}
            {line("Kind", "kind", value("kind", &|is| is.kind.as_str().to_owned()), true)}
            {line("Source", "source", value("source", &|is| is.source.as_str().to_owned()), true)}
            {line("Expected reason code", "reason_code", value("reason_code", &|is| is.reason_code.clone()), true)}
            {line("Expected field (empty takes any)", "field", value("field", &|is| is.field.clone().unwrap_or_default()), false)}
            {line(
                "Runs every so many seconds (empty: on change, or by hand)",
                "every_seconds",
                value("every_seconds", &|is| is.every_seconds.map(|seconds| seconds.to_string()).unwrap_or_default()),
                false,
            )}
            {text_area("payload", "Input (JSON)", &value("payload", &|is| is.payload.as_str().to_owned()), 8)}
            <label class="check"><input type="checkbox" name="enabled" checked=enabled />" Enabled"</label>
            <button name="form" value="save">"Save"</button>
        </form>
    }
}
