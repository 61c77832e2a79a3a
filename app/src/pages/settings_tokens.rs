//! `/settings/tokens`: what workers and scripts sign their calls with.

use super::frame::{Loaded, Section, page};
use super::settings::tabs;
use crate::api::{Access, Once, Request};
use crate::components::link::with_query;
use crate::components::moment::date_and_time;
use crate::components::name::name;
use crate::components::pager::pager;
use crate::model::people::{ListedToken, Role, Scope};
use leptos::prelude::*;

const PER_PAGE: u32 = 100;

/// For admins; `after` (a name) is in the address.
#[component]
pub fn SettingsTokensPage() -> impl IntoView {
    page(Section::Settings, "Tokens", Role::Admin, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let after = request.get("after");
    let mut tokens = access.store.list_tokens(after, PER_PAGE + 1).await?;
    let has_more = tokens.len() > PER_PAGE as usize;
    tokens.truncate(PER_PAGE as usize);
    let last = tokens.last().filter(|_| has_more);
    let next = last.map(|last| with_query("/settings/tokens", [("after", Some(last.name.as_str()))]));
    let first = after.map(|_| "/settings/tokens".to_owned());
    Ok(contents(&tokens, Once::current(), next, first))
}

fn contents(tokens: &[ListedToken], once: Option<Once>, next: Option<String>, first: Option<String>) -> AnyView {
    let list = if tokens.is_empty() {
        view! { <p class="empty">"No token has been made yet."</p> }.into_any()
    } else {
        let rows = tokens.iter().map(row).collect_view();
        view! {
            <div class="scroll" tabindex="0" role="region" aria-label="Tokens">
                <table class="tokens compact">
                    <thead>
                        <tr>
                            <th scope="col">"Name"</th>
                            <th scope="col">"Scopes"</th>
                            <th scope="col">"Made"</th>
                            <th scope="col">"Last used"<small>" to 5 min"</small></th>
                            <th scope="col">"Revoke"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any()
    };
    view! {
        {tabs("/settings/tokens")}
        {once.and_then(token_once)}
        {list}
        {pager(next, first)}
        {add_form()}
    }
    .into_any()
}

fn row(token: &ListedToken) -> impl IntoView + use<> {
    let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.as_str()).collect();
    let used = match token.last_used_at {
        Some(at) => date_and_time(at).into_any(),
        None => view! { <span class="zero">"never"</span> }.into_any(),
    };
    let end = match token.revoked_at {
        Some(at) => view! { "✕ revoked "{date_and_time(at)} }.into_any(),
        None => view! {
            <form method="post" action="/settings/tokens/revoke">
                <input type="hidden" name="id" value=token.id.to_string() />
                <button aria-label=format!("Revoke {}", token.name)>"Revoke"</button>
            </form>
        }
        .into_any(),
    };
    view! {
        <tr>
            <th scope="row">{name(&token.name)}</th>
            <td>{scopes.join(", ")}</td>
            <td data-label="Made">{date_and_time(token.created_at)}</td>
            <td data-label="Last used">{used}</td>
            <td>{end}</td>
        </tr>
    }
}

fn add_form() -> impl IntoView {
    let boxes = Scope::ALL
        .map(|scope| {
            let may = match scope {
                Scope::Enqueue => "enqueue and cancel jobs",
                Scope::Work => "claim jobs and end them",
                Scope::Read => "read the pipeline, jobs and letters; payloads masked",
                Scope::Review => "act on dead letters; with read, reveal masked fields",
                Scope::Admin => "read and change policies",
            };
            let word = scope.as_str();
            view! { <label class="choice"><input type="checkbox" name=word value="on" />" "<b>{word}</b>": "{may}</label> }
        })
        .collect_view();
    view! {
        <h2>"Make a token"</h2>
        <form class="stack" method="post" action="/settings/tokens/add">
            <label>"Name" <input name="name" required maxlength="200" autocomplete="off" /></label>
            <fieldset><legend>"It may"</legend>{boxes}</fieldset>
            <button>"Make token"</button>
            <small>"Shown once. A token has exactly the scopes it lists."</small>
        </form>
    }
}

/// A token that is on this answer only.
fn token_once(once: Once) -> Option<AnyView> {
    let Once::Token { name, secret } = once else {
        return None;
    };
    Some(
        view! {
            <section class="notice once" role="status">
                <p>"The token "<b class="name">{name}</b>". It is not shown again: only its hash is stored."</p>
                <p><code>{secret}</code></p>
            </section>
        }
        .into_any(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::markup::markup;
    use crate::model::ids::TokenId;

    #[test]
    fn a_revoked_token_has_no_button_and_a_secret_is_shown_once() {
        let at = "2026-11-30T14:02:11Z".parse().unwrap();
        let token = |id, revoked_at| ListedToken {
            id: TokenId(id),
            name: format!("<b>t{id}"),
            scopes: vec![Scope::Read],
            created_at: at,
            last_used_at: None,
            revoked_at,
        };
        let once = Once::Token { name: "t".to_owned(), secret: "drb_secret".to_owned() };
        let html = markup(contents(&[token(1, None), token(2, Some(at))], Some(once), None, None));
        assert_eq!(html.matches(">Revoke</button>").count(), 1, "{html}");
        assert!(html.contains("drb_secret") && html.contains("never") && !html.contains("<b>t1"), "{html}");
        assert!(!markup(contents(&[], None, None, None)).contains("drb_secret"));
    }
}
