# SPDX-License-Identifier: Apache-2.0
"""Plans of the hot statements: on empty tables, on empty ones that were analysed, on bulk-loaded ones without statistics, with statistics.

An actor prepares its statements once, often while the tables are empty, and keeps the plan. So under the settings of lib/db (index_plans)
no plan may read a growing table, or one of its indexes, from end to end (plan.py), and the relay's window is read
in index order, not sorted. For people's look-ups (default settings) the big tables are read by index once there are statistics.
What such plans do when the tables fill afterwards is emptied.py's.
"""
import os
import re
import time

from pg import HOME, Session, actor_url, finish, is_, ok, statement
from plan import ACTOR, GROWING, explain, learn, misreads

ROWS = 120000
HOT = {"postrider_relay": "outbox-relay", "postrider_scheduler": "scheduler"}
admin = Session()
learn(admin)
admin.run("SELECT count(t.merchant('m' || n)) FROM generate_series(1, 50) n")
sysid = admin.value("SELECT system_identifier FROM pg_control_system()")


def null_call(session, name):
    types = session.value("SELECT array_to_string(parameter_types::text[], '|') || '.' FROM pg_prepared_statements WHERE name = '%s'" % name)[:-1]
    arguments = ["NULL::" + t for t in types.split("|") if t]
    return name + ("(%s)" % ", ".join(arguments) if arguments else "")


def scans(plan):
    return re.findall(r"Seq Scan on (?:postrider\.)?(%s)\b" % GROWING.pattern, plan)


def check(when):
    for role, actor in HOT.items():
        session = Session(url=actor_url(), options="-c role=%s " % role + ACTOR)
        if actor == "outbox-relay":
            session.run(statement("outbox-relay", "set_session"))
        for name in sorted(file[:-4] for file in os.listdir(os.path.join(HOME, "sql/queries", actor))):
            session.run("PREPARE p AS " + statement(actor, name))
            call = "EXECUTE " + null_call(session, "p")
            is_(misreads(explain(session, call)), [], "%s: %s/%s reads no growing table from end to end" % (when, actor, name))
            if name.startswith("move_"):
                plan = "\n".join(r[0] for r in session.run("EXPLAIN (COSTS OFF) " + call))
                arm = plan[plan.index("CTE r"):plan.index("CTE k")]
                first = arm[:arm.index("pg_snapshot_xip")]
                ok("Merge Append" in first and len(re.findall(r"Sort\n", first)) <= 1 and "Bitmap" not in arm,
                   "%s: %s reads a window in index order" % (when, name), arm)
            session.run("DEALLOCATE p")
        session.close()


check("empty")
admin.run("VACUUM ANALYZE")
is_(admin.run("SELECT relpages, reltuples FROM pg_class WHERE oid = 'postrider.job'::regclass"), [["0", "0"]], "the statistics say that there are no jobs")
check("empty, analysed")
session = Session(url=actor_url(), options="-c role=postrider_relay " + ACTOR)
session.run(statement("outbox-relay", "set_session"))
session.run("PREPARE move (smallint, bigint, int) AS " + statement("outbox-relay", "move_window"))
session.run("EXECUTE move(1, %s, 500)" % sysid)  # planned now, for good
session.run("PREPARE peek AS " + statement("outbox-relay", "peek_windows"))
session.run("EXECUTE peek")

admin.run("""INSERT INTO postrider.outbox (class, merchant_id, order_no, event, status, version, notify_id, body)
    SELECT 1, 'm' || (1 + n %% 50), 'o' || n, 'a.b', 'b', n, gen_random_uuid(), convert_to(repeat('x', 300), 'UTF8') FROM generate_series(1, %d) n""" % ROWS)
check("bulk-loaded, no statistics")
worst = 0
for _ in range(10):
    begin = time.monotonic()
    moved = session.run("EXECUTE move(1, %s, 500)" % sysid)[0]
    worst = max(worst, time.monotonic() - begin)
    assert moved[0] == "500"
plan = "\n".join(r[0] for r in session.run("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) EXECUTE move(1, %s, 500)" % sysid))
window = plan[plan.index("CTE r"):plan.index("CTE k")]
rows = max(int(n) for n in re.findall(r"rows=(\d+)", window))
ok(rows <= 500, "a move in the middle of %d rows reads 500 of them, not %d (worst of ten moves: %.1f ms)" % (ROWS, rows, worst * 1000), window)
while session.run("EXECUTE move(1, %s, 5000)" % sysid)[0][3] == "t":
    pass
is_(admin.value("SELECT count(*) FROM postrider.job"), str(ROWS), "all of them are moved by the plan made on empty tables")
plan = "\n".join(r[0] for r in session.run("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) EXECUTE move(1, %s, 500)" % sysid))
window = plan[plan.index("CTE r"):plan.index("CTE k")]
pages = max(int(n) for n in re.findall(r"shared hit=(\d+)", window))
ok(pages <= 20, "behind %d moved rows an empty move reads a few pages of their index, not all of it (%d)" % (ROWS, pages), window)

# The same of a look, when the last window's snapshot has transactions under way in its list.
writer = Session()
writer.run("BEGIN; SELECT pg_current_xact_id()")
admin.run("SELECT postrider.enqueue_notification('m1', 'o', 'a.b', '{}', priority => 1)")
is_(session.run("EXECUTE move(1, %s, 500)" % sysid)[0][0], "1", "a window beside a transaction under way")
plan = "\n".join(r[0] for r in session.run("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) EXECUTE peek"))
pages = max(int(n) for n in re.findall(r"shared hit=(\d+)", plan))
ok(pages <= 60, "a look beside it reads a few pages (%d)" % pages, plan)
writer.run("ROLLBACK")
writer.close()
admin.run("DELETE FROM postrider.job AS j USING postrider.outbox AS o WHERE o.id = j.outbox_id AND o.order_no = 'o'; DELETE FROM postrider.outbox WHERE order_no = 'o'")

# ends of every kind: four fifths delivered, the rest dead or waiting for a retry
admin.run("""
    INSERT INTO postrider.attempt (outbox_id, endpoint, before_ms, ms, try, outcome, code)
    SELECT outbox_id, endpoint, 5, 5, 1, CASE WHEN outbox_id % 5 > 0 THEN 1 ELSE 2 END, 200 FROM postrider.job;
    DELETE FROM postrider.job WHERE outbox_id % 5 > 0;
    INSERT INTO postrider.dead (outbox_id, endpoint, outbox_at, class, reason, tries)
    SELECT outbox_id, endpoint, outbox_at, class, 'x', 1 FROM postrider.job WHERE outbox_id % 10 = 0;
    DELETE FROM postrider.job WHERE outbox_id % 10 = 0;
    UPDATE postrider.job SET try = 1, due = now() + interval '1 h';
    ANALYZE""")
check("with statistics")

notify, merchant, order = admin.run("SELECT notify_id, merchant_id, order_no FROM postrider.outbox WHERE id % 10 = 0 LIMIT 1")[0]
endpoint = admin.value("SELECT endpoint FROM postrider.dead LIMIT 1")
LOOK_UPS = {
    "notification_status by notify_id": "SELECT * FROM postrider.notification_status WHERE notify_id = '%s'" % notify,
    "notification_status by order": "SELECT * FROM postrider.notification_status WHERE merchant_id = '%s' AND order_no = '%s'" % (merchant, order),
    "attempt_log by notify_id": "SELECT * FROM postrider.attempt_log WHERE notify_id = '%s'" % notify,
    "attempt_log by order": "SELECT * FROM postrider.attempt_log WHERE merchant_id = '%s' AND order_no = '%s'" % (merchant, order),
    "dead_letters by notify_id": "SELECT * FROM postrider.dead_letters WHERE notify_id = '%s'" % notify,
    "dead_letters by order": "SELECT * FROM postrider.dead_letters WHERE merchant_id = '%s' AND order_no = '%s'" % (merchant, order),
    "order_timeline by order": "SELECT * FROM postrider.order_timeline WHERE merchant_id = '%s' AND order_no = '%s' ORDER BY at" % (merchant, order),
}
reader = Session(url=actor_url(), options="-c role=postrider_app -c jit=off")
for name, query in LOOK_UPS.items():
    plan = "\n".join(r[0] for r in reader.run("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) " + query))
    big = [m for m in re.findall(r"Seq Scan on (\w+) \w+ \(actual rows=(\d+)", plan) if int(m[1]) > 1000]
    took = float(re.search(r"Execution Time: ([\d.]+)", plan).group(1))
    is_(big, [], "%s reads no big table from end to end (%.1f ms)" % (name, took))
# By endpoint the planner may prefer a join of whole tables when the endpoint has much of them; by index it must be able to.
reader.run("SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off")
for name, columns in (("attempt_log", "*"), ("dead_letters", "*")):
    plan = "\n".join(r[0] for r in reader.run("EXPLAIN (COSTS OFF) SELECT %s FROM postrider.%s WHERE endpoint_id = %s" % (columns, name, endpoint)))
    is_(scans(plan), [], "%s by endpoint reads no growing table from end to end" % name)
begin = time.monotonic()
found = int(reader.value("SELECT count(*) FROM postrider.attempt_log WHERE endpoint_id = %s" % endpoint))
ok(found == ROWS // 50, "attempt_log by endpoint: %d attempts in %.0f ms" % (found, (time.monotonic() - begin) * 1000), found)

# All rows written by one transaction, as a bulk load or a rebase leaves them: its number tells nothing apart, so the statistics say, and an
# index on id would do as well to read in order what an old window left under way. It would read all rows, for nothing.
admin.run("UPDATE postrider.outbox SET tx = '2'; VACUUM ANALYZE postrider.outbox")
late = Session(url=actor_url(), options="-c role=postrider_relay " + ACTOR)
late.run(statement("outbox-relay", "set_session"))
writer = Session()
writer.run("BEGIN; SELECT pg_current_xact_id()")
LAST = "SELECT n, EXISTS (SELECT FROM pg_snapshot_xip(lo)) FROM postrider.tick WHERE class = 1 ORDER BY n DESC LIMIT 1"
for name in ("move_window", "move_plain"):
    late.run("PREPARE %s (smallint, bigint, int) AS " % name + statement("outbox-relay", name))
    before = int(admin.run(LAST)[0][0])
    for order in ("p", "q"):
        admin.run("SELECT postrider.enqueue_notification('m1', '%s', 'a.b', '{}', priority => 1)" % order)
        plan = "\n".join(r[0] for r in late.run("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) EXECUTE %s(1, %s, 500)" % (name, sysid)))
    is_(admin.run(LAST)[0], [str(before + 2), "t"], "%s: a window after one beside a transaction under way" % name)
    window = plan[plan.index("CTE r"):plan.index("CTE k")]
    pages = max(int(n) for n in re.findall(r"shared hit=(\d+)", window))
    ok(pages <= 60, "%s: beside %d rows of one transaction it reads a few pages (%d)" % (name, ROWS, pages), window)
writer.run("ROLLBACK")
for s in (admin, session, reader, late, writer):
    s.close()
finish()
