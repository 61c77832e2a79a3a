//! `POST /jobs`: stores all jobs or none.

use crate::state::AppState;
use crate::worker_api::body::{Incoming, MAX_ENQUEUE_BYTES};
use crate::worker_api::caller::Caller;
use crate::worker_api::checked::{self, Fields, JsonList, List, NameText, Payload, Sha256Hex, Text, Time, Whole};
use crate::worker_api::error::Answer;
use app::error::StoreError;
use app::model::canary::check_code;
use app::model::job::{Canary, EnqueuedJob, MAX_BATCH, NewJob, RawJson};
use app::model::name::Name;
use app::model::people::Scope;
use app::model::policy::Policy;
use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Jobs to store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnqueueBody {
    /// 1 to 10,000 of them.
    #[serde(deserialize_with = "checked::required::<List<Fields<JobBody>, MAX_BATCH>, _>")]
    pub jobs: Vec<JobBody>,
}

/// One job to store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobBody {
    /// What is to be done.
    #[serde(deserialize_with = "checked::required::<NameText, _>")]
    pub kind: Name,
    /// Where the input came from.
    #[serde(deserialize_with = "checked::required::<NameText, _>")]
    pub source: Name,
    /// For whom.
    #[serde(default, deserialize_with = "checked::optional::<NameText, _>", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Name>,
    /// The input, any JSON up to 1 MiB; kept as it was written.
    #[serde(default, deserialize_with = "checked::optional::<Payload, _>", skip_serializing_if = "Option::is_none")]
    pub payload: Option<RawJson>,
    /// Where larger input lies, up to 2,000 characters.
    #[serde(
        default,
        deserialize_with = "checked::optional::<Text<1, 2_000>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub payload_ref: Option<String>,
    /// Hash of the input, in hex.
    #[serde(default, deserialize_with = "checked::optional::<Sha256Hex, _>", skip_serializing_if = "Option::is_none")]
    pub payload_sha256: Option<String>,
    /// When the input arrived at the source.
    #[serde(default, deserialize_with = "checked::optional::<Time, _>", skip_serializing_if = "Option::is_none")]
    pub received_at: Option<DateTime<Utc>>,
    /// What earlier agents did to the input: a list, up to 1 MiB.
    #[serde(default, deserialize_with = "checked::optional::<JsonList, _>", skip_serializing_if = "Option::is_none")]
    pub upstream_handoffs: Option<RawJson>,
    /// Not before then; absent means now.
    #[serde(default, deserialize_with = "checked::optional::<Time, _>", skip_serializing_if = "Option::is_none")]
    pub run_at: Option<DateTime<Utc>>,
    /// Width of a uniform random delay, up to ten years; absent means the kind's.
    #[serde(
        default,
        deserialize_with = "checked::optional::<Whole<0, 315_360_000>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub spread_seconds: Option<u32>,
    /// Held per kind until the job ended, 1 to 200 characters.
    #[serde(
        default,
        deserialize_with = "checked::optional::<Text<1, 200>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub unique_key: Option<String>,
    /// Where the cutoff counts from; absent means when it first became due.
    #[serde(default, deserialize_with = "checked::optional::<Time, _>", skip_serializing_if = "Option::is_none")]
    pub anchor_at: Option<DateTime<Utc>>,
    /// Set for a canary.
    #[serde(
        default,
        deserialize_with = "checked::optional::<Fields<CanaryBody>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub canary: Option<CanaryBody>,
    /// The trace this job belongs to, 1 to 200 characters.
    #[serde(
        default,
        deserialize_with = "checked::optional::<Text<1, 200>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub trace_id: Option<String>,
}

/// What a known-bad input must be refused with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CanaryBody {
    /// Expected reason code.
    #[serde(deserialize_with = "checked::required::<Text<1, 200>, _>")]
    pub reason_code: String,
    /// Expected field.
    #[serde(
        default,
        deserialize_with = "checked::optional::<Text<1, 200>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub field: Option<String>,
}

/// What became of the jobs, in the order asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnqueueAnswer {
    /// One per job.
    pub jobs: Vec<EnqueuedJob>,
    /// What a person should know about the batch; empty if all is well.
    pub warnings: Vec<String>,
}

impl JobBody {
    /// A job of that kind and source, with nothing else said.
    pub fn new(kind: Name, source: Name) -> Self {
        Self {
            kind,
            source,
            tenant: None,
            payload: None,
            payload_ref: None,
            payload_sha256: None,
            received_at: None,
            upstream_handoffs: None,
            run_at: None,
            spread_seconds: None,
            unique_key: None,
            anchor_at: None,
            canary: None,
            trace_id: None,
        }
    }

    fn into_job(self) -> NewJob {
        NewJob {
            kind: self.kind,
            source: self.source,
            tenant: self.tenant,
            payload: self.payload,
            payload_ref: self.payload_ref,
            payload_sha256: self.payload_sha256,
            received_at: self.received_at,
            upstream_handoffs: self.upstream_handoffs,
            run_at: self.run_at,
            spread_seconds: self.spread_seconds,
            unique_key: self.unique_key,
            anchor_at: self.anchor_at,
            canary: self.canary.map(|canary| Canary { reason_code: canary.reason_code, field: canary.field }),
            trace_id: self.trace_id,
        }
    }
}

pub(in crate::worker_api) async fn enqueue_jobs(
    State(state): State<AppState>,
    caller: Caller,
    incoming: Incoming,
) -> Answer<EnqueueAnswer> {
    caller.require(Scope::Enqueue)?;
    let body: EnqueueBody = incoming.json(MAX_ENQUEUE_BYTES).await?;
    let jobs: Vec<NewJob> = body.jobs.into_iter().map(JobBody::into_job).collect();
    check_canaries(&state, &jobs).await?;
    let jobs = state.store.enqueue(&jobs).await?;
    Ok(Json(EnqueueAnswer { jobs, warnings: Vec::new() }))
}

/// A canary that expects a code which its kind cannot give would never pass.
async fn check_canaries(state: &AppState, jobs: &[NewJob]) -> Result<(), StoreError> {
    let mut codes_of: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (at, job) in jobs.iter().enumerate() {
        let Some(canary) = &job.canary else { continue };
        if !codes_of.contains_key(job.kind.as_str()) {
            let policy = state.store.find_policy(job.kind.as_str()).await?;
            codes_of
                .insert(job.kind.as_str(), policy.map_or_else(|| Policy::default().reason_codes, |p| p.reason_codes()));
        }
        check_code(&canary.reason_code, &codes_of[job.kind.as_str()])
            .map_err(|error| error.within(&format!("jobs[{at}].canary")))?;
    }
    Ok(())
}
