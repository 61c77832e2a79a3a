//! `/canaries/{id}`: one canary, its history, and what can be done with it.

use super::canaries::{edit_form, result, run_form};
use super::frame::{Loaded, Section, page};
use crate::api::{Access, Posted, Request};
use crate::components::json_text::MASKED;
use crate::components::link::{self, CANARIES, with_query};
use crate::components::moment::date_and_time;
use crate::components::name::{name, said};
use crate::components::pager::page_steps;
use crate::error::AppError;
use crate::model::canary::{CanaryDetail, CanaryRun};
use crate::model::ids::CanaryId;
use crate::model::people::{Role, Viewer};
use crate::model::text::visible_lines;
use leptos::prelude::*;

const PER_PAGE: u32 = 50;

/// `before` (a place in the history) is in the address.
#[component]
pub fn CanaryPage() -> impl IntoView {
    page(Section::Refusals, "Canary", Role::OnCall, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let id = request.id::<CanaryId>("canary")?;
    let before = request.parsed::<i64>("before", "must be a place in the history")?;
    let found = access.store.find_canary(id, before, PER_PAGE + 1).await?.ok_or(AppError::NotFound("canary"))?;
    Ok(contents(found, before, &access.viewer, request.posted.as_ref()))
}

/// The input is shown to whoever may see payloads.
pub(super) fn contents(
    mut found: CanaryDetail,
    before: Option<i64>,
    viewer: &Viewer,
    posted: Option<&Posted>,
) -> AnyView {
    let path = link::canary(found.canary.id);
    let has_more = found.runs.len() > PER_PAGE as usize;
    found.runs.truncate(PER_PAGE as usize);
    let next = found.runs.last().filter(|_| has_more).map(|run| run.id.to_string());
    let next = next.map(|id| with_query(&path, [("before", Some(id.as_str()))]));
    let input = &found.canary.input;
    let (may_see, may_edit) = (viewer.may(Role::Reviewer), viewer.may(Role::Admin));
    let payload = if may_see { visible_lines(input.payload.as_str()).into_owned() } else { MASKED.to_owned() };
    let rows = found.runs.iter().map(row).collect_view();
    view! {
        <p class="meta">
            <a href=CANARIES>"Canaries"</a>" · "{name(input.name.as_str())}" · "{name(input.kind.as_str())}" · from "
            {name(input.source.as_str())}" · added by "{name(&found.canary.created_by)}" "{date_and_time(found.canary.created_at)}
        </p>
        <p>
            "Expects "{said(&input.reason_code)}{input.field.as_deref().map(|field| view! { " at "{said(field)} })}
            {(!input.enabled).then_some(" · disabled")}{found.canary.is_overdue(found.as_of).then_some(" · ▲ overdue")}
        </p>
        {(input.enabled && may_see).then(|| run_form(&path))}
        <h2>"History"</h2>
        {if found.runs.is_empty() {
            view! { <p class="empty">"It has not run yet."</p> }.into_any()
        } else {
            view! {
                <div class="scroll" tabindex="0" role="group" aria-label="Runs">
                    <table>
                        <thead><tr><th scope="col">"Started"</th><th scope="col">"Why"</th><th scope="col">"Result"</th><th scope="col">"Expected"</th><th scope="col">"Job"</th></tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
            }
            .into_any()
        }}
        {page_steps(next, before.map(|_| path.clone()))}
        <h2>"Input"</h2>
        <pre class="json">{payload}</pre>
        {may_see.then(|| view! { <p><a href=format!("{path}/export") download="">"Download as a JSON fixture"</a></p> })}
        {may_edit.then(|| view! { <h2>"Change it"</h2>{edit_form(&path, Some(input), posted)} })}
    }
    .into_any()
}

fn row(run: &CanaryRun) -> impl IntoView + use<> {
    let by = run.started_by.as_deref().map(|by| view! { ": "{name(by)} });
    let cleared = run.cleared.as_ref().map(|(at, by)| view! { " · cleared by "{name(by)}" "{date_and_time(*at)} });
    view! {
        <tr>
            <td>{date_and_time(run.started_at)}</td>
            <td>{run.cause.in_words()}{by}</td>
            <td>{result(run)}{cleared}</td>
            <td>{said(&run.reason_code)}{run.field.as_deref().map(|field| view! { " at "{said(field)} })}</td>
            <td><a href=link::job(run.job_id)>{run.job_id.to_string()}</a></td>
        </tr>
    }
}
