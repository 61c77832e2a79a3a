//! A payload that a person corrected: what they could not see is put back, and
//! what they changed is told apart.

use super::FieldError;
use super::job::RawJson;
use super::json_tree::{Difference, JsonTree, Path, Step, differences, path_text};
use super::mask::MARKER;
use serde_json::{Value, json};

/// Most changes that are stored with a decision.
const MAX_DIFFERENCES: usize = 200;
/// Longest value that is stored in a difference, in characters.
const MAX_VALUE_CHARACTERS: usize = 500;
/// Most values of one payload that are looked at for masks.
const MAX_LEAVES: usize = 100_000;

/// The corrected payload with every masked field as it was: where the marker
/// stands, or where the field is absent, the original value is put back.
///
/// # Errors
/// A marker that stands where the original has nothing to put back.
pub fn with_masked_restored(
    original: &JsonTree,
    corrected: &RawJson,
    is_masked: &dyn Fn(&[Step]) -> bool,
) -> Result<JsonTree, FieldError> {
    let mut restored = JsonTree::of(corrected);
    let mut hidden = Vec::new();
    collect_masked(original, &mut Vec::new(), is_masked, &mut hidden);
    for path in hidden {
        let kept = restored.get(&path).is_none_or(|now| now.as_text().as_deref() == Some(MARKER));
        if kept && let Some(value) = original.get(&path) {
            put_back(&mut restored, &path, value.clone());
        }
    }
    let orphan = restored.leaves(MAX_LEAVES).into_iter().find(|(path, value)| {
        value.as_text().as_deref() == Some(MARKER) && original.get(path).is_none_or(|was| was != *value)
    });
    match orphan {
        None => Ok(restored),
        Some((path, _)) => Err(FieldError::new(
            format!("payload.{}", path_text(&path)),
            "holds the marker of a hidden value, and there is no hidden value of the original here",
        )),
    }
}

/// Whether the marker of a hidden value stands anywhere in it.
pub fn holds_marker(tree: &JsonTree) -> bool {
    match tree {
        JsonTree::Scalar(_) => tree.as_text().as_deref() == Some(MARKER),
        JsonTree::Array(items) => items.iter().any(holds_marker),
        JsonTree::Object(members) => members.iter().any(|(_, value)| holds_marker(value)),
    }
}

fn collect_masked(tree: &JsonTree, path: &mut Path, is_masked: &dyn Fn(&[Step]) -> bool, found: &mut Vec<Path>) {
    if !path.is_empty() && is_masked(path) {
        found.push(path.clone());
        return;
    }
    let mut step_into = |step: Step, inner: &JsonTree| {
        path.push(step);
        collect_masked(inner, path, is_masked, found);
        path.pop();
    };
    match tree {
        JsonTree::Scalar(_) => {}
        JsonTree::Array(items) => items.iter().enumerate().for_each(|(at, item)| step_into(Step::Item(at), item)),
        JsonTree::Object(_) => tree.members().iter().for_each(|(key, inner)| step_into(Step::Key(key.clone()), inner)),
    }
}

/// Puts a value at its path; objects on the way that are gone come back, list
/// items that were removed stay removed.
fn put_back(tree: &mut JsonTree, path: &[Step], value: JsonTree) {
    for end in 1..path.len() {
        let is_gone = tree.get(&path[..end]).is_none();
        if is_gone && matches!(path[end], Step::Key(_)) && matches!(path[end - 1], Step::Key(_)) {
            tree.set(&path[..end], JsonTree::Object(Vec::new()));
        }
    }
    let parent_is_there = tree.get(&path[..path.len() - 1]).is_some();
    let is_item = matches!(path.last(), Some(Step::Item(_)));
    if parent_is_there && (!is_item || tree.get(path).is_some()) {
        tree.set(path, value);
    }
}

/// The changes as they are stored with a decision: masked values stay hidden,
/// long ones are cut, and a list without end says how much is left out.
pub fn stored_differences(before: &JsonTree, after: &JsonTree, is_masked: &dyn Fn(&[Step]) -> bool) -> RawJson {
    let found = differences(before, after);
    let shown: Vec<Value> = found.iter().take(MAX_DIFFERENCES).map(|one| shown(one, is_masked)).collect();
    let left_out = found.len().saturating_sub(MAX_DIFFERENCES);
    RawJson::stored(json!({ "changes": shown, "left_out": left_out }).to_string())
}

fn shown(difference: &Difference, is_masked: &dyn Fn(&[Step]) -> bool) -> Value {
    let is_hidden = (1..=difference.path.len()).any(|end| is_masked(&difference.path[..end]));
    let value = |tree: &Option<JsonTree>| {
        tree.as_ref().map(|tree| if is_hidden { MARKER.to_owned() } else { hiding(tree, &difference.path, is_masked) })
    };
    json!({ "path": path_text(&difference.path), "before": value(&difference.before), "after": value(&difference.after) })
}

/// The value as text, with what is masked inside it hidden.
fn hiding(tree: &JsonTree, at: &[Step], is_masked: &dyn Fn(&[Step]) -> bool) -> String {
    let mut shown = tree.clone();
    let mut hidden = Vec::new();
    collect_masked(tree, &mut at.to_vec(), is_masked, &mut hidden);
    for path in hidden {
        shown.set(&path[at.len()..], JsonTree::string(MARKER));
    }
    super::text::preview(shown.to_json().as_str(), MAX_VALUE_CHARACTERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        RawJson::stored(text.to_owned())
    }

    fn iban_is_masked(path: &[Step]) -> bool {
        path.last() == Some(&Step::Key("iban".into()))
    }

    const ORIGINAL: &str =
        r#"{"customer":{"iban":"DE89","name":"A"},"lines":[{"iban":"X1"},{"iban":"X2"}],"id":9007199254740993}"#;

    fn restored(corrected: &str) -> Result<String, FieldError> {
        let original = JsonTree::of(&json(ORIGINAL));
        with_masked_restored(&original, &json(corrected), &iban_is_masked)
            .map(|tree| tree.to_json().as_str().to_owned())
    }

    #[test]
    fn a_marker_or_nothing_keeps_what_was_hidden() {
        let kept =
            restored(r#"{"customer":{"iban":"•••","name":"B"},"lines":[{"iban":"•••"},{}],"id":9007199254740993}"#)
                .unwrap();
        assert_eq!(
            kept,
            r#"{"customer":{"iban":"DE89","name":"B"},"lines":[{"iban":"X1"},{"iban":"X2"}],"id":9007199254740993}"#
        );
        assert!(
            restored(r#"{"id":1}"#).unwrap().contains(r#""customer":{"iban":"DE89"}"#),
            "even if its object is gone"
        );
        assert!(
            restored(r#"{"customer":{"iban":"NEW"},"lines":[]}"#).unwrap().contains("NEW"),
            "a new value is a change"
        );
        assert!(!restored(r#"{"lines":[{}]}"#).unwrap().contains("X2"), "a removed item stays removed");
    }

    #[test]
    fn a_marker_with_nothing_behind_it_is_refused() {
        let error = restored(r#"{"customer":{"name":"•••"}}"#).unwrap_err();
        assert_eq!(error.field, "payload.customer.name");
    }

    #[test]
    fn the_stored_difference_hides_what_is_masked() {
        let before = JsonTree::of(&json(ORIGINAL));
        let after = JsonTree::of(&json(
            r#"{"customer":{"iban":"SECRET","name":"B"},"lines":[{"iban":"X1"},{"iban":"X2"},{"iban":"X3"}],"id":9007199254740993}"#,
        ));
        let stored = stored_differences(&before, &after, &iban_is_masked);
        assert!(!stored.as_str().contains("SECRET") && !stored.as_str().contains("X3"), "{}", stored.as_str());
        assert!(stored.as_str().contains("customer.name") && stored.as_str().contains("lines[2]"));
    }
}
