//! `/setup`: the first admin, by a one-time link.

use super::notice::notice;
use crate::api::{Request, SetUpLink};
use crate::model::people::MIN_PASSWORD_CHARACTERS;
use leptos::prelude::*;
use leptos_meta::Title;

/// A plain form that carries the link's secret on, while the link can be used.
#[component]
pub fn SetupPage() -> impl IntoView {
    let request = Request::current();
    let is_live = use_context() == Some(SetUpLink::Live);
    view! {
        <Title text="Set up · Drainboard" />
        <a class="skip" href="#content">"Skip to content"</a>
        <main class="narrow" id="content" tabindex="-1">
            <h1>"Set up Drainboard"</h1>
            {notice(&request)}
            {match request.text("token") {
                None => view! {
                    <p>"This page needs the one-time link that the server printed when it started without any user."</p>
                }
                .into_any(),
                Some(token) if is_live => form(token).into_any(),
                Some(_) => used().into_any(),
            }}
        </main>
    }
}

fn used() -> impl IntoView {
    view! {
        <p role="alert">
            "This link was used or has expired. If nobody can sign in, restart the server: it prints a new one."
        </p>
        <p><a href="/login">"Sign in"</a></p>
    }
}

fn form(token: String) -> impl IntoView {
    view! {
        <p>"This makes the first admin. The link works once."</p>
        <form class="stack" method="post" action="/setup">
            <input type="hidden" name="token" value=token />
            <label>"User name" <input name="username" autocomplete="username" required maxlength="200" autofocus /></label>
            <label>
                {format!("Password, at least {MIN_PASSWORD_CHARACTERS} characters")}
                <input
                    name="password"
                    type="password"
                    autocomplete="new-password"
                    required
                    minlength=MIN_PASSWORD_CHARACTERS.to_string()
                    maxlength="1000"
                />
            </label>
            <button>"Make the first admin"</button>
        </form>
    }
}
