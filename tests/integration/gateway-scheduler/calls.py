# SPDX-License-Identifier: Apache-2.0
"""A gateway with a ledger and the worker that calls it, in one: what gateway-poller and charger are on the `calls` socket, so
that a test decides what is answered, when, and who dies with what in hand.

    gateway = Gateway(); worker = Worker(scratch, gateway)
    gateway.answer = lambda call: evidence            # what a call is told; None: nothing, as long as it is held

The gateway keeps every call with the time at which its JobBatch left the scheduler, and every charge. Nothing here knows Postrider's
tables: it is the judge.
"""
import json
import secrets
import threading
import time

import zmq

CALL = 2
CHARGE, CAPTURE, QUERY, FIND, REFUND, QUERY_REFUND, CLOSE = range(2, 9)
MONEY = {CHARGE, CAPTURE, REFUND, CLOSE}


class Call:
    def __init__(self, job, sent_us):
        self.job, self.sent_us = job, sent_us
        self.operation, self.facts, self.channel = job.call.operation, job.call.facts, job.call.channel
        self.number = self.facts.request_no or self.facts.reference
        self.token = (job.token.salt, job.token.attempt, job.token.seq)


class Gateway:
    """What was really charged, and what it says of it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.calls = []      # all of them, in order
        self.charges = {}    # number -> how often it was charged
        self.answer = self.truth

    def call(self, call):
        with self.lock:
            self.calls.append(call)
            if call.operation == CHARGE:
                self.charges[call.number] = self.charges.get(call.number, 0) + 1

    def truth(self, call):
        """Charged: paid. Tracked payments (no number of ours) are paid, too."""
        paid = call.number in self.charges or not call.facts.request_no
        return evidence(call, "SUCCEEDED" if paid else "NOT_FOUND")

    def of(self, *operations):
        with self.lock:
            return [it for it in self.calls if it.operation in operations]

    def busiest_second(self):
        """The most calls that left within any second, by the sender's clock."""
        with self.lock:
            times = sorted(it.sent_us for it in self.calls)
        most = first = 0
        for last, at in enumerate(times):
            while at - times[first] >= 1000000:
                first += 1
            most = max(most, last - first + 1)
        return most


def evidence(call, status, action="none", http_status=200, transport="ok", **more):
    said = {"object": "payment", "status": status, "final": status in ("SUCCEEDED", "CANCELLED"), "action": action,
            "follow_up": "none", "asked": True, "ambiguous": False, "transport": transport, "http_status": http_status,
            "native": status, "duration_ms": 3, "started_at_us": call.sent_us}
    if call.facts.request_no:
        said["request_no"] = call.facts.request_no
    said["reference"] = call.facts.reference or "G-" + call.facts.request_no[:32]
    if status == "SUCCEEDED":
        said.update(currency=call.facts.currency, amount=call.facts.amount_minor, captured_total=call.facts.amount_minor)
    said.update(more)
    return said


class Worker(threading.Thread):
    """Takes calls of the given classes as long as it lives; answers what the gateway answers, at once or when it is let to."""

    def __init__(self, scratch, gateway, classes=(0, 1), slots=400):
        super().__init__(daemon=True)
        self.pb, self.gateway, self.classes, self.slots = scratch.pb, gateway, classes, slots
        self.name = "test-" + secrets.token_hex(4)
        self.socket = scratch.context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.RECONNECT_IVL, 20)
        self.socket.connect(f"ipc://{scratch.run}/b1.calls")
        self.number, self.received, self.live = 0, [0, 0, 0], False
        self.held, self.owed, self.acked = {}, {}, set()
        self.hold = None         # a function: these calls are held and not answered
        self.silent = False      # says no outcome
        self.ended = threading.Event()
        self.start()

    def end(self):
        self.ended.set()
        self.join()

    # ---- the thread ----

    def say(self, **body):
        envelope = self.pb.Envelope(version=1, message_id=secrets.token_bytes(16), sender=self.name,
                                    sent_at_us=time.time_ns() // 1000, **body)
        try:
            self.socket.send(envelope.SerializeToString(), zmq.DONTWAIT)
        except zmq.Again:
            pass

    def greet(self):
        self.number += 1
        self.received, self.live = [0, 0, 0], False
        self.say(worker_hello=self.pb.WorkerHello(worker_id=self.name, kinds=[CALL], greeting=self.number))

    def credit(self):
        open_slots = max(0, self.slots - len(self.held))
        total = [self.received[c] + (open_slots if c in self.classes else 0) for c in range(3)]
        self.say(worker_credit=self.pb.WorkerCredit(total=total))

    def token(self, call):
        salt, attempt, seq = call.token
        return self.pb.Token(salt=salt, attempt=attempt, seq=seq)

    def outcome(self, call, said):
        code = said.get("http_status", 0)
        return self.pb.Outcome(
            token=self.token(call), shard=call.job.shard, endpoint_id=call.job.endpoint_id, kind=CALL, worker_id=self.name,
            result=1 if said.get("transport") == "ok" else 5, http_code=code, duration_ms=3,
            started_at_us=time.time_ns() // 1000, evidence=json.dumps(said).encode(), subject=call.job.call.subject)

    def on_batch(self, batch, sent_us):
        self.received[getattr(batch, "class")] += len(batch.jobs)
        for job in batch.jobs:
            call = Call(job, sent_us)
            if call.token in self.held or call.token in self.owed:
                continue
            self.held[call.token] = call
            self.gateway.call(call)

    def answer(self):
        for token, call in list(self.held.items()):
            if self.hold and self.hold(call):
                continue
            said = self.gateway.answer(call)
            if said is None:
                continue
            del self.held[token]
            self.owed[token] = self.outcome(call, said)
            self.fresh.append(self.owed[token])

    def tell(self, outcomes):
        for at in range(0, len(outcomes), 32):
            self.say(outcome_batch=self.pb.OutcomeBatch(outcomes=outcomes[at:at + 32], session=bytes(16)))

    def receive(self):
        while self.socket.poll(0):
            envelope = self.pb.Envelope()
            envelope.ParseFromString(self.socket.recv())
            kind = envelope.WhichOneof("body")
            if kind == "job_batch":
                self.on_batch(envelope.job_batch, envelope.sent_at_us)
            elif kind == "broker_hello":
                self.live = envelope.broker_hello.greeting == self.number and not envelope.broker_hello.greet_anew
            elif kind == "outcome_ack" and envelope.outcome_ack.worker_id == self.name:
                for token in envelope.outcome_ack.tokens:
                    self.acked.add((token.salt, token.attempt, token.seq))
                    self.owed.pop((token.salt, token.attempt, token.seq), None)

    def run(self):
        second = quarter = 0.0
        self.fresh = []
        while not self.ended.is_set():
            self.socket.poll(5)
            self.receive()
            now = time.monotonic()
            if now - second >= 1.0:
                if not self.live:
                    self.greet()
                second = now
                if not self.silent:
                    self.tell(list(self.owed.values()))
            self.answer()
            if not self.silent:
                self.tell(self.fresh)
                self.fresh = []
            if self.live:
                self.credit()
            if now - quarter >= 0.25:
                quarter = now
                held = [self.pb.HeldJob(token=self.token(it), shard=it.job.shard, session=bytes(16))
                        for it in self.held.values()]
                self.say(worker_held=self.pb.WorkerHeld(worker_id=self.name, held=held))
        self.socket.close(0)
