//! Every row of the verdict table, and the traps beside it.

use super::*;
use crate::model::reading::{FullClaim, Pause, RecentAttempts, Tick, WorkerSeen};

fn now() -> DateTime<Utc> {
    "2026-07-02T14:12:00Z".parse().unwrap()
}

fn before(seconds: i64) -> DateTime<Utc> {
    now() - TimeDelta::seconds(seconds)
}

fn kind(name: &str) -> KindSnapshot {
    KindSnapshot {
        kind: name.to_owned(),
        due: 0,
        held: 0,
        scheduled: 0,
        retrying: 0,
        in_progress: 0,
        lease_expired: 0,
        lost: 0,
        done_last_hour: 0,
        failed_last_day: 0,
        refused_last_day: 0,
        evidence_failed_last_day: 0,
        dropped_last_day: 0,
        oldest_due_at: None,
        oldest_unheld_due_at: None,
        next_later_at: None,
        last_worked_at: None,
        last_claimed_at: None,
        hold_ended_at: None,
        paused: None,
        not_running_after_seconds: 180,
        full_claim: None,
    }
}

/// `name` with `n` due jobs, the oldest due for `seconds`, last worked `worked` seconds ago.
fn due(name: &str, n: i64, seconds: i64, worked: Option<i64>) -> KindSnapshot {
    KindSnapshot {
        due: n,
        oldest_due_at: Some(before(seconds)),
        oldest_unheld_due_at: Some(before(seconds)),
        last_worked_at: worked.map(before),
        last_claimed_at: worked.map(before),
        ..kind(name)
    }
}

fn snapshot(kinds: Vec<KindSnapshot>) -> Snapshot {
    Snapshot {
        as_of: now(),
        kinds,
        recent: RecentAttempts::default(),
        failures: Vec::new(),
        workers: Vec::new(),
        late_answers_last_day: 0,
        refused_polls_last_minutes: 0,
        ticks: Vec::new(),
        unresolved_dead_letters: 0,
        due_follow_ups: 0,
        stuck_notices: 0,
        done_canaries: 0,
        last_refusals: Vec::new(),
        calling_alerts: 0,
        critical_alerts: 0,
    }
}

fn text(kinds: Vec<KindSnapshot>) -> String {
    judge(&snapshot(kinds)).0.text
}

fn states(kinds: Vec<KindSnapshot>) -> (VerdictState, Vec<KindState>) {
    let (verdict, kinds) = judge(&snapshot(kinds));
    (verdict.state, kinds.into_iter().map(|kind| kind.state).collect())
}

#[test]
fn running() {
    assert_eq!(text(vec![due("a", 131, 725, Some(20))]), "Running · 131 waiting, oldest 12 min, last worked 20 s ago");
    let leased = KindSnapshot { in_progress: 6, last_worked_at: Some(before(3)), ..kind("a") };
    assert_eq!(text(vec![leased]), "Running · nothing waiting, 6 in progress, last worked 3 s ago");
}

#[test]
fn not_running() {
    assert_eq!(
        text(vec![due("a", 131, 725, Some(250))]),
        "Not running? · 131 waiting, oldest 12 min, nothing claimed for 4 min"
    );
    assert_eq!(text(vec![due("a", 1, 180, None)]), "Not running? · 1 waiting, oldest 3 min, never worked");
}

/// A heartbeat starts the clock anew, but it hands nothing out.
#[test]
fn nothing_claimed_is_measured_from_the_last_claim() {
    let held_long = KindSnapshot { last_claimed_at: Some(before(7_300)), ..due("a", 131, 8_000, Some(250)) };
    let (verdict, kinds) = judge(&snapshot(vec![held_long.clone()]));
    assert_eq!(verdict.text, "Not running? · 131 waiting, oldest 2 h, nothing claimed for 2 h");
    assert_eq!(kinds[0].text, "not running? 131 waiting, none claimed for 2 h", "the line and the row agree");
    let (verdict, _) = judge(&snapshot(vec![held_long.clone(), due("fine", 3, 60, Some(2))]));
    assert_eq!(verdict.text, "Running, except a: 131 waiting, none claimed for 2 h");
    let beating = KindSnapshot { last_worked_at: Some(before(10)), ..held_long };
    assert_eq!(judge(&snapshot(vec![beating])).0.text, "Running · 131 waiting, oldest 2 h, last worked 10 s ago");
    let unknown = KindSnapshot { last_claimed_at: None, ..due("a", 1, 300, Some(250)) };
    assert_eq!(
        judge(&snapshot(vec![unknown])).0.text,
        "Not running? · 1 waiting, oldest 5 min, nothing claimed for 4 min",
        "no claim came after the last work"
    );
}

proptest::proptest! {
    /// Whoever is told that nothing runs is never told of a claim within T.
    #[test]
    fn the_text_never_contradicts_the_state(
        rows in proptest::collection::vec((0i64..400, 0i64..400, 0i64..400, proptest::bool::ANY), 1..4)
    ) {
        let kinds: Vec<KindSnapshot> = rows
            .iter()
            .enumerate()
            .map(|(i, &(oldest, worked, more, ever))| KindSnapshot {
                last_claimed_at: ever.then(|| before(worked + more)),
                ..due(&format!("k{i}"), 1, oldest, ever.then_some(worked))
            })
            .collect();
        let last_claim = kinds.iter().filter_map(|kind| kind.last_claimed_at).max();
        let verdict = judge(&snapshot(kinds)).0;
        if verdict.state == VerdictState::NotRunning {
            let claimed = match last_claim {
                None => "never worked".to_owned(),
                Some(at) => {
                    proptest::prop_assert!((now() - at).num_seconds() >= 180, "{}", verdict.text);
                    format!("nothing claimed for {}", age_between(at, now()))
                }
            };
            proptest::prop_assert!(verdict.text.ends_with(&claimed), "{}", verdict.text);
        }
    }
}

#[test]
fn an_empty_database_is_idle() {
    assert_eq!(text(vec![]), "Idle · nothing waiting, never worked");
}

#[test]
fn what_waits_for_later_is_idle_and_never_old() {
    let later = KindSnapshot {
        retrying: 465,
        next_later_at: Some(now() + TimeDelta::seconds(299)),
        last_worked_at: Some(before(250)),
        ..kind("a")
    };
    assert_eq!(text(vec![later]), "Idle · nothing waiting, last worked 4 min ago, 465 retrying, next in 4 min");
}

#[test]
fn one_job_after_an_idle_night_does_not_flip_the_line() {
    assert_eq!(states(vec![due("a", 1, 179, Some(50_000))]).0, VerdictState::Running);
    assert_eq!(states(vec![due("a", 1, 180, Some(50_000))]).0, VerdictState::NotRunning);
}

#[test]
fn paused_by_a_person() {
    let pause = Some(Pause { by: "mila".into(), since: before(7_300) });
    let held = KindSnapshot { held: 131, oldest_due_at: Some(before(725)), paused: pause, ..kind("a") };
    assert_eq!(text(vec![held.clone(), kind("b")]), "Paused · 131 waiting, oldest 12 min, paused by mila 2 h ago");
    let (state, kinds) = states(vec![held, due("b", 1, 10, Some(5))]);
    assert_eq!((state, kinds), (VerdictState::Running, vec![KindState::Paused, KindState::Running]));
}

#[test]
fn the_clock_restarts_when_a_hold_ends() {
    let resumed = KindSnapshot { hold_ended_at: Some(before(179)), ..due("a", 5, 3_000, None) };
    assert_eq!(states(vec![resumed.clone()]).0, VerdictState::Running);
    let long_ago = KindSnapshot { hold_ended_at: Some(before(180)), ..resumed };
    assert_eq!(states(vec![long_ago]).0, VerdictState::NotRunning);
}

#[test]
fn a_skipped_kind_beside_a_healthy_one() {
    let (verdict, kinds) =
        judge(&snapshot(vec![due("fine", 3, 60, Some(2)), due("moderate-image", 18, 1_860, Some(560))]));
    assert_eq!(verdict.text, "Running, except moderate-image: 18 waiting, none claimed for 9 min");
    assert_eq!(verdict.state, VerdictState::RunningExcept);
    assert_eq!(kinds[1].state, KindState::Skipped);
    assert!(!verdict.state.is_well());
}

#[test]
fn queued_behind_older_work_is_no_alarm() {
    let behind = KindSnapshot {
        full_claim: Some(FullClaim { at: before(30), newest_due_at: before(2_000) }),
        ..due("image", 18, 1_860, None)
    };
    let busy = due("content", 90, 2_500, Some(30));
    assert_eq!(
        states(vec![behind.clone(), busy.clone()]),
        (VerdictState::Running, vec![KindState::QueuedBehind, KindState::Running])
    );
    let newer =
        KindSnapshot { full_claim: Some(FullClaim { at: before(30), newest_due_at: before(1_800) }), ..behind.clone() };
    assert_eq!(states(vec![newer, busy.clone()]).1[0], KindState::Skipped, "younger work went first");
    let stale =
        KindSnapshot { full_claim: Some(FullClaim { at: before(200), newest_due_at: before(2_000) }), ..behind };
    assert_eq!(states(vec![stale, busy]).1[0], KindState::Skipped, "that claim is too long ago");
}

#[test]
fn long_jobs_that_heartbeat_are_running() {
    let long = KindSnapshot { in_progress: 1, ..due("a", 4, 3_000, Some(100)) };
    assert_eq!(states(vec![long]).0, VerdictState::Running);
}

#[test]
fn an_expired_lease_is_due_work() {
    let expired = KindSnapshot { lease_expired: 2, ..due("a", 2, 200, Some(500)) };
    let (verdict, _) = judge(&snapshot(vec![expired]));
    assert_eq!(verdict.state, VerdictState::NotRunning);
    assert!(verdict.why.contains(&"2 with an expired lease".to_owned()));
}

#[test]
fn failing_when_the_last_twenty_all_failed() {
    let mut failing = snapshot(vec![due("a", 131, 725, Some(4))]);
    failing.recent = RecentAttempts {
        ended: 20,
        failed: 20,
        oldest_ended_at: Some(before(90)),
        last_success_at: Some("2026-07-02T14:02:31Z".parse().unwrap()),
        last_http_status: Some(429),
        last_failure_reason: Some("rate_limit".into()),
        not_running_after_seconds: 180,
    };
    assert_eq!(
        judge(&failing).0.text,
        "Running, but nothing succeeds since 14:02 · 131 waiting, oldest 12 min (429 rate_limit)"
    );
    let mut recent_success = failing.clone();
    recent_success.recent.last_success_at = Some(before(100));
    assert_eq!(judge(&recent_success).0.state, VerdictState::Running);
    let mut nineteen = failing.clone();
    nineteen.recent.failed = 19;
    assert_eq!(judge(&nineteen).0.state, VerdictState::Running);
}

#[test]
fn failing_needs_work_that_goes_on() {
    let mut quiet = snapshot(vec![KindSnapshot { retrying: 1, ..due("a", 0, 0, Some(181)) }]);
    quiet.kinds[0].oldest_due_at = None;
    quiet.kinds[0].oldest_unheld_due_at = None;
    quiet.recent = RecentAttempts {
        ended: 20,
        failed: 20,
        not_running_after_seconds: 180,
        oldest_ended_at: Some(before(900)),
        ..RecentAttempts::default()
    };
    assert_eq!(judge(&quiet).0.state, VerdictState::Idle, "a retry that waits is no work");
    let mut morning = quiet.clone();
    morning.kinds[0] = due("a", 1, 0, Some(50_000));
    assert_eq!(judge(&morning).0.state, VerdictState::Running, "one job after an idle night");
    quiet.kinds[0].last_worked_at = Some(before(179));
    assert_eq!(judge(&quiet).0.state, VerdictState::Failing);
}

#[test]
fn no_name_breaks_the_line() {
    let hostile = "x\nIdle · nothing waiting\u{1b}[2J\u{202e}";
    let (verdict, kinds) = judge(&snapshot(vec![due("fine", 3, 60, Some(2)), due(hostile, 18, 1_860, Some(560))]));
    for text in [&verdict.text, &kinds[1].text] {
        assert!(!text.chars().any(|c| c.is_control() || c == '\u{202e}'), "{text:?}");
    }
    assert!(verdict.text.starts_with("Running, except x\u{fffd}Idle"), "{}", verdict.text);
}

#[test]
fn not_running_says_what_to_look_at() {
    let mut stopped = snapshot(vec![due("a", 9, 725, Some(250))]);
    stopped.workers = vec![WorkerSeen {
        worker: "w-eu-1".into(),
        last_seen_at: before(4),
        last_claim_at: Some(before(250)),
        holds: 0,
        lease_expired: 0,
        next_lease_expires_at: None,
        last_claim_was_empty: true,
    }];
    stopped.refused_polls_last_minutes = 3;
    stopped.ticks = vec![Tick { trigger: "cron".into(), every_seconds: 60, last_at: before(250) }];
    assert_eq!(
        judge(&stopped).0.why,
        [
            "last claim 4 min ago by w-eu-1",
            "1 worker still polls and gets nothing",
            "3 claims refused (401) in the last 5 min",
            "trigger cron last ticked 4 min ago, expected every 1 min",
        ]
    );
}

#[test]
fn unknown_names_the_time_and_says_why() {
    let since = "2026-07-02T14:02:11Z".parse().unwrap();
    let [away, broken] = [NoReading::Unreachable, NoReading::DatabaseError].map(|why| Verdict::unknown(since, why));
    for verdict in [&away, &broken] {
        assert_eq!(verdict.text, "Unknown · database unreachable since 14:02:11 UTC", "other programs match this");
        assert!(!verdict.state.is_well());
    }
    assert!(broken.why[0].contains("answers with an error") && away.why != broken.why, "{:?}", broken.why);
}
