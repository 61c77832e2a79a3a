//! Recovery workflows: which options a dead letter offers, as data.
//!
//! An ordered list of rules; the first whose `when` fits a letter gives its
//! options. A kind has the built-in list until an admin gives it its own, and a
//! letter that no rule of that list fits still gets the built-in one's last
//! rule, so that no letter is without a way out.

use super::FieldError;
use super::letter::{LetterStatus, Route};
use super::people::Role;
use super::recovery::{RecoveryAction, RecoveryOption};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most rules of a workflow.
pub const MAX_RULES: usize = 100;
/// Longest text in a rule, in characters.
const MAX_CHARACTERS: usize = 500;

/// Which letters a rule is for. Everything given must fit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Match {
    /// The kind; `*` stands for anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How it was parked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<Route>,
    /// Reason code or failure reason, word for word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A piece of the error or the evidence; upper and lower case are one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// One way out that a rule offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowOption {
    /// What is done.
    pub action: RecoveryAction,
    /// Who is meant to do it, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The least role that may.
    #[serde(default = "reviewer")]
    pub role: Role,
    /// What it leads to, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowRule {
    /// Which letters it is for.
    #[serde(default)]
    pub when: Match,
    /// The ways out, the likeliest first.
    pub options: Vec<WorkflowOption>,
    /// What would keep such letters from coming.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prevention: Option<String>,
}

fn reviewer() -> Role {
    Role::Reviewer
}

/// What a rule looks at.
#[derive(Debug, Clone, Copy)]
pub struct Parked<'a> {
    /// The kind.
    pub kind: &'a str,
    /// How it was parked.
    pub route: Route,
    /// Reason code of a refusal or a failed check.
    pub reason_code: Option<&'a str>,
    /// Failure reason of an exception.
    pub failure_reason: Option<&'a str>,
    /// What the agent quoted.
    pub evidence: Option<&'a str>,
    /// Error text.
    pub error: Option<&'a str>,
}

impl Match {
    fn fits(&self, parked: &Parked<'_>) -> bool {
        let has_text = |wanted: &String| {
            let wanted = wanted.to_lowercase();
            [parked.error, parked.evidence].into_iter().flatten().any(|text| text.to_lowercase().contains(&wanted))
        };
        self.kind.as_deref().is_none_or(|pattern| fits_pattern(pattern, parked.kind))
            && self.route.is_none_or(|route| route == parked.route)
            && self
                .reason
                .as_deref()
                .is_none_or(|reason| [parked.reason_code, parked.failure_reason].contains(&Some(reason)))
            && self.text.as_ref().is_none_or(has_text)
    }
}

/// Whether `*` in the pattern can stand for something that makes it the text.
fn fits_pattern(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            None => return false,
            Some(at) => rest = &rest[at + part.len()..],
        }
    }
    rest.ends_with(last)
}

/// The rule for a letter: of the kind's own list, else of the built-in one.
pub fn rule_for<'a>(
    own: &'a [WorkflowRule],
    built_in: &'a [WorkflowRule],
    parked: &Parked<'_>,
) -> Option<&'a WorkflowRule> {
    own.iter().find(|rule| rule.when.fits(parked)).or_else(|| built_in.last())
}

/// What may be done to a letter of that status, the likeliest first.
pub fn recovery_options(workflow: &[WorkflowRule], parked: &Parked<'_>, status: LetterStatus) -> Vec<RecoveryOption> {
    if status == LetterStatus::Resolved {
        return Vec::new();
    }
    let built_in = built_in();
    let options = rule_for(workflow, &built_in, parked).map(|rule| rule.options.as_slice()).unwrap_or_default();
    options
        .iter()
        .map(|option| RecoveryOption {
            action: option.action,
            label: option.action.label(),
            role: option.role.max(option.action.role()),
            actor: option.actor.clone(),
            outcome: option.outcome.clone().unwrap_or_else(|| option.action.consequence().to_owned()),
        })
        .collect()
}

/// The list that a kind has until it gets its own.
pub fn built_in() -> Vec<WorkflowRule> {
    use RecoveryAction::{
        ApproveAndReplay, CloseAndNotify, CorrectAndReplay, PolicyUpdate, RejectAndClose, SplitAndReplay,
    };
    let option = |action, actor: &str, outcome: &str| WorkflowOption {
        action,
        actor: (!actor.is_empty()).then(|| actor.to_owned()),
        role: Role::Reviewer,
        outcome: (!outcome.is_empty()).then(|| outcome.to_owned()),
    };
    let rule = |when: Match, options: Vec<WorkflowOption>, prevention: &str| WorkflowRule {
        when,
        options,
        prevention: (!prevention.is_empty()).then(|| prevention.to_owned()),
    };
    let of_kind = |kind: &str| Match { kind: Some(kind.to_owned()), ..Match::default() };
    vec![
        rule(
            Match {
                route: Some(Route::Exception),
                reason: Some(super::classify::WORKER_LOST.to_owned()),
                ..Match::default()
            },
            vec![
                option(
                    ApproveAndReplay,
                    "",
                    "Runs again with fresh attempts. If it kills its worker again, it comes back here.",
                ),
                option(SplitAndReplay, "", "Smaller parts may fit where the whole did not; each is a job of its own."),
                option(CorrectAndReplay, "", ""),
                option(
                    PolicyUpdate,
                    "whoever runs the workers",
                    "Leaves a follow-up, for example: more memory, a longer lease.",
                ),
                option(CloseAndNotify, "", ""),
                option(RejectAndClose, "", ""),
            ],
            "Give the worker more memory or the kind a longer lease, or limit the size of its input.",
        ),
        rule(
            of_kind("*refund*"),
            vec![
                option(
                    ApproveAndReplay,
                    "customer service manager",
                    "Approves this refund as an exception; it runs again as it is.",
                ),
                option(SplitAndReplay, "customer service", "Several smaller refunds, each within the limit."),
                option(CorrectAndReplay, "data team", "Runs again with the corrected amount or order."),
                option(
                    CloseAndNotify,
                    "customer service",
                    "No refund is made; the customer is told what happens next.",
                ),
                option(
                    PolicyUpdate,
                    "owner of the refund policy",
                    "No refund is made; the limit is looked at by a date.",
                ),
                option(RejectAndClose, "", "No refund is made, and nobody is told."),
            ],
            "Check the amount against the limit before the request is enqueued.",
        ),
        rule(
            of_kind("*invoice*"),
            vec![
                option(
                    CorrectAndReplay,
                    "accounts payable",
                    "Runs again with what you add or change; the original stays.",
                ),
                option(
                    ApproveAndReplay,
                    "accounts payable",
                    "Runs again as it is: the document was readable after all, or was fetched anew.",
                ),
                option(
                    SplitAndReplay,
                    "accounts payable",
                    "Several invoices in one document: each becomes a job of its own.",
                ),
                option(
                    CloseAndNotify,
                    "accounts payable",
                    "Nothing is booked; the supplier is asked for a complete invoice.",
                ),
                option(PolicyUpdate, "owner of the extractor", "Nothing is booked; a rule is looked at by a date."),
                option(RejectAndClose, "", "Nothing is booked."),
            ],
            "Have the source send complete documents: all pages, with the currency on them.",
        ),
        rule(
            Match { route: Some(Route::Exception), ..of_kind("*image*") },
            photo_exception(&option),
            "Raise the quota of the check, or spread the batch over a longer time.",
        ),
        rule(
            Match { route: Some(Route::Exception), ..of_kind("*photo*") },
            photo_exception(&option),
            "Raise the quota of the check, or spread the batch over a longer time.",
        ),
        rule(
            Match::default(),
            vec![
                option(ApproveAndReplay, "", ""),
                option(CorrectAndReplay, "", ""),
                option(SplitAndReplay, "", ""),
                option(CloseAndNotify, "", ""),
                option(PolicyUpdate, "", ""),
                option(RejectAndClose, "", ""),
            ],
            "",
        ),
    ]
}

/// A check that could not be made says nothing about the photo.
fn photo_exception(option: &dyn Fn(RecoveryAction, &str, &str) -> WorkflowOption) -> Vec<WorkflowOption> {
    use RecoveryAction::{
        ApproveAndReplay, CloseAndNotify, CorrectAndReplay, PolicyUpdate, RejectAndClose, SplitAndReplay,
    };
    vec![
        option(
            ApproveAndReplay,
            "moderation",
            "The check is made again: it failed, so nobody has judged this photo yet.",
        ),
        option(RejectAndClose, "moderation", "The photo is not checked by this pipeline; a person has to."),
        option(CloseAndNotify, "moderation", ""),
        option(CorrectAndReplay, "", ""),
        option(SplitAndReplay, "", ""),
        option(PolicyUpdate, "", ""),
    ]
}

/// Checks a workflow that an admin sends.
///
/// # Errors
/// Names the rule and the field, such as `workflow[2].options[0].action`.
pub fn checked(name: &str, value: &Value) -> Result<Value, FieldError> {
    let list = value.as_array().ok_or_else(|| FieldError::new(name, "must be a list of rules"))?;
    if list.is_empty() || list.len() > MAX_RULES {
        return Err(FieldError::new(name, format!("must be a list of 1 to {MAX_RULES} rules")));
    }
    for (at, item) in list.iter().enumerate() {
        let field = format!("{name}[{at}]");
        let rule: WorkflowRule = serde_path_to_error::deserialize(item).map_err(|error| {
            let inner = match error.path().to_string() {
                root if root == "." => String::new(),
                path => format!(".{path}"),
            };
            FieldError::new(format!("{field}{inner}"), error.inner().to_string())
        })?;
        check_rule(&rule).map_err(|error| error.within(&field))?;
    }
    Ok(value.clone())
}

fn check_rule(rule: &WorkflowRule) -> Result<(), FieldError> {
    let mut offered = std::collections::BTreeSet::new();
    if rule.options.is_empty() {
        return Err(FieldError::new("options", "must offer at least one action"));
    }
    for (at, option) in rule.options.iter().enumerate() {
        let field = format!("options[{at}]");
        if !option.action.resolves() {
            return Err(FieldError::new(
                format!("{field}.action"),
                "is no recovery action: a letter can always be taken and released",
            ));
        }
        if !offered.insert(option.action.as_str()) {
            return Err(FieldError::new(format!("{field}.action"), "is offered twice"));
        }
        if option.role < Role::Reviewer {
            return Err(FieldError::new(format!("{field}.role"), "must be reviewer or admin"));
        }
        check_text("actor", option.actor.as_deref()).map_err(|error| error.within(&field))?;
        check_text("outcome", option.outcome.as_deref()).map_err(|error| error.within(&field))?;
    }
    for (field, text) in [("kind", &rule.when.kind), ("reason", &rule.when.reason), ("text", &rule.when.text)] {
        check_text(field, text.as_deref()).map_err(|error| error.within("when"))?;
    }
    check_text("prevention", rule.prevention.as_deref())
}

fn check_text(field: &str, text: Option<&str>) -> Result<(), FieldError> {
    match text.map(|text| text.chars().count()) {
        Some(n) if !(1..=MAX_CHARACTERS).contains(&n) => {
            Err(FieldError::new(field, format!("must be 1 to {MAX_CHARACTERS} characters")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parked(kind: &'static str, route: Route) -> Parked<'static> {
        Parked { kind, route, reason_code: None, failure_reason: None, evidence: None, error: None }
    }

    #[test]
    fn every_letter_has_every_way_out_unless_an_admin_says_otherwise() {
        for route in Route::ALL {
            for kind in ["issue-refund", "extract-invoice", "moderate-image", "x"] {
                let options = recovery_options(&built_in(), &parked(kind, route), LetterStatus::Open);
                let mut actions: Vec<&str> = options.iter().map(|option| option.action.as_str()).collect();
                actions.sort_unstable();
                let mut all = RecoveryAction::RESOLVING.map(RecoveryAction::as_str);
                all.sort_unstable();
                assert_eq!(actions, all, "{kind} {route:?}");
            }
        }
        assert!(recovery_options(&built_in(), &parked("x", Route::Exception), LetterStatus::Resolved).is_empty());
    }

    #[test]
    fn the_first_rule_that_fits_gives_the_options() {
        let first = |parked: &Parked<'_>| recovery_options(&built_in(), parked, LetterStatus::Open)[0].clone();
        assert_eq!(first(&parked("extract-invoice", Route::RefusedByAgent)).action, RecoveryAction::CorrectAndReplay);
        let lost = Parked { failure_reason: Some("worker_lost"), ..parked("extract-invoice", Route::Exception) };
        assert!(first(&lost).outcome.contains("kills its worker"));
        assert!(first(&parked("moderate-image", Route::Exception)).outcome.contains("nobody has judged"));
    }

    #[test]
    fn patterns_and_text_match_as_written() {
        for (pattern, kind, fits) in [
            ("*refund*", "issue-refund-eu", true),
            ("*refund*", "refund", true),
            ("refund*", "a-refund", false),
            ("a*b*c", "a-xx-b-yy-c", true),
            ("a*b*c", "a-c", false),
            ("a*a", "a", false),
            ("*", "", true),
            ("%", "x", false),
        ] {
            assert_eq!(fits_pattern(pattern, kind), fits, "{pattern} {kind}");
        }
        let when = Match { text: Some("Quota".into()), ..Match::default() };
        assert!(when.fits(&Parked { error: Some("429: QUOTA exceeded"), ..parked("k", Route::Exception) }));
        assert!(!when.fits(&parked("k", Route::Exception)));
    }

    #[test]
    fn a_letter_that_no_own_rule_fits_still_has_a_way_out() {
        let own: Vec<WorkflowRule> = serde_json::from_value(json!([
            {"when": {"reason": "AMBIGUOUS_VALUE"}, "options": [{"action": "reject_and_close", "role": "admin"}]}
        ]))
        .unwrap();
        let ambiguous = Parked { reason_code: Some("AMBIGUOUS_VALUE"), ..parked("k", Route::RefusedByAgent) };
        let options = recovery_options(&own, &ambiguous, LetterStatus::Taken);
        assert_eq!((options.len(), options[0].role), (1, Role::Admin));
        assert_eq!(recovery_options(&own, &parked("k", Route::RefusedByAgent), LetterStatus::Open).len(), 6);
    }

    #[test]
    fn a_bad_rule_is_named() {
        for (workflow, field) in [
            (json!([]), "workflow"),
            (json!({}), "workflow"),
            (json!([{"options": []}]), "workflow[0].options"),
            (json!([{"options": [{"action": "explode"}]}]), "workflow[0].options[0].action"),
            (json!([{"options": [{"action": "take"}]}]), "workflow[0].options[0].action"),
            (json!([{"options": [{"action": "reject_and_close", "role": "on-call"}]}]), "workflow[0].options[0].role"),
            (json!([{"when": {"knd": "x"}, "options": [{"action": "reject_and_close"}]}]), "workflow[0].when.knd"),
        ] {
            assert_eq!(checked("workflow", &workflow).unwrap_err().field, field, "{workflow}");
        }
        assert!(checked("workflow", &serde_json::to_value(built_in()).unwrap()).is_ok());
    }
}
