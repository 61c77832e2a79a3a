"""The worker client against a server that misbehaves as told."""

import hashlib
import json
import logging
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from drainboard_worker import ApiError, Client, done, refuse, work

logging.getLogger("drainboard").setLevel(logging.CRITICAL)

JOB = {"id": "7", "lease_token": 3}
LEASE_LOST = (409, {"error": {"code": "lease_lost", "message": "the lease ended"}})


class Script:
    """Answers each path with its list of answers, one a call, the last one again and again; keeps all calls."""

    def __init__(self, **answers):
        self.answers = {"claim": [(200, {"jobs": [JOB]}), (200, {"jobs": []})], **answers}
        self.calls, self.lock = [], threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.client = Client(f"http://127.0.0.1:{self.server.server_port}", "secret")

    def bodies(self, name):
        return [body for called, body in self.calls if called == name]

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def _handler(self):
        script = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self):
                text = self.rfile.read(int(self.headers["Content-Length"]))
                with script.lock:
                    script.calls.append((self.path, text))
                data = b"{}"
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self):
                name = self.path.rsplit("/", 1)[1]
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with script.lock:
                    script.calls.append((name, body))
                    answers = script.answers[name]
                    answer = answers.pop(0) if len(answers) > 1 else answers[0]
                if answer is None:
                    return self.connection.close()
                status, told, *headers = answer
                data = json.dumps(told).encode()
                self.send_response(status)
                for name, value in [("Content-Length", str(len(data))), *headers]:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        return Handler


class WorkTest(unittest.TestCase):
    def script(self, **answers):
        script = Script(**answers)
        self.addCleanup(script.close)
        return script

    def work(self, script, handle, **more):
        work(script.client, "w1", ["k"], handle, until_empty=True, **more)

    def test_reports_what_the_handler_says_with_its_lease(self):
        script = self.script(done=[(200, {"state": "done"})])
        self.work(script, lambda job: done(verdict="approved"))
        self.assertEqual(script.bodies("done"), [{"lease_token": 3, "verdict": "approved"}])
        self.assertEqual(script.bodies("claim")[0]["kinds"], ["k"])

    def test_asks_again_after_503_and_429_and_a_broken_connection(self):
        busy = (503, {"error": {"code": "unavailable", "message": "away"}}, ("Retry-After", "0"))
        slow_down = (429, {"error": {"code": "rate_limited", "message": "later"}}, ("Retry-After", "1"))
        script = self.script(done=[busy, slow_down, None, (200, {"state": "done"})])
        self.work(script, lambda job: done())
        self.assertEqual(len(script.bodies("done")), 4)

    def test_an_exception_becomes_a_failure_with_its_text(self):
        script = self.script(fail=[(200, {"state": "waiting"})])
        self.work(script, lambda job: 1 / 0)
        (failure,) = script.bodies("fail")
        self.assertIn("ZeroDivisionError", failure["error"])
        self.assertNotIn("category", failure)

    def test_an_answer_that_is_not_taken_becomes_a_failure(self):
        unknown = (422, {"error": {"code": "invalid", "message": "reason_code must be one of A, B"}})
        script = self.script(refuse=[unknown], fail=[(200, {"state": "dead"})])
        self.work(script, lambda job: refuse("C", "NOT FOUND"))
        (failure,) = script.bodies("fail")
        self.assertIn("must be one of A, B", failure["error"])
        self.assertEqual(failure["category"], "permanent")

    def test_a_lost_lease_ends_the_matter(self):
        script = self.script(done=[LEASE_LOST])
        self.work(script, lambda job: done())
        self.assertEqual([name for name, _ in script.calls], ["claim", "done", "claim"])

    def test_beats_while_it_works_and_drops_the_answer_of_a_lost_lease(self):
        script = self.script(heartbeat=[(200, {"lease_expires_at": "…"}), LEASE_LOST])

        def slow(job):
            deadline = time.monotonic() + 10
            while len(script.bodies("heartbeat")) < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            return done()

        self.work(script, slow, lease_seconds=0.06)
        self.assertEqual(script.bodies("heartbeat")[0], {"lease_token": 3, "lease_seconds": 0.06})
        self.assertEqual(script.bodies("done"), [])

    def test_puts_a_prompt_as_it_is_under_its_hash(self):
        script = self.script()
        script.client.put_artifact("é\r\n".encode())
        digest = hashlib.sha256("é\r\n".encode()).hexdigest()
        self.assertEqual(script.calls, [(f"/api/v1/artifacts/{digest}", "é\r\n".encode())])

    def test_stops_without_permission(self):
        script = self.script(claim=[(401, {"error": {"code": "unauthorized", "message": "no such token"}})])
        with self.assertRaises(ApiError) as told:
            self.work(script, lambda job: done())
        self.assertEqual(told.exception.status, 401)


if __name__ == "__main__":
    unittest.main()
