//! Rows of canaries and of their runs, the same whatever the database.

use crate::store::fault::Tried;
use crate::store::time::At;
use app::error::StoreError;
use app::model::canary::{CanaryInput, CanaryRun, RunCause, RunResult, SavedCanary, Waiting};
use app::model::ids::{CanaryId, JobId};
use app::model::job::RawJson;
use app::model::name::Name;
use sqlx::FromRow;

/// The columns of a [`StoredRun`], of `canary_runs r`.
macro_rules! run_columns {
    () => {
        "r.id AS run_id, r.canary_id, r.job_id, r.kind AS run_kind, r.reason_code AS run_code, r.field AS run_field, \
         r.cause, r.started_by, r.started_at, r.ended_at, r.result, r.said, r.cleared_at, r.cleared_by"
    };
}
pub(super) use run_columns;

/// Columns and tables of a [`StoredCanary`].
macro_rules! canary_columns {
    () => {
        "c.id, c.name, c.kind, c.source, c.payload, c.reason_code, c.field, c.every_seconds, c.enabled, c.created_at, \
         c.created_by, r.id AS run_id, r.canary_id, r.job_id, r.kind AS run_kind, r.reason_code AS run_code, \
         r.field AS run_field, r.cause, r.started_by, r.started_at, r.ended_at, r.result, r.said, r.cleared_at, \
         r.cleared_by FROM canaries c LEFT JOIN canary_runs r \
             ON r.id = (SELECT max(x.id) FROM canary_runs x WHERE x.canary_id = c.id)"
    };
}
pub(super) use canary_columns;

/// A run as its row has it; all absent where there is none.
#[derive(Debug, FromRow)]
pub struct StoredRun {
    run_id: Option<i64>,
    canary_id: Option<i64>,
    job_id: Option<i64>,
    run_kind: Option<String>,
    run_code: Option<String>,
    run_field: Option<String>,
    cause: Option<String>,
    started_by: Option<String>,
    started_at: Option<At>,
    ended_at: Option<At>,
    result: Option<String>,
    said: Option<String>,
    cleared_at: Option<At>,
    cleared_by: Option<String>,
}

fn odd(what: &str) -> StoreError {
    StoreError::Internal(format!("a run of a canary has no {what} that is known"))
}

impl StoredRun {
    /// The run that there is.
    pub fn run(self) -> Tried<CanaryRun> {
        let result = self.result.as_deref().map(|word| RunResult::from_word(word).ok_or_else(|| odd("result")));
        Ok(CanaryRun {
            id: self.run_id.ok_or_else(|| odd("id"))?,
            canary_id: self.canary_id.map(CanaryId),
            job_id: JobId(self.job_id.ok_or_else(|| odd("job"))?),
            kind: self.run_kind.unwrap_or_default(),
            reason_code: self.run_code.unwrap_or_default(),
            field: self.run_field,
            cause: self.cause.as_deref().and_then(RunCause::from_word).ok_or_else(|| odd("cause"))?,
            started_by: self.started_by,
            started_at: self.started_at.ok_or_else(|| odd("start"))?.0,
            ended: self.ended_at.map(|At(at)| at).zip(result.transpose()?),
            said: self.said,
            cleared: self.cleared_at.map(|At(at)| (at, self.cleared_by.unwrap_or_default())),
        })
    }
}

/// A canary with its last run.
#[derive(Debug, FromRow)]
pub struct StoredCanary {
    id: i64,
    name: String,
    kind: String,
    source: String,
    payload: String,
    reason_code: String,
    field: Option<String>,
    every_seconds: Option<i64>,
    enabled: bool,
    created_at: At,
    created_by: String,
    #[sqlx(flatten)]
    last_run: StoredRun,
}

impl StoredCanary {
    /// The canary.
    pub fn canary(self) -> Tried<SavedCanary> {
        Ok(SavedCanary {
            id: CanaryId(self.id),
            input: CanaryInput {
                name: Name::stored(self.name),
                kind: Name::stored(self.kind),
                source: Name::stored(self.source),
                payload: RawJson::stored(self.payload),
                reason_code: self.reason_code,
                field: self.field,
                every_seconds: self.every_seconds.and_then(|seconds| u32::try_from(seconds).ok()),
                enabled: self.enabled,
            },
            created_at: self.created_at.0,
            created_by: self.created_by,
            last_run: self.last_run.run_id.is_some().then(|| self.last_run.run()).transpose()?,
        })
    }
}

/// What decides whether a canary runs now.
#[derive(Debug, FromRow)]
pub struct StoredWaiting {
    /// The canary.
    pub id: i64,
    every_seconds: Option<i64>,
    created_at: At,
    /// When it last started.
    pub last_started_at: Option<At>,
    changed_at: Option<At>,
    change: Option<String>,
}

impl StoredWaiting {
    /// As the rule wants it.
    pub fn waiting(&self) -> Tried<Waiting> {
        let cause = self.change.as_deref().and_then(RunCause::from_word);
        Ok(Waiting {
            every_seconds: self.every_seconds,
            created_at: self.created_at.0,
            last_started_at: self.last_started_at.map(|At(at)| at),
            changed: self.changed_at.map(|At(at)| at).zip(cause),
        })
    }
}
