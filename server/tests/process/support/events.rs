//! The live stream as a browser reads it.

use reqwest::Response;
use reqwest::header::HeaderMap;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// An open stream.
pub struct Events {
    response: Response,
    unread: String,
}

impl Events {
    /// Reads from an answer.
    pub fn new(response: Response) -> Self {
        Self { response, unread: String::new() }
    }

    /// The answer's status.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The answer's headers.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The data of the next `panel` event, `None` at the end of the stream.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.unread.find("\n\n") {
                let event: String = self.unread.drain(..end + 2).collect();
                if event.starts_with("event: panel\n") {
                    let data: Vec<&str> = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
                    return Some(data.join("\n"));
                }
                continue;
            }
            let chunk = self.response.chunk().await.ok().flatten()?;
            self.unread.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// The first panel that fits, within `patience`, and how long it took.
    pub async fn wait_for(&mut self, patience: Duration, fits: impl Fn(&str) -> bool) -> Duration {
        let started = Instant::now();
        let mut last = None;
        let found = timeout(patience, async {
            while let Some(panel) = self.next().await {
                if fits(&panel) {
                    return true;
                }
                last = Some(panel);
            }
            false
        });
        assert_eq!(found.await, Ok(true), "not within {patience:?}; the last panel was {last:?}");
        started.elapsed()
    }

    /// Whether the stream ends within `patience`; events before that are skipped.
    pub async fn ends_within(&mut self, patience: Duration) -> bool {
        timeout(patience, async { while self.next().await.is_some() {} }).await.is_ok()
    }
}
