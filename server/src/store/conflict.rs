//! What a person or program is told when somebody else was first. The same
//! words whatever the database.

use app::error::StoreError;
use app::model::age::clock;
use app::model::follow_up::FollowUp;
use app::model::job::JobState;
use app::model::letter::{DeadLetter, Taken};
use app::model::outbox::OutboxNotice;
use chrono::{DateTime, Utc};

/// Why a letter could not be acted on, from what it is now. `now` is the
/// database's clock.
pub fn letter_conflict(letter: &DeadLetter, seen_version: i64, now: DateTime<Utc>) -> StoreError {
    StoreError::Conflict(match &letter.resolution {
        Some(resolution) => {
            let did = resolution.action.past_tense();
            format!("already {did} by {} at {}", resolution.by, moment(resolution.at, now))
        }
        None if letter.taken.is_some() => {
            let taken = letter.taken.iter().map(|taken| taken.by.as_str()).collect::<String>();
            format!(
                "{taken} took the dead letter meanwhile: it is at version {}, you saw version {seen_version}",
                letter.version
            )
        }
        None => format!(
            "the dead letter changed meanwhile: it is at version {}, you saw version {seen_version}",
            letter.version
        ),
    })
}

/// Why nobody but whoever has the letter acts on it.
pub fn taken_conflict(taken: &Taken, now: DateTime<Utc>) -> StoreError {
    StoreError::Conflict(format!(
        "{} has this dead letter until {}; take it over first, or wait",
        taken.by,
        moment(taken.until, now)
    ))
}

/// Why nothing was done to a notice, from what it is now.
pub fn notice_conflict(notice: &OutboxNotice, now: DateTime<Utc>) -> StoreError {
    StoreError::Conflict(match (notice.sent_at, &notice.sent_by) {
        (Some(at), Some(by)) => format!("{by} marked this notice as sent at {}", moment(at, now)),
        (Some(at), None) => format!("this notice was sent at {}", moment(at, now)),
        (None, _) => "this notice is being sent at this moment; look again in half a minute".to_owned(),
    })
}

/// Why a follow-up could not be finished.
pub fn follow_up_conflict(follow_up: &FollowUp, now: DateTime<Utc>) -> StoreError {
    let by = follow_up.done_by.as_deref().unwrap_or("somebody");
    let at = follow_up.done_at.map(|at| moment(at, now)).unwrap_or_default();
    StoreError::Conflict(format!("{by} finished this follow-up at {at}"))
}

/// Why a job could not be called off.
pub fn cancel_conflict(state: JobState) -> StoreError {
    let stands = match state {
        JobState::Waiting => "waits again",
        JobState::InProgress => "is in progress",
        JobState::Done => "is done",
        JobState::Dead => "is a dead letter",
        JobState::Dropped => "was dropped",
        JobState::Cancelled => "is cancelled already",
    };
    StoreError::Conflict(format!("the job {stands}; only a waiting job can be cancelled"))
}

/// Why a name cannot be given again.
pub fn name_conflict(what: &str, name: &str) -> StoreError {
    StoreError::Conflict(format!("there is already a {what} named {name}"))
}

/// Why a set-up secret was refused; the two cases are told apart by nobody but us.
pub fn setup_conflict() -> StoreError {
    StoreError::Conflict("this set-up link is not valid any more: it was used, replaced, or a user exists".to_owned())
}

/// Why a link to choose a password was refused; the cases are told apart by nobody but us.
pub fn link_conflict() -> StoreError {
    StoreError::Conflict("this link is not valid any more: it was used, replaced, or is too old".to_owned())
}

/// Why the last enabled admin stays what they are.
pub fn last_admin_conflict(name: &str) -> StoreError {
    StoreError::Conflict(format!(
        "{name} is the last admin who can sign in, so nothing was changed: make somebody else an admin first"
    ))
}

/// Why a password was not replaced.
pub fn password_conflict() -> StoreError {
    StoreError::Conflict("the password was changed meanwhile, so nothing was done: sign in again".to_owned())
}

/// The time of day, with the date when it was another day.
fn moment(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    if at.date_naive() == now.date_naive() { clock(at) } else { format!("{} {}", at.date_naive(), clock(at)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_moment_carries_its_date() {
        let at: DateTime<Utc> = "2026-07-02T14:02:11Z".parse().unwrap();
        assert_eq!(moment(at, at), "14:02:11 UTC");
        assert_eq!(moment(at, at + chrono::TimeDelta::days(1)), "2026-07-02 14:02:11 UTC");
    }
}
