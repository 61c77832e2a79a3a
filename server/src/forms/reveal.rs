//! Showing masked fields to a reviewer, once; the audit has it before they do.

use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::Problem;
use crate::web::shown_once::ShownOnce;
use app::api::{Once, masked_fields};
use app::model::audit::Noted;
use app::model::ids::{DeadLetterId, JobId};
use app::model::job::RawJson;
use app::model::mask::masked;
use app::model::people::Role;
use axum::extract::{Path, State};

/// `POST /jobs/{id}/reveal`.
///
/// # Errors
/// 401, 403; 404 no such job.
pub async fn of_job(
    State(state): State<AppState>,
    Path(id): Path<String>,
    person: SignedIn,
) -> Result<ShownOnce, Problem> {
    let page = format!("/jobs/{id}");
    person.must_be(Role::Reviewer).map_err(|problem| problem.shown_with_fitting_notice(&page))?;
    let missing = || Problem::not_found("There is no such job.");
    let id = id.parse::<JobId>().map_err(|_| missing())?;
    let job = state.store.find_job(id).await.map_err(|e| Problem::of_store(&state, e))?.ok_or_else(missing)?;
    reveal(&state, &person, page, format!("job {id}"), &job.summary.kind, job.payload.as_ref()).await
}

/// `POST /dead-letters/{id}/reveal`.
///
/// # Errors
/// 401, 403; 404 no such letter.
pub async fn of_letter(
    State(state): State<AppState>,
    Path(id): Path<String>,
    person: SignedIn,
) -> Result<ShownOnce, Problem> {
    let page = format!("/dead-letters/{id}");
    person.must_be(Role::Reviewer).map_err(|problem| problem.shown_with_fitting_notice(&page))?;
    let missing = || Problem::not_found("There is no such dead letter.");
    let id = id.parse::<DeadLetterId>().map_err(|_| missing())?;
    let detail = state.store.find_letter(id).await.map_err(|e| Problem::of_store(&state, e))?.ok_or_else(missing)?;
    reveal(&state, &person, page, format!("dead_letter {id}"), &detail.letter.kind, detail.payload.as_ref()).await
}

async fn reveal(
    state: &AppState,
    person: &SignedIn,
    page: String,
    subject: String,
    kind: &str,
    payload: Option<&RawJson>,
) -> Result<ShownOnce, Problem> {
    let of_store = |error| Problem::of_store(state, error).back_to(&page, "Back");
    let fields = masked_fields(&*state.store, kind).await.map_err(of_store)?;
    let fields = payload.map(|payload| masked(payload, &fields).hidden).unwrap_or_default();
    if !fields.is_empty() {
        let noted = Noted::Revealed { subject: subject.clone(), fields: fields.clone() };
        state.store.note(&noted, &person.actor).await.map_err(of_store)?;
    }
    Ok(ShownOnce { page, once: Once::Revealed { subject, fields } })
}
