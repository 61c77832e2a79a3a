//! x
use super::frame::{Section, page};
use crate::model::people::Role;
use leptos::prelude::*;

/// x
#[component]
pub fn RefusalsPage() -> impl IntoView {
    page(
        Section::Refusals,
        "Refusals",
        Role::OnCall,
        |_access, _request| async move { Ok(view! { <p>"x"</p> }.into_any()) },
    )
}
