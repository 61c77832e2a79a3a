//! Park rate by reason code: one stacked bar per day, with the day's Wilson
//! interval as a whisker over it.

use crate::model::park_rate::ParkRateRow;
use crate::model::stats::wilson;
use crate::model::text::visible;
use charming::Chart;
use charming::component::{Axis, Grid};
use charming::datatype::{CompositeValue, DataPoint};
use charming::element::{AxisLabel, AxisType, Color, ItemStyle, Tooltip, Trigger};
use charming::series::Bar;
use chrono::NaiveDate;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Roles of the style sheet that tell the reason codes apart.
const COLOURS: [&str; 6] =
    ["var(--chart-1)", "var(--chart-2)", "var(--chart-3)", "var(--chart-4)", "var(--chart-5)", "var(--chart-6)"];

/// Classes of the style sheet with the same colours.
const CLASSES: [&str; 6] = ["chart-1", "chart-2", "chart-3", "chart-4", "chart-5", "chart-6"];

/// Parked and processed of one day, all reason codes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayTotal {
    /// UTC day.
    pub day: NaiveDate,
    /// How many were parked.
    pub parked: i64,
    /// Out of how many.
    pub processed: i64,
}

/// Sums rows by day and reason code into rows by day, oldest first.
pub fn day_totals(rows: &[ParkRateRow]) -> Vec<DayTotal> {
    let days: BTreeSet<NaiveDate> = rows.iter().map(|row| row.day).collect();
    days.into_iter()
        .map(|day| {
            let of_day = || rows.iter().filter(move |row| row.day == day);
            DayTotal {
                day,
                parked: of_day().map(|row| row.parked).sum(),
                processed: of_day().map(|row| row.processed).max().unwrap_or(0),
            }
        })
        .collect()
}

/// The options for rows by day and reason code; `days` are the days of the
/// axis, oldest first, those without any work included.
pub fn options(rows: &[ParkRateRow], days: &[NaiveDate]) -> Value {
    let worked = day_totals(rows);
    let totals: Vec<DayTotal> = days.iter().map(|&day| total_of(&worked, day)).collect();
    let days: Vec<String> = days.iter().map(NaiveDate::to_string).collect();
    let mut chart = Chart::new()
        .tooltip(Tooltip::new().trigger(Trigger::Axis))
        .grid(Grid::new().left(8).right(16).top(16).bottom(8).contain_label(true))
        .x_axis(Axis::new().type_(AxisType::Category).data(days))
        .y_axis(Axis::new().type_(AxisType::Value).min(0).axis_label(AxisLabel::new().formatter("{value} %")));
    for (code, colour) in codes(rows).into_iter().zip(COLOURS.into_iter().cycle()) {
        chart = chart.series(
            Bar::new()
                .name(visible(code))
                .stack("codes")
                .item_style(ItemStyle::new().color(Color::Value(colour.to_owned())))
                .data(totals.iter().map(|total| bar(rows, total, code)).collect::<Vec<_>>()),
        );
    }
    let mut options = json!(chart);
    if let Some(series) = options["series"].as_array_mut() {
        // The one thing about bars that `charming` has no word for.
        series.iter_mut().for_each(|bar| bar["barMaxWidth"] = json!(40));
        series.push(whiskers(&totals));
    }
    options
}

/// The reason codes in the order of the bars, each with the class that gives it
/// its bars' colour.
pub fn legend(rows: &[ParkRateRow]) -> Vec<(String, &'static str)> {
    codes(rows).into_iter().map(str::to_owned).zip(CLASSES.into_iter().cycle()).collect()
}

fn codes(rows: &[ParkRateRow]) -> BTreeSet<&str> {
    rows.iter().filter_map(|row| row.reason_code.as_deref()).collect()
}

fn total_of(worked: &[DayTotal], day: NaiveDate) -> DayTotal {
    worked.iter().find(|total| total.day == day).copied().unwrap_or(DayTotal { day, parked: 0, processed: 0 })
}

/// A day on which nothing was processed has no rate, which is not a rate of 0.
fn bar(rows: &[ParkRateRow], total: &DayTotal, code: &str) -> DataPoint {
    let row = rows.iter().find(|row| row.day == total.day && row.reason_code.as_deref() == Some(code));
    DataPoint::Value(match (row.and_then(|row| row.rate), total.processed) {
        (_, 0) => CompositeValue::String("-".to_owned()),
        (rate, _) => CompositeValue::Number(charming::datatype::NumericValue::Float(percent(rate.unwrap_or(0.0)))),
    })
}

fn whiskers(totals: &[DayTotal]) -> Value {
    let data: Vec<Value> = (0..)
        .zip(totals)
        .filter(|(_, total)| total.processed > 0)
        .map(|(at, total)| {
            let (low, high) = wilson(total.parked, total.processed);
            json!([at, percent(low), percent(high)])
        })
        .collect();
    json!({
        "type": "custom",
        "renderItem": "interval",
        "name": "95 % interval of the total",
        "itemStyle": { "color": "var(--chart-ink)" },
        "data": data,
    })
}

/// Two decimals of a percentage.
pub fn percent(rate: f64) -> f64 {
    (rate * 10_000.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::park_rate::ParkCount;

    fn day(of_month: u32) -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 11, of_month).unwrap()
    }

    fn row(of_month: u32, code: Option<&str>, parked: i64, processed: i64) -> ParkRateRow {
        ParkCount { source: None, reason_code: code.map(str::to_owned), day: day(of_month), processed, parked }.into()
    }

    #[test]
    fn bars_and_whiskers_say_what_the_rows_say() {
        let rows = [
            row(29, Some("AMBIGUOUS_VALUE"), 3, 100),
            row(29, Some("MISSING_REQUIRED_FIELD"), 9, 100),
            row(30, Some("MISSING_REQUIRED_FIELD"), 1, 10),
        ];
        let options = options(&rows, &[day(28), day(29), day(30)]);
        assert_eq!(options["xAxis"]["data"], json!(["2026-11-28", "2026-11-29", "2026-11-30"]));
        assert_eq!(options["series"][0]["name"], "AMBIGUOUS_VALUE");
        assert_eq!(options["series"][0]["data"], json!(["-", 3.0, 0.0]));
        assert_eq!(options["series"][1]["data"], json!(["-", 9.0, 10.0]));
        assert_eq!(options["series"][1]["stack"], "codes");
        // Wilson of 12/100 and of 1/10.
        assert_eq!(options["series"][2]["data"], json!([[1, 7.0, 19.81], [2, 1.79, 40.42]]));
    }

    #[test]
    fn a_day_without_any_work_has_no_bar_of_zero() {
        let options = options(&[row(29, Some("A"), 1, 4)], &[day(29), day(30)]);
        assert_eq!(options["series"][0]["data"], json!([25.0, "-"]));
        assert_eq!(options["series"][1]["data"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn a_hostile_code_cannot_end_the_script_element() {
        let text = crate::charts::script_text(&options(&[row(30, Some("</script><img src=x>"), 1, 1)], &[day(30)]));
        assert!(!text.contains('<'), "{text}");
        let back: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["series"][0]["name"], "</script><img src=x>");
    }
}
