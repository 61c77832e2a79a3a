//! What is refused as malformed, what names a field, and what is read all the same.

use super::super::dead_letters::act::ActionBody;
use super::super::jobs::claim::ClaimBody;
use super::super::jobs::done::DoneBody;
use super::super::jobs::enqueue::EnqueueBody;
use super::super::jobs::fail::FailBody;
use super::super::jobs::refuse::RefuseBody;
use super::*;
use rstest::rstest;

fn fault<T: DeserializeOwned + fmt::Debug>(body: &str) -> (String, String) {
    match parse::<T>(body.as_bytes()) {
        Err(ApiError::Invalid(error)) => (error.field, error.rule),
        other => panic!("{body}: {other:?}"),
    }
}

#[rstest]
#[case("", "EOF")]
#[case("{", "EOF")]
#[case("{\"jobs\":[}", "expected value")]
#[case("{} {}", "trailing characters")]
#[case("{\"jobs\":[{\"kind\":7}", "EOF")]
#[case("[]", "must be a JSON object")]
#[case("null", "must be a JSON object")]
#[case("\"{}\"", "must be a JSON object")]
#[case("nonsense", "expected ident")]
fn what_is_no_json_object_is_malformed(#[case] body: &str, #[case] says: &str) {
    match parse::<EnqueueBody>(body.as_bytes()) {
        Err(ApiError::Malformed(message)) => assert!(message.contains(says), "{message}"),
        other => panic!("{body}: {other:?}"),
    }
}

#[rstest]
#[case(r#"{}"#, "jobs", "is required")]
#[case(r#"{"jobs":[]}"#, "jobs", "must not be empty")]
#[case(r#"{"jobs":{}}"#, "jobs", "invalid type: map, expected a list of 1 to 10000 items")]
#[case(r#"{"jobs":[["k","s"]]}"#, "jobs[0]", "invalid type: sequence, expected an object")]
#[case(r#"{"jobs":[{"kind":"k"}]}"#, "jobs[0].source", "is required")]
#[case(
    r#"{"jobs":[{"kind":"k","source":"s"},{"kind":7,"source":"s"}]}"#,
    "jobs[1].kind",
    "invalid type: integer `7`, expected a string"
)]
#[case(r#"{"jobs":[{"kind":"k","kind":"k","source":"s"}]}"#, "jobs[0].kind", "is given twice")]
#[case(r#"{"jobs":[{"kind":"","source":"s"}]}"#, "jobs[0].kind", "must not be empty")]
#[case(r#"{"jobs":[{"kind":"k","source":"s","tenant":""}]}"#, "jobs[0].tenant", "must not be empty")]
#[case(
    r#"{"jobs":[{"kind":"k","source":"s","canary":["C"]}]}"#,
    "jobs[0].canary",
    "invalid type: sequence, expected an object"
)]
#[case(r#"{"jobs":[{"kind":"k","source":"s","canary":{}}]}"#, "jobs[0].canary.reason_code", "is required")]
#[case(
    r#"{"jobs":[{"kind":"k","source":"s","run_at":"tomorrow"}]}"#,
    "jobs[0].run_at",
    "must be a time as RFC 3339 writes it, such as 2026-03-09T14:02:11Z"
)]
#[case(
    r#"{"jobs":[{"kind":"k","source":"s","run_at":1700000000}]}"#,
    "jobs[0].run_at",
    "invalid type: integer `1700000000`, expected a string"
)]
#[case(
    r#"{"jobs":[{"kind":"k","source":"s","payload_sha256":"abc"}]}"#,
    "jobs[0].payload_sha256",
    "must be 64 hexadecimal digits"
)]
#[case(r#"{"jobs":[{"kind":"k","source":"s","upstream_handoffs":{}}]}"#, "jobs[0].upstream_handoffs", "must be a list")]
#[case(
    r#"{"jobs":[{"kind":"k","source":"s","spread_seconds":-1}]}"#,
    "jobs[0].spread_seconds",
    "must be a whole number from 0 to 315360000, got -1"
)]
#[case(r#"{"jobs":[{"kind":"k","source":"s","unique_key":""}]}"#, "jobs[0].unique_key", "must not be empty")]
fn a_wrong_job_is_named_by_its_place(#[case] body: &str, #[case] field: &str, #[case] rule: &str) {
    assert_eq!(fault::<EnqueueBody>(body), (field.to_owned(), rule.to_owned()));
}

#[test]
fn unknown_fields_are_named_and_known_ones_listed() {
    let (field, rule) = fault::<EnqueueBody>(r#"{"jobs":[{"kind":"k","source":"s","prio":1}]}"#);
    assert_eq!(field, "jobs[0].prio");
    assert!(rule.starts_with("unknown field `prio`, expected one of `kind`, `source`"), "{rule}");
}

#[rstest]
#[case(r#"{"worker":"w","limit":0}"#, "limit")]
#[case(r#"{"worker":"w","limit":501}"#, "limit")]
#[case(r#"{"worker":"w","limit":"10"}"#, "limit")]
#[case(r#"{"worker":"w","limit":1.5}"#, "limit")]
#[case(r#"{"worker":"w","limit":1e400}"#, "limit")]
#[case(r#"{"worker":"w","lease_seconds":0}"#, "lease_seconds")]
#[case(r#"{"worker":"w","lease_seconds":-30}"#, "lease_seconds")]
#[case(r#"{"worker":"w","lease_seconds":4294967296}"#, "lease_seconds")]
#[case(r#"{"worker":"w","lease_seconds":99999999999999999999999}"#, "lease_seconds")]
#[case(r#"{"worker":"w","kinds":[]}"#, "kinds")]
#[case(r#"{"worker":"w","kinds":"k"}"#, "kinds")]
#[case(r#"{"worker":"w","kinds":["k",""]}"#, "kinds[1]")]
#[case(r#"{"worker":"w","accepts":["canary","magic"]}"#, "accepts[1]")]
#[case(r#"{"worker":null}"#, "worker")]
#[case(r#"{"kinds":["k"]}"#, "worker")]
fn a_wrong_claim_names_the_field(#[case] body: &str, #[case] field: &str) {
    assert_eq!(fault::<ClaimBody>(body).0, field);
}

#[rstest]
#[case(r#"{"lease_token":"7","error":"e"}"#, "lease_token")]
#[case(r#"{"lease_token":1.0,"error":"e"}"#, "lease_token")]
#[case(r#"{"lease_token":9223372036854775808,"error":"e"}"#, "lease_token")]
#[case(r#"{"error":"e"}"#, "lease_token")]
#[case(r#"{"lease_token":1}"#, "error")]
#[case(r#"{"lease_token":1,"error":null}"#, "error")]
fn a_wrong_failure_names_the_field(#[case] body: &str, #[case] field: &str) {
    assert_eq!(fault::<FailBody>(body).0, field);
}

#[rstest]
#[case(r#""category":"fatal""#)]
#[case(r#""http_status":99"#)]
#[case(r#""http_status":600"#)]
#[case(r#""http_status":"429""#)]
#[case(r#""http_status":429.5"#)]
#[case(r#""error_code":{"a":1}"#)]
#[case(r#""cost_micro_usd":-1"#)]
fn bad_advice_of_a_failure_counts_as_absent(#[case] advice: &str) {
    let body = format!(r#"{{"lease_token":1,"error":"e",{advice}}}"#);
    let bare = FailBody { lease_token: 1, error: "e".to_owned(), ..FailBody::default() };
    assert_eq!(parse::<FailBody>(body.as_bytes()).unwrap(), bare);
}

#[rstest]
#[case(r#"{"lease_token":1,"evidence":"NOT FOUND"}"#, "reason_code")]
#[case(r#"{"lease_token":1,"reason_code":"C"}"#, "evidence")]
#[case(r#"{"lease_token":1,"reason_code":"C","evidence":""}"#, "evidence")]
#[case(r#"{"lease_token":1,"reason_code":"C","evidence":{"a":1}}"#, "evidence")]
#[case(r#"{"lease_token":1,"reason_code":"C","evidence":"q","field":["a"]}"#, "field")]
fn a_wrong_refusal_names_the_field(#[case] body: &str, #[case] field: &str) {
    assert_eq!(fault::<RefuseBody>(body).0, field);
}

#[rstest]
#[case(r#"{"lease_token":1,"verdict":""}"#, "verdict")]
#[case(r#"{"lease_token":1,"evidence":["q"]}"#, "evidence")]
#[case(r#"{"lease_token":1,"values":"v"}"#, "values")]
#[case(r#"{"lease_token":1,"currency":"eur"}"#, "currency")]
#[case(r#"{"lease_token":1,"value_minor":1.5}"#, "value_minor")]
#[case(r#"{"lease_token":1,"shadow":1}"#, "shadow")]
#[case(r#"{"lease_token":1,"state":"done"}"#, "state")]
fn a_wrong_done_names_the_field(#[case] body: &str, #[case] field: &str) {
    assert_eq!(fault::<DoneBody>(body).0, field);
}

#[rstest]
#[case(r#"{"version":1}"#, "action")]
#[case(r#"{"action":"correct","version":1}"#, "action")]
#[case(r#"{"action":"approve_and_replay"}"#, "version")]
#[case(r#"{"action":"approve_and_replay","version":"1"}"#, "version")]
#[case(r#"{"action":"approve_and_replay","version":1,"mode":"old"}"#, "mode")]
#[case(r#"{"action":"split_and_replay","version":1,"payloads":{}}"#, "payloads")]
#[case(r#"{"action":"policy_update","version":1,"due":"tomorrow"}"#, "due")]
fn a_wrong_action_names_the_field(#[case] body: &str, #[case] field: &str) {
    assert_eq!(fault::<ActionBody>(body).0, field);
}

#[test]
fn one_job_too_many_is_refused_as_a_whole() {
    let body = |count: usize| format!(r#"{{"jobs":[{}]}}"#, vec![r#"{"kind":"k","source":"s"}"#; count].join(","));
    assert_eq!(parse::<EnqueueBody>(body(10_000).as_bytes()).unwrap().jobs.len(), 10_000);
    assert_eq!(fault::<EnqueueBody>(&body(10_001)), ("jobs".to_owned(), "must have at most 10000 items".to_owned()));
}

#[test]
fn payloads_are_kept_byte_for_byte() {
    let payload = r#"{"id":9007199254740993, "big":18446744073709551615,"e":1e400,"d":0.10,"a":1,"a":2,"n":"\u0000"}"#;
    let body = format!(r#"{{"jobs":[{{"kind":"k","source":"s","payload": {payload} }}]}}"#);
    let parsed: EnqueueBody = parse(body.as_bytes()).unwrap();
    assert_eq!(parsed.jobs[0].payload.as_ref().unwrap().as_str(), payload);
}

#[test]
fn a_payload_over_its_limit_names_the_way_out() {
    let body = |bytes: usize| format!(r#"{{"jobs":[{{"kind":"k","source":"s","payload":"{}"}}]}}"#, "x".repeat(bytes));
    assert!(parse::<EnqueueBody>(body(1_048_574).as_bytes()).is_ok());
    let (field, rule) = fault::<EnqueueBody>(&body(1_048_575));
    assert_eq!(field, "jobs[0].payload");
    assert!(rule.contains("at most 1048576 bytes") && rule.contains("payload_ref"), "{rule}");
}

#[rstest]
#[case(br#"{"lease_token":1,"error":"a\u0000b"}"#, "a\u{fffd}b")]
#[case(br#"{"lease_token":1,"error":"a\ud800b"}"#, "a\u{fffd}b")]
#[case(b"{\"lease_token\":1,\"error\":\"a\xff\xfeb\"}", "a\u{fffd}\u{fffd}b")]
#[case(b"{\"lease_token\":1,\"error\":\"a\0b\"}", "a\u{fffd}b")]
#[case(b"{\"lease_token\":1,\"error\":\"\x1b[31mred\x1b[0m \\\" line\nline\"}", "\u{1b}[31mred\u{1b}[0m \" line\nline")]
fn odd_error_text_is_read_all_the_same(#[case] body: &[u8], #[case] error: &str) {
    assert_eq!(parse::<FailBody>(body).unwrap().error, error);
}

#[test]
fn a_failure_is_not_lost_over_its_size() {
    let error = format!("{}é", "a".repeat(65_535));
    let envelope = format!(r#"{{"prompt":"{}"}}"#, "p".repeat(1_100_000));
    let body = format!(r#"{{"lease_token":1,"error":"{error} and more","envelope":{envelope}}}"#);
    let parsed: FailBody = parse(body.as_bytes()).unwrap();
    assert_eq!(parsed.error, "a".repeat(65_535));
    assert_eq!(
        parsed.envelope.unwrap().as_str(),
        r#"{"left_out":"1100013 bytes, more than the 1048576 that are stored"}"#
    );
}

#[rstest]
#[case(r#""120""#, "120")]
#[case(r#""Wed, 21 Oct 2026 07:28:00 GMT""#, "Wed, 21 Oct 2026 07:28:00 GMT")]
#[case("120", "120")]
#[case("-5", "-5")]
#[case("1.2", "2")]
#[case("1e9", "1000000000")]
#[case("true", "")]
#[case(r#"["30","60"]"#, "")]
#[case("{\"a\":[1]}", "")]
fn retry_after_is_text_or_a_number(#[case] sent: &str, #[case] read: &str) {
    let body = format!(r#"{{"lease_token":1,"error":"e","retry_after":{sent}}}"#);
    assert_eq!(parse::<FailBody>(body.as_bytes()).unwrap().retry_after.unwrap(), read);
}

#[test]
fn what_a_client_writes_is_what_the_server_reads() {
    let sent = FailBody { lease_token: 7, error: "e".to_owned(), http_status: Some(429), ..FailBody::default() };
    let json = serde_json::to_vec(&sent).unwrap();
    assert_eq!(String::from_utf8_lossy(&json), r#"{"lease_token":7,"error":"e","http_status":429}"#);
    assert_eq!(parse::<FailBody>(&json).unwrap(), sent);
}

proptest::proptest! {
    #[test]
    fn no_body_makes_the_parser_panic(body: Vec<u8>) {
        let _ = parse::<EnqueueBody>(&body);
    }

    #[test]
    fn a_string_holds_what_was_escaped(text in "\\PC{0,20}[\\x00-\\x1f]{0,5}\\PC{0,20}") {
        let raw = format!(r#"{{"lease_token":1,"error":"{}"}}"#, text.replace('\\', "\\\\").replace('"', "\\\""));
        let parsed: FailBody = parse(raw.as_bytes()).unwrap();
        proptest::prop_assert_eq!(parsed.error, text.replace('\0', "\u{fffd}"));
    }
}
