//! Alerts: opened by what the counts say, once whatever the number of servers,
//! told once for each change, closed by their rule and by nobody else.

use crate::support::TestDatabase;
use crate::support::calls::{actor, change, fail, job, name};
use crate::support::receiver::Receiver;
use app::error::StoreError;
use app::model::alert::Alert;
use app::model::alerting::{AlertRule, Level};
use chrono::{Days, TimeDelta};
use drainboard::duties::alerts::{deliver, watch};
use drainboard::webhook::{Sender, Target};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::sync::Arc;

each_database![
    a_source_that_stopped_refusing_fires_and_names_its_numbers,
    a_source_that_never_refused_fires,
    a_flood_fires_for_its_source_and_its_code,
    too_little_says_nothing_and_opens_nothing,
    an_alert_closes_after_a_day_of_being_clear,
    days_in_alarm_and_rolled_up_days_change_no_verdict,
    two_servers_raise_one_alert_and_tell_each_change_once,
    whoever_acknowledges_silences_it_for_a_while,
    dead_letters_raise_an_alert_that_becomes_critical,
    a_pinned_baseline_is_what_a_source_is_compared_with,
    canaries_and_names_are_no_danger,
];

const SECRET: &str = "a secret of the test";
const CODE: &str = "AMBIGUOUS_VALUE";

/// So many ended so many days ago, each day the same.
async fn ended(db: &TestDatabase, source: &str, days_ago: std::ops::Range<u64>, done: usize, refused: usize) {
    ended_as(db, "k", source, days_ago, done, refused).await;
}

async fn ended_as(
    db: &TestDatabase,
    kind: &str,
    source: &str,
    days_ago: std::ops::Range<u64>,
    done: usize,
    refused: usize,
) {
    if db.store.find_policy(kind).await.unwrap().is_none() {
        db.enqueue(&[job(kind)]).await;
    }
    let (now, source) = (db.now().await, source.replace('\'', "''"));
    for day in days_ago {
        let at = db.door.literal(now - TimeDelta::days(i64::try_from(day).unwrap()));
        let row =
            |outcome: &str, code: &str| format!("(1, '{kind}', '{source}', {at}, '{outcome}', {code}, false, false)");
        let rows: Vec<String> = std::iter::repeat_n(row("done", "NULL"), done)
            .chain(std::iter::repeat_n(row("refused", &format!("'{CODE}'")), refused))
            .collect();
        for rows in rows.chunks(500) {
            let values = rows.join(", ");
            let insert = format!(
                "INSERT INTO endings (job_id, kind, source, at, outcome, reason_code, is_canary, is_replay) VALUES {values}"
            );
            db.door.execute(&insert).await;
        }
    }
}

async fn look(db: &TestDatabase) -> Vec<Alert> {
    watch(&*db.store).await.unwrap();
    open(db).await
}

/// Those about refusals: what the letters of a test raise beside them is another topic.
async fn open(db: &TestDatabase) -> Vec<Alert> {
    let page = db.store.list_alerts(None, 50).await.unwrap();
    page.open.into_iter().filter(|alert| alert.source.is_some()).collect()
}

fn rules(alerts: &[Alert]) -> Vec<(AlertRule, Option<&str>)> {
    let mut rules: Vec<_> = alerts.iter().map(|alert| (alert.rule, alert.reason_code.as_deref())).collect();
    rules.sort();
    rules
}

/// Days pass; what was rolled up is counted afresh, as time did not pass for it.
async fn days_pass(db: &TestDatabase, days: i64) {
    hours_pass(db, 24 * days).await;
}

async fn hours_pass(db: &TestDatabase, hours: i64) {
    db.let_time_pass(hours * 3_600).await;
    db.door.execute("DELETE FROM park_days").await;
    db.door.execute("DELETE FROM folded_days").await;
}

async fn a_source_that_stopped_refusing_fires_and_names_its_numbers(db: Arc<TestDatabase>) {
    ended(&db, "portal", 20..30, 96, 4).await;
    ended(&db, "portal", 1..6, 15, 0).await;
    assert!(look(&db).await.is_empty(), "0 of 75 is no wonder with 40 of 1,000");
    ended(&db, "portal", 1..6, 25, 0).await;
    let alerts = look(&db).await;
    assert_eq!(rules(&alerts), [(AlertRule::ZeroRefusals, None)]);
    let alert = &alerts[0];
    assert_eq!((alert.source.as_deref(), alert.level, alert.threshold), (Some("portal"), Level::Warn, 0.05));
    assert!(alert.value < 0.05 && alert.value > 0.0, "{alert:?}");
    for part in ["portal: no refusal among 200", "40 of 1,000", "No change of model, prompt or tools is known"] {
        assert!(alert.message.contains(part), "{part}: {}", alert.message);
    }
    let baseline = alert.baseline.as_ref().unwrap();
    assert_eq!((baseline.counts.processed, baseline.counts.refused), (1_000, 40));
    let today = db.now().await.date_naive();
    assert_eq!(baseline.to, today - Days::new(8));
}

async fn a_source_that_never_refused_fires(db: Arc<TestDatabase>) {
    ended(&db, "silent", 1..6, 200, 0).await;
    let alerts = look(&db).await;
    assert_eq!(rules(&alerts), [(AlertRule::ZeroRefusals, None)]);
    assert!(alerts[0].message.contains("Can the agent say no at all?"), "{}", alerts[0].message);
    db.store.change_policy(&name("k"), &change(json!({"may_refuse": false})), &actor("ada")).await.unwrap();
    assert!(look(&db).await.is_empty(), "a kind that may not refuse is not watched");
}

async fn a_flood_fires_for_its_source_and_its_code(db: Arc<TestDatabase>) {
    ended(&db, "s", 20..30, 96, 4).await;
    ended(&db, "s", 1..5, 22, 3).await;
    let alerts = look(&db).await;
    assert_eq!(rules(&alerts), [(AlertRule::HighParkRate, None), (AlertRule::HighParkRate, Some(CODE))]);
    for alert in &alerts {
        assert!(alert.message.contains("12 of 100") && alert.value <= 0.01, "{alert:?}");
        assert!(alert.href().starts_with("/dead-letters?status=all&source=s"), "{}", alert.href());
    }
}

async fn too_little_says_nothing_and_opens_nothing(db: Arc<TestDatabase>) {
    ended(&db, "rare", 1..60, 0, 1).await;
    ended(&db, "rare", 1..4, 1, 0).await;
    assert!(look(&db).await.is_empty(), "3 a week");
    let input = db.store.read_alert_input().await.unwrap();
    let findings = app::model::alerting::watch::source_findings(&input);
    assert!(findings.iter().all(|finding| finding.message.contains("not enough volume")), "{findings:?}");
}

async fn an_alert_closes_after_a_day_of_being_clear(db: Arc<TestDatabase>) {
    ended(&db, "s", 20..30, 96, 4).await;
    ended(&db, "s", 1..6, 40, 0).await;
    assert_eq!(look(&db).await.len(), 1);
    ended(&db, "s", 0..1, 0, 1).await;
    assert!(look(&db).await[0].clear_since.is_some(), "it is still open");
    hours_pass(&db, 23).await;
    assert_eq!(look(&db).await.len(), 1, "23 h are no day");
    hours_pass(&db, 1).await;
    assert!(look(&db).await.is_empty());
    let page = db.store.list_alerts(None, 50).await.unwrap();
    let closed: Vec<_> = page.closed.iter().filter(|alert| alert.source.is_some()).collect();
    assert_eq!(closed.len(), 1, "history is kept");
    assert!(closed[0].message.contains("no refusal among 200"), "it says why it opened: {}", closed[0].message);
}

async fn days_in_alarm_and_rolled_up_days_change_no_verdict(db: Arc<TestDatabase>) {
    ended(&db, "s", 20..30, 96, 4).await;
    ended(&db, "s", 1..6, 40, 0).await;
    let first = look(&db).await.remove(0);
    while db.store.fold_park_days().await.unwrap() > 0 {}
    let folded = look(&db).await.remove(0);
    assert_eq!((folded.id, &folded.message), (first.id, &first.message), "rolled up or not, the numbers are the same");
    for _ in 0..4 {
        days_pass(&db, 20).await;
        ended(&db, "s", 1..6, 40, 0).await;
        let still = look(&db).await;
        assert_eq!(still.len(), 1, "a silence never becomes the norm");
        assert_eq!(still[0].id, first.id, "one alert, not a stream of them");
    }
}

async fn two_servers_raise_one_alert_and_tell_each_change_once(db: Arc<TestDatabase>) {
    ended(&db, "s", 1..6, 40, 0).await;
    let other = db.another_store().await;
    let (a, b) = tokio::join!(watch(&*db.store), watch(&*other));
    let opened = a.unwrap() + b.unwrap();
    let alerts = open(&db).await;
    assert_eq!(alerts.len(), 1);
    let receiver = Receiver::answering([]).await;
    let sender = Sender::new(Target::new("alert-webhook", &receiver.url, SecretString::from(SECRET), true).unwrap());
    let tell = async |store: &dyn app::store::Store| while deliver(store, &sender).await.unwrap() > 0 {};
    tokio::join!(tell(&*db.store), tell(&*other), tell(&*db.store));
    let got = receiver.got();
    let about = |id: &str| -> Vec<Value> {
        let bodies = receiver.got().into_iter().map(|got| serde_json::from_str::<Value>(&got.body).unwrap());
        bodies.filter(|body| body["id"] == id).collect()
    };
    assert_eq!(got.len() as u64, opened, "each change once");
    assert!(got.iter().all(|got| got.verified(SECRET).is_some()), "signed");
    let told = about(&alerts[0].id.to_string());
    assert_eq!(told.len(), 1);
    assert_eq!(
        (&told[0]["event"], &told[0]["change"], &told[0]["rule"]),
        (&json!("alert"), &json!("opened"), &json!("zero_refusals"))
    );
    db.store.change_policy(&name("k"), &change(json!({"may_refuse": false})), &actor("ada")).await.unwrap();
    let (a, b) = tokio::join!(watch(&*db.store), watch(&*other));
    a.unwrap();
    b.unwrap();
    tokio::join!(tell(&*db.store), tell(&*other));
    let told = about(&alerts[0].id.to_string());
    assert_eq!(told.iter().map(|body| body["change"].as_str().unwrap()).collect::<Vec<_>>(), ["opened", "closed"]);
}

async fn whoever_acknowledges_silences_it_for_a_while(db: Arc<TestDatabase>) {
    ended(&db, "s", 1..6, 40, 0).await;
    let id = look(&db).await[0].id;
    let calling = async || db.store.snapshot().await.unwrap().calling_alerts;
    let before = calling().await;
    for hours in [0, -1, 337, i64::MAX] {
        let refused = db.store.acknowledge_alert(id, hours, None, &actor("mila")).await;
        assert!(matches!(&refused, Err(StoreError::Invalid(e)) if e.field == "hours"), "{hours}: {refused:?}");
    }
    db.store.acknowledge_alert(id, 4, Some("known"), &actor("mila")).await.unwrap();
    assert_eq!(calling().await, before - 1);
    let audited = db.audit().await.remove(0);
    assert_eq!((audited.action.as_str(), audited.actor.as_str()), ("alert_acknowledge", "mila"));
    assert_eq!(
        look(&db).await[0].acknowledged.as_ref().unwrap().note.as_deref(),
        Some("known"),
        "a look changes nothing"
    );
    hours_pass(&db, 5).await;
    assert_eq!(calling().await, before, "then it calls again");
    let unknown = db.store.acknowledge_alert(app::model::ids::AlertId(777), 4, None, &actor("mila")).await;
    assert!(matches!(unknown, Err(StoreError::NotFound(_))), "{unknown:?}");
}

async fn dead_letters_raise_an_alert_that_becomes_critical(db: Arc<TestDatabase>) {
    let hourly = async || {
        watch(&*db.store).await.unwrap();
        let page = db.store.list_alerts(None, 50).await.unwrap();
        page.open.into_iter().find(|alert| alert.rule == AlertRule::DeadLettersPerHour)
    };
    let park = async |count: usize| {
        db.enqueue(&vec![job("k"); count]).await;
        for claimed in db.claim("w1", 100).await {
            db.finish(&claimed, fail("unprocessable", 422)).await;
        }
    };
    park(4).await;
    assert_eq!(hourly().await, None);
    park(1).await;
    let warned = hourly().await.unwrap();
    assert_eq!((warned.level, warned.value, warned.threshold), (Level::Warn, 5.0, 5.0));
    park(15).await;
    let raised = hourly().await.unwrap();
    assert_eq!((raised.id, raised.level, raised.value), (warned.id, Level::Critical, 20.0));
    assert_eq!(db.store.snapshot().await.unwrap().critical_alerts, 1);
    let held = db.store.hold_changes(10).await.unwrap();
    let changes: Vec<Value> = held.iter().map(|held| serde_json::from_str(&held.body).unwrap()).collect();
    assert_eq!(changes.iter().map(|c| c["change"].as_str().unwrap()).collect::<Vec<_>>(), ["opened", "raised"]);
    assert_eq!(db.store.hold_changes(10).await.unwrap(), [], "held by one server at a time");
    db.let_time_pass(3_700).await;
    assert!(hourly().await.is_some(), "clear for less than an hour");
    db.let_time_pass(3_700).await;
    assert_eq!(hourly().await, None);
}

async fn a_pinned_baseline_is_what_a_source_is_compared_with(db: Arc<TestDatabase>) {
    ended(&db, "s", 100..110, 50, 50).await;
    ended(&db, "s", 20..30, 96, 4).await;
    ended(&db, "s", 1..6, 15, 0).await;
    assert!(look(&db).await.is_empty());
    let today = db.now().await.date_naive();
    let days = |from, to| Some((today - Days::new(from), today - Days::new(to)));
    for (from, to) in [(100, 110), (300, 200)] {
        let refused = db.store.pin_baseline("s", days(from, to), &actor("ada")).await;
        assert!(matches!(&refused, Err(StoreError::Invalid(e)) if e.field == "from"), "{from} {to}: {refused:?}");
    }
    db.store.pin_baseline("s", days(110, 100), &actor("ada")).await.unwrap();
    let alert = look(&db).await.remove(0);
    let baseline = alert.baseline.unwrap();
    assert!(baseline.is_pinned && alert.message.contains("500 of 1,000"), "{}", alert.message);
    assert_eq!(db.audit().await[0].action, "baseline_pin");
    db.store.pin_baseline("s", None, &actor("ada")).await.unwrap();
    let gone = db.store.pin_baseline("s", None, &actor("ada")).await;
    assert!(matches!(gone, Err(StoreError::NotFound(_))), "{gone:?}");
}

async fn canaries_and_names_are_no_danger(db: Arc<TestDatabase>) {
    let hostile = "'; DROP TABLE alerts; --</script>\u{202e}";
    ended(&db, hostile, 1..6, 40, 0).await;
    let alerts = look(&db).await;
    assert_eq!(alerts[0].source.as_deref(), Some(hostile));
    assert!(!alerts[0].message.contains('\u{202e}'), "{}", alerts[0].message);
    db.door.execute("UPDATE endings SET is_canary = true").await;
    hours_pass(&db, 0).await;
    let input = db.store.read_alert_input().await.unwrap();
    assert!(input.days.is_empty(), "canaries are in no count");
}
