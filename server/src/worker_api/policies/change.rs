//! `PUT /policies/{kind}`: merges settings into a kind's policy; `null` takes
//! one back to its default. Answers with the whole policy.

use crate::state::AppState;
use crate::worker_api::body::{Incoming, MAX_SMALL_BYTES};
use crate::worker_api::caller::Caller;
use crate::worker_api::error::Answer;
use crate::worker_api::path::Segment;
use app::model::people::Scope;
use app::model::policy::{KindPolicy, checked_change};
use axum::Json;
use axum::extract::State;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::fmt;

/// Settings by name, each at most once: of two values for one setting, neither
/// is known to be meant.
#[derive(Debug, Clone, PartialEq)]
struct SettingsBody(Map<String, Value>);

impl<'de> Deserialize<'de> for SettingsBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EachOnce;

        impl<'de> Visitor<'de> for EachOnce {
            type Value = SettingsBody;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of settings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SettingsBody, A::Error> {
                let mut settings = Map::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if settings.contains_key(&name) {
                        return Err(A::Error::custom(format!("duplicate field `{name}`")));
                    }
                    settings.insert(name, value);
                }
                Ok(SettingsBody(settings))
            }
        }

        deserializer.deserialize_map(EachOnce)
    }
}

pub(in crate::worker_api) async fn change_policy(
    State(state): State<AppState>,
    caller: Caller,
    segment: Segment,
    incoming: Incoming,
) -> Answer<KindPolicy> {
    caller.require(Scope::Admin)?;
    let kind = segment.kind()?;
    let body: SettingsBody = incoming.json(MAX_SMALL_BYTES).await?;
    let change = checked_change(&body.0)?;
    Ok(Json(state.store.change_policy(&kind, &change, &caller.into_actor()).await?))
}
