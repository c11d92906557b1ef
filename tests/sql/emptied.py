# SPDX-License-Identifier: Apache-2.0
"""An idle queue is an empty table, and its statistics say so once it was vacuumed and analysed. Plans made then are kept by connections
that live for weeks. So: the tables are filled, emptied, VACUUM ANALYZEd; the hot actors' statements and the functions that actors,
applications and people call run once, and are planned for good; 20,000 notifications come in; and whoever is asked for 200 of them
must read about 200 rows. Nothing here is timed.
"""
from pg import Session, finish, is_, ok, statement
from plan import ACTOR, learn, log_plans, logged, misreads, touched

MANY, BATCH = 20000, 200
ROWS, PAGES = 2 * BATCH, 20 * BATCH      # what one scan may touch: a look-up is a few pages in each partition
TABLES = ("outbox", "outbox_kept", "job", "attempt", "dead", "cancelled", "idempotency")
CLASS1 = 1 << 56

admin = Session()
admin.run("SELECT count(t.merchant('m' || n)) FROM generate_series(1, 50) n")
admin.run("UPDATE postrider.endpoint SET supersede = true WHERE merchant_id = 'm7'")
learn(admin)
sysid = admin.value("SELECT system_identifier FROM pg_control_system()")
endpoints = admin.run("SELECT id FROM postrider.endpoint ORDER BY id")
shards = "'{%s}'" % ",".join(str(n) for n in range(256))


def enqueue(count, order="many"):
    admin.run("""INSERT INTO postrider.outbox (class, merchant_id, order_no, event, status, version, notify_id, body)
                 SELECT 1, 'm' || (1 + n %% 50), '%s' || n, 'a.b', 'b', o.last + n, gen_random_uuid(), 'x'
                 FROM generate_series(1, %d) n, (SELECT coalesce(max(id), 0) AS last FROM postrider.outbox) AS o""" % (order, count))


def empty():
    """Everything goes, and Postgres is told so."""
    for table in TABLES:
        admin.run("DELETE FROM postrider." + table)
    for table in TABLES + ("tick", "endpoint"):
        admin.run("VACUUM ANALYZE postrider." + table)


def one_of_each():
    admin.run("""
        SELECT postrider.enqueue_notification('m1', 'one', 'a.b', '{}', priority => 1);
        INSERT INTO postrider.job (seq, outbox_at, outbox_id, endpoint, class, salt) SELECT -o.id, o.at, o.id, 1, 1, 0 FROM postrider.outbox AS o;
        INSERT INTO postrider.attempt (outbox_id, endpoint, before_ms, ms, try, outcome, code) SELECT o.id, 1, 5, 5, 1, 2, 500 FROM postrider.outbox AS o;
        INSERT INTO postrider.dead (outbox_id, endpoint, outbox_at, class, reason, tries) SELECT o.id, 1, o.at, 1, 'x', 1 FROM postrider.outbox AS o;
        INSERT INTO postrider.cancelled (outbox_id, endpoint, outbox_at, reason) SELECT o.id, 1, o.at, 'x' FROM postrider.outbox AS o;
        INSERT INTO postrider.outbox_kept OVERRIDING SYSTEM VALUE SELECT * FROM postrider.outbox""")


def connect(role, actor="", names=(), settings=""):
    session = Session(options="-c jit=off -c plan_cache_mode=force_generic_plan " + settings)
    log_plans(session)      # which only a superuser can: the login of pg.py
    session.run("SET ROLE " + role)
    for name in names:
        session.run("PREPARE %s AS %s" % (name, statement(actor, name)))
    return session


def asked(session, what, sql, allowed=(), rows=ROWS, anew=False):
    """Runs it, and looks at each plan that ran: how it reads, and how much. anew: planned for each call, of what is empty all is read."""
    plans = logged(session, sql)
    if not anew:
        is_([m for _, plan in plans for m in misreads(plan, allowed)], [], what + ": reads no growing table from end to end")
    if what.startswith("many"):
        seen = [touched(plan, allowed) for _, plan in plans]
        most, pages = max(n for n, _ in seen), max(n for _, n in seen)
        ok(most <= rows and (pages > 0 or allowed) and pages <= PAGES, what + ": a scan touches %d rows at most" % most,
           [(n, pages, query[:90]) for (n, pages), (query, _) in zip(seen, plans)])


# The tables were full once: their indexes are large.
enqueue(5000, "former")
one_of_each()
empty()
is_(admin.run("""SELECT c.relname, c.relpages, c.reltuples FROM pg_class AS c WHERE c.relnamespace = 'postrider'::regnamespace AND c.relkind = 'r'
                 AND c.relname ~ '^(outbox|job|attempt|dead|cancelled|idempotency)' AND (c.relpages, c.reltuples) <> (0, 0)"""),
    [], "the tables are empty, and the statistics say so")

relay = connect("postrider_relay", "outbox-relay", ("move_window", "move_plain", "peek_windows", "supersede"), ACTOR)
relay.run(statement("outbox-relay", "set_session"))
scheduler = connect("postrider_scheduler", "scheduler", (
    "apply_results", "date_first_tries", "expire_held", "load_new", "load_first_tries", "page_due", "dated_pairs", "load_cancelled",
    "late_attempt", "open_session"), ACTOR)
keeper = connect("postrider_dead_letter", "dead-letter", ("step_redrives", "purge_history", "scan_dead"))
breaker = connect("postrider_breaker", "circuit-breaker", ("disable_failing",))
application = connect("postrider_app")
operator = connect("postrider_console", "cli", ("dead_redrive", "dead_close"))
scheduler.run("EXECUTE open_session('x')")
session = admin.value("SELECT id FROM postrider.session")


def array(values, kind):
    return "ARRAY[%s]::%s[]" % (",".join(str(v) for v in values), kind)


def results(jobs):
    """(seq, salt) as outcomes: delivered, dead and tried again in turn."""
    n = len(jobs)
    each = [("bigint", [j[0] for j in jobs]), ("bigint", [j[1] for j in jobs]), ("int", [0] * n), ("smallint", [i % 3 for i in range(n)]),
            ("bigint", [60000] * n), ("bigint", ["NULL"] * n), ("smallint", [1 + (i % 3 != 1) for i in range(n)]), ("smallint", [200] * n),
            ("text", ["NULL"] * n), ("int", [5] * n), ("bigint", [1750000000000000] * n), ("text", ["'w'"] * n), ("bytea", ["NULL"] * n),
            ("text", ["'x'"] * n)]
    return "EXECUTE apply_results('%s', %s)" % (session, ", ".join(array(values, kind) for kind, values in each))


def first(count, where="due IS NULL"):
    """The next jobs: (seq, salt)."""
    return admin.run("SELECT seq, salt FROM postrider.job WHERE %s ORDER BY seq LIMIT %d" % (where, count))


def look(when, jobs=(), held=0, notify="gen_random_uuid()", dead="00000000-0000-0000-0000-000000000000", cancelled=(0, 0), span=(0, 0), horizon="0"):
    """All of them, for these jobs."""
    def of(who, what, sql, **more):
        asked(who, when + ": " + what, sql, **more)
    of(relay, "peek_windows", "EXECUTE peek_windows")
    of(relay, "move_plain", "EXECUTE move_plain(1, %s, %d)" % (sysid, BATCH))
    of(relay, "move_window", "EXECUTE move_window(1, %s, %d)" % (sysid, BATCH))
    of(scheduler, "load_new", "EXECUTE load_new(%s, '{0,%d,%d}', '{%d,%d,%d}')" % (shards, CLASS1, 2 * CLASS1, BATCH, BATCH, BATCH))
    of(scheduler, "load_first_tries", "EXECUTE load_first_tries(%s, '{0,%d,%d}', '{%d,%d,%d}', %d, %d)"
       % (shards, CLASS1, 2 * CLASS1, CLASS1 - 1, 2 * CLASS1 - 1, 3 * CLASS1 - 1, BATCH, BATCH))
    of(scheduler, "date_first_tries", "EXECUTE date_first_tries('%s', %s, %s)"
       % (session, array([j[0] for j in jobs], "bigint"), array([j[1] for j in jobs], "bigint")))
    of(scheduler, "dated_pairs", "EXECUTE dated_pairs(%s)" % shards)
    of(scheduler, "page_due", "EXECUTE page_due(%s, %s, 3600000, %s)" % (
        array([e[0] for e in endpoints], "bigint"), array([1] * len(endpoints), "smallint"), array([4] * len(endpoints), "int")))
    of(scheduler, "apply_results", results(jobs))
    of(scheduler, "expire_held", "EXECUTE expire_held('%s', %s, 0, '{}', %d)" % (session, held, BATCH))
    of(scheduler, "late_attempt", "EXECUTE late_attempt('%s', %s, %s, 1, 1, 200, NULL, 5, 1750000000000000, 'w', NULL)" % (session, *cancelled))
    of(relay, "supersede", "EXECUTE supersede(%d, %d)" % span)
    again = "SELECT postrider.enqueue_notification('m1', 'o', 'a.b', '{}', priority => 1, idempotency_key => '%s')" % when
    application.run(again)
    of(application, "enqueue_notification", again)
    of(application, "cancel_notification", "SELECT postrider.cancel_notification(%s, 'x')" % notify)
    of(scheduler, "load_cancelled", "EXECUTE load_cancelled('%s')" % horizon)
    of(operator, "dead_redrive", """EXECUTE dead_redrive('tester', 'x', '{"merchant_id": "m28", "order_no": "many77"}', 10, false)""")
    of(operator, "dead_close", """EXECUTE dead_close('tester', 'x', '{"notify_id": "%s"}', 10)""" % dead)
    admin.run("""SELECT postrider.redrive_request('tester', 'x', '{"event": "a.b"}', 100)""")
    admin.run("UPDATE postrider.redrive SET stepped_at = clock_timestamp() - interval '1 min'")
    of(keeper, "step_redrives", "EXECUTE step_redrives")
    of(keeper, "scan_dead", "EXECUTE scan_dead(1000)", allowed=("dead",))       # counts the open ones
    # Of these it looks at each: what retention kept, because of its need; default partitions, because they are nearly empty.
    of(keeper, "purge_history", "EXECUTE purge_history(3600000, %d)" % BATCH, anew=True,
       allowed=("outbox_kept", "outbox_default", "attempt_default"))
    of(breaker, "disable_failing", "EXECUTE disable_failing(%s, 0)" % held, rows=3 * MANY // len(endpoints))


admin.run("SELECT postrider.endpoint_mark_failing(%s)" % endpoints[3][0])
look("empty")
# and what those plan only once there is something
one_of_each()
one = admin.run("SELECT o.id, o.notify_id FROM postrider.outbox AS o WHERE o.order_no = 'one'")[0]
look("one", [("-" + one[0], 0)], held=1, notify="'%s'" % one[1], dead=one[1], cancelled=(one[0], 1))

# Nobody tells the statistics of what comes now.
admin.run("DELETE FROM postrider.outbox; DELETE FROM postrider.outbox_kept; DELETE FROM postrider.job; DELETE FROM postrider.dead")
enqueue(MANY)
asked(relay, "many: move_plain", "EXECUTE move_plain(1, %s, %d)" % (sysid, BATCH))
asked(relay, "many: move_window", "EXECUTE move_window(1, %s, %d)" % (sysid, BATCH))
while relay.run("EXECUTE move_window(1, %s, 5000)" % sysid)[-1][3] == "t":
    pass
last = int(admin.value("SELECT max(seq) FROM postrider.job"))
is_(admin.value("SELECT count(*) FROM postrider.job WHERE seq > %d" % CLASS1), str(MANY), "%d are handed over" % MANY)
held = endpoints[3][0]
admin.run("""
    INSERT INTO postrider.dead (outbox_id, endpoint, outbox_at, class, reason, tries)
    SELECT outbox_id, endpoint, outbox_at, class, 'x', 1 FROM postrider.job WHERE seq > %d ORDER BY seq LIMIT 5000;
    DELETE FROM postrider.job AS j WHERE (j.outbox_id, j.endpoint) IN (SELECT d.outbox_id, d.endpoint FROM postrider.dead AS d);
    INSERT INTO postrider.cancelled (outbox_id, endpoint, outbox_at, reason)
    SELECT outbox_id, endpoint, outbox_at, 'x' FROM postrider.job ORDER BY seq LIMIT 5000;
    INSERT INTO postrider.attempt (outbox_id, endpoint, before_ms, ms, try, outcome, code) SELECT outbox_id, endpoint, 5, 5, 1, 2, 500 FROM postrider.job;
    INSERT INTO postrider.idempotency SELECT 'm1', 'x', n, '', gen_random_uuid(), now() FROM generate_series(1, 5000) n;
    UPDATE postrider.job SET due = now() WHERE endpoint = %s""" % (CLASS1, held))
# newer versions of orders
admin.run("""INSERT INTO postrider.outbox (class, merchant_id, order_no, event, status, version, notify_id, body)
             SELECT 1, merchant_id, order_no, event, status, version + 1000000, gen_random_uuid(), body FROM postrider.outbox
             WHERE merchant_id = 'm7' ORDER BY id DESC LIMIT %d""" % BATCH)
relay.run("EXECUTE move_window(1, %s, 5000)" % sysid)
newest = int(admin.value("SELECT max(seq) FROM postrider.job"))
notify = admin.value("SELECT o.notify_id FROM postrider.job AS j JOIN postrider.outbox AS o ON o.id = j.outbox_id WHERE j.seq = %d" % (last - 1))
dead = admin.value("SELECT o.notify_id FROM postrider.dead AS d JOIN postrider.outbox AS o ON o.id = d.outbox_id ORDER BY o.id LIMIT 1")
look("many", first(BATCH, "due IS NULL AND seq > %d" % CLASS1), held, "'%s'" % notify, dead,
     admin.run("SELECT outbox_id, endpoint FROM postrider.cancelled ORDER BY 1 DESC LIMIT 1")[0], (last, newest),
     admin.value("SELECT pg_snapshot_xmin(pg_current_snapshot())"))
# Rows that take dead letters up again are waiting now; with them some that cancel what the relay had not yet handed over.
enqueue(50, "late")
application.run("SELECT postrider.cancel_notification(o.notify_id, 'x') FROM (%s) AS o (notify_id)"
                % " UNION ALL ".join("SELECT '%s'::uuid" % n[0] for n in admin.run("SELECT notify_id FROM postrider.outbox WHERE order_no LIKE 'late%'")))
is_(admin.value("SELECT count(DISTINCT kind) FROM postrider.outbox"), "3", "rows of all kinds are waiting")
asked(relay, "many: move_window of all kinds", "EXECUTE move_window(1, %s, %d)" % (sysid, BATCH))
for s in (admin, relay, scheduler, keeper, breaker, application, operator):
    s.close()
finish()
