//! Many letters at once: drafted as they were seen, then confirmed, stopped or
//! let go on. Which letters is said in the server's words, never in the form's.

use super::letters::note;
use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::Problem;
use app::api::Posted;
use app::components::letter_facets::{View, in_words};
use app::components::letter_rows::reason;
use app::components::link;
use app::error::StoreError;
use app::model::FieldError;
use app::model::age::clock;
use app::model::bulk::{BulkAct, BulkSelection, MAX_BULK_LETTERS, NewBulk, Steer, letters};
use app::model::ids::{BulkId, DeadLetterId};
use app::model::job::ReplayMode;
use app::model::letter_filter::LetterFilter;
use app::model::people::Role;
use app::model::recovery::RecoveryAction;
use app::store::Stored;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::response::Redirect;
use chrono::{DateTime, Utc};
use std::sync::Arc;

const LETTERS: &str = "/dead-letters";
const BACK: &str = "Back to the dead letters";

type Fields = Vec<(String, String)>;

/// What a press on the list covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Selection,
    Group,
    Filter,
    Failures,
}

/// Letters as they were chosen on a page.
#[derive(Debug, PartialEq)]
struct Chosen {
    scope: Scope,
    /// Without its page; of a group with its fingerprint.
    filter: LetterFilter,
    /// When the page was read: what came later was not seen.
    as_of: Option<DateTime<Utc>>,
    ids: Vec<(DeadLetterId, i64)>,
    /// The page, to come back to.
    page: String,
}

/// `POST /dead-letters/bulk`: fixes letters and versions, acts on none.
///
/// # Errors
/// 401, 403; 422 when nothing or too much was chosen, said on the list.
pub async fn draft(
    State(state): State<AppState>,
    person: SignedIn,
    form: Result<Form<Fields>, FormRejection>,
) -> Result<Redirect, Problem> {
    let to_letters = |problem: Problem| problem.back_to(LETTERS, BACK);
    person.must_be(Role::Reviewer).map_err(to_letters)?;
    let Form(fields) = form.map_err(|e| to_letters(Problem::bad_form(&e)).shown_with_fitting_notice(LETTERS))?;
    let posted = Posted { fields: Arc::new(fields), sentence: None };
    let chosen = Chosen::of(&posted).map_err(|e| to_letters(Problem::invalid(&e)))?;
    let again = |problem: Problem| problem.back_to(&chosen.page, BACK).shown_with(&chosen.page, posted.fields.clone());
    let new = chosen.bulk(&state).await.map_err(|e| again(Problem::of_store(&state, e)))?;
    let new = new.map_err(|sentence| again(Problem::not_done(sentence)))?;
    match state.store.draft_bulk(&new, &person.actor).await {
        Ok(id) => Ok(Redirect::to(&link::bulk(id, None))),
        Err(StoreError::Invalid(field)) => Err(again(Problem::not_done(format!("what you chose {}.", field.rule)))),
        Err(error) => Err(again(Problem::of_store(&state, error))),
    }
}

/// `GET /dead-letters/bulk`, where the answer to a press stands: leads back.
pub async fn lead_back() -> Redirect {
    Redirect::to(LETTERS)
}

/// `POST /bulk/{id}`: `step` is `confirm`, `stop` or `go_on`. A second press
/// finds what the first one did.
///
/// # Errors
/// 401; 403 for the role, or for whoever did not draft it; 404; 409 when it was
/// confirmed, stopped or done before; 422 naming the field.
pub async fn steer(
    State(state): State<AppState>,
    Path(id): Path<String>,
    person: SignedIn,
    form: Result<Form<Fields>, FormRejection>,
) -> Result<Redirect, Problem> {
    let Ok(id) = id.parse::<BulkId>() else { return Err(Problem::not_found("There is no such bulk.")) };
    let page = link::bulk(id, None);
    let on_bulk = |problem: Problem| problem.back_to(&page, "To the bulk as it stands now");
    person.must_be(Role::Reviewer).map_err(on_bulk)?;
    let Form(fields) = form.map_err(|e| on_bulk(Problem::bad_form(&e)).shown_with_fitting_notice(&page))?;
    let posted = Posted { fields: Arc::new(fields), sentence: None };
    let again = |problem: Problem| on_bulk(problem).shown_with(&page, posted.fields.clone());
    let steer = wanted(&posted).map_err(|e| again(Problem::invalid(&e)))?;
    match state.store.steer_bulk(id, &steer, &person.actor, person.viewer.role).await {
        Ok(()) => Ok(Redirect::to(&page)),
        Err(StoreError::Conflict(said)) => {
            let found = state.store.find_bulk(id, None, 1).await.map_err(|e| again(Problem::of_store(&state, e)))?;
            match found {
                Some(found) if steer.is_so(&found.bulk, &person.actor.name) => Ok(Redirect::to(&page)),
                _ => Err(again(Problem::conflict(format!("{said}.")))),
            }
        }
        Err(StoreError::Forbidden(said)) => Err(again(Problem::forbidden(format!("{said}.")))),
        Err(error) => Err(again(Problem::of_store(&state, error))),
    }
}

/// What the pressed button asks for.
fn wanted(posted: &Posted) -> Result<Steer, FieldError> {
    match posted.get("step") {
        Some("confirm") => Ok(Steer::Confirm(act(posted)?)),
        Some("stop") => Ok(Steer::Stop),
        Some("go_on") => Ok(Steer::GoOn),
        _ => Err(FieldError::new("step", "must be confirm, stop or go_on")),
    }
}

fn act(posted: &Posted) -> Result<BulkAct, FieldError> {
    let action = posted.get("action").and_then(RecoveryAction::from_word);
    let action = action.ok_or_else(|| FieldError::new("action", "must be approve_and_replay or reject_and_close"))?;
    let mode = match posted.get("mode") {
        None | Some("" | "current") => ReplayMode::Current,
        Some("pinned") => ReplayMode::Pinned,
        Some(_) => return Err(FieldError::new("mode", "must be current or pinned")),
    };
    let act = BulkAct { action, mode, note: note(posted.get("note"))? };
    act.check()?;
    Ok(act)
}

impl Chosen {
    fn of(posted: &Posted) -> Result<Self, FieldError> {
        let value = |name: &str| posted.get(name).filter(|value| !value.is_empty());
        let scope = match (value("scope"), value("group")) {
            (Some("selection"), _) => Scope::Selection,
            (Some("group"), Some(_)) | (None, Some(_)) => Scope::Group,
            (Some("filter"), _) => Scope::Filter,
            (Some("failures"), _) => Scope::Failures,
            _ => return Err(FieldError::new("scope", "must be selection, group (with its key), filter or failures")),
        };
        let filter = LetterFilter { searches_private: true, ..LetterFilter::parse(value)? };
        let as_of = value("as_of").map(|text| {
            let at = DateTime::parse_from_rfc3339(text).map_err(|_| FieldError::new("as_of", "must be a time"))?;
            Ok(at.with_timezone(&Utc))
        });
        // The group's button stands on the page of all groups.
        let pressed_on = |view: View| match view {
            View::List => filter.clone(),
            View::Groups => LetterFilter { group: None, ..filter.clone() },
        };
        let view = if value("view") == Some("groups") { View::Groups } else { View::List };
        let page = view.link(&pressed_on(view));
        let ids = posted.fields.iter().filter(|(name, _)| name == "ids").map(|(_, value)| ticked(value));
        Ok(Self { scope, as_of: as_of.transpose()?, ids: ids.collect::<Result<_, _>>()?, page, filter })
    }

    /// What is to be drafted; a sentence when it is nothing, or too much.
    async fn bulk(&self, state: &AppState) -> Stored<Result<NewBulk, String>> {
        let as_of = self.as_of.map(|at| format!(", as of {}", clock(at))).unwrap_or_default();
        let seen = LetterFilter { parked_until: self.as_of, ages_at: self.as_of, ..self.filter.clone() };
        let (filter, said) = match self.scope {
            Scope::Selection if self.ids.is_empty() => {
                return Ok(Err("no letter was ticked. Tick those that you mean, or take all of the list.".to_owned()));
            }
            Scope::Selection if self.ids.len() > MAX_BULK_LETTERS => {
                return Ok(Err(format!("these are more than {MAX_BULK_LETTERS} letters.")));
            }
            Scope::Selection => {
                let ticked = letters(i64::try_from(self.ids.len()).unwrap_or(i64::MAX));
                let scope = format!("{ticked} ticked in a list of {}{as_of}", in_words(&self.filter));
                return Ok(Ok(NewBulk { selection: BulkSelection::Ids(self.ids.clone()), scope }));
            }
            Scope::Group => (seen.unresolved(), self.group_in_words(state, &seen).await?),
            Scope::Filter => (seen.unresolved(), "all of the list".to_owned()),
            Scope::Failures => (seen.failures(), "failures alone, nothing that was judged".to_owned()),
        };
        let Some(filter) = filter else {
            return Ok(Err("nothing of this list waits for anybody.".to_owned()));
        };
        // The fingerprint says nothing to a person.
        let beside = in_words(&LetterFilter { group: None, ..filter.clone() });
        let scope = format!("{said}: {beside}{as_of}");
        Ok(Ok(NewBulk { selection: BulkSelection::Filter(Box::new(filter)), scope }))
    }

    /// `all of the group MISSING_REQUIRED_FIELD · currency of extract-invoice`.
    async fn group_in_words(&self, state: &AppState, filter: &LetterFilter) -> Stored<String> {
        let found = state.store.list_letters(&LetterFilter { limit: 1, ..filter.clone() }).await?;
        Ok(match found.letters.first() {
            Some(letter) => format!("all of the group {} of {}", reason(letter), letter.kind),
            None => "all of a group".to_owned(),
        })
    }
}

/// A ticked box: `id:version`.
fn ticked(value: &str) -> Result<(DeadLetterId, i64), FieldError> {
    let parsed = value.split_once(':').and_then(|(id, version)| Some((id.parse().ok()?, version.parse().ok()?)));
    parsed.ok_or_else(|| FieldError::new("ids", "must be dead letters with their versions, as the list has them"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use app::model::letter::Route;

    fn posted(fields: &[(&str, &str)]) -> Posted {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Posted { fields: Arc::new(fields), sentence: None }
    }

    #[test]
    fn a_press_covers_what_its_button_says_and_leads_back_to_its_page() {
        let list = [("status", "unresolved"), ("kind", "a b"), ("scope", "selection"), ("ids", "7:3"), ("ids", "9:1")];
        let chosen = Chosen::of(&posted(&list)).unwrap();
        assert_eq!((chosen.scope, chosen.ids), (Scope::Selection, vec![(DeadLetterId(7), 3), (DeadLetterId(9), 1)]));
        assert_eq!(chosen.page, "/dead-letters?status=unresolved&kind=a+b&view=list");
        let group = [("status", "open"), ("view", "groups"), ("group", "00ff")];
        let chosen = Chosen::of(&posted(&group)).unwrap();
        assert_eq!((chosen.scope, chosen.filter.group.as_deref()), (Scope::Group, Some("00ff")));
        assert_eq!(chosen.page, "/dead-letters?status=open");
        let failures = [("scope", "failures"), ("as_of", "2026-11-30T14:07:31.000001Z")];
        let chosen = Chosen::of(&posted(&failures)).unwrap();
        assert_eq!(chosen.filter.failures().unwrap().route, Some(Route::Exception));
        assert_eq!(chosen.as_of.unwrap().timestamp_micros() % 1_000_000, 1);
    }

    #[test]
    fn what_no_page_sends_names_its_field() {
        for (fields, field) in [
            (&[("scope", "everything")][..], "scope"),
            (&[("scope", "group")], "scope"),
            (&[], "scope"),
            (&[("scope", "selection"), ("ids", "7")], "ids"),
            (&[("scope", "selection"), ("ids", "7:x")], "ids"),
            (&[("scope", "filter"), ("status", "new")], "status"),
            (&[("scope", "filter"), ("as_of", "noon")], "as_of"),
        ] {
            assert_eq!(Chosen::of(&posted(fields)).unwrap_err().field, field, "{fields:?}");
        }
        for (fields, field) in [
            (&[("step", "jump")][..], "step"),
            (&[("step", "confirm"), ("action", "take")], "action"),
            (&[("step", "confirm")], "action"),
            (&[("step", "confirm"), ("action", "reject_and_close"), ("note", " ")], "note"),
            (&[("step", "confirm"), ("action", "approve_and_replay"), ("mode", "old")], "mode"),
        ] {
            assert_eq!(wanted(&posted(fields)).unwrap_err().field, field, "{fields:?}");
        }
    }
}
