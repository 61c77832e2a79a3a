//! What the demo enqueues: the burst, and what comes after it.
//!
//! 178 trip reports are published at once. Each starts a moderation and a search
//! for places, and each of their 465 photos a moderation: ids only, no text and
//! no pictures. Beside them come invoices, and sweeps of scanned checks that a
//! tightly limited OCR has to read.

use super::chance::Chance;
use super::invoices::{Invoice, invoice};
use crate::worker_api::jobs::enqueue::JobBody;
use app::model::job::RawJson;
use app::model::name::Name;
use serde_json::{Value, json};

/// Reports published at once.
pub const REPORTS: u64 = 178;
/// Their photos.
pub const PHOTOS: u64 = 465;
/// Invoices that wait when the demo starts.
pub const FIRST_INVOICES: u64 = 24;
/// Checks in one sweep.
pub const CHECKS_PER_SWEEP: u64 = 40;
/// Where the burst comes from.
pub const TRIP_IMPORT: &str = "trip-import";
/// Where later reports come from.
pub const TRIP_REPORT: &str = "trip-report";
/// Where the checks come from.
pub const TENANT_SWEEP: &str = "tenant-sweep";

const SWEPT_TENANTS: [&str; 5] = ["maple-court", "harbour-view", "elm-street", "north-lofts", "quay-house"];

/// The burst, in the order in which the reports were published.
pub fn trip_import(chance: Chance) -> Vec<JobBody> {
    let mut photos_of = vec![0_u64; usize::try_from(REPORTS).expect("a small number fits")];
    for photo in 1..=PHOTOS {
        let report = chance.below("report of photo", photo, REPORTS);
        photos_of[usize::try_from(report).expect("a small number fits")] += 1;
    }
    let mut jobs = Vec::new();
    let mut photo = 0;
    for (report, photos) in (1..).zip(photos_of) {
        let first = photo + 1;
        photo += photos;
        jobs.extend(published_report(TRIP_IMPORT, report, first..=photo));
    }
    jobs
}

/// The jobs that one published report starts.
fn published_report(source: &str, report: u64, photos: impl IntoIterator<Item = u64>) -> Vec<JobBody> {
    let of_report = ["moderate-content", "extract-places"]
        .map(|kind| job(kind, source, json!({"report": report}), format!("{kind} {report}")));
    let of_photos = photos.into_iter().map(|photo| {
        job("moderate-image", source, json!({"photo": photo, "report": report}), format!("moderate-image {photo}"))
    });
    of_report.into_iter().chain(of_photos).collect()
}

/// The `n`-th report after the burst, from 1, with one to five photos.
pub fn later_report(chance: Chance, n: u64) -> Vec<JobBody> {
    let first = PHOTOS + n * 5;
    let photos = 1 + chance.below("photos of later report", n, 5);
    published_report(TRIP_REPORT, REPORTS + n, first..first + photos)
}

/// The invoice of that number as a job.
pub fn invoice_job(chance: Chance, number: u64) -> JobBody {
    let invoice: Invoice = invoice(chance, number);
    let payload = json!({"invoice": number, "text": invoice.text});
    let mut job = job("extract-invoice", invoice.source, payload, format!("invoice {number}"));
    job.tenant = Some(name(invoice.tenant));
    job.payload_ref = Some(invoice.payload_ref());
    job.upstream_handoffs = invoice.upstream_handoffs().map(|handoffs| RawJson::stored(handoffs.to_string()));
    job
}

/// The `n`-th sweep of checks, from 1. Every tenant sweeps when it likes; here they overlap.
pub fn sweep(chance: Chance, n: u64) -> Vec<JobBody> {
    let first = (n - 1) * CHECKS_PER_SWEEP + 1;
    (first..first + CHECKS_PER_SWEEP)
        .map(|check| {
            let mut job = job("read-check", TENANT_SWEEP, json!({"check": check}), format!("check {check}"));
            job.tenant = Some(name(chance.pick("tenant of check", check, &SWEPT_TENANTS)));
            job
        })
        .collect()
}

fn job(kind: &str, source: &str, payload: Value, unique_key: String) -> JobBody {
    let mut job = JobBody::new(name(kind), name(source));
    job.payload = Some(RawJson::stored(payload.to_string()));
    // Publishing twice starts the work once.
    job.unique_key = Some(unique_key);
    job
}

fn name(text: &str) -> Name {
    Name::new("name", text).expect("the demo's names are short")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, HashSet};

    fn payload(job: &JobBody) -> Value {
        serde_json::from_str(job.payload.as_ref().unwrap().as_str()).unwrap()
    }

    #[test]
    fn the_burst_is_178_reports_with_356_text_jobs_and_465_photos() {
        for seed in [0, 1, 2] {
            let jobs = trip_import(Chance::new(seed));
            let mut counts = BTreeMap::new();
            for job in &jobs {
                *counts.entry(job.kind.as_str()).or_insert(0) += 1;
            }
            let expected =
                BTreeMap::from([("moderate-content", 178), ("extract-places", 178), ("moderate-image", 465)]);
            assert_eq!(counts, expected);
            let photos: HashSet<u64> = jobs.iter().filter_map(|job| payload(job)["photo"].as_u64()).collect();
            assert_eq!(photos, (1..=PHOTOS).collect());
            let keys: HashSet<_> = jobs.iter().map(|job| job.unique_key.clone().unwrap()).collect();
            assert_eq!(keys.len(), jobs.len());
        }
    }

    #[test]
    fn what_comes_later_repeats_no_report_and_no_photo() {
        let chance = Chance::new(1);
        let later = (1..=50).flat_map(|n| later_report(chance, n));
        let keys: Vec<_> = trip_import(chance).into_iter().chain(later).filter_map(|job| job.unique_key).collect();
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
    }

    #[test]
    fn the_same_seed_plays_the_same() {
        let play = |seed: u64| {
            let chance = Chance::new(seed);
            (trip_import(chance), sweep(chance, 2), invoice_job(chance, 3))
        };
        assert_eq!(play(8), play(8));
        assert_ne!(play(8), play(9));
    }
}
