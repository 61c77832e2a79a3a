//! A payload that a person corrected: what they could not see is put back, and
//! what they changed is told apart.

use super::FieldError;
use super::cover::Cover;
use super::job::RawJson;
use super::json_tree::{Difference, JsonTree, Path, Step, differences, path_text, quoted};
use super::mask::MARKER;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Most changes that are stored with a decision.
const MAX_DIFFERENCES: usize = 200;
/// Longest value that is stored in a difference, in characters.
const MAX_VALUE_CHARACTERS: usize = 500;
/// Most values of one payload that are looked at for masks.
const MAX_LEAVES: usize = 100_000;

/// What a person who corrects a payload does not see of it.
pub struct Hidden<'a> {
    /// Whether the value at a place is masked.
    pub is_masked: &'a dyn Fn(&[Step]) -> bool,
    /// Covers the masked values elsewhere in the payload.
    pub cover: &'a Cover,
}

impl Hidden<'_> {
    fn is_masked(&self, at: &[Step]) -> bool {
        (self.is_masked)(at)
    }

    /// Whether a value is what the person saw of that other one.
    fn is_what_was_seen(&self, now: &JsonTree, was: &JsonTree) -> bool {
        let mut seen = was.clone();
        self.cover.tree(&mut seen);
        seen == *now
    }
}

/// The corrected payload with every masked field as it was: where the marker
/// stands, or where the field is absent, the original value is put back.
///
/// In a list that was changed, whose hidden value a marker stands for is told by
/// what can be seen of its item, never guessed by its position: one person's
/// account must not end up with another.
///
/// # Errors
/// A marker of which cannot be told what it stands for; an item without a
/// hidden value of which cannot be told whether it had one.
pub fn with_masked_restored(
    original: &JsonTree,
    corrected: &RawJson,
    hidden: &Hidden<'_>,
) -> Result<JsonTree, FieldError> {
    let mut restored = JsonTree::of(corrected);
    if !hidden.cover.is_empty() || holds_masked(original, &mut Vec::new(), hidden) {
        restore(original, &mut restored, &mut Vec::new(), hidden)?;
    }
    let orphan = restored.leaves(MAX_LEAVES).into_iter().find(|(path, value)| {
        value.as_text().is_some_and(|text| text.contains(MARKER)) && original.get(path).is_none_or(|was| was != *value)
    });
    match orphan {
        None => Ok(restored),
        Some((path, _)) => Err(FieldError::new(
            format!("payload.{}", path_text(&path)),
            "holds the marker of a hidden value, and which one cannot be told here: write the value itself, or leave \
             its list as it was",
        )),
    }
}

/// Whether anything in the value at that place is masked.
fn holds_masked(tree: &JsonTree, at: &mut Path, hidden: &Hidden<'_>) -> bool {
    let mut step_into = |step: Step, inner: &JsonTree| {
        at.push(step);
        let holds = hidden.is_masked(at) || holds_masked(inner, at, hidden);
        at.pop();
        holds
    };
    match tree {
        JsonTree::Scalar(_) => false,
        JsonTree::Array(items) => items.iter().enumerate().any(|(item, inner)| step_into(Step::Item(item), inner)),
        JsonTree::Object(_) => tree.members().into_iter().any(|(key, inner)| step_into(Step::Key(key), inner)),
    }
}

fn restore(original: &JsonTree, now: &mut JsonTree, at: &mut Path, hidden: &Hidden<'_>) -> Result<(), FieldError> {
    match (original, now) {
        (JsonTree::Object(_), now @ JsonTree::Object(_)) => restore_members(original, now, at, hidden),
        (JsonTree::Array(old), JsonTree::Array(new)) => restore_items(old, new, at, hidden),
        (was, now) => {
            if *was != *now && hidden.is_what_was_seen(now, was) {
                *now = was.clone();
            }
            Ok(())
        }
    }
}

fn restore_items(old: &[JsonTree], new: &mut [JsonTree], at: &mut Path, hidden: &Hidden<'_>) -> Result<(), FieldError> {
    let partners = partners(old, new, at, hidden);
    let kept: HashSet<usize> = partners.iter().flatten().copied().collect();
    let lost = lost_fields(old, &kept, at, hidden);
    for (item, from) in partners.into_iter().enumerate() {
        at.push(Step::Item(from.unwrap_or(item)));
        match from {
            Some(from) if hidden.is_masked(at) => {
                if is_marker(&new[item]) {
                    new[item] = old[from].clone();
                }
            }
            Some(from) => restore(&old[from], &mut new[item], at, hidden)?,
            None => {
                if let Some(field) = lost.iter().find(|field| new[item].get(field).is_none()) {
                    let place = [at.as_slice(), field.as_slice()].concat();
                    return Err(FieldError::new(
                        format!("payload.{}", path_text(&place)),
                        "is missing, and whether it belongs to a hidden value of this changed list cannot be told: \
                         write the value itself (null for none), or leave the list as it was",
                    ));
                }
            }
        }
        at.pop();
    }
    Ok(())
}

/// Where items that nothing was made of held hidden values, seen from the item.
fn lost_fields(old: &[JsonTree], kept: &HashSet<usize>, at: &mut Path, hidden: &Hidden<'_>) -> BTreeSet<Path> {
    let mut lost = BTreeSet::new();
    for (item, tree) in old.iter().enumerate().filter(|(item, _)| !kept.contains(item)) {
        let mut found = Vec::new();
        at.push(Step::Item(item));
        collect_masked(tree, at, hidden.is_masked, &mut found);
        at.pop();
        let of_item = found.into_iter().map(|path| path[at.len() + 1..].to_vec());
        lost.extend(of_item.filter(|path| !path.is_empty() && path.iter().all(|step| matches!(step, Step::Key(_)))));
    }
    lost
}

fn restore_members(
    original: &JsonTree,
    now: &mut JsonTree,
    at: &mut Path,
    hidden: &Hidden<'_>,
) -> Result<(), FieldError> {
    let places: HashMap<String, usize> =
        now.members().into_iter().enumerate().map(|(place, (name, _))| (name, place)).collect();
    let JsonTree::Object(members) = now else { return Ok(()) };
    for (name, was) in original.members() {
        let seen_as = hidden.cover.text(&name);
        let place = places.get(&name).or_else(|| places.get(&seen_as)).copied();
        if let Some(place) = place.filter(|_| seen_as != name) {
            members[place].0 = quoted(&name);
        }
        at.push(Step::Key(name.clone()));
        match (place, hidden.is_masked(at)) {
            (Some(place), true) if is_marker(&members[place].1) => members[place].1 = was.clone(),
            (Some(_), true) => {}
            (None, true) => members.push((quoted(&name), was.clone())),
            (Some(place), false) => restore(was, &mut members[place].1, at, hidden)?,
            // An object that is gone comes back with what was hidden in it, and no more.
            (None, false) if matches!(was, JsonTree::Object(_)) => {
                let mut gone = JsonTree::Object(Vec::new());
                restore(was, &mut gone, at, hidden)?;
                if gone != JsonTree::Object(Vec::new()) {
                    members.push((quoted(&name), gone));
                }
            }
            (None, false) => {}
        }
        at.pop();
    }
    Ok(())
}

/// For each item as it is now, which one of the original it was, if that can be told.
fn partners(old: &[JsonTree], new: &[JsonTree], at: &[Step], hidden: &Hidden<'_>) -> Vec<Option<usize>> {
    let seen = |items: &[JsonTree]| -> Vec<JsonTree> {
        let place = |item: usize| [at, &[Step::Item(item)]].concat();
        items.iter().enumerate().map(|(item, tree)| without_masked(tree, &place(item), hidden.is_masked)).collect()
    };
    let (mut old_seen, mut new_seen) = (seen(old), seen(new));
    // What a person typed in the clear means what it says, covered or not.
    old_seen.iter_mut().chain(&mut new_seen).for_each(|tree| hidden.cover.tree(tree));
    if old_seen == new_seen {
        return (0..new.len()).map(Some).collect();
    }
    // `None` for what is seen more than once.
    let mut of_old: HashMap<&JsonTree, Option<usize>> = HashMap::new();
    for (item, tree) in old_seen.iter().enumerate() {
        of_old.entry(tree).and_modify(|only| *only = None).or_insert(Some(item));
    }
    let still_there: HashSet<&JsonTree> = new_seen.iter().collect();
    new_seen
        .iter()
        .enumerate()
        .map(|(item, tree)| match of_old.get(tree) {
            Some(&only) => only,
            // Edited in its place, and nobody else has come from there.
            None => (old.len() == new.len() && !still_there.contains(&old_seen[item])).then_some(item),
        })
        .collect()
}

/// What can be seen of a value: masked members left out, masked items as markers.
fn without_masked(tree: &JsonTree, at: &[Step], is_masked: &dyn Fn(&[Step]) -> bool) -> JsonTree {
    if is_masked(at) {
        return JsonTree::string(MARKER);
    }
    match tree {
        JsonTree::Scalar(_) => tree.clone(),
        JsonTree::Array(items) => JsonTree::Array(
            items
                .iter()
                .enumerate()
                .map(|(item, inner)| without_masked(inner, &[at, &[Step::Item(item)]].concat(), is_masked))
                .collect(),
        ),
        JsonTree::Object(members) => JsonTree::Object(
            members
                .iter()
                .zip(tree.members())
                .filter_map(|((raw, inner), (key, _))| {
                    let place = [at, &[Step::Key(key)]].concat();
                    (!is_masked(&place)).then(|| (raw.clone(), without_masked(inner, &place, is_masked)))
                })
                .collect(),
        ),
    }
}

fn is_marker(tree: &JsonTree) -> bool {
    tree.as_text().as_deref() == Some(MARKER)
}

/// Whether the marker of a hidden value stands anywhere in it, also within a text.
pub fn holds_marker(tree: &JsonTree) -> bool {
    match tree {
        JsonTree::Scalar(_) => tree.as_text().is_some_and(|text| text.contains(MARKER)),
        JsonTree::Array(items) => items.iter().any(holds_marker),
        JsonTree::Object(members) => members.iter().any(|(key, value)| key.contains(MARKER) || holds_marker(value)),
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

/// The changes as they are stored with a decision: masked values stay hidden,
/// long ones are cut, and a list without end says how much is left out. `cover`
/// is of the values before and after.
pub fn stored_differences(before: &JsonTree, after: &JsonTree, hidden: &Hidden<'_>) -> RawJson {
    let found = differences(before, after);
    let shown: Vec<Value> = found.iter().take(MAX_DIFFERENCES).map(|one| shown(one, hidden)).collect();
    let left_out = found.len().saturating_sub(MAX_DIFFERENCES);
    RawJson::stored(json!({ "changes": shown, "left_out": left_out }).to_string())
}

fn shown(difference: &Difference, hidden: &Hidden<'_>) -> Value {
    let is_hidden = (1..=difference.path.len()).any(|end| hidden.is_masked(&difference.path[..end]));
    let value = |tree: &Option<JsonTree>| {
        tree.as_ref().map(|tree| if is_hidden { MARKER.to_owned() } else { hiding(tree, &difference.path, hidden) })
    };
    json!({
        "path": hidden.cover.text(&path_text(&difference.path)),
        "before": value(&difference.before),
        "after": value(&difference.after),
    })
}

/// The value as text, with what is masked inside it hidden.
fn hiding(tree: &JsonTree, at: &[Step], hidden: &Hidden<'_>) -> String {
    let mut shown = tree.clone();
    let mut found = Vec::new();
    collect_masked(tree, &mut at.to_vec(), hidden.is_masked, &mut found);
    for path in found {
        shown.set(&path[at.len()..], JsonTree::string(MARKER));
    }
    hidden.cover.tree(&mut shown);
    super::text::preview(shown.to_json().as_str(), MAX_VALUE_CHARACTERS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::cover::mask_payload;

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
        with_masked_restored(
            &original,
            &json(corrected),
            &Hidden { is_masked: &iban_is_masked, cover: &Cover::default() },
        )
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
        assert!(!restored(r#"{"lines":[{"iban":"X1"}]}"#).unwrap().contains("X2"), "a removed item stays removed");
        assert_eq!(restored(r#"{"lines":[{}]}"#).unwrap_err().field, "payload.lines[0].iban", "which of the two?");
    }

    #[test]
    fn a_marker_in_a_changed_list_is_never_guessed() {
        let original = JsonTree::of(&json(
            r#"{"lines":[{"payee":"Anna","iban":"IBAN-ANNA"},{"payee":"Bert","iban":"IBAN-BERT"},{"payee":"Cleo","iban":"IBAN-CLEO"}]}"#,
        ));
        let restored = |text: &str| {
            with_masked_restored(
                &original,
                &json(text),
                &Hidden { is_masked: &iban_is_masked, cover: &Cover::default() },
            )
            .map(|tree| tree.to_json().as_str().to_owned())
        };
        let shorter = restored(r#"{"lines":[{"payee":"Bert","iban":"•••"},{"payee":"Cleo","iban":"•••"}]}"#).unwrap();
        assert_eq!(shorter, r#"{"lines":[{"payee":"Bert","iban":"IBAN-BERT"},{"payee":"Cleo","iban":"IBAN-CLEO"}]}"#);
        let turned =
            restored(r#"{"lines":[{"payee":"Cleo","iban":"•••"},{"payee":"Anna"},{"payee":"Bert","iban":"•••"}]}"#);
        let turned = turned.unwrap();
        assert!(turned.contains(r#""Cleo","iban":"IBAN-CLEO""#) && turned.contains(r#""Anna","iban":"IBAN-ANNA""#));
        let edited = r#"{"lines":[{"payee":"Anna B.","iban":"•••"},{"payee":"Bert","iban":"•••"},{"payee":"Cleo","iban":"•••"}]}"#;
        assert!(restored(edited).unwrap().contains(r#""Anna B.","iban":"IBAN-ANNA""#), "edited in its place");
        for unclear in [
            r#"{"lines":[{"payee":"Dora","iban":"•••"},{"payee":"Bert","iban":"•••"}]}"#,
            r#"{"lines":[{"payee":"Bert","iban":"•••"},{"payee":"Dora","iban":"•••"},{"payee":"Cleo","iban":"•••"}]}"#,
        ] {
            assert!(restored(unclear).unwrap_err().field.ends_with("iban"), "{unclear}");
        }
    }

    #[test]
    fn a_changed_row_without_its_hidden_value_is_never_guessed() {
        let original = JsonTree::of(&json(
            r#"{"lines":[{"payee":"Anna","iban":"IBAN-ANNA"},{"payee":"Bert","bank":{"iban":"IBAN-BERT"}}]}"#,
        ));
        let restored = |text: &str| {
            let hidden = Hidden { is_masked: &iban_is_masked, cover: &Cover::default() };
            with_masked_restored(&original, &json(text), &hidden).map(|tree| tree.to_json().as_str().to_owned())
        };
        for (text, field) in [
            (r#"{"lines":[{"payee":"Dora"}]}"#, "payload.lines[0].bank.iban"),
            (
                r#"{"lines":[{"payee":"Anna","iban":"•••"},{"payee":"Dora"},{"payee":"Emil"}]}"#,
                "payload.lines[1].bank.iban",
            ),
        ] {
            let error = restored(text).unwrap_err();
            assert_eq!((error.field.as_str(), error.rule.starts_with("is missing")), (field, true), "{text}");
        }
        for kept in [
            r#"{"lines":[{"payee":"Dora","iban":null,"bank":{"iban":"X"}}]}"#,
            r#"{"lines":[{"payee":"Anna","iban":"IBAN-ANNA"},{"payee":"Bert","bank":{"iban":"IBAN-BERT"}},{"payee":"New"}]}"#,
        ] {
            assert_eq!(restored(kept).unwrap(), kept);
        }
        let removed = restored(r#"{"lines":[{"payee":"Bert","bank":{"iban":"•••"}}]}"#).unwrap();
        assert_eq!(
            removed, r#"{"lines":[{"payee":"Bert","bank":{"iban":"IBAN-BERT"}}]}"#,
            "a row that is gone is gone"
        );
    }

    #[test]
    fn what_was_seen_covered_comes_back_whole() {
        let fields = ["iban".to_owned()];
        let text = r#"{"iban":"DE89370400","memo":"pay to DE89370400 now","n":9007199254740993,"l":[{"q":"DE89370400!","v":1}],"DE89370400":{"k":1}}"#;
        let original = json(text);
        let cover = Cover::of(Some(&original), &fields);
        let is_masked = |path: &[Step]| path == [Step::Key("iban".into())];
        let hidden = Hidden { is_masked: &is_masked, cover: &cover };
        let mut seen = Some(original.clone());
        mask_payload(&mut seen, &fields);
        let seen = seen.unwrap();
        assert!(!seen.as_str().contains("DE89"), "{}", seen.as_str());
        let restored = |corrected: &str| {
            with_masked_restored(&JsonTree::of(&original), &json(corrected), &hidden)
                .map(|tree| tree.to_json().as_str().to_owned())
        };
        assert_eq!(restored(seen.as_str()).unwrap(), text);
        let edited = seen.as_str().replace("9007199254740993", "2").replace(r#""v":1"#, r#""v":2"#);
        let expected = text.replace("9007199254740993", "2").replace(r#""v":1"#, r#""v":2"#);
        assert_eq!(restored(&edited).unwrap(), expected);
        let half = seen.as_str().replace("pay to ••• now", "pay to ••• later");
        assert_eq!(
            restored(&half).unwrap_err().field,
            "payload.memo",
            "a marker within a changed text stands for nothing"
        );
        let after = JsonTree::of(&json(&text.replace("pay to", "never pay to")));
        assert!(!stored_differences(&JsonTree::of(&original), &after, &hidden).as_str().contains("DE89"));
    }

    /// Takes for ever where one member or item is looked for among all others,
    /// and a correction is judged while nobody else can write.
    #[test]
    fn the_largest_payload_is_corrected_in_one_go() {
        let members = |changed: usize, value: &str| -> String {
            let all = (0..50_000).map(|n| format!("\"k{n}\":{}", if n == changed { value } else { "1" }));
            all.collect::<Vec<_>>().join(",")
        };
        let items = |changed: usize, value: &str| -> String {
            let all = (0..20_000)
                .map(|n| format!(r#"{{"n":{n},"v":{},"iban":"•••"}}"#, if n == changed { value } else { "1" }));
            all.collect::<Vec<_>>().join(",")
        };
        let payload = |object: String, list: String| json(&format!(r#"{{"o":{{{object}}},"l":[{list}]}}"#));
        let before = JsonTree::of(&payload(members(0, "1"), items(0, "1").replace("•••", "DE89")));
        let corrected = payload(members(49_999, "2"), items(19_999, "2"));
        let after =
            with_masked_restored(&before, &corrected, &Hidden { is_masked: &iban_is_masked, cover: &Cover::default() })
                .unwrap();
        assert_eq!(after.to_json().as_str().matches("DE89").count(), 20_000);
        let changes: Vec<String> = differences(&before, &after).iter().map(|one| path_text(&one.path)).collect();
        assert_eq!(changes, ["o.k49999", "l[19999].v"]);
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
        let stored =
            stored_differences(&before, &after, &Hidden { is_masked: &iban_is_masked, cover: &Cover::default() });
        assert!(!stored.as_str().contains("SECRET") && !stored.as_str().contains("X3"), "{}", stored.as_str());
        assert!(stored.as_str().contains("customer.name") && stored.as_str().contains("lines[2]"));
    }
}
