//! What pages show of what a store answers: escaped, masked, exact.

use super::dead_letter::Beside;
use super::{dead_letter, dead_letters, refusals};
use crate::components::markup::markup;
use crate::components::verdict_line::escaped;
use crate::model::customer_notice::CustomerNotice;
use crate::model::follow_up::{FollowUp, FollowUpFilter, FollowUpPage, FollowUpShare};
use crate::model::ids::{DeadLetterId, FollowUpId, JobId, NoticeId, UserId};
use crate::model::job::RawJson;
use crate::model::letter::{DeadLetter, DeadLetterDetail, LetterStatus, LetterTotals, Resolution, Route};
use crate::model::letter_filter::{LetterFilter, StatusFilter};
use crate::model::letter_group::{CountedLetterPage, GroupPage, LetterCounts, LetterGroup, TREND_DAYS};
use crate::model::outbox::{NoticeFilter, NoticePage, OutboxNotice};
use crate::model::park_rate::{ParkCount, ParkRateQuery, ParkRateRow};
use crate::model::people::{Role, Viewer};
use crate::model::recovery::{RecoveryAction, RecoveryOption};
use crate::model::workflow::{Parked, built_in, recovery_options};
use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

const HOSTILE: &str = r#"</pre></script><script>1</script>"><img src=x onerror="alert(1)">"#;

fn now() -> DateTime<Utc> {
    "2026-11-30T14:07:31Z".parse().unwrap()
}

fn viewer(role: Role) -> Viewer {
    Viewer { user_id: UserId(1), name: "mila".to_owned(), role }
}

fn letter(text: &str) -> DeadLetter {
    DeadLetter {
        id: DeadLetterId(9_007_199_254_740_993),
        job_id: JobId(7),
        kind: text.to_owned(),
        source: text.to_owned(),
        tenant: Some(text.to_owned()),
        route: Route::RefusedByAgent,
        reason_code: Some("MISSING_REQUIRED_FIELD".to_owned()),
        failure_reason: None,
        field: Some(text.to_owned()),
        evidence: Some(text.to_owned()),
        error: None,
        category: None,
        http_status: None,
        error_code: None,
        status: LetterStatus::Open,
        taken: None,
        resolution: None,
        dead_lettered_at: now() - TimeDelta::minutes(12),
        group: text.to_owned(),
        version: 3,
        recovery_options: options(LetterStatus::Open),
    }
}

/// What the built-in workflow offers.
fn options(status: LetterStatus) -> Vec<RecoveryOption> {
    let route = Route::RefusedByAgent;
    let parked = Parked { kind: "k", route, reason_code: None, failure_reason: None, evidence: None, error: None };
    recovery_options(&built_in(), &parked, status)
}

fn detail(letter: DeadLetter) -> DeadLetterDetail {
    DeadLetterDetail {
        letter,
        payload: Some(RawJson::stored(r#"{"id":9007199254740993,"e":1e400,"iban":"DE8937"}"#.to_owned())),
        payload_ref: None,
        upstream_handoffs: Some(RawJson::stored(
            r#"[{"agent":"pdf-splitter","version":"1.4.2","note":"pages_emitted=1 of 2"}]"#.to_owned(),
        )),
        envelope: Some(RawJson::stored(r#"{"model":{"id":"m"},"secret":"DE8937"}"#.to_owned())),
        trace_id: None,
        misses: Vec::new(),
        attempt_history: Vec::new(),
        replays: Vec::new(),
        decisions: Vec::new(),
        notice: None,
        follow_up: None,
        related_payloads: Vec::new(),
        as_of: now(),
    }
}

fn notice(text: &str) -> OutboxNotice {
    OutboxNotice {
        id: NoticeId(7),
        dead_letter_id: DeadLetterId(8),
        notice: CustomerNotice {
            recipient: format!("to {text}"),
            subject: format!("subject {text}"),
            body: format!("body {text}"),
            next_action: format!("next {text}"),
            when: format!("when {text}"),
        },
        by: text.to_owned(),
        at: now() - TimeDelta::minutes(12),
        sent_at: None,
        sent_by: None,
        sent_note: Some(format!("note {text}")),
        tries: 1,
        next_try_at: Some(now() - TimeDelta::minutes(12)),
        failed_at: None,
        last_error: Some(text.to_owned()),
    }
}

fn follow_up(text: &str) -> FollowUp {
    FollowUp {
        id: FollowUpId(7),
        dead_letter_id: DeadLetterId(8),
        kind: text.to_owned(),
        text: text.to_owned(),
        owner: text.to_owned(),
        due: now().date_naive(),
        by: text.to_owned(),
        at: now(),
        done_at: None,
        done_by: Some(text.to_owned()),
        done_note: Some(text.to_owned()),
    }
}

fn page(letters: Vec<DeadLetter>, totals: LetterTotals) -> CountedLetterPage {
    let counts = LetterCounts {
        totals,
        by_age: [3, 0, 1, 0],
        by_reason: vec![("MISSING_REQUIRED_FIELD".to_owned(), 9)],
        more_reasons: 2,
        failures: 5,
    };
    CountedLetterPage { letters, next: None, counts: Some(counts), as_of: now() }
}

fn group(text: &str) -> LetterGroup {
    LetterGroup {
        key: text.to_owned(),
        kind: text.to_owned(),
        route: Route::Exception,
        reason_code: None,
        failure_reason: Some(text.to_owned()),
        field: None,
        error: Some(text.to_owned()),
        letters: 9,
        first_seen: now() - TimeDelta::days(3),
        last_seen: now() - TimeDelta::minutes(12),
        per_day: [0; TREND_DAYS],
        sources: vec![(text.to_owned(), 8)],
        more_sources: 1,
        of_any_status: 12,
        resolved: 3,
    }
}

fn groups(groups: Vec<LetterGroup>, filter: &LetterFilter) -> String {
    let page = GroupPage { groups, next: None, counts: Some(LetterCounts::default()), as_of: now() };
    markup(dead_letters::groups(&page, filter, &viewer(Role::Reviewer), false))
}

fn open() -> LetterFilter {
    LetterFilter { status: Some(StatusFilter::Open), limit: 50, ..LetterFilter::default() }
}

fn list(page: &CountedLetterPage, filter: &LetterFilter, role: Role) -> String {
    markup(dead_letters::list(page, filter, &viewer(role)))
}

#[test]
fn nothing_that_was_sent_becomes_markup() {
    let filter = LetterFilter { kind: Some(HOSTILE.to_owned()), ..open() };
    let found = page(vec![letter(HOSTILE)], LetterTotals::default());
    for html in [
        list(&found, &filter, Role::Reviewer),
        groups(vec![group(HOSTILE)], &filter),
        markup(dead_letter::contents(&detail(letter(HOSTILE)), &viewer(Role::Reviewer), false, &Beside::default())),
    ] {
        assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
        assert!(html.contains("&lt;img src=x"), "{html}");
    }
    assert_eq!(escaped("a<b>&c</title><script>"), "a&lt;b&gt;&amp;c&lt;/title&gt;&lt;script&gt;");
}

/// What breaks out of texts, attributes and text areas, hides, or has no end.
fn hostile_texts() -> Vec<String> {
    let breaks = ["</textarea>", "</script>", "</pre>", "\">", "'>", "-->", "<!--", "]]>", "</title>", "\\\">"];
    let calls = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>"];
    let mut texts: Vec<String> =
        breaks.iter().flat_map(|b| calls.iter().map(move |call| format!("{b}{call}"))).collect();
    texts.extend(
        ["\u{202e}<b>", "\0<i>", "\u{200f}<u>", "\u{2066}<s>", "\n</textarea><form>", "&lt;<p>"].map(str::to_owned),
    );
    texts.extend(["\r\n<a>", "\u{feff}<em>", "{kind}<h1>"].map(str::to_owned));
    texts.push(format!("{}<hr>", "x".repeat(64 * 1024)));
    texts
}

#[test]
fn no_text_breaks_out_of_any_page_of_a_letter() {
    let texts = hostile_texts();
    assert!(texts.len() >= 40);
    for text in texts {
        let payload = serde_json::json!({ text.as_str(): text, "list": [text, text], "email": "a@x" });
        let mut parked = detail(letter(&text));
        parked.payload = Some(crate::model::job::RawJson::stored(payload.to_string()));
        let fields = ["payload", "payloads", "note", "owner", "due", "v0", "name0"];
        let fields = fields.iter().map(|name| ((*name).to_owned(), text.clone())).collect();
        let posted = crate::api::Posted { fields: std::sync::Arc::new(fields), sentence: Some(text.clone()) };
        let policy = crate::model::letter_policy::LetterPolicy::default();
        for again in [None, Some(&posted)] {
            for html in [
                markup(dead_letter::contents(&parked, &viewer(Role::Reviewer), true, &Beside::default())),
                markup(super::letter_work::correct(&parked, again)),
                markup(super::letter_work::split(&parked, again, None)),
                markup(super::letter_work::notice(&parked, &policy, again)),
                markup(super::letter_work::follow_up(&parked, again, &text, &[&text])),
            ] {
                for tag in ["<script", "<img", "<svg", "<hr>", "<em>", "<s>", "<form>", "<h1>", "<!--"] {
                    assert!(!html.contains(tag), "{tag} of {text:?}");
                }
                let areas = (html.matches("<textarea").count(), html.matches("</textarea>").count());
                assert_eq!(areas.0, areas.1, "{text:?}");
            }
        }
    }
}

#[test]
fn no_text_breaks_out_of_the_outbox_and_the_follow_ups() {
    for text in hostile_texts() {
        let (notices, left) = (vec![notice(&text)], vec![follow_up(&text)]);
        let filter = NoticeFilter { share: None, after: None, limit: 50 };
        let page = NoticePage { notices, next: None, waiting: 1, failed: 0, as_of: now() };
        let left = FollowUpPage { follow_ups: left, next: None, as_of: now() };
        let asked = FollowUpFilter { share: FollowUpShare::All, viewer: text.clone(), after: None, limit: 50 };
        let fields = vec![("id".to_owned(), "7".to_owned()), ("note".to_owned(), text.clone())];
        let posted = crate::api::Posted { fields: std::sync::Arc::new(fields), sentence: Some(text.clone()) };
        for html in [
            markup(super::outbox::contents(&page, &filter, true, true)),
            markup(super::outbox_notice::contents(&notice(&text), now(), true, true, Some(&posted))),
            markup(super::follow_ups::contents(&left, &asked, &viewer(Role::Reviewer), Some(&posted))),
        ] {
            for tag in ["<script", "<img", "<svg", "<hr>", "<em>", "<s>", "<form>", "<h1>", "<!--"] {
                assert!(!html.contains(tag), "{tag} of {text:?}");
            }
        }
    }
}

#[test]
fn whom_a_notice_goes_to_and_what_it_says_is_hidden_from_on_call() {
    let one = notice("DE8937");
    let filter = NoticeFilter { share: None, after: None, limit: 50 };
    let page = NoticePage { notices: vec![one.clone()], next: None, waiting: 1, failed: 0, as_of: now() };
    for (may_see, shown) in [(true, true), (false, false)] {
        let list = markup(super::outbox::contents(&page, &filter, may_see, false));
        assert_eq!(list.contains("to DE8937"), shown, "{list}");
        let whole = markup(super::outbox_notice::contents(&one, now(), may_see, false, None));
        for part in ["to DE8937", "subject DE8937", "body DE8937", "next DE8937", "when DE8937", "note DE8937"] {
            assert_eq!(whole.contains(part), shown, "{part}: {whole}");
        }
    }
}

#[test]
fn a_notice_says_where_it_stands_in_word_and_shape() {
    let waiting = OutboxNotice { tries: 0, last_error: None, ..notice("x") };
    let later = Some(now() + TimeDelta::minutes(4));
    for (one, stands, when) in [
        (waiting.clone(), "○</i> not sent yet", "waits since"),
        (OutboxNotice { tries: 2, next_try_at: later, ..waiting.clone() }, "◐</i> tried again", "in 4 min"),
        (OutboxNotice { tries: 9, failed_at: Some(now()), ..waiting.clone() }, "■</i> failed", "given up"),
        (OutboxNotice { sent_at: Some(now()), ..waiting.clone() }, "●</i> sent", "by the webhook"),
        (OutboxNotice { sent_at: Some(now()), sent_by: Some("ada".into()), ..waiting }, "●</i> sent", "by hand, by"),
    ] {
        let html = markup(super::outbox_notice::contents(&one, now(), true, true, None));
        assert!(html.contains(stands) && html.contains(when), "{stands}: {html}");
        assert_eq!(html.contains("Mark as sent by hand"), one.sent_at.is_none(), "{html}");
        let can_hurry = one.failed_at.is_some() || (one.sent_at.is_none() && one.next_try_at == later);
        assert_eq!(html.contains("Try again now"), can_hurry, "{html}");
    }
}

#[test]
fn a_letter_that_a_check_parked_says_what_the_check_found() {
    let miss = crate::model::evidence::Miss {
        rule: "value_in_quote".to_owned(),
        field: "cur<b>rency".to_owned(),
        reason_code: "MISSING_REQUIRED_FIELD".to_owned(),
        said: "the value does not stand in its quote".to_owned(),
    };
    let parked = DeadLetterDetail { misses: vec![miss], ..detail(letter("k")) };
    for role in [Role::OnCall, Role::Reviewer] {
        let html = markup(dead_letter::contents(&parked, &viewer(role), true, &Beside::default()));
        assert!(html.contains("the value does not stand in its quote") && html.contains("value_in_quote"), "{html}");
        assert!(html.contains("cur&lt;b&gt;rency"), "{html}");
    }
}

#[test]
fn buttons_say_what_they_do_and_only_to_those_who_may_press_them() {
    let found = page(vec![letter("k")], LetterTotals { open: 1, ..LetterTotals::default() });
    let html = list(&found, &open(), Role::Reviewer);
    for action in [RecoveryAction::ApproveAndReplay, RecoveryAction::RejectAndClose] {
        assert!(html.contains(&format!("value=\"{}\"", action.as_str())), "{html}");
        assert!(html.contains(action.consequence()), "{html}");
    }
    assert!(html.contains("action=\"/dead-letters/9007199254740993/actions\""), "{html}");
    assert!(html.contains("name=\"version\" value=\"3\"") && html.contains("name=\"note\""), "{html}");

    let html = list(&found, &open(), Role::OnCall);
    assert!(!html.contains("method=\"post\"") && !html.contains("type=\"checkbox\""), "{html}");
    assert!(html.contains("Recovery needs the role reviewer"), "{html}");
}

#[test]
fn a_resolved_letter_says_who_and_why_and_offers_nothing() {
    let resolved = DeadLetter {
        status: LetterStatus::Resolved,
        recovery_options: options(LetterStatus::Resolved),
        resolution: Some(Resolution {
            action: RecoveryAction::RejectAndClose,
            by: "ada".to_owned(),
            at: now(),
            note: Some("the page is missing".to_owned()),
        }),
        ..letter("k")
    };
    let html = markup(dead_letter::contents(&detail(resolved), &viewer(Role::Admin), false, &Beside::default()));
    assert!(html.contains("resolved") && html.contains("ada") && html.contains("the page is missing"), "{html}");
    assert!(!html.contains("<form"), "{html}");
}

#[test]
fn payload_and_envelope_are_exact_for_reviewers_and_hidden_from_on_call() {
    let detail = detail(letter("k"));
    let seen = markup(dead_letter::contents(&detail, &viewer(Role::Reviewer), false, &Beside::default()));
    assert!(seen.contains(r#"<pre tabindex="0">{"id":9007199254740993,"e":1e400,"iban":"DE8937"}</pre>"#), "{seen}");
    let hidden = markup(dead_letter::contents(&detail, &viewer(Role::OnCall), false, &Beside::default()));
    assert!(!hidden.contains("DE8937") && hidden.contains("Hidden: payloads are shown to reviewers"), "{hidden}");
    assert!(hidden.contains("<mark>pages_emitted=1 of 2</mark>"), "{hidden}");
}

#[test]
fn evidence_is_a_piece_of_the_payload_and_hidden_from_on_call() {
    let quoted = || DeadLetter { evidence: Some("IBAN DE8937 0440".to_owned()), ..letter("k") };
    let found = page(vec![quoted()], LetterTotals { open: 1, ..LetterTotals::default() });
    for (role, is_shown) in [(Role::OnCall, false), (Role::Reviewer, true), (Role::Admin, true)] {
        let whole = markup(dead_letter::contents(&detail(quoted()), &viewer(role), false, &Beside::default()));
        let row = list(&found, &open(), role);
        for html in [whole, row] {
            assert_eq!(html.contains("DE8937 0440"), is_shown, "{html}");
            assert_eq!(html.contains("Hidden: payloads are shown to reviewers"), !is_shown, "{html}");
        }
    }
}

#[test]
fn an_empty_list_says_why_it_is_empty() {
    let resolved = LetterTotals { resolved: 391, ..LetterTotals::default() };
    let narrowed = LetterFilter { kind: Some("k".to_owned()), ..open() };
    for (totals, filter, sentence) in [
        (LetterTotals::default(), open(), "No job has been parked yet."),
        (resolved, open(), "Nothing waits for a person; 391 resolved so far."),
        (resolved, narrowed, "No letter matches these filters."),
    ] {
        let html = list(&page(Vec::new(), totals), &filter, Role::OnCall);
        assert!(html.contains(sentence), "{sentence}: {html}");
    }
}

#[test]
fn a_filter_can_be_taken_away_alone_or_with_all_others() {
    let filter = LetterFilter { kind: Some("a/b".to_owned()), reason: Some("X".to_owned()), ..open() };
    let html = list(&page(Vec::new(), LetterTotals::default()), &filter, Role::OnCall);
    assert!(html.contains("href=\"/dead-letters?status=open&amp;reason=X&amp;view=list\""), "without the kind: {html}");
    assert!(
        html.contains("href=\"/dead-letters?status=open&amp;kind=a%2Fb&amp;view=list\""),
        "without the reason: {html}"
    );
    assert!(html.contains("href=\"/dead-letters?status=open&amp;view=list\">Clear all"), "{html}");
}

#[test]
fn counts_lead_to_the_letters_they_count() {
    let totals = LetterTotals { open: 14, taken: 2, resolved: 391 };
    let html = list(&page(vec![letter("k")], totals), &open(), Role::OnCall);
    for link in [
        "<a href=\"/dead-letters?status=unresolved&amp;view=list\">unresolved <b>16</b></a>",
        "<a href=\"/dead-letters?status=open&amp;view=list\" aria-current=\"true\">open <b>14</b></a>",
        "<a href=\"/dead-letters?status=all&amp;view=list\">all <b>407</b></a>",
        "<a href=\"/dead-letters?status=open&amp;age=under_1h&amp;view=list\">under 1 h <b>3</b></a>",
        "<a href=\"/dead-letters?status=open&amp;reason=MISSING_REQUIRED_FIELD&amp;view=list\">\
         MISSING_REQUIRED_FIELD <b>9</b></a>",
        "<a href=\"/export/dead-letters.csv?status=open\">CSV</a>",
    ] {
        assert!(html.contains(link), "{link}: {html}");
    }
    assert!(html.contains("over 7 d 0</span>"), "nothing to follow where nothing is: {html}");
    assert!(html.contains("2 more"), "{html}");
}

#[test]
fn a_group_is_one_line_with_its_trend_in_words_and_opens_as_a_list() {
    let seen = LetterGroup { error: Some("429 rate limit".to_owned()), key: "00ff".to_owned(), ..group("k") };
    let html = groups(vec![seen], &open());
    assert!(
        html.contains("href=\"/dead-letters?status=open&amp;group=00ff&amp;view=list\"><bdi>… rate limit</bdi></a>"),
        "{html}"
    );
    assert!(html.contains("9 letters") && html.contains("25 % of 12 resolved"), "{html}");
    assert!(html.contains("aria-label=\"Per day, the last 14 days, today last: 0, 0, 0"), "{html}");
    assert!(html.contains(", 1 more") && !html.contains("style="), "{html}");
}

#[test]
fn a_row_can_be_ticked_by_who_may_act_and_while_there_is_something_to_do() {
    let found = page(vec![letter("k")], LetterTotals::default());
    let html = list(&found, &open(), Role::Reviewer);
    assert!(html.contains("name=\"ids\" value=\"9007199254740993:3\" form=\"bulk\" autocomplete=\"off\""), "{html}");
    assert!(html.contains("data-as-of=\"14:07:31\""), "{html}");
    let resolved = DeadLetter { status: LetterStatus::Resolved, recovery_options: Vec::new(), ..letter("k") };
    let html = list(&page(vec![resolved], LetterTotals::default()), &open(), Role::Reviewer);
    assert!(!html.contains("type=\"checkbox\"") && !html.contains("<details"), "{html}");
}

fn rate(code: Option<&str>, parked: i64, processed: i64) -> ParkRateRow {
    let day = NaiveDate::from_ymd_opt(2026, 11, 30).unwrap();
    ParkCount { source: None, reason_code: code.map(str::to_owned), day, processed, parked }.into()
}

#[test]
fn the_table_has_the_numbers_of_the_chart_and_leads_to_the_letters() {
    let rows = [rate(Some("MISSING_REQUIRED_FIELD"), 9, 100), rate(Some("AMBIGUOUS_VALUE"), 3, 100)];
    let html = markup(refusals::contents(&rows, &ParkRateQuery::default()));
    assert!(html.contains("class=\"number\">9.00 %</td>") && html.contains("class=\"number\">12.00 %</td>"), "{html}");
    assert!(html.contains("7.00 – 19.81 %"), "Wilson of 12/100: {html}");
    assert!(html.contains("\"data\":[9.0]") && html.contains("\"data\":[3.0]"), "the chart says the same: {html}");
    assert!(
        html.contains(
            "/dead-letters?status=all&amp;reason_code=MISSING_REQUIRED_FIELD&amp;day=2026-11-30&amp;view=list"
        ),
        "{html}"
    );
    assert!(html.contains("data-chart"), "{html}");
}

#[test]
fn a_hostile_reason_code_ends_neither_script_nor_cell() {
    let html = markup(refusals::contents(&[rate(Some(HOSTILE), 1, 1)], &ParkRateQuery::default()));
    assert_eq!(html.matches("<script").count(), 1, "only the options: {html}");
    assert_eq!(html.matches("</script").count(), 1, "{html}");
    assert!(!html.contains("<img"), "{html}");
}

#[test]
fn nothing_processed_is_no_rate_of_zero() {
    let html = markup(refusals::contents(&[], &ParkRateQuery::default()));
    assert!(html.contains("that is not the same as zero") && !html.contains("0.00 %"), "{html}");
}
