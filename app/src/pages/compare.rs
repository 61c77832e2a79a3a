//! `/compare?left=letter:12&right=job:57`: two envelopes side by side. What
//! changed comes first; what is the same is folded away.

use super::dead_letters::reason;
use super::frame::{Loaded, Section, page};
use crate::api::{Access, PageError, Request};
use crate::components::envelope::body;
use crate::components::json_text::{MASKED, indented};
use crate::components::link;
use crate::components::moment::date_and_time;
use crate::components::name::{name, said};
use crate::components::state_mark::{job_word, of_job, of_route, state};
use crate::components::text_diff::text_diff;
use crate::error::AppError;
use crate::model::artifact::Artifact;
use crate::model::cover::mask_letter;
use crate::model::envelope::{Envelope, Part, PartDifference, compare};
use crate::model::ids::{DeadLetterId, JobId};
use crate::model::job::RawJson;
use crate::model::json_tree::{Difference, JsonTree, path_text};
use crate::model::mask::mask_job;
use crate::model::people::Role;
use crate::model::text::{preview, visible_lines};
use leptos::prelude::*;
use std::str::FromStr;

/// Differences that are shown of one part.
const SHOWN: usize = 200;
/// Characters shown of a value.
const VALUE_CHARACTERS: usize = 1_000;

/// For everybody; on-call is told which parts differ, and not how.
#[component]
pub fn ComparePage() -> impl IntoView {
    page(Section::DeadLetters, "Compare envelopes", Role::OnCall, load)
}

/// What stands on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Letter(DeadLetterId),
    Job(JobId),
}

impl FromStr for Side {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.trim().split_once(':') {
            Some(("letter", id)) => id.parse().map(Self::Letter).map_err(drop),
            Some(("job", id)) => id.parse().map(Self::Job).map_err(drop),
            _ => Err(()),
        }
    }
}

/// One side, found and masked.
struct Found {
    head: AnyView,
    envelope: Option<Envelope>,
}

async fn load(access: Access, request: Request) -> Loaded {
    let rule = "must be letter:ID or job:ID";
    let (left, right) = (request.parsed::<Side>("left", rule)?, request.parsed::<Side>("right", rule)?);
    let form = form(request.get("left"), request.get("right"));
    let (Some(left), Some(right)) = (left, right) else {
        return Ok(
            view! { <p class="hint">"Name two letters, or a letter and a job that is done."</p>{form} }.into_any()
        );
    };
    let (before, after) = (find(&access, left, "left").await?, find(&access, right, "right").await?);
    let found = match (&before.envelope, &after.envelope) {
        (Some(before), Some(after)) => Some((before, compare(before, after), texts(&access, before, after).await?)),
        _ => None,
    };
    let contents = match &found {
        None => view! {
            <p class="notice odd">"Nothing to compare: one side has no envelope. Its worker sent none, or died before it could."</p>
        }
        .into_any(),
        Some((before, parts, texts)) => contents(before, parts, texts, access.viewer.may(Role::Reviewer)),
    };
    Ok(view! {
        <div class="sides"><section>{before.head}</section><section>{after.head}</section></div>
        {contents}
        {form}
    }
    .into_any())
}

fn form(left: Option<&str>, right: Option<&str>) -> AnyView {
    let (left, right) = (left.unwrap_or_default().to_owned(), right.unwrap_or_default().to_owned());
    view! {
        <form class="range" method="get" action="/compare">
            <label>"Left "<input name="left" value=left placeholder="letter:12" required /></label>
            <label>"Right "<input name="right" value=right placeholder="letter:31 or job:57" required /></label>
            <button>"Compare"</button>
        </form>
    }
    .into_any()
}

async fn find(access: &Access, side: Side, title: &'static str) -> Result<Found, PageError> {
    match side {
        Side::Letter(id) => {
            let mut detail = access.store.find_letter(id).await?.ok_or(AppError::NotFound("dead letter"))?;
            let kind = detail.letter.kind.clone();
            access.mask(&kind, &format!("dead_letter {id}"), &mut detail, mask_letter).await?;
            let letter = &detail.letter;
            let head = view! {
                <h2>{title}": "<a href=link::letter(id)>{format!("letter {id}")}</a></h2>
                <p>{state(of_route(letter.route), letter.route.label())}", "{said(&reason(letter))}</p>
                <p class="meta">{name(&letter.kind)}" from "{name(&letter.source)}", parked "{date_and_time(letter.dead_lettered_at)}</p>
            };
            Ok(Found {
                head: head.into_any(),
                envelope: read(detail.envelope.as_ref(), detail.upstream_handoffs.as_ref()),
            })
        }
        Side::Job(id) => {
            let mut job = access.store.find_job(id).await?.ok_or(AppError::NotFound("job"))?;
            let kind = job.summary.kind.clone();
            access.mask(&kind, &format!("job {id}"), &mut job, mask_job).await?;
            let summary = &job.summary;
            let said_so = summary.verdict.as_deref().map(|verdict| view! { ", "{said(verdict)} });
            let of =
                job.replay_of.map(|of| view! { ", replay of "<a href=link::letter(of)>{format!("letter {of}")}</a> });
            let head = view! {
                <h2>{title}": "<a href=link::job(id)>{format!("job {id}")}</a></h2>
                <p>{state(of_job(summary.state), job_word(summary.state))}{said_so}{of}</p>
                <p class="meta">{name(&summary.kind)}" from "{name(&summary.source)}{summary.finished_at.map(|at| view! { ", ended "{date_and_time(at)} })}</p>
            };
            Ok(Found { head: head.into_any(), envelope: read(job.envelope.as_ref(), job.upstream_handoffs.as_ref()) })
        }
    }
}

fn read(envelope: Option<&RawJson>, handoffs: Option<&RawJson>) -> Option<Envelope> {
    envelope.map(|json| Envelope::of(json).with_handoffs(handoffs))
}

/// The texts that a part is about, where they are not the same.
struct Texts {
    part: Part,
    before: Option<Artifact>,
    after: Option<Artifact>,
}

async fn texts(access: &Access, before: &Envelope, after: &Envelope) -> Result<Vec<Texts>, PageError> {
    let mut found = Vec::new();
    for part in [Part::Prompt, Part::Tools] {
        let (old, new) = (before.artifact(part), after.artifact(part));
        if old == new || !access.viewer.may(Role::Reviewer) {
            continue;
        }
        let (mut texts, hashes) = (Texts { part, before: None, after: None }, [old, new]);
        for (hash, text) in hashes.iter().zip([&mut texts.before, &mut texts.after]) {
            if let Some(hash) = hash {
                *text = access.store.find_artifact(hash).await?;
            }
        }
        found.push(texts);
    }
    Ok(found)
}

fn contents(left: &Envelope, parts: &[PartDifference], texts: &[Texts], may_see: bool) -> AnyView {
    let titles = |is_same: bool| {
        let of = parts.iter().filter(|one| one.changes.is_empty() == is_same).map(|one| one.part.title());
        of.collect::<Vec<_>>().join(", ")
    };
    let (changed, same) = (titles(false), titles(true));
    let verdict = match (changed.as_str(), same.as_str()) {
        ("", "") => "Both envelopes are empty.".to_owned(),
        ("", _) => "The envelopes are the same.".to_owned(),
        _ => format!("Different: {changed}."),
    };
    if !may_see {
        let same = (!same.is_empty()).then(|| view! { <p class="hint">"The same: "{same}"."</p> });
        return view! { <p class="lead">{verdict}</p>{same}<p class="hint">{MASKED}</p> }.into_any();
    }
    let same = (!same.is_empty()).then(|| {
        let parts = parts.iter().filter(|one| one.changes.is_empty());
        let bodies = parts
            .filter_map(|one| {
                let tree = left.part(one.part)?;
                Some(view! { <h2>{one.part.title()}</h2>{body(one.part, &tree, "/compare", true)} })
            })
            .collect_view();
        view! { <details class="part"><summary>"The same: "{same}"."</summary>{bodies}</details> }
    });
    let details = parts
        .iter()
        .filter(|one| !one.changes.is_empty())
        .map(|one| {
            let text = texts.iter().find(|text| text.part == one.part).map(text_of);
            view! { <h2>{one.part.title()}</h2>{table(&one.changes)}{text} }
        })
        .collect_view();
    view! { <p class="lead">{verdict}</p>{details}{same} }.into_any()
}

fn table(changes: &[Difference]) -> impl IntoView + use<> {
    let more = changes.len().saturating_sub(SHOWN);
    let rows = changes
        .iter()
        .take(SHOWN)
        .map(|change| {
            view! {
                <tr>
                    <th scope="row">{name(&path_text(&change.path))}</th>
                    <td data-label="left"><del>{value(change.before.as_ref())}</del></td>
                    <td data-label="right"><ins>{value(change.after.as_ref())}</ins></td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <table class="compare compact changes">
            <thead><tr><th scope="col">"What"</th><th scope="col">"Left"</th><th scope="col">"Right"</th></tr></thead>
            <tbody>{rows}</tbody>
        </table>
        {(more > 0).then(|| view! { <p class="hint">{format!("and {more} more changes")}</p> })}
    }
}

fn value(tree: Option<&JsonTree>) -> String {
    let text = match tree {
        None => return "(absent)".to_owned(),
        Some(tree) => tree.as_text().unwrap_or_else(|| indented(&tree.to_json())),
    };
    visible_lines(&preview(&text, VALUE_CHARACTERS)).into_owned()
}

/// The difference between the two texts, or which of them nobody registered.
fn text_of(texts: &Texts) -> AnyView {
    match (&texts.before, &texts.after) {
        (Some(before), Some(after)) => {
            let links = [("left", before), ("right", after)].map(|(side, text)| {
                view! { " "<a href=link::artifact(&text.sha256)>{side}</a> }
            });
            view! {
                {text_diff(&before.content, &after.content)}
                <p class="meta">"The whole texts:"{links.into_iter().collect_view()}</p>
            }
            .into_any()
        }
        (before, after) => {
            let which = match (before, after) {
                (None, None) => "Neither text is",
                (None, _) => "The left text is not",
                _ => "The right text is not",
            };
            view! {
                <p class="hint">{which}" in the registry, so only the hashes can be compared."</p>
            }
            .into_any()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::markup::markup;

    fn shown(left: &str, right: &str, may_see: bool) -> String {
        let read = |json: &str| Envelope::of(&RawJson::stored(json.to_owned()));
        markup(contents(&read(left), &compare(&read(left), &read(right)), &[], may_see))
    }

    #[test]
    fn a_side_is_a_letter_or_a_job() {
        assert_eq!("letter:12".parse(), Ok(Side::Letter(DeadLetterId(12))));
        assert_eq!(" job:57 ".parse(), Ok(Side::Job(JobId(57))));
        for bad in ["", "12", "letter", "letter:", "letter:x", "job:-", "replay:1"] {
            assert_eq!(bad.parse::<Side>(), Err(()), "{bad}");
        }
    }

    #[test]
    fn what_changed_is_said_and_shown_to_those_who_may_see_it() {
        let (left, right) =
            (r#"{"model":{"id":"a<b"},"tool_calls":[{"iban":"DE89"}],"x":1}"#, r#"{"model":{"id":"c"},"x":1}"#);
        let html = shown(left, right, true);
        assert!(html.contains("Different: Model, Tool calls.") && html.contains("The same: Other keys."), "{html}");
        assert!(html.contains("<del>a&lt;b</del>") && html.contains("<ins>c</ins>") && html.contains("DE89"), "{html}");
        let html = shown(left, right, false);
        assert!(
            html.contains("Different: Model, Tool calls.") && !html.contains("DE89") && !html.contains("a&lt;b"),
            "{html}"
        );
        assert!(shown(left, left, true).contains("The envelopes are the same."));
    }

    #[test]
    fn a_text_that_nobody_registered_is_said_to_be_missing() {
        let html = markup(text_of(&Texts { part: Part::Prompt, before: None, after: None }));
        assert!(html.contains("Neither text is in the registry"), "{html}");
    }
}
