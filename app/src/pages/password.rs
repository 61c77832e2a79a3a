//! `/password`: choosing a password by a one-time link that an admin made.

use super::account::new_password;
use super::notice::notice;
use crate::api::Request;
use leptos::prelude::*;
use leptos_meta::Title;

/// A plain form that carries the link's secret on; says nothing about whose it is.
#[component]
pub fn PasswordPage() -> impl IntoView {
    let request = Request::current();
    view! {
        <Title text="Choose a password · Drainboard" />
        <main class="narrow">
            <h1>"Choose a password"</h1>
            {notice(&request)}
            {match request.text("token") {
                None => view! {
                    <p>"This page needs the one-time link that an admin made for you. "<a href="/login">"Sign in"</a></p>
                }
                .into_any(),
                Some(token) => form(token).into_any(),
            }}
        </main>
    }
}

fn form(token: String) -> impl IntoView {
    view! {
        <p>"The link works once, and signs you in. Sessions that you have elsewhere end."</p>
        <form class="stack" method="post" action="/password">
            <input type="hidden" name="token" value=token />
            {new_password("Password")}
            <button>"Set password"</button>
        </form>
    }
}
