#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chaos: every actor and the database are killed at random instants during a drain, and nothing is lost or early.

usage: chaos.py [--kills N] [--transactions N] [--rate R] [--seed S] [--long]

The whole topology runs under its supervisor; the application (chaos-writer) commits a third of its transactions,
rolls a third back, and is killed before the commit in a third. The judge is the sandbox's journal. Printed at the end: the number of
repeats beside the bound that docs/protocol.md, section 7, allows for just this run.
--long adds faults of up to a minute: actors stopped with SIGSTOP, Postgres away.
"""
import argparse
import collections
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HOME = os.environ.get("POSTRIDER_HOME") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ.get("BUILD_DIR", os.path.join(HOME, "build", "release"))
sys.path.insert(0, os.path.join(HOME, "tests", "support"))
from judged import Program, Tap, wait_for  # noqa: E402
from topology import Supervised  # noqa: E402

MERCHANTS = 30
SLOTS = 210      # worker.slots: the credit of one notifier
FLUSH_S = 0.010  # scheduler.flush
ACTORS = ["outbox-relay", "scheduler", "notifier", "broker", "circuit-breaker", "dead-letter"]


SETTINGS = ("time_scale: 0.01\n"
            "retry: {notification: 'list:5s,10s,20s,30s,30s,30s,30s,30s,30s,30s,30s,30s,30s,30s,30s,30s,30s,30s'}\n"
            "http: {allow_plain: true, allow_addresses: ['127.0.0.0/8']}\n")


def read_ids(folder, kind):
    ids = set()
    for path in glob.glob(os.path.join(folder, kind + ".*")):
        with open(path, encoding="ascii") as file:
            ids.update(line.strip() for line in file)
    return ids


class Watcher(threading.Thread):
    """Looks at the states again and again: what was delivered once must stay so."""

    def __init__(self, topology):
        super().__init__(daemon=True)
        self.topology, self.final, self.back, self.looks, self.stop = topology, {}, [], 0, threading.Event()

    def look(self):
        rows = self.topology.sql("select replace(notify_id::text, '-', ''), status from postrider.notification_status "
                                 "where status in ('delivered', 'dead') or random() < 0.05")
        if rows is None:
            return
        self.looks += 1
        for row in rows:
            key, status = row.split("|")
            before = self.final.get(key)
            if before == "delivered" and status != "delivered":
                self.back.append((key, before, status))
            self.final[key] = status

    def run(self):
        while not self.stop.wait(1.5):
            self.look()


def start_writers(topology, out, transactions, rate):
    url = topology.pg("url")
    count = transactions // 2
    return [subprocess.Popen([os.path.join(BUILD, "chaos-writer"), url, out, str(count), str(max(1, rate // 2)),
                              str(MERCHANTS), f"w{i}"]) for i in range(2)]


def kill_one(topology, rng, kills, long_faults):
    victim = rng.choices(ACTORS + ["postgres"], weights=[3, 4, 4, 3, 1, 1, 1.2])[0]
    if victim == "postgres":
        if long_faults and rng.random() < 0.3:
            pause = rng.uniform(3, 60)
            print(f"# postgres away for {pause:.0f} s", flush=True)
            topology.pg("stop", "immediate")
            time.sleep(pause)
            topology.pg("start")
        else:
            topology.pg("restart", "immediate")
        kills[victim] += 1
        return
    pid = topology.pids().get(victim)
    if not pid:
        return
    try:
        if long_faults and rng.random() < 0.1:
            pause = rng.uniform(3, 60)
            print(f"# {victim} stopped for {pause:.0f} s", flush=True)
            os.kill(pid, signal.SIGSTOP)
            time.sleep(pause)
            os.kill(pid, signal.SIGCONT)
            kills["stopped " + victim] += 1
            return
        os.kill(pid, signal.SIGKILL)
        kills[victim] += 1
    except ProcessLookupError:
        pass


def repeat_bound(kills, rate):
    """docs/protocol.md, section 7: the credit per worker killed; rate x flush window per scheduler killed, and the credit of workers
    that do not answer (those killed or stopped meanwhile are counted by their own kill); what was in flight for a database."""
    workers = kills["notifier"] + kills["stopped notifier"]
    schedulers = kills["scheduler"] + kills["stopped scheduler"]
    return int(workers * SLOTS + schedulers * (rate * FLUSH_S + 1) + kills["postgres"] * SLOTS)


def settle(topology, seconds):
    def none_left():
        rows = topology.sql("select count(*) from postrider.notification_status where status = 'pending'")
        return rows == ["0"]
    wait_for(none_left, seconds, "every delivery to end")


def judge(tap, topology, sandbox, out, kills, rate, watcher):
    committed, rolled_back = read_ids(out, "committed"), read_ids(out, "rolled_back")
    killed, unknown = read_ids(out, "killed"), read_ids(out, "unknown")
    exist = set(topology.sql("select replace(notify_id::text, '-', '') from postrider.outbox"))
    tap.check(committed <= exist, "every committed row is there")
    tap.check(not (exist & (rolled_back | killed)), "no undone row is there")
    committed |= unknown & exist  # the COMMIT's answer was lost: the database knows
    receipts = collections.Counter()
    accepted = collections.Counter()
    repeated = 0
    for line in sandbox.pages("/control/journal"):
        key = (line.get("notify_id") or "").replace("-", "")
        receipts[key] += 1
        repeated += accepted[key] > 0
        accepted[key] += bool(line["accepted"])
    never = [key for key in committed if not accepted[key]]
    tap.check(not never, f"nothing lost: all {len(committed)} committed results were accepted by their merchants",
              f"{len(never)} were not: {never[:5]}")
    early = set(receipts) - committed
    tap.check(not early, f"nothing early: none of {len(rolled_back)} rolled back and {len(killed)} killed before commit was seen",
              f"{len(early)} were: {sorted(early)[:5]}")
    statuses = collections.Counter(topology.sql("select status from postrider.notification_status"))
    tap.check(set(statuses) == {"delivered"}, "every one is on record as delivered", dict(statuses))
    rows = topology.sql("select replace(subject, '-', ''), count(*) filter (where outcome = 'delivered'), count(*) "
                        "from postrider.attempt_log group by 1")
    logged = {}
    for row in rows:
        key, good, tries = row.split("|")
        logged[key] = (int(good), int(tries))
    tap.check(all(logged.get(key, (0, 0))[0] == 1 for key in committed), "each has exactly one delivered attempt on record")
    missing = sum(max(0, receipts[key] - logged.get(key, (0, 0))[1]) for key in committed)
    bound = repeat_bound(kills, rate)
    tap.check(missing <= bound, f"every attempt is logged but for repeats: {missing} receipts without a row", f"bound {bound}")
    watcher.look()
    tap.check(not watcher.back and watcher.looks > 3, f"no state went back ({watcher.looks} looks)", watcher.back[:5])
    stats = sandbox.stats()
    tap.equal(stats["changed"], 0, "the same bytes on every try")
    tap.check(repeated <= bound, f"repeats: {repeated}, bound of this run: {bound}")
    print(f"# kills {sum(kills.values())}: {dict(kills)}; receipts {sum(receipts.values())}, repeated {repeated}, bound {bound}")


def add_merchants(topology, sandbox):
    tempers = ["prompt"] * 6 + ["slow:50ms", "flaky:0.2", "flaky:0.4", "slow:200ms"]
    for i in range(1, MERCHANTS + 1):
        name = f"m{i:03d}"
        status, _, _ = sandbox.call("POST", "/control/temper", json.dumps({"merchant": name, "temper": tempers[i % 10]}))
        assert status == 200, status
        topology.cli("merchant", "add", name, "--url", f"http://{sandbox.address}/m/{name}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--transactions", type=int, default=20000)
    parser.add_argument("--rate", type=int, default=260)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    print(f"# seed {options.seed}", flush=True)
    tap = Tap()
    base = os.environ.get("TEST_TMP")
    root = tempfile.mkdtemp(prefix="chaos.", dir=base)
    os.chmod(root, 0o755)  # the cluster belongs to another user when we are root
    out = os.path.join(root, "ids")
    os.mkdir(out)
    topology = Supervised(root, SETTINGS)
    kills = collections.Counter()
    good = False
    with Program("postrider-sandbox", "--journal", os.path.join(root, "journal")) as sandbox:
        try:
            topology.up()
            add_merchants(topology, sandbox)
            writers = start_writers(topology, out, options.transactions, options.rate)
            watcher = Watcher(topology)
            watcher.start()
            begun = time.monotonic()
            while sum(kills.values()) < options.kills or any(w.poll() is None for w in writers):
                if sum(kills.values()) >= options.kills:
                    wait_for(lambda: all(w.poll() is not None for w in writers), 240, "the application to finish")
                    break
                time.sleep(rng.uniform(0.3, 1.8))  # the random instant, not a wait for anything
                kill_one(topology, rng, kills, options.long)
            print(f"# killed and written in {time.monotonic() - begun:.0f} s", flush=True)
            tap.check(all(w.wait() == 0 for w in writers), "the application came through")
            settle(topology, 200)
            watcher.stop.set()
            watcher.join()
            judge(tap, topology, sandbox, out, kills, options.rate, watcher)
            good = tap.failed == 0
        finally:
            topology.down()
    if good:
        shutil.rmtree(root)
    else:
        print(f"# left for a look: {root}")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
