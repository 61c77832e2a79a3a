//! `/audit`: who did what, newest first.

use super::frame::{Loaded, Section, page};
use crate::api::{Access, Request};
use crate::components::filter_chips::{Chip, filter_chips};
use crate::components::link::with_query;
use crate::components::moment::date_and_time;
use crate::components::name::name;
use crate::components::pager::pager;
use crate::components::preview::folded;
use crate::model::FieldError;
use crate::model::audit::{AuditEntry, AuditFilter, Outcome, READERS, act_words};
use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use leptos::prelude::*;

const PER_PAGE: u32 = 50;

/// What the address says, as it was written: links carry it on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Address {
    values: [Option<String>; 6],
    before: Option<i64>,
}

/// The filters in the address, each with what it is called on the page.
const FILTERS: [(&str, &str); 6] =
    [("who", "who"), ("act", "act"), ("on", "on"), ("outcome", "outcome"), ("from", "from"), ("to", "to")];

/// For admins: it carries people's addresses.
#[component]
pub fn AuditPage() -> impl IntoView {
    page(Section::Audit, "Audit", READERS, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let address = Address::of(&request)?;
    let mut entries = access.store.list_audit(&address.filter()?).await?;
    let has_more = entries.len() > PER_PAGE as usize;
    entries.truncate(PER_PAGE as usize);
    Ok(contents(&entries, has_more, &address))
}

impl Address {
    fn of(request: &Request) -> Result<Self, FieldError> {
        let before = request.parsed::<i64>("before", "must be the number of an entry")?;
        Ok(Self { values: FILTERS.map(|(name, _)| request.text(name)), before })
    }

    /// One entry more than a page shows tells whether there is a next one.
    fn filter(&self) -> Result<AuditFilter, FieldError> {
        let [actor, action, subject, outcome, from, to] = &self.values;
        let outcome = outcome.as_deref().map(|word| {
            Outcome::from_word(word).ok_or_else(|| FieldError::new("outcome", "must be done, refused or failed"))
        });
        Ok(AuditFilter {
            actor: actor.clone(),
            action: action.clone(),
            subject: subject.clone(),
            outcome: outcome.transpose()?,
            from: from.as_deref().map(|text| instant("from", text, 0)).transpose()?,
            to: to.as_deref().map(|text| instant("to", text, 1)).transpose()?,
            before: self.before,
            limit: PER_PAGE + 1,
        })
    }

    fn link(&self) -> String {
        let before = self.before.map(|before| before.to_string());
        let filters = FILTERS.iter().zip(&self.values).map(|((name, _), value)| (*name, value.as_deref()));
        with_query("/audit", filters.chain([("before", before.as_deref())]))
    }

    fn newest(&self) -> Self {
        Self { before: None, ..self.clone() }
    }

    fn with(&self, at: usize, value: Option<&str>) -> Self {
        let mut other = self.newest();
        other.values[at] = value.map(str::to_owned);
        other
    }
}

/// A day in UTC, its end if `days_on` is 1, or an RFC 3339 time.
fn instant(name: &str, text: &str, days_on: u64) -> Result<DateTime<Utc>, FieldError> {
    let day = text.parse::<NaiveDate>().ok().and_then(|day| day.checked_add_days(Days::new(days_on)));
    match (day, DateTime::parse_from_rfc3339(text)) {
        (Some(day), _) => Ok(day.and_time(NaiveTime::MIN).and_utc()),
        (None, Ok(at)) => Ok(at.with_timezone(&Utc)),
        (None, Err(_)) => Err(FieldError::new(name, "must be a day, such as 2026-11-30, or a time in RFC 3339")),
    }
}

fn contents(entries: &[AuditEntry], has_more: bool, address: &Address) -> AnyView {
    let chips = FILTERS
        .iter()
        .zip(&address.values)
        .enumerate()
        .filter_map(|(at, ((_, called), value))| {
            Some(Chip { name: called, value: value.clone()?, without: address.with(at, None).link() })
        })
        .collect();
    let last = entries.last().filter(|_| has_more);
    let older = last.map(|last| Address { before: Some(last.seq), ..address.clone() }.link());
    let newest = address.before.map(|_| address.newest().link());
    let list = if entries.is_empty() {
        view! { <p class="empty">{none(address)}</p> }.into_any()
    } else {
        let rows = entries.iter().map(|entry| row(entry, address)).collect_view();
        view! {
            <div class="scroll" tabindex="0" role="region" aria-label="Audit">
                <table class="audit compact">
                    <thead>
                        <tr>
                            <th scope="col">"No."</th>
                            <th scope="col">"When"</th>
                            <th scope="col">"Who"</th>
                            <th scope="col">"Did what"</th>
                            <th scope="col">"From"</th>
                            <th scope="col">"Details"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any()
    };
    view! {
        {search(address)}
        {filter_chips(chips, "/audit")}
        {list}
        {pager(older, newest)}
        <p class="hint">"Entries hold on to each other by their hashes; "<code>"drainboard verify"</code>" checks that none was changed or removed."</p>
    }
    .into_any()
}

fn none(address: &Address) -> &'static str {
    if *address == Address::default() {
        "Nobody has done anything yet."
    } else if address.before.is_some() {
        "There is no older entry."
    } else {
        "No entry matches these filters."
    }
}

/// A plain form that asks for the same page with other filters.
fn search(address: &Address) -> impl IntoView + use<> {
    let [who, act, on, outcome, from, to] = address.values.clone();
    let outcomes = Outcome::ALL
        .map(|one| {
            let word = one.as_str();
            let is_chosen = outcome.as_deref() == Some(word);
            view! { <option value=word selected=is_chosen>{word}</option> }
        })
        .collect_view();
    view! {
        <form class="range" method="get" action="/audit">
            <label>"Who "<input name="who" value=who maxlength="250" /></label>
            <label>"Act "<input name="act" value=act maxlength="100" placeholder="sign_in" /></label>
            <label>"On "<input name="on" value=on maxlength="250" placeholder="dead_letter 12" /></label>
            <label>"Outcome "<select name="outcome"><option value="">"any"</option>{outcomes}</select></label>
            <label>"From "<input name="from" value=from placeholder="2026-11-30" maxlength="40" /></label>
            <label>"To "<input name="to" value=to placeholder="2026-11-30" maxlength="40" /></label>
            <button>"Filter"</button>
        </form>
    }
}

fn row(entry: &AuditEntry, address: &Address) -> impl IntoView + use<> {
    let who = address.with(0, Some(&entry.actor)).link();
    let act = address.with(1, Some(&entry.action)).link();
    let on = address.with(2, Some(&entry.subject)).link();
    view! {
        <tr>
            <td class="number">{entry.seq.to_string()}</td>
            <td>{date_and_time(entry.at)}</td>
            <td class="name">
                <a href=who>{name(&entry.actor)}</a>
                {entry.role.clone().map(|role| view! { " "<small>{role}</small> })}
            </td>
            <td class="says">
                {ending(&entry.outcome)}
                <a href=act title=entry.action.clone()>{act_words(&entry.action, &entry.outcome)}</a>" "
                <a class="name" href=on>{name(&entry.subject.replacen('_', " ", usize::from(entry.subject.starts_with("dead_letter "))))}</a>
            </td>
            <td title=entry.user_agent.clone()>{entry.address.clone()}</td>
            <td class="says">{entry.details.as_deref().map(|details| folded(details, "details"))}</td>
        </tr>
    }
}

/// What stands before an act that was not done.
fn ending(outcome: &str) -> Option<impl IntoView + use<>> {
    let word = match outcome {
        "done" => return None,
        "refused" => "✕ refused: ".to_owned(),
        "failed" => "✕ failed: ".to_owned(),
        other => format!("{other}: "),
    };
    Some(view! { <b>{word}</b> })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::markup::markup;

    fn entry(subject: &str, outcome: &str) -> AuditEntry {
        AuditEntry {
            seq: 7,
            at: "2026-11-30T14:02:11Z".parse().unwrap(),
            actor: "<b>mila".to_owned(),
            role: Some("reviewer".to_owned()),
            action: "approve_and_replay".to_owned(),
            subject: subject.to_owned(),
            details: Some("{\"note\":\"<img src=x>\"}".to_owned()),
            outcome: outcome.to_owned(),
            address: Some("192.0.2.7".to_owned()),
            user_agent: Some("curl \"<i>".to_owned()),
        }
    }

    #[test]
    fn an_entry_reads_as_a_sentence_and_nothing_in_it_becomes_markup() {
        let html = markup(contents(&[entry("dead_letter 12", "done")], true, &Address::default()));
        assert!(html.contains("approved and replayed") && html.contains("dead letter 12"), "{html}");
        assert!(html.contains("/audit?on=dead_letter+12") && html.contains("/audit?before=7"), "{html}");
        assert!(!html.contains("<b>mila") && !html.contains("<img") && !html.contains("<i>"), "{html}");
        let html = markup(contents(&[entry("POST /kinds/pause", "refused")], false, &Address::default()));
        assert!(html.contains("refused: ") && !html.contains("Older"), "{html}");
    }

    #[test]
    fn filters_stay_in_every_link_and_can_be_taken_away_alone() {
        let request = Request::parse("/audit?who=a%26b&outcome=failed&before=9");
        let address = Address::of(&request).unwrap();
        let filter = address.filter().unwrap();
        assert_eq!(
            (filter.actor.as_deref(), filter.outcome, filter.before),
            (Some("a&b"), Some(Outcome::Failed), Some(9))
        );
        let html = markup(contents(&[entry("user x", "failed")], true, &address));
        assert!(html.contains("/audit?who=a%26b&amp;outcome=failed&amp;before=7"), "older: {html}");
        assert!(
            html.contains("href=\"/audit?outcome=failed\"") && html.contains("href=\"/audit?who=a%26b\""),
            "{html}"
        );
    }

    #[test]
    fn a_day_is_whole_and_a_wrong_time_names_its_field() {
        let at = |name, text, days| instant(name, text, days).map(|at| at.to_rfc3339());
        assert_eq!(at("from", "2026-11-30", 0).unwrap(), "2026-11-30T00:00:00+00:00");
        assert_eq!(at("to", "2026-11-30", 1).unwrap(), "2026-12-01T00:00:00+00:00", "the day itself is in");
        assert_eq!(at("to", "2026-11-30T14:00:00+02:00", 1).unwrap(), "2026-11-30T12:00:00+00:00");
        assert_eq!(instant("to", "yesterday", 1).unwrap_err().field, "to");
        let wrong = Address::of(&Request::parse("/audit?outcome=maybe")).unwrap();
        assert_eq!(wrong.filter().unwrap_err().field, "outcome");
    }
}
