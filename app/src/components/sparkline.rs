//! A trend in a line of text: bars without axis, and the same numbers in words.

use leptos::prelude::*;

/// Width and gap of a bar, and the height of the highest, in pixels.
const BAR: usize = 5;
const GAP: usize = 2;
const HEIGHT: i64 = 18;

/// Counts per day, oldest first, today last. Drawn by attributes alone; a
/// screen reader reads the numbers.
pub fn sparkline(per_day: &[i64]) -> impl IntoView + use<> {
    let highest = per_day.iter().copied().max().unwrap_or(0).max(1);
    let width = per_day.len() * (BAR + GAP);
    let bars = per_day
        .iter()
        .enumerate()
        .map(|(i, &count)| {
            // A day with letters is always seen, a day without is a hairline.
            let height = if count == 0 { 1 } else { (count * HEIGHT / highest).max(3) };
            let class = (count == 0).then_some("none");
            let x = (i * (BAR + GAP)).to_string();
            let y = (HEIGHT - height).to_string();
            view! { <rect x=x y=y width=BAR.to_string() height=height.to_string() class=class></rect> }
        })
        .collect_view();
    let numbers = per_day.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let words = format!("Per day, the last {} days, today last: {numbers}", per_day.len());
    let (label, title) = (words.clone(), words);
    view! {
        <svg
            class="sparkline"
            width=width.to_string()
            height=HEIGHT.to_string()
            viewBox=format!("0 0 {width} {HEIGHT}")
            role="img"
            aria-label=label
        >
            <title>{title}</title>
            {bars}
        </svg>
    }
}
