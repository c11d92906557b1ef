# SPDX-License-Identifier: Apache-2.0
"""The topology in a directory of its own with merchants, an application, and what each of them saw."""
import collections
import glob
import os
import struct
import subprocess
import sys
import uuid

HOME = os.environ.get("POSTRIDER_HOME") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.environ.get("BUILD_DIR", os.path.join(HOME, "build", "release"))
sys.path.insert(0, os.path.join(HOME, "tests", "support"))
from judged import wait_for  # noqa: E402

CLI = os.path.join(BUILD, "postrider")
Receipt = collections.namedtuple("Receipt", "first_us count hangs")


class World:
    def __init__(self, root, config):
        self.root, self.state = root, os.path.join(root, "state")
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("POSTRIDER_")}
        self.env.update(POSTRIDER_HOME=HOME, POSTRIDER_STATE=self.state)
        self.config = os.path.join(root, "postrider.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(config)

    def run(self, *argv, **more):
        return subprocess.run(argv, env=dict(self.env, **more), check=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True).stdout

    def cli(self, *arguments):
        return self.run(CLI, *arguments)

    def __enter__(self):
        self.cli("up", "--detach", "--config", self.config)
        self.url, self.admin = self.pg("url"), self.pg("admin-url")
        return self

    def __exit__(self, *_):
        subprocess.run([CLI, "down"], env=self.env, check=False, stdin=subprocess.DEVNULL)

    def pg(self, verb):
        return self.run(os.path.join(HOME, "scripts", "pg.sh"), verb, os.path.join(self.state, "postgres")).strip()

    def sql(self, statement):
        """Rows of text, as superuser."""
        out = self.run("psql", "-XqAtF|", "-v", "ON_ERROR_STOP=1", self.admin, "-c", statement)
        return [line.split("|") for line in out.splitlines()]

    def number(self, statement):
        return float(self.sql(statement)[0][0])

    def merchant(self, name, url, *options):
        self.cli("merchant", "add", name, "--url", url, *options)

    def enqueue(self, select):
        """One transaction; `select` gives merchant, order number and class."""
        self.sql("SELECT count(postrider.enqueue_notification(m, o, 'payment.succeeded', '{}', priority => c)) "
                 f"FROM ({select}) AS s(m, o, c)")

    def offer(self, name, merchant, klass, rate, seconds):
        """An open loop: `rate` transactions a second, each at its own time (pgbench --rate), whose
        merchant is the SQL expression `merchant` over :n, 0 to 99999, at random. acknowledged() tells of them."""
        script = os.path.join(self.root, name + ".pgbench")
        with open(script, "w", encoding="ascii") as file:
            file.write(f"\\set n random(0, 99999)\nSELECT postrider.enqueue_notification({merchant}, '{name}-' || :client_id || '-' || :n, "
                       f"'payment.succeeded', '{{}}', priority => {klass});\n")
        pgbench = self.run("sh", "-c", "ls -d /usr/lib/postgresql/*/bin/pgbench | tail -n 1").strip()
        return subprocess.Popen([pgbench, "-n", "-M", "prepared", "-c", "4", "-R", str(rate), "-t", str(rate * seconds // 4),
                                 "-f", script, "--log", "--log-prefix", script, "--", self.url], env=dict(self.env, PGOPTIONS="-c role=postrider_app"),
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def committed(self, where):
        """{notify_id: begin of its transaction, us}, of the outbox."""
        return {key: int(at) for key, at in self.sql(
            f"SELECT notify_id, (extract(epoch FROM at) * 1000000)::bigint FROM postrider.outbox WHERE {where}")}

    def acknowledged(self, name, where="true"):
        """{notify_id: when the application heard of its commit, us}, of the offer `name`. How long a commit waits for the disk
        is the application's affair and Postgres', and on a shared disk 20 to 90 ms at times."""
        ends = collections.defaultdict(list)  # of each client, in its order: client, number, latency, script, s, us
        for path in glob.glob(os.path.join(self.root, name + ".pgbench.*")):
            with open(path, encoding="ascii") as file:
                for line in file:
                    fields = line.split()
                    ends[fields[0]].append(int(fields[4]) * 1000000 + int(fields[5]))
        begun = collections.Counter()
        found = {}
        for key, order_no, wanted in self.sql(f"SELECT notify_id, order_no, {where} FROM postrider.outbox "
                                              f"WHERE order_no LIKE '{name}-%' ORDER BY id"):
            client = order_no.rsplit("-", 2)[1]
            if wanted == "t":
                found[key] = ends[client][begun[client]]
            begun[client] += 1
        assert {client: len(times) for client, times in ends.items()} == dict(begun), "each transaction of the offer was logged"
        return found

    def pid(self, service):
        return int(self.run("s6-svstat", "-o", "pid", os.path.join(self.state, "run", "service", service)))

    def memory_kb(self, service, key):
        with open(f"/proc/{self.pid(service)}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(key + ":"))


def receipts(receiver, path):
    """{notify_id: Receipt}, of postrider-receiver's record as of now."""
    if os.path.exists(path):
        os.unlink(path)
    receiver.process.send_signal(10)  # SIGUSR1
    wait_for(lambda: os.path.exists(path), what="the receiver's record")
    with open(path, "rb") as file:
        return {str(uuid.UUID(bytes=row[0])): Receipt(row[1], row[2], row[3] & 1)
                for row in struct.iter_unpack("<16sqII", file.read())}


def await_all(receiver, path, wanted, seconds=60):
    """Until every id of wanted has a receipt."""
    seen = {}

    def there():
        seen.clear()
        seen.update(receipts(receiver, path))
        return all(key in seen for key in wanted)
    wait_for(there, seconds, f"{len(wanted)} deliveries")
    return seen


def p99_ms(committed, seen):
    late = sorted(seen[key].first_us - at for key, at in committed.items())
    return late[len(late) * 99 // 100] / 1000


def median(values):
    return sorted(values)[len(values) // 2]
