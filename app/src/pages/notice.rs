//! What a form's answer says on the page it leads to. The address carries a
//! code out of a closed set, never a text.

use crate::api::Request;
use leptos::prelude::*;

/// One thing that a form's answer can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The session ended.
    SignedOut,
    /// Name or password are wrong, or the user is disabled.
    SignInFailed,
    /// Too many attempts to sign in.
    SignInSlowedDown,
    /// A replay was made.
    Replayed,
    /// A letter was split into several jobs.
    Split,
    /// A letter was closed.
    Closed,
    /// A letter was closed, and a notice is in the outbox.
    Notified,
    /// A letter was closed, and a follow-up is left.
    FollowUpLeft,
    /// The viewer has the letter now.
    Taken,
    /// Nobody has the letter now.
    Released,
    /// Somebody acted on the letter first.
    Conflict,
    /// The kind is paused.
    Paused,
    /// The kind runs again.
    Resumed,
    /// The set-up link is wrong or used up.
    SetUpRefused,
    /// The password is too short.
    PasswordRefused,
    /// The user name breaks the rule.
    NameRefused,
    /// The form was larger than the server takes.
    TooLarge,
    /// The form was incomplete or did not come from this page.
    FormRefused,
    /// The role does not allow it.
    Forbidden,
    /// The user was changed and their sessions ended.
    UserChanged,
    /// The last admin cannot be demoted or disabled.
    LastAdmin,
    /// The name is taken.
    NameTaken,
    /// Sessions were ended.
    SessionsEnded,
    /// A token was revoked.
    TokenRevoked,
    /// The password was changed.
    PasswordChanged,
    /// The current password is wrong.
    PasswordWrong,
    /// The set-up link is wrong, used or too old.
    LinkRefused,
    /// Masked fields were changed.
    MasksChanged,
    /// A notice was marked as sent.
    NoticeSent,
    /// A notice is tried again.
    NoticeHurried,
    /// A follow-up is done.
    FollowUpDone,
    /// Settings of a kind were changed.
    PolicyChanged,
    /// An alert was acknowledged.
    AlertKnown,
    /// A baseline was pinned, or given up.
    BaselineChosen,
    /// A canary was saved.
    CanarySaved,
    /// Canaries were imported.
    CanariesImported,
    /// A canary was started.
    CanaryStarted,
    /// An alarm was acknowledged.
    CanaryCleared,
    /// The database is away.
    Unavailable,
}

impl Notice {
    /// All of them.
    pub const ALL: [Self; 39] = [
        Self::SignedOut,
        Self::SignInFailed,
        Self::SignInSlowedDown,
        Self::Replayed,
        Self::Split,
        Self::Closed,
        Self::Notified,
        Self::FollowUpLeft,
        Self::Taken,
        Self::Released,
        Self::Conflict,
        Self::Paused,
        Self::Resumed,
        Self::SetUpRefused,
        Self::PasswordRefused,
        Self::NameRefused,
        Self::TooLarge,
        Self::FormRefused,
        Self::Forbidden,
        Self::UserChanged,
        Self::LastAdmin,
        Self::NameTaken,
        Self::SessionsEnded,
        Self::TokenRevoked,
        Self::PasswordChanged,
        Self::PasswordWrong,
        Self::LinkRefused,
        Self::MasksChanged,
        Self::NoticeSent,
        Self::NoticeHurried,
        Self::FollowUpDone,
        Self::PolicyChanged,
        Self::AlertKnown,
        Self::BaselineChosen,
        Self::CanarySaved,
        Self::CanariesImported,
        Self::CanaryStarted,
        Self::CanaryCleared,
        Self::Unavailable,
    ];

    /// The value of the parameter `notice`.
    pub fn code(self) -> &'static str {
        match self {
            Self::SignedOut => "signed-out",
            Self::SignInFailed => "sign-in-failed",
            Self::SignInSlowedDown => "sign-in-slowed-down",
            Self::Replayed => "replayed",
            Self::Split => "split",
            Self::Closed => "closed",
            Self::Notified => "notified",
            Self::FollowUpLeft => "follow-up-left",
            Self::Taken => "taken",
            Self::Released => "released",
            Self::Conflict => "conflict",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::SetUpRefused => "set-up-refused",
            Self::PasswordRefused => "password-refused",
            Self::NameRefused => "name-refused",
            Self::TooLarge => "too-large",
            Self::FormRefused => "form-refused",
            Self::Forbidden => "forbidden",
            Self::UserChanged => "user-changed",
            Self::LastAdmin => "last-admin",
            Self::NameTaken => "name-taken",
            Self::SessionsEnded => "sessions-ended",
            Self::TokenRevoked => "token-revoked",
            Self::PasswordChanged => "password-changed",
            Self::PasswordWrong => "password-wrong",
            Self::LinkRefused => "link-refused",
            Self::MasksChanged => "masks-changed",
            Self::NoticeSent => "notice-sent",
            Self::NoticeHurried => "notice-hurried",
            Self::FollowUpDone => "follow-up-done",
            Self::PolicyChanged => "policy-changed",
            Self::AlertKnown => "alert-known",
            Self::BaselineChosen => "baseline-chosen",
            Self::CanarySaved => "canary-saved",
            Self::CanariesImported => "canaries-imported",
            Self::CanaryStarted => "canary-started",
            Self::CanaryCleared => "canary-cleared",
            Self::Unavailable => "unavailable",
        }
    }

    /// The notice of that code.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|notice| notice.code() == code)
    }

    /// What a person reads.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::SignedOut => "You are signed out.",
            Self::SignInFailed => "Name or password are wrong.",
            Self::SignInSlowedDown => "Too many attempts. Wait a minute and try again.",
            Self::Replayed => "A new job is due. How it ends is listed under Replays.",
            Self::Split => "Split: each part is a job of its own. How they end is listed under Replays.",
            Self::Closed => "Closed. Nothing is run again.",
            Self::Notified => "Closed. The notice is in the outbox.",
            Self::FollowUpLeft => "Closed. The follow-up is left to its owner.",
            Self::Taken => "You have this letter for 15 min. Others see that.",
            Self::Released => "Released: others may act on it again.",
            Self::Conflict => {
                "Somebody acted on this letter already, so nothing of yours was done. What happened is shown below."
            }
            Self::Paused => "Paused: this kind is held until somebody resumes it.",
            Self::Resumed => "Resumed: this kind may be claimed again.",
            Self::SetUpRefused => "This set-up link is wrong or has been used. Make a new one on the server.",
            Self::PasswordRefused => "Nothing was stored: the password breaks the rule below.",
            Self::NameRefused => {
                "Nothing was stored: a user name is 1 to 200 characters that can be seen, without any that turn the \
                 reading direction, and with single spaces between words."
            }
            Self::TooLarge => "Nothing was done: the text was larger than the server takes. Shorten it and try again.",
            Self::FormRefused => "Nothing was done: the form was incomplete. Try again from this page.",
            Self::Forbidden => "Nothing was done: your role does not allow it.",
            Self::UserChanged => "Changed; the user's sessions have ended.",
            Self::LastAdmin => {
                "Nothing was changed: this is the last admin who can sign in. Make somebody else an admin first."
            }
            Self::NameTaken => "Nothing was stored: this name is taken. Choose another one.",
            Self::SessionsEnded => "Ended.",
            Self::TokenRevoked => "Revoked: calls with this token are refused from now on.",
            Self::PasswordChanged => "Your password is changed, and your other sessions have ended.",
            Self::PasswordWrong => "Nothing was changed: the current password is wrong.",
            Self::LinkRefused => "This link is wrong, was used already, or is too old. Ask an admin for a new one.",
            Self::MasksChanged => "Changed: these fields are masked from now on.",
            Self::NoticeSent => "Marked as sent by hand.",
            Self::NoticeHurried => "It is tried again at once, and for another day if it has to be.",
            Self::FollowUpDone => "Done.",
            Self::PolicyChanged => "Changed: these settings are in force now.",
            Self::AlertKnown => {
                "Acknowledged: until then it calls nobody. It closes when its rule is clear, not before."
            }
            Self::BaselineChosen => "Changed: the next look compares with these days.",
            Self::CanarySaved => "Saved.",
            Self::CanariesImported => "Imported.",
            Self::CanaryStarted => "Started. How it ends is shown here once a worker has answered.",
            Self::CanaryCleared => "Acknowledged.",
            Self::Unavailable => "Nothing was done: the database is not available. Try again.",
        }
    }

    fn is_good(self) -> bool {
        matches!(
            self,
            Self::SignedOut
                | Self::Replayed
                | Self::Split
                | Self::Closed
                | Self::Notified
                | Self::FollowUpLeft
                | Self::Taken
                | Self::Released
                | Self::Paused
                | Self::Resumed
                | Self::UserChanged
                | Self::SessionsEnded
                | Self::TokenRevoked
                | Self::PasswordChanged
                | Self::MasksChanged
                | Self::NoticeSent
                | Self::NoticeHurried
                | Self::FollowUpDone
                | Self::PolicyChanged
                | Self::AlertKnown
                | Self::BaselineChosen
                | Self::CanarySaved
                | Self::CanariesImported
                | Self::CanaryStarted
                | Self::CanaryCleared
        )
    }
}

/// The notice that the address carries, if any.
pub fn notice(request: &Request) -> Option<impl IntoView + use<>> {
    let notice = Notice::from_code(request.get("notice")?)?;
    let class = if notice.is_good() { "notice" } else { "notice bad" };
    Some(view! { <p class=class role="status">{notice.sentence()}</p> })
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
