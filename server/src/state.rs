//! What every handler can reach.

use crate::config::Config;
use crate::live::Live;
use app::panel::PanelMemory;
use app::store::Store;
use std::sync::Arc;

/// Cheap to clone; one per server.
#[derive(Clone)]
pub struct AppState {
    /// The only door to data.
    pub store: Arc<dyn Store>,
    /// What the server remembers between readings.
    pub panel: PanelMemory,
    /// The stream of readings.
    pub live: Live,
    /// Settings.
    pub config: Arc<Config>,
}
