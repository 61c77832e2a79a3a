//! An address that no page answers, and answers that have no page of their own.

use super::frame::outside;
use super::told::Told;
use crate::error::AppError;
use leptos::prelude::*;

/// Says so inside the frame, and leads back. Where the server has something to
/// tell (a [`Told`] in the context), it says that instead.
#[component]
pub fn NotFoundPage() -> impl IntoView {
    outside(|| match use_context::<Told>() {
        Some(told) => Ok((told.heading.clone(), told.contents())),
        None => Err(AppError::NotFound("page").into()),
    })
}
