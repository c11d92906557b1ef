# SPDX-License-Identifier: Apache-2.0
"""What takes more than one request: repeats, losses, restarts, floods. One sentence each.

A scenario is a function of the stage (run.py); it returns '' or what is wrong.
"""
import os
import random
import signal
import socket
import subprocess
import threading
import time

import bus
from bus import SESSION, job, wait_for
from cases import OK, answer
from receivers import Listener

pb = None  # run.py sets it
SUCCESS = answer(200, b"SUCCESS")
NO = b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nNO"


def _all_delivered(stage, jobs, limit_s=15):
    wait_for(lambda: all(stage.broker.outcome(j.token.seq) for j in jobs), limit_s)
    lost = [j.token.seq for j in jobs if not stage.broker.outcome(j.token.seq)]
    if lost:
        return f"{len(lost)} of {len(jobs)} have no outcome"
    bad = [stage.broker.outcome(j.token.seq) for j in jobs]
    bad = [o for o in bad if o.result != pb.Outcome.RESULT_DELIVERED]
    return f"{len(bad)} not delivered, one: {bad[0]}" if bad else ""


def _one(stage, made, limit_s=8):
    stage.send([made])
    if not wait_for(lambda: stage.broker.outcome(made.token.seq), limit_s):
        return None
    return stage.broker.outcome(made.token.seq)


def keep_alive(stage):
    """a hundred requests, one after the other, use few connections, in TLS too"""
    for tls in (None, stage.ca.server("kept")):
        listener = Listener(SUCCESS, tls=tls)
        for _ in range(100):
            if _one(stage, job(listener.url(), ca=stage.ca.pem() if tls else "")) is None:
                return "no outcome"
        if listener.connections > 3:
            return f"{listener.connections} connections"
    return ""


def idle_closer(stage):
    """a receiver that closes idle connections at random loses nothing"""
    rng = random.Random(7)

    def script(c):
        while c.request():
            c.send(OK)
            if rng.random() < 0.3:
                time.sleep(rng.random() * 0.01)
                return
    listener = Listener(script)
    jobs = [job(listener.url()) for _ in range(400)]
    stage.send_paced(jobs, 0.004)
    wrong = _all_delivered(stage, jobs)
    ids = {r.split(b"X-Notify-ID: ")[1].split(b"\r\n")[0] for r in listener.received}
    return wrong or ("" if len(ids) == 400 else f"{len(ids)} of 400 ids were received")


def reader_and_hangup(stage):
    """a receiver that reads the second request of each connection and hangs up still gets it"""
    def script(c):
        if c.request():
            c.send(OK)
        c.request()
    listener = Listener(script)
    jobs = [job(listener.url()) for _ in range(40)]
    stage.send_paced(jobs, 0.01)
    return _all_delivered(stage, jobs)


def _spoiled(stage, idle_says, first_answer=OK, tls=None, **more):
    """Two jobs to one port; once the first is answered, its idle connection gets idle_says. The later answer is NO."""
    said = threading.Event()
    stray = threading.Event()

    def script(c):
        while c.request():
            c.send(NO if said.is_set() else first_answer)
            if not said.is_set():
                said.set()
                stray.wait(30)
                idle_says(c)
                stray.clear()
    listener = Listener(script, tls=tls)
    first = _one(stage, job(listener.url(path="/evil"), **more), 20)
    if first is None or first.http_code != 200:
        return f"first: {first}"
    stray.set()
    if not wait_for(lambda: not stray.is_set(), 20):
        return "the receiver did not come to speak"
    later = _one(stage, job(listener.url(path="/other"), **more), 20)
    if later is None or later.http_code != 500:
        return f"later: {later}"
    with listener.lock:
        paths = [r.split(b" ")[1] for r in listener.received]
    return "" if paths == [b"/evil", b"/other"] else f"received {paths}"


def stray_answer(stage):
    """an answer that nobody asked for is not taken for that to the next notification, another merchant's or not"""
    return _spoiled(stage, lambda c: c.send(OK))


def stray_answer_in_tls(stage):
    """an answer that nobody asked for, in TLS"""
    return _spoiled(stage, lambda c: c.send(OK), tls=stage.ca.server("stray"), ca=stage.ca.pem())


def two_answers_at_once(stage):
    """an answer in the same bytes, and the same TLS record, as the one before it"""
    long = b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n" + b"x" * 9000
    for first in (OK, long):
        wrong = (_spoiled(stage, lambda c: None, first_answer=first + OK) or
                 _spoiled(stage, lambda c: None, first_answer=first + OK, tls=stage.ca.server("twice"), ca=stage.ca.pem()))
        if wrong:
            return wrong
    return ""


def idle_408(stage):
    """a proxy that says 408 to an idle connection and closes it costs no try"""
    def say(c):
        c.send(b"HTTP/1.1 408 Request Time-out\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        c.sock.shutdown(socket.SHUT_WR)
    return _spoiled(stage, say)


def many_at_once(stage):
    """200 at once to one host are all delivered, and 20 connections at most are kept"""
    listener = Listener(SUCCESS)
    jobs = [job(listener.url()) for _ in range(200)]
    stage.send(jobs)
    return _all_delivered(stage, jobs)


def hanging_neighbours(stage):
    """60 hanging merchants do not take the slots of the others"""
    hole = Listener(lambda c: (c.request(), c.hang()))
    healthy = Listener(SUCCESS)
    stage.send([job(hole.url()) for _ in range(60)])
    if not wait_for(lambda: hole.connections == 60, 5):
        return f"{hole.connections} of 60 reached the hole"
    # They hang for their first-byte time; meanwhile:
    jobs = [job(healthy.url()) for _ in range(100)]
    stage.send_paced(jobs, 0.002)
    return _all_delivered(stage, jobs, 8)


def same_job_twice(stage):
    """one job that comes twice is sent once"""
    listener = Listener(lambda c: (c.request(), time.sleep(0.3), c.send(OK), c.hang()))
    made = job(listener.url())
    stage.send([made])
    stage.send([made])
    if not wait_for(lambda: stage.broker.outcome(made.token.seq), 8):
        return "no outcome"
    return "" if len(listener.received) == 1 else f"{len(listener.received)} requests"


def late_copy(stage):
    """a copy of a job that was delivered and acknowledged is not sent again"""
    listener = Listener(SUCCESS)
    made = job(listener.url())
    if _one(stage, made) is None:
        return "no outcome"
    other = job(listener.url())
    if _one(stage, other) is None:  # by now the ack of the first has arrived
        return "no outcome"
    stage.send([made])
    if _one(stage, job(listener.url())) is None:
        return "no outcome"
    return "" if len(listener.received) == 3 else f"{len(listener.received)} requests"


def unacknowledged(stage):
    """an outcome that nobody acknowledges is said again, until somebody does"""
    listener = Listener(SUCCESS)
    stage.broker.acking = False
    try:
        made = job(listener.url())
        stage.send([made])
        seq = made.token.seq
        if not wait_for(lambda: stage.broker.outcome_count(seq) >= 3, 6):
            return f"said {stage.broker.outcome_count(seq)} times in 6 s"
        held = stage.worker().held.get(seq)
        if held is None or not held.finished:
            return "WorkerHeld does not name it as owed"
        stage.broker.ack(stage.worker_id, [seq])
        if not wait_for(lambda: seq not in stage.worker().held, 4):
            return "still owed after the acknowledgement"
    finally:
        stage.broker.acking = True
    return "" if len(listener.received) == 1 else f"{len(listener.received)} requests"


def heartbeat(stage):
    """what is under way is named in heartbeats"""
    hole = Listener(lambda c: (c.request(), c.hang()))
    made = job(hole.url())
    stage.send([made])

    def named():
        held = stage.worker().held.get(made.token.seq)
        return held is not None and not held.finished
    return "" if wait_for(named, 2) else "never named"


def replaced_session(stage):
    """jobs of a session that was replaced are refused"""
    listener = Listener(SUCCESS)
    ended, successor = os.urandom(16), os.urandom(16)
    before = job(listener.url())
    stage.broker.jobs(stage.worker_id, [before], session=ended)
    if not wait_for(lambda: stage.broker.outcome(before.token.seq), 8):
        return "no outcome before"
    stage.broker.scheduler_hello(stage.worker_id, session=successor, replaces=[ended])
    refused, taken = job(listener.url()), job(listener.url())
    stage.broker.jobs(stage.worker_id, [refused], session=ended)
    stage.broker.jobs(stage.worker_id, [taken], session=successor)
    if not wait_for(lambda: stage.broker.outcome(taken.token.seq), 8):
        return "the successor's job has no outcome"
    return "" if len(listener.received) == 2 else "the ended session's job was sent"


def garbage_frames(stage):
    """broken frames from the bus do no harm"""
    for frame in (b"", b"\xff" * 100, b"\x0a\x01\x01", os.urandom(2000), b"\x6a\x02\x12\x7f"):
        stage.broker.say_raw(stage.worker_id, frame)
    listener = Listener(SUCCESS)
    outcome = _one(stage, job(listener.url()))
    return "" if outcome and outcome.result == pb.Outcome.RESULT_DELIVERED else "no outcome"


def http2(stage):
    """HTTP/2 by nghttp2's server is delivered"""
    if not os.path.exists("/usr/sbin/nghttpd") and not os.path.exists("/usr/bin/nghttpd"):
        return "skip: nghttp2-server is not installed"
    cert, key = stage.ca.issue("nghttpd")
    root = os.path.join(stage.folder, "h2")
    os.makedirs(root, exist_ok=True)
    with open(os.path.join(root, "notify"), "w", encoding="ascii") as file:
        file.write("SUCCESS")
    with open(os.path.join(stage.folder, "nghttpd.log"), "wb") as log:
        port = stage.free_port()
        server = subprocess.Popen(["nghttpd", "-v", "-a", "127.0.0.1", "-d", root, str(port), key,
                                   cert], stdout=log, stderr=log)
    try:
        if not wait_for(lambda: stage.connects(port), 5):
            return "nghttpd does not listen"
        jobs = [job(f"https://127.0.0.1:{port}/notify", http2=True, ca=stage.ca.pem())
                for _ in range(100)]
        stage.send(jobs)
        wrong = _all_delivered(stage, jobs)
    finally:
        server.kill()
        server.wait()
    if wrong:
        return wrong
    with open(os.path.join(stage.folder, "nghttpd.log"), encoding="utf-8", errors="replace") as log:
        connections = {line.split("[id=")[1].split("]")[0] for line in log if "[id=" in line}
    return "" if len(connections) <= 12 else f"{len(connections)} connections for 100 requests"


def egress_proxy(stage):
    """an egress proxy carries requests; one that refuses, or dies, charges nobody"""
    forwarded = Listener(SUCCESS)

    def refusing(c):
        c.request()
        c.send(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
    jobs = {
        "a tunnel refused": job("https://192.0.2.7/notify", egress=Listener(refusing).url(path="")),
        "a proxy that dies": job("https://192.0.2.7/", egress=Listener(lambda c: None).url(path="")),
    }
    wrong = []
    for name, made in jobs.items():
        outcome = _one(stage, made)
        if outcome is None or outcome.error != "proxy":
            wrong.append(f"{name}: {outcome}")
    plain = job("http://192.0.2.7/notify?x=y", egress=forwarded.url(path=""))
    stage.broker.jobs(stage.guarded_id, [plain])
    wait_for(lambda: stage.broker.outcome(plain.token.seq), 8)
    if not forwarded.received or not forwarded.received[0].startswith(b"POST http://192.0.2.7/"):
        wrong.append("the proxy was not asked")
    dead = job("http://192.0.2.7/", egress=Listener(lambda c: c.request()).url(path=""))
    stage.broker.jobs(stage.guarded_id, [dead])
    wait_for(lambda: stage.broker.outcome(dead.token.seq), 8)
    outcome = stage.broker.outcome(dead.token.seq)
    if outcome is None or outcome.result != pb.Outcome.RESULT_OWN_FAULT:
        wrong.append(f"a plain proxy that dies: {outcome}")
    return "\n".join(wrong)


def broker_restart(stage):
    """a broker that lost its memory is greeted anew, and told what is owed"""
    listener = Listener(SUCCESS)
    stage.broker.acking = False
    made = job(listener.url())
    stage.send([made])
    if not wait_for(lambda: stage.broker.outcome(made.token.seq), 8):
        return "no outcome"
    stage.restart_broker()
    if not wait_for(lambda: stage.broker.outcome(made.token.seq), 8):
        return "the new broker was not told"
    if not wait_for(lambda: stage.broker.room(stage.worker_id) > 0, 8):
        return "no credit for the new broker"
    outcome = _one(stage, job(listener.url()))
    return "" if outcome and len(listener.received) == 2 else "the new broker's job was not made"


def direct(stage):
    """without brokers it goes to the scheduler, and comes back"""
    address = "ipc://" + os.path.join(stage.folder, "s1")
    scheduler = bus.Broker(stage.context, address)
    try:
        stage.broker.hello_address = address
        stage.broker.scheduler_hello(stage.worker_id)
        if _one(stage, job(Listener(SUCCESS).url())) is None:  # behind the hello: that has arrived, too
            return "no outcome of what came behind the hello"
        stage.broker.stop()
        if not wait_for(lambda: scheduler.room(stage.worker_id) > 0, 10):
            return "it did not come to the scheduler"
        listener = Listener(SUCCESS)
        made = job(listener.url())
        scheduler.jobs(stage.worker_id, [made])
        if not wait_for(lambda: scheduler.outcome(made.token.seq), 8):
            return "no outcome at the scheduler"
        stage.restart_broker(stopped=True)
        if not wait_for(lambda: stage.broker.room(stage.worker_id) > 0, 10):
            return "it did not come back to the broker"
        outcome = _one(stage, job(listener.url()))
        return "" if outcome else "no outcome after the way back"
    finally:
        scheduler.stop()


def drain(stage):
    """SIGTERM: what is in flight ends, what comes late is handed back, exit code 0"""
    answer_now = threading.Event()
    slow = Listener(lambda c: (c.request(), answer_now.wait(60), c.send(OK), c.hang()))
    process, worker_id = stage.start_worker("drained", **{"http.first_byte_timeout": "60s", "http.total_timeout": "60s"})
    first = [job(slow.url()) for _ in range(10)]
    stage.broker.jobs(worker_id, first)
    if not wait_for(lambda: len(slow.received) == 10, 5):
        return "not all in flight"
    process.send_signal(signal.SIGTERM)
    if not wait_for(lambda: stage.broker.workers[worker_id].draining, 5):
        return "the broker was not told"
    late = job(slow.url())
    stage.broker.jobs(worker_id, [late])
    if not wait_for(lambda: stage.broker.outcome(late.token.seq), 5):
        return "the late job has no outcome"
    if stage.broker.outcome(late.token.seq).result != pb.Outcome.RESULT_RETURNED:
        return "the late job was not handed back"
    answer_now.set()
    wrong = _all_delivered(stage, first)
    if wrong:
        return wrong
    try:
        code = process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        return "it does not end"
    return "" if code == 0 else f"exit code {code}"


ALL = [keep_alive, idle_closer, reader_and_hangup, stray_answer, stray_answer_in_tls, two_answers_at_once, idle_408,
       many_at_once, hanging_neighbours, same_job_twice,
       late_copy, unacknowledged, heartbeat, replaced_session, garbage_frames, http2, egress_proxy, broker_restart,
       direct, drain]
