# SPDX-License-Identifier: Apache-2.0
"""For hostile tests: the whole pipeline as processes of its own, in a directory of its own.

    run(test, spec="m001=prompt")          one test: a Rig, its actors, TAP, an exit code
    Rig: start(NAME), Actor.kill(), sql(), enqueue(), judge(): who is started and killed when is the test's
    Supervised                             the same topology under `postrider up`
    Proxy                                  a wire that can reset its connections or fall silent
    Pq                                     a connection to Postgres (libpq by ctypes)

The judge is the sandbox's journal, never Postrider's own tables alone. Nothing sleeps for a fixed time: wait_for().
"""
import collections
import ctypes
import glob
import json
import os
import random
import secrets
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import traceback

from judged import PATIENCE, Program, Tap, wait_for

HOME = os.environ.get("POSTRIDER_HOME") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ.get("BUILD_DIR") or os.path.join(HOME, "build", "release")
SLOW = os.environ.get("SLOW", "") not in ("", "0")  # heavier variants
ACTORS = ["broker", "circuit-breaker", "dead-letter", "outbox-relay", "scheduler", "notifier"]
SETTINGS = {
    "time_scale": "0.01",
    "retry.notification": "list:5s,10s,20s" + ",30s" * 12,
    "http.allow_plain": "true",
    "http.allow_addresses": "127.0.0.0/8",
    "ingress.listen": "127.0.0.1:0",  # many run at once
    "console.listen": "127.0.0.1:0",
}
PATIENCE_S = 30.0  # for what takes milliseconds on a machine that has nothing else to do; wait_for() multiplies it


class PgError(Exception):
    def __init__(self, sqlstate, text):
        super().__init__(f"{sqlstate}: {text.strip()}")
        self.sqlstate = sqlstate


class Pq:
    """One connection; every value is text, NULL is None."""
    lib = None

    def __init__(self, url):
        if Pq.lib is None:
            lib = ctypes.CDLL("libpq.so.5")
            for name in ("PQconnectdb", "PQexec", "PQmakeEmptyPGresult"):
                getattr(lib, name).restype = ctypes.c_void_p
            for name in ("PQgetvalue", "PQerrorMessage", "PQresultErrorField"):
                getattr(lib, name).restype = ctypes.c_char_p
            Pq.lib = lib
        self.connection = ctypes.c_void_p(self.lib.PQconnectdb(url.encode()))
        if self.lib.PQstatus(self.connection) != 0:
            text = self.lib.PQerrorMessage(self.connection).decode()
            self.close()
            raise PgError("08006", text)

    def close(self):
        if self.connection:
            self.lib.PQfinish(self.connection)
            self.connection = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def query(self, statement):
        lib = self.lib
        result = ctypes.c_void_p(lib.PQexec(self.connection, statement.encode()))
        try:
            if lib.PQresultStatus(result) not in (0, 1, 2):
                state = lib.PQresultErrorField(result, ord("C"))
                raise PgError(state.decode() if state else "08006",
                              lib.PQerrorMessage(self.connection).decode())
            rows, columns = lib.PQntuples(result), lib.PQnfields(result)
            return [[None if lib.PQgetisnull(result, r, c) else lib.PQgetvalue(result, r, c).decode()
                     for c in range(columns)] for r in range(rows)]
        finally:
            lib.PQclear(result)


class Proxy(threading.Thread):
    """A TCP wire to (host, port) that the test can cut: reset() breaks every connection with RST, silent = True lets
    nothing through either way while connections stay; heal() lets new ones through (the silent ones stay dead)."""

    def __init__(self, port, listen=0):
        super().__init__(daemon=True)
        self.target, self.silent, self.ended = port, False, False
        self.listener = socket.create_server(("127.0.0.1", listen), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.pairs, self.dead = {}, set()  # socket -> its other end; sockets that nobody reads any more
        self.refuse = False                # new connections are reset
        self.accepted = 0
        self.lock = threading.Lock()
        self.wake_r, self.wake_w = os.pipe()
        self.start()

    def _drop(self, one, rst=False):
        other = self.pairs.pop(one, None)
        for end in (one, other):
            if end is None:
                continue
            self.pairs.pop(end, None)
            self.dead.discard(end)
            if rst:
                try:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                except OSError:
                    pass
            end.close()

    def _accept(self):
        client, _ = self.listener.accept()
        self.accepted += 1
        if self.refuse:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            return
        try:
            server = socket.create_connection(("127.0.0.1", self.target), 5)
        except OSError:
            client.close()
            return
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pairs[client], self.pairs[server] = server, client
        if self.silent:
            self.dead.update((client, server))

    def run(self):
        while not self.ended:
            with self.lock:
                watched = [self.wake_r, self.listener] + [s for s in self.pairs if s not in self.dead]
            try:
                ready, _, _ = select.select(watched, [], [], 1.0)
            except (OSError, ValueError):
                continue  # one was closed meanwhile
            with self.lock:
                for one in ready:
                    if one is self.wake_r:
                        os.read(self.wake_r, 64)
                    elif one is self.listener:
                        self._accept()
                    elif one in self.pairs and one not in self.dead:
                        self._pump(one)

    def _pump(self, one):
        try:
            data = one.recv(262144)
            if data:
                self.pairs[one].sendall(data)
                return
        except OSError:
            pass
        self._drop(one)

    def _change(self, action):
        with self.lock:
            action()
        os.write(self.wake_w, b".")

    def reset(self):
        """RST to both ends of every connection."""
        def action():
            for one in list(self.pairs):
                if one in self.pairs:
                    self._drop(one, rst=True)
        self._change(action)

    def fall_silent(self):
        """Present connections carry nothing any more, for ever; new ones neither until heal()."""
        def action():
            self.silent = True
            self.dead.update(self.pairs)
        self._change(action)

    def heal(self):
        def action():
            self.silent = self.refuse = False
        self._change(action)

    def close(self):
        self.ended = True
        os.write(self.wake_w, b".")
        self.join(5)
        self.reset()
        self.listener.close()
        os.close(self.wake_r)
        os.close(self.wake_w)


class Actor:
    """One process of the pipeline."""

    def __init__(self, rig, name, label, build, arguments, settings, wrap):
        self.rig, self.name, self.label = rig, name, label
        self.log = os.path.join(rig.root, label + ".log")
        environment = dict(rig.environment(), **rig.as_environment(settings))
        if name == "broker" and "POSTRIDER_BUS_BROKERS" not in rig.as_environment(settings):
            environment["POSTRIDER_BUS_BROKERS"] = rig.brokers[0]
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen([*wrap, os.path.join(build, "postrider-" + name), *arguments],
                                            env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.pid = self.process.pid

    def alive(self):
        return self.process.poll() is None

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def said(self, event):
        """Log lines of this process with the event."""
        return [line for line in self.text().splitlines() if f"event={event} " in line + " " and f"pid={self.pid} " in line]

    def ready(self, seconds=PATIENCE_S):
        def look():
            if not self.alive():
                raise AssertionError(f"{self.label} ended with {self.process.returncode}:\n{self.text()[-2000:]}")
            return any("to=ready" in line and f"pid={self.pid} " in line for line in self.text().splitlines())
        wait_for(look, seconds, f"{self.label} to be ready")
        return self

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, seconds=PATIENCE_S):
        self.process.terminate()
        return self.process.wait(seconds * PATIENCE)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


class Rig:
    """A database, a sandbox, and whatever actors the test starts."""

    def __init__(self, spec="*=prompt", settings=None, brokers=1, postgres=(), listen="127.0.0.1:0"):
        self.root = tempfile.mkdtemp(prefix="rig.", dir=os.environ.get("TEST_TMP"))
        os.chmod(self.root, 0o755)  # the cluster belongs to another user when we are root
        self.run = tempfile.mkdtemp(prefix="pr-run.", dir="/tmp")  # ipc paths must be short
        self.brokers = [f"ipc://{self.run}/b{n}" for n in range(1, brokers + 1)]
        self.settings = dict(SETTINGS, **(settings or {}))
        self.actors, self.proxies, self.sandbox, self.connection = [], [], None, None
        try:
            template = self.pg_at(os.path.join(BUILD, "pg-template"), "template", os.path.join(BUILD, "postrider"))
            self.pg("clone", template)
            self.pg("start", "fsync=off", *postgres)
            self.admin_url, self.url = self.pg("admin-url"), self.pg("url")
            self.key = os.path.join(self.root, "master.key")
            with open(self.key, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(32))
            os.chmod(self.key, 0o600)
            self.cli("migrate", "--database-url", self.admin_url, "--login", "postrider")
            self.sandbox = Program("postrider-sandbox", "--journal", os.path.join(self.root, "journal"),
                                   "--spec", spec, listen=listen)
        except BaseException:
            self.close(False)
            raise

    # -- processes --

    def as_environment(self, settings):
        return {"POSTRIDER_" + key.upper().replace(".", "_"): value for key, value in (settings or {}).items()}

    def environment(self):
        clean = {key: value for key, value in os.environ.items() if not key.startswith("POSTRIDER_")}
        return dict(clean, POSTRIDER_HOME=HOME, POSTRIDER_DATABASE_URL=getattr(self, "url", ""),
                    POSTRIDER_BUS_BROKERS=",".join(self.brokers), USER="tester",
                    POSTRIDER_MASTER_KEY_FILE=getattr(self, "key", ""), **self.as_environment(self.settings))

    def start(self, name, *arguments, label=None, build=BUILD, settings=None, wrap=(), ready=True):
        actor = Actor(self, name, label or name, build, arguments, settings, wrap)
        self.actors.append(actor)
        return actor.ready() if ready else actor

    def start_all(self, but=()):
        """{name: Actor} of one process each."""
        started = {name: self.start(name, ready=False) for name in ACTORS if name not in but}
        for actor in started.values():
            actor.ready()
        return started

    def cli(self, *arguments, check=True):
        done = subprocess.run([os.path.join(BUILD, "postrider"), *arguments], env=self.environment(), text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"postrider {' '.join(arguments)}: exit {done.returncode}: {done.stderr}")
        return done.stdout

    def pg_at(self, folder, verb, *arguments):
        done = subprocess.run([os.path.join(HOME, "scripts", "pg.sh"), verb, folder, *arguments], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise AssertionError(f"pg.sh {verb}: {done.stderr}")
        return done.stdout.strip()

    def pg(self, verb, *arguments):
        return self.pg_at(os.path.join(self.root, "pg"), verb, *arguments)

    def proxy(self, port, listen=0):
        self.proxies.append(Proxy(port, listen))
        return self.proxies[-1]

    def close(self, good):
        for actor in self.actors:
            if actor.alive():
                actor.process.kill()
                actor.process.wait()
        for proxy in self.proxies:
            proxy.close()
        if self.sandbox:
            self.sandbox.__exit__()
        if self.connection:
            self.connection.close()
        self.pg("destroy") if good else self.pg("stop", "immediate")
        shutil.rmtree(self.run, ignore_errors=True)
        if good:
            shutil.rmtree(self.root, ignore_errors=True)
        else:
            print(f"# left for a look: {self.root}", flush=True)

    # -- the database --

    def sql(self, statement):
        """Rows as superuser, on a connection that is made anew when Postgres went away."""
        if self.connection is None:
            self.connection = Pq(self.admin_url)
        try:
            return self.connection.query(statement)
        except PgError as error:
            if error.sqlstate[:2] in ("08", "57"):
                self.connection.close()
                self.connection = None
            raise

    def value(self, statement):
        return self.sql(statement)[0][0]

    def merchants(self, names, url="http://{address}/m/{name}", **options):
        """Adds them with one endpoint each; options: of `merchant add`."""
        words = [word for key, value in options.items() for word in ("--" + key.replace("_", "-"), str(value))]
        for name in names:
            self.cli("merchant", "add", name, "--url", url.format(address=self.sandbox.address, name=name), *words)
        return list(names)

    def endpoints_known(self):
        """Until the scheduler has seen every change of endpoints made so far: it has delivered to one made later (it asks for
        all changes at once). Ids of what this took."""
        name = f"later{len(self.journal())}"
        ids = self.enqueue(self.merchants([name]), 1, name)
        wait_for(lambda: self.accepted()[ids[0]], PATIENCE_S, "the scheduler to know an endpoint made later")
        return ids

    def enqueue(self, merchants, count, orders="o", columns=""):
        """count notifications in one transaction, round the merchants; their ids, as the journal writes them."""
        names = "{" + ",".join(merchants) + "}"
        rows = self.sql(
            f"select postrider.enqueue_notification(('{names}'::text[])[1 + g % {len(merchants)}], '{orders}' || g, "
            f"'payment.succeeded', jsonb_build_object('n', g){columns}) from generate_series(0, {count - 1}) g")
        return [row[0] for row in rows]

    # -- the judge --

    def temper(self, merchant, temper):
        status, _, body = self.sandbox.call("POST", "/control/temper", json.dumps({"merchant": merchant, "temper": temper}))
        assert status == 200, body

    def stats(self, merchant=None):
        """The sandbox's counts; of one merchant: its own."""
        return self.sandbox.stats(merchant)

    def journal(self):
        return [line for line in self.sandbox.pages("/control/journal") if "mark" not in line]

    def accepted(self):
        counts = collections.Counter()
        for line in self.journal():
            counts[line["notify_id"]] += bool(line["accepted"])
        return counts

    def settled(self, seconds=PATIENCE_S * 2):
        """Until no delivery is pending."""
        def none():
            try:
                return self.sql("select from postrider.notification_status where status = 'pending' limit 1") == []
            except PgError:
                return False
        wait_for(none, seconds, "every delivery to end")

    def judge(self, tap, ids, repeats=0, seconds=PATIENCE_S * 2, what="", dead=0):
        """All of ids arrived, all are on record, repeats within the bound, tokens never repeat, the invariants hold."""
        self.settled(seconds)
        counts = self.accepted()
        never = [one for one in ids if not counts[one]]
        tap.check(len(never) == dead, f"{what}nothing lost: {len(ids) - dead} accepted", f"{len(never)} not: {never[:5]}")
        strange = set(counts) - set(ids)
        tap.check(not strange, f"{what}nothing but what was committed", sorted(strange)[:5])
        again = sum(count - 1 for count in counts.values() if count > 1)
        tap.check(again <= repeats, f"{what}{again} repeats, bound {repeats}")
        statuses = dict(self.sql("select status, count(*) from postrider.notification_status group by 1"))
        want = {"delivered": str(len(ids) - dead), "dead": str(dead)}
        tap.equal(statuses, {key: value for key, value in want.items() if value != "0"}, f"{what}on record as they ended")
        tap.equal(self.sql("select outbox_id, endpoint, try, count(*) from postrider.attempt group by 1, 2, 3 having count(*) > 1"), [],
                  f"{what}no token twice")

    def in_flight(self, merchants):
        """Requests that the merchants hold unanswered now."""
        return sum((self.stats(name) or {}).get("in_flight", 0) for name in merchants)


class Supervised:
    """The topology under `postrider up`, and what the test asks of it."""

    def __init__(self, root, settings, cli=os.path.join(BUILD, "postrider")):
        self.state, self.program = os.path.join(root, "state"), cli
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("POSTRIDER_")}
        self.env.update(POSTRIDER_HOME=HOME, POSTRIDER_STATE=self.state)
        self.config = os.path.join(root, "postrider.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(settings)

    def cli(self, *arguments, check=True):
        return subprocess.run([self.program, *arguments], env=self.env, check=check, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True).stdout

    def up(self, *arguments):
        self.cli("up", "--detach", "--config", self.config, *arguments)

    def down(self):
        self.cli("down", check=False)

    def pids(self):
        """{service: pid} of what is up."""
        found = {}
        for path in glob.glob(os.path.join(self.state, "run", "service", "*")):
            out = subprocess.run(["s6-svstat", "-o", "pid", path], stdout=subprocess.PIPE, text=True, check=False).stdout
            if out.strip().lstrip("-").isdigit() and int(out) > 0:
                found[os.path.basename(path)] = int(out)
        return found

    def pg(self, *arguments):
        return subprocess.run([os.path.join(HOME, "scripts", "pg.sh"), arguments[0],
                               os.path.join(self.state, "postgres"), *arguments[1:]],
                              check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout.strip()

    def sql(self, statement):
        try:
            return self.pg("psql", "-XqAtc", statement).splitlines()
        except subprocess.CalledProcessError:
            return None  # it is being killed just now


def free_ports(count=1, apart=0):
    """The first of `count` free TCP ports in a row (and of as many, `apart` further on). None from the kernel's range for outgoing
    connections: one of those may be taken by anybody's connection while its server is being restarted."""
    while True:
        first, held = random.randrange(10000, 30000), []
        try:
            for port in [first + n + gap for gap in {0, apart} for n in range(count)]:
                held.append(socket.create_server(("127.0.0.1", port)))
            return first
        except OSError:
            continue
        finally:
            for one in held:
                one.close()


def tcp_states(port, address=None):
    """Counter of the states of this host's IPv4 TCP sockets whose remote port is port."""
    names = {"01": "ESTABLISHED", "06": "TIME_WAIT", "08": "CLOSE_WAIT"}
    found = collections.Counter()
    with open("/proc/net/tcp", encoding="ascii") as file:
        for line in file.readlines()[1:]:
            fields = line.split()
            if int(fields[2].split(":")[1], 16) == port:
                found[names.get(fields[3], fields[3])] += 1
    return found


def run(*tests, **rig_options):
    """Each test(tap, rig) gets a rig of its own. Returns the exit code."""
    tap = Tap()
    for test in tests:
        before, rig, begun = tap.failed, None, time.monotonic()
        try:
            rig = Rig(**dict(rig_options, **getattr(test, "rig", {})))
            test(tap, rig)
        except Exception:  # whatever went wrong in it is its failure
            tap.check(False, test.__doc__ or test.__name__, traceback.format_exc().replace("\n", "\n# "))
        finally:
            if rig is not None:
                rig.close(tap.failed == before)
        print(f"# {test.__name__}: {time.monotonic() - begun:.1f} s", flush=True)
    return tap.end()


def rig(**options):
    """Decorator: what the test's rig is made of."""
    def mark(test):
        test.rig = options
        return test
    return mark
