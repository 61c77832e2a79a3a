//! What a person finds in the panel, whatever the workers sent.

use super::panel_html;
use crate::error::StoreError;
use crate::model::classify::Category;
use crate::model::ids::{DeadLetterId, JobId};
use crate::model::reading::{Failure, KindSnapshot, Pause, RecentAttempts, Snapshot, Tick, WorkerSeen};
use crate::panel::{PanelMemory, PanelView};
use chrono::{DateTime, TimeDelta, Utc};
use rstest::rstest;

const HOSTILE: &str = r#"</td></tr></table><script>1</script>"><img src=x onerror="alert(1)">"#;

fn now() -> DateTime<Utc> {
    "2026-11-30T14:07:31Z".parse().unwrap()
}

fn ago(seconds: i64) -> DateTime<Utc> {
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
        last_worked_at: Some(ago(20)),
        last_claimed_at: Some(ago(20)),
        hold_ended_at: None,
        paused: None,
        not_running_after_seconds: 180,
        full_claim: None,
    }
}

fn due(name: &str, count: i64, since_seconds: i64, worked_seconds: i64) -> KindSnapshot {
    KindSnapshot {
        due: count,
        oldest_due_at: Some(ago(since_seconds)),
        oldest_unheld_due_at: Some(ago(since_seconds)),
        last_worked_at: Some(ago(worked_seconds)),
        last_claimed_at: Some(ago(worked_seconds)),
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

fn failure(kind: &str, error: &str) -> Failure {
    Failure {
        job_id: JobId(7),
        kind: kind.to_owned(),
        at: ago(19),
        attempt: 3,
        max_attempts: 3,
        category: Some(Category::Transient),
        reason: Some("rate_limit".to_owned()),
        http_status: Some(429),
        error: error.to_owned(),
        next_run_at: None,
        is_final: true,
        dead_letter_id: Some(DeadLetterId(12)),
    }
}

fn worker(name: &str) -> WorkerSeen {
    WorkerSeen {
        worker: name.to_owned(),
        last_seen_at: ago(120),
        last_claim_at: Some(ago(120)),
        holds: 4,
        lease_expired: 1,
        next_lease_expires_at: Some(now() + TimeDelta::seconds(185)),
        last_claim_was_empty: false,
    }
}

fn fresh(snapshot: Snapshot) -> PanelView {
    PanelMemory::default().view_of(Ok(snapshot))
}

fn html(snapshot: Snapshot) -> String {
    panel_html(&fresh(snapshot))
}

/// What a person reads: tags away, the few references back to characters.
fn text_of(html: &str) -> String {
    let mut text = String::new();
    for piece in html.split('<') {
        text.push_str(piece.split_once('>').map_or(piece, |(_, text)| text));
        text.push('\u{1}');
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#10;", "\n");
    text.replace('\u{1}', " ")
        .replace("&amp;", "&")
        .split(' ')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn failing() -> Snapshot {
    Snapshot {
        recent: RecentAttempts {
            ended: 20,
            failed: 20,
            oldest_ended_at: Some(ago(900)),
            last_success_at: Some(ago(400)),
            last_http_status: Some(429),
            last_failure_reason: Some("rate_limit".to_owned()),
            not_running_after_seconds: 180,
        },
        ..snapshot(vec![due("a", 5, 60, 10)])
    }
}

fn paused() -> Snapshot {
    snapshot(vec![KindSnapshot {
        held: 131,
        oldest_due_at: Some(ago(720)),
        paused: Some(Pause { by: "mila".to_owned(), since: ago(7_200) }),
        ..kind("a")
    }])
}

#[rstest]
#[case(snapshot(vec![kind("a")]), "idle", "○ Idle · nothing waiting, last worked 20 s ago")]
#[case(snapshot(vec![due("a", 131, 720, 20)]), "running", "● Running · 131 waiting, oldest 12 min, last worked 20 s ago")]
#[case(
    snapshot(vec![due("a", 18, 540, 540), due("b", 2, 8, 4)]),
    "running_except",
    "▲ Running, except a: 18 waiting, none claimed for 9 min"
)]
#[case(
    snapshot(vec![due("a", 131, 720, 240)]),
    "not_running",
    "■ Not running? · 131 waiting, oldest 12 min, nothing claimed for 4 min"
)]
#[case(failing(), "failing", "▲ Running, but nothing succeeds since 14:00 · 5 waiting, oldest 1 min (429 rate_limit)")]
#[case(paused(), "paused", "‖ Paused · 131 waiting, oldest 12 min, paused by mila 2 h ago")]
fn the_line_comes_first_with_word_and_shape(#[case] snapshot: Snapshot, #[case] state: &str, #[case] line: &str) {
    let html = html(snapshot);
    assert!(html.contains(&format!("data-state=\"{state}\"")), "{html}");
    assert!(text_of(&html).trim_start().starts_with(line), "{}", text_of(&html));
}

#[test]
fn an_unreachable_database_keeps_the_old_numbers_and_says_so() {
    let memory = PanelMemory::default();
    memory.view_of(Ok(snapshot(vec![due("a", 131, 720, 20)])));
    let html = panel_html(&memory.view_of(Err(StoreError::Unavailable("gone".to_owned()))));
    assert!(html.contains("data-state=\"unknown\"") && html.contains("data-old"), "{html}");
    assert!(html.contains("data-clock=\"14:07:31 UTC\""), "{html}");
    let text = text_of(&html);
    assert!(text.contains("Unknown · database unreachable since 14:07:31 UTC"), "{text}");
    assert!(text.contains("a 131 0"), "{text}");
}

#[test]
fn before_the_first_reading_there_are_no_numbers_at_all() {
    let html = panel_html(&PanelMemory::default().view_of(Err(StoreError::Unavailable("gone".to_owned()))));
    assert!(!html.contains("<table"), "{html}");
    assert!(text_of(&html).contains("No numbers have been read"), "{html}");
}

#[test]
fn every_count_stands_in_the_row_and_in_the_sum() {
    let many = KindSnapshot {
        due: 131,
        held: 2,
        scheduled: 3,
        retrying: 4,
        in_progress: 5,
        lease_expired: 6,
        lost: 1,
        done_last_hour: 218,
        failed_last_day: 98,
        refused_last_day: 12,
        evidence_failed_last_day: 7,
        dropped_last_day: 9,
        oldest_due_at: Some(ago(720)),
        ..kind("moderate-image")
    };
    let other = KindSnapshot { due: 1, done_last_hour: 2, ..kind("z") };
    let text = text_of(&html(snapshot(vec![many, other])));
    assert!(
        text.contains("moderate-image 131 2 3 4 5 6 lease expired 1 of them lost 218 98 12 7 9 12 min 20 s ago"),
        "{text}"
    );
    assert!(
        text.contains("all kinds 132 2 3 4 5 6 lease expired 1 of them lost 220 98 12 7 9 12 min 20 s ago"),
        "{text}"
    );
    for header in ["Due", "Held", "Done 1 h", "Failed 24 h", "Refused 24 h", "Evidence 24 h", "Dropped 24 h"] {
        assert!(text.contains(header), "{header}: {text}");
    }
}

#[test]
fn nothing_that_was_sent_becomes_markup() {
    let html = html(Snapshot {
        failures: vec![failure(HOSTILE, HOSTILE)],
        workers: vec![worker(HOSTILE)],
        ticks: vec![Tick { trigger: HOSTILE.to_owned(), every_seconds: 60, last_at: ago(5) }],
        ..snapshot(vec![due(HOSTILE, 18, 540, 540), due("b", 2, 8, 4)])
    });
    assert!(!html.contains("<img") && !html.contains("<script"), "{html}");
    assert!(!html.contains("\"><img") && html.contains("&lt;img src=x"), "{html}");
    assert!(html.contains("/jobs?kind=%3C%2Ftd%3E"), "{html}");
    assert_eq!(html.matches("<table").count(), html.matches("</table>").count());
}

#[test]
fn a_long_error_is_cut_before_a_character_and_folds_open() {
    for tail in ["😀 and more", "é and more", "กำ and more", "<b onmouseover=x> and more"] {
        let error = format!("{}{tail}", "a".repeat(199));
        let html = html(Snapshot { failures: vec![failure("k", &error)], ..snapshot(vec![kind("k")]) });
        let first = tail.chars().next().unwrap();
        let text = text_of(&html);
        assert!(text.contains(&format!("{}{first}… ", "a".repeat(199))), "{text}");
        assert!(text.contains(&error), "whole text within: {text}");
        assert!(!html.contains("<b onmouseover"), "{html}");
    }
}

#[test]
fn failures_say_which_attempt_and_whether_it_runs_again() {
    let again = Failure {
        next_run_at: Some(now() + TimeDelta::seconds(240)),
        is_final: false,
        attempt: 1,
        dead_letter_id: None,
        ..failure("extract-invoice", "429 rate limit exceeded")
    };
    let text = text_of(&html(Snapshot {
        failures: vec![failure("moderate-image", "service unavailable"), again],
        ..snapshot(vec![kind("moderate-image")])
    }));
    assert!(text.contains("14:07:12 UTC moderate-image attempt 3 of 3, final → letter service unavailable"), "{text}");
    assert!(text.contains("extract-invoice attempt 1 of 3, again in 4 min → job 429 rate limit exceeded"), "{text}");
}

#[test]
fn who_works_is_told_by_name_with_leases() {
    let idle = WorkerSeen { holds: 0, lease_expired: 0, last_claim_was_empty: true, ..worker("a-poller") };
    let text = text_of(&html(Snapshot {
        workers: vec![worker("w-eu-2"), idle],
        late_answers_last_day: 2,
        unresolved_dead_letters: 14,
        ..snapshot(vec![kind("k")])
    }));
    let at = |needle: &str| text.find(needle).unwrap_or_else(|| panic!("{needle} in {text}"));
    assert!(
        at("a-poller seen 2 min ago polls and gets nothing") < at("w-eu-2 seen 2 min ago holds 4, lease ends in 3 min")
    );
    assert!(text.contains("▲ 1 lease expired") && text.contains("late answers refused in 24 h: 2"), "{text}");
    assert!(text.contains("14 dead letters wait for a person"), "{text}");
    assert!(!text.contains("follow-up") && !text.contains("notice"), "{text}");
}

#[test]
fn what_else_needs_somebody_leads_to_it() {
    let with = |due_follow_ups, stuck_notices| Snapshot { due_follow_ups, stuck_notices, ..snapshot(vec![kind("k")]) };
    let one = html(with(1, 1));
    assert!(text_of(&one).contains("1 follow-up due. 1 notice is not sent."), "{}", text_of(&one));
    assert!(one.contains("href=\"/follow-ups\"") && one.contains("href=\"/outbox\""), "{one}");
    let many = text_of(&html(with(3, 2)));
    assert!(many.contains("3 follow-ups due. 2 notices are not sent."), "{many}");
}

#[test]
fn the_panel_is_one_line_and_valid_tables() {
    let html = html(Snapshot {
        failures: vec![failure("k", "first\r\nsecond\nthird")],
        workers: vec![worker("w")],
        ..snapshot(vec![kind("k")])
    });
    assert!(!html.contains(['\n', '\r']), "{html}");
    assert!(html.contains("first&#13;&#10;second&#10;third"), "{html}");
    assert_eq!(html.matches("<table").count(), html.matches("<tbody").count());
    assert!(!html.contains(" style="), "{html}");
}

#[test]
fn an_empty_database_is_none_yet_and_no_alarm() {
    let html = html(snapshot(Vec::new()));
    let text = text_of(&html);
    assert!(text.contains("No job has been enqueued yet") && text.contains("Idle"), "{text}");
    assert!(!html.contains("<table"), "{html}");
}

#[test]
fn the_title_carries_the_line_and_its_time() {
    let html = html(snapshot(vec![due("a", 131, 720, 20)]));
    let title = "Running · 131 waiting, oldest 12 min, last worked 20 s ago · 14:07:31 UTC · Drainboard";
    assert!(html.contains(&format!("data-title=\"{title}\"")), "{html}");
}
