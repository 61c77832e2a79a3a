//! What pages and monitors read, each in its own file.

use super::SqliteStore;
use app::model::evidence::counts::{EvidenceCount, EvidenceCountQuery};
use app::model::ids::JobId;
use app::model::job::{JobDetail, JobFilter, JobPage};
use app::model::park_rate::{ParkCount, ParkRateQuery};
use app::model::reading::Snapshot;
use app::store::{PanelStore, Stored};
use async_trait::async_trait;

#[async_trait]
impl PanelStore for SqliteStore {
    async fn snapshot(&self) -> Stored<Snapshot> {
        Ok(self.read_snapshot().await?)
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Stored<JobPage> {
        Ok(self.read_job_page(filter).await?)
    }

    async fn find_job(&self, id: JobId) -> Stored<Option<JobDetail>> {
        Ok(self.read_job(id).await?)
    }

    async fn count_park_rate(&self, query: &ParkRateQuery) -> Stored<Vec<ParkCount>> {
        Ok(self.read_park_rate(query).await?)
    }

    async fn count_evidence(&self, query: &EvidenceCountQuery) -> Stored<Vec<EvidenceCount>> {
        Ok(self.read_evidence_counts(query).await?)
    }
}
