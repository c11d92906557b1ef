#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A notify worker in Python, beside the C one: takes jobs from the bus, signs, posts, answers.

    worker.py --proto DIR --broker ipc:///run/postrider/b1 [--slots 4] [--master-key FILE]

docs/bus.md is the protocol. Debian's python3-zmq, python3-protobuf, python3-cryptography and
protobuf-compiler are all it needs. Does scheme `postrider` with success rule `default` and hands
everything else back; has no guard against private addresses: an example, not for the internet.
"""
import argparse
import base64
import concurrent.futures
import hashlib
import hmac
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

import zmq
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NOTIFY, DELIVERED, REFUSED, THROTTLED, GONE, UNREACHABLE, OWN_FAULT, RETURNED = 1, 1, 2, 3, 4, 5, 6, 7


def load_proto(directory):
    """Makes the protobuf module from the proto file, as any language would."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(["protoc", f"--python_out={out}", f"-I{directory}",
                        f"{directory}/postrider/v1/bus.proto"], check=True)
        sys.path.insert(0, out)
        from postrider.v1 import bus_pb2
        return bus_pb2


def unseal(master_key, merchant_id, sealed):
    """lib/sign/seal.h: version, key id, nonce (12), ciphertext, tag; bound to the merchant."""
    plain = AESGCM(master_key).decrypt(sealed[2:14], sealed[14:], sealed[:2] + merchant_id.encode())
    return base64.b64decode(plain[6:] + b"===") if plain.startswith(b"whsec_") else plain


def signed_headers(job, keys, now):
    """N10 and Standard Webhooks; the first key signs, the second is the next one of a rotation."""
    body, stamp = job.body, str(now)
    signed = f"{job.notify_id}.{stamp}.".encode() + body
    macs = [hmac.new(key, signed, hashlib.sha256).digest() for key in keys]
    headers = {"Content-Type": "application/json", "User-Agent": "Postrider/python-example",
               "X-Notify-ID": job.notify_id, "X-Timestamp": stamp, "webhook-id": job.notify_id,
               "webhook-timestamp": stamp,
               "webhook-signature": " ".join("v1," + base64.b64encode(mac).decode() for mac in macs)}
    for name, key in zip(("X-Signature", "X-Signature-Next"), keys):
        headers[name] = hmac.new(key, body + stamp.encode(), hashlib.sha256).hexdigest()
    own = {name.lower() for name in headers}
    headers.update((h.name, h.value) for h in job.endpoint.headers if h.name.lower() not in own)
    return headers


def is_success(status, body):
    """The success rule `default` (N11)."""
    if status != 200:
        return False
    if body.strip() == b"SUCCESS":
        return True
    try:
        answer = json.loads(body)
    except ValueError:
        return False
    return isinstance(answer, dict) and answer.get("code") in ("SUCCESS", "OK")


def post(job, keys):
    """(result, status, error, excerpt, retry_after_ms). One request, no redirects, no proxy."""
    url = urllib.parse.urlsplit(job.url)
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.hostname, url.port, timeout=max(job.timeout_ms, 1000) / 1000)
    try:
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        connection.request("POST", path, job.body, signed_headers(job, keys, int(time.time())))
        answer = connection.getresponse()
        body, status = answer.read(65536), answer.status
        after = answer.headers.get("Retry-After", "")
    except socket.timeout:
        return UNREACHABLE, 0, "timeout", b"", 0
    except (OSError, http.client.HTTPException):
        return UNREACHABLE, 0, "connect", b"", 0
    finally:
        connection.close()
    if is_success(status, body):
        return DELIVERED, status, "", body[:1024], 0
    after_ms = int(after) * 1000 if after.isdigit() and len(after) < 8 else 0
    if status == 429 or (status == 503 and after_ms):
        return THROTTLED, status, "throttled", body[:1024], after_ms
    if status == 410:
        return GONE, status, "gone", body[:1024], 0
    return REFUSED, status, "body_mismatch" if status == 200 else "status", body[:1024], 0


def work(job, master_key):
    """One job, in a thread of its own."""
    config = job.endpoint
    if job.kind != NOTIFY or config.scheme != "postrider" or config.success_rule not in ("", "default"):
        return RETURNED, 0, "not_served_here", b"", 0
    try:
        keys = [unseal(master_key, job.merchant_id, s) for s in (config.secret, config.secret_next) if s]
    except Exception:  # whatever is wrong with key or secret, it is not the receiver's fault
        return OWN_FAULT, 0, "bad_secret", b"", 0
    return post(job, keys) if keys else (OWN_FAULT, 0, "no_secret", b"", 0)


class Broker:
    """One DEALER, and the credit agreed with that broker: totals since the newest greeting."""

    def __init__(self, worker, base):
        self.worker, self.pb = worker, worker.pb
        self.number, self.live, self.received, self.total = 0, False, [0, 0, 0], [0, 0, 0]
        self.socket = worker.context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 1000)
        self.socket.setsockopt(zmq.IMMEDIATE, 1)
        self.socket.connect(base if base.startswith("tcp://") else base + ".work")

    def send(self, **body):
        envelope = self.pb.Envelope(version=1, message_id=os.urandom(16), sender=self.worker.id,
                                    sent_at_us=time.time_ns() // 1000, **body)
        try:
            self.socket.send(envelope.SerializeToString(), zmq.DONTWAIT)
            return True
        except zmq.Again:  # nothing is lost: everything here is said again by its own timer
            return False

    def greet(self):
        self.number += 1
        self.live, self.received, self.total = False, [0, 0, 0], [0, 0, 0]
        self.send(worker_hello=self.pb.WorkerHello(
            worker_id=self.worker.id, kinds=[NOTIFY], greeting=self.number,
            held=self.worker.held(), draining=self.worker.draining))

    def credit(self):
        """Each class may use all our few slots; totals never shrink."""
        room = self.worker.room() // len(self.worker.brokers)
        total = [max(old, got + room) for old, got in zip(self.total, self.received)]
        if self.live and total != self.total and self.send(
                worker_credit=self.pb.WorkerCredit(total=total)):
            self.total = total

    def hear(self, envelope):
        body = envelope.WhichOneof("body")
        if body == "broker_hello":
            hello = envelope.broker_hello
            if hello.greet_anew:
                self.greet()
            elif hello.greeting == self.number:
                self.live = True
        elif body == "job_batch":
            batch = envelope.job_batch
            if self.live:
                self.received[getattr(batch, "class")] += len(batch.jobs)
            self.worker.take(self, batch)
        elif body == "outcome_ack":
            self.worker.forget(envelope.outcome_ack.tokens)
        elif body == "scheduler_hello":  # a new owner: it must hear what we owe
            self.worker.replaced.update(envelope.scheduler_hello.replaces)
            self.worker.say_owed()


class Worker:
    def __init__(self, pb, options):
        self.pb, self.slots = pb, options.slots
        self.key = bytes.fromhex(open(options.master_key, encoding="ascii").read().strip())
        self.id = f"python-{socket.gethostname()[:24]}-{os.getpid()}-{os.urandom(2).hex()}"
        self.context, self.draining, self.goodbye_said = zmq.Context(), False, False
        self.threads = concurrent.futures.ThreadPoolExecutor(options.slots)
        self.running, self.owed = {}, {}  # token -> (job, session, future); token -> outcome
        self.sessions = {}                # token -> session, for both
        self.replaced = set()             # ended sessions: their jobs are refused
        self.brokers = []
        self.brokers = [Broker(self, base) for base in options.broker]

    @staticmethod
    def key_of(token):
        return token.salt, token.attempt, token.seq

    def room(self):
        return 0 if self.draining else max(0, self.slots - len(self.running))

    def held(self):
        pb = self.pb
        return [pb.HeldJob(token=job.token, shard=job.shard, session=session)
                for job, session, _, _ in self.running.values()] + [
            pb.HeldJob(token=outcome.token, shard=outcome.shard, finished=True,
                       session=self.sessions[key]) for key, outcome in self.owed.items()]

    def take(self, broker, batch):
        for job in [] if batch.session in self.replaced else batch.jobs:
            key = self.key_of(job.token)
            if key not in self.running and key not in self.owed:
                self.sessions[key] = batch.session
                self.running[key] = (job, batch.session, self.threads.submit(work, job, self.key),
                                     (time.time_ns() // 1000, time.monotonic()))

    def forget(self, tokens):
        for token in tokens:
            self.owed.pop(self.key_of(token), None)
            self.sessions.pop(self.key_of(token), None)

    def collect(self):
        """Finished calls become outcomes; an outcome is owed until it is acknowledged."""
        done = [key for key, (_, _, future, _) in self.running.items() if future.done()]
        for key in done:
            job, _, future, (wall_us, begun) = self.running.pop(key)
            result, status, error, excerpt, after_ms = future.result()
            self.owed[key] = self.pb.Outcome(
                token=job.token, shard=job.shard, endpoint_id=job.endpoint_id, result=result,
                http_code=status, error=error, excerpt=excerpt, retry_after_ms=after_ms,
                duration_ms=int((time.monotonic() - begun) * 1000), started_at_us=wall_us,
                worker_id=self.id, kind=job.kind)
        if done:
            self.say([self.owed[key] for key in done])

    def say(self, outcomes):
        for i in range(0, len(outcomes), 64):
            batch = self.pb.OutcomeBatch(outcomes=outcomes[i:i + 64])
            any(b.send(outcome_batch=batch) for b in self.brokers if b.live)

    def say_owed(self):
        self.say(list(self.owed.values()))

    def drain(self, *_):
        self.draining, self.stop_at = True, time.monotonic() + 15

    def drained(self):
        """Everybody was told, nothing runs, and what is owed is acknowledged or too late."""
        return (self.goodbye_said and not self.running
                and (not self.owed or time.monotonic() > self.stop_at))

    def run(self):
        poller, beat_at, owed_at = zmq.Poller(), 0.0, 0.0
        for broker in self.brokers:
            poller.register(broker.socket, zmq.POLLIN)
        print(f"{self.id}: {self.slots} slots", file=sys.stderr, flush=True)
        while not self.drained():
            for native, _ in poller.poll(5 if self.running else 50):
                broker = next(b for b in self.brokers if b.socket is native)
                envelope = self.pb.Envelope()
                envelope.ParseFromString(native.recv())
                broker.hear(envelope)
            self.collect()
            now = time.monotonic()
            if self.draining and not self.goodbye_said:
                self.goodbye_said = True
                for broker in self.brokers:
                    broker.greet()
            if now >= beat_at:  # a broker that never answered is greeted again
                beat_at = now + 0.25
                for broker in self.brokers:
                    if broker.live:
                        broker.send(worker_held=self.pb.WorkerHeld(worker_id=self.id, held=self.held()))
                    else:
                        broker.greet()
            if now >= owed_at:
                owed_at = now + 1
                self.say_owed()
            for broker in self.brokers:
                broker.credit()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--proto", required=True, help="the folder that holds postrider/v1")
    parser.add_argument("--broker", action="append", required=True, help="base address, repeatable")
    parser.add_argument("--slots", type=int, default=4, help="calls at once")
    parser.add_argument("--master-key", default=os.environ.get("POSTRIDER_MASTER_KEY_FILE"))
    options = parser.parse_args()
    worker = Worker(load_proto(options.proto), options)
    signal.signal(signal.SIGTERM, worker.drain)
    signal.signal(signal.SIGINT, worker.drain)
    worker.run()


if __name__ == "__main__":
    main()
