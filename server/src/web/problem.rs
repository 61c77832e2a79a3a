//! Answers to a person's request that could not be done: a status that says so
//! to programs, and a sentence that says how to go on.
//!
//! Needs neither database nor scripts, so that it works when little else does.

use crate::state::AppState;
use app::api::Posted;
use app::components::markup::markup;
use app::error::StoreError;
use app::model::FieldError;
use app::pages::notice::Notice;
use app::pages::told::{Again, Told};
use axum::extract::rejection::FormRejection;
use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER};
use std::sync::Arc;

/// One such answer.
#[derive(Debug, Clone)]
pub struct Problem {
    status: StatusCode,
    title: String,
    sentence: String,
    link: (String, &'static str),
    retry_after_seconds: Option<u64>,
    reloads: bool,
    page: Option<ShownOn>,
    posted: Option<Posted>,
}

/// In an answer's extensions: the page (path and query) that says it better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownOn(pub String);

impl Problem {
    fn new(status: StatusCode, title: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self {
            status,
            title: title.into(),
            sentence: sentence.into(),
            link: ("/".to_owned(), "To the pipeline"),
            retry_after_seconds: None,
            reloads: false,
            page: None,
            posted: None,
        }
    }

    /// The same, said by a notice on a page of the app, so that the person can
    /// go on from there at once.
    #[must_use]
    pub fn shown_on(mut self, page: &str, notice: Notice) -> Self {
        self.page = Some(ShownOn(with_notice(page, notice)));
        self
    }

    /// The same, said on the page that the form stands on, with all that was typed.
    #[must_use]
    pub fn shown_with(mut self, page: &str, fields: Arc<Vec<(String, String)>>) -> Self {
        self.page = Some(ShownOn(page.to_owned()));
        self.posted = Some(Posted { fields, sentence: Some(self.sentence.clone()) });
        self
    }

    /// 200: the page again, showing what the posted fields would do.
    pub fn preview(page: &str, fields: Arc<Vec<(String, String)>>) -> Self {
        let mut shown = Self::new(StatusCode::OK, "Not done yet", "Nothing was done yet. Go back and try again.");
        shown.page = Some(ShownOn(page.to_owned()));
        shown.posted = Some(Posted { fields, sentence: None });
        shown.back_to(page, "Back")
    }

    /// The same, shown on `page` under the notice that goes with its status.
    #[must_use]
    pub fn shown_with_fitting_notice(self, page: &str) -> Self {
        let notice = match self.status {
            StatusCode::CONFLICT => Notice::Conflict,
            StatusCode::FORBIDDEN => Notice::Forbidden,
            StatusCode::SERVICE_UNAVAILABLE => Notice::Unavailable,
            StatusCode::PAYLOAD_TOO_LARGE => Notice::TooLarge,
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => Notice::FormRefused,
            _ => return self,
        };
        self.shown_on(page, notice)
    }

    /// The same; an outage's page loads again by itself. Only for what was
    /// asked with GET: loading a posted form again would post it again.
    #[must_use]
    pub fn reloading(mut self) -> Self {
        self.reloads = self.status == StatusCode::SERVICE_UNAVAILABLE;
        self
    }

    /// The same, with a link to where the person can go on.
    #[must_use]
    pub fn back_to(mut self, href: &str, label: &'static str) -> Self {
        self.link = (href.to_owned(), label);
        self
    }

    /// 401: the session ended while its page was open.
    pub fn session_ended() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "Signed out",
            "You are not signed in any more, so nothing was changed. Sign in, then try again.",
        )
        .back_to("/login", "Sign in")
    }

    /// 401: name and password do not fit.
    pub fn sign_in_refused(next: &str) -> Self {
        let page = sign_in_page(next);
        Self::new(StatusCode::UNAUTHORIZED, "Not signed in", "Name and password do not fit together.")
            .back_to(&page, "Try again")
            .shown_on(&page, Notice::SignInFailed)
    }

    /// 429: too many tries.
    pub fn too_many_sign_ins(next: &str, retry_after_seconds: u64) -> Self {
        let page = sign_in_page(next);
        let wait = app::model::age::age(i64::try_from(retry_after_seconds).unwrap_or(i64::MAX));
        let mut problem = Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "Too many tries",
            format!("Too many sign-ins for this account or from this address. Try again in {wait}."),
        )
        .back_to(&page, "Sign in")
        .shown_on(&page, Notice::SignInSlowedDown);
        problem.retry_after_seconds = Some(retry_after_seconds);
        problem
    }

    /// 403: the role, or the site that sent the request.
    pub fn forbidden(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Not allowed", sentence)
    }

    /// 404.
    pub fn not_found(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not found", sentence)
    }

    /// 405: the address takes another method than the one that came.
    pub fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "Nothing was done",
            "This address does not take what was sent to it. Go on from a page, by its links and buttons.",
        )
    }

    /// 409: somebody else was first, or it was done before.
    pub fn conflict(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "Not done", sentence)
    }

    /// 422: what was asked for makes no sense as it is.
    pub fn not_done(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Not done", sentence)
    }

    /// 422: a field breaks a rule.
    pub fn invalid(error: &FieldError) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Not done", format!("{} {}.", error.field, error.rule))
    }

    /// 4xx: the form could not be read.
    pub fn bad_form(rejection: &FormRejection) -> Self {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            return Self::new(rejection.status(), "Not done", Notice::TooLarge.sentence());
        }
        Self::new(rejection.status(), "Not done", format!("The form could not be read: {}.", rejection.body_text()))
    }

    /// 500, logged by the caller.
    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "Something went wrong",
            "Something went wrong on the server; the log has the details.",
        )
    }

    /// What the store answered; the cause of a fault of ours is logged here.
    pub fn of_store(state: &AppState, error: StoreError) -> Self {
        match error {
            StoreError::Invalid(field) => Self::invalid(&field),
            StoreError::NotFound(what) => Self::not_found(format!("There is no such {what}.")),
            StoreError::LeaseLost => Self::conflict(StoreError::LeaseLost.to_string()),
            StoreError::Conflict(sentence) => Self::conflict(sentence),
            StoreError::Forbidden(sentence) => Self::forbidden(sentence),
            error @ (StoreError::Unavailable(_) | StoreError::DatabaseError(_)) => Self::unavailable(state, error),
            StoreError::Internal(cause) => {
                tracing::error!(cause, "the store failed");
                Self::internal()
            }
        }
    }

    /// 503 that begins with the verdict line, so that whoever looks during an
    /// outage reads the truth before anything else. It shows no data, so it may
    /// be shown to anybody.
    fn unavailable(state: &AppState, error: StoreError) -> Self {
        tracing::warn!(cause = ?error, "the database is away");
        let what = match error {
            StoreError::DatabaseError(_) => "answers with an error (the server's log has it)",
            _ => "cannot be reached",
        };
        let verdict = state.panel.view_of(Err(error)).verdict;
        let mut problem = Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            verdict.text,
            format!(
                "The database {what}, so nothing can be shown and nothing was changed. Try again in a few seconds."
            ),
        );
        problem.retry_after_seconds = Some(5);
        problem
    }

    /// The same as a page of the app tells it, under a verdict line of its own.
    fn told(&self) -> Told {
        let heading = match self.status {
            StatusCode::SERVICE_UNAVAILABLE => "Database unreachable",
            _ => &self.title,
        };
        Told {
            heading: heading.to_owned(),
            sentence: self.sentence.clone(),
            href: self.link.0.clone(),
            label: self.link.1.to_owned(),
            again: None,
        }
    }

    /// The answer without a frame, with what was typed in a form that sends it once
    /// more. The sign-in opens beside it: going there would lose it.
    pub fn keeping(mut self, again: &Again) -> Response {
        self.sentence
            .push_str(" What you typed is kept below: sign in in another tab, come back to this one, and send it.");
        let form = markup(again.form());
        let page = self
            .page()
            .replace("</main>", &format!("{form}</main>"))
            .replace("<a href=\"/login\">", "<a href=\"/login\" target=\"_blank\" rel=\"noopener\">");
        (self.status, Html(page)).into_response()
    }

    fn page(&self) -> String {
        let reload = if self.reloads { "<meta http-equiv=\"refresh\" content=\"5\">" } else { "" };
        let stylesheet = crate::site::asset("main.css");
        format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">{reload}\
             <title>{title} · Drainboard</title><link rel=\"stylesheet\" href=\"{stylesheet}\"></head>\
             <body class=\"problem\"><a class=\"skip\" href=\"#content\">Skip to content</a>\
             <main id=\"content\" tabindex=\"-1\"><h1>{title}</h1><p role=\"alert\">{sentence}</p>\
             <p><a href=\"{href}\">{label}</a></p></main></body></html>",
            title = escaped(&self.title),
            sentence = escaped(&self.sentence),
            stylesheet = escaped(stylesheet),
            href = escaped(&self.link.0),
            label = escaped(self.link.1),
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (mut response, told) = ((self.status, Html(self.page())).into_response(), self.told());
        if let Some(seconds) = self.retry_after_seconds {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(told);
        if let Some(page) = self.page {
            response.extensions_mut().insert(page);
        }
        if let Some(posted) = self.posted {
            response.extensions_mut().insert(posted);
        }
        response
    }
}

/// The sign-in page that leads to `next` afterwards.
pub fn sign_in_page(next: &str) -> String {
    if next == "/" {
        return "/login".to_owned();
    }
    let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
    format!("/login?next={next}")
}

/// The address of a page of this site that shows `notice`, and no other one.
pub fn with_notice(page: &str, notice: Notice) -> String {
    let (page, fragment) = page.split_once('#').map_or((page, None), |(page, fragment)| (page, Some(fragment)));
    let (path, query) = page.split_once('?').unwrap_or((page, ""));
    let kept = url::form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key != "notice");
    let query = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(kept)
        .append_pair("notice", notice.code())
        .finish();
    let fragment = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
    format!("{path}?{query}{fragment}")
}

/// Text as it may stand in HTML text and in quoted attributes.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_was_sent_becomes_markup() {
        let page = Problem::conflict("<img src=x onerror=alert(1)> was first").back_to("/\"><script>", "Back").page();
        assert!(page.contains("&lt;img src=x onerror=alert(1)&gt; was first"), "{page}");
        assert!(!page.contains("<script>") && !page.contains("<img"), "{page}");
    }
}
