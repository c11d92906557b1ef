# SPDX-License-Identifier: Apache-2.0
"""No read model reads a growing table from end to end, nor many rows for a page: 20,000 notifications with their attempts, 5,000 payments with
calls and tasks. Nothing here is timed; docs/people.md has figures of ten million rows."""
import json
import re

import pay
import plan
from pg import Session, finish, ok

plan.GROWING = re.compile(r"outbox\w*|job|attempt\w*|dead|cancelled|payment|refund|payment_history|call|call_log|call_exchange|webhook|webhook_key|task|task_log|"
                          r"audit|audit_chain|approval|recon_difference|recon_bad_row|fulfilment")
MANY = 20000
READS = {
    "overview": {}, "exceptions_summary": {}, "exceptions_list": {}, "exceptions_list 2": {"kind": "dead", "merchant_id": "m7"},
    "exceptions_list 3": {"order_no": "o77", "merchant_id": "m7"}, "search": {"q": "o77"}, "search 2": {"q": "ref77"},
    "search 3": {"q": "00000000-0000-0000-0000-000000000001"}, "order_show": {"merchant_id": "m8", "order_no": "o7"},
    "notifications_list": {}, "notifications_list 2": {"merchant_id": "m7"}, "notifications_list 3": {"merchant_id": "m7", "order_no": "o77"},
    "notifications_list 4": {"status": "pending"}, "notifications_list 5": {"status": "dead"}, "notifications_list 6": {"status": "cancelled"},
    "notifications_list 7": {"status": "delivered", "event": "a.b"}, "dead_letters_list": {}, "dead_letters_list 2": {"endpoint_id": 7},
    "dead_letters_list 3": {"merchant_id": "m7"}, "dead_letters_list 4": {"state": "closed"}, "payments_list": {}, "payments_list 2": {"merchant_id": "m8"},
    "payments_list 3": {"manual": True}, "payments_list 4": {"state": "processing"}, "payments_list 5": {"merchant_id": "m8", "order_no": "o7"},
    "payment_show": {"payment_id": 77}, "webhooks_list": {}, "webhooks_list 2": {"payment_id": 77}, "tasks_list": {}, "tasks_list 2": {"status": "all"},
    "tasks_list 3": {"status": "MANUAL", "biz_type": "delivery"}, "tasks_list 4": {"merchant_id": "m8", "order_no": "o7"}, "task_show": {"task_no": "T77"},
    "audit_list": {}, "audit_list 2": {"who": "w7"}, "audit_list 3": {"subject": "s77"}, "audit_list 4": {"action": "x"},
    "audit_list 5": {"merchant_id": "m7", "order_no": "o77"}, "approvals_list": {}, "approvals_list 2": {"state": "all"}, "merchants_list": {}, "endpoints_list": {},
    "merchant_show": {"merchant_id": "m7"}, "channels_list": {}, "channel_show": {"channel": "c1"},
}
# For these every row that is looked at is one of a bounded number: what the bound is.
BOUND = {"overview": 40000, "exceptions_summary": 40000, "exceptions_list 2": 5000, "exceptions_list 3": 5000, "notifications_list 2": 5001, "dead_letters_list 3": 5000,
         "dead_letters_list 4": 5000, "notifications_list 7": 2000, "tasks_list 3": 5000, "exceptions_list": 5000, "payments_list 2": 5001, "search": 2000}

admin = Session(options="-c jit=off")
admin.run("SELECT count(t.merchant('m' || n)) FROM generate_series(1, 50) n")
pay.channel(admin, "c1")
admin.run("""
    INSERT INTO postrider.outbox (class, merchant_id, order_no, event, status, version, notify_id, body)
    SELECT 1, 'm' || (1 + n %% 50), 'o' || n / 2, 'a.b', 'b', n, gen_random_uuid(), 'x' FROM generate_series(1, %d) n;
    INSERT INTO postrider.attempt (outbox_id, endpoint, before_ms, ms, try, outcome, code)
    SELECT o.id, e.id, 5, 5, 1, CASE WHEN o.id %% 5 = 0 THEN 2 ELSE 1 END, 200 FROM postrider.outbox AS o JOIN postrider.endpoint AS e ON e.merchant_id = o.merchant_id;
    INSERT INTO postrider.dead (outbox_id, endpoint, outbox_at, class, reason, tries, state)
    SELECT o.id, 1, o.at, 1, 'x', 1, CASE WHEN o.id %% 2 = 0 THEN 'open' ELSE 'closed' END FROM postrider.outbox AS o WHERE o.id %% 5 = 0;
    INSERT INTO postrider.cancelled (outbox_id, endpoint, outbox_at, reason) SELECT o.id, 1, o.at, 'x' FROM postrider.outbox AS o WHERE o.id %% 10 = 1;
    INSERT INTO postrider.job (seq, outbox_at, outbox_id, endpoint, class, salt, try, due)
    SELECT (1::bigint << 56) + o.id, o.at, o.id, 1, 1, 1, 1, now() FROM postrider.outbox AS o WHERE o.id %% 10 = 2;
    ALTER TABLE postrider.payment DISABLE TRIGGER USER; ALTER TABLE postrider.task DISABLE TRIGGER USER;
    ALTER TABLE postrider.audit DISABLE TRIGGER USER;
    INSERT INTO postrider.payment (merchant_id, order_no, channel, channel_no, state, manual, amount_minor, currency, version, gateway_reference, single, expires_at, args_hash)
    SELECT 'm' || (1 + n %% 50), 'o' || n, 'c1', c.no, CASE WHEN n %% 10 = 0 THEN 'processing' ELSE 'succeeded' END, n %% 50 = 0, 1, 'CNY', n, 'ref' || n, false, now(), ''
    FROM generate_series(1, 5000) n, postrider.channel AS c;
    INSERT INTO postrider.payment_history (payment_id, source, verdict) SELECT p.id, 'x', 'applied' FROM postrider.payment AS p;
    INSERT INTO postrider.call_log (channel_no, payment_id, operation, attempt) SELECT p.channel_no, p.id, 'query', 1 FROM postrider.payment AS p;
    INSERT INTO postrider.call_exchange (log_id, payment_id, said) SELECT l.id, l.payment_id, '{}' FROM postrider.call_log AS l;
    INSERT INTO postrider.task (task_no, biz_type, biz_id, merchant_id, order_no, payment_id, source, state, moved_by)
    SELECT 'T' || p.id, 'delivery', p.id::text, p.merchant_id, p.order_no, p.id, 'inspection', CASE WHEN p.id %% 10 = 0 THEN 'MANUAL' ELSE 'CLOSED' END, 'x' FROM postrider.payment AS p;
    INSERT INTO postrider.webhook (channel_no, received_at, method, headers, body, verdict, state, payment_id)
    SELECT p.channel_no, now(), 'POST', '{}', 'x', 'verified', 'applied', p.id FROM postrider.payment AS p;
    INSERT INTO postrider.audit (actor, action, subject, merchant_id, order_no) SELECT 'w' || n %% 50, 'x' || n %% 20, 's' || n, 'm' || n %% 50, 'o' || n FROM generate_series(1, 5000) n;
    INSERT INTO postrider.audit_chain (n, audit_id, hash) SELECT a.id + 100, a.id, sha256('x') FROM postrider.audit AS a WHERE a.actor LIKE 'w%%'""" % MANY)
admin.run("VACUUM")
reader = Session(options="-c jit=off")
plan.log_plans(reader)
plan.learn(admin)
sizes = {t: int(n) for t, n in admin.run("SELECT relname, (pg_relation_size(oid) > 0)::int FROM pg_class WHERE relnamespace = 'postrider'::regnamespace AND relkind = 'r'")}
empty = tuple(t for t, some in sizes.items() if not some)
admin.run("ANALYZE")
for name, arguments in READS.items():
    plans = plan.logged(reader, "SELECT postrider.%s('reader', %s)" % (name.split()[0], pay.quote(json.dumps(dict(arguments, limit=5) if name.split()[0].endswith("_list") and name != "channels_list" else arguments))))
    seen = max([plan.touched(p, empty)[0] for _, p in plans] or [0])
    ok(plans and seen <= BOUND.get(name, 1101), "%s %s touches %d rows at most" % (name, json.dumps(arguments), seen),
       [(plan.touched(p, empty), q[:200]) for q, p in plans if plan.touched(p, empty)[0] > BOUND.get(name, 1101)])
for session in (admin, reader):
    session.close()
finish()
