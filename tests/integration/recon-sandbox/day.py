# SPDX-License-Identifier: Apache-2.0
"""A day in the sandbox, on the real processes: payments are charged through the API, one day of them passes (both books are made older), and its
statement, in which every kind of difference was planted, is downloaded. PR_DAY says how many payments."""
import collections
import datetime
import json
import os
import subprocess
import time

from judged import wait_for
from payments import quoted
from topology import BUILD, PATIENCE_S

SIZE = int(os.environ.get("PR_DAY", "300"))
EACH = max(2, min(100, SIZE // 150))                              # planted of each kind; a channel holds a file of over 1000
LONG_S = PATIENCE_S * 2 + SIZE / 20
UNKNOWN = "~charge:500!~query:500*~lost"                          # paid there, and nobody tells
PLANTS = {"missing": "missing", "amount": "amount:1", "state": "state:failed", "twice": "duplicate", "bad": "bad", "late": "shift:1", "edge": "shift:1"}
REFUNDS = ("back", "lost")                                        # a refund that is in the statement; one that is not
NOON_S, EDGE_S = 12 * 3600, 23 * 3600 + 1800


def day(n):
    """n days ago, UTC: whole days only are reconciled, so the sandbox's day is the one before yesterday."""
    return datetime.datetime.now(datetime.timezone.utc).date() - datetime.timedelta(days=n)


def recon(it, *arguments, fails=False):
    """What the command says as JSON; with fails: what it complains of."""
    done = subprocess.run([os.path.join(BUILD, "postrider"), "recon", *arguments, "--json"], env=it.environment(), text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if fails:
        assert done.returncode == 1, (done.returncode, done.stdout, done.stderr)
        return done.stderr + done.stdout
    assert done.returncode == 0, (arguments, done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


class Day:
    def __init__(self, tap, it, books):
        self.tap, self.it, self.books = tap, it, books
        self.date, self.next_date = str(day(2)), str(day(1))
        self.kinds = {kind: [f"{kind}{n}" + (UNKNOWN if kind == "unknown" else "") for n in range(EACH)]
                      for kind in ("unknown", *PLANTS, *REFUNDS, "undelivered")}
        plain = SIZE - sum(map(len, self.kinds.values()))
        self.kinds["plain"] = [f"plain{n}" for n in range(plain)]
        self.numbers = {}                                         # order -> our number at the gateway

    # -- the day --

    def charge(self):
        orders = [order for kind in self.kinds.values() for order in kind]
        for at in range(0, len(orders), 500):
            rows = ",".join(f"({quoted(order)})" for order in orders[at:at + 500])
            self.it.sql(f"select count(postrider.submit_payment('m1', v.o, 'c1', 1000 + length(v.o), 'CNY')) from (values {rows}) as v (o)")
        self.numbers = dict(self.it.sql("select order_no, request_no from postrider.payment where channel = 'c1'"))
        open_ones = "select count(*) from postrider.payment where channel = 'c1' and state in ('created', 'processing')"
        wait_for(lambda: int(self.it.value(open_ones)) == EACH, LONG_S, "payments to end")
        unknown = [self.numbers[order] for order in self.kinds["unknown"]]
        wait_for(lambda: all(self.books.ledger("c1").get(number, {}).get("captured") for number in unknown), LONG_S, "money that nobody knows of")
        for kind in REFUNDS:
            for order in self.kinds[kind]:
                self.it.sql(f"select postrider.refund_payment(id, 'R1', 300) from postrider.payment where order_no = {quoted(order)}")
        wait_for(lambda: self.it.value("select count(*) from postrider.refund where state = 'succeeded'") == str(2 * EACH), LONG_S, "refunds to end")
        self.tap.equal(self.books.stats()["double_charged"], 0, f"{SIZE} payments charged through the API, each once")

    def pass_by(self):
        """Both books: noon of the day; those of the day's edge at half past eleven at night. The edges of what happened stay in order."""
        midnight = datetime.datetime.fromisoformat(self.date + "T00:00:00+00:00").timestamp()
        ago = int(time.time() - midnight - NOON_S)
        self.books.control("age", seconds=ago)
        edge = ",".join(quoted(order) for order in self.kinds["edge"])
        self.it.sql("alter table postrider.payment disable trigger user")
        older = ", ".join(f"{column} = {column} - interval '{ago} s' + case when order_no in ({edge}) then interval '{EDGE_S - NOON_S} s' else '0' end"
                          for column in ("created_at", "paid_at", "final_at"))
        self.it.sql(f"update postrider.payment set {older} where channel = 'c1'")
        self.it.sql("alter table postrider.payment enable trigger user")
        self.it.sql(f"update postrider.refund set final_at = final_at - interval '{ago} s' where final_at is not null")
        for order in self.kinds["edge"]:
            self.books.control("age", request_no=self.numbers[order], seconds=NOON_S - EDGE_S)
        undelivered = ",".join(quoted(order) for order in self.kinds["undelivered"])
        self.it.cli("recon", "delivery", "m1", "--grace", "1h")
        self.it.sql(f"update postrider.fulfilment_rule set since = '{self.date}'")
        self.it.sql(f"select count(postrider.report_fulfilment('m1', order_no, 'delivered')) from postrider.payment "
                    f"where channel = 'c1' and state = 'succeeded' and order_no not in ({undelivered})")

    def plant(self):
        for kind, plant in PLANTS.items():
            for order in self.kinds[kind]:
                self.books.control("statement", request_no=self.numbers[order], plant=plant)
        for n in range(EACH):
            self.books.control("statement", request_no=f"stranger{n}", plant="extra:777", date=self.date)
        lost = ",".join(quoted(order) for order in self.kinds["lost"])
        for (number,) in self.it.sql("select r.gateway_no from postrider.refund r join postrider.payment p on p.id = r.payment_id "
                                     f"where p.order_no in ({lost})"):
            self.books.control("statement", refund_no=number, plant="missing")

    # -- what is found --

    def found(self, where="true"):
        return collections.Counter(tuple(row) for row in self.it.sql(
            f"select class, kind, coalesce(order_no, '-') from postrider.recon_differences where {where}"))

    def planted(self):
        """(class, of what, order): once each."""
        want = [("unpaid_here", "payment", order) for order in self.kinds["unknown"]]
        want += [("missing_there", "payment", order) for kind in ("missing", "bad", "late") for order in self.kinds[kind]]
        want += [("missing_there", "refund", order) for order in self.kinds["lost"]]
        want += [("amount", "payment", order) for order in self.kinds["amount"]] + [("state", "payment", order) for order in self.kinds["state"]]
        want += [("duplicate", "payment", order) for order in self.kinds["twice"]]
        want += [("missing_here", "payment", "-")] * EACH
        return collections.Counter(want)

    def reconcile(self):
        begun = time.monotonic()
        said = recon(self.it, "run", "--channel", "c1", "--date", self.date, "--source", "download", "--wait", "1h")
        print(f"# asked, downloaded, imported and matched in {time.monotonic() - begun:.1f} s: {said['rows']} rows", flush=True)
        agree = len(self.kinds["plain"]) + len(self.kinds["undelivered"]) + 4 * EACH   # twice, and those with refunds; refunds
        self.tap.equal((said["status"], said["bad"], said["waiting"], said["matched"], said["proof"]), ("matched", EACH, EACH, agree, "open"),
                       "the statement is downloaded: its bad rows in quarantine, the day's edge waits, all the others agree")
        got, want = self.found("kind <> 'delivery'"), self.planted()
        self.tap.equal((got - want, want - got), (collections.Counter(), collections.Counter()),
                       f"{sum(want.values())} planted differences: each is found and classified, none is invented")
        rows = recon(self.it, "rows")
        self.tap.check(all("#REF!" in row["raw"] and row["reason"] == "amount" for row in rows) and len(rows) == EACH, "bad rows with their text and why", rows[:2])
        wait_for(lambda: len(self.found("kind = 'delivery'")) >= EACH, LONG_S, "late deliveries to be found")
        self.tap.equal(self.found("kind = 'delivery'"), collections.Counter(("not_delivered", "delivery", order) for order in self.kinds["undelivered"]),
                       "goods that are not out: those, and no others")

    # -- what becomes of it --

    def settle(self):
        """The channel finds its voice again, and the next day's statement comes by the schedule."""
        for order in self.kinds["unknown"]:
            self.books.control("script", request_no=self.numbers[order], script="~pay")
        self.it.cli("recon", "set", "c1", "--source", "download", "--starts", self.next_date, "--ready", "0s", "--late", "0s")
        due = f"select 1 from postrider.recon_files where channel = 'c1' and statement_date = '{self.next_date}' and status = 'matched'"
        wait_for(lambda: self.it.sql(due), LONG_S, "the next day's statement by the schedule")
        busy = "select 1 from postrider.compensation_tasks where status in ('WAITING', 'PROCESSING', 'RETRY') limit 1"
        wait_for(lambda: not self.it.sql(busy), LONG_S, "tasks to end, or to reach a person")

    def ends(self):
        rows = self.it.sql("select class, kind, coalesce(order_no, '-'), status, task_type, task_status from postrider.recon_differences")
        seen = collections.defaultdict(collections.Counter)
        kind_of = {order: kind for kind, orders in self.kinds.items() for order in orders}
        for _, _, order, *rest in rows:
            seen[kind_of.get(order, "stranger")][tuple(rest)] += 1
        person = {("open", "difference_review", "MANUAL"): EACH}
        want = {kind: person for kind in ("missing", "bad", "amount", "state", "twice", "lost", "stranger")}
        want["undelivered"] = {("open", "delivery", "MANUAL"): EACH}
        for kind, what in want.items():
            self.tap.equal(dict(seen[kind]), what, f"{kind}: waits for a person")
        self.tap.check({key[0] for key in seen["unknown"]} <= {"repaired", "explained"}, "unknown: the channel was asked again, by the task or by its own plan", seen["unknown"])
        self.tap.equal({key[0] for key in seen["late"]}, {"explained"}, "late: the next day's statement has it")
        self.tap.equal(set(seen) - set(want) - {"unknown", "late"}, set(), "nothing else differs")
        self.tap.equal(self.it.value("select count(*) from postrider.recon_pool"), "0", "nobody waits at the day's edge any more")
        reasons = self.it.sql("select distinct t.biz_type, t.last_error_code, t.last_error_message like '%asked again%' from postrider.task t "
                              "join postrider.recon_difference d on d.task_id = t.id where t.state = 'MANUAL' and d.class in ('missing_there', 'state')")
        self.tap.check(reasons and all(row[2] == "t" for row in reasons), "what the channel could explain was asked first, and says so", reasons)
        self.tap.equal(self.it.value("select count(*) from postrider.payment where channel = 'c1' and state <> 'succeeded'"), "0", "every payment has ended")
        ids = [int(row[0]) for row in self.it.sql("select id from postrider.payment where channel = 'c1'")]
        self.books.balance(self.tap, ids, "at the end of the day: ")

    def again(self):
        """A run that is made again."""
        state = ("select (select count(*) from postrider.recon_difference), (select count(*) from postrider.task), (select count(*) from postrider.task_log), "
                 "(select count(*) from postrider.recon_match), (select count(*) from postrider.recon_file)")
        before = self.it.sql(state)
        recon(self.it, "run", "--channel", "c1", "--date", self.date)
        text = recon(self.it, "run", "--channel", "c1", "--date", self.date, "--source", "download", fails=True)
        self.tap.check("is here" in text and "--correct" in text, "asked for again, it is known", text)
        text = recon(self.it, "run", "--channel", "c1", "--date", self.date, "--source", "download", "--correct", fails=True)
        self.tap.check("these bytes are here already" in text, "fetched again, its bytes are", text)
        self.tap.equal(self.it.sql(state), before, "a second run finds nothing new, and changes nothing")


def a_day(tap, it, books):
    one = Day(tap, it, books)
    one.charge()
    one.pass_by()
    one.plant()
    it.start("reconciler")
    one.reconcile()
    one.settle()
    one.ends()
    one.again()
