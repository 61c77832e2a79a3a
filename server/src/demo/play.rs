//! The course of the demo, played through the worker API like anybody's: the
//! policies, the burst, and then small amounts of work for as long as it runs.

use super::burst;
use super::chance::Chance;
use super::pace::Pace;
use crate::worker_api::jobs::enqueue::JobBody;
use crate::worker_api::ticks::TickBody;
use crate::worker_client::{ClientError, WorkerClient};
use app::model::name::Name;
use serde_json::{Value, json};
use std::time::Duration;

/// How often the demo's clock reports itself.
const TICK: Duration = Duration::from_secs(60);
const BURST_KINDS: [&str; 3] = ["moderate-content", "extract-places", "moderate-image"];

/// Who plays, and how.
#[derive(Debug, Clone)]
pub struct Director {
    /// The server.
    pub client: WorkerClient,
    /// What chance is drawn from.
    pub chance: Chance,
    /// How fast it goes.
    pub pace: Pace,
}

impl Director {
    /// Sets the policies and enqueues the burst in one call; answers how many jobs it is.
    ///
    /// # Errors
    /// When the server does not take them.
    pub async fn open(&self) -> Result<usize, ClientError> {
        for (kind, change) in policies(self.pace) {
            self.client.change_policy(kind, &change).await?;
        }
        let jobs = self.client.enqueue(burst::trip_import(self.chance)).await?;
        let invoices = (1..=burst::FIRST_INVOICES).map(|n| burst::invoice_job(self.chance, n)).collect();
        self.client.enqueue(invoices).await?;
        self.client.enqueue(burst::sweep(self.chance, 1)).await?;
        Ok(jobs.len())
    }

    /// Keeps work coming, until it is aborted.
    pub async fn go_on(self) {
        tokio::join!(self.clock(), self.invoices(), self.sweeps(), self.reports());
    }

    /// Not the work: that the clock runs which would start workers.
    async fn clock(&self) {
        let every_seconds = u32::try_from(TICK.as_secs()).expect("a minute fits");
        let tick = TickBody { trigger: Name::stored("demo-clock".to_owned()), every_seconds };
        loop {
            if let Err(error) = self.client.tick(&tick).await {
                tracing::warn!(%error, "the tick did not get through");
            }
            tokio::time::sleep(TICK).await;
        }
    }

    async fn invoices(&self) {
        for number in burst::FIRST_INVOICES + 1.. {
            self.wait(Duration::from_secs(8), Duration::from_millis(500)).await;
            self.enqueue(vec![burst::invoice_job(self.chance, number)]).await;
        }
    }

    async fn sweeps(&self) {
        for n in 2.. {
            self.wait(Duration::from_secs(240), Duration::from_secs(15)).await;
            self.enqueue(burst::sweep(self.chance, n)).await;
        }
    }

    /// Single reports, once the burst has drained.
    async fn reports(&self) {
        while !self.has_drained().await {
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        tracing::info!("the burst has drained");
        for n in 1.. {
            self.wait(Duration::from_secs(45), Duration::from_secs(3)).await;
            self.enqueue(burst::later_report(self.chance, n)).await;
        }
    }

    async fn has_drained(&self) -> bool {
        let Ok(reading) = self.client.pipeline().await else { return false };
        let open = |kind: &Value| {
            ["due", "held", "scheduled", "retrying", "in_progress"].iter().any(|count| kind[count].as_i64() != Some(0))
        };
        let kinds = reading["kinds"].as_array().cloned().unwrap_or_default();
        !kinds.iter().any(|kind| BURST_KINDS.iter().any(|name| kind["kind"] == *name) && open(kind))
    }

    async fn wait(&self, at_speed_1: Duration, at_least: Duration) {
        tokio::time::sleep(self.pace.shortened(at_speed_1).max(at_least)).await;
    }

    async fn enqueue(&self, jobs: Vec<JobBody>) {
        if let Err(error) = self.client.enqueue(jobs).await {
            tracing::warn!(%error, "the demo could not enqueue");
        }
    }
}

/// What differs from the defaults. Retries of the moderations are many and
/// short: a photo that the model never saw must not be left to a person.
fn policies(pace: Pace) -> [(&'static str, Value); 5] {
    let seconds = |at_speed_1: f64| pace.shortened_seconds(at_speed_1);
    let patient = json!({
        "max_attempts": 10, "start_seconds": seconds(10.0), "max_delay_seconds": seconds(120.0), "jitter": "equal",
    });
    let invoices = json!({"max_attempts": 5, "start_seconds": seconds(10.0), "max_delay_seconds": seconds(120.0)});
    let checks = json!({
        "max_attempts": 3, "start_seconds": seconds(15.0), "max_delay_seconds": seconds(120.0), "may_refuse": false,
    });
    [
        ("moderate-content", patient.clone()),
        ("extract-places", patient.clone()),
        ("moderate-image", patient),
        ("extract-invoice", invoices),
        ("read-check", checks),
    ]
}
