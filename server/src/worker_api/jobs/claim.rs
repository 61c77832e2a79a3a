//! `POST /claim`: a worker takes due jobs.

use crate::state::AppState;
use crate::worker_api::body::{Incoming, MAX_SMALL_BYTES};
use crate::worker_api::caller::Caller;
use crate::worker_api::checked::{self, List, NameText, Rule, Whole};
use crate::worker_api::error::{Answer, ApiError};
use app::model::job::{Accepts, ClaimRequest, ClaimedJob, MAX_CLAIM};
use app::model::name::Name;
use app::model::people::Scope;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Deserializer, Serialize};
use tokio::sync::Semaphore;

/// Jobs handed out unless the worker says otherwise.
const DEFAULT_LIMIT: u32 = 10;

/// A worker asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimBody {
    /// Its name.
    #[serde(deserialize_with = "checked::required::<NameText, _>")]
    pub worker: Name,
    /// Kinds it takes, 1 to 1,000; absent means all.
    #[serde(
        default,
        deserialize_with = "checked::optional::<List<NameText, 1_000>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub kinds: Option<Vec<Name>>,
    /// At most so many jobs, 1 to 500; absent means 10.
    #[serde(
        default,
        deserialize_with = "checked::optional::<Whole<1, MAX_CLAIM>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub limit: Option<u32>,
    /// A shorter lease than the policy's.
    #[serde(
        default,
        deserialize_with = "checked::optional::<Whole<1, { u32::MAX }>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub lease_seconds: Option<u32>,
    /// Special work it takes: `canary`, `pinned`.
    #[serde(
        default,
        deserialize_with = "checked::optional::<AcceptsRule, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub accepts: Option<Vec<Special>>,
}

/// Work that only workers get who say that they can take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Special {
    /// A known-bad input that must be refused.
    Canary,
    /// A replay whose result must not be written as real.
    Pinned,
}

struct AcceptsRule;

impl Rule for AcceptsRule {
    type Value = Vec<Special>;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Special>, D::Error> {
        Vec::deserialize(deserializer)
    }
}

/// Jobs handed out, oldest due first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimAnswer {
    /// Empty if nothing is due.
    pub jobs: Vec<ClaimedJob>,
}

impl ClaimBody {
    fn into_request(self) -> ClaimRequest {
        let accepts = self.accepts.unwrap_or_default();
        ClaimRequest {
            worker: self.worker,
            kinds: self.kinds.map(|mut kinds| {
                kinds.sort_unstable();
                kinds.dedup();
                kinds
            }),
            limit: self.limit.unwrap_or(DEFAULT_LIMIT),
            lease_seconds: self.lease_seconds,
            accepts: Accepts { canary: accepts.contains(&Special::Canary), pinned: accepts.contains(&Special::Pinned) },
        }
    }
}

pub(in crate::worker_api) async fn claim_jobs(
    State(state): State<AppState>,
    caller: Result<Caller, ApiError>,
    incoming: Incoming,
) -> Answer<ClaimAnswer> {
    let caller = match caller {
        Ok(caller) => caller,
        Err(error) => return Err(refused_poll(&state, error).await),
    };
    caller.require(Scope::Work)?;
    let body: ClaimBody = incoming.json(MAX_SMALL_BYTES).await?;
    let jobs = state.store.claim(&body.into_request()).await?;
    Ok(Json(ClaimAnswer { jobs }))
}

/// Workers whose token is refused look like workers that are gone: it is counted,
/// so that the verdict can say so. One at a time, the rest of a flood uncounted,
/// because anybody can call this. That the counting failed is no answer to them.
async fn refused_poll(state: &AppState, error: ApiError) -> ApiError {
    static COUNTING: Semaphore = Semaphore::const_new(1);
    if error == ApiError::Unauthenticated
        && let Ok(_permit) = COUNTING.try_acquire()
        && let Err(cause) = state.store.record_refused_poll().await
    {
        tracing::warn!(%cause, "a refused poll was not counted");
    }
    error
}
