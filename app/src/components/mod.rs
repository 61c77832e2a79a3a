//! Parts that pages are made of. They render values they are given; they never
//! ask the store.

pub mod attempts;
pub mod bulk_bar;
pub mod bulk_draft;
pub mod bulk_progress;
pub mod canary_alarm;
pub mod envelope;
pub mod filter_chips;
pub mod handoffs;
pub mod json_text;
pub mod letter_actions;
pub mod letter_facets;
pub mod letter_groups;
pub mod letter_options;
pub mod letter_places;
pub mod letter_rows;
pub mod link;
pub mod markup;
pub mod misses;
pub mod moment;
pub mod name;
pub mod pager;
pub mod panel;
pub mod preview;
pub mod recovery_form;
pub mod replays;
pub mod reveal;
pub mod sessions;
pub mod sparkline;
pub mod state_mark;
pub mod text_diff;
pub mod triage_help;
pub mod verdict_line;
