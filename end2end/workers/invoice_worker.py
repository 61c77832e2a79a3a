"""A Drainboard worker that reads invoices: claims `extract-invoice` jobs, reads
the file each one names, and answers done, refuse or fail.

    python invoice_worker.py --url http://127.0.0.1:3000 --folder ../invoices

The token comes from the environment (DRAINBOARD_TOKEN, scope `work`). A job
names its file by `payload_ref`, or by `path` in its payload, relative to the
folder; nothing outside the folder is read.
"""

import argparse
import hashlib
import importlib.metadata
import logging
import os
import signal
import socket
import sys
import threading
from pathlib import Path

from drainboard_worker import ApiError, Client, done, fail, refuse, work
from invoice_reader import TEMPLATES, Refusal, extract, load_templates, read_document

VERSION = importlib.metadata.version("invoice2data")


class InvoiceHandler:
    """Answers one job."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.templates = load_templates()

    def __call__(self, job):
        name = job.get("payload_ref") or (job.get("payload") or {}).get("path")
        path = self._inside(name)
        if path is None:
            error = f"the job names no file inside the folder: {name!r}"
            return fail(error, category="permanent", error_code="validation_failed")
        envelope = self._envelope(job, name)
        try:
            envelope["payload_sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
            return self._read(path, envelope)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            return fail(str(error), category="permanent", error_code="data_not_found", envelope=envelope)
        except PermissionError as error:
            return fail(str(error), category="permanent", error_code="authorization_denied", envelope=envelope)
        except OSError as error:  # a disk or a mount: nobody knows, so the queue's own rule decides
            return fail(str(error), envelope=envelope)

    def _inside(self, name):
        """The path that `name` means, or None if it leads out of the folder."""
        if not isinstance(name, str) or not name or "\0" in name:
            return None
        path = (self.folder / name).resolve()
        return path if path.is_relative_to(self.folder) else None

    def _read(self, path, envelope):
        try:
            text = read_document(path)
            found = extract(text, self.templates)
        except Refusal as refusal:
            told = {"reason_code": refusal.reason_code, "field": refusal.field, "evidence": refusal.evidence}
            envelope["tool_calls"] = [{"name": "cannot_process", "input": told}]
            return refuse(**told, envelope=envelope)
        envelope["prompt"] = {"template_id": found.template, "sha256": _sha256(TEMPLATES / found.template)}
        envelope["tool_calls"] = [{"name": "extract_invoice", "input": found.values}]
        return done(
            verdict="extracted",
            result=found.values,
            values=found.values,
            evidence=found.evidence,
            source_text=text,
            envelope=envelope,
        )

    def _envelope(self, job, name):
        model = {"provider": "rules", "id": f"invoice2data {VERSION}", "params": {}}
        return {"envelope_version": 1, "source": job["source"], "payload_ref": name, "model": model}


def _sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main():
    """Works until it is told to stop; 0 then, 2 when the server does not let it work."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--url", default="http://127.0.0.1:3000", help="where Drainboard listens")
    arguments.add_argument("--folder", required=True, help="where the invoice files are")
    arguments.add_argument("--kind", default="extract-invoice", help="the kind of job to claim")
    arguments.add_argument("--name", default=f"invoice-{socket.gethostname()}-{os.getpid()}", help="how the panel shows it")
    arguments.add_argument("--lease-seconds", type=int, default=60, help="not above the kind's own lease_seconds")
    arguments.add_argument("--until-empty", action="store_true", help="stop when nothing is due")
    given = arguments.parse_args()
    token = os.environ.get("DRAINBOARD_TOKEN")
    if not token:
        arguments.error("DRAINBOARD_TOKEN is not set: drainboard token create --name invoices --scope work")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", stream=sys.stderr)
    logging.getLogger("invoice2data").setLevel(logging.CRITICAL)  # what it could not match, we say ourselves

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    client = Client(given.url, token)
    try:
        for template in sorted(TEMPLATES.iterdir()):
            client.put_artifact(template.read_bytes(), keep_trying=lambda: not stop.is_set())
        work(
            client,
            given.name,
            [given.kind],
            InvoiceHandler(given.folder),
            lease_seconds=given.lease_seconds,
            stop=stop,
            until_empty=given.until_empty,
        )
    except ApiError as error:
        if not stop.is_set():
            print(f"stopped: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
