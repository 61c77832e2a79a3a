//! A child of the demo ends when the demo is gone, however it went: its
//! standard input is a pipe that only the demo holds open.

use std::io::Read as _;
use tokio::sync::oneshot;

/// Returns when standard input closes; never, unless `watched`.
pub async fn gone(watched: bool) {
    if !watched {
        return std::future::pending().await;
    }
    let (closed, is_closed) = oneshot::channel::<()>();
    // A plain thread: one that waits for input must not hold up the end of the process.
    std::thread::spawn(move || {
        let mut ignored = [0_u8; 64];
        while matches!(std::io::stdin().read(&mut ignored), Ok(n) if n > 0) {}
        drop(closed);
    });
    // Either way there is nobody left at the other end.
    let _ = is_closed.await;
}
