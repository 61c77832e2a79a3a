//! x
use super::frame::{Section, page};
use crate::model::people::Role;
use leptos::prelude::*;

/// x
#[component]
pub fn AuditPage() -> impl IntoView {
    page(Section::Audit, "Audit", Role::OnCall, |_access, _request| async move { Ok(view! { <p>"x"</p> }.into_any()) })
}
