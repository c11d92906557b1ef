# SPDX-License-Identifier: Apache-2.0
"""Statements: what the sandbox's gateways write down of a day, fetched as a profile says and read by
lib/statement, agrees with the ledger; and what was planted in it is found where it was planted."""
import datetime
import time

from gates import Gate
from judged import wait_for

AMOUNT = 5800
REQUESTS = {"stripe": '{"confirm":"true","payment_method":"pm_card_visa"}'}

# zone: of the day; proof: of a whole file; state: a word to plant, and what it is read as; faults: planted at all
CASES = [
    ("wechat-v3", "trade", {"zone": 8, "state": ("REVOKED", "CANCELLED"), "faults": True}),
    ("wechat-v3", "funds", {"zone": 8}),
    ("alipay", "trade", {"zone": 8, "faults": True}),
    ("alipay", "account", {"zone": 8}),
    ("stripe", "balance", {"state": ("charge_failure", "FAILED"), "faults": True,
                           "proof": "not_given", "open": "not_given"}),
    ("sandbox", "csv", {"state": ("pending", "PENDING"), "faults": True}),
    ("sandbox", "camt", {"state": ("PDNG", "PENDING"), "faults": True}),
]
NUMBERS = ["plain", "refunded", "missing", "amount", "state", "twice", "bad", "shifted"]


class StatementTest:
    """One kind of statement of one gateway."""

    def __init__(self, tap, gate, statement, own):
        self.tap, self.gate, self.statement = tap, gate, statement
        self.own = {"zone": 0, "proof": "proved", "open": "open", **own}

    def equal(self, got, want, name):
        return self.tap.equal(got, want, f"{self.gate.profile} {self.statement}: {name}")

    def tool(self, do, **more):
        return self.gate.tool.ask(do, self.gate.profile, self.gate.parameters, int(time.time()),
                                  statement=self.statement, **more)

    def date_of(self, us):
        zone = datetime.timezone(datetime.timedelta(hours=self.own["zone"]))
        return datetime.datetime.fromtimestamp(us / 1e6, zone).date()

    def days(self):
        """The days of the payments: one, or two when the test runs at midnight."""
        return sorted({self.date_of(self.gate.row(number)["paid_us"]) for number in NUMBERS} |
                      {self.date_of(time.time() * 1e6)})

    def link(self, date):
        """What the gateway says of a day: evidence."""
        request = self.tool("request", date=str(date))["request"]
        evidence = self.gate.ask("statement", request=request)
        while evidence["status"] == "PENDING":
            evidence = self.gate.ask("statement_again", reference=evidence["reference"])
        return evidence

    def fetch(self, date):
        """(status, what was read of it, evidence)"""
        evidence, target = None, ""
        if self.gate.profile != "sandbox":
            evidence = self.link(date)
            if evidence["status"] != "SUCCEEDED":
                return evidence["status"], None, evidence
            base = f"http://{self.gate.box.host}:{self.gate.box.port}"
            found = self.tool("link", base_url=base, url=evidence["next_action"])
            self.tap.equal(found.get("origin"), base, "its link leads to the gateway itself")
            target = found["target"]
        made = self.gate.build("statement_file", {
            "request": self.tool("request", date=str(date), target=target)["request"]})
        answer = self.gate.send(made)
        if answer[0] != 200:
            return self.gate.judge(made, answer)["status"], None, evidence
        return "SUCCEEDED", self.tool("statement", body=answer[2]), evidence

    def read(self, shift=0):
        """Records of all days (by number), bad rows, the worst proof."""
        records, bad, proofs = {}, [], set()
        for day in self.days():
            status, got, evidence = self.fetch(day + datetime.timedelta(days=shift))
            if status == "NOT_FOUND":
                continue
            if "error" in got:
                raise RuntimeError(got["error"])
            if evidence and evidence["digest"]:
                self.equal(got["sha1"], evidence["digest"], "the hash is that of the unpacked file")
            for record in got["records"]:
                number = record["refund_no"] or record["request_no"]
                if record["kind"] == "refund" and self.statement == "account":
                    number = "refunded-1"  # Alipay names the order only
                records.setdefault(number, []).append(record)
            bad += got["bad"]
            proofs.add(got["proof"])
        return records, bad, proofs

    def expected(self):
        want = {number: [("payment", "SUCCEEDED", AMOUNT)] for number in NUMBERS}
        return {**want, "refunded-1": [("refund", "SUCCEEDED", 800)]}

    @staticmethod
    def short(records):
        return {number: [(one["kind"], one["state"], one["amount"]) for one in rows]
                for number, rows in records.items()}

    def whole(self):
        records, bad, proofs = self.read()
        self.equal(self.short(records), self.expected(), "it is what the ledger says")
        self.equal((bad, proofs), ([], {self.own["proof"]}), "every row is read, the totals proved")
        row, one = self.gate.row("plain"), records["plain"][0]
        self.equal((one["reference"], one["occurred_us"] // 1000000),
                   (row["reference"], row["paid_us"] // 1000000), "with number and time")

    def plant(self, number, plant, **more):
        key = "refund_no" if number == "refunded-1" else "request_no"
        self.gate.control("statement", **{key: number}, plant=plant, **more)

    def faults(self):
        plants = {"missing": "missing", "amount": "amount:5801", "twice": "duplicate", "bad": "bad",
                  "shifted": "shift"}
        if "state" in self.own:
            plants["state"] = "state:" + self.own["state"][0]
        for number, plant in plants.items():
            self.plant(number, plant)
        self.plant("stranger", "extra:123", date=str(self.days()[0]), currency="CNY")
        want = self.expected()
        for number in ("missing", "bad", "shifted"):
            del want[number]
        want["amount"] = [("payment", "SUCCEEDED", 5801)]
        want["twice"] = 2 * want["twice"]
        want["stranger"] = [("payment", "SUCCEEDED", 123)]
        if "state" in self.own:
            want["state"] = [("payment", self.own["state"][1], AMOUNT)]
        records, bad, proofs = self.read()
        self.equal(self.short(records), want, "each planted fault, and nothing else")
        self.equal((bad, proofs - {"proved"}), (["amount"], {self.own["open"]} - {"proved"}),
                   "a bad row, which leaves the sums open")
        late = self.short(self.read(shift=1)[0])
        self.equal(late.get("shifted"), [("payment", "SUCCEEDED", AMOUNT)], "and a day later the late one")
        for number in [*plants, "stranger"]:
            self.plant(number, "")
        self.equal(self.short(self.read()[0]), self.expected(), "all of it taken back")

    def empty(self):
        day = datetime.date(2020, 2, 29)
        status, got, _ = self.fetch(day)
        want = ("SUCCEEDED", []) if self.gate.profile == "stripe" else ("NOT_FOUND", None)
        self.equal((status, got and got["records"]), want, "a day without trades")


def make_orders(gate):
    for number in NUMBERS:
        gate.ask("charge", request_no=number, order_no=number, amount=AMOUNT)
    wait_for(lambda: all(gate.row(number)["state"] == "succeeded" for number in NUMBERS),
             what="the payments")
    gate.ask("refund", request_no="refunded", refund_no="refunded-1", refund_amount=800,
             amount=AMOUNT, reference=gate.row("refunded")["reference"])
    wait_for(lambda: gate.row("refunded")["refunds"][0]["state"] == "succeeded", what="the refund")


def test_links(tap, gate):
    """A link is of one account and lasts for some time; forged ones open nothing."""
    made = gate.build("statement_file", {"request": '{"target":"/alipay/bill?token=trade.2026-11-29.1.1.0"}'})
    tap.equal(gate.send(made)[0], 403, "alipay: a forged link opens nothing")
    status, _, body = gate.box.call("POST", "/control/gateway/statement",
                                    '{"account":"%s","request_no":"x","plant":"burn"}' % gate.name)
    tap.equal((status, b"missing, duplicate" in body), (400, True), "a fault that is none is refused")


def test_all(tap, box, tool, collector):
    gates = {}
    for profile, statement, own in CASES:
        if profile not in gates:
            gates[profile] = Gate(box, tool, collector, profile, "bills-" + profile,
                                  request=REQUESTS.get(profile))
            make_orders(gates[profile])
        test = StatementTest(tap, gates[profile], statement, own)
        test.whole()
        if own.get("faults"):
            test.faults()
        test.empty()
    test_links(tap, gates["alipay"])
