# SPDX-License-Identifier: Apache-2.0
"""For tests in Python: TAP, waiting with a deadline, and the two pretend receivers as processes."""
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("BUILD_DIR", "build/release")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # a test whose time is over takes down what it started
PATIENCE = 5  # tests state what is ample on an idle machine; one in CI may be three times slower, and busy


class Tap:
    """Counts checks and prints them; the plan comes last."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def check(self, good, name, detail=""):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}", flush=True)
        if not good and detail != "":
            print(f"# {detail}", flush=True)
        return good

    def equal(self, got, want, name):
        return self.check(got == want, name, f"got {got!r}, want {want!r}")

    def skip(self, name, why):
        self.count += 1
        print(f"ok {self.count} - {name} # skip {why}", flush=True)

    def end(self):
        print(f"1..{self.count}", flush=True)
        return 1 if self.failed else 0


def wait_for(condition, seconds=10.0, what="condition"):
    """The first true value of condition(), looked at every 10 ms until the deadline: PATIENCE times the seconds."""
    seconds *= PATIENCE
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.01)


class Program:
    """A program that prints `listening ADDRESS`; stopped, at the latest, when it leaves scope."""

    def __init__(self, name, *args, listen="127.0.0.1:0"):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [os.path.join(BUILD, name), "--listen", listen, *args],
            stdout=subprocess.PIPE, stderr=self.errors, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("listening "):
            self.errors.seek(0)
            raise RuntimeError(f"{name} did not start: {line}{self.errors.read().decode()}")
        self.address = line.split()[1]
        host, port = self.address.rsplit(":", 1)
        self.host, self.port = host.strip("[]"), int(port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()

    def stop(self, number=signal.SIGTERM):
        """Stops it; gives (exit code, rest of stdout)."""
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=60)
        return self.process.returncode, rest

    def call(self, method, path, body=None, headers=None):
        """One request on a connection of its own; gives (status, headers, body)."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def stats(self, merchant=None):
        query = f"?merchant={merchant}" if merchant else ""
        status, _, body = self.call("GET", "/control/stats" + query)
        return json.loads(body) if status == 200 else None

    def pages(self, path):
        """All rows of /control/journal or /control/ledger."""
        rows, at = [], None
        while True:
            mark = "" if at is None else ("&" if "?" in path else "?") + f"from={at}"
            _, headers, body = self.call("GET", path + mark)
            rows += [json.loads(line) for line in body.splitlines()]
            if headers["X-Next"] == at or not body:
                return rows
            at = headers["X-Next"]
