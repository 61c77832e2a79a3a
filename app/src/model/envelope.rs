//! An envelope as people read it and as two of them are compared: its members,
//! each in the part of the decision that it belongs to. None is left out,
//! whatever its name.

use super::artifact::ArtifactHash;
use super::job::RawJson;
use super::json_tree::{Difference, JsonTree, differences};

/// A part of the decision context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Who answered, with which settings.
    Model,
    /// What it was asked.
    Prompt,
    /// What it could call.
    Tools,
    /// What was looked up for it.
    Context,
    /// What earlier agents did to the input.
    Handoffs,
    /// What it called.
    Calls,
    /// Where the input came from, and the envelope's own marks.
    Input,
    /// Where more can be seen.
    Trace,
    /// Everything else, kept as it came.
    Other,
}

impl Part {
    /// All parts, in the order a person reads them.
    pub const ALL: [Self; 9] = [
        Self::Model,
        Self::Prompt,
        Self::Tools,
        Self::Context,
        Self::Handoffs,
        Self::Calls,
        Self::Input,
        Self::Trace,
        Self::Other,
    ];

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Model => "Model",
            Self::Prompt => "Prompt",
            Self::Tools => "Tools offered",
            Self::Context => "Retrieved context",
            Self::Handoffs => "Upstream handoffs",
            Self::Calls => "Tool calls",
            Self::Input => "Input",
            Self::Trace => "Trace",
            Self::Other => "Other keys",
        }
    }

    fn of_key(key: &str) -> Self {
        match key {
            "model" => Self::Model,
            "prompt" => Self::Prompt,
            "tools_offered" => Self::Tools,
            "retrieved_context" => Self::Context,
            "upstream_handoffs" => Self::Handoffs,
            "tool_calls" => Self::Calls,
            "envelope_version" | "semconv_version" | "message_id" | "source" | "received_at" | "payload_ref"
            | "payload_sha256" | "route" => Self::Input,
            "trace_id" => Self::Trace,
            _ => Self::Other,
        }
    }
}

/// The members of an envelope in their order, keys as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope(Vec<(Part, String, JsonTree)>);

impl Envelope {
    /// Reads an envelope; one that is no object is all in [`Part::Other`].
    pub fn of(json: &RawJson) -> Self {
        match JsonTree::of(json) {
            JsonTree::Object(members) => Self(
                members
                    .into_iter()
                    .map(|(raw, value)| {
                        let key = JsonTree::Scalar(raw.clone()).as_text().unwrap_or_default();
                        (Part::of_key(&key), raw, value)
                    })
                    .collect(),
            ),
            other => Self(vec![(Part::Other, "\"envelope\"".to_owned(), other)]),
        }
    }

    /// The same with the job's handoffs, unless the envelope has its own.
    #[must_use]
    pub fn with_handoffs(mut self, handoffs: Option<&RawJson>) -> Self {
        if let Some(handoffs) = handoffs.filter(|_| self.part(Part::Handoffs).is_none()) {
            self.0.push((Part::Handoffs, "\"upstream_handoffs\"".to_owned(), JsonTree::of(handoffs)));
        }
        self
    }

    /// The members of a part as an object; nothing if there are none.
    pub fn part(&self, part: Part) -> Option<JsonTree> {
        let members: Vec<_> =
            self.0.iter().filter(|(of, ..)| *of == part).map(|(_, key, value)| (key.clone(), value.clone())).collect();
        (!members.is_empty()).then_some(JsonTree::Object(members))
    }

    /// A text at `member.key`, or of the member itself.
    pub fn text(&self, member: &str, key: Option<&str>) -> Option<String> {
        let raw = serde_json::Value::from(member).to_string();
        let (.., value) = self.0.iter().find(|(_, name, _)| *name == raw)?;
        match key {
            None => value.as_text(),
            Some(key) => value.members().into_iter().find(|(name, _)| name == key)?.1.as_text(),
        }
    }

    /// The text in the registry that the prompt or the tools are named by.
    pub fn artifact(&self, part: Part) -> Option<ArtifactHash> {
        let member = match part {
            Part::Prompt => "prompt",
            Part::Tools => "tools_offered",
            _ => return None,
        };
        self.text(member, Some("sha256"))?.parse().ok()
    }

    /// Both texts.
    pub fn artifacts(&self) -> Vec<ArtifactHash> {
        [Part::Prompt, Part::Tools].into_iter().filter_map(|part| self.artifact(part)).collect()
    }

    /// What a person wants to know of a part before they unfold it.
    pub fn gist(&self, part: Part) -> String {
        let count = |member: &str, one: &str, many: &str| {
            let raw = format!("\"{member}\"");
            match self.0.iter().find(|(_, name, _)| *name == raw) {
                Some((.., JsonTree::Array(items))) if items.len() == 1 => format!("1 {one}"),
                Some((.., JsonTree::Array(items))) => format!("{} {many}", items.len()),
                _ => String::new(),
            }
        };
        match part {
            Part::Model => match (self.text("model", Some("id")), self.text("model", Some("provider"))) {
                (Some(id), Some(provider)) => format!("{id} ({provider})"),
                (id, provider) => id.or(provider).unwrap_or_default(),
            },
            Part::Prompt => self.text("prompt", Some("template_id")).unwrap_or_default(),
            Part::Tools => {
                self.artifact(part).map(|hash| format!("sha256 {}…", &hash.as_str()[..8])).unwrap_or_default()
            }
            Part::Context => count("retrieved_context", "document", "documents"),
            Part::Handoffs => count("upstream_handoffs", "handoff", "handoffs"),
            Part::Calls => count("tool_calls", "call", "calls"),
            Part::Trace => self.text("trace_id", None).unwrap_or_default(),
            Part::Input => self.text("source", None).unwrap_or_default(),
            Part::Other => match self.0.iter().filter(|(of, ..)| *of == Part::Other).count() {
                1 => "1 key".to_owned(),
                n => format!("{n} keys"),
            },
        }
    }
}

/// One part of two envelopes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartDifference {
    /// Which.
    pub part: Part,
    /// What differs; nothing when both have the same.
    pub changes: Vec<Difference>,
}

/// Every part that one of the two has. Documents and handoffs are told apart by
/// their names, not by their places.
pub fn compare(left: &Envelope, right: &Envelope) -> Vec<PartDifference> {
    let side = |envelope: &Envelope, part| envelope.part(part).map(|tree| named(part, tree));
    Part::ALL
        .into_iter()
        .filter_map(|part| {
            let (before, after) = (side(left, part), side(right, part));
            if before.is_none() && after.is_none() {
                return None;
            }
            let nothing = || JsonTree::Object(Vec::new());
            let changes = differences(&before.unwrap_or_else(nothing), &after.unwrap_or_else(nothing));
            Some(PartDifference { part, changes })
        })
        .collect()
}

/// Lists of documents and of agents as objects, so that one more in front does
/// not make all others look changed.
fn named(part: Part, tree: JsonTree) -> JsonTree {
    let key = match part {
        Part::Context => "doc_id",
        Part::Handoffs => "agent",
        _ => return tree,
    };
    let JsonTree::Object(members) = tree else { return tree };
    JsonTree::Object(members.into_iter().map(|(name, value)| (name, by_name(value, key))).collect())
}

fn by_name(list: JsonTree, key: &str) -> JsonTree {
    let JsonTree::Array(items) = &list else { return list };
    let names: Option<Vec<String>> = items
        .iter()
        .map(|item| item.members().into_iter().find(|(name, _)| name == key).and_then(|(_, value)| value.as_text()))
        .collect();
    let Some(names) = names else { return list };
    let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
    if distinct.len() != names.len() {
        return list;
    }
    let members =
        names.iter().zip(items).map(|(name, item)| (serde_json::Value::from(name.as_str()).to_string(), item.clone()));
    JsonTree::Object(members.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::json_tree::path_text;

    fn envelope(json: &str) -> Envelope {
        Envelope::of(&RawJson::stored(json.to_owned()))
    }

    fn paths(left: &str, right: &str) -> Vec<(Part, Vec<String>)> {
        compare(&envelope(left), &envelope(right))
            .into_iter()
            .map(|one| (one.part, one.changes.iter().map(|change| path_text(&change.path)).collect()))
            .collect()
    }

    #[test]
    fn every_member_is_in_exactly_one_part() {
        let json =
            r#"{"model":{"id":"m","provider":"p"},"prompt":{"sha256":"x"},"x":1e400,"x":2,"route":"r","trace_id":"t"}"#;
        let read = envelope(json);
        let parts: Vec<JsonTree> = Part::ALL.into_iter().filter_map(|part| read.part(part)).collect();
        assert_eq!(parts.iter().map(|part| part.members().len()).sum::<usize>(), 6);
        assert_eq!(read.part(Part::Other).unwrap().to_json().as_str(), r#"{"x":1e400,"x":2}"#);
        assert_eq!((read.gist(Part::Model), read.gist(Part::Other)), ("m (p)".to_owned(), "2 keys".to_owned()));
        assert_eq!(envelope("[1]").part(Part::Other).unwrap().to_json().as_str(), r#"{"envelope":[1]}"#);
    }

    #[test]
    fn what_changed_is_named_and_what_is_the_same_is_not() {
        assert_eq!(
            paths(
                r#"{"model":{"id":"a","params":{"t":0}},"prompt":{"sha256":"1"},"z":1}"#,
                r#"{"model":{"id":"a","params":{"t":1}},"prompt":{"sha256":"1"},"y":1}"#
            ),
            [
                (Part::Model, vec!["model.params.t".to_owned()]),
                (Part::Prompt, vec![]),
                (Part::Other, vec!["z".to_owned(), "y".to_owned()])
            ]
        );
    }

    #[test]
    fn a_document_more_does_not_change_the_others() {
        let with = |docs: &str| format!("{{\"retrieved_context\":[{docs}]}}");
        let (a, b) = (r#"{"doc_id":"a","version":"1"}"#, r#"{"doc_id":"b","version":"1"}"#);
        let found = paths(&with(b), &with(&format!("{a},{b}")));
        assert_eq!(found, [(Part::Context, vec!["retrieved_context.a".to_owned()])]);
        let found = paths(&with(a), &with(&a.replace("\"1\"", "\"2\"")));
        assert_eq!(found, [(Part::Context, vec!["retrieved_context.a.version".to_owned()])]);
    }

    #[test]
    fn the_jobs_handoffs_stand_in_for_those_of_the_envelope() {
        let job = RawJson::stored("[{\"agent\":\"s\"}]".to_owned());
        assert_eq!(envelope("{}").with_handoffs(Some(&job)).gist(Part::Handoffs), "1 handoff");
        assert_eq!(
            envelope(r#"{"upstream_handoffs":[]}"#).with_handoffs(Some(&job)).gist(Part::Handoffs),
            "0 handoffs"
        );
    }
}
