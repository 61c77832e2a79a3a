//! `POST /dead-letters/{id}/actions`: does once what a person decided.

use crate::auth::secret::sha256_hex;
use crate::state::AppState;
use crate::worker_api::body::{Incoming, MAX_ACTION_BYTES};
use crate::worker_api::caller::Caller;
use crate::worker_api::checked::{self, Integer, WholeText};
use crate::worker_api::error::{Answer, ApiError};
use crate::worker_api::path::Segment;
use app::model::ids::{DeadLetterId, JobId};
use app::model::job::ReplayMode;
use app::model::letter::{DeadLetter, IdempotencyKey, LetterAct, RecoveryAction};
use app::model::name::Name;
use app::model::people::Scope;
use app::model::text::MAX_ERROR_BYTES;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};

/// The header whose value makes a repeated action give the same answer.
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// What to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionBody {
    /// Which recovery action.
    pub action: RecoveryAction,
    /// Why, up to 64 KiB; required where the action cannot be taken back.
    #[serde(
        default,
        deserialize_with = "checked::optional::<WholeText<MAX_ERROR_BYTES>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub note: Option<String>,
    /// How a replay runs; absent means `current`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ReplayMode>,
    /// The letter's version as it was seen.
    #[serde(deserialize_with = "checked::required::<Integer, _>")]
    pub version: i64,
}

/// What it led to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionAnswer {
    /// The letter afterwards.
    pub dead_letter: DeadLetter,
    /// Jobs made by it.
    pub replay_job_ids: Vec<JobId>,
}

impl ActionBody {
    fn into_act(self, id: DeadLetterId, key: Option<String>) -> Result<LetterAct, ApiError> {
        let is_replay = self.action == RecoveryAction::ApproveAndReplay;
        if self.mode.is_some() && !is_replay {
            return Err(ApiError::invalid("mode", "goes with a replay only"));
        }
        Ok(LetterAct {
            id,
            idempotency: key.map(|key| IdempotencyKey { key, body_sha256: self.sha256(id) }),
            action: self.action,
            note: self.note,
            mode: self.mode.unwrap_or(ReplayMode::Current),
            version: self.version,
        })
    }

    /// Of what is asked, not of its spelling: spaces and key order do not count.
    fn sha256(&self, id: DeadLetterId) -> String {
        let body = serde_json::to_string(self).expect("words, text and a number always serialise");
        sha256_hex(&format!("{id}\n{body}"))
    }
}

pub(in crate::worker_api) async fn act_on_dead_letter(
    State(state): State<AppState>,
    caller: Caller,
    segment: Segment,
    headers: HeaderMap,
    incoming: Incoming,
) -> Answer<ActionAnswer> {
    caller.require(Scope::Review)?;
    let id = segment.dead_letter()?;
    let key = idempotency_key(&headers)?;
    let body: ActionBody = incoming.json(MAX_ACTION_BYTES).await?;
    let act = match body.into_act(id, key) {
        Ok(act) => act,
        // That there is no such letter comes before what may be done to one.
        Err(_) if state.store.find_letter(id).await?.is_none() => return Err(ApiError::NotFound("dead letter")),
        Err(error) => return Err(error),
    };
    let acted = state.store.act(&act, &caller.into_actor()).await?;
    Ok(Json(ActionAnswer { dead_letter: acted.letter, replay_job_ids: acted.replay_job_ids }))
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(ApiError::invalid(IDEMPOTENCY_KEY, "is given twice"));
    }
    let text =
        std::str::from_utf8(value.as_bytes()).map_err(|_| ApiError::invalid(IDEMPOTENCY_KEY, "must be UTF-8 text"))?;
    Ok(Some(Name::new(IDEMPOTENCY_KEY, text)?.as_str().to_owned()))
}
