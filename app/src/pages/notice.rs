//! What a form's answer says on the page it leads to. The address carries a
//! code out of a closed set, never a text.

use crate::api::Request;
use leptos::prelude::*;

/// One thing that a form's answer can say. What could not be done is said by an
/// answer of its own, not by a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// A replay was made.
    Replayed,
    /// A letter was closed.
    Closed,
    /// The kind is paused.
    Paused,
    /// The kind runs again.
    Resumed,
}

impl Notice {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Replayed, Self::Closed, Self::Paused, Self::Resumed];

    /// The value of the parameter `notice`.
    pub fn code(self) -> &'static str {
        match self {
            Self::Replayed => "replayed",
            Self::Closed => "closed",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
        }
    }

    /// The notice of that code.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|notice| notice.code() == code)
    }

    /// What a person reads.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Replayed => "Approved: a new job with the same payload and fresh attempts is due.",
            Self::Closed => "Closed. Nothing is run again.",
            Self::Paused => "Paused: this kind is held until somebody resumes it.",
            Self::Resumed => "Resumed: this kind may be claimed again.",
        }
    }
}

/// The notice that the address carries, if any.
pub fn notice(request: &Request) -> Option<impl IntoView + use<>> {
    let notice = Notice::from_code(request.get("notice")?)?;
    Some(view! { <p class="notice" role="status">{notice.sentence()}</p> })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_apart_and_lead_back() {
        for notice in Notice::ALL {
            assert_eq!(Notice::from_code(notice.code()), Some(notice));
        }
        assert_eq!(Notice::from_code("<script>"), None);
    }
}
