//! What every page has around it: permission, the head with the verdict, the
//! title, and an error page where the contents cannot be shown.

use super::failed::failed;
use super::notice::notice;
use crate::api::{Access, FailureReport, PageError, Request, permit};
use crate::components::markup::markup;
use crate::components::verdict_line::{escaped, title_of, verdict_line};
use crate::error::AppError;
use crate::model::letter::{LetterFilter, LetterStatus};
use crate::model::people::{Role, Viewer};
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

    fn label(self) -> &'static str {
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

    fn href(self) -> String {
        match self {
            Self::Pipeline => "/".to_owned(),
            Self::DeadLetters => crate::components::link::letters(&LetterFilter {
                status: Some(LetterStatus::Open),
                ..LetterFilter::default()
            }),
            Self::Refusals => "/refusals".to_owned(),
            Self::Jobs => "/jobs".to_owned(),
            Self::Policies => "/policies".to_owned(),
            Self::Audit => "/audit".to_owned(),
            Self::Settings => "/settings".to_owned(),
            Self::Account => "/account".to_owned(),
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
    let access = permit(role);
    Suspend::new(async move {
        let access = match access {
            Ok(access) => access,
            Err(error) => return refused(section, error.into()),
        };
        let viewer = access.viewer.clone();
        let glance = access.glance().await;
        let notice = notice(&request);
        let (contents, is_away) = match load(access, request).await {
            Ok(view) => (view! { <h1>{title}</h1>{view} }.into_any(), false),
            Err(error) => {
                let is_away = matches!(error.shown, AppError::Unavailable(_));
                (reported(error), is_away)
            }
        };
        let page_title = escaped(&format!("{title} · {}", title_of(&glance.verdict, glance.as_of)));
        let html = markup(view! {
            {head(section, &viewer, glance.unresolved_dead_letters)}
            <main>
                {verdict_line(&glance.verdict, glance.as_of)}
                {notice}
                {contents}
            </main>
        });
        view! {
            <Title text=page_title />
            // It was asked for with GET, so to load it again is harmless.
            {is_away.then(|| view! { <Meta http_equiv="refresh" content="5" /> })}
            <div inner_html=html></div>
        }
        .into_any()
    })
}

/// A page whose viewer may not see it: no figure of the pipeline is on it.
pub fn refused(section: Section, error: PageError) -> AnyView {
    let viewer = use_context::<Option<Viewer>>().flatten();
    let html = markup(view! {
        {viewer.map(|viewer| head(section, &viewer, None))}
        <main>{reported(error)}</main>
    });
    view! {
        <Title text="Drainboard" />
        <div inner_html=html></div>
    }
    .into_any()
}

/// The error page's contents; the server is told once.
pub fn reported(error: PageError) -> AnyView {
    if let Some(report) = use_context::<FailureReport>() {
        (report.0)(&error.shown, error.cause.as_ref());
    }
    failed(&error.shown).into_any()
}

/// The head: where one can go, who one is.
pub fn head(current: Section, viewer: &Viewer, unresolved: Option<i64>) -> impl IntoView + use<> {
    let links = Section::ALL
        .into_iter()
        .filter(|section| viewer.may(section.role()))
        .map(|section| {
            let is_current = (section == current).then_some("page");
            let badge = (section == Section::DeadLetters).then(
                || view! { " "<b id="open-letters">{unresolved.map_or_else(|| "?".to_owned(), |n| n.to_string())}</b> },
            );
            view! { <a href=section.href() aria-current=is_current>{section.label()}{badge}</a> }
        })
        .collect_view();
    view! {
        <header class="head">
            <b class="brand">"Drainboard"</b>
            <nav aria-label="Pages">{links}</nav>
            <form class="who" method="post" action="/logout">
                <span><a href="/account">{viewer.name.clone()}</a>" · "{viewer.role.as_str()}</span>
                <button>"Log out"</button>
            </form>
        </header>
    }
}
