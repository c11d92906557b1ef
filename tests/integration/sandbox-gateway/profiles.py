# SPDX-License-Identifier: Apache-2.0
"""What every gateway must be able to do, asked and judged by its profile; and what each does in its own way."""
import http.client
import json

from gates import Gate
from judged import wait_for

AMOUNT = 5800

# What differs. query: it can be asked; close: an unpaid order can be closed; capture: approved by the payer, captured by us;
# other: the action on another amount under the same number; broken: what a bad signature or key is called; declined:
# the reasons of refusals; nothing_new: the evidence of the same refund again.
DIFFERENCES = {
    "sandbox": {"other": "person", "too_much": "person"},
    "wechat-v3": {"other": "person", "too_much": "person"},
    "alipay": {"other": "person", "too_much": "person", "again": ("UNKNOWN", "query_first")},
    "stripe": {"other": "person", "too_much": "query_first", "final": False},
    "adyen": {"query": False, "other": "fail_now", "too_much": "person", "final": False},
    "paypal": {"close": False, "capture": True, "other": "fail_now", "too_much": "person"},
    "generic-md5": {"other": "query_first", "too_much": "query_first"},
}
REQUESTS = {
    "stripe": '{"confirm":"true","payment_method":"pm_card_visa"}',
    "adyen": '{"paymentMethod":{"type":"scheme"}}',
    "generic-md5": '{"way_code":"ALI_QR"}',
}


class ProfileTest:
    """One gateway, from its first order to its last forgery."""

    def __init__(self, tap, box, tool, collector, profile):
        self.tap, self.profile = tap, profile
        self.own = {"query": True, "close": True, "capture": False, "again": None, "final": True,
                    **DIFFERENCES[profile]}
        self.gate = Gate(box, tool, collector, profile, "p-" + profile, request=REQUESTS.get(profile))
        if profile == "paypal":
            self.gate.token = self.gate.ask("token")["token"]

    def equal(self, got, want, name):
        return self.tap.equal(got, want, f"{self.profile}: {name}")

    def facts(self, number, **more):
        row = self.gate.row(number)
        return {"request_no": number, "order_no": number, "amount": AMOUNT,
                **({"reference": row["reference"]} if row else {}), **more}

    def charge(self, number, script="", **more):
        if self.profile == "adyen" and script and not self.gate.row(number):
            self.gate.control("script", request_no=number, script=script)  # no order number there
        return self.gate.ask("charge", **{"request_no": number, "order_no": number + script,
                                          "amount": AMOUNT, **more})

    def money(self, number):
        row = self.gate.row(number)
        return row and (row["state"], row["captured"], row["refunded"], row["times_charged"])

    def wait_paid(self, number):
        if self.own["capture"]:
            wait_for(lambda: self.gate.row(number)["state"] == "approved", what="the payer")
            self.gate.ask("capture", **self.facts(number))
        wait_for(lambda: self.gate.row(number)["state"] == "succeeded", what="the payment")

    def payment(self):
        gate, number = self.gate, "pay1"
        got = self.charge(number)
        self.tap.check(got["status"] in ("PENDING", "SUCCEEDED"), f"{self.profile}: charged", got)
        self.wait_paid(number)
        row = gate.row(number)
        self.equal(self.money(number), ("succeeded", AMOUNT, 0, 1), "the ledger has it once")
        if self.own["query"]:
            got = gate.ask("query", **self.facts(number))
            self.equal((got["status"], got["amount"], got["currency"], got["request_no"],
                        got["reference"], got["flaw"]),
                       ("SUCCEEDED", AMOUNT, "CNY", number, row["reference"], ""), "the answer agrees")
        item = wait_for(lambda: gate.heard(number, "SUCCEEDED"), what="the webhook")[0]
        self.equal((item["amount"], item["currency"], item["reference"], item["account"], item["flaw"]),
                   (AMOUNT, "CNY", row["reference"], gate.name if item["account"] else "", ""),
                   "so does the webhook")
        self.charge(number)
        got = self.charge(number, amount=AMOUNT + 1)
        self.equal((got["status"] == "SUCCEEDED", got["action"]), (False, self.own["other"]),
                   "another amount is refused")
        self.equal(self.money(number), ("succeeded", AMOUNT, 0, 1), "and nothing more was taken")

    def refusals(self):
        for reason in ("insufficient_funds", "risk_refused"):
            number = "no-" + reason[:4]
            got = self.charge(number, "~fail:" + reason)
            if self.own["capture"]:
                wait_for(lambda at=number: self.gate.row(at)["state"] == "approved", what="the payer")
                got = self.gate.ask("capture", **self.facts(number))
                reason = {"insufficient_funds": "refused"}.get(reason, reason)
            if self.profile != "generic-md5":
                self.equal((got["status"], got["reason"], got["final"]),
                           ("FAILED", reason, self.own["final"] and reason != "refused"),
                           f"refused: {reason}")
            else:
                self.equal((got["status"], got["code"]), ("FAILED", reason), f"refused: {reason}")
            taken = self.gate.row(number)
            self.equal(taken["captured"] if taken else 0, 0, "and nothing was taken")

    def refunds(self):
        gate, number = self.gate, "pay1"
        capture = {"request": '{"capture_id":"C%s"}' % gate.row(number)["reference"]}
        more = capture if self.profile == "paypal" else {}

        def refund(refund_no, amount):
            return gate.ask("refund", **self.facts(number, refund_no=refund_no, refund_amount=amount,
                                                   **more))

        first = refund("ref1", 1000)
        self.equal((first["object"], first["status"] in ("PENDING", "SUCCEEDED")), ("refund", True),
                   "a refund is taken")
        wait_for(lambda: gate.row(number)["refunded"] == 1000, what="the refund")
        again = refund("ref1", 1000)
        if self.own["again"]:
            self.equal((again["status"], again["action"]), self.own["again"], "nothing moves again")
        reference = gate.row(number)["refunds"][0]["reference"]
        if self.own["query"]:
            got = gate.ask("query_refund", **self.facts(number, refund_no="ref1",
                                                        refund_reference=reference))
            self.equal((got["status"], got["refund_amount"]), ("SUCCEEDED", 1000), "it can be asked for")
        if self.profile != "alipay":  # a notification of a trade, with what went back in all
            item = wait_for(lambda: gate.heard("ref1", "SUCCEEDED"), what="the refund's webhook")[0]
            self.equal((item["object"], item["refund_amount"], item["refund_reference"]),
                       ("refund", 1000, reference), "its webhook agrees")
        else:
            item = wait_for(lambda: gate.heard(number, "PARTIALLY_REFUNDED"), what="its webhook")[0]
            self.equal((item["refunded"], item["amount"]), (1000, AMOUNT), "its webhook agrees")
        got = refund("ref2", AMOUNT)
        self.equal((got["status"] == "SUCCEEDED", got["action"]), (False, self.own["too_much"]),
                   "more than is left is refused")
        self.equal(self.money(number), ("succeeded", AMOUNT, 1000, 1), "the ledger agrees")
        refund("ref3", AMOUNT - 1000)
        wait_for(lambda: gate.row(number)["refunded"] == AMOUNT, what="the second refund")

    def closing(self):
        gate, number = self.gate, "open1"
        got = self.charge(number, "~unpaid")
        self.equal(got["status"], "PENDING", "unpaid")
        if not self.own["close"]:
            return
        gate.ask("close", **self.facts(number))
        self.equal(gate.row(number)["state"], "cancelled", "closed at the gateway")
        if self.own["query"]:
            self.equal(gate.ask("query", **self.facts(number))["status"], "CANCELLED", "and it says so")
        got = gate.ask("close", **self.facts("pay1"))
        self.tap.check(got["status"] != "CANCELLED", f"{self.profile}: what is paid is not closed", got)
        self.equal(gate.row("pay1")["state"], "succeeded", "nor at the gateway")

    def trouble(self):
        actions = {"429": "back_off", "500": "query_first", "401": "stop_channel", "502": "query_first"}
        for fault, action in actions.items():
            number = "tr" + fault
            got = self.charge(number, f"~charge:{fault}")
            self.equal((got["status"], got["action"], self.gate.row(number)),
                       ("UNKNOWN", action, None), f"{fault} instead of a charge")
        number = "trdrop"
        try:
            self.charge(number, "~charge:drop!")
            self.tap.check(False, f"{self.profile}: no answer")
        except (ConnectionError, http.client.HTTPException):
            pass
        self.charge(number, "~charge:drop!")
        self.wait_paid(number)
        self.equal(self.money(number), ("succeeded", AMOUNT, 0, 1),
                   "no answer, the same request again: charged once")

    def refused(self):
        """By all gateways together: a wrong key names no account."""
        return json.loads(self.gate.box.call("GET", "/control/gateway/stats")[2])["refused"]

    def forgery(self):
        gate = self.gate
        before = self.refused()
        made = gate.build("charge", {"request_no": "forged1", "order_no": "forged1", "amount": AMOUNT})
        if self.profile in ("stripe", "adyen", "paypal"):  # nothing is signed: a key says who asks
            name = "X-API-Key" if self.profile == "adyen" else "Authorization"
            made["headers"][name] = made["headers"][name][:-1]
        else:
            made["body"] = made["body"].replace(b"forged1", b"forged2")
        got = gate.judge(made, gate.send(made))
        self.equal((got["action"], gate.row("forged1"), gate.row("forged2")),
                   ("stop_channel", None, None), "a request that is not the merchant's is refused")
        self.equal(self.refused(), before + 1, "and counted")
        self.charge("unpaid1", "~unpaid~forge")
        wait_for(lambda: any(one["verdict"] == "refused" for one in gate.webhooks()),
                 what="the forged webhook")
        self.equal((gate.heard("unpaid1", "SUCCEEDED"), self.money("unpaid1")),
                   ([], ("pending", 0, 0, 0)), "a forged success does not verify")
        bad = [one["reason"] for one in gate.webhooks() if one["verdict"] == "refused"]
        self.equal(bad, ["bad_signature"], "it is the only webhook that does not")

    def run(self):
        self.payment()
        self.refusals()
        self.refunds()
        self.closing()
        self.trouble()
        self.forgery()
        stats = self.gate.stats()
        self.equal([stats[key] for key in ("double_charged", "double_orders", "double_refunded")],
                   [0, 0, 0], "nothing moved twice")
        rows = [row for row in self.gate.box.pages("/control/gateway/ledger?account=" + self.gate.name)]
        self.equal((stats["charged_minor"], stats["refunded_minor"]),
                   (sum(row["charged_sum"] for row in rows), sum(row["refunded"] for row in rows)),
                   "sums are those of the rows")
