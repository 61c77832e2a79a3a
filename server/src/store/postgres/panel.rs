//! What pages and monitors read, each in its own file.

use super::{PostgresStore, evidence, jobs, park_rate, snapshot};
use app::model::evidence::counts::{EvidenceCount, EvidenceCountQuery};
use app::model::ids::JobId;
use app::model::job::{JobDetail, JobFilter, JobPage};
use app::model::park_rate::{ParkCount, ParkRateQuery};
use app::model::reading::Snapshot;
use app::store::{PanelStore, Stored};
use async_trait::async_trait;

#[async_trait]
impl PanelStore for PostgresStore {
    async fn snapshot(&self) -> Stored<Snapshot> {
        self.pages_answer(snapshot::snapshot(&self.pages)).await
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Stored<JobPage> {
        self.pages_answer(jobs::list_jobs(&self.pages, filter)).await
    }

    async fn find_job(&self, id: JobId) -> Stored<Option<JobDetail>> {
        self.pages_answer(jobs::find_job(&self.pages, id)).await
    }

    async fn count_park_rate(&self, query: &ParkRateQuery) -> Stored<Vec<ParkCount>> {
        self.pages_answer(park_rate::count_park_rate(&self.pages, query)).await
    }

    async fn count_evidence(&self, query: &EvidenceCountQuery) -> Stored<Vec<EvidenceCount>> {
        self.pages_answer(evidence::count_evidence(&self.pages, query)).await
    }
}
