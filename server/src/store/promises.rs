//! Rows of what a closed letter leaves to be done, its notice and its follow-up,
//! as both databases return them. Nothing here runs a query.

use crate::store::rows::narrow;
use crate::store::time::{At, time};
use app::model::customer_notice::CustomerNotice;
use app::model::follow_up::FollowUp;
use app::model::ids::{DeadLetterId, FollowUpId, NoticeId};
use app::model::outbox::OutboxNotice;
use chrono::NaiveDate;
use sqlx::FromRow;

/// The columns of a [`StoredNotice`].
macro_rules! notice_columns {
    () => {
        "id, dead_letter_id, recipient, subject, body, next_action, when_text, made_by, at, sent_at, sent_by, sent_note, \
         tries, next_try_at, failed_at, last_error"
    };
}

/// The columns of a [`StoredFollowUp`].
macro_rules! follow_up_columns {
    () => {
        "id, dead_letter_id, kind, what, owner, due, made_by, at, done_at, done_by, done_note"
    };
}

pub(in crate::store) use {follow_up_columns, notice_columns};

/// A notice in the outbox.
#[derive(Debug, FromRow)]
pub struct StoredNotice {
    pub(super) id: i64,
    pub(super) dead_letter_id: i64,
    pub(super) recipient: String,
    pub(super) subject: String,
    pub(super) body: String,
    pub(super) next_action: String,
    pub(super) when_text: String,
    pub(super) made_by: String,
    pub(super) at: At,
    pub(super) sent_at: Option<At>,
    pub(super) sent_by: Option<String>,
    pub(super) sent_note: Option<String>,
    pub(super) tries: i64,
    pub(super) next_try_at: Option<At>,
    pub(super) failed_at: Option<At>,
    pub(super) last_error: Option<String>,
}

impl StoredNotice {
    /// The notice.
    pub fn notice(self) -> OutboxNotice {
        OutboxNotice {
            id: NoticeId(self.id),
            dead_letter_id: DeadLetterId(self.dead_letter_id),
            notice: CustomerNotice {
                recipient: self.recipient,
                subject: self.subject,
                body: self.body,
                next_action: self.next_action,
                when: self.when_text,
            },
            by: self.made_by,
            at: self.at.0,
            sent_at: time(self.sent_at),
            sent_by: self.sent_by,
            sent_note: self.sent_note,
            tries: narrow(self.tries),
            next_try_at: time(self.next_try_at),
            failed_at: time(self.failed_at),
            last_error: self.last_error,
        }
    }
}

/// A follow-up.
#[derive(Debug, FromRow)]
pub struct StoredFollowUp {
    pub(super) id: i64,
    pub(super) dead_letter_id: i64,
    pub(super) kind: String,
    pub(super) what: String,
    pub(super) owner: String,
    pub(super) due: NaiveDate,
    pub(super) made_by: String,
    pub(super) at: At,
    pub(super) done_at: Option<At>,
    pub(super) done_by: Option<String>,
    pub(super) done_note: Option<String>,
}

impl StoredFollowUp {
    /// The follow-up.
    pub fn follow_up(self) -> FollowUp {
        FollowUp {
            id: FollowUpId(self.id),
            dead_letter_id: DeadLetterId(self.dead_letter_id),
            kind: self.kind,
            text: self.what,
            owner: self.owner,
            due: self.due,
            by: self.made_by,
            at: self.at.0,
            done_at: time(self.done_at),
            done_by: self.done_by,
            done_note: self.done_note,
        }
    }
}
