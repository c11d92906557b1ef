# SPDX-License-Identifier: Apache-2.0
"""Webhooks from journal to effect, the door for HTTP, and channels as people set them."""
import hashlib
import json

import pay
from pg import PgError, Session, finish, is_, ok

s = Session()
pay.setup(s)
s.run("SELECT t.merchant('m2')")
pay.channel(s, "c1")
pay.channel(s, "test", livemode=False)
sched = pay.Scheduler(s)
serial = iter(range(1, 1000))


def hook(evidence, channel="c1", verdict="verified", reason="", keys=None, at="now()"):
    evidence = evidence if isinstance(evidence, list) else [evidence]
    items = [{"event_id": "e", "event_type": "t", "dedupe": keys if keys is not None else ["k%d" % next(serial)], "evidence": one} for one in evidence]
    return s.run("SELECT reply, webhook_id, result FROM postrider.webhook_receive(%s, %s, 'POST', 'a=b', '{\"X-A\": \"b\"}', '\\x00ff', %s, %s, %s)" % (
        pay.quote(channel), at, pay.quote(verdict), pay.quote(reason), pay.quote(items)))[0]


def state(webhook):
    return s.run("SELECT status, result FROM postrider.webhook_journal WHERE webhook_id = %s" % webhook)[0]


payment = pay.submit(s, "o1")
reply, one, result = hook(pay.says(s, payment, "SUCCEEDED"), keys=["a", "b", ""])
is_((reply, result, state(one)), ("accepted", "applied", ["applied", "applied"]), "a webhook is applied")
is_(s.run("SELECT headers, encode(body, 'hex'), items -> 0 -> 'evidence' ->> 'status' FROM postrider.webhook_raw(%s)" % one), [['{"X-A": "b"}', "00ff", "SUCCEEDED"]],
    "and kept as it came")
is_(pay.row(s, payment, "ended_by", "(webhook_ms IS NOT NULL)"), ["webhook", "true"], "how late it was is kept")
for keys in (["a"], ["b", "z"]):
    reply, one, result = hook(pay.says(s, payment, "FAILED"), keys=keys)
    is_((reply, result), ("accepted", "ignored: duplicate"), "any of its keys known: a repeat, acknowledged")
is_(hook(pay.says(s, payment, "FAILED"), keys=["c"])[2], "ignored: final", "an old failure undoes nothing")
is_(hook(pay.says(s, payment, "SUCCEEDED"), keys=["a"], channel="test")[0], "orphan", "another channel's number is not this payment")
for verdict in ("refused", "probe"):
    reply, one, result = hook(pay.says(s, pay.submit(s, "r" + verdict), "SUCCEEDED"), verdict=verdict, reason="bad_signature")
    is_((reply, state(one), s.value("SELECT state FROM postrider.payment WHERE order_no = 'r%s'" % verdict)), ("refused", ["refused", "bad_signature"], "created"),
        verdict + ": journaled, refused, nothing changed")
    is_(s.value("SELECT state FROM postrider.webhook_redrive(%s)" % one), "refused", "and is not driven again")
is_(hook({"object": "none"})[::2], ["accepted", "ignored: no payment"], "an event about no payment is acknowledged")
is_(hook([])[::2], ["accepted", ""], "and one without items")
first, second = pay.submit(s, "b1"), pay.submit(s, "b2")
reply, one, result = hook([pay.says(s, second, "SUCCEEDED"), pay.says(s, first, "PENDING"), pay.says(s, first, "SUCCEEDED", amount=1)])
is_((reply, result), ("accepted", "applied; applied; held: AMOUNT_MISMATCH"), "a batch: each item for itself")
reply, one, result = hook([pay.says(s, first, "SUCCEEDED", amount=1)])
is_((reply, result, pay.tasks(s, first)), ("accepted", "held: AMOUNT_MISMATCH", ["evidence_mismatch MANUAL AMOUNT_MISMATCH"]), "one about another amount is acknowledged, and a person's")
# what was held was not the answer: a later one by the same key is judged, once it is right it is applied, and only then it is a repeat
for wrong, why in (({"amount": 1}, "AMOUNT"), ({"currency": "USD"}, "CURRENCY"), ({"account": "other"}, "ACCOUNT"), ({"reference": "another's"}, "NUMBER")):
    payment = pay.submit(s, "held-" + why)
    if why == "NUMBER":
        pay.apply(s, payment, pay.says(s, payment, "PENDING", reference="its own"))
    shared = ["held:" + why, "also:" + why]
    held = [hook(pay.says(s, payment, "SUCCEEDED", **wrong), keys=shared)[2] for _ in range(2)]
    is_((held, pay.tasks(s, payment)), (["held: %s_MISMATCH" % why] * 2, ["evidence_mismatch MANUAL %s_MISMATCH" % why]), why + " held, as often as it comes; one task")
    right = pay.says(s, payment, "SUCCEEDED")
    is_([hook(right, keys=shared[:1])[2], pay.row(s, payment, "state"), hook(right, keys=shared)[2]], ["applied", "succeeded", "ignored: duplicate"],
        why + ": a right one by the same key is applied, then it is a repeat")
payment, other = pay.submit(s, "held-batch"), pay.submit(s, "held-batch2")
is_(hook([pay.says(s, payment, "SUCCEEDED"), pay.says(s, other, "SUCCEEDED", amount=1)], keys=["one for both"])[2], "applied; held: AMOUNT_MISMATCH",
    "a batch whose items share a key")
is_(hook(pay.says(s, payment, "SUCCEEDED"), keys=["one for both"])[2], "ignored: duplicate", "what was held frees no key that another item has used")
try:
    hook([], channel="none")
    ok(False, "an unknown channel")
except PgError as error:
    is_(error.sqlstate, "PR004", "an unknown channel")

# orphans: kept, applied when the order appears
early = {"object": "payment", "status": "SUCCEEDED", "final": True, "account": "acc", "amount": 5800, "currency": "CNY", "reference": "late-1"}
orphans = [hook(early, keys=["late"])[:2] for _ in range(2)]
is_([o[0] for o in orphans], ["orphan", "orphan"], "an order that is not known: kept, each time it comes")
late = pay.track(s, "late", "late-1")
is_((pay.row(s, late, "state"), [state(o[1])[0] for o in orphans], pay.told(s, late)), ("succeeded", ["applied", "applied"], ["payment.succeeded"]),
    "when the order appears it is applied, once")
is_(s.value("SELECT count(*) FROM postrider.webhook_orphan WHERE number = 'late-1'"), "0", "and waits no longer")

# one that cannot be applied: kept, later, driven again, a task after a minute
s.run("CREATE FUNCTION t.break() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$;"
      "CREATE TRIGGER broken BEFORE INSERT ON postrider.payment_event FOR EACH ROW EXECUTE FUNCTION t.break()")
payment = pay.submit(s, "f1")
evidence = pay.says(s, payment, "SUCCEEDED")
reply, one, result = hook(evidence, keys=["f1"])
is_((reply, state(one)[0], pay.row(s, payment, "state"), result.startswith("53100")), ("later", "failed", "created", True), "what cannot be applied is kept, and is to come again")
reply, two, result = hook(evidence, keys=["f1"])
is_(reply, "later", "the gateway's repeat is no duplicate: nothing was applied")
UPKEEP = "SELECT postrider.payments_upkeep('%s', 10)" % sched.id       # on a slow machine others may be a minute old, too
s.run(UPKEEP)
ok(state(one)[0] in ("failed", "task"), "driven again in vain", state(one))
s.run("UPDATE postrider.webhook SET received_at = now() - interval '61 s' WHERE id = %s" % two)
s.run(UPKEEP)
is_((state(two)[0], s.run("SELECT biz_type, status FROM postrider.compensation_tasks WHERE biz_id = 'webhook:%s'" % two)),
    ("task", [["payment_callback", "WAITING"]]), "after a minute it is a task, too")
s.run("DROP TRIGGER broken ON postrider.payment_event")
s.run(UPKEEP)
s.run("SELECT postrider.webhook_redrive(%s)" % one)
is_((state(one)[0], pay.row(s, payment, "state")), ("applied", "succeeded"), "driven again, and applied")
is_((s.run("SELECT state, result FROM postrider.webhook_redrive(%s)" % two), s.value("SELECT status FROM postrider.compensation_tasks WHERE biz_id = 'webhook:%s'" % two)),
    ([["applied", "ignored: duplicate"]], "SUCCESS"), "a person drives the other one: done already, and its task with it")
is_(s.value("SELECT coalesce(state, 'none') FROM postrider.webhook_redrive(-1)"), "none", "there is no such webhook")
stale = hook(dict(early, reference="never"), at="now() - interval '5 min'")
s.run(UPKEEP)
is_((state(stale[1])[0], s.run("SELECT last_error_code FROM postrider.compensation_tasks WHERE biz_id = 'webhook:%s'" % stale[1])),
    ("task", [["ORDER_NOT_FOUND"]]), "an order that does not appear in time is a task")
waits = s.run("SELECT name, broken FROM postrider.check_invariants('-infinity') WHERE kind = 'invariant' AND broken <> 0")
ok(not waits, "all invariants hold", waits)

# keys and the door for HTTP
keys = {}
for name, kind, merchant, live in (("app", "application", None, True), ("apptest", "application", None, False), ("m1", "merchant", "m1", True)):
    digest = hashlib.sha256(name.encode()).hexdigest()
    keys[name] = int(s.value("SELECT postrider.key_create('me', '\\x%s', '%s', %s, %s, '%s')" % (digest, kind, pay.quote(merchant), str(live).lower(), name)))
check = "SELECT key_id, kind, merchant_id FROM postrider.http_key_check(sha256('%s'))"
is_(s.run(check % "m1"), [[str(keys["m1"]), "merchant", "m1"]], "a key is known by its hash")
is_((s.value("SELECT postrider.key_revoke('me', %d, 'lost')" % keys["m1"]), s.run(check % "m1")), ("t", []), "until it is revoked")
s.run("UPDATE postrider.http_key SET revoked_at = NULL; UPDATE postrider.http_key SET expires_at = now() - interval '1 s' WHERE id = %d" % keys["m1"])
is_(s.run(check % "m1"), [], "or has expired")
s.run("UPDATE postrider.http_key SET expires_at = NULL")


def write(key, operation, arguments, idempotency=None, digest="01"):
    got = s.run("SELECT status, body, replayed FROM postrider.http_write(%d, %s, '\\x%s', %s, %s)" % (
        keys[key], pay.quote(idempotency), digest, pay.quote(operation), pay.quote(arguments)))[0]
    return int(got[0]), json.loads(got[1]), got[2] == "t"


def refused(*arguments, **more):
    try:
        write(*arguments, **more)
        return ""
    except PgError as error:
        return error.sqlstate


BODY = {"merchant_id": "m1", "order_no": "h1", "channel": "c1", "amount": 5800, "currency": "CNY"}
code, body, again = write("app", "payment.submit", BODY, "i1")
is_((code, body["status"], again, write("app", "payment.submit", BODY, "i1")), (202, "created", False, (202, body, True)), "a payment over HTTP; the same again is the same answer")
is_(refused("app", "payment.submit", BODY, "i1", digest="02"), "PR002", "the key with another body")
other = Session()
other.run("BEGIN; SELECT postrider.http_write(%d, 'i2', '\\x01', 'fulfilment', '{\"merchant_id\": \"m1\", \"order_no\": \"x\", \"state\": \"delivered\"}')" % keys["app"])
is_(refused("app", "payment.submit", dict(BODY, order_no="h2"), "i2"), "55P03", "the first is under way")
other.run("ROLLBACK")
other.close()
is_([refused("app", "payment.submit", dict(BODY, amount="x")), refused("app", "payment.submit", dict(BODY, amount=1.5)), refused("app", "payment.submit", dict(BODY, amount=None)),
     refused("m1", "payment.submit", BODY), refused("apptest", "payment.submit", dict(BODY, order_no="h3")), refused("app", "payment.refund", {"payment_id": 999999, "refund_no": "r", "amount": 1}),
     refused("app", "payment.refund", {"payment_id": "x"}), refused("app", "nonsense", {}), refused("app", "payment.submit", dict(BODY, channel="c9")),
     refused("app", "payment.track", dict(BODY, order_no="h4", gateway_reference="h4", expires_at="soon"))],
    ["PR003", "PR003", "PR003", "PR009", "PR009", "P0002", "P0002", "PR003", "PR004", "PR003"], "what is wrong has its word")
TIMES = ("now", "tomorrow", "12/01/2026", "2026-12-24 05:00:00Z", "2026-12-24T05:00:00", "2026-13-24T05:00:00Z")
is_([refused("app", "payment.track", dict(BODY, order_no="h4", gateway_reference="h4", expires_at=at)) for at in TIMES], ["PR003"] * len(TIMES), "times are those of RFC 3339")
is_((refused("app", "payment.submit", dict(BODY, order_no="h4", expires_at="2099-01-01T00:00:00Z")), refused("app", "payment.submit", dict(BODY, order_no="h4", options={"expires_at": "soon"})),
     refused("app", "payment.track", dict(BODY, order_no="h4", gateway_reference="h4", request={"a": 1})),
     refused("app", "notification", {"merchant_id": "m1", "order_no": "h4", "event": "a.b", "occurred_at": "yesterday"})), ("PR003",) * 4, "nothing that is said is dropped")
is_(s.value("SELECT count(*) FROM postrider.payment WHERE order_no IN ('h2', 'h3', 'h4')"), "0", "and leaves nothing")
payment = body["payment_id"]
pay.apply(s, payment, pay.says(s, payment, "SUCCEEDED"))
code, refund, _ = write("app", "payment.refund", {"payment_id": payment, "refund_no": "r1", "amount": 800})
is_((code, refund["amount"], refund["state"]), (202, 800, "created"), "a refund")
is_(write("app", "payment.cancel", {"payment_id": pay.submit(s, "h5"), "reason": "x"})[1]["cancel"], "cancelled", "a cancellation")
is_(write("app", "payment.track", dict(BODY, order_no="h6", gateway_reference="g6", expires_at="2099-01-01T00:00:00Z"))[1]["expires_at"], "2099-01-01T00:00:00.000Z", "a tracked one")
code, note, _ = write("app", "notification", {"merchant_id": "m1", "order_no": "h7", "event": "a.b", "amount": 1, "currency": "CNY"})
is_((code, list(note)), (202, ["notify_id"]), "a notification")
is_((write("m1", "notification.resend", note)[1]["redriven"], refused("m1", "notification.resend", {"notify_id": "x"})), (0, "P0002"), "how a notification stands; only one that is there")

# a merchant's resends: thirty, then one each 2 s
s.run("""INSERT INTO postrider.dead (outbox_id, endpoint, outbox_at, class, reason, tries)
         SELECT o.id, e.id, o.at, o.class, 'expired', 9 FROM postrider.outbox AS o, postrider.endpoint AS e
         WHERE o.notify_id = '%s' AND e.merchant_id = 'm1'""" % note["notify_id"])
s.run("INSERT INTO postrider.resend_allowance (merchant_id, livemode, rest, at) VALUES ('m1', true, 0.5, now() + interval '1 day')")
is_((refused("m1", "notification.resend", note, "r1"), refused("m1", "notification.resend", note, "r1")), ("PR013",) * 2, "too often is refused, and a clock that went back refills nothing")
is_(s.value("SELECT state FROM postrider.dead"), "open", "nothing was driven")
s.run("UPDATE postrider.resend_allowance SET at = now() - interval '1 min'")
is_((write("m1", "notification.resend", note, "r1")[1]["redriven"], s.value("SELECT state FROM postrider.dead")), (1, "redriven"), "later it is, with the same Idempotency-Key")
s.run("UPDATE postrider.resend_allowance SET rest = 5, at = now() + interval '1 day'")
is_([s.value("SELECT 1 FROM postrider.resend_take('m1', true)"), s.value("SELECT rest FROM postrider.resend_allowance")], ["1", "4"], "each takes one")
s.run("UPDATE postrider.resend_allowance SET at = now() - interval '1 day'; UPDATE postrider.dead SET state = 'open'")
is_([s.value("SELECT 1 FROM postrider.resend_take('m1', true)"), s.value("SELECT rest BETWEEN 28.9 AND 29.1 FROM postrider.resend_allowance WHERE livemode")], ["1", "t"], "thirty at most, however long it waited")
s.run("UPDATE postrider.resend_allowance SET rest = 0, at = now() + interval '1 day'")
is_((write("app", "notification.resend", note)[1]["redriven"], s.value("SELECT 1 FROM postrider.resend_take('m1', false)"), s.value("SELECT 1 FROM postrider.resend_take('m2', true)")),
    (1, "1", "1"), "an application has no such limit; other merchants and money for tests have their own")


def read(key, what, arguments):
    got = s.value("SELECT coalesce(postrider.http_read(%d, '%s', %s), 'none')" % (keys[key], what, pay.quote(arguments)))
    return None if got == "none" else json.loads(got)


# one kind of money
TEST = {"payment_id": payment}
is_([refused("apptest", "payment.refund", dict(TEST, refund_no="t1", amount=1)), refused("apptest", "payment.cancel", dict(TEST, reason="x")),
     refused("apptest", "notification", {"merchant_id": "m1", "order_no": "h8", "event": "a.b"}), refused("apptest", "notification.resend", note),
     refused("apptest", "fulfilment", {"merchant_id": "m1", "order_no": "h1", "state": "delivered"})], ["P0002", "P0002", "PR009", "P0002", "PR009"],
    "a key for tests moves no live money, and tells nobody of it")
is_((read("apptest", "payment", TEST), read("apptest", "order", {"merchant_id": "m1", "order_no": "h1"}), read("app", "payment", TEST) is None), (None, None, False), "nor does it see any")
pay.channel(s, "ctest", livemode=False)
code, pretended, _ = write("apptest", "payment.submit", dict(BODY, order_no="h9", channel="ctest"))
is_((code, pretended["livemode"], refused("app", "payment.cancel", dict(pretended, reason="x")), read("app", "payment", pretended),
     read("apptest", "order", {"merchant_id": "m1", "order_no": "h9"})["payments"][0]["payment_id"]), (202, False, "P0002", None, pretended["payment_id"]),
    "pretended money is its own, and no live key's")
told = read("m1", "order", {"merchant_id": "m1", "order_no": "h1"})
is_(([p["status"] for p in told["payments"]], [r["refund_no"] for r in told["refunds"]], [n["event"] for n in told["notifications"]], "checked_at" in told),
    (["refunding"], ["r1"], ["payment.succeeded"], True), "a merchant asks for its order")
is_((read("m1", "order", {"merchant_id": "m2", "order_no": "h1"}), read("m1", "order", {"merchant_id": "m1", "order_no": "none"}), read("m1", "payment", {"payment_id": payment})["status"],
     read("m1", "payment", {"payment_id": "1 or 1=1"})), (None, None, "refunding", None), "not for another's")

# channels
is_(s.run("SELECT channel, state, match, operations FROM postrider.channels WHERE channel = 'c1'"), [["c1", "active", "{account,number,amount,currency}", "{charge,query,close,refund,query_refund}"]],
    "a channel as it was set")
BAD = ({"base_url": "http://h/path"}, {"base_url": "ftp://h"}, {"match": ["colour"]}, {"polls": "often"}, {"unit": "yuan"}, {"account": ""}, {"exponents": {"JPY": 9}}, {"burst": 0},
       {"concurrency": 5000}, {"order_policy": "some"}, {"late_money": "keep"}, {"nonsense": 1}, {"settle_ms": -1}, {"operations": ["steal"]}, {"rate_per_s": "fast"}, {"unit": None}, {"number_max": 8})
is_([s.fails("SELECT postrider.channel_set('me', 'c1', %s)" % pay.quote(bad)) for bad in BAD], ["PR003"] * len(BAD), "settings that are none")
is_((s.fails("SELECT postrider.channel_add('me', 'c1', %s)" % pay.quote(pay.SANDBOX)), s.fails("SELECT postrider.channel_add('me', 'a/b', '{}')"), s.fails("SELECT postrider.channel_set('me', 'no', '{}')"),
     s.fails("SELECT postrider.channel_add('', 'c7', %s)" % pay.quote(pay.SANDBOX))), ("PR003", "PR003", "PR004", "PR003"), "nor channels")
is_([s.fails("SELECT postrider.channel_set('me', 'c1', '{}', %s)" % pay.quote(bad)) for bad in (
    [{"name": "a", "sealed": "zz"}], [{"name": "a", "position": 5, "sealed": "00"}], [{"sealed": "00"}], {"a": 1}, [{"name": "a", "sealed": "00" * 4127}],
    [{"name": "p%d" % n, "sealed": "00"} for n in range(25)])], ["PR003"] * 6, "parameters that are none, too large or too many")
s.run("SELECT postrider.channel_add('me', 'moved', %s)" % pay.quote(pay.SANDBOX))
MOVES = ({"account": "another"}, {"livemode": False})
s.run("SELECT postrider.track_payment('m1', 'moved-1', 'moved', 'moved-ref-1', 500, 'CNY')")
is_(([s.fails("SELECT postrider.channel_set('me', 'moved', %s)" % pay.quote(one)) for one in MOVES], s.fails("SELECT postrider.channel_set('me', 'moved', '{\"rate_per_s\": 3}')")),
    (["PR006", "PR006"], ""), "while a payment is open its channel keeps its account")
s.run("SELECT postrider.payment_apply(c, p, 'test', '{\"status\": \"CANCELLED\"}', NULL) FROM postrider.payment AS p JOIN postrider.channel AS c ON c.no = p.channel_no WHERE p.order_no = 'moved-1'")
is_([s.fails("SELECT postrider.channel_set('me', 'moved', %s)" % pay.quote(one)) for one in MOVES], ["", ""], "and may change it when none is")
version = int(s.value("SELECT version FROM postrider.channel WHERE id = 'c1'"))
s.run("SELECT postrider.channel_set('me', 'c1', '{\"rate_per_s\": 4.5, \"burst\": 9}', '[{\"name\": \"secret\", \"sealed\": \"00ff\"}, {\"name\": \"secret\", \"position\": 2, \"sealed\": \"01\"}]', 'why')")
load = "SELECT channel, version, rate_per_s, burst, parameters FROM postrider.calls_channels('%s', '%s', '%s')"
got = [r for r in s.run(load % (sched.id, "{}", "{}")) if r[0] == "c1"][0]
is_((int(got[1]) > version, got[2:4], json.loads(got[4])), (True, ["4.5", "9"], [{"name": "secret", "sealed": "00ff", "position": 1}, {"name": "secret", "sealed": "01", "position": 2}]),
    "a change makes a new version, with its sealed parameters")
is_(len(s.run(load % (sched.id, "{c1,test}", "{%s,1}" % got[1]))), 0, "what is known is not read again")
is_((s.value("SELECT postrider.channel_pause('me', 'c1', 'x')"), s.value("SELECT postrider.channel_pause('me', 'c1', 'x')"), s.fails("SELECT postrider.channel_maintain('me', 'c1', 'x')"),
     s.value("SELECT count(*) FROM postrider.calls_due('%s', (SELECT array_agg(n::smallint) FROM generate_series(0, 255) AS n), 9) WHERE channel = 'c1'" % sched.id)), ("t", "f", "PR006", "0"),
    "paused: nothing is due, and it does not rest as well")
is_((s.value("SELECT postrider.channel_resume('me', 'c1', 'x')"), s.fails("SELECT postrider.channel_resume('me', 'c1', '')")), ("t", "PR003"), "resumed, with a reason")
ok(int(s.value("SELECT count(*) FROM postrider.calls_due('%s', (SELECT array_agg(n::smallint) FROM generate_series(0, 255) AS n), 9) WHERE channel = 'c1'" % sched.id)) > 0, "and all goes on")
is_(s.value("SELECT string_agg(action, ',' ORDER BY action_id) FROM postrider.manual_actions WHERE subject = 'c1'"), "channel.add,channel.set,channel.pause,channel.resume", "who did it is written down")

# what is old goes
s.run("UPDATE postrider.webhook SET received_at = now() - interval '4 years' WHERE state IN ('refused', 'failed'); UPDATE postrider.call_log SET at = now() - interval '1 d';"
      "UPDATE postrider.http_answer SET at = now() - interval '31 d'")
old = int(s.value("SELECT count(*) FROM postrider.webhook WHERE state = 'refused'"))
is_((int(s.value("SELECT postrider.payments_purge('1 h', '3 years', 1000)")) >= old, s.value("SELECT count(*) FROM postrider.webhook WHERE state = 'refused'"), s.value("SELECT postrider.http_purge(10)")),
    (True, "0", "2"), "history goes by its age")
s.close()
finish()
