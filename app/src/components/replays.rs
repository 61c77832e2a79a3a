//! The replays made from a letter, and what they say about it.

use super::link;
use super::name::said;
use super::state_mark::{job_word, of_job, state};
use crate::model::ids::DeadLetterId;
use crate::model::job::{JobState, ReplayMode};
use crate::model::letter::{LetterStatus, Replay};
use leptos::prelude::*;

/// The list with its outcome above it, each replay beside the letter.
pub fn replays(of: DeadLetterId, replays: &[Replay]) -> Option<impl IntoView + use<>> {
    let rows = replays
        .iter()
        .map(|replay| {
            let job = format!("job {}", replay.job_id);
            let became = replay.dead_letter_id.map(|id| {
                let stands = replay.dead_letter_status.map(|status| format!(" ({})", status.as_str()));
                view! { " → "<a href=link::letter(id)>{format!("letter {id}")}</a>{stands} }
            });
            let other = match (replay.dead_letter_id, replay.state) {
                (Some(id), _) => Some(format!("letter:{id}")),
                (None, JobState::Done) => Some(format!("job:{}", replay.job_id)),
                _ => None,
            };
            let beside = other.map(|other| {
                let href = link::compare(&format!("letter:{of}"), &other);
                view! { " · "<a href=href>"compare"</a> }
            });
            view! {
                <li>
                    <a href=link::job(replay.job_id)>{job}</a>{format!(", {}: ", replay.mode.as_str())}
                    {state(of_job(replay.state), job_word(replay.state))}
                    {replay.verdict.as_deref().map(|verdict| view! { ", "{said(verdict)} })}
                    {became}{beside}
                </li>
            }
        })
        .collect_view();
    let outcome = outcome(replays);
    (!replays.is_empty())
        .then(|| view! { <h2>"Replays"</h2><p class="outcome">{outcome}</p><ul class="facts">{rows}</ul> })
}

/// How the replays ended, in one line.
fn outcome(replays: &[Replay]) -> String {
    if replays.len() > 1 {
        let count = |state| replays.iter().filter(|replay| replay.state == state).count();
        let closed = |replay: &&Replay| replay.dead_letter_status == Some(LetterStatus::Resolved);
        let resolved = replays.iter().filter(closed).count();
        let (done, dead) = (count(JobState::Done), count(JobState::Dead) - resolved);
        let parts = [
            (done, "done"),
            (dead, "dead letter"),
            (resolved, "closed"),
            (replays.len() - done - dead - resolved, "not ended"),
        ];
        let parts: Vec<String> =
            parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        return format!("split into {}: {}", replays.len(), parts.join(", "));
    }
    let answer = |mode: ReplayMode, good: &str, bad: &str| {
        let word = mode.as_str();
        match replays.iter().find(|replay| replay.mode == mode).map(|replay| replay.state) {
            None => format!("{word}: not asked"),
            Some(JobState::Done) => format!("{word}: {good}"),
            Some(JobState::Dead) => format!("{word}: {bad}"),
            Some(_) => format!("{word}: not ended yet"),
        }
    };
    let asked = |mode| replays.iter().any(|replay| replay.mode == mode);
    let only = match (asked(ReplayMode::Pinned), asked(ReplayMode::Current)) {
        (false, true) => ". Only current was asked, so nobody knows whether it reproduces.",
        (true, false) => ". Only pinned was asked, so nobody knows whether it is fixed.",
        _ => "",
    };
    format!(
        "{} · {}{only}",
        answer(ReplayMode::Pinned, "does not reproduce", "reproduces"),
        answer(ReplayMode::Current, "fixed", "not fixed")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::markup::markup;
    use crate::model::ids::JobId;

    fn replay(job: i64, mode: ReplayMode, state: JobState) -> Replay {
        let dead_letter_id = (state == JobState::Dead).then_some(DeadLetterId(31));
        Replay { job_id: JobId(job), mode, state, verdict: None, dead_letter_id, dead_letter_status: None }
    }

    #[test]
    fn it_says_when_only_one_was_asked() {
        let current = [replay(8, ReplayMode::Current, JobState::Done)];
        let html = markup(replays(DeadLetterId(12), &current));
        assert!(html.contains("pinned: not asked · current: fixed. Only current was asked"), "{html}");
        assert!(html.contains("/compare?left=letter%3A12&amp;right=job%3A8"), "{html}");
        let pinned = [replay(8, ReplayMode::Pinned, JobState::Dead)];
        let html = markup(replays(DeadLetterId(12), &pinned));
        assert!(html.contains("pinned: reproduces · current: not asked. Only pinned was asked"), "{html}");
        assert!(html.contains("/compare?left=letter%3A12&amp;right=letter%3A31"), "{html}");
        let waiting = markup(replays(DeadLetterId(12), &[replay(8, ReplayMode::Current, JobState::Waiting)]));
        assert!(!waiting.contains("/compare"), "nothing to lay beside it yet: {waiting}");
        assert_eq!(markup(replays(DeadLetterId(12), &[])), "");
    }
}
