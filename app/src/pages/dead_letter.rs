//! x
use super::frame::{Section, page};
use crate::model::people::Role;
use leptos::prelude::*;

/// x
#[component]
pub fn DeadLetterPage() -> impl IntoView {
    page(Section::DeadLetters, "Dead letter", Role::OnCall, |_access, _request| async move {
        Ok(view! { <p>"x"</p> }.into_any())
    })
}
