//! `/settings/user?name=…`: one user's role, sign-in and sessions.

use super::frame::{Loaded, Section, page};
use super::settings::{link_once, role_choice, standing, tabs};
use crate::api::{Access, CurrentSession, Once, Request};
use crate::components::sessions::sessions;
use crate::error::AppError;
use crate::model::people::{Person, Role, SET_UP_LINK_HOURS, Session};
use leptos::prelude::*;

/// For admins.
#[component]
pub fn SettingsUserPage() -> impl IntoView {
    page(Section::Settings, "User", Role::Admin, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let name = request.get("name").ok_or(AppError::NotFound("user"))?;
    let current = use_context::<Option<CurrentSession>>().flatten();
    let person = access.store.find_person(name).await?.ok_or(AppError::NotFound("user"))?;
    let list = access.store.list_sessions(name).await?;
    Ok(contents(&person, &list, current.as_ref().map(|CurrentSession(id)| id.as_str()), Once::current()))
}

fn contents(person: &Person, list: &[Session], current: Option<&str>, once: Option<Once>) -> AnyView {
    let name = person.name.clone();
    let hidden = {
        let name = name.clone();
        move || view! { <input type="hidden" name="name" value=name.clone() /> }
    };
    let (wanted, label, consequence) = if person.disabled {
        ("false", "Enable", "They may sign in again.")
    } else {
        ("true", "Disable", "They may not sign in any more; their sessions end at once.")
    };
    let audit = crate::components::link::with_query("/audit", [("on", Some(format!("user {name}").as_str()))]);
    let own = crate::components::link::with_query("/audit", [("who", Some(name.as_str()))]);
    view! {
        {tabs("")}
        {once.and_then(link_once)}
        <p class="lead"><b class="name">{name.clone()}</b>", "{person.role.as_str()}", signs in: "{standing(person)}</p>
        <p class="meta"><a href=own>"What they did"</a>", "<a href=audit>"what was done to their account"</a></p>
        <h2>"Role"</h2>
        <form class="pause" method="post" action="/settings/users/change">
            {hidden()}
            {role_choice(person.role)}
            <button>"Change role"</button>
            <small>"Their sessions end; they sign in again with the new role."</small>
        </form>
        <h2>"Sign-in"</h2>
        <form class="pause" method="post" action="/settings/users/change">
            {hidden()}
            <input type="hidden" name="disabled" value=wanted />
            <button>{label}</button>
            <small>{consequence}</small>
        </form>
        <form class="pause" method="post" action="/settings/users/link">
            {hidden()}
            <button>"New set-up link"</button>
            <small>{format!("Shown once, valid {SET_UP_LINK_HOURS} hours. The password they have works until they use it.")}</small>
        </form>
        <h2>"Sessions"</h2>
        {sessions(list, current, "/settings/users/sessions/end", Some(&name))}
        {(!list.is_empty()).then(|| view! {
            <form class="pause" method="post" action="/settings/users/sessions/end">
                {hidden()}
                <button>"End all sessions"</button>
                <small>"They may sign in again."</small>
            </form>
        })}
    }
    .into_any()
}
