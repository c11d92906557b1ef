# SPDX-License-Identifier: Apache-2.0
"""Several connections for tests of tests/sql: psql processes driven through pipes, and TAP.

Session(name).run(sql) waits for the answer: a list of rows, each a list of text; raises PgError(sqlstate, text).
Session.send(sql) does not wait; .done() tells whether the answer is there, .wait() gets it. Nothing here sleeps for a fixed time:
until(condition) polls with a deadline.
"""
import os
import re
import select
import subprocess
import time

HOME = os.environ["PR_SQL_HOME"]
URL = os.environ["PR_SQL_URL"]
DB = os.environ["PR_SQL_DB"]
DIR = os.environ["PR_SQL_DIR"]
MARK = "~~done~~"


def url_of(database, url=URL):
    return re.sub(r"^(postgres(ql)?://[^/]*)/[^?]*", lambda m: m.group(1) + "/" + database, url)


LOGIN = "postrider_test_login"


def actor_url():
    """The cluster's URL for an ordinary login that may take the actors' roles (made by run.sh)."""
    if re.search(r"[?&]user=", URL):
        return re.sub(r"([?&]user=)[^&]*", r"\1" + LOGIN, URL)
    return re.sub(r"//([^@/]*@)?", "//" + LOGIN + "@", URL, count=1)


class PgError(Exception):
    def __init__(self, sqlstate, text):
        super().__init__(text)
        self.sqlstate = sqlstate


class Session:
    def __init__(self, database=DB, url=URL, options=""):
        env = dict(os.environ, PGOPTIONS="--client-min-messages=warning " + options, PGAPPNAME="test")
        self.psql = subprocess.Popen(["psql", "-qAtX", "-F", "\t", "-v", "VERBOSITY=verbose", "-d", url_of(database, url)],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env)
        os.set_blocking(self.psql.stdout.fileno(), False)
        self.buffer = ""
        self.pid = int(self.run("SELECT pg_backend_pid()")[0][0])

    def send(self, sql):
        assert MARK not in self.buffer
        self.buffer = ""
        self.psql.stdin.write((sql.rstrip().rstrip(";") + ";\n\\echo " + MARK + "\n").encode())
        self.psql.stdin.flush()

    def done(self, timeout=0.0):
        """True when the answer is there (or the process has ended)."""
        deadline = time.monotonic() + timeout
        while MARK not in self.buffer:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self.psql.stdout], [], [], left)[0]:
                return False
            chunk = os.read(self.psql.stdout.fileno(), 1 << 20)
            if not chunk:
                return True
            self.buffer += chunk.decode()
        return True

    def wait(self, timeout=180.0):
        assert self.done(timeout), "no answer within %g s" % timeout
        text, mark, self.buffer = self.buffer.partition(MARK + "\n")
        error = re.search(r"(?:ERROR|FATAL):  (\w{5}): (.*)", text)
        if error:
            raise PgError(error.group(1), text)
        if not mark:
            raise PgError("lost", text)
        return [line.split("\t") for line in text.split("\n") if line]

    def run(self, sql, timeout=180.0):
        self.send(sql)
        return self.wait(timeout)

    def value(self, sql):
        return self.run(sql)[0][0]

    def fails(self, sql):
        """The SQLSTATE that it is refused with; '' when it is not."""
        try:
            self.run(sql)
            return ""
        except PgError as error:
            return error.sqlstate

    def close(self):
        if self.psql.poll() is None:
            self.psql.stdin.close()
            self.psql.wait(120)
        self.psql.stdout.close()


def statement(actor, name):
    with open(os.path.join(HOME, "sql/queries", actor, name + ".sql")) as file:
        return file.read()


def until(condition, what, timeout=120.0):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "waited in vain: " + what
        time.sleep(0.005)


def blocked(admin, session):
    """Does that session wait for a lock?"""
    return admin.value("SELECT coalesce(wait_event_type = 'Lock', false) FROM pg_stat_activity WHERE pid = %d" % session.pid) == "t"


count = 0


def ok(good, name, note=""):
    global count
    count += 1
    print("%s %d - %s" % ("ok" if good else "not ok", count, name), flush=True)
    if not good and note != "":
        print("#   " + str(note).replace("\n", "\n#   "), flush=True)


def is_(got, wanted, name):
    ok(got == wanted, name, "got %r, wanted %r" % (got, wanted))


def finish():
    print("1..%d" % count)
