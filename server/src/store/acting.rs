//! What a person's act on a dead letter leads to, decided once for all databases.
//!
//! A store locks the letter, asks here, and writes what the plan says in the
//! same transaction. Nothing here touches a database.

use crate::store::conflict::{letter_conflict, taken_conflict};
use app::error::StoreError;
use app::model::FieldError;
use app::model::correction::{Hidden, holds_marker, stored_differences, with_masked_restored};
use app::model::cover::Cover;
use app::model::customer_notice::{CustomerNotice, of_letter};
use app::model::job::RawJson;
use app::model::json_tree::{JsonTree, Step};
use app::model::letter::{DeadLetter, LetterStatus};
use app::model::letter_policy::LetterPolicy;
use app::model::recovery::{FOLLOW_UP_DAYS, LetterAct, RecoveryAction, TAKEN_SECONDS};
use chrono::{DateTime, Days, NaiveDate, TimeDelta, Utc};
use std::borrow::Cow;

/// The letter under our lock, with what its job carries and what is in force.
#[derive(Debug, Clone)]
pub struct Held<'a> {
    /// The letter.
    pub letter: &'a DeadLetter,
    /// The parked job's input.
    pub payload: Option<&'a RawJson>,
    /// Payloads of other generations, whose masked values this one may name.
    pub related: &'a [RawJson],
    /// The kind's settings for letters.
    pub policy: &'a LetterPolicy,
    /// The database's clock since the lock is held.
    pub now: DateTime<Utc>,
    /// Who acts.
    pub by: &'a str,
}

/// How the letter's row changes.
#[derive(Debug, Clone, PartialEq)]
pub enum LetterChange {
    /// It is with whoever acts.
    Taken {
        /// Until then.
        until: DateTime<Utc>,
    },
    /// It is with nobody.
    Released,
    /// It is resolved.
    Resolved,
}

/// A job to be made from the parked one.
#[derive(Debug, Clone, PartialEq)]
pub struct NewReplay {
    /// Its input; absent means the parked job's own.
    pub payload: Option<RawJson>,
    /// Whether it takes over the unique key. One replay does, parts do not.
    pub inherits_key: bool,
}

/// A follow-up to be left.
#[derive(Debug, Clone, PartialEq)]
pub struct NewFollowUp {
    /// Who sees to it.
    pub owner: String,
    /// Until when.
    pub due: NaiveDate,
}

/// What is to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct ActPlan {
    /// How the letter's row changes.
    pub change: LetterChange,
    /// Jobs to be made.
    pub replays: Vec<NewReplay>,
    /// What a correction changed.
    pub difference: Option<RawJson>,
    /// The notice to be put into the outbox.
    pub notice: Option<CustomerNotice>,
    /// The follow-up to be left.
    pub follow_up: Option<NewFollowUp>,
}

impl ActPlan {
    fn of(change: LetterChange) -> Self {
        Self { change, replays: Vec::new(), difference: None, notice: None, follow_up: None }
    }
}

impl Held<'_> {
    /// What a page covers of this letter.
    fn cover(&self) -> Cover {
        let mut cover = Cover::of(self.payload, &self.policy.masked_fields);
        for related in self.related {
            cover.add(Some(related), &self.policy.masked_fields);
        }
        cover
    }
}

/// Plans an act on a letter.
///
/// # Errors
/// `Invalid` naming the field; `Conflict` when the letter was resolved or
/// changed meanwhile, somebody else has it, or its workflow does not offer the
/// action (any more); `Forbidden` when the workflow asks for a higher role.
pub fn plan_act(held: &Held<'_>, act: &LetterAct) -> Result<ActPlan, StoreError> {
    let letter = held.letter;
    if letter.status == LetterStatus::Resolved || letter.version != act.version {
        return Err(letter_conflict(letter, act.version, held.now));
    }
    act.check()?;
    match act.action {
        RecoveryAction::Take => {
            return Ok(ActPlan::of(LetterChange::Taken { until: held.now + TimeDelta::seconds(TAKEN_SECONDS) }));
        }
        RecoveryAction::Release => return plan_release(held),
        _ => {}
    }
    if let Some(taken) = letter.taken.as_ref().filter(|taken| taken.by != held.by) {
        return Err(taken_conflict(taken, held.now));
    }
    check_offer(letter, act)?;
    let mut plan = ActPlan::of(LetterChange::Resolved);
    match act.action {
        RecoveryAction::ApproveAndReplay => plan.replays.push(NewReplay { payload: None, inherits_key: true }),
        RecoveryAction::CorrectAndReplay => correct(held, act, &mut plan)?,
        RecoveryAction::SplitAndReplay => split(held, act, &mut plan)?,
        RecoveryAction::CloseAndNotify => plan.notice = Some(notice(held)?),
        RecoveryAction::PolicyUpdate => plan.follow_up = Some(follow_up(held, act)?),
        RecoveryAction::RejectAndClose | RecoveryAction::Take | RecoveryAction::Release => {}
    }
    Ok(plan)
}

/// The act as it is written down: history and audit are read by people who may
/// not see what is masked, and what was masked can be revealed in the payload.
pub fn written<'a>(held: &Held<'_>, act: &'a LetterAct, plan: &mut ActPlan) -> Cow<'a, LetterAct> {
    let fields = &held.policy.masked_fields;
    let mut cover = held.cover();
    for replay in &plan.replays {
        cover.add(replay.payload.as_ref(), fields);
    }
    // With too much to look for the note would be lost whole.
    if cover.is_empty() || cover.hides_all() || act.note.is_none() {
        return Cow::Borrowed(act);
    }
    if let Some(follow_up) = &mut plan.follow_up {
        follow_up.owner = cover.text(&follow_up.owner);
    }
    let mut covered = LetterAct { payload: None, payloads: None, ..act.clone() };
    cover.put_on(&mut covered.note);
    cover.put_on(&mut covered.owner);
    Cow::Owned(covered)
}

/// Only whoever has it gives it back; anybody may take it over instead.
fn plan_release(held: &Held<'_>) -> Result<ActPlan, StoreError> {
    match &held.letter.taken {
        None => Err(StoreError::Conflict("nobody has this dead letter, so there is nothing to release".to_owned())),
        Some(taken) if taken.by != held.by => Err(taken_conflict(taken, held.now)),
        Some(_) => Ok(ActPlan::of(LetterChange::Released)),
    }
}

/// What the workflow in force offers may have changed since the page was made.
fn check_offer(letter: &DeadLetter, act: &LetterAct) -> Result<(), StoreError> {
    let label = act.action.label();
    match letter.recovery_options.iter().find(|option| option.action == act.action) {
        None => Err(StoreError::Conflict(format!(
            "the workflow of this kind does not offer “{label}” for this dead letter (any more); look at it again"
        ))),
        Some(option) if option.role > act.role => Err(StoreError::Forbidden(format!(
            "the workflow of this kind asks for the role {} for “{label}”",
            option.role.as_str()
        ))),
        Some(_) => Ok(()),
    }
}

fn correct(held: &Held<'_>, act: &LetterAct, plan: &mut ActPlan) -> Result<(), StoreError> {
    let Some(payload) = &act.payload else { return Ok(()) };
    // A job without a payload (it lies elsewhere) is corrected from nothing.
    let original = held.payload.map_or(JsonTree::Object(Vec::new()), JsonTree::of);
    let masks = held.policy.masks();
    let is_masked = |place: &[Step]| masks.iter().any(|field| field.is_at(place));
    let mut cover = held.cover();
    let corrected = with_masked_restored(&original, payload, &Hidden { is_masked: &is_masked, cover: &cover })?;
    if corrected == original {
        return Err(
            FieldError::new("payload", "is the same as before: approve the dead letter to run it unchanged").into()
        );
    }
    let payload = corrected.to_json();
    cover.add(Some(&payload), &held.policy.masked_fields);
    let hidden = Hidden { is_masked: &is_masked, cover: &cover };
    plan.difference = Some(stored_differences(&original, &corrected, &hidden));
    plan.replays.push(NewReplay { payload: Some(payload), inherits_key: true });
    Ok(())
}

/// Which hidden value belongs into which part cannot be told, so a part says it
/// itself or does without.
fn split(held: &Held<'_>, act: &LetterAct, plan: &mut ActPlan) -> Result<(), FieldError> {
    for (at, part) in act.payloads.iter().flatten().enumerate() {
        if !held.policy.masked_fields.is_empty() && holds_marker(&JsonTree::of(part)) {
            return Err(FieldError::new(
                format!("payloads[{at}]"),
                "holds the marker of a hidden value: write the value itself, or leave the field out",
            ));
        }
        plan.replays.push(NewReplay { payload: Some(part.clone()), inherits_key: false });
    }
    Ok(())
}

/// The notice that closing the letter would send.
///
/// # Errors
/// The payload declares no recipient, or several.
pub fn notice(held: &Held<'_>) -> Result<CustomerNotice, FieldError> {
    of_letter(held.letter, held.payload, held.policy)
}

fn follow_up(held: &Held<'_>, act: &LetterAct) -> Result<NewFollowUp, FieldError> {
    let today = held.now.date_naive();
    let due = act.due.unwrap_or_else(|| today.checked_add_days(Days::new(FOLLOW_UP_DAYS)).unwrap_or(today));
    if due < today {
        return Err(FieldError::new("due", format!("must not lie in the past: today is {today} (UTC)")));
    }
    Ok(NewFollowUp { owner: act.owner.clone().unwrap_or_else(|| held.by.to_owned()), due })
}

/// The idempotency key came before, with something else.
pub fn other_request() -> FieldError {
    FieldError::new("Idempotency-Key", "was already used with another request")
}
