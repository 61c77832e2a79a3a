//! Whether the file at the path is still the one that was opened. A file that is
//! moved, deleted or replaced under a running server can be read and written on
//! as if nothing had happened, and nobody would ever see it again.

use crate::store::fault::Tried;
use app::error::StoreError;
use std::fs::Metadata;

/// A path, and which file stood there when it was opened.
#[derive(Debug)]
pub(super) struct Place {
    path: String,
    opened: Identity,
}

/// Device and inode.
#[cfg(unix)]
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(file: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    (file.dev(), file.ino())
}

/// Elsewhere an open file cannot be taken away: that there is one is enough.
#[cfg(not(unix))]
type Identity = ();

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Identity {}

impl Place {
    /// Takes note of the file at `path`.
    ///
    /// # Errors
    /// `Unavailable` when there is none.
    pub(super) fn of(path: &str) -> Tried<Self> {
        match std::fs::metadata(path) {
            Ok(file) => Ok(Self { path: path.to_owned(), opened: identity(&file) }),
            Err(error) => Err(StoreError::Unavailable(format!("cannot open {path}: {error}")).into()),
        }
    }

    /// Costs a microsecond or two, so that every transaction can ask.
    ///
    /// # Errors
    /// `Unavailable` unless the file that was opened is still there.
    pub(super) fn check(&self) -> Tried<()> {
        let path = &self.path;
        let gone = match std::fs::metadata(path) {
            Ok(file) if identity(&file) == self.opened => return Ok(()),
            Ok(_) => format!("{path} is another file than the one this server opened: put that one back, or restart"),
            Err(error) => format!("{path} was moved or deleted under this server ({error}): put it back, or restart"),
        };
        Err(StoreError::Unavailable(gone).into())
    }
}
