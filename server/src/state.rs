//! What every handler can reach.

use crate::auth::remembered::RememberedSessions;
use crate::config::Config;
use crate::live::Live;
use app::error::StoreError;
use app::model::reading::Snapshot;
use app::panel::{PanelMemory, PanelView};
use app::store::{Store, Stored};
use std::sync::Arc;
use std::time::Duration;

/// Cheap to clone; one per server.
#[derive(Clone)]
pub struct AppState {
    /// The only door to data.
    pub store: Arc<dyn Store>,
    /// What the server remembers between readings.
    pub panel: PanelMemory,
    /// The stream of readings.
    pub live: Live,
    /// Who was signed in a moment ago.
    pub sessions: RememberedSessions,
    /// Settings.
    pub config: Arc<Config>,
}

impl AppState {
    /// The state of a server that begins.
    pub fn new(store: Arc<dyn Store>, config: Config) -> Self {
        Self {
            store,
            panel: PanelMemory::default(),
            live: Live::default(),
            sessions: RememberedSessions::default(),
            config: Arc::new(config),
        }
    }

    /// Asks the store, but answers `Unavailable` when that takes longer than
    /// `patience`. The question is left to end in its own time: to cut a
    /// transaction short would hand its connection on in an unknown state.
    ///
    /// # Errors
    /// As the question, and `Unavailable`.
    pub async fn ask<T, Asking>(&self, patience: Duration, question: impl FnOnce(Arc<dyn Store>) -> Asking) -> Stored<T>
    where
        T: Send + 'static,
        Asking: Future<Output = Stored<T>> + Send + 'static,
    {
        match tokio::time::timeout(patience, tokio::spawn(question(self.store.clone()))).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => Err(StoreError::Internal(format!("a question ended early: {error}"))),
            Err(_) => Err(StoreError::Unavailable(format!("no answer within {patience:?}"))),
        }
    }

    /// A reading made now, or the reason why there is none.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub async fn read_now(&self, patience: Duration) -> Stored<Snapshot> {
        self.ask(patience, async |store| store.snapshot().await).await
    }

    /// What to show of the panel now. Why it could not be read goes to the log.
    pub async fn panel_now(&self, patience: Duration) -> PanelView {
        let outcome = self.read_now(patience).await;
        if let Err(error) = &outcome {
            tracing::warn!(cause = ?error, "no reading");
        }
        self.panel.view_of(outcome)
    }
}
