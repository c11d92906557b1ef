# SPDX-License-Identifier: Apache-2.0
"""Scripted peers of a broker, for tests: what a worker and a scheduler say, no more.

Each owns one DEALER. Nothing sleeps for a fixed time: expect() waits for a message with a deadline.
"""
import os
import signal
import subprocess
import sys
import time

import zmq

NOTIFY = 1
DEADLINE_S = 60.0  # matters only when a test fails


def load_proto(home, tmp):
    """Generates and imports the protobuf module."""
    subprocess.run(["protoc", f"--python_out={tmp}", f"-I{home}/proto",
                    f"{home}/proto/postrider/v1/bus.proto"], check=True)
    sys.path.insert(0, str(tmp))
    from postrider.v1 import bus_pb2  # noqa: E402
    return bus_pb2


class Broker:
    """A real broker process behind one base address."""

    def __init__(self, build, base, log):
        self.build, self.base, self.log = build, base, log
        self.start()

    def start(self):
        self.out = open(self.log, "ab")
        self.process = subprocess.Popen(
            [f"{self.build}/postrider-broker", "--set", f"bus.brokers={self.base}"],
            stderr=self.out, stdout=self.out)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.out.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(DEADLINE_S)
        self.out.close()
        return code

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def summary(self):
        """The counts that the broker prints when it stops."""
        line = [it for it in self.log_text().splitlines() if "event=broker.summary" in it][-1]
        pairs = (word.split("=", 1) for word in line.split() if "=" in word)
        return {key: int(value) for key, value in pairs if value.isdigit()}

    def address(self, socket):
        if self.base.startswith("tcp://"):
            head, port = self.base.rsplit(":", 1)
            names = ["work", "facts", "breaker", "dead", "state", "tap", "", "calls"]
            return f"{head}:{int(port) + names.index(socket)}"
        return f"{self.base}.{socket}"


class Peer:
    """One socket that speaks envelopes; keeps what it was not asked for yet."""

    def __init__(self, pb, context, kind, address, topic=None):
        self.pb, self.socket, self.waiting = pb, context.socket(kind), []
        self.socket.setsockopt(zmq.LINGER, 0)
        if kind in (zmq.DEALER, zmq.PUSH):
            self.socket.setsockopt(zmq.IMMEDIATE, 1)
        if topic is not None:
            self.socket.setsockopt(zmq.SUBSCRIBE, topic)
        self.socket.setsockopt(zmq.RECONNECT_IVL, 20)
        self.socket.connect(address)

    def close(self):
        self.socket.close(0)

    def envelope(self, **body):
        envelope = self.pb.Envelope(version=1, message_id=os.urandom(16), sender="test", sent_at_us=time.time_ns() // 1000)
        ((name, value),) = body.items()
        getattr(envelope, name).CopyFrom(value)
        return envelope

    def send(self, **body):
        return self.send_bytes(self.envelope(**body).SerializeToString())

    def send_bytes(self, *frames):
        """Returns the last frame once the socket has taken all; a test fails if it never does."""
        end = time.monotonic() + DEADLINE_S
        while True:
            try:
                self.socket.send_multipart(frames, zmq.DONTWAIT)
                return frames[-1]
            except zmq.Again:
                assert time.monotonic() < end, "the socket takes nothing"
                self.socket.poll(10, zmq.POLLOUT)

    def receive(self, timeout_s):
        """(envelope, bytes) or None."""
        if not self.socket.poll(int(timeout_s * 1000)):
            return None
        raw = self.socket.recv_multipart()[-1]
        envelope = self.pb.Envelope()
        envelope.ParseFromString(raw)
        return envelope, raw

    def expect(self, kind, where=lambda body: True, timeout_s=DEADLINE_S):
        """The next message of that kind that fits; others are kept for later questions."""
        for i, (envelope, raw) in enumerate(self.waiting):
            if envelope.WhichOneof("body") == kind and where(getattr(envelope, kind)):
                del self.waiting[i]
                return getattr(envelope, kind), raw
        end = time.monotonic() + timeout_s
        while (left := end - time.monotonic()) > 0:
            got = self.receive(left)
            if got is None:
                continue
            if got[0].WhichOneof("body") == kind and where(getattr(got[0], kind)):
                return getattr(got[0], kind), got[1]
            self.waiting.append(got)
        raise AssertionError(f"no {kind} within {timeout_s} s")

    def until_strange(self, say):
        """Says it until a broker asks to greet anew. The first may still go into the connection of
        one that was killed, and die with it."""
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            say()
            try:
                return self.expect("broker_hello", lambda it: it.greet_anew, 0.1)
            except AssertionError:
                pass
        raise AssertionError("nobody asked to greet anew")

    def drain(self):
        """Takes all that is there now."""
        while (got := self.receive(0)) is not None:
            self.waiting.append(got)

    def seen(self, kind):
        self.drain()
        return [getattr(env, kind) for env, _ in self.waiting if env.WhichOneof("body") == kind]


class Worker(Peer):
    def __init__(self, pb, context, address, name):
        super().__init__(pb, context, zmq.DEALER, address)
        self.name, self.number, self.total, self.received = name, 0, [0, 0, 0], [0, 0, 0]

    def greet(self):
        self.number += 1
        self.total, self.received = [0, 0, 0], [0, 0, 0]
        self.send(worker_hello=self.pb.WorkerHello(worker_id=self.name, kinds=[NOTIFY],
                                                   greeting=self.number))
        return self.expect("broker_hello", lambda it: it.greeting == self.number)[0]

    def beat(self):
        self.send(worker_held=self.pb.WorkerHeld(worker_id=self.name))

    def credit(self, *total):
        self.total = list(total)
        self.send(worker_credit=self.pb.WorkerCredit(total=self.total))

    def jobs(self, timeout_s=DEADLINE_S):
        batch, raw = self.expect("job_batch", timeout_s=timeout_s)
        self.received[getattr(batch, "class")] += len(batch.jobs)
        return batch, raw


class Scheduler(Peer):
    def __init__(self, pb, context, address, shards=range(256)):
        super().__init__(pb, context, zmq.DEALER, address)
        self.session, self.number = os.urandom(16), 0
        self.shards = shards
        self.forget()

    def forget(self):
        self.granted, self.sent, self.returned = [0, 0, 0], [0, 0, 0], [0, 0, 0]

    def hello(self, again, replaces=()):
        bits = bytearray(32)
        for shard in self.shards:
            bits[shard // 8] |= 1 << shard % 8
        self.send(scheduler_hello=self.pb.SchedulerHello(
            session=self.session, shards=bytes(bits), greeting=self.number, again=again,
            replaces=replaces, address=f"ipc:///tmp/{self.session.hex()[:8]}"))

    def greet(self, replaces=()):
        self.number += 1
        self.forget()
        self.waiting.clear()
        self.hello(again=False, replaces=replaces)
        return self.expect("broker_hello", lambda it: it.greeting == self.number)[0]

    def demand(self, *want):
        self.send(demand=self.pb.Demand(session=self.session, want=want, sent=self.sent,
                                        returned=self.returned))

    def grant_of(self, cls, total, timeout_s=DEADLINE_S):
        """Waits until the grant of the class has reached total exactly."""
        grant, _ = self.expect("grant", lambda it: it.total[cls] >= total, timeout_s)
        self.granted = list(grant.total)
        assert grant.total[cls] == total, f"granted {grant.total[cls]}, not {total}"
        return grant

    def batch(self, cls, seqs, shard=0):
        pb = self.pb
        jobs = [pb.Job(token=pb.Token(salt=seq * 7 + 1, seq=seq), kind=NOTIFY, shard=shard,
                       endpoint=pb.EndpointConfig(scheme="postrider"), merchant_id="m",
                       order_no=f"o{seq}", body=b"{}", timeout_ms=1000) for seq in seqs]
        batch = pb.JobBatch(session=self.session, jobs=jobs)
        setattr(batch, "class", cls)
        return batch

    def send_jobs(self, cls, seqs, shard=0):
        seqs = list(seqs)
        self.sent[cls] += len(seqs)
        return self.send(job_batch=self.batch(cls, seqs, shard))
