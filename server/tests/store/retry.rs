//! What a failure leads to, and when, by the default policy and by changed ones.

use crate::support::TestDatabase;
use crate::support::calls::{fail, fail_as, job};
use app::model::classify::Category;
use app::model::ids::JobId;
use app::model::job::{AttemptEnd, ClaimedJob, Ended, FailReport, JobState, NewJob};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

each_database![
    every_status_is_classified,
    the_worker_s_own_category_comes_first,
    a_code_alone_is_classified,
    the_first_retry_lies_within_its_jitter,
    delays_double_and_are_capped,
    many_retries_spread_over_the_jitter,
    retry_after_is_a_floor,
    odd_retry_after_values_are_ignored,
    a_huge_retry_after_is_capped,
    an_http_date_is_measured_by_the_database_s_clock,
    a_retry_is_not_handed_out_before_its_time,
    a_retry_keeps_its_place_by_its_own_time,
    a_cutoff_parks_what_would_come_too_late,
    a_cutoff_may_drop_instead,
    the_cutoff_counts_from_when_the_job_became_due,
    the_cutoff_counts_from_its_own_anchor,
];

async fn ended_with(db: &TestDatabase, report: FailReport) -> (Ended, DateTime<Utc>, DateTime<Utc>) {
    let claimed = db.claimed("a").await;
    let before = db.now().await;
    let ended = db.finish(&claimed, AttemptEnd::Fail(report)).await;
    let after = db.now().await;
    if matches!(ended, Ended::Waiting { .. }) {
        // Out of the way of the next one.
        db.store.cancel(claimed.id).await.unwrap();
    }
    (ended, before, after)
}

/// The bounds, in seconds, between which the delay surely lies.
async fn delay(db: &TestDatabase, report: FailReport) -> (f64, f64) {
    let (ended, before, after) = ended_with(db, report).await;
    let Ended::Waiting { run_at, .. } = ended else { panic!("it is retried: {ended:?}") };
    let seconds = |delta: TimeDelta| delta.num_microseconds().unwrap() as f64 / 1e6;
    (seconds(run_at - after), seconds(run_at - before))
}

fn report(http_status: u16, retry_after: Option<&str>) -> FailReport {
    FailReport {
        error: format!("{http_status}"),
        http_status: Some(http_status),
        retry_after: retry_after.map(str::to_owned),
        ..FailReport::default()
    }
}

async fn category_of(db: &TestDatabase, report: FailReport) -> Category {
    let (ended, ..) = ended_with(db, report).await;
    match ended {
        Ended::Waiting { category, .. } => category,
        Ended::Dead { category, .. } => {
            let category = category.unwrap();
            assert_eq!(category, Category::Permanent, "only what cannot go away is parked at the first attempt");
            category
        }
        other => panic!("{other:?}"),
    }
}

async fn every_status_is_classified(db: Arc<TestDatabase>) {
    for (category, statuses) in [
        (Category::Transient, &[429, 408, 500, 502, 503, 504][..]),
        (Category::Permanent, &[400, 401, 403, 404, 409, 410, 413, 422]),
        (Category::Unknown, &[418, 451, 505, 200, 302]),
    ] {
        for &status in statuses {
            assert_eq!(category_of(&db, report(status, None)).await, category, "{status}");
        }
    }
    assert_eq!(category_of(&db, FailReport::default()).await, Category::Unknown);
}

async fn the_worker_s_own_category_comes_first(db: Arc<TestDatabase>) {
    let permanent = FailReport { category: Some(Category::Permanent), ..report(503, None) };
    assert_eq!(category_of(&db, permanent).await, Category::Permanent);
    let transient = FailReport { category: Some(Category::Transient), ..report(400, None) };
    assert_eq!(category_of(&db, transient).await, Category::Transient);
}

async fn a_code_alone_is_classified(db: Arc<TestDatabase>) {
    for (code, category) in [
        ("network_timeout", Category::Transient),
        ("model_overloaded", Category::Transient),
        ("data_not_found", Category::Permanent),
        ("validation_failed", Category::Permanent),
        ("policy_violation", Category::Permanent),
        ("authorization_denied", Category::Permanent),
        ("E1234", Category::Unknown),
    ] {
        let report = FailReport { error: "x".into(), error_code: Some(code.into()), ..FailReport::default() };
        assert_eq!(category_of(&db, report).await, category, "{code}");
    }
}

async fn the_first_retry_lies_within_its_jitter(db: Arc<TestDatabase>) {
    for _ in 0..20 {
        let (least, most) = delay(&db, report(503, None)).await;
        assert!(most >= 0.0 && least < 30.0, "30 s with full jitter, not {least}..{most}");
    }
}

async fn delays_double_and_are_capped(db: Arc<TestDatabase>) {
    db.set_policy(
        "a",
        json!({"jitter": "none", "start_seconds": 10, "multiplier": 2, "max_delay_seconds": 60, "max_attempts": 60}),
    )
    .await;
    db.enqueue(&[job("a")]).await;
    for expected in [10, 20, 40, 60, 60, 60, 60] {
        let claimed = db.claim_one("w1").await;
        let before = db.now().await;
        let Ended::Waiting { run_at, .. } = db.finish(&claimed, fail("503", 503)).await else { panic!("retried") };
        let after = db.now().await;
        let exactly = TimeDelta::seconds(expected);
        assert!(
            run_at >= before + exactly && run_at <= after + exactly,
            "{expected} s after attempt {}",
            claimed.attempt
        );
        db.let_time_pass(expected).await;
    }
}

async fn many_retries_spread_over_the_jitter(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 300]).await;
    let before = db.now().await;
    let mut run_at = Vec::new();
    for claimed in db.claim("w1", 300).await {
        match db.finish(&claimed, fail("503", 503)).await {
            Ended::Waiting { run_at: at, .. } => run_at.push((at - before).num_seconds()),
            other => panic!("{other:?}"),
        }
    }
    let mut per_window = BTreeMap::<i64, usize>::new();
    for seconds in run_at {
        *per_window.entry(seconds / 10).or_default() += 1;
    }
    for window in 0..3 {
        let n = per_window.get(&window).copied().unwrap_or(0);
        assert!(n > 40, "{n} of 300 in the 10 s from {} s: they must not come back together", window * 10);
    }
}

async fn retry_after_is_a_floor(db: Arc<TestDatabase>) {
    for (status, retry_after, floor) in [(429, "120", 120.0), (503, " 45 ", 45.0), (429, "0", 0.0)] {
        let (_, most) = delay(&db, report(status, Some(retry_after))).await;
        assert!(most >= floor, "{retry_after:?} asks for {floor} s, got at most {most}");
    }
    db.set_policy("a", json!({"jitter": "none", "start_seconds": 90})).await;
    let (least, most) = delay(&db, report(429, Some("5"))).await;
    assert!(least <= 90.0 && most >= 90.0, "a floor does not shorten the ladder's delay");
}

async fn odd_retry_after_values_are_ignored(db: Arc<TestDatabase>) {
    for text in ["-5", "soon", "120, 60", "1e9", "", "1.5", "Wed, 21 Oct 2015 07:28:00 GMT"] {
        let (least, most) = delay(&db, report(429, Some(text))).await;
        assert!(most >= 0.0 && least < 30.0, "{text:?} is ignored, not {least}..{most}");
    }
}

async fn a_huge_retry_after_is_capped(db: Arc<TestDatabase>) {
    for text in ["99999999999", "99999999999999999999999999", "315360000"] {
        let (least, most) = delay(&db, report(429, Some(text))).await;
        assert!(least <= 3_600.0 && most >= 3_600.0, "capped at max_delay_seconds, not {least}..{most}");
    }
}

async fn an_http_date_is_measured_by_the_database_s_clock(db: Arc<TestDatabase>) {
    let at = db.now().await + TimeDelta::seconds(200);
    let (least, most) = delay(&db, report(429, Some(&at.to_rfc2822()))).await;
    assert!(most > 190.0 && least < 201.0, "200 s ahead, not {least}..{most}");
    let gmt = at.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let (least, most) = delay(&db, report(429, Some(&gmt))).await;
    assert!(most > 180.0 && least < 201.0, "{gmt}: not {least}..{most}");
}

async fn a_retry_is_not_handed_out_before_its_time(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"jitter": "none", "start_seconds": 100})).await;
    let claimed = db.claimed("a").await;
    db.finish(&claimed, fail("503", 503)).await;
    db.let_time_pass(90).await;
    assert!(db.claim("w1", 10).await.is_empty());
    assert_eq!(db.kind("a").await.retrying, 1);
    db.let_time_pass(10).await;
    assert_eq!(db.claim_one("w1").await.attempt, 2);
}

async fn a_retry_keeps_its_place_by_its_own_time(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"jitter": "none", "start_seconds": 100})).await;
    let claimed = db.claimed("a").await;
    db.finish(&claimed, fail("503", 503)).await;
    db.let_time_pass(60).await;
    let meanwhile = db.enqueue_one(job("a")).await.id;
    db.let_time_pass(60).await;
    let ids: Vec<JobId> = db.claim("w1", 10).await.iter().map(|job: &ClaimedJob| job.id).collect();
    assert_eq!(ids, [meanwhile, claimed.id], "due for 60 s and for 20 s");
}

async fn a_cutoff_parks_what_would_come_too_late(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"jitter": "none", "start_seconds": 100, "cutoff_seconds": 250, "max_attempts": 9})).await;
    let id = db.enqueue_one(job("a")).await.id;
    for wait in [100, 200] {
        let claimed = db.claim_one("w1").await;
        let ended = db.finish(&claimed, fail("503", 503)).await;
        if wait == 100 {
            assert!(matches!(ended, Ended::Waiting { .. }), "100 s is within 250 s: {ended:?}");
            db.let_time_pass(wait).await;
        } else {
            let letter = db.letter_of(ended).await;
            assert_eq!((letter.job_id, letter.category), (id, Some(Category::Transient)), "300 s is past 250 s");
        }
    }
    assert_eq!(db.kind("a").await.failed_last_day, 1);
}

async fn a_cutoff_may_drop_instead(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"jitter": "none", "start_seconds": 100, "cutoff_seconds": 50, "on_cutoff": "drop"}))
        .await;
    let claimed = db.claimed("a").await;
    assert_eq!(db.finish(&claimed, fail("503", 503)).await, Ended::Dropped);
    let kind = db.kind("a").await;
    assert_eq!((kind.dropped_last_day, kind.failed_last_day, kind.retrying), (1, 0, 0));
    assert_eq!(db.snapshot().await.unresolved_dead_letters, 0);
    assert_eq!(db.job(claimed.id).await.summary.state, JobState::Dropped);
    let failure = &db.snapshot().await.failures[0];
    assert!(failure.is_final && failure.dead_letter_id.is_none(), "it leaves a trace where people look");
    let permanent = db.claimed("a").await;
    db.letter_of(db.finish(&permanent, fail_as("x", Category::Permanent)).await).await;
}

async fn the_cutoff_counts_from_when_the_job_became_due(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"jitter": "none", "start_seconds": 100, "cutoff_seconds": 150})).await;
    let later = db.now().await + TimeDelta::hours(5);
    db.enqueue(&[NewJob { run_at: Some(later), ..job("a") }]).await;
    db.let_time_pass(5 * 3_600 + 10).await;
    let claimed = db.claim_one("w1").await;
    let ended = db.finish(&claimed, fail("503", 503)).await;
    assert!(matches!(ended, Ended::Waiting { .. }), "waiting for its time eats no retries: {ended:?}");
}

async fn the_cutoff_counts_from_its_own_anchor(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"jitter": "none", "start_seconds": 100, "cutoff_seconds": 150})).await;
    let anchor = db.now().await - TimeDelta::seconds(60);
    db.enqueue(&[NewJob { anchor_at: Some(anchor), ..job("a") }]).await;
    let claimed = db.claim_one("w1").await;
    db.letter_of(db.finish(&claimed, fail("503", 503)).await).await;
}
