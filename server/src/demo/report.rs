//! What a worker of the demo reports: the model's answer, or why there was none.
//!
//! A failure of the call never becomes a verdict, and a verdict carries the
//! model's own reason.

use super::model_client::NotAnswered;
use crate::auth::secret::sha256_hex;
use crate::worker_api::jobs::done::DoneBody;
use crate::worker_api::jobs::fail::FailBody;
use crate::worker_api::jobs::refuse::RefuseBody;
use crate::worker_client::Report;
use app::model::job::{ClaimedJob, RawJson, ReplayMode};
use serde_json::{Value, json};

const MODEL_ID: &str = "stand-in-mini-1";
const INVOICE_PROMPT: &str = "You extract invoices.
Quote every value word for word.
Take nothing from context: an address states no currency.
If a required field is missing, ambiguous or contradicted, call cannot_process.
Call exactly one tool.
";
/// What replays are asked with: the prompt after somebody worked on it.
const NEXT_INVOICE_PROMPT: &str = "You extract invoices.
Quote every value word for word.
Take nothing from context: an address states no currency.
A page that says \"1 of 2\" without its second page is incomplete: do not look for a total on it.
If a required field is missing, ambiguous or contradicted, call cannot_process;
that is a correct answer, and it is never held against you.
Call exactly one tool.
";
const INVOICE_TOOLS: &str = "extract_invoice(invoice_number, invoice_date, currency, total, evidence)
cannot_process(reason_code, field, evidence)
";
const PHOTO_PROMPT: &str = "Say approved, rejected or needs_review, and why.";

/// All texts that envelopes of the demo name by hash.
pub const ARTIFACTS: [&str; 4] = [INVOICE_PROMPT, NEXT_INVOICE_PROMPT, INVOICE_TOOLS, PHOTO_PROMPT];

/// The report about `job`.
pub fn report_of(job: &ClaimedJob, answer: &Result<Value, NotAnswered>) -> Report {
    match answer {
        Err(not_answered) => failure(job, not_answered),
        Ok(said) if said["tool_call"]["name"] == "cannot_process" => refusal(job, said),
        Ok(said) if said["tool_call"].is_object() => extraction(job, said),
        Ok(said) => verdict(job, said),
    }
}

fn failure(job: &ClaimedJob, not_answered: &NotAnswered) -> Report {
    let envelope = Some(envelope(job, None));
    Report::Fail(Box::new(match not_answered {
        NotAnswered::Refused { status, code, message, retry_after } => FailBody {
            error: format!("{status} {message}"),
            http_status: Some(u32::from(*status)),
            error_code: Some(code.clone()),
            retry_after: retry_after.clone(),
            envelope,
            ..FailBody::default()
        },
        NotAnswered::Unreachable { code, message } => {
            FailBody { error: message.clone(), error_code: Some((*code).to_owned()), envelope, ..FailBody::default() }
        }
    }))
}

fn refusal(job: &ClaimedJob, said: &Value) -> Report {
    let input = &said["tool_call"]["input"];
    Report::Refuse(Box::new(RefuseBody {
        lease_token: job.lease_token,
        reason_code: text(&input["reason_code"]).unwrap_or_default(),
        field: text(&input["field"]),
        evidence: text(&input["evidence"]).unwrap_or_else(|| "NOT FOUND".to_owned()),
        envelope: Some(envelope(job, Some(&said["tool_call"]))),
        cost_micro_usd: said["cost_micro_usd"].as_i64(),
    }))
}

fn extraction(job: &ClaimedJob, said: &Value) -> Report {
    let input = &said["tool_call"]["input"];
    let mut values = input.clone();
    if let Some(fields) = values.as_object_mut() {
        fields.remove("evidence");
    }
    Report::Done(Box::new(DoneBody {
        verdict: Some("extracted".to_owned()),
        result: Some(raw(&values)),
        values: Some(raw(&values)),
        evidence: Some(raw(&input["evidence"])),
        source_text: source_text(job),
        envelope: Some(envelope(job, Some(&said["tool_call"]))),
        cost_micro_usd: said["cost_micro_usd"].as_i64(),
        ..DoneBody::default()
    }))
}

fn verdict(job: &ClaimedJob, said: &Value) -> Report {
    Report::Done(Box::new(DoneBody {
        verdict: text(&said["verdict"]),
        reason: text(&said["reason"]),
        result: Some(&said["result"]).filter(|result| !result.is_null()).map(raw),
        envelope: Some(envelope(job, None)),
        cost_micro_usd: said["cost_micro_usd"].as_i64(),
        ..DoneBody::default()
    }))
}

fn envelope(job: &ClaimedJob, tool_call: Option<&Value>) -> RawJson {
    let is_current = job.replay.as_ref().is_some_and(|replay| replay.mode == ReplayMode::Current);
    let (template, prompt, tools) = match job.kind.as_str() {
        "extract-invoice" if is_current => ("invoice-extract-8", NEXT_INVOICE_PROMPT, INVOICE_TOOLS),
        "extract-invoice" => ("invoice-extract-7", INVOICE_PROMPT, INVOICE_TOOLS),
        kind => (kind, PHOTO_PROMPT, ""),
    };
    let mut envelope = json!({
        "envelope_version": 1,
        "source": job.source,
        "payload_ref": job.payload_ref,
        "model": {"provider": "stand-in", "id": MODEL_ID, "params": {"temperature": 0}},
        "prompt": {"template_id": template, "sha256": sha256_hex(prompt)},
    });
    if !tools.is_empty() {
        envelope["tools_offered"] = json!({"sha256": sha256_hex(tools)});
        let version = if is_current { "2026-11" } else { "2026-10" };
        envelope["retrieved_context"] =
            json!([{"doc_id": "supplier-rules", "version": version, "sha256": sha256_hex(version)}]);
    }
    if let Some(call) = tool_call {
        envelope["tool_calls"] = json!([call]);
    }
    if let Some(payload) = &job.payload {
        envelope["payload_sha256"] = json!(sha256_hex(payload.as_str()));
    }
    envelope["trace_id"] = json!(&sha256_hex(&format!("job {} attempt {}", job.id, job.attempt))[..32]);
    raw(&envelope)
}

/// The text that the model was shown.
fn source_text(job: &ClaimedJob) -> Option<String> {
    let payload: Value = serde_json::from_str(job.payload.as_ref()?.as_str()).ok()?;
    text(&payload["text"])
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn raw(value: &Value) -> RawJson {
    RawJson::stored(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use app::model::ids::{DeadLetterId, JobId};
    use app::model::job::ReplayOf;

    #[test]
    fn every_text_that_an_envelope_names_is_put_into_the_registry() {
        let known: Vec<String> = ARTIFACTS.iter().map(|text| sha256_hex(text)).collect();
        let replay = ReplayOf { mode: ReplayMode::Current, dead_letter_id: DeadLetterId(1), envelope: None };
        for (kind, replay) in [("extract-invoice", None), ("extract-invoice", Some(replay)), ("moderate-image", None)] {
            let job = ClaimedJob {
                id: JobId(7),
                kind: kind.to_owned(),
                source: "s".to_owned(),
                tenant: None,
                payload: None,
                payload_ref: None,
                attempt: 1,
                max_attempts: 3,
                lease_token: 1,
                lease_expires_at: chrono::DateTime::UNIX_EPOCH,
                canary: false,
                replay,
            };
            let envelope: Value = serde_json::from_str(envelope(&job, None).as_str()).unwrap();
            for named in ["prompt", "tools_offered"].map(|part| envelope[part]["sha256"].as_str()).into_iter().flatten()
            {
                assert!(known.iter().any(|hash| hash == named), "{kind}: {envelope}");
            }
        }
    }
}
