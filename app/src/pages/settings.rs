//! `/settings`: who may sign in.

use super::frame::{Loaded, Section, page};
use crate::api::{Access, Once, Request};
use crate::components::link::with_query;
use crate::components::moment::date_and_time;
use crate::components::name::name;
use crate::components::pager::pager;
use crate::model::people::{Person, Role, SET_UP_LINK_HOURS};
use leptos::prelude::*;

const PER_PAGE: u32 = 100;

/// For admins; `after` (a name) is in the address.
#[component]
pub fn SettingsPage() -> impl IntoView {
    page(Section::Settings, "Users", Role::Admin, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let after = request.get("after");
    let mut people = access.store.list_users(after, PER_PAGE + 1).await?;
    let has_more = people.len() > PER_PAGE as usize;
    people.truncate(PER_PAGE as usize);
    let last = people.last().filter(|_| has_more);
    let next = last.map(|last| with_query("/settings", [("after", Some(last.name.as_str()))]));
    let first = after.map(|_| "/settings".to_owned());
    Ok(contents(&people, Once::current(), next, first))
}

fn contents(people: &[Person], once: Option<Once>, next: Option<String>, first: Option<String>) -> AnyView {
    let rows = people.iter().map(row).collect_view();
    view! {
        {tabs("/settings")}
        {once.map(link_once)}
        <div class="scroll" tabindex="0" role="region" aria-label="Users">
            <table class="users compact">
                <thead>
                    <tr>
                        <th scope="col">"Name"</th>
                        <th scope="col">"Role"</th>
                        <th scope="col">"Signs in"</th>
                        <th scope="col" class="number">"Sessions"</th>
                        <th scope="col">"Added"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        {pager(next, first)}
        <h2>"Add a user"</h2>
        <form class="stack" method="post" action="/settings/users/add">
            <label>"User name" <input name="name" required maxlength="200" autocomplete="off" /></label>
            <label>"Role" {role_choice(Role::OnCall)}</label>
            <button>"Add user"</button>
            <small>{format!("Makes a link, valid {SET_UP_LINK_HOURS} hours, by which they choose their own password.")}</small>
        </form>
    }
    .into_any()
}

fn row(person: &Person) -> impl IntoView + use<> {
    let href = user_page(&person.name);
    view! {
        <tr>
            <th scope="row"><a href=href>{name(&person.name)}</a></th>
            <td>{person.role.as_str()}</td>
            <td data-label="Signs in">{standing(person)}</td>
            <td class="number" data-label="Sessions">{person.sessions}</td>
            <td data-label="Added">{date_and_time(person.created_at)}</td>
        </tr>
    }
}

/// Whether somebody can sign in, in words.
pub(super) fn standing(person: &Person) -> AnyView {
    match (person.disabled, person.has_password, person.link_expires_at) {
        (true, ..) => view! { "✕ disabled" }.into_any(),
        (_, true, None) => view! { "yes" }.into_any(),
        (_, true, Some(at)) => view! { "yes; link for a new password until "{date_and_time(at)} }.into_any(),
        (_, false, Some(at)) => view! { "not yet; link valid until "{date_and_time(at)} }.into_any(),
        (_, false, None) => view! { "✕ no password, and their link is too old: make a new one" }.into_any(),
    }
}

/// The page of one user. The name travels in the query: it may hold anything.
pub(super) fn user_page(name: &str) -> String {
    with_query("/settings/user", [("name", Some(name))])
}

/// The choice of a role, with what each may do.
pub(super) fn role_choice(chosen: Role) -> impl IntoView {
    let options = Role::ALL
        .map(|role| {
            let may = match role {
                Role::OnCall => "on-call: reads, payloads hidden",
                Role::Reviewer => "reviewer: also acts on dead letters",
                Role::Admin => "admin: also policies, users, tokens, pause",
            };
            view! { <option value=role.as_str() selected=role == chosen>{may}</option> }
        })
        .collect_view();
    view! { <select name="role">{options}</select> }
}

/// The pages under Settings.
pub(super) fn tabs(current: &'static str) -> impl IntoView {
    let links = [("/settings", "Users"), ("/settings/tokens", "Tokens")]
        .map(|(href, label)| view! { <a href=href aria-current=(href == current).then_some("page")>{label}</a> })
        .collect_view();
    view! { <nav class="tabs" aria-label="Settings">{links}</nav> }
}

/// A link that is on this answer only.
pub(super) fn link_once(once: Once) -> Option<AnyView> {
    let Once::SetUpLink { user, link } = once else {
        return None;
    };
    Some(
        view! {
            <section class="notice once" role="status">
                <p>"Give this link to "<b class="name">{user}</b>{format!(
                    ". It works once, for {SET_UP_LINK_HOURS} hours, and is not shown again."
                )}</p>
                <p><code>{link}</code></p>
            </section>
        }
        .into_any(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::markup::markup;

    #[test]
    fn a_hostile_name_stays_text_and_its_page_is_found() {
        let person = Person {
            name: "<img src=x>&a/b".to_owned(),
            role: Role::Reviewer,
            disabled: false,
            has_password: false,
            created_at: "2026-11-30T14:02:11Z".parse().unwrap(),
            link_expires_at: None,
            sessions: 0,
        };
        let once = Once::SetUpLink { user: person.name.clone(), link: "/password?token=x\"><b>".to_owned() };
        let html = markup(contents(&[person], Some(once), None, None));
        assert!(!html.contains("<img") && !html.contains("\"><b>"), "{html}");
        assert!(html.contains("/settings/user?name=%3Cimg+src%3Dx%3E%26a%2Fb"), "{html}");
        assert!(html.contains("no password") && html.contains("not shown again"), "{html}");
    }
}
