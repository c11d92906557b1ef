# SPDX-License-Identifier: Apache-2.0
"""For tests of payments: a channel at the sandbox's own gateway, the actors that serve it, and both sides' books.

    books = Payments(rig)               an account at the gateway, the channel c1 for it, merchants m1 (and the sandbox's secret)
    books.start()                       ingress, gateway-scheduler, gateway-poller, charger and the notifiers' actors
    books.ledger()                      what the gateway really did, by the request's number
    books.webhook(event)                one that the test signs itself, to ingress

The judge is the gateway's ledger and the merchants' journal, beside Postrider's tables, never those alone.
"""
import collections
import hashlib
import hmac
import http.client
import json
import os
import secrets
import time

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from topology import PATIENCE_S, PgError, Pq, free_ports, wait_for

FINAL = ("succeeded", "failed", "cancelled")
ALL = ["broker", "ingress", "gateway-scheduler", "gateway-poller", "charger", "circuit-breaker", "dead-letter", "outbox-relay", "scheduler",
       "notifier"]
DAY_MS = 86400000
SETTINGS = {"ingress.wrong_burst": "100000", "ingress.max_per_address": "10000"}


def quoted(value):
    """As a literal of SQL."""
    return "'" + (value if isinstance(value, str) else json.dumps(value)).replace("'", "''") + "'"


def refused(ask, statement):
    """The SQLSTATE that the statement is refused with; its value if it is not."""
    try:
        return ask(statement)[0][0]
    except PgError as error:
        return error.sqlstate


class Payments:
    def __init__(self, rig, merchants=("m1",)):
        self.rig, self.port, self.actors = rig, free_ports(), {}
        rig.settings.update(SETTINGS, **{"ingress.listen": f"127.0.0.1:{self.port}"})
        rig.sql(f"select postrider.configure_payments({rig.settings['time_scale']}, '')")
        rig.merchants(merchants)
        self.secrets = {}
        self.channel("c1")

    def channel(self, name, account=None, **settings):
        """A channel with an account of its own, called as it. Nothing expires while a test runs, unless it says so."""
        account = account or name
        made = self.control("account", account=account, notify_url=f"http://127.0.0.1:{self.port}/v1/webhooks/{name}")
        self.secrets[name] = made["parameters"]["secret"].encode()
        parameters = [{"name": key, "sealed": self.seal(name, value)} for key, value in made["parameters"].items()]
        settings = {"profile": "sandbox", "base_url": f"http://{self.rig.sandbox.address}", "account": account, "livemode": True,
                    "notify_url": made["notify_url"], "match": ["account", "number", "amount", "currency"], "failure_final": True,
                    "unit": "minor", "not_found": "yet", "not_found_grace_ms": 10000, "settle_ms": 5000, "concurrency": 64,
                    "polls": "list:1m,2m,5m", "max_polls": 1000, "expires_ms": 90 * DAY_MS,
                    "operations": ["charge", "query", "refund", "query_refund", "close"], **settings}
        self.rig.sql(f"select postrider.channel_add('test', '{name}', {quoted(settings)}, {quoted(parameters)})")

    def seal(self, channel, value):
        with open(self.rig.key, encoding="ascii") as file:
            key = bytes.fromhex(file.read())
        nonce = os.urandom(12)
        return (b"\1\0" + nonce + AESGCM(key).encrypt(nonce, value.encode(), b"\1\0channel/" + channel.encode())).hex()

    # -- processes --

    def start(self, *names, but=()):
        """Those named; all by default."""
        names = [name for name in names or ALL if name not in but]
        for name in names:
            self.actors[name] = self.rig.start(name, ready=False)
        for name in names:
            self.actors[name].ready()

    def again(self, name):
        """Killed, and started anew."""
        self.actors[name].kill()
        self.actors[name] = self.rig.start(name)

    # -- the gateway --

    def control(self, what, account="c1", **more):
        status, _, body = self.rig.sandbox.call("POST", f"/control/gateway/{what}",
                                                json.dumps({"profile": "sandbox", "account": account, **more}))
        assert status == 200, (what, status, body)
        return json.loads(body)

    def stats(self, account="c1"):
        return json.loads(self.rig.sandbox.call("GET", f"/control/gateway/stats?profile=sandbox&account={account}")[2])

    def ledger(self, account=None):
        path = "/control/gateway/ledger" + (f"?profile=sandbox&account={account}" if account else "")
        return {row["request_no"]: row for row in self.rig.sandbox.pages(path)}

    def charge(self, number, amount, scenario, channel="c1"):
        """The application charges by itself; the gateway's answer."""
        body = json.dumps({"request_no": number, "amount": amount, "currency": "CNY", "scenario": scenario,
                           "notify_url": f"http://127.0.0.1:{self.port}/v1/webhooks/{channel}"})
        path, at, nonce = "/gateway/v1/charges", str(int(time.time())), secrets.token_hex(8)
        text = f"POST\n{path}\n{at}\n{nonce}\n{body}".encode()
        status, _, answer = self.rig.sandbox.call("POST", path, body, {
            "X-Account": channel, "X-Timestamp": at, "X-Nonce": nonce, "Idempotency-Key": number,
            "X-Signature": hmac.new(self.secrets[channel], text, hashlib.sha256).hexdigest()})
        assert status == 200, (status, answer)
        return json.loads(answer)

    # -- webhooks of our own making --

    def event(self, number, status="succeeded", amount=1000, name=None, channel="c1", **more):
        return {"id": name or secrets.token_hex(8), "type": "payment." + status, "data": {
            "id": "ref-" + number, "account": channel, "request_no": number, "status": status, "amount": amount, "currency": "CNY", **more}}

    def webhook(self, event, channel="c1", signature=None, secret=None, at=None):
        """(status, text) of ingress."""
        body, at = event if isinstance(event, bytes) else json.dumps(event).encode(), str(at or int(time.time()))
        made = hmac.new(secret or self.secrets[channel], at.encode() + b"." + body, hashlib.sha256).hexdigest()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S * 3)
        try:
            connection.request("POST", f"/v1/webhooks/{channel}", body, {
                "Content-Type": "application/json", "X-Timestamp": at, "X-Signature": signature or made})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    # -- Postrider's books --

    def submit(self, order, amount=1000, channel="c1", options=None, ask=None):
        return int((ask or self.rig.sql)(f"select postrider.submit_payment('m1', {quoted(order)}, '{channel}', {amount}, 'CNY', '{{}}', "
                                         f"{quoted(options or {})})")[0][0])

    def track(self, order, reference, amount=1000, channel="c1"):
        return int(self.rig.value(f"select postrider.track_payment('m1', {quoted(order)}, '{channel}', {quoted(reference)}, {amount}, 'CNY')"))

    def refund(self, payment, number, amount, ask=None):
        return int((ask or self.rig.sql)(f"select postrider.refund_payment({payment}, '{number}', {amount})")[0][0])

    def payments(self, where="true"):
        """{id: row} of what is on record."""
        columns = ["payment_id", "order_no", "state", "status", "request_no", "gateway_reference", "amount_minor", "captured_minor",
                   "refunded_minor", "ended_by", "manual_reason", "failure_code"]
        rows = self.rig.sql(f"select {', '.join(columns)} from postrider.payment_status where {where}")
        made = [dict(zip(columns, row)) for row in rows]
        for row in made:
            for name in ("payment_id", "amount_minor", "captured_minor", "refunded_minor"):
                row[name] = int(row[name])
        return {row["payment_id"]: row for row in made}

    def state(self, payment):
        return self.rig.value(f"select status from postrider.payment_status where payment_id = {payment}")

    def tasks(self, payment):
        """[(kind, status, code)] of the payment, oldest first."""
        return [tuple(row) for row in self.rig.sql(
            f"select biz_type, status, last_error_code from postrider.compensation_tasks where payment_id = {payment} order by created_at, task_no")]

    def ended(self, payments, states=FINAL, person=True, seconds=PATIENCE_S * 2):
        """Until each of them is in one of the states, or (person) with a person."""
        ids = ",".join(str(one) for one in payments)
        done = ", ".join(quoted(state) for state in states)
        seen = [None]

        def look():
            try:
                seen[0] = self.rig.sql(f"select payment_id, order_no, status, next_operation, next_reason from postrider.payment_status "
                                       f"where payment_id in ({ids}) and state not in ({done}) "
                                       f"and not ({str(person).lower()} and manual_reason is not null) limit 5")
                return seen[0] == []
            except PgError:
                return False
        try:
            wait_for(look, seconds, "payments to end")
        except TimeoutError as error:
            raise AssertionError(f"{error}: {seen[0]}") from None

    # -- the judge --

    def told(self, tap, payments, what=""):
        """One notification of each end on record, and the merchant has accepted it (once: whoever kills nobody)."""
        self.rig.settled()
        # Joined here: Postgres reads the whole view anew for each payment.
        told = collections.defaultdict(list)
        for merchant, order, event, notify_id, status in self.rig.sql("select merchant_id, order_no, event, notify_id, status from postrider.notification_status"):
            told[merchant, order, event].append((event, notify_id, status))
        rows = []
        for one, state, notify_id, merchant, order in self.rig.sql("select id, state, notify_id, merchant_id, order_no from postrider.payment "
                                                                  f"where id in ({','.join(map(str, payments))}) and final_at is not null"):
            rows += [(one, state, notify_id, *said) for said in told.get((merchant, order, f"payment.{state}"), [(None, None, None)])]
        wrong = [row for row in rows if row[2] != row[4] or row[5] != "delivered"]
        tap.check(not wrong and len({row[0] for row in rows}) == len(rows), f"{what}one notification for each of {len(rows)} ends, delivered", wrong[:5])
        accepted = self.rig.accepted()
        return collections.Counter(accepted[row[2]] for row in rows)

    def balance(self, tap, payments, what=""):
        """The gateway's ledger and our records agree to the cent; nothing was charged or sent back twice."""
        ledger, mine = self.ledger(), self.payments(f"payment_id in ({','.join(map(str, payments))})")
        wrong, charged, recorded = [], 0, 0
        for row in mine.values():
            theirs = ledger.get(row["request_no"] or row["gateway_reference"], {"captured": 0, "refunded": 0, "state": "none"})
            if row["manual_reason"] is None:
                charged += theirs["captured"] - theirs["refunded"]
                recorded += row["captured_minor"] - row["refunded_minor"]
                if (theirs["captured"], theirs["refunded"]) != (row["captured_minor"], row["refunded_minor"]):
                    wrong.append((row, theirs))
        tap.check(not wrong, f"{what}each payment as the gateway's ledger has it", wrong[:3])
        tap.equal(recorded, charged, f"{what}{charged} minor units in both books")
        twice = [row for row in ledger.values() if row["times_charged"] > 1]
        tap.check(not twice, f"{what}no key charged twice", twice[:3])
        above = [row for row in ledger.values() if row["refunded"] > row["captured"]]
        tap.check(not above, f"{what}never more sent back than was captured", above[:3])

    def invariants(self, tap, what=""):
        broken = self.rig.sql("select name, broken, detail from postrider.check_invariants('-infinity') where kind = 'invariant' and broken > 0")
        tap.equal(broken, [], f"{what}the invariants hold")


class Asker:
    """A connection of a thread of its own that asks until it is answered: Postgres may go away meanwhile."""

    def __init__(self, rig):
        self.rig, self.connection = rig, None

    def __call__(self, statement):
        deadline = time.monotonic() + PATIENCE_S * 20
        while True:
            try:
                if self.connection is None:
                    self.connection = Pq(self.rig.admin_url)
                return self.connection.query(statement)
            except PgError as error:
                if error.sqlstate[:2] not in ("08", "57") or time.monotonic() > deadline:
                    raise
                self.close()
                time.sleep(0.05)

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None
