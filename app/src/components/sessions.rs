//! A person's live sessions, each with a form that ends it.

use super::moment::{absolute, date_and_time};
use crate::model::people::Session;
use leptos::prelude::*;

/// The table. `current` names the session of whoever looks; `action` takes the
/// forms, which carry `name` along if there is one.
pub fn sessions(
    list: &[Session],
    current: Option<&str>,
    action: &'static str,
    name: Option<&str>,
) -> impl IntoView + use<> {
    if list.is_empty() {
        return view! { <p class="empty">"Not signed in anywhere."</p> }.into_any();
    }
    let rows = list.iter().map(|session| row(session, current, action, name)).collect_view();
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Sessions">
            <table class="sessions compact">
                <thead>
                    <tr>
                        <th scope="col">"Signed in"</th>
                        <th scope="col">"Last seen"</th>
                        <th scope="col">"Address"</th>
                        <th scope="col">"With"</th>
                        <th scope="col">"End"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn row(session: &Session, current: Option<&str>, action: &'static str, name: Option<&str>) -> impl IntoView + use<> {
    let is_current = current == Some(session.id.as_str());
    let agent = session.user_agent.clone().unwrap_or_else(|| "unknown".to_owned());
    let label = format!(
        "End the session of {} from {}",
        absolute(session.created_at),
        session.address.as_deref().unwrap_or("unknown")
    );
    view! {
        <tr>
            <td data-label="Signed in">{date_and_time(session.created_at)}</td>
            <td data-label="Last seen">{date_and_time(session.last_active_at)}{is_current.then(|| view! { " "<b>"this one"</b> })}</td>
            <td data-label="From">{session.address.clone().unwrap_or_else(|| "unknown".to_owned())}</td>
            <td class="name" title=agent.clone()>{agent.clone()}</td>
            <td>
                <form method="post" action=action>
                    {name.map(|name| view! { <input type="hidden" name="name" value=name.to_owned() /> })}
                    <input type="hidden" name="session" value=session.id.clone() />
                    <button aria-label=label>"End"</button>
                </form>
            </td>
        </tr>
    }
}
