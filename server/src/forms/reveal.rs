//! Showing masked fields to a reviewer, once; the audit has it before they do.

use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::Problem;
use crate::web::shown_once::ShownOnce;
use app::api::{Once, masked_fields};
use app::model::audit::Noted;
use app::model::cover::mask_letter;
use app::model::ids::{DeadLetterId, JobId};
use app::model::mask::mask_job;
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
    let mut job = state.store.find_job(id).await.map_err(|e| Problem::of_store(&state, e))?.ok_or_else(missing)?;
    let kind = job.summary.kind.clone();
    reveal(&state, &person, page, (format!("job {id}"), &kind), &mut job, mask_job).await
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
    let mut detail =
        state.store.find_letter(id).await.map_err(|e| Problem::of_store(&state, e))?.ok_or_else(missing)?;
    let kind = detail.letter.kind.clone();
    let of = (format!("dead_letter {id}"), kind.as_str());
    reveal(&state, &person, page, of, &mut detail, mask_letter).await
}

async fn reveal<T>(
    state: &AppState,
    person: &SignedIn,
    page: String,
    (subject, kind): (String, &str),
    found: &mut T,
    put_on: fn(&mut T, &[String]) -> Vec<String>,
) -> Result<ShownOnce, Problem> {
    let of_store = |error| Problem::of_store(state, error).back_to(&page, "Back");
    let fields = masked_fields(&*state.store, kind).await.map_err(of_store)?;
    let fields = put_on(found, &fields);
    if !fields.is_empty() {
        let noted = Noted::Revealed { subject: subject.clone(), fields: fields.clone() };
        state.store.note(&noted, &person.actor).await.map_err(of_store)?;
    }
    Ok(ShownOnce { page, once: Once::Revealed { subject, fields } })
}
