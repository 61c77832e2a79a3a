"""A small client of Drainboard's worker API, on the standard library alone.

`work()` claims jobs, keeps their leases alive and reports what `handle(job)`
answers: `done(...)`, `refuse(...)` or `fail(...)`. After 429, 5xx or without a
connection it tries again. A lost lease (409) drops the answer. An answer that
the server cannot take, or an exception in `handle`, is reported as a failure
with its text. Without permission (401, 403) it stops, rather than look busy.
"""

import hashlib
import http.client
import itertools
import json
import logging
import random
import threading
import time
import traceback
import urllib.error
import urllib.request

log = logging.getLogger("drainboard")


class ApiError(Exception):
    """The server said no: `status`, `code` and a message."""

    def __init__(self, status, code, message, retry_after_seconds=0):
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code, self.retry_after_seconds = status, code, retry_after_seconds


def done(**report):
    """The work says something: verdict, values, evidence, source_text, envelope …"""
    return "done", report


def refuse(reason_code, evidence, field=None, **report):
    """The input must not be processed: a code of the kind's set, and a quote or NOT FOUND."""
    return "refuse", {"reason_code": reason_code, "field": field, "evidence": evidence, **report}


def fail(error, **report):
    """The work could not be done: error text, category, http_status, error_code …"""
    return "fail", {"error": error, **report}


class Client:
    """Calls below `{url}/api/v1`; threads may share it."""

    def __init__(self, url, token, timeout_seconds=30):
        self.base, self.token, self.timeout_seconds = url.rstrip("/") + "/api/v1", token, timeout_seconds

    def call(self, path, body=None, keep_trying=lambda: True):
        """Sends `body` (GETs without one) until there is an answer, or `keep_trying()` is false."""
        for attempt in itertools.count(1):
            try:
                return self._send(path, body)
            except (ApiError, OSError, http.client.HTTPException, ValueError) as error:  # a no, silence, half an answer
                passing = not isinstance(error, ApiError) or error.status in (429, 500, 502, 503, 504)
                if not passing or not keep_trying():
                    raise
                log.warning("%s: %s; trying again", path, error)
                backoff_seconds = min(30, 0.25 * 2 ** min(attempt, 7)) * random.uniform(0.5, 1)
                time.sleep(max(backoff_seconds, getattr(error, "retry_after_seconds", 0)))

    def put_artifact(self, text, keep_trying=lambda: True):
        """Puts a prompt (UTF-8 bytes) into the registry, so that the hash in an envelope leads to its text."""
        return self.call(f"/artifacts/{hashlib.sha256(text).hexdigest()}", text, keep_trying)

    def _send(self, path, body):
        """POSTs an object as JSON, PUTs bytes as they are, GETs without a body."""
        is_text = isinstance(body, bytes)
        data = body if is_text or body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, method="PUT" if is_text else None)
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", "text/plain; charset=utf-8" if is_text else "application/json")
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_seconds) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as answer:
            retry_after = answer.headers.get("Retry-After", "")
            try:
                told = json.load(answer)["error"]
                code, message = told["code"], told["message"]
            except (ValueError, KeyError, TypeError):
                code, message = "unknown", answer.reason
            seconds = min(int(retry_after), 300) if retry_after.isdigit() else 0
            raise ApiError(answer.code, code, message, seconds) from None


class Held:
    """The jobs of one claim; a thread renews the leases of those not ended yet."""

    def __init__(self, client, jobs, lease_seconds):
        self.client, self.lease_seconds = client, lease_seconds
        self.jobs = {job["id"]: job for job in jobs}
        self.lock, self.over = threading.Lock(), threading.Event()
        self.thread = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def _renew(self):
        while not self.over.wait(self.lease_seconds / 3):
            for job_id in list(self.jobs):
                with self.lock:  # never beats for a job whose end is under way
                    if job_id in self.jobs:
                        self._beat(self.jobs[job_id])

    def _beat(self, job):
        lease = {"lease_token": job["lease_token"], "lease_seconds": self.lease_seconds}
        try:
            self.client.call(f"/jobs/{job['id']}/heartbeat", lease, keep_trying=lambda: False)
        except Exception as error:  # unless the lease is lost, the next beat may get through
            log.warning("job %s: heartbeat: %s", job["id"], error)
            if getattr(error, "code", None) == "lease_lost":
                del self.jobs[job["id"]]

    def end(self, job, how, report):
        """Reports how the attempt ended, unless the lease is known to be lost."""
        with self.lock:
            if self.jobs.pop(job["id"], None) is None:
                return log.warning("job %s: lease lost, %s dropped", job["id"], how)
        try:
            self._report(job, how, report)
        except ApiError as error:
            if error.status in (401, 403):
                raise
            log.error("job %s: %s not taken: %s", job["id"], how, error)
            if error.code != "lease_lost" and how != "fail":
                self._report(job, *fail(f"the server did not take this worker's {how}: {error}", category="permanent"))

    def _report(self, job, how, report):
        answer = self.client.call(f"/jobs/{job['id']}/{how}", {"lease_token": job["lease_token"], **report})
        log.info("job %s: %s → %s", job["id"], how, answer["state"])


def work(client, worker, kinds, handle, limit=4, lease_seconds=60, poll_seconds=1, stop=None, until_empty=False):
    """Works until `stop` is set (or, with `until_empty`, until nothing is due); ends what it claimed."""
    stop = stop or threading.Event()
    request = {"worker": worker, "kinds": kinds, "limit": limit, "lease_seconds": lease_seconds}
    while not stop.is_set():
        jobs = client.call("/claim", request, keep_trying=lambda: not stop.is_set())["jobs"]
        if not jobs and until_empty:
            return
        with Held(client, jobs, lease_seconds) as held:
            for job in jobs:
                try:
                    how, report = handle(job)
                except Exception:
                    how, report = fail(traceback.format_exc())
                held.end(job, how, report)
        if not jobs:
            stop.wait(poll_seconds)
