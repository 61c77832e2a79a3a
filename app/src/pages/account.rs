//! `/account`: one's own sessions and password.

use super::frame::{Loaded, Section, page};
use crate::api::{Access, CurrentSession, Request};
use crate::components::sessions::sessions;
use crate::model::people::{MIN_PASSWORD_CHARACTERS, Role, Session};
use leptos::prelude::*;

/// For everybody who is signed in.
#[component]
pub fn AccountPage() -> impl IntoView {
    page(Section::Account, "Account", Role::OnCall, load)
}

async fn load(access: Access, _request: Request) -> Loaded {
    let current = use_context::<Option<CurrentSession>>().flatten();
    let list = access.store.list_sessions(&access.viewer.name).await?;
    Ok(contents(&list, current.as_ref().map(|CurrentSession(id)| id.as_str())))
}

fn contents(list: &[Session], current: Option<&str>) -> AnyView {
    view! {
        <h2>"Sessions"</h2>
        <p class="hint">"Where you are signed in. One that you do not know: end it, then change your password."</p>
        {sessions(list, current, "/account/sessions/end", None)}
        <form class="actions" method="post" action="/account/sessions/end">
            <button>"End all sessions"</button>
            <small>"This one, too: you will sign in again."</small>
        </form>
        <h2>"Password"</h2>
        <form class="stack" method="post" action="/account/password">
            <label>
                "Current password"
                <input name="current" type="password" autocomplete="current-password" required maxlength="1000" />
            </label>
            {new_password("New password")}
            <button>"Change password"</button>
            <small>"Your other sessions end."</small>
        </form>
    }
    .into_any()
}

/// A field for a password that is being chosen.
pub(super) fn new_password(label: &str) -> impl IntoView + use<> {
    view! {
        <label>
            {format!("{label}, at least {MIN_PASSWORD_CHARACTERS} characters")}
            <input
                name="password"
                type="password"
                autocomplete="new-password"
                required
                minlength=MIN_PASSWORD_CHARACTERS.to_string()
                maxlength="1000"
            />
        </label>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::markup::markup;

    #[test]
    fn one_s_own_session_is_told_apart_and_a_hostile_browser_stays_text() {
        let session = |id: &str, agent: &str| Session {
            id: id.to_owned(),
            created_at: "2026-11-30T14:02:11Z".parse().unwrap(),
            last_active_at: "2026-11-30T14:12:11Z".parse().unwrap(),
            address: Some("192.0.2.7".to_owned()),
            user_agent: Some(agent.to_owned()),
        };
        let html = markup(contents(&[session("aa", "Firefox"), session("bb", "<img src=x>\"")], Some("bb")));
        assert_eq!(html.matches("this one").count(), 1, "{html}");
        assert!(html.contains("Firefox") && html.contains("192.0.2.7") && !html.contains("<img"), "{html}");
        assert!(html.contains("name=\"session\" value=\"aa\""), "{html}");
    }
}
