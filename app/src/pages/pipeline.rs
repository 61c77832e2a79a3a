//! `/`: does the pipeline run, what waits, what failed, who works.

use super::frame::{Section, head, refused};
use super::notice::notice;
use crate::api::{Request, permit};
use crate::components::markup::markup;
use crate::components::panel::panel_html;
use crate::components::verdict_line::{escaped, title_of};
use crate::islands::LivePanel;
use crate::model::people::Role;
use leptos::prelude::*;
use leptos_meta::Title;

/// The panel, as the stream renders it, and the island that keeps it live.
#[component]
pub fn PipelinePage() -> impl IntoView {
    let request = Request::current();
    let access = permit(Role::OnCall);
    Suspend::new(async move {
        let access = match access {
            Ok(access) => access,
            Err(error) => return refused(Section::Pipeline, error.into()),
        };
        let view = access.panel().await;
        let reading = view.reading.as_ref();
        let title = title_of(&view.verdict, reading.map(|reading| reading.as_of));
        let unresolved = reading.filter(|_| view.is_fresh).map(|reading| reading.unresolved_dead_letters);
        let html = markup(view! {
            {head(Section::Pipeline, &access.viewer, unresolved)}
            <main>
                {notice(&request)}
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
