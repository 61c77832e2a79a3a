//! Parts that pages are made of. They render values they are given; they never
//! ask the store.

pub mod attempts;
pub mod filter_chips;
pub mod json_text;
pub mod letter_actions;
pub mod link;
pub mod markup;
pub mod moment;
pub mod pager;
pub mod panel;
pub mod preview;
pub mod reveal;
pub mod sessions;
pub mod state_mark;
pub mod verdict_line;
