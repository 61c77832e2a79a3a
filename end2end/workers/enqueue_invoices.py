"""Enqueues the invoices of end2end/invoices as `extract-invoice` jobs, one call for all.

    DRAINBOARD_TOKEN=… python enqueue_invoices.py --url http://127.0.0.1:3000
"""

import argparse
import json
import os
from pathlib import Path

from drainboard_worker import Client

INVOICES = Path(__file__).parent.parent / "invoices"


def list_samples():
    """What is in the folder, where it came from and what must become of it."""
    return json.loads((INVOICES / "expected.json").read_text(encoding="utf-8"))


def enqueue(client, samples, kind="extract-invoice"):
    """Answers the ids of the new jobs, in the order of the samples. Every other job names its file by payload."""
    jobs = []
    for number, sample in enumerate(samples):
        job = {"kind": kind, "source": sample["source"]}
        if number % 2:
            job["payload"] = {"path": sample["file"]}
        else:
            job["payload_ref"] = sample["file"]
        job.update({key: sample[key] for key in ("received_at", "upstream_handoffs") if key in sample})
        jobs.append(job)
    return [job["id"] for job in client.call("/jobs", {"jobs": jobs})["jobs"]]


def main():
    """Prints one line per job: id and file."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--url", default="http://127.0.0.1:3000", help="where Drainboard listens")
    given = arguments.parse_args()
    samples = list_samples()
    for job_id, sample in zip(enqueue(Client(given.url, os.environ["DRAINBOARD_TOKEN"]), samples), samples):
        print(job_id, sample["file"])


if __name__ == "__main__":
    main()
