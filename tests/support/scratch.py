# SPDX-License-Identifier: Apache-2.0
"""A scratch database with Postrider's schema, actors on it and a voice on the bus, for integration tests.

    with Scratch() as s:
        s.sql("select 1"); s.cli("merchant", "list"); actor = s.actor("dead-letter")

Nothing sleeps for a fixed time: eventually() waits for a condition with a deadline.
"""
import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import zmq

HOME = pathlib.Path(os.environ.get("POSTRIDER_HOME", pathlib.Path(__file__).parents[2]))
BUILD = pathlib.Path(os.environ.get("BUILD_DIR", HOME / "build/release"))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # a test whose time is over takes down what it started
DEADLINE_S = 90.0  # matters only when a test fails; a machine in CI may be three times slower, and busy


def eventually(condition, what, seconds=DEADLINE_S):
    """Until condition() is true; returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.03)


class Actor:
    def __init__(self, scratch, name, arguments):
        self.name, self.log = name, scratch.tmp / f"{name}.log"
        self.out = open(self.log, "ab")
        self.process = subprocess.Popen([str(BUILD / f"postrider-{name}"), *arguments],
                                        env=scratch.env, stdout=self.out, stderr=self.out)
        scratch.actors.append(self)

    def alive(self):
        return self.process.poll() is None

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """Gracefully; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_S)

    def log_text(self):
        return self.log.read_text(errors="replace")

    def ready(self):
        mark = f"pid={self.process.pid} "
        eventually(lambda: any(mark in line and "to=ready" in line for line in self.log_text().splitlines()),
                   f"{self.name} is ready")
        return self


class Scratch:
    def __init__(self):
        self.tmp = pathlib.Path(os.environ.get("TEST_TMP") or tempfile.mkdtemp(prefix="prt."))
        self.run = tempfile.mkdtemp(prefix="pr-run.", dir="/tmp")  # ipc paths must be short
        self.actors = []
        template = subprocess.run([str(HOME / "scripts/pg.sh"), "template", str(BUILD / "pg-template"), str(BUILD / "postrider")],
                                  stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        self.pg("clone", template)
        self.pg("start", "fsync=off")
        self.admin_url = self.pg("admin-url")
        key = self.tmp / "master.key"
        key.write_text(secrets.token_hex(32))
        key.chmod(0o600)
        self.env = dict(os.environ, POSTRIDER_DATABASE_URL=self.pg("url"), USER="tester",
                        POSTRIDER_BUS_BROKERS=f"ipc://{self.run}/b1", POSTRIDER_MASTER_KEY_FILE=str(key))
        self.env.pop("POSTRIDER_CONFIG", None)
        subprocess.run(["protoc", f"--python_out={self.tmp}", f"-I{HOME}/proto",
                        f"{HOME}/proto/postrider/v1/bus.proto"], check=True)
        sys.path.insert(0, str(self.tmp))
        from postrider.v1 import bus_pb2
        self.pb, self.context = bus_pb2, zmq.Context.instance()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for actor in self.actors:
            if actor.alive():
                actor.kill()
            actor.out.close()
        self.pg("destroy")
        shutil.rmtree(self.run, ignore_errors=True)

    def pg(self, verb, *arguments):
        done = subprocess.run([str(HOME / "scripts/pg.sh"), verb, str(self.tmp / "pg"), *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
        return done.stdout.strip()

    def sql(self, *statements):
        """Values of the last statement: one text, or lines of them."""
        command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", self.admin_url]
        for statement in statements:
            command += ["-c", statement]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()

    def sql_is(self, statement, value, seconds=DEADLINE_S):
        seen = []

        def look():
            seen[:] = [self.sql(statement)]
            return seen[0] == str(value)
        try:
            eventually(look, "", seconds)
        except AssertionError:
            raise AssertionError(f"{statement}\n  is {seen[0]!r}, not {value!r}") from None

    def actor(self, name, *arguments):
        return Actor(self, name, arguments)

    def cli(self, *arguments, stdin=None):
        """(exit code, standard output, standard error)"""
        done = subprocess.run([str(BUILD / "postrider"), *arguments], env=self.env, input=stdin,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=180)
        return done.returncode, done.stdout, done.stderr

    def json(self, *arguments):
        code, out, err = self.cli(*arguments, "--json")
        assert code == 0, f"{arguments}: exit {code}: {err}"
        return json.loads(out)

    def fact_socket(self):
        """What an actor's PUSH to the broker's facts is."""
        socket = self.context.socket(zmq.PUSH)
        socket.setsockopt(zmq.LINGER, 1000)
        socket.connect(f"ipc://{self.run}/b1.facts")
        return socket

    def envelope(self, sender="test", **body):
        return self.pb.Envelope(version=1, message_id=secrets.token_bytes(16), sender=sender,
                                sent_at_us=time.time_ns() // 1000, **body).SerializeToString()

    def subscribe(self, topic):
        """Returns when the broker knows of it: by then a hint, which was subscribed to after it, has come back."""
        socket, facts = self.context.socket(zmq.SUB), self.fact_socket()
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SUBSCRIBE, topic.encode())
        socket.setsockopt(zmq.SUBSCRIBE, b"hint")
        socket.setsockopt(zmq.RCVTIMEO, int(DEADLINE_S * 1000))
        socket.connect(f"ipc://{self.run}/b1.state")
        eventually(lambda: facts.send(self.envelope(hint=self.pb.Hint(last_seq=[1, 2, 3]))) or socket.poll(30),
                   "the subscription has reached the broker")
        facts.close()
        return socket

    def receive(self, socket):
        name = b"hint"
        while name == b"hint":
            name, frame = socket.recv_multipart()
        envelope = self.pb.Envelope()
        envelope.ParseFromString(frame)
        return envelope

    def log_lines(self, name):
        return len((self.tmp / f"{name}.log").read_text(errors="replace").splitlines())

    def log_since(self, name, lines):
        """What was logged after its first so many lines."""
        return "\n".join((self.tmp / f"{name}.log").read_text(errors="replace").splitlines()[lines:])


def run_tests(tests, scratch):
    """Runs functions of one Scratch in order; prints TAP; returns the exit code."""
    failed = 0
    for number, test in enumerate(tests, 1):
        try:
            test(scratch)
            print(f"ok {number} - {test.__doc__}", flush=True)
        except Exception:  # noqa: BLE001: a test's failure is reported, whatever it is
            failed += 1
            print(f"not ok {number} - {test.__doc__}")
            print("\n".join("#  " + line for line in traceback.format_exc().splitlines()), flush=True)
    print(f"1..{len(tests)}")
    return 1 if failed else 0
