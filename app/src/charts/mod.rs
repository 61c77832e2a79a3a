//! Options of the charts, built on the server; one file per chart.
//!
//! A chart shows the numbers of the table beside it and no others. Colours are
//! named by role and come from the style sheet when the chart is drawn.

pub mod park_rate;

/// The options as the text of a `<script type="application/json">`: no `<` is
/// left that could end the element.
pub fn script_text(options: &serde_json::Value) -> String {
    options.to_string().replace('<', "\\u003c")
}
