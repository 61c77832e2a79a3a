"""The invoice worker as its own process against a real Drainboard, on every database there is.

    python -m unittest discover -s end2end/workers        (all tests of this folder)

DRAINBOARD_BIN names the binary (default target/debug/drainboard). PostgreSQL is
tested when DRAINBOARD_TEST_POSTGRES_URL names a server on which databases may
be created. The last lines say how many tests ran and `OK` or `FAILED`.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from drainboard_worker import Client
from enqueue_invoices import INVOICES, enqueue, list_samples
from invoice_reader import NOT_FOUND, read_document

HERE = Path(__file__).parent
BINARY = Path(os.environ.get("DRAINBOARD_BIN", HERE.parent.parent / "target/debug/drainboard"))
POSTGRES_URL = os.environ.get("DRAINBOARD_TEST_POSTGRES_URL")
DEADLINE_SECONDS = 60


def wait_until(told, check, seconds=DEADLINE_SECONDS):
    """The first truthy answer of `check`; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = check()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {told}")


class Server:
    """A `drainboard serve` of its own."""

    def __init__(self, database_url, folder):
        self.environment = {**os.environ, "DRAINBOARD_DATABASE_URL": database_url}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        self.log = open(folder / "server.log", "w+")
        command = [BINARY, "serve", "--listen", self.url.removeprefix("http://")]
        self.process = subprocess.Popen(command, env=self.environment, stdout=self.log, stderr=self.log, cwd=folder)
        wait_until(f"the server is ready; {folder}/server.log", self._is_ready)

    def token(self, name, scopes):
        command = [BINARY, "token", "create", "--name", name, "--scope", scopes]
        return subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def _is_ready(self):
        if self.process.poll() is not None:
            self.log.seek(0)
            raise AssertionError(f"the server ended: {self.log.read()}")
        try:
            return urllib.request.urlopen(self.url + "/readyz", timeout=5).status == 200
        except (urllib.error.URLError, OSError):
            return False


class OnSqlite(unittest.TestCase):
    """Every sample ends as listed, with its reasons readable, and nothing else happened."""

    def setUp(self):
        if not BINARY.exists():
            self.fail(f"{BINARY} is missing: cargo build, or set DRAINBOARD_BIN")
        folder = Path(tempfile.mkdtemp(prefix="drainboard-workers-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.server = Server(self.database_url(folder), folder)
        self.addCleanup(self.server.stop)
        self.api = Client(self.server.url, self.server.token("tests", "enqueue,read,admin"))

    def database_url(self, folder):
        return f"sqlite:{folder}/queue.db"

    def start_worker(self, *flags):
        environment = {**os.environ, "DRAINBOARD_TOKEN": self.server.token(f"w{secrets.token_hex(4)}", "work")}
        command = [sys.executable, HERE / "invoice_worker.py", "--url", self.server.url, "--folder", INVOICES, *flags]
        worker = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        self.addCleanup(worker.stderr.close)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        return worker

    def test_every_sample_ends_as_listed(self):
        samples = list_samples()
        ids = enqueue(self.api, samples)
        worker = self.start_worker("--name", "reader-1")
        jobs = wait_until("every job ends", lambda: self.ended(ids))
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(20), 0, worker.stderr.read())

        letters = {letter["job_id"]: letter for letter in self.list_letters()}
        for sample, job_id, job in zip(samples, ids, jobs):
            with self.subTest(sample["file"]):
                self.assertEqual(len(job["attempts"]), 1)
                if "done" in sample:
                    self.check_done(sample, job)
                    self.assertNotIn(job_id, letters)
                else:
                    self.check_dead(sample, job, letters.pop(job_id))
        self.assertEqual(letters, {}, "letters of no sample")
        self.check_counts(samples)

    def test_a_worker_without_permission_says_so_and_stops(self):
        environment = {**os.environ, "DRAINBOARD_TOKEN": "not-a-token"}
        command = [sys.executable, HERE / "invoice_worker.py", "--url", self.server.url, "--folder", INVOICES]
        ended = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, timeout=30)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("401", ended.stderr)

    def ended(self, ids):
        jobs = [self.api.call(f"/jobs/{job_id}") for job_id in ids]
        return all(job["state"] not in ("waiting", "in_progress") for job in jobs) and jobs

    def list_letters(self):
        """All letters, page by page."""
        letters, cursor = [], ""
        while cursor is not None:
            page = self.api.call(f"/dead-letters?limit=5{cursor and '&cursor=' + cursor}")
            letters, cursor = letters + page["dead_letters"], page["next_cursor"]
        return letters

    def check_done(self, sample, job):
        self.assertEqual((job["state"], job["verdict"]), ("done", "extracted"))
        self.assertEqual(job["values"], sample["done"])
        self.assertEqual(job["source_text"], read_document(INVOICES / sample["file"]))
        self.assertEqual(set(job["evidence"]), set(sample["done"]))
        for quote in job["evidence"].values():
            self.assertIn(quote, job["source_text"])

    def check_dead(self, sample, job, letter):
        self.assertEqual((job["state"], job["verdict"]), ("dead", None))
        self.assertEqual((letter["kind"], letter["source"]), ("extract-invoice", sample["source"]))
        self.assertEqual(letter["status"], "open")
        self.assertTrue(letter["recovery_options"])
        detail = self.api.call(f"/dead-letters/{letter['id']}")
        self.assertEqual(detail["upstream_handoffs"], sample.get("upstream_handoffs"))
        if "refused" in sample:
            self.check_refused(sample["refused"], sample["file"], letter, detail)
        else:
            self.check_failed(sample["failed"], letter)

    def check_refused(self, expected, file, letter, detail):
        self.assertEqual(letter["route"], "refused_by_agent")
        self.assertEqual({key: letter[key] for key in expected}, expected)
        self.assertIsNone(letter["error"], "a verdict is no failure")
        if letter["evidence"] != NOT_FOUND:
            self.assertIn(letter["evidence"], read_document(INVOICES / file))
        self.assertEqual(detail["envelope"]["tool_calls"], [{"name": "cannot_process", "input": expected}])

    def check_failed(self, expected, letter):
        self.assertEqual(letter["route"], "exception")
        self.assertIsNone(letter["reason_code"], "a failure is no verdict")
        self.assertEqual(letter["category"], expected["category"])
        self.assertEqual(letter["failure_reason"], expected["failure_reason"])
        self.assertIn(expected["error"], letter["error"])

    def check_counts(self, samples):
        (kind,) = self.api.call("/pipeline")["kinds"]
        wanted = {how: sum(how in sample for sample in samples) for how in ("done", "refused", "failed")}
        self.assertEqual(
            {"done": kind["done_last_hour"], "refused": kind["refused_last_day"], "failed": kind["failed_last_day"]}, wanted
        )
        self.assertEqual((kind["due"], kind["in_progress"], kind["retrying"]), (0, 0, 0))


@unittest.skipUnless(POSTGRES_URL, "DRAINBOARD_TEST_POSTGRES_URL is not set")
class OnPostgres(OnSqlite):
    """The same on a database of its own on a real PostgreSQL."""

    def database_url(self, folder):
        name = f"workers_{secrets.token_hex(6)}"
        self.psql(f"CREATE DATABASE {name}")
        self.addCleanup(self.psql, f"DROP DATABASE {name} WITH (FORCE)")
        return f"{POSTGRES_URL.rsplit('/', 1)[0]}/{name}"

    def psql(self, statement):
        subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", POSTGRES_URL, "-c", statement], check=True)


if __name__ == "__main__":
    unittest.main()
