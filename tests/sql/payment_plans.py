# SPDX-License-Identifier: Apache-2.0
"""Whatever the statistics say, no statement of a payment's functions reads a growing table from end to end, and none that an application
looks payments up with. auto_explain shows the plans of the statements inside functions."""
import re

import pay
from pg import Session, finish, is_, ok

GROWING = ("payment", "refund", "dispute", "payment_history", "payment_event", "call", "call_log", "call_exchange", "webhook", "webhook_key", "webhook_orphan", "task", "task_log",
           "task_key", "http_answer", "fulfilment", "outbox", "job", "attempt", "dead", "cancelled")
s = Session()
pay.setup(s)
pay.channel(s, "c1")
pay.channel(s, "c2", operations=["charge", "query", "refund", "query_refund"])
s.run("INSERT INTO postrider.http_key (hash, kind, livemode) VALUES (sha256('x'), 'application', true)")
sched = pay.Scheduler(s)
names = iter(range(1, 1 << 30))
holder = Session()                      # a compensator's connection: its session lives as long
compensator = holder.value("SELECT postrider.task_session_open('plans')")


def workload(session):
    """Everything an application and the actors do, once."""
    sched.session = session
    n = next(names)
    payment = pay.submit(session, "w%d" % n)
    sched.due(payment)
    sched.step(payment, pay.says(session, payment, "UNKNOWN", action="query_first"))
    sched.step(payment, {"status": "NOT_FOUND"})
    sched.step(payment, pay.says(session, payment, "PENDING", reference="g%d" % n))
    pay.apply(session, payment, pay.says(session, payment, "SUCCEEDED", amount=1))
    items = [{"event_id": "e%d" % n, "dedupe": ["d%d" % n], "evidence": pay.says(session, payment, "SUCCEEDED")}]
    hook = "SELECT * FROM postrider.webhook_receive('c1', now(), 'POST', '', '{}', 'x', 'verified', '', %s)"
    session.run(hook % pay.quote(items))
    session.run(hook % pay.quote(items))
    items[0]["evidence"]["request_no"] = items[0]["evidence"]["reference"] = "nobody%d" % n
    items[0]["dedupe"] = []
    session.run(hook % pay.quote(items))
    refund = int(pay.call(session, "refund_payment", payment, "r", 100, None))
    sched.step(payment, pay.refund_says(session, refund, "PENDING"), refund=refund)
    sched.step(payment, pay.refund_says(session, refund, "SUCCEEDED"), refund=refund)
    tracked = pay.track(session, "t%d" % n, "t%d" % n)
    sched.step(tracked, {"status": "PENDING"})
    pay.call(session, "cancel_payment", tracked, "x")
    sched.step(tracked, pay.says(session, tracked, "CANCELLED"))
    pay.apply(session, tracked, pay.says(session, tracked, "SUCCEEDED"))
    pay.call(session, "report_payment", tracked, "succeeded", {}, "e1")
    pay.call(session, "report_fulfilment", pay.MERCHANT, "w%d" % n, "failed", None)
    pay.call(session, "create_task", "recon", str(n), pay.MERCHANT, "w%d" % n, {}, "k%d" % n)
    session.run("SELECT * FROM postrider.calls_due('%s', (SELECT array_agg(no) FROM postrider.call_shards('%s') AS x (no)), 100)" % (sched.id, sched.id))
    session.run("SELECT postrider.calls_expire_leases('%s', 100), postrider.payments_upkeep('%s', 100)" % (sched.id, sched.id))
    session.run("SELECT postrider.task_for_difference(1, 'state_verification', '%d', 'WAITING', 'm1', 'w%d', %d, 'x', 'x', '{\"channel_state\": \"refunded\"}')"
                % (payment, n, payment))
    for _ in range(2):
        session.run("UPDATE postrider.task SET next_run_at = now() WHERE payment_id = %d AND state = 'RETRY'" % payment)
        claimed = session.run("SELECT c.token FROM postrider.tasks_claim('%s', 100, '{}') AS c" % compensator)
        for token in claimed[:-1]:
            session.run("SELECT * FROM postrider.tasks_act('%s', 60000)" % token[0])
        for token in claimed[-1:]:
            session.run("SELECT postrider.tasks_finish('%s', '{\"outcome\": \"wait\"}')" % token[0])
    session.run("SELECT * FROM postrider.tasks_sweep('%s', 600000, 100)" % compensator)
    session.run("SELECT * FROM postrider.calls_webhook_delays('%s')" % sched.id)
    session.run("SELECT postrider.http_write(1, 'i%d', '\\x01', 'payment.cancel', '{\"payment_id\": \"%d\"}')" % (n, tracked))
    session.run("SELECT postrider.http_read(1, 'order', '{\"merchant_id\": \"m1\", \"order_no\": \"w%d\"}')" % n)
    session.run("SELECT postrider.http_purge(10), postrider.payments_purge('1 h', '3 y', 10)")
    return payment, n


def plans(when):
    session = Session()
    session.run("LOAD 'auto_explain'; SET jit = off; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on; SET client_min_messages = log")
    found = []
    run = session.run

    def watched(sql, timeout=180.0):
        """The answer without the plans."""
        lines, plan = [], False
        for fields in run(sql, timeout):
            line = "\t".join(fields)
            if re.match(r"(LOG|LOCATION|DETAIL|NOTICE|WARNING|STATEMENT):", line):
                plan = line.startswith("LOG:  00000: duration") or (plan and not line.startswith("LOCATION:"))
                if line.startswith("LOCATION:"):
                    plan = False
                continue
            if plan:
                found.append(line)
            else:
                lines.append(fields)
        return lines

    session.run = watched
    workload(session)
    text = "\n".join(found)
    # what the test asks for itself is not the functions'; an empty array proves everything; the journal's open rows are read by their index
    queries = [q for q in text.split("Query Text: ") if not q.startswith(("SELECT concat_ws", "SELECT r.gateway_no", "UPDATE postrider.call SET due", "UPDATE postrider.task SET next", "SELECT id FROM postrider.call"))]
    queries = [q for q in queries if "ANY ('{}'" not in q and "webhook_open_idx" not in q and "notification_status" not in q]     # the last: plans.py
    seq = r"Seq Scan on (?:postrider\.)?(?:%s)\b[^\n]*\n[^\n]*" % "|".join(GROWING)
    full = r"Index (?:Only )?Scan[^\n]* on (?:%s)\b[^\n]*\n(?!\s*Index Cond)[^\n]*" % "|".join(GROWING)
    for pattern, what in ((seq, "no function reads a growing table"), (full, "no function reads an index of one")):
        is_([(re.findall(pattern, q)[:2], q[:160]) for q in queries if re.search(pattern, q)][:4], [], "%s: %s from end to end" % (when, what))
    ok(text.count("Query Text: ") > 300, when + ": the plans were seen", text[:300])
    session.close()
    sched.session = s


plans("empty")
s.run("VACUUM ANALYZE")
plans("statistics of nearly empty tables")
s.run("""
    INSERT INTO postrider.payment (merchant_id, order_no, channel, channel_no, state, amount_minor, currency, version, request_no, single, expires_at, args_hash)
    SELECT 'm1', 'f' || n, 'c2', (SELECT no FROM postrider.channel WHERE id = 'c2'), 'processing', 1, 'CNY', 1, 'f' || n, true, now() + interval '1 h', '' FROM generate_series(1, 20000) AS n;
    INSERT INTO postrider.call (channel_no, class, operation, payment_id, due, reason, salt)
    SELECT channel_no, 1, 'query', id, now() + interval '30 min', 'x', 1 FROM postrider.payment WHERE order_no LIKE 'f%';
    INSERT INTO postrider.payment_history (payment_id, source, verdict) SELECT id, 'x', 'x' FROM postrider.payment;
    INSERT INTO postrider.call_log (channel_no, payment_id, operation, attempt) SELECT channel_no, id, 'query', 1 FROM postrider.payment;
    INSERT INTO postrider.call_exchange (log_id, payment_id, said) SELECT id, payment_id, '{}' FROM postrider.call_log""")
plans("grown, statistics of nearly empty tables")
s.run("VACUUM ANALYZE")
plans("with statistics")

payment, n = workload(s)
reader = Session(options="-c role=postrider_app -c jit=off")
for name, query in {
        "payment_status by id": "SELECT * FROM postrider.payment_status WHERE payment_id = %d" % payment,
        "payment_status by order": "SELECT * FROM postrider.payment_status WHERE merchant_id = 'm1' AND order_no = 'w%d'" % n,
        "refund_status by payment": "SELECT * FROM postrider.refund_status WHERE payment_id = %d" % payment,
        "order_timeline by order": "SELECT * FROM postrider.order_timeline WHERE merchant_id = 'm1' AND order_no = 'w%d' ORDER BY at" % n,
        "attempt_log by order": "SELECT * FROM postrider.attempt_log WHERE merchant_id = 'm1' AND order_no = 'w%d'" % n,
        "compensation_tasks by order": "SELECT * FROM postrider.compensation_tasks WHERE merchant_id = 'm1' AND order_no = 'w%d'" % n,
        "payment_events by seq": "SELECT * FROM postrider.payment_events WHERE seq > 5 ORDER BY seq LIMIT 10"}.items():
    plan = "\n".join(r[0] for r in reader.run("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) " + query))
    big = [m for m in re.findall(r"Seq Scan on (\w+) \w+ \(actual rows=(\d+)", plan) if int(m[1]) > 1000]
    is_(big, [], name + " reads no big table from end to end")
for session in (s, reader, holder):
    session.close()
finish()
