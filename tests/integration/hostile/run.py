#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""The hostile receivers: everything a merchant's server may do to a notifier.

usage: run.py [PATTERN]      only the cases whose sentence matches

Runs the real postrider-notifier against receivers made of raw sockets. The bus is a scripted broker
(bus.py), so that each outcome is seen as the scheduler would see it. cases.py is the table;
its cases run all at once. scenarios.py has what takes more than one request. Times are upper
bounds, made of the (shortened) timeouts and a wide slack. Prints TAP.

BUILD_DIR: where the program is (default build/release). TEST_TMP: a short directory to work in.
"""
import importlib
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HOME = os.environ.get("POSTRIDER_HOME") or os.path.abspath(os.path.join(HERE, "..", "..", ".."))
BUILD = os.environ.get("BUILD_DIR") or os.path.join(HOME, "build", "release")
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

import zmq  # noqa: E402

import bus  # noqa: E402
import cases as table  # noqa: E402
import scenarios  # noqa: E402
from certificates import Authority  # noqa: E402
from receivers import Listener  # noqa: E402


def load_proto(folder):
    """The bus' messages, made by protoc for this run."""
    subprocess.run(["protoc", "-I", os.path.join(HOME, "proto"), "--python_out", folder,
                    "postrider/v1/bus.proto"], check=True)
    sys.path.insert(0, folder)
    bus.pb = scenarios.pb = importlib.import_module("postrider.v1.bus_pb2")


class Stage:
    """The notifiers and their broker."""

    def __init__(self, folder):
        self.folder = folder
        self.context = zmq.Context()
        self.ca = Authority("hostile suite", folder)
        self.other_ca = Authority("somebody else", folder)
        self.key_file = os.path.join(folder, "master.key")
        with open(self.key_file, "w", encoding="ascii") as file:
            file.write(bus.MASTER_KEY.hex() + "\n")
        os.chmod(self.key_file, 0o600)
        self.base = "ipc://" + os.path.join(folder, "b1")
        self.broker = bus.Broker(self.context, self.base + ".work")
        self.processes = []

    def start_worker(self, name, **settings):
        """Gives (process, worker id) once the worker has credit out."""
        settings = {
            "bus.brokers": self.base, "master_key_file": self.key_file,
            "http.connect_timeout": f"{int(table.CONNECT_S * 1000)}ms",
            "http.tls_timeout": f"{int(table.TLS_S * 1000)}ms",
            "http.first_byte_timeout": f"{int(table.FIRST_BYTE_S * 1000)}ms",
            "http.total_timeout": f"{int(table.TOTAL_S * 1000)}ms",
            "http.allow_addresses": "127.0.0.1,::1", "actor.drain_timeout": "60s", **settings}
        command = [os.path.join(BUILD, "postrider-notifier"), "--id", name]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        with open(os.path.join(self.folder, name + ".log"), "wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        self.processes.append(process)

        def ready():
            return process.poll() is not None or self._id_of(name)
        bus.wait_for(ready, 20)
        worker_id = self._id_of(name)
        if not worker_id or not bus.wait_for(lambda: self.broker.room(worker_id) > 0, 10):
            self.show_log(name)
            sys.exit(f"Bail out! {name} did not greet the broker")
        return process, worker_id

    def _id_of(self, name):
        with self.broker.lock:
            return next((w for w in self.broker.workers if name in w), None)

    def show_log(self, name):
        with open(os.path.join(self.folder, name + ".log"), encoding="utf-8",
                  errors="replace") as file:
            for line in file.readlines()[-20:]:
                print("# " + line.rstrip())

    def worker(self):
        return self.broker.workers[self.worker_id]

    def send(self, jobs):
        self.broker.jobs(self.worker_id, jobs)

    def send_paced(self, jobs, every_s):
        for made in jobs:
            self.send([made])
            time.sleep(every_s)

    def restart_broker(self, stopped=False):
        """Another life at the same address, with empty hands."""
        if not stopped:
            self.broker.stop()
        self.broker = bus.Broker(self.context, self.base + ".work")
        bus.wait_for(lambda: self.worker_id in self.broker.workers, 10)

    @staticmethod
    def free_port():
        """None of the kernel's own, which anybody's connection may take meanwhile."""
        while True:
            with socket.socket() as sock:
                port = random.randrange(10000, 30000)
                if sock.connect_ex(("127.0.0.1", port)) != 0:
                    return port

    @staticmethod
    def connects(port):
        with socket.socket() as sock:
            return sock.connect_ex(("127.0.0.1", port)) == 0

    def stop(self):
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(90)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.broker.stop()


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def report(self, sentence, wrong):
        self.count += 1
        if wrong.startswith("skip: "):
            print(f"ok {self.count} - {sentence} # SKIP {wrong[6:]}", flush=True)
            return
        self.failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {self.count} - {sentence}", flush=True)
        for line in wrong.splitlines():
            print(f"#   {line}")


def judge(case, outcome):
    """'' or what is wrong with the outcome."""
    if outcome is None:
        return "no outcome"
    wrong = []
    result = bus.pb.Outcome.Result.Name(outcome.result).removeprefix("RESULT_")
    if case.result is not None and result != case.result:
        wrong.append(f"result {result}, wanted {case.result}")
    if case.code is not None and outcome.http_code != case.code:
        wrong.append(f"code {outcome.http_code}, wanted {case.code}")
    errors = case.error if isinstance(case.error, tuple) else (case.error,)
    if outcome.error not in errors:
        wrong.append(f"error {outcome.error!r}, wanted {' or '.join(map(repr, errors))}")
    if callable(case.excerpt):
        if not case.excerpt(outcome.excerpt):
            wrong.append(f"excerpt {outcome.excerpt[:60]!r}")
    elif case.excerpt is not None and outcome.excerpt != case.excerpt:
        wrong.append(f"excerpt {outcome.excerpt[:60]!r}, wanted {case.excerpt[:60]!r}")
    if len(outcome.excerpt) > 1024:
        wrong.append("excerpt over 1 KiB")
    least, most = (case.retry_after_ms if isinstance(case.retry_after_ms, tuple)
                   else (case.retry_after_ms, case.retry_after_ms))
    if not least <= outcome.retry_after_ms <= most:
        wrong.append(f"retry after {outcome.retry_after_ms} ms, wanted {least} to {most}")
    if outcome.duration_ms > (case.within_s + table.SLACK_S) * 1000:
        wrong.append(f"took {outcome.duration_ms} ms, wanted at most {case.within_s} s and slack")
    if case.check and not wrong:
        complaint = case.check(case.listener)
        if complaint:
            wrong.append(complaint)
    if wrong:
        wrong.append(f"(result {result} code {outcome.http_code} error {outcome.error!r} "
                     f"{outcome.duration_ms} ms excerpt {outcome.excerpt[:40]!r})")
    return "\n".join(wrong)


def start_case(case):
    if case.script:
        case.listener = Listener(case.script, host=case.host, tls=case.tls, raw_tls=case.raw_tls)
    url = case.url or case.listener.url()
    if case.listener:
        url = url.replace("{port}", str(case.listener.port))
    made = bus.job(url, **case.job)
    case.seq = made.token.seq
    return made


def run_table(stage, wanted, tap):
    cases = [c for c in table.table(stage.ca, stage.other_ca) if wanted(c.sentence)]
    jobs = [(c, start_case(c)) for c in cases]
    # A few at a time: receivers in Python are slow to accept a hundred connections at once.
    for i in range(0, len(jobs), 8):
        for guarded, worker in ((False, stage.worker_id), (True, stage.guarded_id)):
            part = [j for c, j in jobs[i:i + 8] if c.guarded == guarded]
            if part:
                stage.broker.jobs(worker, part)
        time.sleep(0.05)
    bus.wait_for(lambda: all(stage.broker.outcome(c.seq) for c in cases), 20)
    for case in cases:
        tap.report(case.sentence, judge(case, stage.broker.outcome(case.seq)))
    return cases


def report_repeats(tap, broker, cases):
    """An outcome is said again each second until its acknowledgement comes; on a busy machine that may take a few."""
    repeated = [c.sentence for c in cases if broker.said_for_s(c.seq) > 5.0]
    tap.report("no outcome is said on and on to a broker that acknowledges", "; ".join(repeated))


def main():
    pattern = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    folder = os.environ.get("TEST_TMP") or tempfile.mkdtemp(prefix="prh.", dir="/tmp")
    load_proto(folder)
    stage, tap = Stage(folder), Tap()

    def wanted(sentence):
        return pattern.search(sentence) is not None
    try:
        process, stage.worker_id = stage.start_worker("main")
        _, stage.guarded_id = stage.start_worker("guarded", **{"http.allow_addresses": "",
                                                         "http.allow_plain": "true"})
        broker, cases = stage.broker, run_table(stage, wanted, tap)
        for scenario in scenarios.ALL:
            if wanted(scenario.__doc__):
                tap.report(scenario.__doc__, scenario(stage))
        report_repeats(tap, broker, cases)
        tap.report("the notifier lived through all of it",
                   "" if process.poll() is None else f"exit code {process.poll()}")
    finally:
        stage.stop()
    if tap.failed:
        stage.show_log("main")
    bad_exits = [p.returncode for p in stage.processes if p.returncode != 0]
    tap.report("every notifier ended with exit code 0", "" if not bad_exits else str(bad_exits))
    print(f"1..{tap.count}", flush=True)
    os._exit(tap.failed > 0)  # receivers' threads may still hang: that is their trade


if __name__ == "__main__":
    main()
