//! `/alerts`: what somebody has to be told of, since when, and who knows of it.

use super::frame::{Loaded, Section, page};
use crate::api::{Access, Posted, Request};
use crate::components::link::{ALERTS, with_query};
use crate::components::moment::{date_and_time, since};
use crate::components::name::{name, said};
use crate::components::pager::pager;
use crate::components::state_mark::{of_level, state};
use crate::model::alert::{Alert, AlertPage, MAX_ACKNOWLEDGED_HOURS, PinnedBaseline};
use crate::model::alerting::baseline::Baseline;
use crate::model::alerting::watch::source_findings;
use crate::model::alerting::{AlertRule, Finding, Standing};
use crate::model::ids::AlertId;
use crate::model::people::{Role, Viewer};
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// Closed alerts of one page.
const PER_PAGE: u32 = 50;
/// Sources whose standing is shown, those without enough volume first.
const STANDINGS_SHOWN: usize = 200;

/// `before` (an id) is in the address.
#[component]
pub fn AlertsPage() -> impl IntoView {
    page(Section::Refusals, "Alerts", Role::OnCall, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let before = request.parsed::<AlertId>("before", "must be the id of an alert")?;
    let found = access.store.list_alerts(before, PER_PAGE).await?;
    let findings = source_findings(&access.store.read_alert_input().await?);
    Ok(contents(&found, &findings, before.is_some(), &access.viewer, request.posted.as_ref()))
}

/// Open ones, how each source stands, and those that closed.
pub(super) fn contents(
    found: &AlertPage,
    findings: &[Finding],
    is_older: bool,
    viewer: &Viewer,
    posted: Option<&Posted>,
) -> AnyView {
    let older = found.next.map(|before| with_query(ALERTS, [("before", Some(before.to_string().as_str()))]));
    let newest = is_older.then(|| ALERTS.to_owned());
    let (calling, known): (Vec<&Alert>, Vec<&Alert>) = found.open.iter().partition(|alert| alert.calls(found.as_of));
    let item = |alert: &&Alert| open_alert(alert, found.as_of, viewer, posted);
    let has_none = calling.is_empty();
    view! {
        {has_none.then(|| view! { <p class="empty">{nothing(found, findings)}</p> })}
        <ul class="alerts">{calling.iter().map(item).collect_view()}</ul>
        {(!known.is_empty()).then(|| view! {
            <h2>"Acknowledged"</h2>
            <ul class="alerts">{known.iter().map(item).collect_view()}</ul>
        })}
        {standings(findings)}
        {pinned(&found.pinned, viewer)}
        <h2>"Closed"</h2>
        {if found.closed.is_empty() {
            view! { <p class="empty">"None."</p> }.into_any()
        } else {
            let rows = found.closed.iter().map(closed_row).collect_view();
            view! {
                <div class="scroll" tabindex="0" role="region" aria-label="Closed alerts">
                    <table class="compact">
                        <thead><tr>
                            <th scope="col">"Opened"</th><th scope="col">"Closed"</th>
                            <th scope="col">"What it said last"</th><th scope="col">"Acknowledged"</th>
                        </tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
            }
            .into_any()
        }}
        {pager(older, newest)}
    }
    .into_any()
}

/// That nothing calls is good news only where enough is looked at.
fn nothing(found: &AlertPage, findings: &[Finding]) -> &'static str {
    let says_something = |finding: &Finding| matches!(finding.standing, Standing::Clear | Standing::Fires(_));
    match () {
        () if !found.open.is_empty() => "Nothing calls that nobody knows of.",
        () if findings.iter().any(says_something) => "No alert is open.",
        () => "No alert is open; no source has enough volume yet to say that all is well.",
    }
}

fn open_alert(alert: &Alert, now: DateTime<Utc>, viewer: &Viewer, posted: Option<&Posted>) -> impl IntoView + use<> {
    let known = alert.acknowledged.as_ref().map(|known| {
        let note = known.note.as_deref().map(|note| view! { ": "<q>{said(note)}</q> });
        view! { <p class="meta">"Acknowledged by "{name(&known.by)}" until "{date_and_time(known.until)}{note}</p> }
    });
    let clear = alert.clear_since.map(|at| view! { <p class="meta">"Its rule is clear since "{date_and_time(at)}"; it closes after a day of that."</p> });
    let figures = format!("{}, threshold {}", figure(alert.rule, alert.value), figure(alert.rule, alert.threshold));
    view! {
        <li>
            <p>
                {state(of_level(alert.level), alert.level.as_str())}" "<strong>{title(alert)}</strong>" since "
                {since(alert.since, now)}
            </p>
            <p>{said(&alert.message)}</p>
            <p class="meta">{figures}{alert.baseline.as_ref().map(baseline)}" · "<a href=alert.href()>"Look at it"</a></p>
            {clear}
            {known}
            {viewer.may(Role::Reviewer).then(|| acknowledge(alert, posted))}
            {(viewer.may(Role::Admin) && alert.source.is_some()).then(|| pin(alert))}
        </li>
    }
}

fn title(alert: &Alert) -> AnyView {
    let source = alert.source.as_deref().map(|source| view! { {name(source)}": " });
    let code = alert.reason_code.as_deref().map(|code| view! { ", "{said(code)} });
    view! { {source}{rule_in_words(alert.rule)}{code} }.into_any()
}

fn rule_in_words(rule: AlertRule) -> &'static str {
    match rule {
        AlertRule::ZeroRefusals => "no refusals",
        AlertRule::HighParkRate => "parked too often",
        AlertRule::DeadLettersPerHour => "many dead letters",
        AlertRule::OldestDeadLetter => "an old dead letter",
        AlertRule::CanaryWritten => "a canary was done",
        AlertRule::CanariesOverdue => "canaries overdue",
        AlertRule::NotRunning => "not running",
        AlertRule::LateAnswers => "late answers",
    }
}

/// A chance with its digits, a count without any.
fn figure(rule: AlertRule, value: f64) -> String {
    match rule {
        AlertRule::ZeroRefusals | AlertRule::HighParkRate if value < 1.0 => format!("{value:.4}"),
        _ => format!("{value:.0}"),
    }
}

fn baseline(baseline: &Baseline) -> impl IntoView + use<> {
    let pinned = if baseline.is_pinned { ", pinned" } else { "" };
    format!(" · baseline {} to {}{pinned}", baseline.from, baseline.to)
}

fn acknowledge(alert: &Alert, posted: Option<&Posted>) -> impl IntoView + use<> {
    let id = alert.id.to_string();
    let typed = posted.filter(|posted| posted.get("id") == Some(id.as_str()));
    let typed = |name: &str| typed.and_then(|posted| posted.get(name)).map(str::to_owned);
    let most = MAX_ACKNOWLEDGED_HOURS.to_string();
    view! {
        <form method="post" action=ALERTS class="pause">
            <input type="hidden" name="form" value="acknowledge" />
            <input type="hidden" name="id" value=id />
            <label>"Acknowledge for (hours) "<input type="number" name="hours" min="1" max=most value=typed("hours").unwrap_or_else(|| "24".to_owned()) /></label>
            <label>"Note "<input name="note" maxlength="2000" value=typed("note") /></label>
            <button>"Acknowledge"</button>
        </form>
    }
}

fn pin(alert: &Alert) -> Option<impl IntoView + use<>> {
    let days = alert.baseline.as_ref().filter(|baseline| !baseline.is_pinned)?;
    Some(view! {
        <form method="post" action=ALERTS class="pause">
            <input type="hidden" name="form" value="pin" />
            <input type="hidden" name="source" value=alert.source.clone() />
            <label>"Compare with "<input type="date" name="from" value=days.from.to_string() /></label>
            <label>" to "<input type="date" name="to" value=days.to.to_string() /></label>
            <button>"Pin these days"</button>
        </form>
    })
}

fn pinned(pinned: &[PinnedBaseline], viewer: &Viewer) -> Option<impl IntoView + use<>> {
    let may = viewer.may(Role::Admin);
    let item = |pin: &PinnedBaseline| {
        let unpin = may.then(|| {
            view! {
                <form method="post" action=ALERTS class="pause">
                    <input type="hidden" name="form" value="unpin" />
                    <input type="hidden" name="source" value=pin.source.clone() />
                    <button>"Back to the usual days"</button>
                </form>
            }
        });
        view! { <li>{name(&pin.source)}": "{format!("{} to {}", pin.from, pin.to)}", pinned by "{name(&pin.by)}{unpin}</li> }
    };
    (!pinned.is_empty()).then(|| {
        view! { <h2>"Pinned baselines"</h2><ul>{pinned.iter().map(item).collect_view()}</ul> }
    })
}

/// How each source stands right now, in words: too little to say is never green.
fn standings(findings: &[Finding]) -> Option<impl IntoView + use<>> {
    let mut shown: Vec<&Finding> = findings.iter().filter(|finding| finding.reason_code.is_none()).collect();
    if shown.is_empty() {
        return None;
    }
    shown.sort_by_key(|finding| match finding.standing {
        Standing::Fires(_) => 0,
        Standing::NotEnoughVolume => 1,
        Standing::Clear => 2,
        Standing::NothingCame | Standing::NotWatched => 3,
    });
    // What cannot be said is said once of a source.
    let mut rows: Vec<(&Finding, String)> = Vec::new();
    for finding in shown {
        let word = rule_in_words(finding.rule);
        match rows.last_mut() {
            Some((last, words)) if last.source == finding.source && last.message == finding.message => {
                words.push_str(", ");
                words.push_str(word);
            }
            _ => rows.push((finding, word.to_owned())),
        }
    }
    let more = rows.len().saturating_sub(STANDINGS_SHOWN);
    let rows = rows
        .into_iter()
        .take(STANDINGS_SHOWN)
        .map(|(finding, looked_for)| {
            let word = match finding.standing {
                Standing::Fires(level) => state(of_level(level), "alert").into_any(),
                Standing::Clear => "clear".into_any(),
                Standing::NotEnoughVolume => "not enough volume".into_any(),
                Standing::NothingCame => "nothing came".into_any(),
                Standing::NotWatched => "may not refuse".into_any(),
            };
            view! {
                <tr>
                    <th scope="row">{finding.source.as_deref().map(name)}</th>
                    <td>{looked_for}</td>
                    <td>{word}</td>
                    <td class="says">{said(&finding.message)}</td>
                </tr>
            }
        })
        .collect_view();
    Some(view! {
        <h2>"Every source, last 7 days"</h2>
        <div class="scroll" tabindex="0" role="region" aria-label="Sources">
            <table class="compact">
                <thead><tr>
                    <th scope="col">"Source"</th><th scope="col">"Looked for"</th><th scope="col">"Stands"</th><th scope="col">"By these numbers"</th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        {(more > 0).then(|| view! { <p class="hint">{format!("and {more} more")}</p> })}
    })
}

fn closed_row(alert: &Alert) -> impl IntoView + use<> {
    let known = alert.acknowledged.as_ref().map(|known| {
        let note = known.note.as_deref().map(|note| view! { ": "<q>{said(note)}</q> });
        view! { "by "{name(&known.by)}{note} }
    });
    view! {
        <tr>
            <td>{date_and_time(alert.since)}</td>
            <td>{alert.closed_at.map(date_and_time)}</td>
            <td class="says">{state(of_level(alert.level), alert.level.as_str())}" "{said(&alert.message)}</td>
            <td class="says">{known}</td>
        </tr>
    }
}
