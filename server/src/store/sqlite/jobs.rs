//! Lists of jobs, and one job whole.

use super::masking::list_related_payloads;
use super::{SqliteStore, Tx};
use crate::store::fault::Tried;
use crate::store::rows::{StoredAttempt, StoredJob, StoredJobDetail};
use app::model::ids::JobId;
use app::model::job::{JobDetail, JobFilter, JobPage, JobState};
use sqlx::QueryBuilder;

/// Most attempts that a page shows, the newest of them.
const ATTEMPTS_SHOWN: u32 = 1_000;

/// What tells which masked values an error in a list must not show.
macro_rules! masking_columns {
    () => {
        concat!(
            "CASE WHEN k.overrides LIKE '%\"masked_fields\"%' THEN k.overrides END AS overrides, \
             CASE WHEN k.overrides LIKE '%\"masked_fields\"%' THEN ",
            crate::store::rows::masking_payloads!("j"),
            " END AS masking"
        )
    };
}

/// The columns of a [`StoredJob`].
macro_rules! job_columns {
    () => {
        "j.id, j.kind, j.source, j.tenant, j.state, j.attempts, k.max_attempts, j.due_at, j.enqueued_at, \
         j.finished_at, j.worker, j.verdict, \
         (SELECT substr(a.error, 1, 200) FROM attempts a WHERE a.job_id = j.id AND a.error IS NOT NULL \
          ORDER BY a.attempt DESC LIMIT 1) AS last_error, l.id AS dead_letter_id, l.reason_code, l.field"
    };
}

impl SqliteStore {
    pub(super) async fn read_job_page(&self, filter: &JobFilter) -> Tried<JobPage> {
        let mut query = QueryBuilder::new(concat!(
            "SELECT ",
            job_columns!(),
            ", ",
            masking_columns!(),
            " FROM jobs j JOIN kinds k ON k.kind = j.kind LEFT JOIN dead_letters l ON l.job_id = j.id WHERE true"
        ));
        if let Some(kind) = &filter.kind {
            query.push(" AND j.kind = ").push_bind(kind);
        }
        if let Some(state) = filter.state {
            query.push(" AND j.state = ").push_bind(JobState::as_str(state));
        }
        if let Some(before) = filter.before {
            query.push(" AND j.id < ").push_bind(before.0);
        }
        // One more than asked for tells whether there is a next page.
        query.push(" ORDER BY j.id DESC LIMIT ").push_bind(i64::from(filter.limit) + 1);
        let mut tx = self.read().await?;
        let rows: Vec<StoredJob> = query.build_query_as().fetch_all(&mut *tx).await?;
        let as_of = tx.now;
        tx.commit().await?;
        let mut jobs = rows.into_iter().map(StoredJob::summary).collect::<Tried<Vec<_>>>()?;
        let has_more = jobs.len() > filter.limit as usize;
        jobs.truncate(filter.limit as usize);
        Ok(JobPage { next: jobs.last().map(|job| job.id).filter(|_| has_more), jobs, as_of })
    }

    pub(super) async fn read_job(&self, id: JobId) -> Tried<Option<JobDetail>> {
        let mut tx = self.read().await?;
        let row: Option<StoredJobDetail> = sqlx::query_as(concat!(
            "SELECT ",
            job_columns!(),
            ", j.payload, j.payload_ref, j.payload_sha256, j.received_at, j.upstream_handoffs, j.run_at, j.anchor_at, \
             j.unique_key, j.trace_id, j.canary_reason_code IS NOT NULL AS is_canary, j.replay_of, \
             j.reason, r.result, r.evidence, r.\"values\" AS field_values, r.source_text, r.envelope, r.shadow_misses \
             FROM jobs j JOIN kinds k ON k.kind = j.kind LEFT JOIN results r ON r.job_id = j.id \
             LEFT JOIN dead_letters l ON l.job_id = j.id WHERE j.id = ?1"
        ))
        .bind(id.0)
        .fetch_optional(&mut *tx)
        .await?;
        let Some(row) = row else {
            return Ok(None);
        };
        let attempts = list_attempts(&mut tx, id).await?;
        let related = list_related_payloads(&mut tx, id).await?;
        let as_of = tx.now;
        tx.commit().await?;
        Ok(Some(row.detail(attempts, related, as_of)?))
    }
}

/// The attempts of a job, oldest first.
pub(super) async fn list_attempts(tx: &mut Tx, id: JobId) -> Tried<Vec<StoredAttempt>> {
    let mut newest_first: Vec<StoredAttempt> = sqlx::query_as(
        "SELECT attempt, worker, claimed_at, ended_at, outcome, category, failure_reason, http_status, error_code,
           error, reason_code, next_run_at
         FROM attempts WHERE job_id = ?1 ORDER BY attempt DESC LIMIT ?2",
    )
    .bind(id.0)
    .bind(ATTEMPTS_SHOWN)
    .fetch_all(&mut **tx)
    .await?;
    newest_first.reverse();
    Ok(newest_first)
}
