//! x
use super::frame::{Section, page};
use crate::model::people::Role;
use leptos::prelude::*;

/// x
#[component]
pub fn DeadLettersPage() -> impl IntoView {
    page(Section::DeadLetters, "Dead letters", Role::OnCall, |_access, _request| async move {
        Ok(view! { <p>"x"</p> }.into_any())
    })
}
