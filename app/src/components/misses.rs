//! What evidence checks found wrong, in their own sentences: these hold no value
//! and no quote, so everybody may read them.

use super::name::{name, said};
use crate::model::evidence::Miss;
use leptos::prelude::*;

/// One line for each miss: field, sentence, rule and reason code.
pub fn misses(misses: &[Miss]) -> impl IntoView + use<> {
    let rows = misses
        .iter()
        .map(|miss| {
            view! {
                <li>
                    {name(&miss.field)}": "{said(&miss.said)}" ("{name(&miss.rule)}", "{name(&miss.reason_code)}")"
                </li>
            }
        })
        .collect_view();
    view! { <ul class="facts">{rows}</ul> }
}
