//! What somebody outside is told when their work was closed unfinished.
//!
//! Rendered from a template per reason; goes to the one recipient that the
//! payload declares. The rule that a notice never guesses: no recipient, or
//! several, is refused with a sentence.

use super::FieldError;
use super::job::RawJson;
use super::json_tree::{JsonTree, Step};
use super::letter::DeadLetter;
use super::letter_policy::LetterPolicy;
use super::text::{is_blank, is_odd};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Top-level payload fields that may name the recipient, unless a kind has its own.
pub const DEFAULT_RECIPIENT_FIELDS: [&str; 6] =
    ["recipient", "notify", "notify_email", "customer_email", "contact_email", "email"];
/// Longest recipient, in characters.
const MAX_RECIPIENT_CHARACTERS: usize = 320;
/// Longest text of a template, in characters.
const MAX_TEMPLATE_CHARACTERS: usize = 4_000;
/// Most templates of a kind.
const MAX_TEMPLATES: usize = 100;

/// One template. `{kind}`, `{source}`, `{field}`, `{reason}` and `{letter}` stand
/// for the letter's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoticeTemplate {
    /// Reason code or failure reason it is for; absent means any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The subject.
    pub subject: String,
    /// What happened, in the reader's words.
    pub body: String,
    /// What the reader does next.
    pub next_action: String,
    /// By when, or when they hear more.
    pub when: String,
}

/// A notice ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomerNotice {
    /// Whom it goes to.
    pub recipient: String,
    /// The subject.
    pub subject: String,
    /// What happened.
    pub body: String,
    /// What the reader does next.
    pub next_action: String,
    /// By when.
    pub when: String,
}

/// What a template may name of a letter.
#[derive(Debug, Clone, Copy)]
pub struct NoticeFacts<'a> {
    /// The letter's id.
    pub letter: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Its source.
    pub source: &'a str,
    /// Its reason code or failure reason.
    pub reason: Option<&'a str>,
    /// Its field.
    pub field: Option<&'a str>,
}

/// The templates that a kind has until it gets its own.
pub fn default_templates() -> Vec<NoticeTemplate> {
    let template = |reason: Option<&str>, subject: &str, body: &str, next_action: &str, when: &str| NoticeTemplate {
        reason: reason.map(str::to_owned),
        subject: subject.to_owned(),
        body: body.to_owned(),
        next_action: next_action.to_owned(),
        when: when.to_owned(),
    };
    vec![
        template(
            Some("MISSING_REQUIRED_FIELD"),
            "Something is missing from what you sent",
            "We could not process what you sent, because we did not find this in it: {field}.",
            "Send it again with the missing part.",
            "We process it within one working day after it arrives.",
        ),
        template(
            Some("TRUNCATED_OR_UNREADABLE"),
            "We could not read all of what you sent",
            "What reached us was incomplete or could not be read, so we did not process it.",
            "Send the complete document again, with all its pages.",
            "We process it within one working day after it arrives.",
        ),
        template(
            Some("CONFLICTING_EVIDENCE"),
            "What you sent contradicts itself",
            "We found two different statements about this: {field}. We did not want to guess which one holds.",
            "Tell us which one is right.",
            "We go on as soon as we have your answer.",
        ),
        template(
            None,
            "Your request could not be processed",
            "We could not process your request and have closed it. Nothing was changed on your side.",
            "You need not do anything; a person looks into it and will contact you.",
            "You hear from us within two working days.",
        ),
    ]
}

/// The notice about a letter.
///
/// # Errors
/// `recipient`: the payload declares none, or several, or one that no message
/// can go to.
pub fn render(
    templates: &[NoticeTemplate],
    facts: &NoticeFacts<'_>,
    payload: Option<&JsonTree>,
    recipient_fields: &[String],
) -> Result<CustomerNotice, FieldError> {
    let recipient = recipient(payload, recipient_fields)?;
    let fallback = default_templates();
    let fits = |template: &&NoticeTemplate| template.reason.is_none() || template.reason.as_deref() == facts.reason;
    let template = templates.iter().find(fits).or_else(|| fallback.last());
    let Some(template) = template else { return Err(FieldError::new("notice", "has no template for this reason")) };
    Ok(CustomerNotice {
        recipient,
        subject: filled(&template.subject, facts),
        body: filled(&template.body, facts),
        next_action: filled(&template.next_action, facts),
        when: filled(&template.when, facts),
    })
}

/// The notice that closing a letter would send: what a page previews and what a
/// store writes are the same words.
///
/// # Errors
/// As [`render`].
pub fn of_letter(
    letter: &DeadLetter,
    payload: Option<&RawJson>,
    policy: &LetterPolicy,
) -> Result<CustomerNotice, FieldError> {
    let id = letter.id.to_string();
    let facts = NoticeFacts {
        letter: &id,
        kind: &letter.kind,
        source: &letter.source,
        reason: letter.reason_code.as_deref().or(letter.failure_reason.as_deref()),
        field: letter.field.as_deref(),
    };
    render(&policy.notice_templates, &facts, payload.map(JsonTree::of).as_ref(), &policy.recipient_fields)
}

/// What a template may name.
const PLACEHOLDERS: [&str; 5] = ["letter", "kind", "source", "reason", "field"];

/// The first placeholder that would reach its reader as it is.
fn unknown_placeholder(template: &str) -> Option<&str> {
    let words = template.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(word, _)| word));
    let is_name =
        |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    words.filter(is_name).find(|word| !PLACEHOLDERS.contains(word))
}

/// Replaces each placeholder once, so that a name which looks like one stays as it is.
fn filled(template: &str, facts: &NoticeFacts<'_>) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        text.push_str(&rest[..open]);
        rest = &rest[open..];
        let known = rest.find('}').and_then(|close| {
            let value = match &rest[1..close] {
                "letter" => Some(facts.letter),
                "kind" => Some(facts.kind),
                "source" => Some(facts.source),
                "reason" => Some(facts.reason.unwrap_or("no reason")),
                "field" => Some(facts.field.unwrap_or("a part of it")),
                _ => None,
            };
            value.map(|value| (value, close + 1))
        });
        let (value, length) = known.unwrap_or(("{", 1));
        text.push_str(value);
        rest = &rest[length..];
    }
    text.push_str(rest);
    text
}

/// The one recipient that the payload declares.
fn recipient(payload: Option<&JsonTree>, fields: &[String]) -> Result<String, FieldError> {
    let mut declared: Vec<String> = Vec::new();
    for field in fields {
        let path: Vec<Step> = field.split('.').map(|key| Step::Key(key.to_owned())).collect();
        match payload.and_then(|payload| payload.get(&path)) {
            Some(JsonTree::Array(items)) => declared.extend(items.iter().filter_map(JsonTree::as_text)),
            Some(value) => declared.extend(value.as_text()),
            None => {}
        }
    }
    let mut declared: Vec<String> =
        declared.into_iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect();
    declared.sort();
    declared.dedup();
    match declared.as_slice() {
        [] => Err(FieldError::new(
            "recipient",
            format!("the payload declares nobody to tell (looked at {})", fields.join(", ")),
        )),
        [one] if one.chars().count() > MAX_RECIPIENT_CHARACTERS || one.chars().any(is_odd) => Err(FieldError::new(
            "recipient",
            format!("is no address: it must be one line of at most {MAX_RECIPIENT_CHARACTERS} characters"),
        )),
        [one] if one.contains([',', ';']) || one.matches('@').count() > 1 => Err(FieldError::new(
            "recipient",
            "the payload declares more than one address in one text; a notice goes to exactly one",
        )),
        [one] if !is_address(one) => Err(FieldError::new(
            "recipient",
            "is no address: an e-mail address, a telephone number or another name without blanks is one",
        )),
        [one] => Ok(one.clone()),
        several => Err(FieldError::new(
            "recipient",
            format!("the payload declares {} different recipients; a notice goes to exactly one", several.len()),
        )),
    }
}

/// Whether a message can go there: `a@example.com`, `A. B. <a@example.com>`,
/// `+49 30 901820`, or a customer's number.
fn is_address(text: &str) -> bool {
    let inner = match text.split_once('<') {
        Some((_, rest)) if text.contains('@') || rest == ">" => rest.strip_suffix('>').unwrap_or_default(),
        _ => text,
    };
    let is_number =
        text.chars().any(|c| c.is_ascii_digit()) && text.chars().all(|c| c.is_ascii_digit() || " +-/.()".contains(c));
    let is_word = !inner.is_empty() && !inner.contains(char::is_whitespace);
    let has_both_sides = inner.split_once('@').is_none_or(|(name, host)| !name.is_empty() && !host.is_empty());
    is_number || (is_word && has_both_sides)
}

/// Checks templates that an admin sends.
///
/// # Errors
/// Names the template and the field.
pub fn checked_templates(name: &str, value: &Value) -> Result<Value, FieldError> {
    let list = value.as_array().ok_or_else(|| FieldError::new(name, "must be a list of templates"))?;
    if list.is_empty() || list.len() > MAX_TEMPLATES {
        return Err(FieldError::new(name, format!("must be a list of 1 to {MAX_TEMPLATES} templates")));
    }
    for (at, item) in list.iter().enumerate() {
        let field = format!("{name}[{at}]");
        let template: NoticeTemplate =
            serde_json::from_value(item.clone()).map_err(|error| FieldError::new(&field, error.to_string()))?;
        for (part, text) in [
            ("subject", &template.subject),
            ("body", &template.body),
            ("next_action", &template.next_action),
            ("when", &template.when),
        ] {
            if !(1..=MAX_TEMPLATE_CHARACTERS).contains(&text.chars().count()) {
                let rule = format!("must be 1 to {MAX_TEMPLATE_CHARACTERS} characters");
                return Err(FieldError::new(format!("{field}.{part}"), rule));
            }
            if let Some(word) = unknown_placeholder(text) {
                let known = PLACEHOLDERS.map(|name| format!("{{{name}}}")).join(", ");
                let rule = format!("names {{{word}}}, which stands for nothing; there are {known}");
                return Err(FieldError::new(format!("{field}.{part}"), rule));
            }
        }
        if template.reason.as_deref().is_some_and(|reason| reason == "*" || is_blank(reason)) {
            let rule = "must be a reason code or a failure reason, word for word; leave it out for any reason";
            return Err(FieldError::new(format!("{field}.reason"), rule));
        }
        if template.subject.chars().any(char::is_control) {
            return Err(FieldError::new(format!("{field}.subject"), "must be one line"));
        }
    }
    Ok(value.clone())
}

/// Checks the fields that may name a recipient.
///
/// # Errors
/// Anything but 1 to 20 dotted paths.
pub fn checked_recipient_fields(name: &str, value: &Value) -> Result<Value, FieldError> {
    let rule = "must be a list of 1 to 20 dotted paths into the payload, such as customer.email";
    let paths: Option<Vec<&str>> = value.as_array().and_then(|list| list.iter().map(Value::as_str).collect());
    match paths {
        Some(paths) if (1..=20).contains(&paths.len()) && paths.iter().all(|path| is_path(path)) => Ok(value.clone()),
        _ => Err(FieldError::new(name, rule)),
    }
}

fn is_path(path: &str) -> bool {
    path.chars().count() <= 200 && path.split('.').all(|key| !key.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(text: &str) -> JsonTree {
        JsonTree::of(&RawJson::stored(text.to_owned()))
    }

    fn facts<'a>() -> NoticeFacts<'a> {
        NoticeFacts {
            letter: "7",
            kind: "extract-invoice",
            source: "{body}",
            reason: Some("MISSING_REQUIRED_FIELD"),
            field: Some("{kind}"),
        }
    }

    fn defaults() -> Vec<String> {
        DEFAULT_RECIPIENT_FIELDS.map(str::to_owned).to_vec()
    }

    #[test]
    fn exactly_one_recipient_is_told() {
        let to = |text: &str| recipient(Some(&payload(text)), &defaults());
        assert_eq!(to(r#"{"customer_email":" a@example.com "}"#).unwrap(), "a@example.com");
        assert_eq!(to(r#"{"recipient":"a@example.com","email":"a@example.com"}"#).unwrap(), "a@example.com");
        for none in ["{}", r#"{"email":""}"#, r#"{"email":null}"#, r#"{"email":7}"#, "[]"] {
            assert!(to(none).unwrap_err().rule.contains("nobody"), "{none}");
        }
        for one in ["Anna B. <a@example.com>", "+49 (30) 901820", "K-1001"] {
            assert_eq!(to(&format!(r#"{{"recipient":"{one}"}}"#)).unwrap(), one);
        }
        for several in ["a@x, b@x", "a@x;b@x", "a@x b@x", "a@x <b@x>"] {
            let error = to(&format!(r#"{{"recipient":"{several}"}}"#)).unwrap_err();
            assert!(error.rule.contains("exactly one"), "{several}");
        }
        for none in ["not an address", "@x", "a@", "Anna <>", "<a@x", "a\u{200b}@x"] {
            assert!(
                to(&format!(r#"{{"recipient":"{none}"}}"#)).unwrap_err().rule.starts_with("is no address"),
                "{none}"
            );
        }
        assert!(to(r#"{"recipient":["a@x","b@x"]}"#).unwrap_err().rule.contains("2 different"));
        assert!(to(r#"{"recipient":"a@x\nBcc: b@x"}"#).unwrap_err().rule.contains("one line"));
        assert!(recipient(None, &defaults()).is_err());
        assert_eq!(recipient(Some(&payload(r#"{"c":{"mail":"x"}}"#)), &["c.mail".to_owned()]).unwrap(), "x");
    }

    #[test]
    fn a_template_is_filled_once() {
        let notice = render(&default_templates(), &facts(), Some(&payload(r#"{"email":"a@x"}"#)), &defaults()).unwrap();
        assert!(notice.body.contains("did not find this in it: {kind}."), "{}", notice.body);
        assert_eq!(filled("{source} {unknown} {", &facts()), "{body} {unknown} {");
    }

    #[test]
    fn a_reason_without_a_template_gets_the_general_one() {
        let other = NoticeFacts { reason: Some("policy_violation"), ..facts() };
        let notice = render(&default_templates(), &other, Some(&payload(r#"{"email":"a@x"}"#)), &defaults()).unwrap();
        assert_eq!(notice.subject, "Your request could not be processed");
    }

    #[test]
    fn bad_templates_are_named() {
        let one =
            |subject: &str| serde_json::json!([{"subject": subject, "body": "b", "next_action": "n", "when": "w"}]);
        for good in ["s", "{letter} {kind} {source} {reason} {field}", "{ {} {a b}"] {
            assert!(checked_templates("notice_templates", &one(good)).is_ok(), "{good}");
        }
        for (value, field) in [
            (one("to {nosuch}"), "notice_templates[0].subject"),
            (
                serde_json::json!([{"reason": "*", "subject": "s", "body": "b", "next_action": "n", "when": "w"}]),
                "notice_templates[0].reason",
            ),
            (one(""), "notice_templates[0].subject"),
            (one("a\nb"), "notice_templates[0].subject"),
            (serde_json::json!([{"subject": "s"}]), "notice_templates[0]"),
            (serde_json::json!([]), "notice_templates"),
        ] {
            assert_eq!(checked_templates("notice_templates", &value).unwrap_err().field, field);
        }
    }
}
