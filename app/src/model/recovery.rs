//! What a person does to a dead letter, and what each act asks for.

use super::FieldError;
use super::ids::{DeadLetterId, JobId};
use super::job::{RawJson, ReplayMode};
use super::letter::DeadLetter;
use super::people::Role;
use super::text::MAX_PAYLOAD_BYTES;
use super::text::is_blank;
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

/// How long a taken letter stays with whoever took it, in seconds.
pub const TAKEN_SECONDS: i64 = 15 * 60;
/// Fewest and most parts of a split.
pub const SPLIT_PARTS: std::ops::RangeInclusive<usize> = 2..=100;
/// Days until a follow-up is due unless somebody says otherwise.
pub const FOLLOW_UP_DAYS: u64 = 7;

/// What a person does to a letter: six ways to resolve it, and who has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryAction {
    /// The input is fine: run it again.
    ApproveAndReplay,
    /// The input had a fault that a person can mend: run it mended.
    CorrectAndReplay,
    /// The input is several in one: run each.
    SplitAndReplay,
    /// It cannot be done: say so to whoever waits for it.
    CloseAndNotify,
    /// A rule has to change: leave that to somebody, by a date.
    PolicyUpdate,
    /// The input is bad: close the letter.
    RejectAndClose,
    /// Keep others away while one looks.
    Take,
    /// Give it back.
    Release,
}

impl RecoveryAction {
    /// All actions.
    pub const ALL: [Self; 8] = [
        Self::ApproveAndReplay,
        Self::CorrectAndReplay,
        Self::SplitAndReplay,
        Self::CloseAndNotify,
        Self::PolicyUpdate,
        Self::RejectAndClose,
        Self::Take,
        Self::Release,
    ];

    /// The actions that resolve a letter; workflows offer these.
    pub const RESOLVING: [Self; 6] = [
        Self::ApproveAndReplay,
        Self::CorrectAndReplay,
        Self::SplitAndReplay,
        Self::CloseAndNotify,
        Self::PolicyUpdate,
        Self::RejectAndClose,
    ];

    /// The word used in JSON, forms and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ApproveAndReplay => "approve_and_replay",
            Self::CorrectAndReplay => "correct_and_replay",
            Self::SplitAndReplay => "split_and_replay",
            Self::CloseAndNotify => "close_and_notify",
            Self::PolicyUpdate => "policy_update",
            Self::RejectAndClose => "reject_and_close",
            Self::Take => "take",
            Self::Release => "release",
        }
    }

    /// The action of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == word)
    }

    /// The button's text.
    pub fn label(self) -> &'static str {
        match self {
            Self::ApproveAndReplay => "Approve & replay",
            Self::CorrectAndReplay => "Correct & replay",
            Self::SplitAndReplay => "Split & replay",
            Self::CloseAndNotify => "Close & notify",
            Self::PolicyUpdate => "Policy update",
            Self::RejectAndClose => "Reject & close",
            Self::Take => "Take",
            Self::Release => "Release",
        }
    }

    /// What was done, after the name of who did it: `mila approved and replayed it`.
    pub fn past_tense(self) -> &'static str {
        match self {
            Self::ApproveAndReplay => "approved and replayed",
            Self::CorrectAndReplay => "corrected and replayed",
            Self::SplitAndReplay => "split and replayed",
            Self::CloseAndNotify => "closed, with a notice,",
            Self::PolicyUpdate => "closed, with a follow-up,",
            Self::RejectAndClose => "rejected and closed",
            Self::Take => "taken",
            Self::Release => "released",
        }
    }

    /// What the press will do, unless the workflow has its own words.
    pub fn consequence(self) -> &'static str {
        match self {
            Self::ApproveAndReplay => "A new job with the same payload and fresh attempts is due at once.",
            Self::CorrectAndReplay => "You edit the payload and see the difference; the original stays as it is.",
            Self::SplitAndReplay => "Each part becomes a job of its own; the letter shows how each ends.",
            Self::CloseAndNotify => "Closes the letter and puts a notice into the outbox; you see it first.",
            Self::PolicyUpdate => "Closes the letter and leaves a follow-up with an owner and a date.",
            Self::RejectAndClose => "Closes the letter for good. Nothing is run again.",
            Self::Take => "Nobody else acts on it for 15 min unless they take it over.",
            Self::Release => "Others may act on it again.",
        }
    }

    /// Who may, unless the workflow asks for more.
    pub fn role(self) -> Role {
        Role::Reviewer
    }

    /// Whether a note must say why: only where the step cannot be taken back.
    pub fn needs_note(self) -> bool {
        matches!(self, Self::RejectAndClose | Self::CloseAndNotify | Self::PolicyUpdate)
    }

    /// Whether the letter is resolved by it.
    pub fn resolves(self) -> bool {
        !matches!(self, Self::Take | Self::Release)
    }

    /// Whether it makes new jobs.
    pub fn replays(self) -> bool {
        matches!(self, Self::ApproveAndReplay | Self::CorrectAndReplay | Self::SplitAndReplay)
    }
}

/// One recovery option as a list or page offers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecoveryOption {
    /// The action.
    pub action: RecoveryAction,
    /// The button's text.
    pub label: &'static str,
    /// Who may.
    pub role: Role,
    /// Who is meant to, in the words of the workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// What the press will do.
    pub outcome: String,
}

/// A person's act on a letter.
#[derive(Debug, Clone, PartialEq)]
pub struct LetterAct {
    /// The letter.
    pub id: DeadLetterId,
    /// What to do.
    pub action: RecoveryAction,
    /// Why.
    pub note: Option<String>,
    /// How a replay runs.
    pub mode: ReplayMode,
    /// The corrected payload.
    pub payload: Option<RawJson>,
    /// The payloads of the parts.
    pub payloads: Option<Vec<RawJson>>,
    /// Who follows up; absent means whoever acts.
    pub owner: Option<String>,
    /// Until when; absent means in [`FOLLOW_UP_DAYS`].
    pub due: Option<NaiveDate>,
    /// The version the person saw.
    pub version: i64,
    /// What the person may do.
    pub role: Role,
    /// The same key with the same body gives the same answer, once.
    pub idempotency: Option<IdempotencyKey>,
}

impl LetterAct {
    /// An act without a note or anything else that only some actions take.
    pub fn new(id: DeadLetterId, action: RecoveryAction, version: i64, role: Role) -> Self {
        Self {
            id,
            action,
            note: None,
            mode: ReplayMode::Current,
            payload: None,
            payloads: None,
            owner: None,
            due: None,
            version,
            role,
            idempotency: None,
        }
    }

    /// What can be told without the letter.
    ///
    /// # Errors
    /// The first field that is missing, superfluous or too large.
    pub fn check(&self) -> Result<(), FieldError> {
        let action = self.action;
        if action.needs_note() && self.note.as_deref().is_none_or(is_blank) {
            return Err(FieldError::new("note", "must say why: this cannot be taken back"));
        }
        for (field, is_given, goes_with) in [
            ("payload", self.payload.is_some(), RecoveryAction::CorrectAndReplay),
            ("payloads", self.payloads.is_some(), RecoveryAction::SplitAndReplay),
            ("owner", self.owner.is_some(), RecoveryAction::PolicyUpdate),
            ("due", self.due.is_some(), RecoveryAction::PolicyUpdate),
        ] {
            if is_given && action != goes_with {
                return Err(FieldError::new(field, format!("goes with {} only", goes_with.as_str())));
            }
        }
        if self.mode == ReplayMode::Pinned && !action.replays() {
            return Err(FieldError::new("mode", "goes with a replay only"));
        }
        match action {
            RecoveryAction::CorrectAndReplay => match &self.payload {
                None => Err(FieldError::new("payload", "is required: the payload as it should have been")),
                Some(payload) => check_size("payload", payload),
            },
            RecoveryAction::SplitAndReplay => self.check_parts(),
            _ => Ok(()),
        }
    }

    fn check_parts(&self) -> Result<(), FieldError> {
        let parts = self.payloads.as_deref().unwrap_or_default();
        if !SPLIT_PARTS.contains(&parts.len()) {
            let (least, most) = (SPLIT_PARTS.start(), SPLIT_PARTS.end());
            let got = parts.len();
            return Err(FieldError::new("payloads", format!("must be {least} to {most} payloads, got {got}")));
        }
        parts.iter().enumerate().try_for_each(|(at, part)| check_size(&format!("payloads[{at}]"), part))
    }
}

fn check_size(field: &str, payload: &RawJson) -> Result<(), FieldError> {
    match payload.as_str().len() {
        n if n > MAX_PAYLOAD_BYTES => {
            Err(FieldError::new(field, format!("must be at most {MAX_PAYLOAD_BYTES} bytes (1 MiB), got {n}")))
        }
        _ => Ok(()),
    }
}

/// An `Idempotency-Key` with the hash of what came with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The key as sent, 1 to 200 characters.
    pub key: String,
    /// SHA-256 of letter, action and body, in hex.
    pub body_sha256: String,
}

/// What an act led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Acted {
    /// The letter afterwards.
    pub letter: DeadLetter,
    /// Jobs made by it.
    pub replay_job_ids: Vec<JobId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(action: RecoveryAction) -> LetterAct {
        LetterAct { note: Some("because".into()), ..LetterAct::new(DeadLetterId(1), action, 1, Role::Reviewer) }
    }

    fn json(text: &str) -> RawJson {
        RawJson::stored(text.to_owned())
    }

    #[test]
    fn what_cannot_be_taken_back_needs_a_note() {
        for action in RecoveryAction::ALL {
            let silent = LetterAct { note: Some(" \n\u{200b}".into()), ..act(action) };
            let is_note_missing = silent.check().is_err_and(|e| e.field == "note");
            assert_eq!(is_note_missing, action.needs_note(), "{action:?}");
        }
    }

    #[test]
    fn each_action_takes_its_own_fields_only() {
        let payload = Some(json("{}"));
        let corrected = LetterAct { payload: payload.clone(), ..act(RecoveryAction::CorrectAndReplay) };
        assert_eq!(corrected.check(), Ok(()));
        let refused = |act: LetterAct| act.check().unwrap_err().field;
        assert_eq!(refused(act(RecoveryAction::CorrectAndReplay)), "payload");
        assert_eq!(refused(LetterAct { payload, ..act(RecoveryAction::ApproveAndReplay) }), "payload");
        assert_eq!(refused(LetterAct { mode: ReplayMode::Pinned, ..act(RecoveryAction::RejectAndClose) }), "mode");
        assert_eq!(refused(LetterAct { owner: Some("x".into()), ..act(RecoveryAction::Take) }), "owner");
    }

    #[test]
    fn a_split_has_at_least_two_parts_and_each_fits() {
        let split = |parts: Vec<RawJson>| LetterAct { payloads: Some(parts), ..act(RecoveryAction::SplitAndReplay) };
        assert_eq!(split(vec![json("1"), json("2")]).check(), Ok(()));
        for parts in [vec![], vec![json("1")], vec![json("1"); 101]] {
            assert_eq!(split(parts).check().unwrap_err().field, "payloads");
        }
        let large = json(&format!("\"{}\"", "a".repeat(MAX_PAYLOAD_BYTES)));
        assert_eq!(split(vec![json("1"), large]).check().unwrap_err().field, "payloads[1]");
    }
}
