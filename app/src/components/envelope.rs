//! An envelope in parts that unfold; what a part says in short stands beside its
//! title. Nothing of the envelope is left out.

use super::json_text::{indented, text_block};
use super::link;
use super::name::{name, said};
use super::preview::folded;
use crate::model::artifact::ArtifactHash;
use crate::model::envelope::{Envelope, Part};
use crate::model::job::RawJson;
use crate::model::json_tree::{JsonTree, path_text};
use crate::model::trace_url::TraceUrl;
use leptos::prelude::*;

/// Facts of a part that are listed one by one; with more it is shown as JSON.
const MOST_FACTS: usize = 40;

/// What an envelope's links lead to.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The hashes that the registry has a text for.
    pub artifacts: Vec<ArtifactHash>,
    /// Where traces are, if that is configured.
    pub trace_url: Option<TraceUrl>,
}

/// All parts, and the whole as it is stored. `path` is the page's, whose
/// `show=all` shows long texts whole.
pub fn envelope(json: &RawJson, known: &Known, path: &str, show_all: bool) -> AnyView {
    let read = Envelope::of(json);
    let parts = Part::ALL
        .into_iter()
        .filter_map(|part| {
            let tree = read.part(part)?;
            let gist = read.gist(part);
            let body = body(part, &tree, path, show_all);
            let leads_to = leads_to(part, &read, known);
            Some(view! {
                <details class="part">
                    <summary><b>{part.title()}</b>" "<span class="zero">{said(&gist)}</span></summary>
                    {leads_to}
                    {body}
                </details>
            })
        })
        .collect_view();
    view! {
        {trace(read.text("trace_id", None).as_deref(), known.trace_url.as_ref())}
        <div class="parts">
            {parts}
            <details class="part">
                <summary><b>"The whole as it is stored"</b></summary>
                {text_block(json.as_str(), path, show_all)}
            </details>
        </div>
    }
    .into_any()
}

/// What a part holds: facts one by one, or JSON where they are many.
pub fn body(part: Part, tree: &JsonTree, path: &str, show_all: bool) -> AnyView {
    let leaves = tree.leaves(MOST_FACTS + 1);
    if leaves.len() > MOST_FACTS || matches!(part, Part::Calls | Part::Other) {
        return text_block(&indented(&tree.to_json()), path, show_all).into_any();
    }
    let facts = leaves
        .into_iter()
        .map(|(at, leaf)| {
            let text = leaf.as_text().unwrap_or_else(|| leaf.to_json().as_str().to_owned());
            view! { <div><dt>{name(&path_text(&at))}</dt><dd>{folded(&text, "fact")}</dd></div> }
        })
        .collect_view();
    view! { <dl class="facts">{facts}</dl> }.into_any()
}

/// To the text of the prompt or of the tools, or that nobody has put it there.
fn leads_to(part: Part, read: &Envelope, known: &Known) -> Option<AnyView> {
    if !matches!(part, Part::Prompt | Part::Tools) {
        return None;
    }
    let hash = read.artifact(part);
    Some(match hash.filter(|hash| known.artifacts.contains(hash)) {
        Some(hash) => view! { <p><a href=link::artifact(&hash)>"Read the text"</a></p> }.into_any(),
        None => view! {
            <p class="hint">"The text is not in the registry: the worker has not put it there ("<code>"PUT /api/v1/artifacts/{sha256}"</code>")."</p>
        }
        .into_any(),
    })
}

/// The link to the trace, where it is known where traces are.
pub fn trace(trace_id: Option<&str>, url: Option<&TraceUrl>) -> Option<impl IntoView + use<>> {
    let trace_id = trace_id?;
    let href = url?.of(trace_id)?;
    Some(view! { <p><a href=href rel="noreferrer">"Trace "{name(trace_id)}</a></p> })
}
