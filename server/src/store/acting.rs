//! Rules of acting on a dead letter that need no database.

use app::model::FieldError;
use app::model::letter::LetterAct;

/// What cannot be taken back must say why.
///
/// # Errors
/// A missing or blank note where the action needs one.
pub fn check_note(act: &LetterAct) -> Result<(), FieldError> {
    let is_blank = act.note.as_deref().is_none_or(|note| note.trim().is_empty());
    if act.action.needs_note() && is_blank {
        return Err(FieldError::new("note", "must say why: this cannot be taken back"));
    }
    Ok(())
}

/// The idempotency key came before, with something else.
pub fn other_request() -> FieldError {
    FieldError::new("Idempotency-Key", "was already used with another request")
}
