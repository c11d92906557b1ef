# SPDX-License-Identifier: Apache-2.0
"""The payment's door: every pair of states, every kind of evidence, what must agree, and what an application may do."""
import itertools
import json
import re

import pay
from pg import HOME, Session, finish, is_, ok

s = Session()
pay.setup(s)
pay.channel(s, "c1")
pay.channel(s, "many", order_policy="many")
pay.channel(s, "person", late_money="person", order_policy="many")
pay.channel(s, "turns", failure_final=False)
pay.channel(s, "mute", operations=["charge"])
pay.channel(s, "isk", exponents={"QQQ": 1})
numbers = itertools.count(1)


def new(on="c1", **options):
    return pay.submit(s, "o%d" % next(numbers), on=on, **options)


def to(state, on="c1"):
    """A payment in that state, through the door."""
    payment = new(on)
    steps = {"created": [], "processing": ["PENDING"], "succeeded": ["SUCCEEDED"], "failed": ["FAILED"], "cancelled": ["CANCELLED"]}[state]
    for one in steps:
        pay.apply(s, payment, pay.says(s, payment, one))
    assert pay.row(s, payment, "state") == state
    return payment


def status(payment):
    return s.value("SELECT status FROM postrider.payment_status WHERE payment_id = %d" % payment)


# ---- every pair of states, by hand-written SQL ----
PAYMENT = ["created", "processing", "succeeded", "failed", "cancelled"]
ALLOWED = {("created", "processing"), ("created", "cancelled"), ("processing", "succeeded"), ("processing", "failed"), ("processing", "cancelled")}
for a, b in itertools.permutations(PAYMENT, 2):
    payment = to(a)
    s.run("BEGIN")
    got = s.fails("UPDATE postrider.payment SET state = '%s', final_at = %s WHERE id = %d" % (
        b, "coalesce(final_at, now())" if b in ("succeeded", "failed", "cancelled") else "NULL", payment))
    s.run("ROLLBACK")
    is_(got, "" if (a, b) in ALLOWED else "PR006", "by hand: payment %s -> %s" % (a, b))
payment = to("processing")
s.run("UPDATE postrider.payment SET state = 'created' WHERE false")
s.run("BEGIN; SET LOCAL session_replication_role = replica")
is_(s.fails("UPDATE postrider.payment SET state = 'created' WHERE id = %d" % payment), "PR006", "not as a replica either")
s.run("ROLLBACK")
for what in ("amount_minor = 1", "currency = 'USD'", "order_no = 'x'", "merchant_id = 'x'", "request_no = 'x'", "request = '{\"a\":1}'", "webhook_url = 'x'",
             "version = 1", "created_at = now() - interval '1 d'"):
    is_(s.fails("UPDATE postrider.payment SET %s WHERE id = %d" % (what, payment)), "PR006", "by hand: not " + what)
for what in ("DELETE FROM postrider.payment", "TRUNCATE postrider.payment CASCADE", "DELETE FROM postrider.refund", "UPDATE postrider.payment_history SET verdict = 'x'",
             "DELETE FROM postrider.payment_history", "DELETE FROM postrider.task", "UPDATE postrider.task_log SET who = 'x'"):
    is_(s.fails(what), "PR006", "by hand: not " + what)
s.run("UPDATE postrider.payment SET sent_at = now() WHERE id = %d" % (payment := new()))
is_(s.fails("UPDATE postrider.payment SET state = 'cancelled', final_at = now() WHERE id = %d" % payment), "PR006", "created to cancelled only if nothing was sent")
REFUND = ["created", "processing", "succeeded", "failed", "cancelled", "reversed"]
REFUND_ALLOWED = {("created", "processing"), ("created", "cancelled"), ("processing", "succeeded"), ("processing", "failed"), ("succeeded", "reversed")}
TASK = ["WAITING", "PROCESSING", "RETRY", "FAILED", "MANUAL", "SUCCESS", "CLOSED"]
TASK_ALLOWED = {("WAITING", "PROCESSING"), ("PROCESSING", "SUCCESS"), ("PROCESSING", "RETRY"), ("PROCESSING", "FAILED"), ("PROCESSING", "MANUAL"),
                ("PROCESSING", "WAITING"), ("RETRY", "WAITING"), ("FAILED", "MANUAL"), ("MANUAL", "CLOSED")}
WEBHOOK = ["received", "refused", "verified", "applied", "ignored", "orphan", "failed", "task"]
WEBHOOK_ALLOWED = {("received", "refused"), ("received", "verified"), ("verified", "applied"), ("verified", "ignored"), ("verified", "orphan"),
                   ("verified", "failed"), ("orphan", "applied"), ("orphan", "task"), ("failed", "applied"), ("failed", "task"), ("task", "applied")}
CHANNEL = ["active", "paused", "stopped", "maintenance"]
CHANNEL_ALLOWED = {("active", "paused"), ("paused", "active"), ("active", "stopped"), ("stopped", "active"), ("active", "maintenance"), ("maintenance", "active")}
for kind, states, allowed in (("refund", REFUND, REFUND_ALLOWED), ("task", TASK, TASK_ALLOWED), ("webhook", WEBHOOK, WEBHOOK_ALLOWED),
                              ("channel", CHANNEL, CHANNEL_ALLOWED)):
    is_(s.run("SELECT from_state, to_state FROM postrider.transition WHERE object = '%s' AND from_state <> '' ORDER BY 1, 2" % kind),
        [list(pair) for pair in sorted(allowed)], kind + ": the moves of states.md")
paid = to("succeeded")
refund = int(pay.call(s, "refund_payment", paid, "guard", 1, None))
s.run("ALTER TABLE postrider.refund DISABLE TRIGGER refund_state")
for a, b in itertools.permutations(REFUND, 2):
    s.run("ALTER TABLE postrider.refund DISABLE TRIGGER refund_state; UPDATE postrider.refund SET state = '%s' WHERE id = %d;"
          "ALTER TABLE postrider.refund ENABLE ALWAYS TRIGGER refund_state" % (a, refund))
    s.run("BEGIN")
    got = s.fails("UPDATE postrider.refund SET state = '%s' WHERE id = %d" % (b, refund))
    s.run("ROLLBACK")
    is_(got, "" if (a, b) in REFUND_ALLOWED else "PR006", "by hand: refund %s -> %s" % (a, b))
number = pay.call(s, "create_task", "delivery", "x", pay.MERCHANT, "o", {}, None)
for a, b in itertools.permutations(TASK, 2):
    s.run("ALTER TABLE postrider.task DISABLE TRIGGER task_state; UPDATE postrider.task SET state = '%s' WHERE task_no = '%s';"
          "ALTER TABLE postrider.task ENABLE TRIGGER task_state" % (a, number))
    s.run("BEGIN")
    got = s.fails("UPDATE postrider.task SET state = '%s' WHERE task_no = '%s'" % (b, number))
    s.run("ROLLBACK")
    is_(got, "" if (a, b) in TASK_ALLOWED else "PR006", "by hand: task %s -> %s" % (a, b))
s.run("ALTER TABLE postrider.refund DISABLE TRIGGER refund_state; UPDATE postrider.refund SET state = 'failed' WHERE id = %d;"
      "ALTER TABLE postrider.refund ENABLE ALWAYS TRIGGER refund_state; DELETE FROM postrider.call WHERE refund_id = %d" % (refund, refund))
s.run("ALTER TABLE postrider.task DISABLE TRIGGER task_state; UPDATE postrider.task SET state = 'CLOSED' WHERE task_no = '%s';"
      "ALTER TABLE postrider.task ENABLE TRIGGER task_state" % number)

# ---- every state, every kind of evidence ----
MONEY, CLOSED = {"SUCCEEDED", "REFUNDED", "PARTIALLY_REFUNDED"}, {"CANCELLED"}
for state in PAYMENT:
    for said in ("PENDING", "SUCCEEDED", "FAILED", "CANCELLED", "REFUNDED", "PARTIALLY_REFUNDED", "NOT_FOUND", "UNKNOWN"):
        payment = to(state)
        before = pay.told(s, payment)
        verdict = pay.apply(s, payment, pay.says(s, payment, said, refunded_total=100 if said == "PARTIALLY_REFUNDED" else None))
        end = pay.row(s, payment, "state")
        final = state in ("succeeded", "failed", "cancelled")
        wanted = state if final or said in ("NOT_FOUND", "UNKNOWN") else (
            "succeeded" if said in MONEY else {"FAILED": "failed", "CANCELLED": "cancelled", "PENDING": "processing"}[said])
        is_(end, wanted, "%s, then %s: %s" % (state, said, wanted))
        events = pay.told(s, payment)[len(before):]
        ends = [e for e in events if e in ("payment.succeeded", "payment.failed", "payment.cancelled")]
        is_(ends, [] if final or wanted in ("created", "processing") else ["payment." + wanted], "%s, then %s: its end is told once, or not again" % (state, said))
        late = state in ("failed", "cancelled") and said in ("SUCCEEDED", "PARTIALLY_REFUNDED")
        is_([t for t in pay.tasks(s, payment) if t.startswith("late_money")], ["late_money WAITING LATE_MONEY"] if late else [],
            "%s, then %s: %s late money" % (state, said, "a task for" if late else "no"))
        if final and said == "PENDING":
            is_(verdict, "ignored: stale", "%s, then PENDING is stale" % state)
        is_(pay.apply(s, payment, pay.says(s, payment, said, refunded_total=100 if said == "PARTIALLY_REFUNDED" else None)).split(":")[0], "ignored",
            "%s, then %s again: ignored" % (state, said))
is_(s.value("SELECT count(*) FROM (SELECT object, state, says FROM postrider.evidence_rule) AS x"), "55", "no case is without a rule")
payment = new("turns")
is_((pay.apply(s, payment, pay.says(s, payment, "FAILED", final=False)), pay.row(s, payment, "state")), ("ignored: no news", "created"),
    "a failure that may turn ends nothing (success false, then true)")
is_((pay.apply(s, payment, pay.says(s, payment, "SUCCEEDED")), status(payment)), ("applied", "succeeded"), "and turns")

# ---- what must agree (P10) ----
for name, field, verdict in (("another account", {"account": "other"}, "ACCOUNT_MISMATCH"), ("no account", {"account": None}, "ACCOUNT_MISMATCH"),
                             ("another number", {"request_no": "other"}, "NUMBER_MISMATCH"), ("no number", {"request_no": None}, "NUMBER_MISMATCH"),
                             ("another amount", {"amount": 5801}, "AMOUNT_MISMATCH"), ("a hundredth", {"amount": 58}, "AMOUNT_MISMATCH"),
                             ("no amount", {"amount": None}, "AMOUNT_MISMATCH"), ("half a fen", {"amount": 5800.5}, "AMOUNT_MISMATCH"),
                             ("another currency", {"currency": "USD"}, "CURRENCY_MISMATCH"), ("no currency", {"currency": None}, "CURRENCY_MISMATCH"),
                             ("an amount that is none", {"amount": "flawed", "flaw": "amount"}, "FLAWED"),
                             ("an unknown currency", {"currency": "QQX", "flaw": "unknown_currency"}, "UNKNOWN_CURRENCY")):
    payment = to("processing")
    said = dict(pay.says(s, payment, "SUCCEEDED"), **field)
    said = {k: v for k, v in said.items() if v is not None}
    got = [pay.apply(s, payment, said), pay.apply(s, payment, said, source="query"), pay.apply(s, payment, said, source="query")]
    is_(got, ["held: " + verdict] * 3, name + ": held")
    is_((pay.row(s, payment, "state", "captured_minor"), pay.told(s, payment), pay.tasks(s, payment)),
        (["processing", "0"], [], ["evidence_mismatch MANUAL " + verdict]), name + ": nothing changes, one task for a person")
    is_(s.value("SELECT count(*) FROM postrider.call WHERE payment_id = %d" % payment), "1", name + ": it is asked about as before")
    is_(pay.apply(s, payment, pay.says(s, payment, "SUCCEEDED")), "applied", name + ": the truth may still come")
payment = to("processing")
is_(pay.apply(s, payment, pay.says(s, payment, "SUCCEEDED", account=None, asked=True)), "applied", "an answer to our own question need not name the account")
payment = to("processing")
is_(pay.apply(s, payment, {"object": "payment", "status": "PENDING"}), "ignored: duplicate", "pending moves no money: silence agrees")
payment = pay.track(s, "o%d" % next(numbers), "app-7")
is_(pay.apply(s, payment, pay.says(s, payment, "SUCCEEDED", reference="gw-7", request_no="app-7")), "applied", "a tracked payment by its number at the gateway")
payment = pay.track(s, "o%d" % next(numbers), "app-8")
is_(pay.apply(s, payment, pay.says(s, payment, "SUCCEEDED", reference="gw-8")), "held: NUMBER_MISMATCH", "another one's is not it")
payment = to("processing")
pay.apply(s, payment, pay.says(s, payment, "PENDING", reference="gw-9"))
other = to("processing")
is_(pay.apply(s, other, pay.says(s, other, "PENDING", reference="gw-9")), "held: NUMBER_MISMATCH", "one number of the gateway is one payment's")

# ---- amounts ----
payment = to("processing")
pay.apply(s, payment, pay.says(s, payment, "SUCCEEDED", captured_total=3000))
is_(pay.row(s, payment, "captured_minor", "state") + [status(payment)], ["3000", "succeeded", "partially_captured"], "a partial capture is observed")
is_(s.fails("SELECT postrider.refund_payment(%d, 'r', 3001)" % payment), "PR007", "no more than was captured goes back")
payment = to("succeeded")
got = [pay.apply(s, payment, pay.says(s, payment, "PARTIALLY_REFUNDED", refunded_total=n)) for n in (1000, 1000, 2500, 1000)]
is_((got, pay.row(s, payment, "refunded_minor"), pay.told(s, payment)[1:]), (["applied", "ignored: duplicate", "applied", "ignored: duplicate"], "2500",
    ["payment.partially_refunded"] * 2), "totals are cumulative: not added up, never back, told for each change")
is_(s.fails("SELECT postrider.refund_payment(%d, 'r', 3301)" % payment), "PR007", "what others sent back counts")
payment = to("succeeded")
unclear = pay.says(s, payment, "SUCCEEDED", follow_up="query_refunds")
pay.apply(s, payment, unclear)
is_(pay.tasks(s, payment), ["refund_unclear MANUAL REFUND_AMOUNT_UNKNOWN"], "money went back, nobody says how much: a person")
payment = to("succeeded")
seen = {"object": "refund", "status": "SUCCEEDED", "account": "acc", "currency": "CNY", "request_no": pay.row(s, payment, "request_no"), "refund_amount": 800,
        "refund_reference": "x1"}
is_((pay.apply(s, payment, seen), pay.apply(s, payment, seen), pay.apply(s, payment, dict(seen, refund_amount=0, refund_reference="x2"))),
    ("applied", "ignored: duplicate", "held: AMOUNT_MISMATCH"), "a refund that is not ours is taken up, once; one of nothing is not")
is_((s.run("SELECT refund_no, state, origin FROM postrider.refund_status WHERE payment_id = %d" % payment), status(payment)),
    ([["gw:x1", "succeeded", "gateway"]], "partially_refunded"), "as an object of its own")

# ---- late money, second success ----
payment = to("cancelled")
pay.apply(s, payment, pay.says(s, payment, "SUCCEEDED"))
refund = int(s.value("SELECT id FROM postrider.refund WHERE payment_id = %d AND refund_no = 'late_money' AND amount_minor = 5800" % payment))
is_((pay.apply(s, payment, pay.refund_says(s, refund, "SUCCEEDED")), pay.row(s, payment, "state", "refunded_minor"), pay.tasks(s, payment)),
    ("applied", ["cancelled", "5800"], ["late_money SUCCESS REFUNDED"]), "late money goes back by itself, and ends its task")
payment = to("cancelled", on="person")
pay.apply(s, payment, pay.says(s, payment, "SUCCEEDED"))
is_((pay.tasks(s, payment), s.value("SELECT count(*) FROM postrider.refund WHERE payment_id = %d" % payment)), (["late_money MANUAL LATE_MONEY"], "0"),
    "or to a person, by policy")
first, second = pay.submit(s, "twice"), pay.track(s, "twice", "tw2")
pay.apply(s, first, pay.says(s, first, "SUCCEEDED"))
pay.apply(s, second, pay.says(s, second, "SUCCEEDED"))
is_((pay.tasks(s, first), pay.tasks(s, second)), ([], ["second_success WAITING SECOND_SUCCESS"]), "a second success of an order opens a refund task")

# ---- births ----
ORDER = "birth"
one = pay.submit(s, ORDER)
is_(pay.submit(s, ORDER), one, "the same again is the same")
is_(s.fails("SELECT postrider.submit_payment('m1', '%s', 'c1', 5801, 'CNY')" % ORDER), "PR002", "with another amount it is refused")
is_(s.fails("SELECT postrider.submit_payment('m1', '%s', 'many', 5800, 'CNY')" % ORDER), "", "where the channel's policy allows many, another channel may")
is_(s.fails("SELECT postrider.submit_payment('m1', '%s', 'person', 5800, 'CNY')" % ORDER), "", "and another")
is_(s.fails("SELECT postrider.submit_payment('m1', '%s', 'turns', 5800, 'CNY')" % ORDER), "PR005", "a second payment of an order on another channel is refused")
is_(s.fails("SELECT postrider.submit_payment('m1', '%s', 'c1', 5800, 'CNY', '{}', '{\"intent\": \"2\"}')" % ORDER), "PR005", "a second intent too")
pay.apply(s, one, pay.says(s, one, "FAILED"))
s.run("SELECT postrider.cancel_payment(id, 'x') FROM postrider.payment WHERE order_no = '%s' AND state = 'created'" % ORDER)
is_(s.fails("SELECT postrider.submit_payment('m1', '%s', 'c1', 5800, 'CNY', '{}', '{\"intent\": \"2\"}')" % ORDER), "", "once it has failed a new intent may be")
tracked = pay.track(s, "tr", "tr-1")
is_(pay.track(s, "tr", "tr-1"), tracked, "tracking is idempotent by the gateway's number")
is_(s.fails("SELECT postrider.track_payment('m1', 'tr', 'c1', 'tr-1', 1, 'CNY')"), "PR002", "with another amount it is refused")
is_(s.fails("SELECT postrider.submit_payment('m1', 'tr', 'c1', 5800, 'CNY')"), "PR005", "what is tracked is not charged as well")
is_(s.run("SELECT state, status, next_operation, next_poll_at > created_at + interval '50 s' FROM postrider.payment_status WHERE payment_id = %d" % tracked),
    [["processing", "processing", "query", "t"]], "its first poll is after a minute")
for arguments, state in (("'nobody', 'o', 'c1', 1, 'CNY'", "PR001"), ("'m1', 'o', 'none', 1, 'CNY'", "PR004"), ("'m1', '', 'c1', 1, 'CNY'", "PR003"),
                         ("'m1', repeat('x', 65), 'c1', 1, 'CNY'", "PR008"), ("'m1', 'z', 'c1', -1, 'CNY'", "PR003"), ("'m1', 'z', 'c1', 9007199254740992, 'CNY'", "PR003"),
                         ("'m1', 'z', 'c1', 1, 'cny'", "PR003"), ("'m1', 'z', 'c1', 1, 'CNY', '[]'", "PR003"), ("'m1', 'z', 'c1', 1, 'CNY', '{}', '{\"x\": 1}'", "PR003"),
                         ("'m1', 'z', 'c1', 1, 'CNY', '{}', '{\"priority\": 3}'", "PR003"), ("'m1', 'z', 'c1', 1, 'CNY', '{}', '{\"on_expiry\": \"never\"}'", "PR003"),
                         ("'m1', 'z', 'c1', 1, 'CNY', '{}', '{\"livemode\": false}'", "PR003"), ("'m1', 'z', 'c1', 1, 'CNY', '{}', '{\"notify_url\": \"ftp://x\"}'", "PR003"),
                         ("'m1', 'z', 'c1', 1, 'CNY', jsonb_build_object('a', repeat('x', 20480))", "PR008"),
                         ("'m1', 'z', 'c1', 1, 'CNY', '{}', '{\"expires_at\": \"soon\"}'", "PR003"), ("'m1', 'z', 'c1', NULL, 'CNY'", "PR003"),
                         ("repeat('m', 9999), 'z', 'c1', 1, 'CNY'", "PR001"), ("NULL, NULL, NULL, NULL, NULL", "PR001")):
    is_(s.fails("SELECT postrider.submit_payment(%s)" % arguments), state, "submit_payment(%s)" % arguments)
for currency, on, manual in (("JPY", "c1", "f"), ("KWD", "c1", "f"), ("QQQ", "c1", "t"), ("XAU", "c1", "t"), ("QQQ", "isk", "f")):
    payment = pay.submit(s, "cur%d" % next(numbers), on=on, currency=currency)
    is_((pay.row(s, payment, "manual")[0], pay.tasks(s, payment), s.value("SELECT count(*) FROM postrider.call WHERE payment_id = %d" % payment)),
        (manual, ["payment_review MANUAL UNKNOWN_CURRENCY"] if manual == "t" else [], "0" if manual == "t" else "1"),
        "%s at %s: %s" % (currency, on, "held for a person" if manual == "t" else "charged"))
with open(HOME + "/lib/core/money.c") as file:
    table = re.search(r"codes_by_exponent\[.*?\] = \{(.*?)\n\};", file.read(), re.S).group(1)
listed = [re.findall("[A-Z]{3}", "".join(re.findall('"([A-Z]*)"', part))) for part in re.split(r",\n", table) if '"' in part]
is_(json.loads(s.value("SELECT json_object_agg(c, postrider.currency_exponent(c)) FROM unnest('{%s}'::text[]) AS c" % ",".join(c for cs in listed for c in cs))),
    {c: n for n, cs in enumerate(listed) for c in cs}, "currencies and exponents are those of lib/core/money.c")
is_(s.value("SELECT count(*) FROM generate_series(65, 90) a, generate_series(65, 90) b, generate_series(65, 90) c"
            " WHERE postrider.currency_exponent(chr(a) || chr(b) || chr(c)) IS NOT NULL"), str(sum(len(cs) for cs in listed)), "and no others")
# R6: parts read as they are
keys = s.run("SELECT postrider.intent_key(a, b, 'c', 'PAY', '1', 64) FROM (VALUES ('ab', 'c'), ('a', 'bc'), ('a', 'b:c'), ('a:', 'bc')) AS x (a, b)")
is_(len({k[0] for k in keys}), 4, "keys do not run into each other")
s.run("SELECT postrider.channel_set('me', 'many', '{\"number_max\": 32}')")
is_(len(pay.row(s, new("many"), "request_no")), 32, "a number is no longer than the channel takes")

# ---- cancel, report, fulfil ----
is_(pay.call(s, "cancel_payment", to("failed"), "x"), "failed", "cancelling what has failed")
is_(s.fails("SELECT postrider.cancel_payment(%d, 'x')" % to("succeeded")), "PR006", "what has succeeded is refunded, not cancelled")
is_(s.fails("SELECT postrider.cancel_payment(%d, 'x')" % to("processing", on="mute")), "PR006", "a channel that cannot close")
is_(s.fails("SELECT postrider.cancel_payment(-1, 'x')"), "PR009", "no such payment")
payment = to("processing")
is_([pay.call(s, "report_payment", payment, "succeeded", {"reference": "app"}, "e1"), pay.call(s, "report_payment", payment, "succeeded", {"reference": "app"}, "e1"),
     pay.call(s, "report_payment", payment, "failed", {}, "e2"), pay.call(s, "report_payment", payment, "pending", {}, None)],
    ["applied", "ignored: duplicate", "ignored: final", "ignored: stale"], "the application heard it itself")
payment = to("processing")
is_(pay.call(s, "report_payment", payment, "succeeded", {"amount": 1}, None), "held: AMOUNT_MISMATCH", "what it names is compared")
is_(s.fails("SELECT postrider.report_payment(%d, 'great', '{}')" % payment), "PR003", "a state that is none")
for state in ("failed", "delivered", "failed"):
    pay.call(s, "report_fulfilment", pay.MERCHANT, "ful", state, "ref")
is_((s.run("SELECT state FROM postrider.fulfilments WHERE order_no = 'ful'"), s.run("SELECT biz_type, status, retry_limit FROM postrider.compensation_tasks WHERE order_no = 'ful'")),
    ([["delivered"]], [["delivery", "SUCCESS", "3"]]), "a failed delivery opens a task, one that is made ends it, and stays made")
is_(pay.call(s, "create_task", "recon", "7", pay.MERCHANT, "o", {"a": 1}, "k"), pay.call(s, "create_task", "recon", "7", pay.MERCHANT, "o", {"a": 1}, "k"), "a task by its key")
is_(s.fails("SELECT postrider.create_task('recon', '8', 'm1', 'o', '{}', 'k')"), "PR002", "the key with other arguments")
is_(pay.call(s, "create_task", "recon", "7", pay.MERCHANT, "o", {"b": 1}, "k2"), pay.call(s, "create_task", "recon", "7", pay.MERCHANT, "o", {"a": 1}, "k"),
    "one open task per kind and object")

# ---- disputes ----
payment = to("succeeded")
said = {"object": "dispute", "status": "PENDING", "account": "acc", "request_no": pay.row(s, payment, "request_no"), "refund_reference": "d1", "amount": 5800, "currency": "CNY"}
is_([pay.apply(s, payment, said), status(payment), pay.apply(s, payment, dict(said, status="SUCCEEDED")), status(payment), pay.apply(s, payment, said)],
    ["applied", "disputed", "applied", "succeeded", "ignored: final"], "a dispute opens, is won, and does not open again")

# ---- the notification ----
payment = new(extra={"k": "v"}, app_ref="a7", notify_url="https://m1.example/x", priority=2)
pay.apply(s, payment, pay.says(s, payment, "FAILED", failure_code="51", failure_message='no "money"'))
body = s.run("SELECT encode(body, 'hex'), class, notify_url, version, notify_id FROM postrider.outbox WHERE order_no = (SELECT order_no FROM postrider.payment WHERE id = %d)" % payment)[0]
text = bytes.fromhex(body[0]).decode()
plain = s.value("SELECT convert_from(body, 'UTF8') FROM postrider.outbox WHERE notify_id = postrider.enqueue_notification('m1', 'plain', 'a.b', '{}')") \
    if s.run("SELECT postrider.enqueue_notification('m1', 'plain', 'a.b', '{}')") is None else \
    s.value("SELECT convert_from(body, 'UTF8') FROM postrider.outbox WHERE order_no = 'plain'")
got = json.loads(text)
is_(list(got), list(json.loads(plain)), "the body has the keys of every notification's, in their order")
is_((got["failure"], got["extra"], got["payment_id"], got["amount"], got["currency"], got["status"], got["livemode"], got["data"]["app_ref"]),
    ({"code": "51", "message": 'no "money"'}, {"k": "v"}, payment, 5800, "CNY", "failed", True, "a7"), "and what is known of the payment")
is_((body[1], body[2], body[3], body[4], got["version"]), ("2", "https://m1.example/x", pay.row(s, payment, "version"), pay.row(s, payment, "notify_id"), int(body[3])),
    "class, address, version and id are the payment's")

# ---- the feed and the hook (P17) ----
is_(s.run("SELECT event, status FROM postrider.payment_events WHERE payment_id = %d" % payment), [["payment.failed", "failed"]], "the feed has it")
slow = Session()
slow.run("BEGIN; SELECT pg_current_xact_id()")
late = to("succeeded")
is_(s.value("SELECT count(*) FROM postrider.payment_events WHERE payment_id = %d" % late), "0", "a row is not shown while one before it may still come")
slow.run("COMMIT")
is_(s.value("SELECT count(*) FROM postrider.payment_events WHERE payment_id = %d" % late), "1", "then it is")
slow.close()
s.run("CREATE SCHEMA app; CREATE TABLE app.seen (fed jsonb); GRANT USAGE ON SCHEMA app TO PUBLIC;"
      "CREATE FUNCTION app.hook(fed jsonb) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO app.seen VALUES (fed);"
      " IF fed ->> 'state' = 'failed' THEN RAISE division_by_zero; END IF; END $$;"
      "UPDATE postrider.setting SET value = 'app.hook' WHERE key = 'hooks.payment'")
good, bad = to("succeeded"), to("failed")
is_((s.run("SELECT fed ->> 'payment_id', fed ->> 'event' FROM app.seen"), pay.row(s, bad, "state"), pay.tasks(s, bad), pay.tasks(s, good)),
    ([[str(good), "payment.succeeded"]], "failed", ["settlement_writeback WAITING 22012"], []), "the hook runs in the door's transaction; when it fails the payment commits, and a task is opened")
s.run("UPDATE postrider.setting SET value = 'pg_sleep' WHERE key = 'hooks.payment'")
bad = to("succeeded")
is_((pay.row(s, bad, "state"), pay.tasks(s, bad)), ("succeeded", ["settlement_writeback WAITING 42883"]), "what is no hook is a task, too")
s.run("UPDATE postrider.setting SET value = '' WHERE key = 'hooks.payment'")

# ---- people ----
payment = to("processing")
s.run("SELECT postrider.payment_to_person(p, 'EXPIRED_UNKNOWN', '{}') FROM postrider.payment AS p WHERE id = %d" % payment)
number = s.value("SELECT task_no FROM postrider.compensation_tasks WHERE payment_id = %d AND status = 'MANUAL'" % payment)
is_((status(payment), s.value("SELECT count(*) FROM postrider.call WHERE payment_id = %d" % payment)), ("unknown", "0"), "with a person it is unknown, and not asked about")
is_(pay.call(s, "payment_poll", "me", payment, "look"), "t", "a person may ask now")
is_(s.fails("SELECT postrider.task_resolve('me', '%s', 'succeeded', '')" % number), "PR003", "a decision has a reason")
is_(pay.call(s, "task_resolve", "me", number, "succeeded", "seen in their console"), "applied", "and decides")
is_((status(payment), pay.row(s, payment, "ended_by"), s.run("SELECT status, closed_by, before ->> 'status', after ->> 'status' FROM postrider.compensation_tasks WHERE task_no = '%s'" % number)),
    ("succeeded", "person", [["CLOSED", "me", "unknown", "succeeded"]]), "what was before and after is kept")
is_(s.value("SELECT string_agg(action, ',' ORDER BY action_id) FROM postrider.manual_actions WHERE subject IN ('%d', '%s')" % (payment, number)),
    "payment.poll,payment.decide,task.close", "who did it is written down")
is_(s.fails("SELECT postrider.task_close('me', '%s', 'again')" % number), "PR006", "what is closed is not closed again")
number = s.value("SELECT task_no FROM postrider.task WHERE biz_type = 'evidence_mismatch' AND state = 'MANUAL' LIMIT 1")
again = pay.call(s, "task_resolve", "me", number, "rerun", "look again")
is_(s.run("SELECT state, follows FROM postrider.task WHERE task_no = '%s'" % again), [["WAITING", number]], "a rerun is a new task that points at the old one")

# ---- the sweep ----
lost, sent, mute = new(), to("processing"), to("processing", on="mute")
s.run("UPDATE postrider.payment SET sent_at = now() WHERE id = %d; DELETE FROM postrider.call WHERE payment_id IN (%d, %d, %d)" % (sent, lost, sent, mute))
untold, refund = new(), int(pay.call(s, "refund_payment", to("succeeded"), "lost", 1, None))
s.run("UPDATE postrider.payment SET state = 'cancelled', final_at = now() WHERE id = %d; DELETE FROM postrider.call WHERE refund_id = %d" % (untold, refund))
broken = s.run("SELECT name, broken FROM postrider.check_invariants('-infinity') WHERE kind = 'invariant' AND broken <> 0 ORDER BY 1")
is_(broken, [["call_of_ended", "1"], ["payment_end_untold", "1"], ["payment_without_next", "3"], ["refund_without_next", "1"]], "what has no next step, or was not told, is seen")
is_(s.run("SELECT * FROM postrider.payments_sweep(1000) WHERE seen > 0"),
    [["payment without a call", "3", "2", "1"], ["refund without a call", "1", "1", "0"], ["end that nobody was told", "1", "1", "0"],
     ["call of an ended payment", "1", "1", "0"]], "and swept")
is_(pay.told(s, untold), ["payment.cancelled"], "told late, but told")
is_(s.run("SELECT payment_id, operation, tries FROM postrider.call WHERE payment_id IN (%d, %d, %d) ORDER BY 1" % (lost, sent, mute)),
    [[str(lost), "charge", "0"], [str(sent), "query", "1000"]], "what was never sent is sent, what was is asked about and not sent again, what cannot be asked is a person's")
broken = s.run("SELECT name, broken FROM postrider.check_invariants('-infinity') WHERE kind = 'invariant' AND broken <> 0")
ok(not broken, "all invariants hold", broken)
timeline = {r[0] for r in s.run("SELECT DISTINCT kind FROM postrider.order_timeline WHERE merchant_id = 'm1' AND order_no IN ('ful', (SELECT order_no FROM postrider.payment WHERE id = %d))" % payment)}
ok({"payment.created", "payment.evidence", "notification.enqueued", "task.manual", "task.closed", "fulfilment.delivered"} <= timeline, "an order's timeline has it all", timeline)
s.close()
finish()
