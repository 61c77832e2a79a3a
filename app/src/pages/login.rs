//! `/login`: who are you?

use super::notice::notice;
use crate::api::Request;
use leptos::prelude::*;
use leptos_meta::Title;

/// A plain form; says nothing about the pipeline to the anonymous.
#[component]
pub fn LoginPage() -> impl IntoView {
    let request = Request::current();
    view! {
        <Title text="Sign in · Drainboard" />
        <a class="skip" href="#content">"Skip to content"</a>
        <main class="narrow" id="content" tabindex="-1">
            <h1>"Drainboard"</h1>
            {notice(&request)}
            <form class="stack" method="post" action="/login">
                {request.text("next").map(|next| view! { <input type="hidden" name="next" value=next /> })}
                <label>"User name" <input name="username" autocomplete="username" required maxlength="200" autofocus /></label>
                <label>
                    "Password"
                    <input name="password" type="password" autocomplete="current-password" required maxlength="1000" />
                </label>
                <button>"Sign in"</button>
            </form>
        </main>
    }
}
