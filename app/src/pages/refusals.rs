//! `/refusals`: can the agent still say no, and which reason keeps coming back?

use super::frame::{Loaded, Section, page};
use crate::api::{Access, Request};
use crate::charts::park_rate::{DayTotal, day_totals, legend, options, percent};
use crate::charts::script_text;
use crate::components::filter_chips::{Chip, filter_chips};
use crate::components::link::{self, with_query};
use crate::components::name::name;
use crate::model::FieldError;
use crate::model::letter_filter::LetterFilter;
use crate::model::park_rate::{ParkRateQuery, ParkRateRow};
use crate::model::people::Role;
use crate::model::stats::wilson;
use chrono::{Days, NaiveDate};
use leptos::prelude::*;

/// Days shown unless the address says otherwise.
const DEFAULT_DAYS: u64 = 30;
/// Longest range whose days without work are drawn, too.
const MAX_AXIS_DAYS: i64 = 366;

/// `from` and `to` (UTC days), `kind` and `source` are in the address.
#[component]
pub fn RefusalsPage() -> impl IntoView {
    page(Section::Refusals, "Refusals", Role::OnCall, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let today = access.store.now().await?.date_naive();
    let query = query_of(&request, today)?;
    let rows: Vec<ParkRateRow> = access.store.count_park_rate(&query).await?.into_iter().map(Into::into).collect();
    Ok(contents(&rows, &query))
}

fn query_of(request: &Request, today: NaiveDate) -> Result<ParkRateQuery, FieldError> {
    let rule = "must be a day such as 2026-11-30";
    let to = request.parsed::<NaiveDate>("to", rule)?.unwrap_or(today);
    let from = request.parsed::<NaiveDate>("from", rule)?.unwrap_or(to - Days::new(DEFAULT_DAYS - 1));
    if from > to {
        return Err(FieldError::new("from", "must not be after “to”"));
    }
    Ok(ParkRateQuery {
        by_source: false,
        by_reason: true,
        from: Some(from),
        to: Some(to),
        source: request.text("source"),
        kind: request.text("kind"),
    })
}

/// What the page shows of rows by day and reason code.
pub(super) fn contents(rows: &[ParkRateRow], query: &ParkRateQuery) -> AnyView {
    let cleared = href(&ParkRateQuery { kind: None, source: None, ..query.clone() });
    view! {
        <p class="hint">
            "Park rate per UTC day: refused by the agent or parked by an evidence check, out of those and the done. "
            "Failures, replays and canaries are in neither number."
        </p>
        <p>
            <a href=link::ALERTS>"Alerts"</a>": what is no longer refused, and what is parked too often. "
            <a href=link::CANARIES>"Canaries"</a>": known-bad inputs, and whether they are still refused."
        </p>
        {range(query)}
        {filter_chips(chips(query), &cleared)}
        {if rows.is_empty() {
            view! { <p class="empty">"Nothing was processed in this range, so there is no rate: that is not the same as zero."</p> }.into_any()
        } else {
            view! {
                <drainboard-chart data-chart="park-rate" role="img" aria-label="Park rate by reason code per day; the same numbers are in the table below">
                    <script type="application/json" inner_html=script_text(&options(rows, &axis(rows, query)))></script>
                </drainboard-chart>
                {keys(rows)}
                {table(rows, query)}
            }
            .into_any()
        }}
    }
    .into_any()
}

/// What the colours mean. Beside the chart and not in it: there it would lie
/// over the axis on a narrow screen.
fn keys(rows: &[ParkRateRow]) -> impl IntoView + use<> {
    let codes = legend(rows)
        .into_iter()
        .map(|(code, class)| view! { <li><i class=class aria-hidden="true">"■"</i>" "{name(&code)}</li> })
        .collect_view();
    view! {
        <ul class="keys">
            {codes}
            <li><i aria-hidden="true">"⌶"</i>" 95 % interval of the total"</li>
        </ul>
    }
}

/// The days of the chart: the whole range, or only those with work when the
/// range is longer than a year.
fn axis(rows: &[ParkRateRow], query: &ParkRateQuery) -> Vec<NaiveDate> {
    match (query.from, query.to) {
        (Some(from), Some(to)) if (to - from).num_days() <= MAX_AXIS_DAYS => {
            from.iter_days().take_while(|day| *day <= to).collect()
        }
        _ => day_totals(rows).into_iter().map(|total| total.day).collect(),
    }
}

fn href(query: &ParkRateQuery) -> String {
    let (from, to) = (query.from.map(|day| day.to_string()), query.to.map(|day| day.to_string()));
    with_query(
        "/refusals",
        [
            ("from", from.as_deref()),
            ("to", to.as_deref()),
            ("kind", query.kind.as_deref()),
            ("source", query.source.as_deref()),
        ],
    )
}

fn chips(query: &ParkRateQuery) -> Vec<Chip> {
    let kind = query.kind.clone().map(|value| Chip {
        name: "kind",
        value,
        without: href(&ParkRateQuery { kind: None, ..query.clone() }),
    });
    let source = query.source.clone().map(|value| Chip {
        name: "source",
        value,
        without: href(&ParkRateQuery { source: None, ..query.clone() }),
    });
    kind.into_iter().chain(source).collect()
}

fn range(query: &ParkRateQuery) -> impl IntoView + use<> {
    let hidden = [("kind", query.kind.clone()), ("source", query.source.clone())]
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| view! { <input type="hidden" name=name value=value /> }))
        .collect_view();
    let day = |day: Option<NaiveDate>| day.map(|day| day.to_string());
    view! {
        <form class="range" method="get" action="/refusals">
            <label>"From " <input type="date" name="from" value=day(query.from) /></label>
            <label>"to " <input type="date" name="to" value=day(query.to) /></label>
            {hidden}
            <button>"Show"</button>
        </form>
    }
}

fn table(rows: &[ParkRateRow], query: &ParkRateQuery) -> impl IntoView + use<> {
    let body = day_totals(rows).into_iter().rev().map(|total| day(rows, total, query)).collect_view();
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Park rate">
            <table class="rates compact">
                <thead>
                    <tr>
                        <th scope="col">"Day "<small>"UTC"</small></th>
                        <th scope="col">"Reason code"</th>
                        <th scope="col" class="number">"Parked"</th>
                        <th scope="col" class="number">"of n"</th>
                        <th scope="col" class="number">"Rate"</th>
                        <th scope="col" class="number">"95 % interval"</th>
                    </tr>
                </thead>
                <tbody>{body}</tbody>
            </table>
        </div>
    }
}

/// The rows of one day: each reason code, then all of them together.
fn day(rows: &[ParkRateRow], total: DayTotal, query: &ParkRateQuery) -> impl IntoView + use<> {
    let codes = rows
        .iter()
        .filter(|row| row.day == total.day)
        .filter_map(|row| {
            let code = row.reason_code.clone()?;
            let href = link::letters(&LetterFilter {
                day: Some(row.day),
                reason_code: Some(code.clone()),
                kind: query.kind.clone(),
                source: query.source.clone(),
                ..LetterFilter::default()
            });
            let label = view! { <a href=href>{name(&code)}</a> }.into_any();
            Some(rate_row(total.day, label, row.parked, row.processed, ""))
        })
        .collect_view();
    view! { {codes}{rate_row(total.day, "all reasons".into_any(), total.parked, total.processed, "total")} }
}

fn rate_row(day: NaiveDate, label: AnyView, parked: i64, processed: i64, class: &'static str) -> impl IntoView {
    let (low, high) = wilson(parked, processed);
    let rate = match processed {
        0 => "–".to_owned(),
        n => format!("{:.2} %", percent(parked as f64 / n as f64)),
    };
    view! {
        <tr class=class>
            <th scope="row">{day.to_string()}</th>
            <td class="code">{label}</td>
            <td class="number" data-label="parked">{parked.to_string()}</td>
            <td class="number" data-label="of">{processed.to_string()}</td>
            <td class="number" data-label="rate">{rate}</td>
            <td class="number" data-label="95 %">{format!("{:.2} – {:.2} %", percent(low), percent(high))}</td>
        </tr>
    }
}
