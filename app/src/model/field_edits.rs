//! A payload edited field by field: what a form of plain inputs posts, put back
//! into the value. What was not touched stays word for word.

use super::FieldError;
use super::job::RawJson;
use super::json_tree::{JsonTree, Path, Step, typed_json};
use super::text::MAX_PAYLOAD_BYTES;

/// Beyond so many fields a payload is edited as JSON only.
pub const MAX_FIELDS: usize = 200;

/// One field as a form shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Where it stands, as JSON: `["lines",0,"amount"]`.
    pub at: String,
    /// `text`, `number`, `true`, `false`, `null` or `json`.
    pub kind: &'static str,
    /// As a person edits it; empty where the kind says it all.
    pub text: String,
}

/// The fields of a payload; `None` when there are too many for a form.
pub fn fields(payload: &JsonTree) -> Option<Vec<(Path, Field)>> {
    let leaves = payload.leaves(MAX_FIELDS + 1);
    (leaves.len() <= MAX_FIELDS)
        .then(|| leaves.into_iter().map(|(path, leaf)| (path.clone(), field(&path, leaf))).collect())
}

fn field(path: &Path, leaf: &JsonTree) -> Field {
    let (kind, text) = match (leaf, leaf.as_text()) {
        (_, Some(text)) => ("text", text),
        (JsonTree::Scalar(raw), None) => match raw.as_str() {
            "true" => ("true", String::new()),
            "false" => ("false", String::new()),
            "null" => ("null", String::new()),
            raw if raw.starts_with(['[', '{']) => ("json", raw.to_owned()),
            raw => ("number", raw.to_owned()),
        },
        (tree, None) => ("json", tree.to_json().as_str().to_owned()),
    };
    Field { at: encoded(path), kind, text }
}

/// The payload with the posted fields laid over it. A field that comes back as
/// it was shown is not touched; a new one whose text is empty is left out.
///
/// # Errors
/// Names the field: a number that is none, JSON that is none, nowhere to put it.
pub fn with_fields(original: &JsonTree, posted: &[Field]) -> Result<JsonTree, FieldError> {
    let mut edited = original.clone();
    for one in posted {
        let path = decoded(&one.at).ok_or_else(|| FieldError::new("fields", "must be those that the page showed"))?;
        let name = super::json_tree::path_text(&path);
        let before = original.get(&path).map(|leaf| field(&path, leaf));
        let is_same =
            |was: &Field| was.kind == one.kind && (!has_text(one.kind) || shown(&was.text) == shown(&one.text));
        if before.as_ref().is_some_and(is_same) || (before.is_none() && one.kind == "text" && one.text.is_empty()) {
            continue;
        }
        if !edited.set(&path, value(&name, one)?) {
            return Err(FieldError::new(name, "has no place in this payload"));
        }
    }
    Ok(edited)
}

fn has_text(kind: &str) -> bool {
    matches!(kind, "text" | "number" | "json")
}

/// Browsers change line ends, and no form can carry NUL.
fn shown(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}")
}

fn value(name: &str, field: &Field) -> Result<JsonTree, FieldError> {
    match field.kind {
        "text" => Ok(JsonTree::string(&shown(&field.text))),
        "json" => Ok(JsonTree::of(&typed_json(name, &field.text, MAX_PAYLOAD_BYTES)?)),
        "number" => {
            let typed = typed_json(name, &field.text, MAX_PAYLOAD_BYTES).ok().filter(is_number);
            typed.map(|number| JsonTree::Scalar(number.as_str().to_owned())).ok_or_else(|| {
                FieldError::new(name, "must be a number as JSON writes it, such as 12.50 (no thousands marks)")
            })
        }
        word => Ok(JsonTree::Scalar(word.to_owned())),
    }
}

fn is_number(json: &RawJson) -> bool {
    json.as_str().starts_with(|c: char| c == '-' || c.is_ascii_digit())
}

/// The kind of that word.
pub fn kind_of(word: &str) -> Option<&'static str> {
    ["text", "number", "true", "false", "null", "json"].into_iter().find(|kind| *kind == word)
}

/// The path as JSON.
pub fn encoded(path: &[Step]) -> String {
    let steps = path.iter().map(|step| match step {
        Step::Key(key) => serde_json::Value::from(key.as_str()),
        Step::Item(at) => serde_json::Value::from(*at),
    });
    serde_json::Value::Array(steps.collect()).to_string()
}

fn decoded(text: &str) -> Option<Path> {
    let steps: Vec<serde_json::Value> = serde_json::from_str(text).ok()?;
    let step = |step: serde_json::Value| match step {
        serde_json::Value::String(key) => Some(Step::Key(key)),
        other => other.as_u64().and_then(|at| usize::try_from(at).ok()).map(Step::Item),
    };
    steps.into_iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> JsonTree {
        JsonTree::of(&RawJson::stored(text.to_owned()))
    }

    #[test]
    fn what_comes_back_untouched_stays_word_for_word() {
        let text =
            r#"{"n":9007199254740993,"d":0.10,"s":"\u00e9\r\nx\u0000","e":[],"t":true,"z":null,"l":[{"a":1e400}]}"#;
        let shown: Vec<Field> = fields(&tree(text)).unwrap().into_iter().map(|(_, field)| field).collect();
        assert_eq!(with_fields(&tree(text), &shown).unwrap().to_json().as_str(), text);
    }

    #[test]
    fn edits_and_new_fields_are_put_in_place() {
        let original = tree(r#"{"a":"x","n":1,"l":[{"b":2}]}"#);
        let field = |at: &str, kind, text: &str| Field { at: at.into(), kind, text: text.into() };
        let edited = with_fields(
            &original,
            &[
                field(r#"["currency"]"#, "text", "EUR"),
                field(r#"["l",0,"b"]"#, "number", "0.20"),
                field(r#"["a"]"#, "null", ""),
                field(r#"["left out"]"#, "text", ""),
            ],
        );
        assert_eq!(edited.unwrap().to_json().as_str(), r#"{"a":null,"n":1,"l":[{"b":0.20}],"currency":"EUR"}"#);
        for bad in ["1.234,50", "", "\"x\"", "true", "[1]"] {
            let error = with_fields(&original, &[field(r#"["n"]"#, "number", bad)]).unwrap_err();
            assert_eq!(error.field, "n", "{bad}");
        }
        assert!(with_fields(&original, &[field("nonsense", "text", "x")]).is_err());
    }
}
