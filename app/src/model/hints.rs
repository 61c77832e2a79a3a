//! Where a cluster of parked jobs may come from: reasons that come more or less
//! often than before, and what earlier agents noted about the jobs of a cluster
//! more often than about others.
//!
//! A hint is what chance hardly explains, not a cause. Everything is bounded:
//! letters, values per letter, hints.

use super::job::RawJson;
use super::stats::{Share, beta_binomial_tail, hypergeometric_tail};
use super::text::{preview, visible};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What chance explains this rarely is a hint.
const ALPHA: f64 = 0.01;
/// A value or a reason that was seen less often is no hint, however rare.
const LEAST_SEEN: i64 = 3;
/// Most hints of each sort.
const MAX_HINTS: usize = 10;
/// Most letters of a cluster, and of the rest, that are looked at.
const MAX_LETTERS: usize = 5_000;
/// Most noted values of one letter.
const MAX_VALUES: usize = 50;
/// Longest key or value, in characters.
const MAX_CHARACTERS: usize = 100;

/// How often a reason came in a span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReasonCount {
    /// Parked for it.
    pub parked: i64,
    /// Parked + done in all.
    pub processed: i64,
}

/// Which way a reason goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It comes more often than before.
    Grows,
    /// It comes less often than before.
    Shrinks,
}

/// A reason that changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trend {
    /// The reason code.
    pub reason_code: String,
    /// Which way.
    pub direction: Direction,
    /// How likely chance alone would move it so far.
    pub chance: f64,
}

/// The reasons that come more or less often than before, the least likely first.
pub fn trends(counts: &BTreeMap<String, (ReasonCount, ReasonCount)>) -> Vec<Trend> {
    let mut trends: Vec<Trend> = counts
        .iter()
        .filter_map(|(reason_code, (before, now))| {
            let known = Share::new(before.parked, before.processed);
            let more = beta_binomial_tail(now.parked, now.processed, known);
            let fewer = 1.0 - beta_binomial_tail(now.parked.saturating_add(1), now.processed, known);
            let trend = |direction, chance| Trend { reason_code: reason_code.clone(), direction, chance };
            match () {
                () if before.processed <= 0 || now.processed <= 0 => None,
                () if more <= ALPHA && now.parked >= LEAST_SEEN => Some(trend(Direction::Grows, more)),
                () if fewer <= ALPHA && before.parked >= LEAST_SEEN => Some(trend(Direction::Shrinks, fewer.max(0.0))),
                () => None,
            }
        })
        .collect();
    trends.sort_by(|a, b| a.chance.total_cmp(&b.chance));
    trends.truncate(MAX_HINTS);
    trends
}

/// One thing that an earlier agent said about an input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Noted {
    /// The agent.
    pub agent: String,
    /// `version`, or a key of its note.
    pub key: String,
    /// What it said.
    pub value: String,
}

/// What the handoffs of one job note: each agent's version, and each `key=value`
/// of its note. Of `pages_emitted=1 of 2`, whose numbers differ from job to job,
/// it is also noted that it is *incomplete*.
pub fn noted(handoffs: &RawJson) -> BTreeSet<Noted> {
    let parsed: Vec<Value> = serde_json::from_str(handoffs.as_str()).unwrap_or_default();
    let mut noted = BTreeSet::new();
    for handoff in &parsed {
        let text = |key: &str| handoff.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let Some(agent) = text("agent") else { continue };
        let version = text("version").map(|version| ("version".to_owned(), version.to_owned()));
        for (key, value) in version.into_iter().chain(text("note").map(pairs).into_iter().flatten()) {
            if noted.len() == MAX_VALUES {
                return noted;
            }
            noted.insert(Noted { agent: short(agent), key: short(&key), value: short(&value) });
        }
    }
    noted
}

/// The `key=value` pairs of a note. A value goes up to the next comma, semicolon,
/// line end or pair.
fn pairs(note: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for part in note.split([',', ';', '\n']) {
        let mut open: Option<(String, Vec<&str>)> = None;
        for word in part.split_whitespace() {
            match word.split_once('=') {
                Some((key, value)) if !key.is_empty() => {
                    pairs.extend(open.replace((key.to_owned(), vec![value])));
                }
                _ => {
                    if let Some((_, words)) = &mut open {
                        words.push(word);
                    }
                }
            }
        }
        pairs.extend(open);
    }
    let said = pairs.into_iter().map(|(key, words)| (key, words.join(" ")));
    said.flat_map(|(key, value)| {
        let incomplete = is_incomplete(&value).then(|| (key.clone(), "incomplete".to_owned()));
        [(key, value)].into_iter().chain(incomplete)
    })
    .collect()
}

/// Whether it reads `1 of 2`, `1/2` or the like, the first number the smaller.
fn is_incomplete(value: &str) -> bool {
    let halves = value.split_once(" of ").or_else(|| value.split_once('/'));
    let number = |text: &str| text.trim().parse::<u64>().ok();
    halves.and_then(|(part, whole)| Some(number(part)? < number(whole)?)).unwrap_or(false)
}

fn short(text: &str) -> String {
    preview(text, MAX_CHARACTERS)
}

/// Something that was noted about a cluster more often than about the rest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hint {
    /// What was noted.
    pub noted: Noted,
    /// About how many of the cluster.
    pub in_cluster: i64,
    /// Jobs of the cluster that were looked at.
    pub cluster: i64,
    /// About how many of the rest.
    pub in_rest: i64,
    /// Jobs of the rest that were looked at.
    pub rest: i64,
    /// How likely chance alone would put so many into the cluster.
    pub chance: f64,
    /// The same in a sentence.
    pub message: String,
}

/// What was noted about the jobs of a cluster more often than about the rest,
/// the least likely first. What two of them note about the very same jobs is
/// said by both. The more different things are noted, the less likely one must
/// be to count: among a hundred, one in a hundred is nothing.
pub fn over_represented(cluster: &[BTreeSet<Noted>], rest: &[BTreeSet<Noted>]) -> Vec<Hint> {
    let (cluster, rest) = (&cluster[..cluster.len().min(MAX_LETTERS)], &rest[..rest.len().min(MAX_LETTERS)]);
    let mut seen: BTreeMap<&Noted, (i64, i64)> = BTreeMap::new();
    for noted in cluster.iter().flatten() {
        seen.entry(noted).or_default().0 += 1;
    }
    for noted in rest.iter().flatten() {
        // What is not in the cluster is not over-represented there.
        if let Some((_, in_rest)) = seen.get_mut(noted) {
            *in_rest += 1;
        }
    }
    let alpha = ALPHA / (seen.len().max(1) as f64);
    let (clustered, others) = (cluster.len() as i64, rest.len() as i64);
    let mut hints: Vec<Hint> = seen
        .into_iter()
        .filter(|(_, (in_cluster, _))| *in_cluster >= LEAST_SEEN)
        .filter_map(|(noted, (in_cluster, in_rest))| {
            let chance = hypergeometric_tail(in_cluster, clustered, in_cluster + in_rest, clustered + others);
            (chance <= alpha).then(|| Hint {
                message: sentence(noted, (in_cluster, clustered), (in_rest, others)),
                noted: noted.clone(),
                in_cluster,
                cluster: clustered,
                in_rest,
                rest: others,
                chance,
            })
        })
        .collect();
    hints.sort_by(|a, b| a.chance.total_cmp(&b.chance));
    hints.truncate(MAX_HINTS);
    hints
}

fn sentence(noted: &Noted, (in_cluster, cluster): (i64, i64), (in_rest, rest): (i64, i64)) -> String {
    let Noted { agent, key, value } = noted;
    format!(
        "{} noted {}={} for {in_cluster} of these {cluster}, and for {in_rest} of {rest} others.",
        visible(agent),
        visible(key),
        visible(value)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn handoffs(value: &Value) -> BTreeSet<Noted> {
        noted(&RawJson::stored(value.to_string()))
    }

    fn split(version: &str, note: &str) -> BTreeSet<Noted> {
        handoffs(&json!([{"agent": "pdf-splitter", "version": version, "output_sha256": "9c1e", "note": note}]))
    }

    fn said(noted: &BTreeSet<Noted>) -> Vec<String> {
        noted.iter().map(|one| format!("{} {}={}", one.agent, one.key, one.value)).collect()
    }

    #[test]
    fn notes_are_read_by_their_pairs() {
        assert_eq!(
            said(&split("1.4.2", "pages_emitted=1 of 2, dpi=300; took long ocr=off")),
            [
                "pdf-splitter dpi=300",
                "pdf-splitter ocr=off",
                "pdf-splitter pages_emitted=1 of 2",
                "pdf-splitter pages_emitted=incomplete",
                "pdf-splitter version=1.4.2",
            ]
        );
        assert_eq!(said(&split("2", "pages=3/3")), ["pdf-splitter pages=3/3", "pdf-splitter version=2"]);
        for nothing in [
            json!({}),
            json!("x"),
            json!([1, {}, {"agent": 7, "note": "a=b"}]),
            json!([{"agent": "a", "note": "none"}]),
        ] {
            assert_eq!(handoffs(&nothing), BTreeSet::new(), "{nothing}");
        }
        let long = json!([{"agent": "a", "note": (0..9_999).map(|n| format!("k{n}={}", "x".repeat(500))).collect::<Vec<_>>().join(",")}]);
        let noted = handoffs(&long);
        assert!(noted.len() == MAX_VALUES && noted.iter().all(|one| one.value.chars().count() <= MAX_CHARACTERS + 1));
    }

    #[test]
    fn the_splitter_that_drops_pages_is_named_first() {
        // Invoices without a currency, of different lengths, the last page lost.
        let cluster: Vec<_> =
            (0..12).map(|n| split("1.4.2", &format!("pages_emitted={} of {}", n % 3 + 1, n % 3 + 2))).collect();
        let rest: Vec<_> = (0..200).map(|n| split("1.4.2", &format!("pages_emitted={0} of {0}", n % 4 + 1))).collect();
        let hints = over_represented(&cluster, &rest);
        assert_eq!((hints[0].noted.key.as_str(), hints[0].noted.value.as_str()), ("pages_emitted", "incomplete"));
        assert_eq!(
            hints[0].message,
            "pdf-splitter noted pages_emitted=incomplete for 12 of these 12, and for 0 of 200 others."
        );
        assert!(hints.iter().all(|hint| hint.noted.key != "version"), "all of them have that version");
    }

    #[test]
    fn a_version_that_only_the_cluster_has_is_named() {
        let cluster: Vec<_> = (0..20).map(|_| split("1.5.0", "pages_emitted=2 of 2")).collect();
        let rest: Vec<_> =
            (0..100).map(|n| split(if n < 3 { "1.5.0" } else { "1.4.2" }, "pages_emitted=2 of 2")).collect();
        let hints = over_represented(&cluster, &rest);
        assert_eq!(hints.len(), 1);
        assert_eq!((hints[0].noted.value.as_str(), hints[0].in_rest), ("1.5.0", 3));
    }

    #[test]
    fn what_chance_explains_and_what_is_seen_twice_is_no_hint() {
        let mixed = |n: usize| split("1", &format!("side={}", n % 2));
        let (cluster, rest): (Vec<_>, Vec<_>) = ((0..30).map(mixed).collect(), (0..300).map(mixed).collect());
        assert_eq!(over_represented(&cluster, &rest), []);
        assert_eq!(over_represented(&[split("9", ""), split("9", "")], &rest), []);
        assert_eq!(over_represented(&[], &[]), []);
        assert_eq!(over_represented(&cluster, &[]), [], "nothing to compare with");
    }

    #[test]
    fn reasons_that_grow_and_shrink_are_found() {
        let count = |parked, processed| ReasonCount { parked, processed };
        let counts = BTreeMap::from([
            ("GROWS".to_owned(), (count(10, 1_000), count(30, 1_000))),
            ("SHRINKS".to_owned(), (count(40, 1_000), count(2, 1_000))),
            ("STAYS".to_owned(), (count(40, 1_000), count(45, 1_000))),
            ("NEW".to_owned(), (count(0, 1_000), count(12, 1_000))),
            ("RARE".to_owned(), (count(0, 100_000), count(2, 100))),
            ("UNKNOWN".to_owned(), (count(0, 0), count(90, 100))),
        ]);
        let found: BTreeMap<String, Direction> =
            trends(&counts).into_iter().map(|trend| (trend.reason_code, trend.direction)).collect();
        let right = [("GROWS", Direction::Grows), ("NEW", Direction::Grows), ("SHRINKS", Direction::Shrinks)];
        assert_eq!(found, right.map(|(code, direction)| (code.to_owned(), direction)).into());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn anything_noted_is_read(note in "\\PC{0,60}", agent in "\\PC{0,10}") {
            let one = handoffs(&json!([{"agent": agent, "note": note}]));
            let hints = over_represented(&vec![one.clone(); 40], &vec![BTreeSet::new(); 40]);
            prop_assert!(hints.len() == one.len().min(MAX_HINTS));
        }
    }
}
