//! Which page answers which address.
//!
//! Every page is rendered whole before its first byte is sent, so that it
//! reads and acts without any script. Filters are in the query string, never
//! in the path: a kind may be called `..` or `a/b`.

use crate::pages::account::AccountPage;
use crate::pages::alerts::AlertsPage;
use crate::pages::artifact::ArtifactPage;
use crate::pages::audit::AuditPage;
use crate::pages::bulk::{BulkPage, BulksPage};
use crate::pages::canaries::CanariesPage;
use crate::pages::canary::CanaryPage;
use crate::pages::compare::ComparePage;
use crate::pages::dead_letter::DeadLetterPage;
use crate::pages::dead_letters::DeadLettersPage;
use crate::pages::follow_ups::FollowUpsPage;
use crate::pages::job::JobPage;
use crate::pages::jobs::JobsPage;
use crate::pages::letter_work::{CorrectPage, FollowUpPage, NotifyPage, SplitPage};
use crate::pages::login::LoginPage;
use crate::pages::not_found::NotFoundPage;
use crate::pages::outbox::OutboxPage;
use crate::pages::outbox_notice::OutboxNoticePage;
use crate::pages::password::PasswordPage;
use crate::pages::pipeline::PipelinePage;
use crate::pages::policies::PoliciesPage;
use crate::pages::policy::PolicyPage;
use crate::pages::refusals::RefusalsPage;
use crate::pages::settings::SettingsPage;
use crate::pages::settings_tokens::SettingsTokensPage;
use crate::pages::settings_user::SettingsUserPage;
use crate::pages::setup::SetupPage;
use leptos::prelude::*;
use leptos_router::components::{FlatRoutes, Route, Router};
use leptos_router::{SsrMode, path};

/// All pages.
#[component]
pub fn App() -> impl IntoView {
    // The router calls it outside of every owner, where no context can be found.
    let owner = Owner::current();
    let not_found = move || match &owner {
        Some(owner) => owner.with(NotFoundPage).into_any(),
        None => NotFoundPage().into_any(),
    };
    view! {
        <Router>
            <FlatRoutes fallback=not_found>
                <Route path=path!("/") view=PipelinePage ssr=SsrMode::Async />
                <Route path=path!("/jobs") view=JobsPage ssr=SsrMode::Async />
                <Route path=path!("/jobs/:id") view=JobPage ssr=SsrMode::Async />
                <Route path=path!("/dead-letters") view=DeadLettersPage ssr=SsrMode::Async />
                <Route path=path!("/groups") view=DeadLettersPage ssr=SsrMode::Async />
                <Route path=path!("/compare") view=ComparePage ssr=SsrMode::Async />
                <Route path=path!("/artifacts/:sha256") view=ArtifactPage ssr=SsrMode::Async />
                <Route path=path!("/policies/kind") view=PolicyPage ssr=SsrMode::Async />
                <Route path=path!("/dead-letters/:id") view=DeadLetterPage ssr=SsrMode::Async />
                <Route path=path!("/dead-letters/:id/correct") view=CorrectPage ssr=SsrMode::Async />
                <Route path=path!("/dead-letters/:id/split") view=SplitPage ssr=SsrMode::Async />
                <Route path=path!("/dead-letters/:id/notify") view=NotifyPage ssr=SsrMode::Async />
                <Route path=path!("/dead-letters/:id/follow-up") view=FollowUpPage ssr=SsrMode::Async />
                <Route path=path!("/bulk") view=BulksPage ssr=SsrMode::Async />
                <Route path=path!("/bulk/:id") view=BulkPage ssr=SsrMode::Async />
                <Route path=path!("/outbox") view=OutboxPage ssr=SsrMode::Async />
                <Route path=path!("/outbox/:id") view=OutboxNoticePage ssr=SsrMode::Async />
                <Route path=path!("/follow-ups") view=FollowUpsPage ssr=SsrMode::Async />
                <Route path=path!("/refusals") view=RefusalsPage ssr=SsrMode::Async />
                <Route path=path!("/alerts") view=AlertsPage ssr=SsrMode::Async />
                <Route path=path!("/canaries") view=CanariesPage ssr=SsrMode::Async />
                <Route path=path!("/canaries/:id") view=CanaryPage ssr=SsrMode::Async />
                <Route path=path!("/policies") view=PoliciesPage ssr=SsrMode::Async />
                <Route path=path!("/audit") view=AuditPage ssr=SsrMode::Async />
                <Route path=path!("/settings") view=SettingsPage ssr=SsrMode::Async />
                <Route path=path!("/settings/user") view=SettingsUserPage ssr=SsrMode::Async />
                <Route path=path!("/settings/tokens") view=SettingsTokensPage ssr=SsrMode::Async />
                <Route path=path!("/account") view=AccountPage ssr=SsrMode::Async />
                <Route path=path!("/password") view=PasswordPage ssr=SsrMode::Async />
                <Route path=path!("/login") view=LoginPage ssr=SsrMode::Async />
                <Route path=path!("/setup") view=SetupPage ssr=SsrMode::Async />
            </FlatRoutes>
        </Router>
    }
}
