# SPDX-License-Identifier: Apache-2.0
"""Every ordering of four events on one payment (webhooks, a poll's answer, a person), two at a time in two sessions that meet at the
payment's lock: one end, told once; the rest is ignored. And what two sessions may not do at once: refund too much, charge an order twice."""
import itertools
import json

import pay
from pg import Session, blocked, finish, is_, ok, until

s, left, right, gate = Session(), Session(), Session(), Session()
pay.setup(s)
pay.channel(s, "c1")
pay.channel(s, "c2")
sched = pay.Scheduler(s)
serial = itertools.count(1)


def said(payment, status, **more):
    return dict({"object": "payment", "status": status, "final": True, "account": "acc", "currency": "CNY", "amount": 5800, "request_no": numbers[payment]}, **more)


def webhook(status, **more):
    def event(payment):
        items = [{"event_id": "e%d" % next(serial), "dedupe": ["k%d" % next(serial)], "evidence": said(payment, status, **more)}]
        return "SELECT reply FROM postrider.webhook_receive('c1', now(), 'POST', '', '{}', 'x', 'verified', '', %s)" % pay.quote(items)
    return event


def poll(payment):
    return "SELECT verdict FROM postrider.calls_apply('%s', %s)" % (sched.id, pay.quote([sched.outcome(handed[payment], said(payment, "SUCCEEDED"))]))


def person(payment):
    return "SELECT postrider.payment_decide('me', %d, 'succeeded', '{}', 'seen')" % payment


EVENTS = {"pending": (webhook("PENDING"), None), "paid": (webhook("SUCCEEDED"), "succeeded"), "poll": (poll, "succeeded"), "person": (person, "succeeded"),
          "refunded": (webhook("REFUNDED", refunded_total=5800), "succeeded"), "failed": (webhook("FAILED"), "failed")}


def together(payments, *scripts):
    """Each session has one statement for each payment. Both wait for the first; then they go through them side by side."""
    gate.run("BEGIN; SELECT count(*) FROM (SELECT FROM postrider.payment WHERE id = ANY ('{%s}') FOR UPDATE) AS x" % ",".join(map(str, payments)))
    sessions = (left, right)[:len(scripts)]
    for session, script in zip(sessions, scripts):
        session.send(";\n".join(script))
        until(lambda: session.done() or blocked(s, session), "it waits for the payment")
    gate.run("COMMIT")
    return [session.wait() for session in sessions]


def born(orders):
    """Payments that are handed out for their charge, and what was handed out."""
    ids = [int(r[0]) for r in s.run("SELECT postrider.submit_payment('m1', o, 'c1', 5800, 'CNY') FROM unnest('{%s}'::text[]) AS o" % ",".join(orders))]
    numbers.update((int(a), b) for a, b in s.run("SELECT id, request_no FROM postrider.payment WHERE id = ANY ('{%s}')" % ",".join(map(str, ids))))
    got = s.run("SELECT row_to_json(d) FROM (SELECT array_agg(id) AS ids, array_agg(60000) AS ms FROM postrider.call WHERE payment_id = ANY ('{%s}')) AS k,"
                " postrider.calls_dispatch('%s', k.ids, k.ms) AS d" % (",".join(map(str, ids)), sched.id))
    handed.update((one["payment_id"], one) for one in (json.loads(r[0]) for r in got))
    return ids


numbers, handed = {}, {}
orders = [order for chosen in itertools.combinations(EVENTS, 4) for order in itertools.permutations(chosen)]
payments = born("o%d" % n for n in range(len(orders)))
for a, first in itertools.product((0, 2), range(0, len(orders), 60)):         # as much at a time as a pipe takes
    some = list(zip(orders, payments))[first:first + 60]
    together([payment for _, payment in some], *[[EVENTS[order[b]][0](payment) for order, payment in some] for b in (a, a + 1)])
ended = {int(r[0]): r[1:] for r in s.run(
    "SELECT p.payment_id, p.state, p.status, (SELECT count(*) FROM postrider.task AS t WHERE t.payment_id = p.payment_id AND t.biz_type = 'late_money'),"
    " (SELECT count(*) FROM postrider.call AS k WHERE k.payment_id = p.payment_id AND k.refund_id IS NULL),"
    " (SELECT coalesce(string_agg(o.event, ' ' ORDER BY o.id), '') FROM postrider.outbox AS o WHERE o.merchant_id = p.merchant_id AND o.order_no = p.order_no)"
    " FROM postrider.payment_status AS p")}
wrong = []
for order, payment in zip(orders, payments):
    ends = [{EVENTS[name][1] for name in pair} - {None} for pair in (order[:2], order[2:])]
    state, status, late, calls, events = ended[payment]
    told = events.split()
    money, back = any(EVENTS[name][1] == "succeeded" for name in order), "refunded" in order
    good = state in (ends[0] or ends[1])                                            # the first final one decides
    good &= [t for t in told if t in ("payment.succeeded", "payment.failed")] == ["payment." + state]      # and is told once
    good &= calls == "0"
    good &= {"succeeded": late == "0" and (status, told.count("payment.refunded")) == (("refunded", 1) if back else ("succeeded", 0)),
             "failed": (late == "1" or late == "0" and (back or not money)) and "payment.refunded" not in told}[state]
    if not good:
        wrong.append((order, state, status, late, told))
is_(wrong[:5], [], "%d orderings of four events, two at a time: one end, told once" % len(orders))
ok(len(orders) == 360 and len(handed) == 360, "all of them were tried", (len(orders), len(handed)))
broken = s.run("SELECT name, broken FROM postrider.check_invariants('-infinity') WHERE kind = 'invariant' AND broken <> 0")
ok(not broken, "all invariants hold", broken)

# the same webhook in two sessions at once: one effect
payment = born(["same"])[0]
one = [EVENTS["paid"][0](payment)]
is_(sorted(r[0][0] for r in together([payment], one, one)), ["accepted", "accepted"], "one webhook twice at once: both are acknowledged")
is_((s.run("SELECT status FROM postrider.webhook_journal WHERE payment_id = %d ORDER BY status" % payment), pay.told(s, payment)),
    ([["applied"], ["ignored"]], ["payment.succeeded"]), "one is applied")

# refunds at once are never more than was captured
payment = pay.submit(s, "refunds")
pay.apply(s, payment, pay.says(s, payment, "SUCCEEDED"))
gate.run("BEGIN; SELECT FROM postrider.payment WHERE id = %d FOR UPDATE" % payment)
for n, session in enumerate((left, right)):
    session.send("SELECT postrider.refund_payment(%d, 'r%d', 3000)" % (payment, n))
    until(lambda: session.done() or blocked(s, session), "it waits")
gate.run("COMMIT")
states = []
for session in (left, right):
    try:
        session.wait()
        states.append("")
    except Exception as error:
        states.append(getattr(error, "sqlstate", "?"))
is_(sorted(states), ["", "PR007"], "two refunds of 3000 of 5800 at once: one")
# an order is charged once, whoever asks on whichever channel
for second, wanted in (("'two', 'c1', 5800", ""), ("'two', 'c2', 5800", "PR005"), ("'two', 'c1', 1", "PR002")):
    left.run("BEGIN; SELECT postrider.submit_payment('m1', 'two', 'c1', 5800, 'CNY')")
    right.send("SELECT postrider.submit_payment('m1', %s, 'CNY')" % second)
    until(lambda: right.done() or blocked(s, right), "the second waits for the first")
    left.run("COMMIT")
    try:
        right.wait()
        got = ""
    except Exception as error:
        got = getattr(error, "sqlstate", "?")
    is_(got, wanted, "submit %s while another is under way: %s" % (second, wanted or "the same payment"))
is_(s.value("SELECT count(*) FROM postrider.payment WHERE order_no = 'two'"), "1", "one payment")
left.run("BEGIN; SELECT postrider.submit_payment('m1', 'three', 'c1', 5800, 'CNY')")
right.send("SELECT postrider.submit_payment('m1', 'three', 'c2', 5800, 'CNY')")
until(lambda: right.done() or blocked(s, right), "the second waits for the first")
left.run("ROLLBACK")
is_((right.wait() != [], s.value("SELECT channel FROM postrider.payment WHERE order_no = 'three'")), (True, "c2"), "the first is rolled back: the second may")
for isolation in ("REPEATABLE READ", "SERIALIZABLE"):
    left.run("BEGIN ISOLATION LEVEL %s; SELECT count(*) FROM postrider.payment" % isolation)
    right.run("SELECT postrider.submit_payment('m1', 'iso %s', 'c1', 5800, 'CNY')" % isolation)
    got = left.fails("SELECT postrider.submit_payment('m1', 'iso %s', 'c1', 5800, 'CNY')" % isolation)
    left.run("ROLLBACK")
    is_(got, "40001", "with an old snapshot (%s) the second is to retry" % isolation)
    left.run("BEGIN ISOLATION LEVEL %s" % isolation)
    is_(left.fails("SELECT postrider.cancel_payment(postrider.submit_payment('m1', 'own %s', 'c1', 5800, 'CNY'), 'x')" % isolation), "", "all works under " + isolation)
    left.run("COMMIT")

# hand-outs do not wait for an application that holds a payment
payment, other = pay.submit(s, "held"), pay.submit(s, "free")
left.run("BEGIN; SELECT FROM postrider.payment WHERE id = %d FOR UPDATE" % payment)
calls = [sched.call_of(payment), sched.call_of(other)]
got = s.run("SELECT payment_id FROM postrider.calls_dispatch('%s', ARRAY[%d, %d]::bigint[], ARRAY[60000, 60000])" % (sched.id, *calls))
is_(got, [[str(other)]], "a payment that the application holds is left for the next time")
left.run("COMMIT")
for session in (s, left, right, gate):
    session.close()
finish()
