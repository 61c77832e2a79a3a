//! What a person sees instead of a page that cannot be shown.

use super::frame::Section;
use crate::error::AppError;
use leptos::prelude::*;

/// The heading, which is the title, too.
pub fn heading(error: &AppError) -> &'static str {
    match error {
        AppError::SignInNeeded => "Signed out",
        AppError::Forbidden => "Not allowed",
        AppError::NotFound(_) => "Not found",
        AppError::Invalid(_) => "This address asks for something that does not exist",
        AppError::Conflict(_) => "Somebody else was first",
        AppError::Unavailable(_) => "Database unreachable",
        AppError::DatabaseError => "Database error",
        AppError::Internal => "Something went wrong",
    }
}

/// A sentence, and where to go from here: to the list that the page belongs to,
/// if it belongs to one that may be seen.
pub fn failed(error: &AppError, section: Option<Section>) -> impl IntoView + use<> {
    let sentence = match error {
        AppError::NotFound("page") => {
            "No page has this address. It may be mistyped, or from an older version.".to_owned()
        }
        AppError::NotFound(what) => format!("There is no such {what}; it may have been purged."),
        AppError::Invalid(field) => format!("In the address, “{}” {}.", field.field, field.rule),
        error => error.to_string(),
    };
    let section = section.filter(|_| *error != AppError::Forbidden).unwrap_or(Section::Pipeline);
    let (href, label) = match error {
        AppError::SignInNeeded => ("/login".to_owned(), "Sign in".to_owned()),
        _ => (section.href().to_owned(), format!("To the page {}", section.label())),
    };
    view! {
        <section class="failed">
            <h1>{heading(error)}</h1>
            <p>{sentence}</p>
            <p><a href=href>{label}</a></p>
        </section>
    }
}
