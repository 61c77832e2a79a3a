//! `/artifacts/{sha256}`: the text of a prompt or of tool definitions.

use super::frame::{Loaded, Section, page};
use crate::api::{Access, Request};
use crate::components::json_text::text_block;
use crate::components::link;
use crate::components::moment::date_and_time;
use crate::components::name::name;
use crate::error::AppError;
use crate::model::artifact::ArtifactHash;
use crate::model::people::Role;
use leptos::prelude::*;

/// For those who see envelopes. `?show=all` shows a long text whole.
#[component]
pub fn ArtifactPage() -> impl IntoView {
    page(Section::DeadLetters, "Text of the registry", Role::Reviewer, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let sha256 = request.id::<ArtifactHash>("text")?;
    let found = access.store.find_artifact(&sha256).await?.ok_or(AppError::NotFound("text"))?;
    let bytes = found.content.len();
    Ok(view! {
        <p class="meta">"SHA-256 "{name(found.sha256.as_str())}", "{format!("{bytes} bytes")}", here since "{date_and_time(found.at)}</p>
        {text_block(&found.content, &link::artifact(&sha256), request.get("show") == Some("all"))}
    }
    .into_any())
}
