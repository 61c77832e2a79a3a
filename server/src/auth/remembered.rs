//! Who was signed in a moment ago, for when the database cannot be asked.
//!
//! Opens no door: whatever reads or changes data asks the database, which is
//! away. It only lets a person whose session was good minutes ago see the last
//! reading, as an open page would keep showing it.

use app::model::people::Viewer;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A session that was not confirmed for so long is forgotten.
const KEPT: Duration = Duration::from_secs(600);
/// Most sessions that are kept.
const MOST: usize = 10_000;

/// Sessions by the hash of their id. Cheap to clone; one per server.
#[derive(Debug, Clone, Default)]
pub struct RememberedSessions(Arc<Mutex<HashMap<String, (Viewer, Instant)>>>);

impl RememberedSessions {
    /// Takes in what the database said about a session.
    pub fn confirmed(&self, sha256: &str, viewer: Option<&Viewer>) {
        let mut sessions = self.lock();
        let Some(viewer) = viewer else {
            sessions.remove(sha256);
            return;
        };
        if sessions.len() >= MOST && !sessions.contains_key(sha256) {
            sessions.retain(|_, (_, at)| at.elapsed() < KEPT);
        }
        if sessions.len() < MOST || sessions.contains_key(sha256) {
            sessions.insert(sha256.to_owned(), (viewer.clone(), Instant::now()));
        }
    }

    /// Whose session that was when the database was last asked, if it is not long ago.
    pub fn recall(&self, sha256: &str) -> Option<Viewer> {
        self.lock().get(sha256).filter(|(_, at)| at.elapsed() < KEPT).map(|(viewer, _)| viewer.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Viewer, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use app::model::ids::UserId;
    use app::model::people::Role;

    #[test]
    fn an_ended_session_is_forgotten_at_once() {
        let sessions = RememberedSessions::default();
        let viewer = Viewer { user_id: UserId(1), name: "mila".to_owned(), role: Role::OnCall };
        assert_eq!(sessions.recall("a"), None);
        sessions.confirmed("a", Some(&viewer));
        assert_eq!(sessions.recall("a"), Some(viewer));
        assert_eq!(sessions.recall("b"), None);
        sessions.confirmed("a", None);
        assert_eq!(sessions.recall("a"), None);
    }
}
