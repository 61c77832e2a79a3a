//! What every page has around it: permission, the head with the verdict, the
//! title, and an error page where the contents cannot be shown.

use super::failed::{failed, heading};
use super::notice::notice;
use super::unread::unread;
use crate::api::{Access, FailureReport, PageError, Request, permit};
use crate::components::canary_alarm::canary_alarm;
use crate::components::letter_places::letter_places;
use crate::components::markup::markup;
use crate::components::name::{name, said};
use crate::components::panel::last_reading;
use crate::components::verdict_line::{escaped, title_of, verdict_line};
use crate::error::AppError;
use crate::model::people::{Role, Viewer};
use crate::panel::PanelView;
use leptos::prelude::*;
use leptos_meta::{Meta, Title};
use std::future::Future;

/// The places the head leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// `/`
    Pipeline,
    /// `/dead-letters`
    DeadLetters,
    /// `/refusals`
    Refusals,
    /// `/jobs`
    Jobs,
    /// `/policies`
    Policies,
    /// `/audit`
    Audit,
    /// `/settings`
    Settings,
    /// `/account`, which the viewer's name leads to
    Account,
}

impl Section {
    /// Those with a link of their own in the head.
    const ALL: [Self; 7] =
        [Self::Pipeline, Self::DeadLetters, Self::Refusals, Self::Jobs, Self::Policies, Self::Audit, Self::Settings];

    /// The word in the head.
    pub fn label(self) -> &'static str {
        match self {
            Self::Pipeline => "Pipeline",
            Self::DeadLetters => "Dead letters",
            Self::Refusals => "Refusals",
            Self::Jobs => "Jobs",
            Self::Policies => "Policies",
            Self::Audit => "Audit",
            Self::Settings => "Settings",
            Self::Account => "Account",
        }
    }

    /// Where it is.
    pub fn href(self) -> &'static str {
        match self {
            Self::Pipeline => "/",
            Self::DeadLetters => "/dead-letters",
            Self::Refusals => "/refusals",
            Self::Jobs => "/jobs",
            Self::Policies => "/policies",
            Self::Audit => "/audit",
            Self::Settings => "/settings",
            Self::Account => "/account",
        }
    }

    /// Who sees it in the head; the page itself checks again.
    fn role(self) -> Role {
        match self {
            Self::Audit | Self::Settings => Role::Admin,
            _ => Role::OnCall,
        }
    }
}

/// What a page's loader answers.
pub type Loaded = Result<AnyView, PageError>;

/// A page under the small verdict line, with `title` as its heading.
pub fn page<Loading>(
    section: Section,
    title: &'static str,
    role: Role,
    load: impl FnOnce(Access, Request) -> Loading + Send + 'static,
) -> impl IntoView
where
    Loading: Future<Output = Loaded> + Send + 'static,
{
    let request = Request::current();
    // The frame shows what every role may see; the contents ask for their own.
    let (framing, access) = (permit(Role::OnCall), permit(role));
    Suspend::new(async move {
        let framing = match framing {
            Ok(framing) => framing,
            Err(error) => return unframed(error.into()),
        };
        let frame = Frame::around(Some(section), &framing).await;
        let loaded = match access {
            Err(error) => Err(error.into()),
            Ok(access) if access.is_away => Err(AppError::Unavailable(None).into()),
            Ok(access) => load(access, request.clone()).await,
        };
        let notes = loaded.is_ok().then(|| {
            let reading = frame.panel.reading.as_ref().filter(|_| frame.panel.is_fresh);
            let places = letter_places(&request.path, reading);
            view! { {places}{notice(&request)}{refused(&request)}{unread(&request)} }
        });
        frame.show(notes, loaded.map(|view| (title.to_owned(), view)))
    })
}

/// Why what was posted to this page was not done, in the server's own words.
fn refused(request: &Request) -> Option<impl IntoView + use<>> {
    let sentence = request.posted.as_ref()?.sentence.as_deref()?;
    Some(view! { <p class="notice bad" role="alert">"Nothing was done: "{said(sentence)}</p> })
}

/// The frame around what belongs to no section: heading and contents, or an error.
pub fn outside(load: impl FnOnce() -> Result<(String, AnyView), PageError>) -> impl IntoView {
    let framing = permit(Role::OnCall);
    let loaded = load();
    Suspend::new(async move {
        match framing {
            Ok(framing) => Frame::around(None, &framing).await.show(None::<()>, loaded),
            Err(error) => unframed(error.into()),
        }
    })
}

/// What stands around the contents of a page.
struct Frame {
    section: Option<Section>,
    viewer: Viewer,
    panel: PanelView,
}

impl Frame {
    async fn around(section: Option<Section>, access: &Access) -> Self {
        Self { section, viewer: access.viewer.clone(), panel: access.panel().await }
    }

    /// The whole page; while the database is away also the last reading, and it
    /// loads again by itself if that was what stopped it.
    fn show(self, notes: Option<impl IntoView>, loaded: Result<(String, AnyView), PageError>) -> AnyView {
        let verdict = &self.panel.verdict;
        let mut is_away = false;
        let (heading, contents) = match loaded {
            Ok((heading, view)) => (heading.clone(), view! { <h1>{heading}</h1>{notes}{view} }.into_any()),
            Err(error) => {
                is_away = matches!(error.shown, AppError::Unavailable(_) | AppError::DatabaseError);
                (heading(&error.shown).to_owned(), reported(error, self.section))
            }
        };
        let page_title = escaped(&format!("{heading} · {}", title_of(verdict, self.panel.as_of())));
        let html = markup(view! {
            {head(self.section, &self.viewer, self.panel.unresolved_dead_letters())}
            <main id="content" tabindex="-1">
                {verdict_line(verdict, self.panel.as_of())}
                {canary_alarm(&self.panel)}
                {contents}
                {(!self.panel.is_fresh).then(|| last_reading(&self.panel))}
            </main>
        });
        view! {
            <Title text=page_title />
            // It was asked for with GET, so to load it again is harmless.
            {is_away.then(|| view! { <Meta http_equiv="refresh" content="5" /> })}
            <div inner_html=html></div>
        }
        .into_any()
    }
}

/// An error for somebody who is not signed in: no figure of the pipeline is on it.
pub fn unframed(error: PageError) -> AnyView {
    let html = markup(view! { <main id="content" tabindex="-1">{reported(error, None)}</main> });
    view! {
        <Title text="Drainboard" />
        <div inner_html=html></div>
    }
    .into_any()
}

/// The error page's contents; the server is told once.
fn reported(error: PageError, section: Option<Section>) -> AnyView {
    report(&error);
    failed(&error.shown, section).into_any()
}

/// Tells the server about an error, so that the answer gets its status.
pub fn report(error: &PageError) {
    if let Some(report) = use_context::<FailureReport>() {
        (report.0)(&error.shown, error.cause.as_ref());
    }
}

/// The head: where one can go, who one is.
pub fn head(current: Option<Section>, viewer: &Viewer, unresolved: Option<i64>) -> impl IntoView + use<> {
    let links = Section::ALL
        .into_iter()
        .filter(|section| viewer.may(section.role()))
        .map(|section| {
            let is_current = (Some(section) == current).then_some("page");
            let badge = (section == Section::DeadLetters).then(
                || view! { " "<b id="open-letters">{unresolved.map_or_else(|| "?".to_owned(), |n| n.to_string())}</b> },
            );
            view! { <a href=section.href() aria-current=is_current>{section.label()}{badge}</a> }
        })
        .collect_view();
    view! {
        <a class="skip" href="#content">"Skip to content"</a>
        <header class="head">
            <b class="brand">"Drainboard"</b>
            <nav aria-label="Pages">{links}</nav>
            <form class="who" method="post" action="/logout">
                <span><a href="/account">{name(&viewer.name)}</a>" · "{viewer.role.as_str()}</span>
                <button>"Log out"</button>
            </form>
        </header>
    }
}
