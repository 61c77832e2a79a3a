//! Two texts line by line: what went, what came, and a few lines around it.
//!
//! Bounded in time and in size: texts of a megabyte may be all that differs
//! between two envelopes, and a page of it must neither hang the server nor the
//! browser. Where something is left out, it says so.

use crate::model::text::{cut, visible_lines};
use leptos::prelude::*;
use similar::{Algorithm, ChangeTag, TextDiff};
use std::time::{Duration, Instant};

/// A comparison that takes longer is finished roughly.
const PATIENCE: Duration = Duration::from_millis(200);
/// Lines of each text that are compared.
const COMPARED_LINES: usize = 20_000;
/// Lines that are shown.
const SHOWN_LINES: usize = 1_000;
/// Bytes shown of a line.
const LINE_BYTES: usize = 2_000;
/// Lines shown around a change.
const AROUND: usize = 3;

/// What changed from one text to the other.
pub fn text_diff(before: &str, after: &str) -> AnyView {
    if before == after {
        return view! { <p class="hint">"The texts are the same."</p> }.into_any();
    }
    let (old, old_is_whole) = first_lines(before);
    let (new, new_is_whole) = first_lines(after);
    let started = Instant::now();
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(PATIENCE).diff_slices(&old, &new);
    let is_rough = started.elapsed() >= PATIENCE;
    let (mut lines, mut left_out) = (Vec::new(), 0_usize);
    for (n, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if n > 0 && lines.len() < SHOWN_LINES {
            lines.push(view! { <span class="gap">"…\n"</span> }.into_any());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            if lines.len() < SHOWN_LINES {
                lines.push(line(change.tag(), change.value()));
            } else {
                left_out += 1;
            }
        }
    }
    let notes = [
        is_rough.then(|| "The texts are too different to be compared finely in the time there is.".to_owned()),
        (!old_is_whole || !new_is_whole).then(|| format!("Only the first {COMPARED_LINES} lines are compared.")),
        (left_out > 0).then(|| format!("{left_out} more lines are not shown.")),
    ];
    let notes = notes.into_iter().flatten().map(|note| view! { <p class="hint">{note}</p> }).collect_view();
    view! { <pre class="diff" tabindex="0">{lines}</pre>{notes} }.into_any()
}

/// The lines, and whether that is all of them.
fn first_lines(text: &str) -> (Vec<&str>, bool) {
    let mut lines = text.split_inclusive('\n');
    let first: Vec<&str> = lines.by_ref().take(COMPARED_LINES).collect();
    (first, lines.next().is_none())
}

/// A sign in front, so that it reads without colours.
fn line(tag: ChangeTag, text: &str) -> AnyView {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let shown = cut(text, LINE_BYTES);
    let more = if shown.len() < text.len() { "…" } else { "" };
    let shown = format!("{}{more}", visible_lines(shown));
    match tag {
        ChangeTag::Delete => view! { <del>{format!("− {shown}\n")}</del> }.into_any(),
        ChangeTag::Insert => view! { <ins>{format!("+ {shown}\n")}</ins> }.into_any(),
        ChangeTag::Equal => view! { <span>{format!("  {shown}\n")}</span> }.into_any(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::markup::markup;

    #[test]
    fn changed_lines_have_a_sign_and_the_others_are_few() {
        let before: String = (0..50).map(|n| format!("line {n}\n")).collect();
        let after = before.replace("line 25\n", "line <25>\nand more\n");
        let html = markup(text_diff(&before, &after));
        assert!(html.contains("<del>− line 25\n</del><ins>+ line &lt;25&gt;\n</ins><ins>+ and more\n</ins>"), "{html}");
        assert!(html.contains("  line 22\n") && !html.contains("line 21\n"), "{html}");
        assert!(markup(text_diff("a", "a")).contains("the same"));
    }

    #[test]
    fn a_megabyte_of_difference_ends_in_time_and_says_what_it_left_out() {
        let number = |n: u64| n.wrapping_mul(6_364_136_223_846_793_005) >> 50;
        let text = |salt: u64| -> String { (0..150_000).map(|n| format!("{}\n", number(n + salt))).collect() };
        let long = "x".repeat(1 << 20);
        let started = Instant::now();
        let html = markup(text_diff(&text(0), &text(1_000_003)));
        assert!(html.contains("Only the first 20000 lines") && html.contains("more lines are not shown"));
        assert!(markup(text_diff(&long, "y")).len() < 10_000, "a line has an end");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
}
