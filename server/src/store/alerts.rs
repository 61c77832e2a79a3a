//! Alerts: what the rules judge, what they found, what people know of. Written
//! once; each database compiles it as a module of its own, with its transaction
//! and clock.

use super::alert_deliveries::{self, insert_change};
use super::audit::audit;
use super::park_days::{self, day_of, number_of};
use super::{Db, TheStore, Tx};
use crate::store::alert_rows::{StoredAlert, alert_columns};
use crate::store::audit::Entry;
use crate::store::fault::Tried;
use crate::store::time::{At, time};
use app::error::StoreError;
use app::model::FieldError;
use app::model::alert::{Alert, AlertChange, AlertPage, HeldChange, PinnedBaseline, acknowledged_until};
use app::model::alerting::baseline::{BASELINE_DAYS, Baseline, days_in_alarm, window_from};
use app::model::alerting::refusals::RefusalLimits;
use app::model::alerting::watch::{AlertInput, Open, SourceDays, WatchedKind};
use app::model::alerting::{Finding, Followed, Level, OpenAlert, Standing, follow};
use app::model::canary::{RunResult, is_overdue};
use app::model::delivery::TryOutcome;
use app::model::ids::AlertId;
use app::model::people::Actor;
use app::model::policy::{Overrides, Policy};
use app::store::{AlertStore, Stored};
use async_trait::async_trait;
use chrono::{DateTime, Days, NaiveDate, TimeDelta, Utc};
use sqlx::QueryBuilder;

/// Open alerts that a page shows.
const OPEN_SHOWN: i64 = 500;
/// Past alerts whose days are looked at.
const PAST_LOOKED_AT: i64 = 10_000;

#[async_trait]
impl AlertStore for TheStore {
    async fn fold_park_days(&self) -> Stored<u64> {
        self.pages_answer(park_days::fold(self)).await
    }

    async fn read_alert_input(&self) -> Stored<AlertInput> {
        self.pages_answer(read_input(self)).await
    }

    async fn keep_findings(&self, findings: &[Finding]) -> Stored<u64> {
        self.pages_answer(keep(self, findings)).await
    }

    async fn list_alerts(&self, before: Option<AlertId>, limit: u32) -> Stored<AlertPage> {
        self.pages_answer(list(self, before, limit)).await
    }

    async fn acknowledge_alert(&self, id: AlertId, hours: i64, note: Option<&str>, actor: &Actor) -> Stored<()> {
        self.pages_answer(acknowledge(self, id, hours, note, actor)).await
    }

    async fn pin_baseline(&self, source: &str, days: Option<(NaiveDate, NaiveDate)>, actor: &Actor) -> Stored<()> {
        self.pages_answer(pin(self, source, days, actor)).await
    }

    async fn hold_changes(&self, limit: u32) -> Stored<Vec<HeldChange>> {
        self.pages_answer(alert_deliveries::hold(self, limit)).await
    }

    async fn keep_change_try(&self, held: &HeldChange, outcome: &TryOutcome) -> Stored<()> {
        self.pages_answer(alert_deliveries::keep(self, held, outcome)).await
    }
}

async fn read_input(store: &TheStore) -> Tried<AlertInput> {
    let (mut tx, now) = store.read_page().await?;
    let pinned = list_pinned(&mut tx).await?;
    let usual = window_from(now).checked_sub_days(Days::new(BASELINE_DAYS)).unwrap_or_default();
    let from = pinned.iter().map(|pin| pin.from).chain([usual]).min().unwrap_or(usual);
    let open = list_open(&mut tx).await?;
    let input = AlertInput {
        as_of: now,
        days: park_days::list(&mut tx, from, now).await?,
        in_alarm: list_in_alarm(&mut tx, from, now).await?,
        pinned: pinned.into_iter().map(|pin| SourceDays { source: pin.source, from: pin.from, to: pin.to }).collect(),
        open: open
            .into_iter()
            .map(|alert| Open {
                rule: alert.rule,
                source: alert.source,
                reason_code: alert.reason_code,
                baseline: alert.baseline,
            })
            .collect(),
        kinds: list_kinds(&mut tx).await?,
        letters_last_hour: count_letters(&mut tx, now).await?,
        oldest_letter_seconds: find_oldest_letter(&mut tx, now).await?,
        late_answers_last_hour: sqlx::query_scalar("SELECT count(*) FROM late_answers WHERE at > $1")
            .bind(At(now - TimeDelta::hours(1)))
            .fetch_one(&mut *tx)
            .await?,
        canaries_written: count_written(&mut tx).await?,
        canaries_overdue: count_overdue(&mut tx, now).await?,
    };
    tx.commit().await?;
    Ok(input)
}

async fn count_letters(tx: &mut Tx, now: DateTime<Utc>) -> Tried<i64> {
    Ok(sqlx::query_scalar("SELECT count(*) FROM dead_letters WHERE dead_lettered_at > $1 AND is_canary = false")
        .bind(At(now - TimeDelta::hours(1)))
        .fetch_one(&mut **tx)
        .await?)
}

/// The one that was parked first: ids grow with time.
async fn find_oldest_letter(tx: &mut Tx, now: DateTime<Utc>) -> Tried<Option<i64>> {
    let at: Option<At> = sqlx::query_scalar(
        "SELECT dead_lettered_at FROM dead_letters WHERE status <> 'resolved' AND is_canary = false ORDER BY id LIMIT 1",
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(at.map(|At(at)| (now - at).num_seconds()))
}

async fn count_written(tx: &mut Tx) -> Tried<(i64, Option<String>)> {
    Ok(sqlx::query_as(
        "SELECT count(*), (SELECT kind FROM canary_runs WHERE result = 'done' AND cleared_at IS NULL \
             ORDER BY id DESC LIMIT 1) FROM canary_runs WHERE result = 'done' AND cleared_at IS NULL",
    )
    .fetch_one(&mut **tx)
    .await?)
}

async fn count_overdue(tx: &mut Tx, now: DateTime<Utc>) -> Tried<i64> {
    let rows: Vec<(i64, At, Option<At>, Option<String>)> = sqlx::query_as(
        "SELECT c.every_seconds, c.created_at, r.started_at, r.result FROM canaries c LEFT JOIN canary_runs r \
             ON r.id = (SELECT max(x.id) FROM canary_runs x WHERE x.canary_id = c.id) \
         WHERE c.enabled = true AND c.every_seconds IS NOT NULL",
    )
    .fetch_all(&mut **tx)
    .await?;
    let overdue = rows.into_iter().filter(|(every, At(created_at), started_at, result)| {
        let last = started_at.as_ref().map(|At(at)| (*at, result.as_deref().and_then(RunResult::from_word)));
        is_overdue(*every, *created_at, last, now)
    });
    Ok(i64::try_from(overdue.count()).unwrap_or(i64::MAX))
}

async fn list_kinds(tx: &mut Tx) -> Tried<Vec<WatchedKind>> {
    let rows: Vec<(String, String, Option<At>, Option<String>)> = sqlx::query_as(
        "SELECT k.kind, k.overrides, m.changed_at, m.change FROM kinds k LEFT JOIN last_models m ON m.kind = k.kind",
    )
    .fetch_all(&mut **tx)
    .await?;
    let watched = |(kind, overrides, changed_at, change): (String, String, Option<At>, Option<String>)| {
        let policy = Policy::effective(&serde_json::from_str::<Overrides>(&overrides)?);
        let what = match change.as_deref() {
            Some("model_change") => "the model",
            _ => "the prompt or the tools",
        };
        Ok(WatchedKind {
            kind,
            may_refuse: policy.may_refuse,
            limits: RefusalLimits::default(),
            changed: time(changed_at).map(|at| (at, what)),
        })
    };
    rows.into_iter().map(watched).collect()
}

/// Days that alerts about a source keep out of its baselines.
async fn list_in_alarm(tx: &mut Tx, from: NaiveDate, now: DateTime<Utc>) -> Tried<Vec<SourceDays>> {
    let rows: Vec<(String, At, Option<At>)> = sqlx::query_as(
        "SELECT source, opened_at, closed_at FROM alerts WHERE source IS NOT NULL AND (closed_at IS NULL OR closed_at >= $1) \
         ORDER BY id DESC LIMIT $2",
    )
    .bind(At(from.and_time(chrono::NaiveTime::MIN).and_utc()))
    .bind(PAST_LOOKED_AT)
    .fetch_all(&mut **tx)
    .await?;
    let days = |(source, At(since), closed_at): (String, At, Option<At>)| {
        let (from, to) = days_in_alarm(since, time(closed_at).unwrap_or(now));
        SourceDays { source, from, to }
    };
    Ok(rows.into_iter().map(days).collect())
}

async fn list_pinned(tx: &mut Tx) -> Tried<Vec<PinnedBaseline>> {
    let rows: Vec<(String, i64, i64, String)> =
        sqlx::query_as("SELECT source, from_day, to_day, pinned_by FROM pinned_baselines ORDER BY source")
            .fetch_all(&mut **tx)
            .await?;
    let pinned = |(source, from, to, by)| PinnedBaseline { source, from: day_of(from), to: day_of(to), by };
    Ok(rows.into_iter().map(pinned).collect())
}

async fn list_open(tx: &mut Tx) -> Tried<Vec<Alert>> {
    let rows: Vec<StoredAlert> = sqlx::query_as(concat!(
        "SELECT ",
        alert_columns!(),
        " FROM alerts WHERE closed_at IS NULL ORDER BY level, opened_at DESC, id DESC LIMIT $1"
    ))
    .bind(PAST_LOOKED_AT)
    .fetch_all(&mut **tx)
    .await?;
    rows.into_iter().map(StoredAlert::alert).collect()
}

/// Findings that change nothing cost nothing: mostly all is as it was.
async fn keep(store: &TheStore, findings: &[Finding]) -> Tried<u64> {
    let (mut tx, now) = store.read_page().await?;
    let open = list_open(&mut tx).await?;
    tx.commit().await?;
    let mut changed = 0;
    for finding in findings {
        let about = |alert: &&Alert| {
            alert.rule == finding.rule && alert.source == finding.source && alert.reason_code == finding.reason_code
        };
        let was = open.iter().find(about);
        let held = was.map(|alert| OpenAlert {
            since: alert.since,
            clear_since: alert.clear_since,
            baseline: alert.baseline.clone(),
        });
        changed += match (follow(held, finding, now), was) {
            (Followed::Opened(alert), _) => open_alert(store, finding, alert.baseline.as_ref()).await?,
            (Followed::Open(alert), Some(was)) => update(store, was, finding, alert.clear_since).await?,
            (Followed::Closed, Some(was)) => close(store, was).await?,
            (Followed::None | Followed::Open(_) | Followed::Closed, _) => 0,
        };
    }
    Ok(changed)
}

/// The index lets one server open it.
async fn open_alert(store: &TheStore, finding: &Finding, baseline: Option<&Baseline>) -> Tried<u64> {
    let Standing::Fires(level) = finding.standing else { return Ok(0) };
    let (mut tx, now) = store.write_page().await?;
    let row: Option<StoredAlert> = sqlx::query_as(concat!(
        "INSERT INTO alerts (rule, source, reason_code, level, value, threshold, message, baseline, opened_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING RETURNING ",
        alert_columns!()
    ))
    .bind(finding.rule.as_str())
    .bind(finding.source.as_deref())
    .bind(finding.reason_code.as_deref())
    .bind(level.as_str())
    .bind(finding.value)
    .bind(finding.threshold)
    .bind(&finding.message)
    .bind(baseline.map(serde_json::to_string).transpose()?)
    .bind(At(now))
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(0) };
    insert_change(&mut tx, &row.alert()?, AlertChange::Opened, now).await?;
    tx.commit().await?;
    Ok(1)
}

async fn update(store: &TheStore, was: &Alert, finding: &Finding, clear_since: Option<DateTime<Utc>>) -> Tried<u64> {
    let level = match finding.standing {
        Standing::Fires(level) => level,
        _ => was.level,
    };
    let is_same = was.clear_since == clear_since && was.level == level && was.message == finding.message;
    // What is clear is no news: the alert goes on saying why it opened.
    let is_quiet = !finding.fires() && was.clear_since == clear_since;
    if is_same || is_quiet {
        return Ok(0);
    }
    let (value, threshold, message) = match finding.fires() {
        true => (finding.value, finding.threshold, finding.message.as_str()),
        false => (was.value, was.threshold, was.message.as_str()),
    };
    let (mut tx, now) = store.write_page().await?;
    let row: Option<StoredAlert> = sqlx::query_as(concat!(
        "UPDATE alerts SET level = $2, value = $3, threshold = $4, message = $5, clear_since_at = $6 \
         WHERE id = $1 AND closed_at IS NULL RETURNING ",
        alert_columns!()
    ))
    .bind(was.id.0)
    .bind(level.as_str())
    .bind(value)
    .bind(threshold)
    .bind(message)
    .bind(clear_since.map(At))
    .fetch_optional(&mut *tx)
    .await?;
    if let Some(row) = row.filter(|_| (was.level, level) == (Level::Warn, Level::Critical)) {
        insert_change(&mut tx, &row.alert()?, AlertChange::Raised, now).await?;
    }
    tx.commit().await?;
    Ok(0)
}

async fn close(store: &TheStore, was: &Alert) -> Tried<u64> {
    let (mut tx, now) = store.write_page().await?;
    let row: Option<StoredAlert> = sqlx::query_as(concat!(
        "UPDATE alerts SET closed_at = $2 WHERE id = $1 AND closed_at IS NULL RETURNING ",
        alert_columns!()
    ))
    .bind(was.id.0)
    .bind(At(now))
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(0) };
    insert_change(&mut tx, &row.alert()?, AlertChange::Closed, now).await?;
    tx.commit().await?;
    Ok(1)
}

async fn list(store: &TheStore, before: Option<AlertId>, limit: u32) -> Tried<AlertPage> {
    let (mut tx, as_of) = store.read_page().await?;
    let mut open = list_open(&mut tx).await?;
    open.truncate(OPEN_SHOWN as usize);
    let mut query =
        QueryBuilder::<Db>::new(concat!("SELECT ", alert_columns!(), " FROM alerts WHERE closed_at IS NOT NULL"));
    if let Some(before) = before {
        query.push(" AND id < ").push_bind(before.0);
    }
    query.push(" ORDER BY id DESC LIMIT ").push(i64::from(limit) + 1);
    let rows: Vec<StoredAlert> = query.build_query_as().fetch_all(&mut *tx).await?;
    let pinned = list_pinned(&mut tx).await?;
    tx.commit().await?;
    let mut closed = rows.into_iter().map(StoredAlert::alert).collect::<Tried<Vec<_>>>()?;
    let has_more = closed.len() > limit as usize;
    closed.truncate(limit as usize);
    let next = closed.last().filter(|_| has_more).map(|last| last.id);
    Ok(AlertPage { open, closed, next, pinned, as_of })
}

async fn acknowledge(store: &TheStore, id: AlertId, hours: i64, note: Option<&str>, actor: &Actor) -> Tried<()> {
    let (mut tx, now) = store.write_page().await?;
    let until = acknowledged_until(hours, now)?;
    let changed = sqlx::query(
        "UPDATE alerts SET acknowledged_by = $2, acknowledged_at = $3, acknowledged_until = $4, note = $5 \
         WHERE id = $1 AND closed_at IS NULL",
    )
    .bind(id.0)
    .bind(&actor.name)
    .bind(At(now))
    .bind(At(until))
    .bind(note)
    .execute(&mut *tx)
    .await?;
    if changed.rows_affected() == 0 {
        let is_there: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM alerts WHERE id = $1)")
            .bind(id.0)
            .fetch_one(&mut *tx)
            .await?;
        return Err(match is_there {
            true => StoreError::Conflict("This alert has closed meanwhile.".to_owned()).into(),
            false => StoreError::NotFound("alert").into(),
        });
    }
    audit(&mut tx, actor, Entry::alert_acknowledge(id, until, note)).await?;
    tx.commit().await?;
    Ok(())
}

async fn pin(store: &TheStore, source: &str, days: Option<(NaiveDate, NaiveDate)>, actor: &Actor) -> Tried<()> {
    let (mut tx, now) = store.write_page().await?;
    match days {
        None => {
            let gone =
                sqlx::query("DELETE FROM pinned_baselines WHERE source = $1").bind(source).execute(&mut *tx).await?;
            if gone.rows_affected() == 0 {
                return Err(StoreError::NotFound("pinned baseline").into());
            }
        }
        Some((from, to)) => {
            let rule = match () {
                () if from > to => Some("must not be after “to”"),
                () if to > now.date_naive() => Some("and “to” must not lie in the future"),
                () => None,
            };
            if let Some(rule) = rule {
                return Err(StoreError::from(FieldError::new("from", rule)).into());
            }
            let days = park_days::list(&mut tx, from, now).await?;
            if !days.iter().any(|day| day.source == source && day.day <= to && day.counts.processed > 0) {
                let rule = "holds no day on which anything of this source was processed";
                return Err(StoreError::from(FieldError::new("from", rule)).into());
            }
            sqlx::query(
                "INSERT INTO pinned_baselines (source, from_day, to_day, pinned_by, at) VALUES ($1, $2, $3, $4, $5) \
                 ON CONFLICT (source) DO UPDATE SET from_day = excluded.from_day, to_day = excluded.to_day, \
                     pinned_by = excluded.pinned_by, at = excluded.at",
            )
            .bind(source)
            .bind(number_of(from))
            .bind(number_of(to))
            .bind(&actor.name)
            .bind(At(now))
            .execute(&mut *tx)
            .await?;
        }
    }
    audit(&mut tx, actor, Entry::baseline_pin(source, days)).await?;
    tx.commit().await?;
    Ok(())
}
