# SPDX-License-Identifier: Apache-2.0
"""The bus as a notifier sees it: a scripted broker (or scheduler) on a ROUTER socket.

One thread serves the socket: it answers greetings, keeps credit, collects outcomes and, unless told
otherwise, acknowledges them. Tests call the other methods from their own thread.
"""
import os
import queue
import threading
import time

import zmq
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SESSION = b"session-hostile0"
MERCHANT = "m-hostile"
SECRET = "hostile-suite-shared-secret"
MASTER_KEY = bytes(range(32))
pb = None  # the generated module: run.py sets it


def seal(secret, merchant=MERCHANT, key=MASTER_KEY):
    head, nonce = b"\x01\x00", os.urandom(12)
    return head + nonce + AESGCM(key).encrypt(nonce, secret.encode(), head + merchant.encode())


class Worker:
    """What the broker knows of one worker."""

    def __init__(self, route):
        self.route = route
        self.greeting = 0
        self.draining = False
        self.total = [0, 0, 0]
        self.sent = [0, 0, 0]
        self.held = {}  # seq -> HeldJob, from the last WorkerHeld


class Broker:
    def __init__(self, context, address, pb_shards=b"\xff" * 32, hello_address=""):
        self.address, self.shards, self.hello_address = address, pb_shards, hello_address
        self.instance = os.urandom(16)
        self.lock = threading.RLock()
        self.workers = {}   # worker id -> Worker
        self.outcomes = {}  # seq -> list of (Outcome, when)
        self.acking = True
        self.hellos = 0
        self.outbox = queue.Queue()
        self.stopped = threading.Event()
        self.socket = context.socket(zmq.ROUTER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.bind(address)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def stop(self):
        self.stopped.set()
        self.thread.join()
        self.socket.close()

    # ---- the thread ----

    def _send(self, route, **body):
        envelope = pb.Envelope(version=1, message_id=os.urandom(16), sender="hostile",
                               sent_at_us=int(time.time() * 1e6), **body)
        self.socket.send_multipart([route, envelope.SerializeToString()])

    def _run(self):
        beat_at = 0
        while not self.stopped.is_set():
            if self.socket.poll(5):
                while self.socket.poll(0):
                    route, frame = self.socket.recv_multipart()
                    envelope = pb.Envelope()
                    envelope.ParseFromString(frame)
                    with self.lock:
                        self._take(route, envelope)
            while not self.outbox.empty():
                worker_id, body = self.outbox.get()
                if isinstance(body, bytes):
                    self.socket.send_multipart([self.workers[worker_id].route, body])
                else:
                    self._send(self.workers[worker_id].route, **body)
            if time.monotonic() >= beat_at:
                beat_at = time.monotonic() + 0.5
                with self.lock:
                    for worker in self.workers.values():
                        self._hello(worker)

    def _hello(self, worker):
        self._send(worker.route, broker_hello=pb.BrokerHello(instance=self.instance,
                                                             greeting=worker.greeting))

    def _take(self, route, envelope):
        kind = envelope.WhichOneof("body")
        if kind == "worker_hello":
            hello = envelope.worker_hello
            worker = self.workers.setdefault(hello.worker_id, Worker(route))
            worker.route, worker.draining = route, hello.draining
            if hello.greeting != worker.greeting:
                worker.greeting, worker.total, worker.sent = hello.greeting, [0] * 3, [0] * 3
            self.hellos += 1
            self._hello(worker)
        elif kind == "worker_credit":
            for worker in self.workers.values():
                if worker.route == route:
                    worker.total = list(envelope.worker_credit.total)
        elif kind == "worker_held":
            worker = self.workers.get(envelope.worker_held.worker_id)
            if worker:
                worker.held = {h.token.seq: h for h in envelope.worker_held.held}
        elif kind == "outcome_batch":
            tokens = []
            for outcome in envelope.outcome_batch.outcomes:
                self.outcomes.setdefault(outcome.token.seq, []).append((outcome, time.monotonic()))
                tokens.append(outcome.token)
            if self.acking:
                self._send(route, outcome_ack=pb.OutcomeAck(
                    worker_id=envelope.outcome_batch.outcomes[0].worker_id, tokens=tokens))

    # ---- for tests ----

    def say(self, worker_id, **body):
        self.outbox.put((worker_id, body))

    def say_raw(self, worker_id, frame):
        self.outbox.put((worker_id, frame))

    def scheduler_hello(self, worker_id, session=SESSION, replaces=()):
        self.say(worker_id, scheduler_hello=pb.SchedulerHello(
            session=session, shards=self.shards, replaces=list(replaces),
            address=self.hello_address))

    def jobs(self, worker_id, jobs, session=SESSION, cls=1):
        with self.lock:
            self.workers[worker_id].sent[cls] += len(jobs)
        for i in range(0, len(jobs), 64):
            batch = pb.JobBatch(session=session, jobs=jobs[i:i + 64])
            setattr(batch, "class", cls)
            self.say(worker_id, job_batch=batch)

    def ack(self, worker_id, seqs):
        with self.lock:
            tokens = [self.outcomes[s][-1][0].token for s in seqs]
        self.say(worker_id, outcome_ack=pb.OutcomeAck(worker_id=worker_id, tokens=tokens))

    def room(self, worker_id, cls=1):
        with self.lock:
            worker = self.workers.get(worker_id)
            return worker.total[cls] - worker.sent[cls] if worker else 0

    def outcome(self, seq):
        with self.lock:
            got = self.outcomes.get(seq)
            return got[-1][0] if got else None

    def said_for_s(self, seq):
        """From the first to the last time that the outcome was said."""
        with self.lock:
            times = [when for _, when in self.outcomes.get(seq, ())]
            return times[-1] - times[0] if times else 0.0

    def outcome_count(self, seq):
        with self.lock:
            return len(self.outcomes.get(seq, ()))


_next_seq = [0]


def job(url, rule="", scheme="postrider", body=b'{"notify_id":"x","status":"succeeded"}', headers=(),
        ca="", http2=False, secret=None, secret_next=b"", timeout_ms=0, egress="", cls=1):
    """A Job with a seq of its own."""
    _next_seq[0] += 1
    seq = _next_seq[0]
    made = pb.Job(
        token=pb.Token(salt=int.from_bytes(os.urandom(8), "big"), attempt=0, seq=seq),
        kind=pb.JOB_KIND_NOTIFY, shard=seq % 256, endpoint_id=1000 + seq, outbox_id=seq,
        merchant_id=MERCHANT, order_no=f"order-{seq}",
        notify_id=f"00000000-0000-4000-8000-{seq:012d}", try_number=1, event="payment.succeeded",
        url=url, body=body, timeout_ms=timeout_ms,
        endpoint=pb.EndpointConfig(
            scheme=scheme, secret=seal(SECRET) if secret is None else secret,
            secret_next=secret_next, success_rule=rule, tls_ca=ca, egress=egress, http2=http2,
            headers=[pb.Header(name=n, value=v) for n, v in headers]))
    setattr(made, "class", cls)
    return made


PATIENCE = 5  # limits are ample on an idle machine; one in CI may be three times slower, and busy


def wait_for(what, limit_s=10.0):
    """True once what() is; False when the time is over."""
    until = time.monotonic() + limit_s * PATIENCE
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True
