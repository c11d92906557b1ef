# SPDX-License-Identifier: Apache-2.0
"""Compensation tasks: claimed, the order looked at first, acted on once, tried so often, lost and found again."""
import json

import pay
from pg import Session, actor_url, finish, is_, ok

LOCK_MS = 600000
s = Session()
pay.setup(s)
pay.channel(s, "c1", not_found="final")
pay.channel(s, "mute", operations=["charge"])
pay.channel(s, "person", late_money="person")
sched = pay.Scheduler(s)
EVIDENCE = {"object": "payment", "final": True, "account": "acc", "amount": 5800, "currency": "CNY"}


class Worker:
    """A compensator, by hand: with its rights, on its connection."""

    def __init__(self, kinds=()):
        self.session = Session(url=actor_url(), options="-c role=postrider_compensator")
        self.id = self.session.value("SELECT postrider.task_session_open('w')")
        self.kinds = kinds

    def claim(self, most=100, kind=None):
        """{object: row} of what is to be acted on (of one kind, where an object has several tasks)."""
        rows = self.session.run("SELECT row_to_json(c) FROM postrider.tasks_claim('%s', %d, '{%s}') AS c" % (self.id, most, ",".join(self.kinds)))
        return {json.loads(row["facts"])["task"]["object"]: row for row in (json.loads(r[0]) for r in rows) if kind in (None, row["biz_type"])}

    def act(self, token, retry_ms=60000):
        return " ".join(self.session.run("SELECT state, code FROM postrider.tasks_act('%s', %d)" % (token, retry_ms))[0])

    def finish(self, token, outcome, code="C", **more):
        return self.session.value("SELECT postrider.tasks_finish('%s', %s)" % (token, pay.quote(dict(more, outcome=outcome, code=code, retry_ms=60000))))

    def sweep(self, lock_ms=LOCK_MS):
        return [int(n) for n in self.session.run("SELECT * FROM postrider.tasks_sweep('%s', %d, 100)" % (self.id, lock_ms))[0]]

    def run(self, thing, kind=None):
        """One run of a task that Postrider acts on itself."""
        due()
        claimed = self.claim(kind=kind)
        return self.act(claimed[thing]["token"]) if thing in claimed else task(thing)


def due():
    s.run("UPDATE postrider.task SET next_run_at = now() - interval '1 s' WHERE state IN ('WAITING', 'RETRY')")


def task(thing, columns="state || ' ' || coalesce(last_error_code, '-')"):
    got = s.run("SELECT %s FROM postrider.task WHERE biz_id = %s ORDER BY id DESC LIMIT 1" % (columns, pay.quote(thing)))
    return got[0][0] if got else None


def opened(kind, thing, order=None, payment=None, state="WAITING", request=None):
    return s.value("SELECT postrider.task_open(%s)" % ", ".join(pay.quote(a) for a in (
        kind, thing, state, "inspection", pay.MERCHANT, order, payment, "WHY", "why", request or {})))


def moves(number):
    return [m["to"] for m in json.loads(s.value("SELECT postrider.task_moves('%s')" % number))]


def paid(order, on="c1"):
    payment = pay.submit(s, order, on=on)
    assert pay.apply(s, payment, pay.says(s, payment, "SUCCEEDED")) == "applied"
    return payment


def ended(order, on="c1"):
    payment = pay.submit(s, order, on=on)
    s.run("UPDATE postrider.payment SET state = 'processing', sent_at = now() WHERE id = %d" % payment)
    assert pay.apply(s, payment, pay.says(s, payment, "CANCELLED")) == "applied"
    return payment


w = Worker(["delivery", "invoice"])

# ---- kinds ----
is_(s.run("SELECT biz_type, handler, retry_limit FROM postrider.task_kind ORDER BY 1"), [
    ["channel_stopped", "person", "10"], ["delivery", "person", "3"], ["evidence_mismatch", "person", "10"], ["late_money", "refund", "10"],
    ["payment_callback", "callback", "10"], ["payment_review", "repair", "10"], ["refund_review", "refund_review", "10"],
    ["refund_unclear", "person", "10"], ["second_success", "refund", "10"], ["settlement_writeback", "writeback", "10"],
    ["state_repair", "repair", "10"], ["state_verification", "verify", "10"]], "each kind: who acts, and how often (C4)")
for kind, name, code in (("delivery", "no-handler", "NO_HANDLER"), ("nobody_knows", "unknown-kind", "NO_HANDLER"), ("refund_unclear", "for-people", "FOR_A_PERSON")):
    opened(kind, name)
w.claim()
is_([task(name) for name in ("no-handler", "unknown-kind", "for-people")], ["MANUAL NO_HANDLER", "MANUAL NO_HANDLER", "MANUAL FOR_A_PERSON"],
    "what nobody handles goes to a person at once")
w.session.run("SELECT postrider.tasks_configure('%s')" % json.dumps({"delivery": {"handler": "http"}, "invoice": {"handler": "http", "limit": 2}, "state_repair": {"limit": 4}}))
is_(s.run("SELECT biz_type, handler, retry_limit FROM postrider.task_kind WHERE biz_type IN ('delivery', 'invoice', 'state_repair') ORDER BY 1"),
    [["delivery", "http", "3"], ["invoice", "http", "2"], ["state_repair", "repair", "4"]], "a configuration says more")
is_([s.fails("SELECT postrider.tasks_configure('%s')" % bad) for bad in ("[]", '{"X": {"handler": "http"}}', '{"x": {"limit": 0}}', '{"x": {"handler": "magic"}}')],
    ["PR003"] * 4, "and not just anything")
is_(s.fails("SELECT * FROM postrider.tasks_claim(gen_random_uuid(), 1, '{}')"), "PR009", "who has no session claims nothing")

# ---- the order first (C3) ----
paid("given")
s.run("INSERT INTO postrider.fulfilment (merchant_id, order_no, state) VALUES ('m1', 'given', 'delivered')")
waiting, gone, back = pay.submit(s, "waiting"), ended("gone"), paid("back")
refund = int(pay.call(s, "refund_payment", back, "r", 5800, "x"))
sched.step(back, lambda handed: pay.refund_says(s, refund, "SUCCEEDED"), refund=refund)
for order in ("nowhere", "given", "waiting", "gone", "back"):
    opened("delivery", order, order=order)
opened("state_repair", "no-payment", payment=10 ** 9)
opened("payment_callback", "webhook:%d" % 10 ** 9)
paid("open")
opened("delivery", "open", order="open")
opened("invoice", "no-order")
claimed = w.claim()
is_([task(t) for t in ("nowhere", "no-payment", "webhook:%d" % 10 ** 9)], ["MANUAL ORDER_NOT_FOUND"] * 3, "an order that is missing: a person")
is_(task("given"), "SUCCESS ORDER_ALREADY_FINISHED", "delivered already: done")
is_([task("gone"), task("back")], ["MANUAL ORDER_NOT_PAID", "MANUAL ORDER_REFUNDED"], "not paid, or paid back: not delivered, a person")
is_({t: (row["handler"], row["code"]) for t, row in claimed.items()}, {"waiting": ("wait", "NOT_PAID_YET"), "open": ("http", None), "no-order": ("http", None)},
    "the rest is to be acted on: a paid order is not a delivered one; what has no order has none to look at")
is_(json.loads(claimed["open"]["facts"])["task"]["payment"]["state"], "succeeded", "the handler learns how the order stands now")
is_((w.finish(claimed["waiting"]["token"], "wait", "NOT_PAID_YET"), task("waiting", "retry_count")), ("RETRY", "0"), "waiting is no try")
is_((w.finish(claimed["open"]["token"], "success", reference="parcel-7"), s.run("SELECT state, reference FROM postrider.fulfilment WHERE order_no = 'open'")),
    ("SUCCESS", [["delivered", "parcel-7"]]), "a delivery that is done is written down")
is_(w.finish(claimed["open"]["token"], "retry"), "stale", "a token ends with its run")
opened("delivery", "open", order="open")
w.claim()
is_(task("open"), "SUCCESS ORDER_ALREADY_FINISHED", "the same for the same order again: nothing is done")
is_(w.finish(claimed["no-order"]["token"], "success"), "SUCCESS", "an application's own kind")
opened("invoice", "no-order")
ok("no-order" not in w.claim() and task("no-order").startswith("SUCCESS ORDER_ALREADY"), "once per object, too")

# ---- tries, and the last of them (C4) ----
for kind, thing, limit in (("invoice", "inv-1", 2), ("delivery", "del-1", 3)):
    if kind == "delivery":
        paid(thing)
    number = opened(kind, thing, order=thing if kind == "delivery" else None)
    keys, states = set(), []
    for n in range(limit):
        due()
        row = w.claim()[thing]
        keys.add(row["idempotency_key"])
        states.append(w.finish(row["token"], "retry", "E%d" % n, message="no %d" % n, evidence={"n": n}))
    is_((states, len(keys)), (["RETRY"] * (limit - 1) + ["MANUAL"], 1), "%s: %d tries with one key, then a person" % (kind, limit))
    is_(moves(number), ["WAITING", "PROCESSING"] + ["RETRY", "WAITING", "PROCESSING"] * (limit - 1) + ["FAILED", "MANUAL"], "%s: every move is written down" % kind)
    is_(s.run("SELECT l.detail ->> 'error_code', l.detail ->> 'error_message' FROM postrider.task_log AS l JOIN postrider.task AS t ON t.id = l.task_id"
              " WHERE t.task_no = '%s' AND l.to_state IN ('RETRY', 'FAILED') ORDER BY l.id" % number), [["E%d" % n, "no %d" % n] for n in range(limit)],
        "%s: and the error of each run" % kind)
opened("invoice", "inv-2")
row = w.claim()["inv-2"]
is_((w.finish(row["token"], "person", "OUT_OF_STOCK"), task("inv-2")), ("MANUAL", "MANUAL OUT_OF_STOCK"), "what a person is to have goes at once")
is_(s.fails("SELECT postrider.tasks_finish('%s', '{\"outcome\": \"closed\"}')" % row["token"]), "", "an ended run's word changes nothing")
opened("invoice", "inv-3")
row = w.claim()["inv-3"]
is_(s.fails("SELECT postrider.tasks_finish('%s', '{\"outcome\": \"CLOSED\"}')" % row["token"]), "PR003", "and a run ends in nothing else than these")
w.finish(row["token"], "success")

# ---- claims: once each, however many claim at once ----
for n in range(6):
    opened("invoice", "many-%d" % n)
other = Worker(["invoice"])
w.session.run("BEGIN")
mine = w.claim(3)
theirs = other.claim()
w.session.run("COMMIT")
is_((len(mine), len(theirs), set(mine) & set(theirs), set(mine) | set(theirs)), (3, 3, set(), {"many-%d" % n for n in range(6)}), "two at once share what is due")
blind = Worker([])
opened("invoice", "not-mine")
is_((blind.claim(), task("not-mine", "state")), ({}, "WAITING"), "who has no handler of a kind leaves it")
w.finish(w.claim()["not-mine"]["token"], "success")

# ---- lost and found (C5) ----
name, held = list(mine.items())[0]
is_(w.sweep(), [0, 0], "nobody is lost")
s.run("UPDATE postrider.task SET locked_at = clock_timestamp() - interval '601 s' WHERE lock_token = '%s'" % held["token"])
is_((other.sweep(), task(name), task(name, "retry_count")), ([1, 0], "WAITING LOCK_TIMEOUT", "1"), "held for ten minutes of the database's time: back, and a try more")
is_(s.run("SELECT reason, owner, held_s >= 601 FROM postrider.task_incidents WHERE task_no = '%s'" % held["task_no"]), [["LOCK_TIMEOUT", "compensator w", "t"]],
    "the incident is on record")
row = other.claim()[name]
is_((row["unknown"], row["tries"], row["idempotency_key"]), (True, 1, held["idempotency_key"]), "the next one knows that it may have been done, and has its key")
is_((w.finish(held["token"], "success"), task(name, "state")), ("stale", "PROCESSING"), "the late result is refused by its token")
is_(other.finish(row["token"], "success"), "SUCCESS", "the one that holds it ends it")
left = list(theirs)
other.session.close()
is_(s.value("SELECT count(*) FROM postrider.task WHERE lock_session = '%s'" % other.id), "3", "a worker dies with what it holds")
swept = [0, 0]
while swept[0] == 0:                          # its backend may take a moment to go
    swept = w.sweep()
is_((swept[0], sorted({task(t) for t in left})), (3, ["WAITING WORKER_LOST"]), "its tasks go back at once: the lock of its session died with it")
for token in [r["token"] for r in list(w.claim().values()) + list(mine.values())]:
    w.finish(token, "success")
opened("invoice", "deadly")
for n in range(2):
    w.claim()
    s.run("UPDATE postrider.task SET locked_at = clock_timestamp() - interval '1 h' WHERE biz_id = 'deadly'")
    w.sweep()
ok("deadly" not in w.claim() and task("deadly") == "MANUAL RETRIES_EXHAUSTED", "one that loses its workers again and again is a person's", task("deadly"))

# ---- webhooks (C10): without a gateway-scheduler ----
def hook(evidence, key):
    items = [{"event_id": "e", "event_type": "t", "dedupe": [key], "evidence": evidence}]
    return s.run("SELECT webhook_id, result FROM postrider.webhook_receive('c1', now() - interval '61 s', 'POST', '', '{}', '\\x00', 'verified', '', %s)" % pay.quote(items))[0][0]


s.run("CREATE FUNCTION t.break() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$;"
      "CREATE TRIGGER broken BEFORE INSERT ON postrider.payment_event FOR EACH ROW EXECUTE FUNCTION t.break()")
heard = pay.submit(s, "heard")
one = hook(pay.says(s, heard, "SUCCEEDED"), "h1")
lost = hook(dict(EVIDENCE, status="SUCCEEDED", reference="nobody-knows"), "h2")
is_((w.sweep()[1], [task("webhook:" + h) for h in (one, lost)]), (2, ["WAITING NOT_APPLIED", "WAITING ORDER_NOT_FOUND"]), "kept for a minute and not applied: a task by itself")
is_((w.run("webhook:" + one), task("webhook:" + lost)), ("RETRY NOT_APPLIED", "MANUAL ORDER_NOT_FOUND"), "driven again in vain: later; one that matches no order: a person")
s.run("DROP TRIGGER broken ON postrider.payment_event")
is_((w.run("webhook:" + one), pay.row(s, heard, "state"), pay.told(s, heard)), ("SUCCESS APPLIED", "succeeded", ["payment.succeeded"]), "then it is applied, and told once")
s.run("INSERT INTO postrider.task (task_no, biz_type, biz_id, source, state, moved_by) VALUES ('T-again', 'payment_callback', 'webhook:%s', 'person', 'WAITING', 'x')" % one)
is_(w.run("webhook:" + one), "SUCCESS ORDER_ALREADY_FINISHED", "once more: nothing is left to do")

# ---- asking the channel again ----
def verify(payment, said, kind="state_verification"):
    opened(kind, str(payment), payment=payment, request={"channel_state": said})
    return w.run(str(payment))


payment = paid("v1")
is_(verify(payment, "refunded"), "RETRY ASKED", "they differ: the channel is asked, of a payment that has ended, too")
is_(s.run("SELECT operation, verify FROM postrider.call WHERE payment_id = %d" % payment), [["query", "t"]], "in the channel's own queue")
is_(s.value("SELECT sum(broken) FROM postrider.check_payments('-infinity') WHERE name = 'call_of_ended'"), "0", "which is no call that nobody wants")
is_(sched.step(payment, lambda handed: pay.says(s, payment, "SUCCEEDED")), "query: ignored: duplicate -> none: verified", "it answers, and is asked no more")
is_((w.run(str(payment)), task(str(payment), "result ->> 'answer'")), ("SUCCESS EXPLAINED", "SUCCEEDED"), "it says what is known here: explained")
payment = paid("v2")
verify(payment, "refunded")
sched.step(payment, lambda handed: pay.says(s, payment, "REFUNDED", refunded_total=5800))
is_((w.run(str(payment)), pay.row(s, payment, "refunded_minor")), ("SUCCESS EXPLAINED", "5800"), "it says what the statement says: the door has taken it")
payment = ended("v3")
verify(payment, "succeeded")
sched.step(payment, lambda handed: pay.says(s, payment, "SUCCEEDED"))
is_((w.run(str(payment), "state_verification").split()[0], [t.split()[0] for t in pay.tasks(s, payment)]), ("SUCCESS", ["state_verification", "late_money"]), "money that came after the end explains it, and has a task of its own")
payment = paid("v4")
verify(payment, "cancelled")
sched.step(payment, lambda handed: dict(EVIDENCE, status="CANCELLED", request_no=handed["request_no"]))
is_(w.run(str(payment)), "MANUAL STATES_DIFFER", "still another state: a person")
payment = paid("v5")
verify(payment, "refunded")
sched.step(payment, lambda handed: pay.says(s, payment, "SUCCEEDED", amount=1))
is_(w.run(str(payment)), "MANUAL AMOUNT_MISMATCH", "another amount: a person")
payment = paid("v6", on="mute")
is_(verify(payment, "refunded"), "MANUAL CANNOT_ASK", "a channel that cannot be asked: a person")
payment = paid("v7")
verify(payment, "refunded")
is_(sched.step(payment, {"status": "UNKNOWN", "action": "back_off"}), "query: ignored: no news -> none: verified", "no answer")
is_((w.run(str(payment)), task(str(payment), "retry_count")), ("RETRY ASKED", "2"), "is asked again, a try more")
s.run("SELECT postrider.channel_pause('me', 'c1', 'x')")
is_(w.run(str(payment)).split()[0], "RETRY", "a channel that rests is asked later")
s.run("SELECT postrider.channel_resume('me', 'c1', 'x')")
payment = pay.submit(s, "v8")
s.run("UPDATE postrider.payment SET state = 'processing', sent_at = now() WHERE id = %d" % payment)
s.run("DELETE FROM postrider.call WHERE payment_id = %d" % payment)
is_(verify(payment, "succeeded", "state_repair"), "RETRY ASKED", "paid there, open here: asked")
is_(sched.step(payment, lambda handed: pay.says(s, payment, "PENDING")), "query: ignored: duplicate -> query", "still pending there")
is_(w.run(str(payment)), "RETRY ASKED", "no end yet: asked again")
sched.step(payment, lambda handed: pay.says(s, payment, "SUCCEEDED"))
is_((w.run(str(payment)), pay.row(s, payment, "state")), ("SUCCESS ORDER_ALREADY_FINISHED", "succeeded"), "the answer went through the door: repaired")

# ---- late money goes back once ----
def late(order, on="c1"):
    payment = ended(order, on)
    pay.apply(s, payment, pay.says(s, payment, "SUCCEEDED"))
    refunds = s.run("SELECT id FROM postrider.refund WHERE payment_id = %d" % payment)
    return payment, int(refunds[0][0]) if refunds else None


payment, refund = late("l1")
is_((w.run(str(payment)), task(str(payment), "retry_count")), ("RETRY REFUND_UNDER_WAY", "0"), "its refund is under way: waited for")
w.run(str(payment))
is_(s.value("SELECT count(*) FROM postrider.refund WHERE payment_id = %d" % payment), "1", "and made once, however often the task runs")
sched.step(payment, lambda handed: pay.refund_says(s, refund, "SUCCEEDED"), refund=refund)
is_(task(str(payment)), "SUCCESS REFUNDED", "when it is through, the waiting task is done with it")
payment, refund = late("l2")
sched.step(payment, lambda handed: pay.refund_says(s, refund, "FAILED"), refund=refund)
is_(w.run(str(payment)), "MANUAL LATE_MONEY_NOT_REFUNDED", "a refund that failed: a person")
payment, refund = late("l3", on="person")
is_((refund, task(str(payment))), (None, "MANUAL LATE_MONEY"), "by policy a person's from the start")
number = s.value("SELECT task_no FROM postrider.task WHERE biz_id = '%d' AND biz_type = 'late_money'" % payment)
s.run("UPDATE postrider.task SET state = 'CLOSED', moved_by = 'x' WHERE task_no = '%s'" % number)
opened("late_money", str(payment), payment=payment)
is_((w.run(str(payment)), s.value("SELECT count(*) FROM postrider.refund WHERE payment_id = %d" % payment)), ("MANUAL POLICY_PERSON", "0"), "also when somebody has it run again")
s.run("UPDATE postrider.channel SET late_money = 'refund' WHERE id = 'person'; UPDATE postrider.task SET state = 'CLOSED', moved_by = 'x' WHERE biz_id = '%d' AND state = 'MANUAL'" % payment)
opened("late_money", str(payment), payment=payment)
is_((w.run(str(payment)), s.run("SELECT amount_minor, origin FROM postrider.refund WHERE payment_id = %d" % payment)), ("RETRY REFUND_UNDER_WAY", [["5800", "late_money"]]),
    "once the policy says so, it goes back")

# ---- the hook again ----
s.run("CREATE SCHEMA app; CREATE TABLE app.seen (event text); CREATE TABLE app.broken (x int); GRANT USAGE ON SCHEMA app TO PUBLIC;"
      "INSERT INTO app.broken VALUES (1);"
      "CREATE FUNCTION app.hook(fed jsonb) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO app.seen VALUES (fed ->> 'event');"
      " IF EXISTS (SELECT FROM app.broken) THEN RAISE division_by_zero; END IF; END $$;"
      "UPDATE postrider.setting SET value = 'app.hook' WHERE key = 'hooks.payment'")
payment = paid("k1")
refund = int(pay.call(s, "refund_payment", payment, "r", 100, "x"))
sched.step(payment, lambda handed: pay.refund_says(s, refund, "SUCCEEDED"), refund=refund)
is_((w.run(str(payment)), s.run("SELECT * FROM app.seen")), ("RETRY 22012", []), "the hook fails again: later, and it has left nothing")
s.run("DELETE FROM app.broken")
is_((w.run(str(payment)), s.run("SELECT event FROM app.seen")), ("SUCCESS WRITTEN_BACK", [["payment.succeeded"], ["refund.succeeded"]]), "then every event that it missed, in order, once")
s.run("UPDATE postrider.setting SET value = '' WHERE key = 'hooks.payment'")
s.run("INSERT INTO app.broken VALUES (1)")

# ---- differences ----
number = s.value("SELECT postrider.task_for_difference(77, 'state_verification', 'd', 'WAITING', 'm1', 'k1', %d, 'STATES_DIFFER', 'x', '{}')" % payment)
is_((s.value("SELECT postrider.task_for_difference(78, 'state_verification', 'd', 'WAITING', 'm1', 'k1', %d, 'STATES_DIFFER', 'x', '{}')" % payment),
     s.run("SELECT difference_id, source FROM postrider.compensation_tasks WHERE task_no = '%s'" % number)), (number, [["77", "difference"]]),
    "a difference's task knows it; one open task per kind and object")

left = s.run("SELECT name, broken FROM postrider.check_invariants('-infinity') WHERE kind = 'invariant' AND broken <> 0")
ok(not left, "all invariants hold", left)
finish()
