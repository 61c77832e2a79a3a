//! An address that no page answers.

use super::frame::{Section, refused};
use crate::error::AppError;
use leptos::prelude::*;

/// Says so, and leads back.
#[component]
pub fn NotFoundPage() -> impl IntoView {
    refused(Section::Pipeline, AppError::NotFound("page").into())
}
