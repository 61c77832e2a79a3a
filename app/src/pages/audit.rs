//! `/audit`: who did what, newest first.

use super::frame::{Loaded, Section, page};
use crate::api::{Access, Request};
use crate::components::link::with_query;
use crate::components::moment::date_and_time;
use crate::components::name::name;
use crate::components::pager::pager;
use crate::components::preview::folded;
use crate::model::people::{AuditEntry, Role};
use leptos::prelude::*;

const PER_PAGE: u32 = 50;

/// For admins; `before` (an entry's number) is in the address.
#[component]
pub fn AuditPage() -> impl IntoView {
    page(Section::Audit, "Audit", Role::Admin, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let before = request.parsed::<i64>("before", "must be the number of an entry")?;
    let entries = access.store.list_audit(before, PER_PAGE).await?;
    let is_full = entries.len() == PER_PAGE as usize;
    let older = entries
        .last()
        .filter(|entry| is_full && entry.seq > 1)
        .map(|last| with_query("/audit", [("before", Some(last.seq.to_string().as_str()))]));
    if entries.is_empty() {
        return Ok(
            view! { <p class="empty">"There is no older entry."</p>{pager(None, before.map(|_| "/audit".to_owned()))} }
                .into_any(),
        );
    }
    let rows = entries.iter().map(row).collect_view();
    Ok(view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Audit">
            <table class="audit compact">
                <thead>
                    <tr>
                        <th scope="col">"No."</th>
                        <th scope="col">"When"</th>
                        <th scope="col">"Who"</th>
                        <th scope="col">"Did"</th>
                        <th scope="col">"To"</th>
                        <th scope="col">"From"</th>
                        <th scope="col">"Details"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        {pager(older, before.map(|_| "/audit".to_owned()))}
    }
    .into_any())
}

fn row(entry: &AuditEntry) -> impl IntoView + use<> {
    view! {
        <tr>
            <td class="number">{entry.seq.to_string()}</td>
            <td>{date_and_time(entry.at)}</td>
            <td class="name">{name(&entry.actor)}</td>
            <td>{entry.action.clone()}</td>
            <td class="name">{name(&entry.subject)}</td>
            <td>{entry.address.clone()}</td>
            <td class="says">{entry.details.as_deref().map(|details| folded(details, "details"))}</td>
        </tr>
    }
}
