# SPDX-License-Identifier: Apache-2.0
"""What follows an outcome (R1, R2, R5, R8, P8), played through: each line is one call, its answer, and what is to come of it."""
import json

import pay
from pg import Session, finish, is_, ok

s = Session()
pay.setup(s)
pay.channel(s, "c1")
pay.channel(s, "slow", settle_ms=600000)
pay.channel(s, "mute", operations=["charge", "refund"], failure_final=False, not_found_grace_ms=0)
pay.channel(s, "person", risk="person", late_money="person")
pay.channel(s, "noclose", operations=["charge", "query"])
pay.channel(s, "capture", operations=["charge", "query", "capture", "close"])
sched = pay.Scheduler(s)
orders = iter(range(1, 1000))


def ev(status, **more):
    return lambda payment: pay.says(s, payment, status, **more)


ACCEPTED = lambda payment: pay.says(s, payment, "PENDING", reference="r%d" % payment)
PAID, PENDING = ev("SUCCEEDED", asked=True), ev("PENDING", asked=True)
NOT_FOUND = ev("NOT_FOUND", account=None, amount=None, currency=None, request_no=None)
TIMEOUT = ev("UNKNOWN", action="query_first", reason="timeout", account=None, amount=None, currency=None, request_no=None)
LIMITED = ev("UNKNOWN", action="back_off", reason="rate_limited", http_status=429)
MAINTAIN = ev("UNKNOWN", action="longer_interval", reason="maintenance", http_status=503)
DECLINED = ev("FAILED", action="fail_now", reason="insufficient_funds", failure_code="51", failure_message="no money", amount=None, account=None, currency=None, request_no=None)
CLOSED = ev("CANCELLED", http_status=200)
SOFT = ev("FAILED", final=False)
WRONG = ev("SUCCEEDED", amount=5801)
REFUSED = ev("UNKNOWN", action="stop_channel", reason="credential_refused", http_status=401)


def play(name, steps, state, status, said, channel="c1", expired=False, **options):
    """steps: (evidence, expected)."""
    payment = pay.submit(s, "o%d" % next(orders), on=channel, **options)
    got, wanted = [], []
    for evidence, expected in steps:
        if evidence == "expire":
            s.run("UPDATE postrider.payment SET expires_at = clock_timestamp() WHERE id = %d" % payment)
            continue
        if evidence == "cancel":
            got.append(pay.call(s, "cancel_payment", payment, "why"))
        else:
            got.append(sched.step(payment, evidence(payment), next_ms=None if expected.endswith("!") else 1000))
        wanted.append(expected.rstrip("!"))
    is_(got, wanted, name)
    is_([pay.row(s, payment, "state"), s.value("SELECT status FROM postrider.payment_status WHERE payment_id = %d" % payment), pay.told(s, payment)],
        [state, status, said], name + ": its end")
    return payment


play("charged at once", [(PAID, "charge: applied -> none: final")], "succeeded", "succeeded", ["payment.succeeded"])
play("accepted, then paid", [(ACCEPTED, "charge: applied -> query"), (PENDING, "query: ignored: duplicate -> query"), (PAID, "query: applied -> none: final")],
     "succeeded", "succeeded", ["payment.succeeded"])
play("declined", [(DECLINED, "charge: applied -> none: final")], "failed", "failed", ["payment.failed"])
play("a timeout is asked about, and was charged", [(TIMEOUT, "charge: ignored: no news -> query"), (PAID, "query: applied -> none: final")],
     "succeeded", "succeeded", ["payment.succeeded"])
play("a timeout, not found: charged again", [(TIMEOUT, "charge: ignored: no news -> query"), (NOT_FOUND, "query: ignored: no news -> charge"),
     (PAID, "charge: applied -> none: final")], "succeeded", "succeeded", ["payment.succeeded"])
play("not found before it has settled proves nothing", [(TIMEOUT, "charge: ignored: no news -> query"), (NOT_FOUND, "query: ignored: no news -> query"),
     (NOT_FOUND, "query: ignored: no news -> query"), (PAID, "query: applied -> none: final")], "succeeded", "succeeded", ["payment.succeeded"], channel="slow")
play("a question that fails is asked again, never a charge", [(TIMEOUT, "charge: ignored: no news -> query"), (TIMEOUT, "query: ignored: no news -> query"),
     (LIMITED, "query: ignored: no news -> query"), (MAINTAIN, "query: ignored: no news -> query"), (PAID, "query: applied -> none: final")],
     "succeeded", "succeeded", ["payment.succeeded"])
play("refused for its rate: asked all the same, then charged", [(LIMITED, "charge: ignored: no news -> query"), (NOT_FOUND, "query: ignored: no news -> charge"),
     (PAID, "charge: applied -> none: final")], "succeeded", "succeeded", ["payment.succeeded"])
play("six charges, then a person", [(TIMEOUT, "charge: ignored: no news -> query"), (NOT_FOUND, "query: ignored: no news -> charge")] * 5
     + [(TIMEOUT, "charge: ignored: no news -> query"), (NOT_FOUND, "query: ignored: no news -> none: with a person")],
     "processing", "unknown", ["payment.unknown"])
gone = play("explicitly unpaid at expiry: closed, asked, cancelled", [(ACCEPTED, "charge: applied -> query"), ("expire", ""),
     (PENDING, "query: ignored: duplicate -> close!"), (CLOSED, "close: applied -> none: final")], "cancelled", "cancelled", ["payment.cancelled"])
play("closed without a word: asked again", [(ACCEPTED, "charge: applied -> query"), ("expire", ""), (PENDING, "query: ignored: duplicate -> close!"),
     (ev("UNKNOWN", http_status=204), "close: ignored: no news -> query"), (CLOSED, "query: applied -> none: final")], "cancelled", "cancelled", ["payment.cancelled"])
play("never appeared, closed, not there: cancelled", [(TIMEOUT, "charge: ignored: no news -> query"), ("expire", ""), (NOT_FOUND, "query: ignored: no news -> close!"),
     (NOT_FOUND, "close: ignored: no news -> query"), (NOT_FOUND, "query: ignored: no news -> none: cancelled")], "cancelled", "cancelled", ["payment.cancelled"])
play("paid while it was closed", [(ACCEPTED, "charge: applied -> query"), ("expire", ""), (PENDING, "query: ignored: duplicate -> close!"),
     (TIMEOUT, "close: ignored: no news -> query"), (PAID, "query: applied -> none: final")], "succeeded", "succeeded", ["payment.succeeded"])
play("a gateway that never answers ends with a person", [(TIMEOUT, "charge: ignored: no news -> query"), ("expire", ""),
     (TIMEOUT, "query: ignored: no news -> none: with a person!")], "processing", "unknown", ["payment.unknown"])
play("no poll is left: closed before its expiry", [(ACCEPTED, "charge: applied -> query"), (PENDING, "query: ignored: duplicate -> close!"),
     (CLOSED, "close: applied -> none: final")], "cancelled", "cancelled", ["payment.cancelled"])
play("on_expiry manual: a person", [(ACCEPTED, "charge: applied -> query"), ("expire", ""), (PENDING, "query: ignored: duplicate -> none: with a person!")],
     "processing", "unknown", ["payment.unknown"], on_expiry="manual")
play("a channel that cannot close: a person", [(ACCEPTED, "charge: applied -> query"), ("expire", ""), (PENDING, "query: ignored: duplicate -> none: with a person!")],
     "processing", "unknown", ["payment.unknown"], channel="noclose")
play("a channel that cannot be asked: never charged again, a person at its end", [(TIMEOUT, "charge: ignored: no news -> expire"), ("expire", ""),
     (TIMEOUT, "dropped: with a person")], "processing", "unknown", ["payment.unknown"], channel="mute")
play("there, a refusal for its rate may be repeated", [(LIMITED, "charge: ignored: no news -> charge")], "processing", "processing", [], channel="mute")
play("a failure that may turn leaves it open", [(SOFT, "charge: ignored: no news -> query"), (SOFT, "query: ignored: no news -> query"),
     (PAID, "query: applied -> none: final")], "succeeded", "succeeded", ["payment.succeeded"])
play("failed, retryable: asked, then charged again", [(ev("FAILED", final=False, action="retry"), "charge: ignored: no news -> query"),
     (ev("FAILED", final=False, action="retry"), "query: ignored: no news -> charge"), (PAID, "charge: applied -> none: final")],
     "succeeded", "succeeded", ["payment.succeeded"])
play("approved: captured", [(ev("PENDING", follow_up="capture"), "charge: ignored: duplicate -> capture"), (PAID, "capture: applied -> none: final")],
     "succeeded", "succeeded", ["payment.succeeded"], channel="capture")
play("another amount: held, asked on, a person at its end", [(ACCEPTED, "charge: applied -> query"), (WRONG, "query: held: AMOUNT_MISMATCH -> query"),
     (WRONG, "query: held: AMOUNT_MISMATCH -> query"), ("expire", ""), (WRONG, "query: held: AMOUNT_MISMATCH -> none: with a person!")],
     "processing", "unknown", ["payment.unknown"])
play("a risk refusal fails", [(ev("FAILED", action="fail_now", reason="risk_refused", amount=None, request_no=None, currency=None), "charge: applied -> none: final")], "failed", "failed", ["payment.failed"])
play("a risk refusal goes to a person where the channel says so", [(ev("FAILED", action="fail_now", reason="risk_refused"), "charge: held: RISK_REFUSED -> none: with a person")],
     "processing", "unknown", ["payment.unknown"], channel="person")
play("the channel says: a person", [(ev("UNKNOWN", action="person", reason="number_used"), "charge: ignored: no news -> none: with a person")],
     "processing", "unknown", ["payment.unknown"])
play("cancelled before anything was sent", [("cancel", "cancelled"), (PAID, "no call")], "cancelled", "cancelled", ["payment.cancelled"])
play("cancelled while open: the channel's answer decides", [(ACCEPTED, "charge: applied -> query"), ("cancel", "closing"), (CLOSED, "close: applied -> none: final"),
     ("cancel", "cancelled")], "cancelled", "cancelled", ["payment.cancelled"])
play("expired before it was sent", [("expire", ""), (PAID, "dropped: expired")], "cancelled", "cancelled", ["payment.cancelled"])
payment = play("a charge that is to be repeated is not, once it is over", [(TIMEOUT, "charge: ignored: no news -> query"), (NOT_FOUND, "query: ignored: no news -> charge"),
     ("expire", ""), (PAID, "dropped: asked first"), (NOT_FOUND, "query: ignored: no news -> close!")], "processing", "processing", [])

# refunds
paid = play("paid, to be refunded", [(PAID, "charge: applied -> none: final")], "succeeded", "succeeded", ["payment.succeeded"])


def refund(name, amount, steps, state, status):
    number = int(pay.call(s, "refund_payment", paid, name, amount, "why"))
    got = [sched.step(paid, pay.refund_says(s, number, **evidence), refund=number, next_ms=delay) for evidence, delay, _ in steps]
    is_(got, [wanted for _, _, wanted in steps], "refund: " + name)
    is_(s.run("SELECT r.state, p.status, p.refunded_minor FROM postrider.refund AS r, postrider.payment_status AS p WHERE p.payment_id = r.payment_id AND r.id = %d" % number)[0],
        [state, status[0], str(status[1])], "refund: %s: its end" % name)
    return number


LOST = dict(status="UNKNOWN", action="query_first", refund_amount=None, refund_no=None, request_no=None, account=None, currency=None)
NONE = dict(LOST, status="NOT_FOUND", action=None)
refund("a", 800, [(dict(status="PENDING"), 1, "refund: ignored: duplicate -> query_refund"), (dict(status="SUCCEEDED"), 1, "query_refund: applied -> none: final")],
       "succeeded", ("partially_refunded", 800))
refund("b", 1000, [(LOST, 1, "refund: ignored: no news -> query_refund"), (NONE, 1, "query_refund: ignored: no news -> refund"),
                   (dict(status="SUCCEEDED"), 1, "refund: applied -> none: final")], "succeeded", ("partially_refunded", 1800))
refund("c", 1000, [(dict(status="FAILED"), 1, "refund: applied -> none: final")], "failed", ("partially_refunded", 1800))
number = refund("d", 1000, [(LOST, 1, "refund: ignored: no news -> query_refund"), (LOST, None, "query_refund: ignored: no news -> none: with a person")],
                "processing", ("refunding", 1800))
is_(s.fails("SELECT postrider.refund_payment(%d, 'e', 3001)" % paid), "PR007", "what may have gone is not to be refunded again")
is_(pay.apply(s, paid, pay.refund_says(s, number, "SUCCEEDED"), refund=number), "applied", "the webhook knows")
number = refund("e", 3000, [(dict(status="SUCCEEDED"), 1, "refund: applied -> none: final")], "succeeded", ("refunded", 5800))
is_(pay.apply(s, paid, pay.refund_says(s, number, "FAILED")), "applied", "a refund that the channel takes back")
is_(s.run("SELECT r.state, p.status, p.refunded_minor FROM postrider.refund AS r, postrider.payment_status AS p WHERE p.payment_id = r.payment_id AND r.id = %d" % number)[0],
    ["reversed", "partially_refunded", "2800"], "it is reversed")
is_(pay.told(s, paid)[1:], ["refund.succeeded", "refund.succeeded", "refund.failed", "refund.succeeded", "refund.succeeded", "refund.reversed"], "each refund's end is told")

# tokens, leases, sessions
other = Session()
second = pay.Scheduler(other)
is_(other.value("SELECT count(*) FROM postrider.call_shards('%s')" % second.id), "0", "a second owner takes nothing of a living one")
payment = pay.submit(s, "t1")
sent = sched.dispatch(sched.call_of(payment), lease=1)
is_(sched.dispatch(sent["call_id"]), None, "what is handed out is not handed out again")
is_(sched.apply(dict(sched.outcome(sent, {}), returned=True))[0]["verdict"], "returned", "handed back untried")
again = sched.dispatch(sent["call_id"], lease=1)
is_((again["operation"], again["tries"], again["attempt"]), ("charge", 1, 2), "it is the same charge, and the first")
s.run("SELECT pg_sleep(0.01)")
is_(s.value("SELECT postrider.calls_expire_leases('%s', 100)" % sched.id), "1", "past its lease")
is_(s.run("SELECT operation, reason, settle_at > now() - interval '1 min' FROM postrider.call WHERE id = %d" % again["call_id"]), [["query", "worker_lost", "t"]],
    "a charge whose worker is lost becomes a question")
done = sched.apply(sched.outcome(again, pay.says(s, payment, "SUCCEEDED")))[0]
is_((done["verdict"], pay.row(s, payment, "state"), sched.call_of(payment)), ("stale token: applied", "succeeded", None),
    "its late answer does not write the job, but the payment's door takes it")
is_(sched.apply(sched.outcome(again, pay.says(s, payment, "SUCCEEDED")))[0]["verdict"], "stale token: ignored: duplicate", "a repeat of the batch changes nothing")
payment = pay.submit(s, "t2")
sent = sched.dispatch(sched.call_of(payment))
s.run("SELECT postrider.call_session_end('%s')" % sched.id)
is_(s.fails("SELECT * FROM postrider.calls_apply('%s', '[]')" % sched.id), "PR009", "an owner that has ended writes nothing")
is_(s.fails("SELECT * FROM postrider.calls_dispatch('%s', '{}', '{}')" % sched.id), "PR009", "and hands nothing out")
other.run("SELECT count(*) FROM postrider.call_shards_take('%s', 256)" % second.id)
is_(other.value("SELECT postrider.calls_expire_leases('%s', 100)" % second.id), "1", "the next owner asks at once about what was under way")
is_(second.apply(second.outcome(sent, pay.says(s, payment, "PENDING")))[0]["verdict"], "stale token: ignored: duplicate", "and takes what the worker still holds")
is_(second.step(payment, pay.says(s, payment, "SUCCEEDED")), "query: applied -> none: final", "and its answer")

# what is sent again is what was sent before (R6): by its digest once that is known, else only while the channel's account is the same
DIGEST = "ab" * 32


def sent_again(name, told=None, meanwhile=None):
    """A charge is sent, asked about and not found; what comes of the next try."""
    payment = pay.submit(other, name)
    first = second.dispatch(second.call_of(payment))
    other.run(meanwhile or "SELECT")
    lost = TIMEOUT(payment)
    second.apply(second.outcome(first, dict(lost, request_sha256=told) if told else lost))
    second.step(payment, NOT_FOUND(payment))
    second.due(payment)
    return payment, first, second.dispatch(second.call_of(payment))


CHANGED = "SELECT postrider.channel_set('me', 'c1', '{\"base_url\": \"http://127.0.0.1:%d\"}')"
payment, first, again = sent_again("b1", DIGEST)
ok(first["built_at_us"] and first["request_sha256"] is None, "the time that stands in a request is committed with its first call", first["built_at_us"])
is_((again["operation"], again["request_sha256"], again["built_at_us"]), ("charge", DIGEST, first["built_at_us"]), "a retry has the same time, and knows what it must be")
second.apply(second.outcome(again, dict(TIMEOUT(payment), request_sha256="cd" * 32)))
is_(other.value("SELECT sha256 FROM postrider.call_request WHERE payment_id = %d" % payment), DIGEST, "what was sent first stays what it was")
is_(other.fails("UPDATE postrider.call_request SET sha256 = repeat('0', 64) WHERE payment_id = %d" % payment), "PR006", "by hand, too")
payment, first, again = sent_again("b2", DIGEST, CHANGED % 19)
is_((again["operation"], again["request_sha256"]), ("charge", DIGEST), "the channel was changed: the digest judges")
payment, first, again = sent_again("b3")
is_((again["operation"], again["request_sha256"]), ("charge", None), "its worker never told what it was; nothing has changed: it is the same")
payment, first, again = sent_again("b4", None, "UPDATE postrider.channel SET rate_per_s = 7 WHERE id = 'c1'")
is_(again["operation"], "charge", "another rate is no other request")
payment, first, again = sent_again("b5", None, CHANGED % 29)
is_((again["dropped"], pay.tasks(other, payment)), ("with a person", ["payment_review MANUAL REQUEST_MAY_DIFFER"]), "it may differ: nothing is sent, a person has it")
payment = pay.submit(other, "b6")
first = second.dispatch(second.call_of(payment))
second.apply(second.outcome(first, {}, returned=True))
other.run(CHANGED % 39)
is_(second.dispatch(second.call_of(payment))["operation"], "charge", "one that was handed back untried was never sent: nothing is to be the same")

# a payment that the application charged: its one number is the gateway's, or what the gateway calls ours
for number, want in ((None, (None, "theirs-1")), ("gateway", (None, "theirs-2")), ("ours", ("theirs-3", None))):
    payment = pay.track(other, "tr-%s" % number, want[0] or want[1], **({"number": number} if number else {}))
    second.due(payment)
    handed = second.dispatch(second.call_of(payment))
    is_((handed["request_no"], handed["reference"]), want, "tracked by %s" % (number or "default"))
is_(other.fails("SELECT postrider.track_payment('m1', 'tr-x', 'c1', 'x-1', 1, 'CNY', NULL, '{\"number\": \"mine\"}')"), "PR003", "number is ours or gateway")
is_(other.fails("SELECT postrider.submit_payment('m1', 'tr-y', 'c1', 1, 'CNY', '{}', '{\"number\": \"ours\"}')"), "PR003", "and of tracked payments")

# what the next owner of a channel must know: a pause, and what may still be made
other.run("SELECT postrider.calls_pause('%s', 'c1', 60000)" % second.id)
other.run("SELECT postrider.calls_pause('%s', 'c1', 1000)" % second.id)
payment = pay.submit(other, "or1")
held = second.dispatch(second.call_of(payment))
other.run("SELECT postrider.call_session_end('%s')" % second.id)
is_(other.fails("SELECT postrider.calls_pause('%s', 'c1', 1)" % second.id), "PR009", "who has ended asks for no pause")
second = pay.Scheduler(other)
pause = other.value("SELECT paused_ms FROM postrider.calls_channels('%s', '{}', '{}') WHERE channel = 'c1'" % second.id)
ok(1000 < int(pause) <= 60000, "the longer of two pauses is kept for the next owner", pause)
orphans = other.run("SELECT salt, attempt, operation, payment_id, age_ms >= 0 FROM postrider.calls_orphaned('%s') WHERE call_id = %d" % (second.id, held["call_id"]))
is_(orphans, [[str(held["salt"]), "1", "charge", str(payment), "t"]], "a call of the former owner is named by its token")
other.run("SELECT postrider.calls_expire_leases('%s', 1000)" % second.id)
is_(other.run("SELECT call_id FROM postrider.calls_orphaned('%s')" % second.id), [], "until its lease is ended")

# a refused credential stops the channel, not the payment
payment = pay.submit(other, "st1", on="noclose")
second.step(payment, pay.says(other, payment, "PENDING"))
is_(second.step(payment, REFUSED(payment)), "query: ignored: no news -> query", "a refused credential")
is_(other.run("SELECT state, (SELECT count(*) FROM postrider.alerts WHERE kind = 'channel_stopped' AND subject = 'noclose'), (SELECT state FROM postrider.payment WHERE id = %d)"
              " FROM postrider.channels WHERE channel = 'noclose'" % payment), [["stopped", "1", "processing"]], "stops the channel and alerts")
is_(second.step(payment, PAID(payment)), "dropped: channel stopped", "nothing is called")
is_(other.fails("SELECT postrider.channel_resume('me', 'noclose', 'new key')"), "PR006", "it is not resumed without a test call")
is_(other.value("SELECT postrider.channel_resume('me', 'noclose', 'new key', '{\"http_status\": 404}')"), "t", "but after one that the gateway took")
is_(second.step(payment, PAID(payment)), "query: applied -> none: final", "and all goes on")

# what was sent and what came back
payment, other_payment = pay.submit(other, "ex1"), pay.submit(other, "ex2")
handed = [second.dispatch(second.call_of(one)) for one in (payment, other_payment)]
sent = {"request": {"method": "POST", "url": "https://x/y", "headers": [["A", "b"]], "body": "a=b"}, "response": {"status": 200, "headers": [], "body": "{}"}}
results = [second.outcome(handed[0], pay.says(other, payment, "PENDING", reference="ex1")), second.outcome(handed[1], pay.says(other, other_payment, "PENDING", reference="ex2"))]
second.apply(results[1], results[0], exchanges=(None, json.dumps(sent)))
kept = "SELECT payment_id, convert_from(said, 'UTF8') FROM postrider.call_exchange WHERE payment_id IN (%d, %d)" % (payment, other_payment)
is_(other.run(kept), [[str(payment), json.dumps(sent)]], "an exchange is kept with its own call, whatever order the results come in")
second.apply(results[0], exchanges=(json.dumps(sent),))
is_((len(other.run(kept)), other.value("SELECT count(*) FROM postrider.call_log WHERE payment_id = %d" % payment)), (1, "2"), "an outcome that is said twice has one")
shown = lambda one, who="people": json.loads(other.value("SELECT postrider.payment_show('%s', '{\"payment_id\": %d}')" % (who, one)))
is_([call["exchange"] for call in shown(payment)["calls"]], [sent, None], "the payment shows it")
timeline = json.loads(other.value("SELECT postrider.order_show('people', '{\"merchant_id\": \"m1\", \"order_no\": \"ex1\"}')"))["timeline"]
call = [one for one in timeline if one["kind"] == "call.charge" and "url" in one["request"]]
is_([(one["request"]["url"], one["request"]["body"], one["request"]["operation"], one["response"]["body"]) for one in call],
    [("https://x/y", "a=b", "charge", "{}")], "and the timeline of its order")
second.apply(second.outcome(handed[1], pay.says(other, other_payment, "PENDING")), exchanges=("no JSON \\u0000",))
is_(shown(other_payment)["calls"][-1]["exchange"], {"request": {"body": "no JSON \\u0000"}}, "what is no JSON refuses nothing, and is shown as it is")
other.run("UPDATE postrider.call_exchange SET at = now() - interval '2 h' WHERE payment_id = %d" % payment)
other.run("SELECT postrider.payments_purge('1 h', '3 years', 1000)")
is_([one[0] for one in other.run(kept)], [str(other_payment)], "it goes with the log of calls")

# every case has its rule
is_(s.value("""SELECT count(*) FROM (VALUES ('charge'), ('capture'), ('query'), ('close'), ('refund'), ('query_refund')) AS o (operation)
    CROSS JOIN (VALUES ('unpaid'), ('approved'), ('held'), ('refused'), ('retryable'), ('failure'), ('not_found'), ('missing'), ('unsettled'), ('unknown'), ('stopped')) AS a (answer)
    CROSS JOIN (VALUES ('open'), ('ending'), ('closed')) AS f (phase)
    WHERE 1 <> (SELECT count(*) FROM postrider.outcome_rule AS r WHERE r.operation = o.operation AND r.answer = a.answer AND r.phase IN ('any', f.phase))"""),
    "0", "each operation, answer and phase has exactly one rule")
is_(s.value("SELECT count(*) FROM postrider.outcome_rule WHERE step IN ('charge', 'refund') AND operation NOT IN ('query', 'query_refund')"), "0",
    "nothing but the answer to a question sends money again (R2)")
broken = s.run("SELECT name, broken FROM postrider.check_invariants('-infinity') WHERE kind = 'invariant' AND broken <> 0 AND name NOT IN ('unaccounted')")
ok(not broken, "all invariants hold", broken)
for one in (s, other):
    one.close()
finish()
