# SPDX-License-Identifier: Apache-2.0
"""move_plain does what move_window does, or nothing. Of random windows, in one snapshot, each of the two is run and undone: where
move_plain says that it was plain, tick, job, cancelled and its answer are the same; where it does not, it wrote nothing. Then the
window is moved for good, and the next one is made. SEED chooses other windows.
"""
import os
import random

from pg import Session, finish, is_, ok, statement

SEED = int(os.environ.get("SEED", "1"))
WINDOWS = 40
chance = random.Random(SEED)
admin, writer = Session(), Session()
admin.run("""SELECT t.merchant('all'); SELECT t.merchant('some', settings => '{"events": ["payment.*", "refund.failed"]}');
    SELECT t.merchant('two', settings => '{"events": ["payment.succeeded"]}');
    SELECT postrider.endpoint_add('tester', 'two', 'second', 'http://127.0.0.1:2/', '\\x02', '{"events": ["payment.*"]}');
    INSERT INTO postrider.merchant (id, shard) VALUES ('bare', 0)""")
sysid = admin.value("SELECT system_identifier FROM pg_control_system()")
relay = Session(options="-c jit=off -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off")
for name in ("move_plain", "move_window"):
    relay.run("PREPARE %s (smallint, bigint, int) AS " % name + statement("outbox-relay", name))
CUT = "-- cut --"
STATE = """SELECT row_to_json(x) FROM (SELECT class, n, lo::text, hi::text, more, dt::text, di, seq, sysid FROM postrider.tick) AS x
    UNION ALL SELECT row_to_json(x) FROM (SELECT * FROM postrider.job) AS x
    UNION ALL SELECT row_to_json(x) FROM (SELECT outbox_id, endpoint, reason FROM postrider.cancelled) AS x;
    SELECT '%s';""" % CUT


def at_once(sql):
    """The statements in one message: a round trip for all of them."""
    return sql.rstrip("; \n").replace(";", "\\;")


def enqueued(merchant="all", event="payment.succeeded", more=""):
    return "SELECT postrider.enqueue_notification('%s', 'o', '%s', '{}', priority => 1%s);" % (merchant, event, more)


def usual():
    return enqueued(*chance.choice((("all", "x.y"), ("some", "payment.late"), ("some", "refund.failed"), ("two", "payment.succeeded"))))


def special():
    """Something that move_plain knows nothing of."""
    return chance.choice((
        enqueued("bare"), enqueued("some", "refund.failed.late"), enqueued("two", "x.y"),
        enqueued("all", more=", notify_url => 'https://shop%d.example/'" % chance.randrange(3)),
        enqueued() + "SELECT postrider.cancel_notification(notify_id, 'no') FROM postrider.outbox WHERE kind = 0 ORDER BY id DESC LIMIT 1;",
        """INSERT INTO postrider.outbox (class, kind, merchant_id, order_no, event, status, version, notify_id, body, cancel_reason, ref_at, ref_id)
           SELECT 1, 2, merchant_id, order_no, event, status, version, notify_id, '', 'raced', at, id
           FROM postrider.outbox WHERE kind = 0 ORDER BY id DESC LIMIT 1;""",
        """SELECT t.finish(min(seq), false, 3) FROM postrider.job WHERE class = 1 HAVING count(*) > 0;
           SELECT postrider.dead_redrive('ops', 'fixed', '{}', 1);"""))


def parts(most):
    """[state before], [answer, state after] by move_window, the same by move_plain: all in one snapshot, and undone."""
    tried = "SAVEPOINT s; EXECUTE %s(1, " + sysid + ", %d);" % most + STATE + "ROLLBACK TO s;"
    rows = relay.run(at_once("BEGIN ISOLATION LEVEL REPEATABLE READ;" + STATE + tried % "move_window" + tried % "move_plain" + "COMMIT"))
    cuts = [i for i, row in enumerate(rows) if row == [CUT]]
    return sorted(rows[:cuts[0]]), rows[cuts[0] + 1:cuts[1]], rows[cuts[1] + 1:cuts[2]]


def verdict(most):
    before, whole, plain = parts(most)
    if plain[0][5] == "t":
        return "the same" if (plain[0][:5], sorted(plain[1:])) == (whole[0], sorted(whole[1:])) else "differs: %s, %s" % (plain[0], whole[0])
    return "left alone" if (sorted(plain[1:]), plain[0][4]) == (before, "t") else "writes what it leaves alone: %s" % plain[0]


seen = []
writer.run("BEGIN")
for window in range(WINDOWS):
    with_special = window % 2 == 0
    rows = [special() if with_special and chance.random() < 0.3 else usual() for _ in range(chance.choice((0, 1, 2, 5, 12)))]
    half = len(rows) // 2
    for some in (rows[:half], rows[half:]):     # two transactions
        if some:
            admin.run(at_once("".join(some)))
    if chance.random() < 0.3:   # one that commits late, or not at all
        writer.run(usual() + chance.choice(("COMMIT", "COMMIT", "ROLLBACK")) + "; BEGIN; SELECT pg_current_xact_id()")
    most = chance.choice((1, 1, 2, 10, 100))
    seen.append(verdict(most))
    relay.run("EXECUTE %s(1, %s, %d)" % ("move_window" if seen[-1] == "left alone" or window % 2 else "move_plain", sysid, most))
writer.run("COMMIT")
is_([s for s in seen if s not in ("the same", "left alone")], [],
    "SEED=%d: of %d windows each move by move_plain is the same as by move_window, or none" % (SEED, WINDOWS))
ok(seen.count("the same") >= WINDOWS // 3, "%d of them were plain" % seen.count("the same"))
ok(seen.count("left alone") >= WINDOWS // 20, "%d had something else in them" % seen.count("left alone"))

# Nothing usual is left alone: twenty rows at endpoints by *, by name and by pattern.
while relay.run("EXECUTE move_window(1, %s, 100)" % sysid)[0][3] == "t":
    pass
admin.run(at_once("".join(usual() for _ in range(20))))
answer = relay.run("EXECUTE move_plain(1, %s, 100)" % sysid)[0]
is_((answer[0], answer[3:]), ("20", ["f", "t", "t"]), "a window of usual rows is moved")
is_(relay.run("EXECUTE move_plain(1, %s, 100)" % sysid)[0][0::3], ["0", "f"], "and then there is nothing")
is_(relay.run("EXECUTE move_plain(1, %d, 100)" % (int(sysid) + 1))[0][4], "f", "another cluster's relay moves nothing")
for session in (admin, relay, writer):
    session.close()
finish()
