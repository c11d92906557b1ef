#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""contain.py PROGRAM...: runs it, reaps what it orphans, and ends whatever of it is left when it has ended itself.

Orphans of a test come to us instead of to init (a subreaper, prctl(2)), also those with sessions of their own: actors,
Postgres, supervisors. Those still there GRACE_S after a test that ended are told (SIGTERM), then killed; the log says how
many and which, and what all of it took of the processors. The exit code is the program's (128 + a signal's number). Linux only."""
import ctypes
import os
import resource
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 5.0  # a test that has killed its processes need not wait for each


def descendants():
    """{pid: name} of all processes below us that are no zombies."""
    parent, name = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue  # gone meanwhile
        state, ppid = text[text.rindex(")") + 2:].split()[:2]
        parent[int(entry)] = int(ppid)
        if state not in "ZX":
            name[int(entry)] = text[text.index("(") + 1:text.rindex(")")]
    found, grown = {os.getpid()}, True
    while grown:
        more = {pid for pid, ppid in parent.items() if ppid in found} - found
        found |= more
        grown = bool(more)
    return {pid: name[pid] for pid in found if pid in name and pid != os.getpid()}


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def gone_within(seconds):
    """Those that are left after so many seconds, {} as soon as there are none."""
    end = time.monotonic() + seconds
    while True:
        reap()
        left = descendants()
        if not left or time.monotonic() >= end:
            return left
        time.sleep(0.05)


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass  # gone meanwhile, or not ours to end


def end_all(grace_s):
    left = gone_within(grace_s)
    if not left:
        return
    print(f"# left {len(left)} processes behind, which were ended: " + ", ".join(sorted(left.values())), flush=True)
    send(left, signal.SIGTERM)
    for _ in range(50):  # what is killed may have started another meanwhile
        left = gone_within(2.0 if _ == 0 else 0.2)
        if not left:
            return
        send(left, signal.SIGKILL)
    print("# some could not be ended: " + ", ".join(f"{name} {pid}" for pid, name in left.items()), flush=True)


def stopped(number, _frame):
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    end_all(0)
    os._exit(128 + number)


def main():
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        print("# no subreaper: what the test leaves behind stays", flush=True)
    child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, stopped)
    pid = status = 0
    while pid != child:
        pid, status = os.wait()
    code = os.waitstatus_to_exitcode(status)
    code = code if code >= 0 else 128 - code
    end_all(0 if code in (124, 137) else GRACE_S)  # timeout(1)'s codes
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"# processors: {used.ru_utime + used.ru_stime:.1f} s", flush=True)
    return code


sys.exit(main())
