//! `/`: does the pipeline run, what waits, what failed, who works.

use super::frame::{Section, head, report, unframed};
use super::notice::notice;
use super::unread::unread;
use crate::api::{Request, permit};
use crate::components::markup::markup;
use crate::components::panel::panel_html;
use crate::components::verdict_line::{escaped, title_of};
use crate::error::AppError;
use crate::islands::LivePanel;
use crate::model::people::Role;
use leptos::prelude::*;
use leptos_meta::Title;

const RELOAD: &str = "<meta http-equiv=\"refresh\" content=\"5\">";

/// The panel, as the stream renders it, and the island that keeps it live.
#[component]
pub fn PipelinePage() -> impl IntoView {
    let request = Request::current();
    let access = permit(Role::OnCall);
    Suspend::new(async move {
        let access = match access {
            Ok(access) => access,
            Err(error) => return unframed(error.into()),
        };
        let view = access.panel().await;
        if !view.is_fresh {
            report(&AppError::Unavailable(None).into());
        }
        let title = title_of(&view.verdict, view.as_of());
        let html = markup(view! {
            {head(Some(Section::Pipeline), &access.viewer, view.unresolved_dead_letters())}
            <main id="content" tabindex="-1">
                {notice(&request)}
                {unread(&request)}
                // With scripts the panel comes back by itself.
                {(!view.is_fresh).then(|| view! { <noscript inner_html=RELOAD></noscript> })}
                <div inner_html=panel_html(&view)></div>
            </main>
        });
        view! {
            <Title text=escaped(&title) />
            <div inner_html=html></div>
            <LivePanel />
        }
        .into_any()
    })
}
