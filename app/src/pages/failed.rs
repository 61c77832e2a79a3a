//! What a person sees instead of a page that cannot be shown.

use crate::error::AppError;
use leptos::prelude::*;

/// A sentence, and where to go from here.
pub fn failed(error: &AppError) -> impl IntoView + use<> {
    let heading = match error {
        AppError::SignInNeeded => "Signed out",
        AppError::Forbidden => "Not allowed",
        AppError::NotFound(_) => "Not found",
        AppError::Invalid(_) => "This address asks for something that does not exist",
        AppError::Conflict(_) => "Somebody else was first",
        AppError::Unavailable(_) => "Database unreachable",
        AppError::DatabaseError => "Database error",
        AppError::Internal => "Something went wrong",
    };
    let (href, label) = match error {
        AppError::SignInNeeded => ("/login", "Sign in"),
        _ => ("/", "To the pipeline"),
    };
    view! {
        <section class="failed">
            <h1>{heading}</h1>
            <p>{error.to_string()}</p>
            <p><a href=href>{label}</a></p>
        </section>
    }
}
