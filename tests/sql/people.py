# SPDX-License-Identifier: Apache-2.0
"""People: who may do what, four eyes, the audit log as a chain, the queue of exceptions and its resolutions.

Every pair of kind and action, every role at every door, every way in which a request must not be approved.
"""
import hashlib
import json

import pay
from pg import PgError, Session, blocked, finish, is_, ok, until

ROLES = ("viewer", "operator", "approver", "admin")
HASH = "$argon2id$v=19$m=32768,t=2,p=1$c2FsdA$aGFzaA"

JIT = "-c jit=off"      # as every connection of lib/db
s = Session(options=JIT)
pay.setup(s)
pay.channel(s, "c1")


def door(function, who, session=None, **arguments):
    """The JSON that a door answers; PgError."""
    got = (session or s).run("SELECT postrider.%s(%s, %s)" % (function, pay.quote(who), pay.quote(arguments)))
    return json.loads(got[0][0])


def refused(function, who, session=None, **arguments):
    """(SQLSTATE, message) that it is refused with; ('', answer) when it is not."""
    try:
        return "", str(door(function, who, session, **arguments))
    except PgError as error:
        return error.sqlstate, str(error)


# operators -----------------------------------------------------------------------------------------------------

is_(refused("operator_add", "root", name="ann", role="operator")[0], "PR006", "the first operator is an admin")
is_(door("operator_add", "root", name="ann", role="admin", password_hash=HASH)["role"], "admin", "who adds himself while there is nobody")
is_(refused("operator_add", "root", name="x", role="viewer")[0], "PR010", "from then on only an operator adds one")
for name, role in (("vic", "viewer"), ("eve", "operator"), ("olaf", "operator"), ("bob", "approver"), ("bea", "approver")):
    door("operator_add", "ann", name=name, role=role)
is_(refused("operator_add", "ann", name="bob", role="viewer")[0], "PR003", "a name is given once")
is_([refused("operator_add", "ann", name=n, role="viewer")[0] for n in ("Bad", "", "a b", "x" * 65)], ["PR003"] * 4, "names that are none")
is_(refused("operator_add", "ann", name="z", role="king")[0], "PR003", "a role that is none")
is_(refused("operator_add", "ann", name="z", role="viewer", password_hash="plain")[0], "PR003", "a password is hashed before it comes here")
is_(refused("operator_add", "ann", name="z", role="viewer", passwort="x")[0], "PR003", "a misspelt argument is refused")
is_(refused("operator_disable", "ann", name="ann", reason="r")[0], "PR006", "the last admin stays")
is_(refused("operator_set", "ann", name="ann", role="viewer", reason="r")[0], "PR006", "and stays an admin")
is_(refused("operator_set", "ann", name="eve", role="viewer")[0], "PR003", "a change has a reason")
is_(s.fails("DELETE FROM postrider.operator"), "PR006", "an operator is never deleted, by no hand")
is_(refused("operator_password", "eve", name="olaf", password_hash=HASH)[0], "PR010", "another's password is an admin's to change")
is_(refused("operator_password", "eve", name="eve", password_hash=HASH)[0], "", "one's own is one's own")

# Every role at a door of every kind: what the table of permissions says holds, and nothing else.
BY = {"viewer": "vic", "operator": "eve", "approver": "bob", "admin": "ann"}
endpoint = s.value("SELECT id FROM postrider.endpoint LIMIT 1")
DOORS = {
    "console.read": "SELECT postrider.operators_list(%s, '{}')",
    "endpoint.set": "SELECT postrider.endpoint_set(%s, " + endpoint + ", '{\"concurrency\": 3}', 'r')",
    "merchant.set": "SELECT postrider.merchant_set(%s, 'm1', '{\"tier\": \"vip\"}', 'r')",
    "channel.pause": "SELECT postrider.channel_pause(%s, 'c1', 'r')",
    "channel.set": "SELECT postrider.channel_set(%s, 'c1', '{\"burst\": 2}', '[]', 'r')",
    "breaker.force_open": "SELECT postrider.breaker_force(%s, " + endpoint + ", 'open', 'r')",
    "dead.close": "SELECT postrider.dead_close(%s, 'r', '{}')",
    "dead.redrive": "SELECT postrider.dead_redrive(%s, 'r', '{}')",
    "key.create": "SELECT postrider.key_create(%s, sha256('x'), 'application', NULL, true, 'x')",
    "merchant.test": "SELECT postrider.merchant_test(%s, 'm1')",
    "operator.add": "SELECT postrider.operator_add(%s, '{\"name\": \"new\", \"role\": \"viewer\"}')",
    "sla.set": "SELECT postrider.sla_set(%s, '{\"kind\": \"dead\", \"seconds\": 60, \"reason\": \"r\"}')",
}
least = dict(s.run("SELECT action, role FROM postrider.permission"))
for action, statement in DOORS.items():
    got = []
    for role in ROLES:
        s.run("BEGIN")
        got.append(s.fails(statement % pay.quote(BY[role])))
        s.run("ROLLBACK")
    wanted = ["" if ROLES.index(role) >= ROLES.index(least[action]) else "PR010" for role in ROLES]
    is_(got, wanted, "%s is for %s and above" % (action, least[action]))
is_(s.fails("SELECT postrider.channel_pause('nobody', 'c1', 'r')"), "PR010", "a name that is no operator's may nothing")
door("operator_disable", "ann", name="olaf", reason="left")
is_(s.fails("SELECT postrider.channel_pause('olaf', 'c1', 'r')"), "PR010", "who is disabled may nothing")
s.run("SET ROLE postrider_breaker")
is_(s.fails("SELECT postrider.endpoint_disable('circuit-breaker', %s, 'x')" % endpoint), "", "an actor acts under its own role and name")
is_(s.fails("SELECT postrider.breaker_force('nobody', %s, 'open', 'x')" % endpoint), "PR010", "a person's force through it is a person's all the same")
s.run("RESET ROLE")
door("operator_enable", "ann", name="olaf", reason="back")

# log-in --------------------------------------------------------------------------------------------------------


def begin(name, address="1.2.3.4"):
    return s.run("SELECT allowed, retry_after_s > 0, password_hash IS NOT NULL FROM postrider.operator_login_begin('%s', '%s')" % (name, address))[0]


def end(name, good, token, address="1.2.3.4"):
    return s.run("SELECT operator, role FROM postrider.operator_login_end('%s', '%s', %s, sha256('%s'), 'test', 600, 3600)" % (name, address, good, token))


def live(token):
    return s.run("SELECT operator, role FROM postrider.operator_session_check(sha256('%s'))" % token)


is_([begin("eve"), begin("nosuch"), begin("vic")], [["t", "", "t"], ["t", "", "f"], ["t", "", "f"]], "who is there and who is not: the same answer, but for the hash")
is_([end("eve", "true", "s1"), end("nosuch", "true", "s2"), end("eve", "false", "s3"), end("vic", "true", "s4")], [[["eve", "operator"]], [], [], []],
    "a session only for whom the password was right, and only with a password")
is_([live("s1"), live("s2"), live("")], [[["eve", "operator"]], [], []], "and only with its token")
s.run("UPDATE postrider.operator_session SET seen_at = now() - interval '11 min'")
is_(live("s1"), [], "an idle one is over")
begin("eve")
end("eve", "true", "s5")
s.run("UPDATE postrider.operator_session SET expires_at = now() - interval '1 s' WHERE hash = sha256('s5')")
is_(live("s5"), [], "an old one, too")
for how, ending in (("changing the password", lambda: door("operator_password", "ann", name="eve", password_hash=HASH)),
                    ("disabling", lambda: door("operator_disable", "ann", name="eve", reason="r")),
                    ("logging out", lambda: s.run("SELECT postrider.operator_session_end(sha256('s6'))"))):
    begin("eve")
    is_(end("eve", "true", "s6" if how == "logging out" else how), [["eve", "operator"]], "logged in")
    ending()
    is_(live("s6" if how == "logging out" else how), [], how + " ends it")
    if how == "disabling":
        is_([begin("eve")[2], end("eve", "true", "s7")], ["f", []], "and opens none")
        door("operator_enable", "ann", name="eve", reason="r")
s.run("DELETE FROM postrider.login_try")
is_([begin("bob", "5.5.5.5")[0] for _ in range(7)], ["t"] * 5 + ["f"] * 2, "five tries from one address, then a wait")
is_(begin("bob", "5.5.5.5")[1], "t", "whose length is told")
is_([begin("bob", "6.6.6.6")[0], begin("bea", "5.5.5.5")[0]], ["t", "t"], "others from elsewhere, and others from there, may")
is_([begin("bob", "7.7.7.%d" % n)[0] for n in range(30)].count("t") <= 25, True, "by name there is an end, however many addresses")
is_([begin("n%d" % n, "8.8.8.8")[0] for n in range(52)].count("t"), 50, "by address, however many names")
s.run("UPDATE postrider.login_try SET since = since - interval '16 min'")
is_(begin("bob", "5.5.5.5")[0], "t", "after a quarter of an hour it counts anew")
token = door("token_create", "bob", role="operator", label="ci", hash=hashlib.sha256(b"t").hexdigest())
is_(s.run("SELECT operator, role FROM postrider.operator_token_check(sha256('t'))"), [["bob", "operator"]], "a token may what it was made for")
is_([refused("token_create", "eve", role="admin", label="x", hash="0" * 64)[0], refused("token_create", "eve", operator="bob", label="x", hash="1" * 64)[0],
     refused("token_create", "vic", label="x", hash="2" * 64, expires_at="2099-01-01")[0]], ["PR003", "PR010", "PR003"], "not more than its operator, not for another, not for ever")
is_([refused("token_create", "ann", operator="bob", role=role, label="mine", hash="3" * 64)[0] for role in ("approver", None)], ["PR010"] * 2,
    "nobody makes a token for another that may approve")
door("operator_set", "ann", name="bob", role="viewer", reason="r")
is_(s.run("SELECT role FROM postrider.operator_token_check(sha256('t'))"), [["viewer"]], "nor more than he may now")
door("operator_set", "ann", name="bob", role="approver", reason="r")
is_(refused("token_revoke", "eve", token_id=token["token_id"], reason="r")[0], "PR010", "another's is an admin's to revoke")
door("token_revoke", "bob", token_id=token["token_id"], reason="lost")
is_(s.run("SELECT role FROM postrider.operator_token_check(sha256('t'))"), [], "revoked, it is none")

# four eyes -----------------------------------------------------------------------------------------------------

FULL = {"amount": 5800, "currency": "CNY", "captured_total": 5800}


def open_payment(order):
    return pay.track(s, order, "ref-" + order)


def ask(payment, who="eve", action="payment.decide", content=None, session=None):
    return door("approval_ask", who, session, action=action, object=str(payment), content={"state": "succeeded", "evidence": FULL} if content is None else content, reason="seen there")


def decide(request, who="bob", decision="approve", session=None, **more):
    return door("approval_decide", who, session, **dict({"id": request["id"], "decision": decision, "reason": "looked", "content_hash": request["content_hash"]}, **more))


def not_decided(request, who="bob", decision="approve", **more):
    arguments = dict({"id": request["id"], "decision": decision, "reason": "looked", "content_hash": request["content_hash"]}, **more)
    return refused("approval_decide", who, **{k: v for k, v in arguments.items() if v is not None})[0]


def state(payment):
    return s.value("SELECT state FROM postrider.payment WHERE id = %d" % payment)


p = open_payment("f1")
is_([refused("approval_ask", who, action="payment.decide", object=str(p), content={"state": "succeeded"}, reason="r")[0] for who in ("vic", "nobody")], ["PR010", "PR010"],
    "a viewer and a stranger ask for nothing")
for content in ({}, {"state": "paid"}, {"state": "succeeded", "evidence": 5}, {"state": "succeeded", "more": 1}):
    is_(refused("approval_ask", "eve", action="payment.decide", object=str(p), content=content, reason="r")[0], "PR003", "what is no decision: %s" % content)
is_(refused("approval_ask", "eve", action="channel.pause", object="c1", reason="r")[0], "PR003", "what takes one person is not asked for")
is_(refused("approval_ask", "eve", action="payment.decide", object=str(p), content={"state": "succeeded"})[0], "PR003", "a request has a reason")
is_(refused("approval_ask", "eve", action="payment.decide", object="999", content={"state": "succeeded"}, reason="r")[0], "PR009", "and is about a payment")
is_(refused("approval_ask", "eve", action="payment.decide", object=str(p), content={"state": "succeeded", "evidence": {"amount": 1, "currency": "CNY"}}, reason="r")[0], "PR006",
    "what the payment would not take is refused at once")
is_([state(p), s.value("SELECT count(*) FROM postrider.approval")], ["processing", "0"], "and nothing of it stays")
r = ask(p)
is_([r["state"], state(p), s.value("SELECT count(*) FROM postrider.payment_history WHERE source = 'person'")], ["open", "processing", "0"], "a request does nothing yet")
is_(refused("approval_ask", "olaf", action="payment.decide", object=str(p), content={"state": "failed"}, reason="r")[0], "PR006", "one open request for a payment")
door("operator_set", "ann", name="eve", role="admin", reason="now both")
is_(not_decided(r, "eve"), "PR010", "who asked does not approve, whatever the role")
is_(not_decided(r, "eve", "reject"), "PR010", "nor reject")
door("operator_set", "ann", name="eve", role="operator", reason="back")
is_([not_decided(r, "vic"), not_decided(r, "olaf"), not_decided(r, "nobody")], ["PR010"] * 3, "nor does a viewer, another operator, a stranger")
is_([not_decided(r, content_hash=None), not_decided(r, content_hash="0" * 64)], ["PR006", "PR006"], "what is approved is what was seen")
is_([not_decided(r, decision="maybe"), not_decided(r, reason=None), not_decided(r, id=9999)], ["PR003", "PR003", "PR009"], "a decision is one, with a reason, of a request that is there")
is_(s.fails("UPDATE postrider.approval SET content = '{}'"), "PR006", "a request is not rewritten, by no hand")
is_(s.fails("UPDATE postrider.approval SET state = 'executed', decided_by = 'eve'"), "23514", "nor approved by who asked, by no hand")
is_(s.fails("DELETE FROM postrider.approval"), "PR006", "nor deleted")
done = decide(r)
is_([done["state"], done["decided_by"], done["result"]["verdict"], state(p)], ["executed", "bob", "applied", "succeeded"], "another person approves: it is done")
is_([not_decided(r), not_decided(r, "bea", "reject")], ["PR006", "PR006"], "once")
STATES = ("open", "executed", "rejected", "withdrawn", "expired", "stale")
walked = []
for a in STATES:
    for b in STATES:
        s.run("BEGIN; INSERT INTO postrider.approval (action, object, payment_id, object_version, content, content_hash, amount_minor, currency, merchant_id, order_no, asked_by, "
              "ask_reason, expires_at) VALUES ('payment.cancel', '9', 9, '', '{}', sha256(''), 1, 'CNY', 'm1', 'w', 'eve', 'r', now())")
        set_a = "UPDATE postrider.approval SET state = '%s', decided_by = 'bob' WHERE order_no = 'w'" % a
        got = (s.fails(set_a) if a != "open" else "") or s.fails("UPDATE postrider.approval SET state = '%s', decided_by = 'bob' WHERE order_no = 'w'" % b)
        s.run("ROLLBACK")
        walked.append((got == "") == (a == "open"))
    born = s.fails("INSERT INTO postrider.approval (action, object, payment_id, object_version, content, content_hash, amount_minor, currency, merchant_id, order_no, state, asked_by, "
                   "ask_reason, expires_at, decided_by) SELECT 'payment.cancel', '9', 9, '', '{}', sha256(''), 1, 'CNY', 'm1', 'w', '%s', 'eve', 'r', now(), 'bob' WHERE '%s' <> 'open'" % (a, a))
    walked.append(born == ("" if a == "open" else "PR006"))
is_(walked, [True] * 42, "every pair of states, by hand-written SQL: only an open request moves, and each is born open")
p = open_payment("f2")
r = ask(p)
is_([decide(r, decision="reject")["state"], state(p), not_decided(r)], ["rejected", "processing", "PR006"], "rejected: nothing is done, and it is over")
r = ask(p)
is_(refused("approval_withdraw", "bob", id=r["id"], reason="r")[0], "PR010", "only who asked withdraws")
is_([door("approval_withdraw", "eve", id=r["id"], reason="r")["state"], not_decided(r)], ["withdrawn", "PR006"], "withdrawn, it is over")
r = ask(p)
s.run("ALTER TABLE postrider.approval DISABLE TRIGGER approval_before; UPDATE postrider.approval SET expires_at = now() - interval '1 s' WHERE id = %d; "
      "ALTER TABLE postrider.approval ENABLE ALWAYS TRIGGER approval_before" % r["id"])
is_(not_decided(r), "PR006", "expired: nobody approves it any more")
s.run("SELECT postrider.people_purge(100)")
is_(door("approval_show", "vic", id=r["id"])["state"], "expired", "and it says so")
r = ask(p)
s.run("SELECT postrider.payment_poll('eve', %d, 'r')" % p)
is_(not_decided(dict(r, content_hash="1" * 64)), "PR006", "asking the channel changes nothing of it")
s.run("UPDATE postrider.payment SET manual = true, version = version + 1 WHERE id = %d" % p)
is_([not_decided(r), door("approval_show", "vic", id=r["id"])["stale"]], ["PR006", True], "the payment has changed since: refused")
again = ask(p, "olaf")
is_([door("approval_show", "vic", id=r["id"])["state"], again["state"]], ["stale", "open"], "a new request takes the stale one's place")
door("operator_disable", "ann", name="olaf", reason="r")
is_(not_decided(again), "PR010", "who asked may not any more: refused")
door("operator_enable", "ann", name="olaf", reason="r")
door("operator_disable", "ann", name="bob", reason="r")
is_(not_decided(again), "PR010", "a disabled approver approves nothing")
door("operator_enable", "ann", name="bob", reason="r")
door("operator_set", "ann", name="bob", role="operator", reason="r")
is_(not_decided(again), "PR010", "nor one who is none any more")
door("operator_set", "ann", name="bob", role="approver", reason="r")

# The approver is disabled while he waits for the lock: what counts is what is true when it happens.
holder, waiter = Session(options=JIT), Session(options=JIT)
holder.run("BEGIN; SELECT FROM postrider.payment WHERE id = %d FOR UPDATE" % p)
waiter.send("SELECT postrider.approval_decide('bob', '%s')" % json.dumps({"id": again["id"], "decision": "approve", "reason": "r", "content_hash": again["content_hash"]}))
until(lambda: blocked(s, waiter), "the approval waits")
door("operator_disable", "ann", name="bob", reason="r")
holder.run("COMMIT")
try:
    waiter.wait()
    ok(False, "disabled while he waited: refused")
except PgError as error:
    is_(error.sqlstate, "PR010", "disabled while he waited: refused")
door("operator_enable", "ann", name="bob", reason="r")

# Two approvers at once: one effect.
holder.run("BEGIN; SELECT FROM postrider.payment WHERE id = %d FOR UPDATE" % p)
second = Session(options=JIT)
for session, who in ((waiter, "bob"), (second, "bea")):
    session.send("SELECT postrider.approval_decide('%s', '%s')" % (who, json.dumps({"id": again["id"], "decision": "approve", "reason": "r", "content_hash": again["content_hash"]})))
until(lambda: blocked(s, waiter) and blocked(s, second), "both wait")
holder.run("COMMIT")
said = []
for session in (waiter, second):
    try:
        said.append(json.loads(session.wait()[0][0])["state"])
    except PgError as error:
        said.append(error.sqlstate)
is_(sorted(said), ["PR006", "executed"], "two approvers at once: one is told that it is done")
is_(s.value("SELECT count(*) FROM postrider.payment_history WHERE payment_id = %d AND source = 'person'" % p), "1", "one effect")

# The other actions, and that no door leads past.
is_(refused("approval_ask", "eve", action="payment.refund", object=str(p), content={"refund_no": "r1", "amount": 9999}, reason="r")[0], "PR007", "more than was paid is refused at once")
r = ask(p, action="payment.refund", content={"refund_no": "r1", "amount": 100})
is_(s.value("SELECT count(*) FROM postrider.refund"), "0", "no refund yet")
is_([decide(r)["state"], s.value("SELECT amount_minor FROM postrider.refund")], ["executed", "100"], "approved, it is sent")
p = pay.submit(s, "f3")
r = ask(p, action="payment.cancel", content={})
is_([decide(r)["result"]["said"], state(p)], ["cancelled", "cancelled"], "a cancellation takes two as well")
p = open_payment("f4")
pay.call(s, "report_payment", p, "succeeded", {"amount": 1, "currency": "CNY"})
task = s.value("SELECT task_no FROM postrider.task WHERE payment_id = %d" % p)
r = ask(task, action="task.resolve", content={"as": "succeeded", "evidence": FULL})
before = s.value("SELECT state FROM postrider.task WHERE task_no = '%s'" % task)
is_([before, decide(r, "bea")["state"], state(p), s.run("SELECT state, closed_by FROM postrider.task WHERE task_no = '%s'" % task)],
    ["MANUAL", "executed", "succeeded", [["CLOSED", "eve"]]], "a task that is resolved, too: closed by who asked, approved by another")
s.run("SET ROLE postrider_console")
past = {"payment_decide": "'eve', 1, 'succeeded', '{}', 'r'", "task_resolve": "'eve', 'T', 'succeeded', 'r'", "refund_payment": "1, 'r', 1", "cancel_payment": "1, 'r'",
        "report_payment": "1, 'succeeded', '{}'", "submit_payment": "'m1', 'o', 'c1', 1, 'CNY'", "track_payment": "'m1', 'o', 'c1', 'r', 1, 'CNY'",
        "enqueue_notification": "'m1', 'o', 'a.b', '{}'", "approval_effect": "NULL::postrider.approval", "apply_evidence": "1, NULL, 'person', '{}'",
        "create_task": "'x', 'x', 'm1', 'o', '{}', 'k'", "audit_add": "'eve', 'x', 'y', 'z', '{}'", "exception_resolve": "'eve', 'dead', 'x', 'close', 'r', '{}'"}
for function, arguments in past.items():
    is_(s.fails("SELECT postrider.%s(%s)" % (function, arguments)), "42501", "no way past the requests: " + function)
for table in ("operator", "operator_session", "operator_token", "login_try", "approval", "audit_chain", "audit_head", "exception_kind", "resolution"):
    is_(s.fails("SELECT * FROM postrider." + table), "42501", "the console reads no %s but through its doors" % table)
s.run("RESET ROLE")

# exceptions ----------------------------------------------------------------------------------------------------

for n in range(6):
    p = open_payment("q%d" % n)
    pay.call(s, "report_payment", p, "succeeded", {"amount": 1, "currency": "CNY"})
s.run("SELECT postrider.create_task('delivery', 'd' || n, 'm1', 'q' || n, '{}', 'k' || n) FROM generate_series(1, 3) n")
s.run("UPDATE postrider.task SET state = 'PROCESSING', moved_by = 'x' WHERE biz_type = 'delivery'; "
      "UPDATE postrider.task SET state = 'MANUAL', moved_by = 'x', last_error_code = 'ORDER_NOT_FOUND' WHERE biz_type = 'delivery'")
s.run("SELECT postrider.endpoint_enable('ann', %s, 'r')" % endpoint)
s.run("SELECT postrider.endpoint_disable('ann', %s, 'quiet')" % endpoint)
s.run("UPDATE postrider.channel SET state = 'active'; UPDATE postrider.channel SET state = 'stopped', state_reason = 'refused'")
s.run("""INSERT INTO postrider.outbox (class, merchant_id, order_no, event, status, version, notify_id, body)
         SELECT 1, 'm1', 'dead' || n, 'a.b', 'b', n, gen_random_uuid(), 'x' FROM generate_series(1, 5) n;
         INSERT INTO postrider.dead (outbox_id, endpoint, outbox_at, class, reason, tries)
         SELECT o.id, %s, o.at, 1, 'expired', 9 FROM postrider.outbox AS o WHERE o.order_no LIKE 'dead%%'""" % endpoint)
s.run("""INSERT INTO postrider.recon_file (channel, channel_no, statement_date, from_at, to_at, kind, name, source, who, state, rows)
         SELECT id, no, '2026-01-01', now(), now(), 'trade', 'a.csv', 'file', 'ann', 'imported', 1 FROM postrider.channel WHERE id = 'c1';
         INSERT INTO postrider.recon_bad_row (file_id, line, reason, raw) SELECT id, 7, 'no amount', 'x,y' FROM postrider.recon_file""")
whole = door("exceptions_list", "vic")["items"]
counts = {}
for item in whole:
    counts[item["kind"]] = counts.get(item["kind"], 0) + 1
is_(counts, {"payment": 6, "task": 3, "endpoint": 1, "channel": 1, "dead": 5, "quarantine": 1}, "everything that waits for a person is in the queue, once")
is_([item["since"] for item in whole], sorted(item["since"] for item in whole), "oldest first")
paged, after = [], None
while True:
    page = door("exceptions_list", "vic", limit=2, **({"after": after} if after else {}))
    paged += page["items"]
    after = page["next"]
    if not after:
        break
is_([i["id"] for i in paged], [i["id"] for i in whole], "page by page it is the same, nothing twice, nothing left out")
summary = {k["kind"]: k["count"] for k in door("exceptions_summary", "vic")["kinds"] if k["count"]}
is_(summary, counts, "and the numbers are these")
is_({i["kind"] for i in door("exceptions_list", "vic", kind=["dead", "channel"])["items"]}, {"dead", "channel"}, "by kind")
is_([len(door("exceptions_list", "vic", **f)["items"]) for f in ({"order_no": "q1"}, {"merchant_id": "m1", "kind": "dead"}, {"merchant_id": "x"}, {"channel": "c1"},
                                                              {"reason": "expired"}, {"overdue": True}, {"older_than_s": 0})], [2, 5, 0, 8, 5, 0, 17], "by order, merchant, channel, reason, age")
door("sla_set", "ann", kind="dead", seconds=60, reason="r")
s.run("UPDATE postrider.dead SET at = now() - interval '2 min' WHERE outbox_id = (SELECT min(outbox_id) FROM postrider.dead)")
is_([i["overdue"] for i in door("exceptions_list", "vic", overdue=True)["items"]], [True], "what waits for longer than it may")
is_(refused("exceptions_list", "vic", after="x")[0], "PR003", "a cursor that is none")

# Every kind with every action: those of the table do something, all others are refused and do nothing.
actions = sorted({row[0] for row in s.run("SELECT DISTINCT action FROM postrider.resolution")} | {"delete", "approve"})
allowed = {(k, a) for k, a in s.run("SELECT kind, action FROM postrider.resolution")}
one_of = {}
for item in whole:
    one_of.setdefault(item["kind"], item["id"])
for kind, name in sorted(one_of.items()):
    got = {}
    for action in actions:
        said = door("exceptions_resolve", "eve", kind=kind, ids=[name], action=action, reason="r", dry_run=True,
                    detail={"test": {"http_status": 200}} if kind == "channel" else FULL)["results"][0]
        got[action] = said["ok"] or said["code"]
    wanted = {}
    for action in actions:
        able = (kind, action) in allowed and not (kind == "task" and action in ("poll", "succeeded", "failed", "cancelled", "refunded"))
        wanted[action] = True if able else "PR006"
    is_(got, wanted, "how a %s may end" % kind)
is_([i["id"] for i in door("exceptions_list", "vic")["items"]].count(one_of["dead"]), 1, "a dry run takes everything back")
is_(s.value("SELECT count(*) FROM postrider.audit WHERE action IN ('dead.redrive', 'channel.resume', 'quarantine.close')"), "0", "the log of it too")
is_(refused("exceptions_resolve", "vic", kind="dead", ids=[one_of["dead"]], action="close", reason="r")[0], "PR010", "a viewer ends nothing")
is_([refused("exceptions_resolve", "eve", kind="dead", ids=[one_of["dead"]], action="close")[0], refused("exceptions_resolve", "eve", kind="dead", ids=[], action="close", reason="r")[0]],
    ["PR003", "PR003"], "a reason is needed, and something to end")
letters = [i["id"] for i in whole if i["kind"] == "dead"]
bulk = {"kind": "dead", "ids": letters + ["00000000-0000-0000-0000-000000000000/1"], "action": "close", "reason": "told by phone"}
dry = door("exceptions_resolve", "eve", dry_run=True, **bulk)
is_((dry["count"], dry["done"], dry["refused"]), (6, 5, 1), "a dry run counts what would be done")
real = door("exceptions_resolve", "eve", **bulk)
is_((real["count"], real["done"], real["refused"], sorted(r["ok"] for r in real["results"])), (6, 5, 1, [False] + [True] * 5), "and that is what is done, with a result for each")
is_((door("exceptions_resolve", "eve", **bulk)["done"], s.value("SELECT count(*) FROM postrider.dead WHERE state = 'open'")), (0, "0"), "once")
is_(s.value("SELECT count(*) FROM postrider.audit WHERE action = 'dead.close' AND actor = 'eve' AND reason = 'told by phone' AND order_no LIKE 'dead%'"), "5", "each is written down, with its order")
payments = [i["id"] for i in whole if i["kind"] == "payment"]
asked = door("exceptions_resolve", "eve", kind="payment", ids=payments[:3], action="succeeded", reason="seen", detail=FULL)
is_([asked["done"], len({r["approval_id"] for r in asked["results"]}), s.value("SELECT count(*) FROM postrider.task WHERE state = 'MANUAL' AND biz_type = 'evidence_mismatch'")], [3, 3, "6"],
    "what changes a payment is asked for, one request each, and waits")
is_([i["approval"] is not None for i in door("exceptions_list", "vic", kind="payment")["items"]].count(True), 3, "the queue shows what waits for approval")
order = door("order_show", "vic", merchant_id="m1", order_no="f4")
kinds = {e["kind"] for e in order["timeline"]}
ok({"payment.created", "payment.evidence", "task.manual", "task.closed", "person.approval.ask", "person.approval.approve", "person.task.close", "notification.enqueued"} <= kinds,
   "an order's timeline has its payment, notification, task and people", kinds)
sent = next(e for e in order["timeline"] if e["kind"] == "notification.enqueued")
is_(json.loads(sent["request"]["body"])["order_no"], "f4", "with the bytes that are sent")
is_([refused("order_show", "vic", merchant_id="m1", order_no="none")[0], refused("order_show", "nobody", merchant_id="m1", order_no="f4")[0]], ["PR009", "PR010"], "nothing of what is not known, nor to strangers")

# the audit log -------------------------------------------------------------------------------------------------


def field(value):
    return "-" if value is None else "%d:%s" % (len(value.encode()), value)


def chain(session):
    """Findings of the whole chain, computed here as docs/people.md says."""
    rows = session.value("SELECT coalesce(jsonb_agg(to_jsonb(e) || jsonb_build_object('hash', encode(e.hash, 'hex')) ORDER BY n), '[]') FROM postrider.audit_entries(0, 100000) e")
    hash_, n, bad = bytes(32), 0, []
    for row in json.loads(rows):
        if row["n"] != n + 1:
            bad.append("missing before %d" % row["n"])
        n = row["n"]
        if row["id"] is None:
            bad.append("gone %d" % n)
        else:
            fields = [str(row["n"]), str(row["id"]), str(row["at_us"])] + [row[k] for k in ("actor", "action", "subject", "reason", "detail", "login", "merchant_id", "order_no")]
            if hashlib.sha256(hash_ + ("postrider-audit-1" + "".join(field(f) for f in fields)).encode()).hexdigest() != row["hash"]:
                bad.append("changed %d" % n)
        hash_ = bytes.fromhex(row["hash"])
    return n, bad


for role in ("postrider_console", "postrider_app", "postrider_dead_letter", "postrider_breaker", "postrider_ingress"):
    s.run("SET ROLE " + role)
    is_([s.fails(x) for x in ("UPDATE postrider.audit SET actor = 'x'", "DELETE FROM postrider.audit", "TRUNCATE postrider.audit", "INSERT INTO postrider.audit (actor, action, subject) VALUES ('a', 'b', 'c')",
                              "UPDATE postrider.audit_chain SET hash = ''", "DELETE FROM postrider.audit_head")], ["42501"] * 6, role + " writes no log")
    s.run("RESET ROLE")
s.run("SET ROLE postrider_owner")
is_([s.fails(x) for x in ("UPDATE postrider.audit SET actor = 'x'", "DELETE FROM postrider.audit", "TRUNCATE postrider.audit", "UPDATE postrider.audit_chain SET n = n", "DELETE FROM postrider.audit_chain",
                          "TRUNCATE postrider.audit_chain", "UPDATE postrider.audit_head SET n = n + 1", "DELETE FROM postrider.audit_head", "TRUNCATE postrider.audit_head",
                          "INSERT INTO postrider.audit_head (n, hash) VALUES (1, '')")], ["PR006"] * 10, "nor does the owner change it by hand")
s.run("RESET ROLE; SET session_replication_role = replica")
is_(s.fails("DELETE FROM postrider.audit"), "PR006", "not even as a replica would")
s.run("SET session_replication_role = origin")
length, bad = chain(s)
ok(length > 70 and bad == [], "the chain of what was done here is whole (%d entries)" % length, bad)
# Many writers at once: each transaction writes two rows, some roll back; one chain comes of it.
writers = [Session(options=JIT) for _ in range(8)]
for n, w in enumerate(writers):
    w.send("DO $$ BEGIN FOR i IN 1..25 LOOP "
           "PERFORM postrider.audit_add('ann', 'sla.set', 'w%d-' || i, 'r', '{}'); PERFORM postrider.audit_add('ann', 'sla.set', 'w%d+' || i, 'r', '{\"umlaut\": \"\u00e4\"}'); "
           "IF i %% 5 = 0 THEN ROLLBACK; ELSE COMMIT; END IF; END LOOP; END $$" % (n, n))
for w in writers:
    w.wait()
    w.close()
n, bad = chain(s)
is_((n - length, bad), (8 * 20 * 2, []), "eight writers at once make one chain, and what was rolled back is not in it")
is_(s.run("SELECT n, unchained FROM postrider.audit_end()"), [[str(n), "0"]], "which ends where it says")
deep = Session(options=JIT)
deep.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM postrider.audit")
s.run("SELECT postrider.channel_pause('ann', 'c1', 'r') FROM generate_series(1, 0)")
door("sla_set", "ann", kind="dead", seconds=61, reason="r")
deep.run("SELECT postrider.sla_set('ann', '{\"kind\": \"task\", \"seconds\": 62, \"reason\": \"r\"}')")
is_(deep.fails("COMMIT"), "40001", "above READ COMMITTED a writer that came late is told to try again, and forks nothing")
is_(chain(s)[1], [], "the chain is whole")
ids = [int(r[0]) for r in s.run("SELECT audit_id FROM postrider.audit_chain ORDER BY n OFFSET 10 LIMIT 4")]
OFF = "BEGIN; ALTER TABLE postrider.audit DISABLE TRIGGER USER; ALTER TABLE postrider.audit_chain DISABLE TRIGGER USER; ALTER TABLE postrider.audit_head DISABLE TRIGGER USER;"
for what, act, wanted in (
        ("a changed row", "UPDATE postrider.audit SET reason = 'other' WHERE id = %d" % ids[0], ["changed 11"]),
        ("a row that is gone", "DELETE FROM postrider.audit WHERE id = %d" % ids[1], ["gone 12"]),
        ("an entry that is gone with its row", "DELETE FROM postrider.audit WHERE id = %d; DELETE FROM postrider.audit_chain WHERE audit_id = %d" % (ids[1], ids[1]), ["missing before 13", "changed 13"]),
        ("two rows swapped", "UPDATE postrider.audit SET id = -1 WHERE id = %d; UPDATE postrider.audit SET id = %d WHERE id = %d; UPDATE postrider.audit SET id = %d WHERE id = -1"
         % (ids[2], ids[2], ids[3], ids[3]), ["changed 13", "changed 14"]),
        ("two entries swapped", "UPDATE postrider.audit_chain SET n = 1000000 WHERE n = 13; UPDATE postrider.audit_chain SET n = 13 WHERE n = 14; UPDATE postrider.audit_chain SET n = 14 WHERE n = 1000000",
         ["changed 13", "changed 14", "changed 15"])):
    s.run(OFF.replace("BEGIN;", "BEGIN; ALTER TABLE postrider.audit ALTER COLUMN id DROP IDENTITY;") + act)
    is_(chain(s)[1], wanted, "found: " + what)
    s.run("ROLLBACK")
s.run(OFF + "INSERT INTO postrider.audit (actor, action, subject) VALUES ('a', 'b', 'c')")
is_(s.value("SELECT unchained FROM postrider.audit_end()"), "1", "found: a row that never went through the chain")
s.run("ROLLBACK")
for x in (s, holder, waiter, second, deep):
    x.close()
finish()
