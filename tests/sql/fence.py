# SPDX-License-Identifier: Apache-2.0
"""The fence (field/engine.md): a new owner takes over, its transaction is open, while the stale owner writes a result.

The four fences that look right let one stale row through each; the one in use none. Then the real statement,
scheduler/apply_results, against end_session: replays, doubles, and a late write after the takeover.
"""
import time

from pg import Session, actor_url, blocked, finish, is_, ok, statement, until

admin, stale, fresh = Session(), Session(), Session()
admin.run("""CREATE SCHEMA f; CREATE TABLE f.owner (id int PRIMARY KEY, session int NOT NULL);
             CREATE TABLE f.result (fence text, n int)""")

FENCES = {  # what the stale owner, session 1, sends; {w} is the write it guards
    "for_share": ("WITH f AS MATERIALIZED (SELECT session FROM f.owner WHERE id = 1 AND session = 1 FOR SHARE) "
                  "INSERT INTO f.result SELECT 'for_share', 1 FROM f", 0),
    "for_key_share": ("WITH f AS MATERIALIZED (SELECT session FROM f.owner WHERE id = 1 AND session = 1 FOR KEY SHARE) "
                      "INSERT INTO f.result SELECT 'for_key_share', 1 FROM f", 1),
    "plain_read": ("INSERT INTO f.result SELECT 'plain_read', 1 FROM f.owner WHERE id = 1 AND session = 1", 1),
    "advisory": ("INSERT INTO f.result SELECT 'advisory', 1 FROM f.owner "
                 "WHERE id = 1 AND session = 1 AND pg_advisory_xact_lock_shared(1) IS NOT NULL", 1),
    "unreferenced_cte": ("WITH f AS (SELECT session FROM f.owner WHERE id = 1 AND session = 1 FOR SHARE) "
                         "INSERT INTO f.result SELECT 'unreferenced_cte', 1", 1),
}

for name, (write, wanted) in FENCES.items():
    admin.run("TRUNCATE f.owner; INSERT INTO f.owner VALUES (1, 1)")
    # The takeover: the new owner's transaction is open, its lock is held, it is not committed.
    fresh.run("BEGIN; SELECT pg_advisory_xact_lock(1); UPDATE f.owner SET session = 2 WHERE id = 1")
    stale.send(write)
    until(lambda: stale.done() or blocked(admin, stale), "the stale write runs or waits")
    fresh.run("COMMIT")
    stale.wait()
    rows = int(admin.value("SELECT count(*) FROM f.result WHERE fence = '%s'" % name))
    is_(rows, wanted, "%s lets %d stale row%s through" % (name, wanted, "" if wanted == 1 else "s"))

# ---- the real one ----
owner = Session(url=actor_url(), options="-c role=postrider_scheduler -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off")
admin.run("SELECT t.merchant('m1')")
sid = owner.value("SELECT id FROM postrider.open_session('x')")
other = Session(url=actor_url(), options="-c role=postrider_scheduler -c jit=off")
other_sid = other.value("SELECT id FROM postrider.open_session('y')")
sysid = admin.value("SELECT system_identifier FROM pg_control_system()")
admin.run("PREPARE move (smallint, bigint, int) AS " + statement("outbox-relay", "move_window"))


def jobs(n):
    admin.run("SELECT count(postrider.enqueue_notification('m1', 'o', 'a.b', '{}', priority => 1)) FROM generate_series(1, %d)" % n)
    admin.run("EXECUTE move(1, %s, 500)" % sysid)
    return admin.run("SELECT seq, salt FROM postrider.job ORDER BY seq")


owner.run("PREPARE apply AS " + statement("scheduler", "apply_results"))


def apply(items, session=None, delay=None, new_salt=None):
    """items: (seq, salt, try, end, outcome); delay and new_salt: one for each"""
    def array(values, kind):
        return "ARRAY[%s]::%s[]" % (",".join(str(v) for v in values), kind)

    def col(i, kind):
        return array([x[i] for x in items], kind)

    def same(value, kind):
        return array([value] * len(items), kind)
    return "EXECUTE apply('%s', %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)" % (
        session or sid, col(0, "bigint"), col(1, "bigint"), col(2, "int"), col(3, "smallint"), array(delay or ["5000"] * len(items), "bigint"),
        array(new_salt or ["NULL"] * len(items), "bigint"), col(4, "smallint"), same("200", "smallint"), same("NULL", "text"), same("12", "int"),
        same("1750000000000000", "bigint"), same("'w'", "text"), same("'\\xff00'", "bytea"), same("'retries_exhausted'", "text"))


def applied(rows):
    return [r for r in rows if len(r) > 1 and r[1] != ""]


j = jobs(3)
items = [(j[0][0], j[0][1], 0, 1, 1), (j[1][0], j[1][1], 0, 0, 2), (j[2][0], j[2][1], 0, 2, 2)]
got = owner.run(apply(items + items))
is_((len(applied(got)), got[0][0]), (3, "t"), "a batch with every outcome doubled applies each once")
is_(len(applied(owner.run(apply(items)))), 0, "the same batch again (unknown COMMIT) applies none")
is_(admin.run("SELECT (SELECT count(*) FROM postrider.job), (SELECT count(*) FROM postrider.attempt), (SELECT count(*) FROM postrider.dead)"),
    [["1", "3", "1"]], "one job waits for its retry, three attempts, one dead letter")
is_(admin.run("SELECT a.try, a.worker, w.name, a.response IS NULL FROM postrider.attempt AS a JOIN postrider.worker AS w ON w.no = a.worker"),
    [["1", "1", "w", "f"]] * 3, "each with its worker's number; the worker's name is written once")
is_(len(applied(owner.run(apply([(j[1][0], j[1][1], 0, 1, 1)])))), 0, "an outcome of the try before is stale")
is_(len(applied(owner.run(apply([(j[1][0], int(j[1][1]) ^ 1, 1, 1, 1)])))), 0, "an outcome with another salt is stale")

# a batch under way when the other takes over: either the batch commits first, or nothing of it is written
owner.run("BEGIN")
owner.run(apply([(j[1][0], j[1][1], 1, 1, 1)]))
begin = time.monotonic()
other.send("SELECT postrider.end_session('%s')" % sid)
until(lambda: blocked(admin, other) or other.done(), "the takeover waits for the batch")
owner.fails("COMMIT")  # no matter: the word that its connection ends may come in one piece with the answer
in_time = time.monotonic() - begin < 1.0  # a takeover waits a second, which a busy machine may need up to here
is_(other.wait()[0][0], "t", "the takeover comes after the batch under way")
left = admin.run("SELECT (SELECT count(*) FROM postrider.attempt), (SELECT count(*) FROM postrider.job WHERE seq = %s)" % j[1][0])[0]
ok(left == ["4", "0"] or (left == ["3", "1"] and not in_time), "whose outcome is written, or nothing of it when it took too long", left)
until(lambda: admin.value("SELECT count(*) FROM pg_stat_activity WHERE pid = %d" % owner.pid) == "0", "the stale owner's backend is terminated")
ok(True, "and its connection, still holding the session's lock, is terminated")

# an owner that is stopped inside a transaction (between executing and Sync) keeps the fence: it gets a second, then it is ended
owner = Session(url=actor_url(), options="-c role=postrider_scheduler -c jit=off")
owner.run("PREPARE apply AS " + statement("scheduler", "apply_results"))
sid = owner.value("SELECT id FROM postrider.open_session('x')")
j = jobs(1)
owner.run("BEGIN")
owner.run(apply([(j[-1][0], j[-1][1], 0, 1, 1)]))
is_(other.run("SELECT postrider.end_session('%s')" % sid)[0][0], "t", "a stopped owner does not stop the takeover")
is_(owner.fails("COMMIT") != "", True, "its transaction is gone")
is_(admin.value("SELECT count(*) FROM postrider.job WHERE seq = %s AND try = 0" % j[-1][0]), "1", "nothing of it was written")

# a late write: a third connection claims to be the ended session
late = Session(url=actor_url(), options="-c role=postrider_scheduler -c jit=off")
late.run("PREPARE apply AS " + statement("scheduler", "apply_results"))
got = late.run(apply([(j[-1][0], j[-1][1], 0, 1, 1)]))
is_((len(applied(got)), got[0][0]), (0, "f"), "a write after the takeover is refused, and told that the session has ended")
is_(admin.value("SELECT count(*) FROM postrider.job WHERE seq = %s" % j[-1][0]), "1", "the job is still the new owner's")

# takeover while the stale owner's write starts: the real fence under the real lock
sid = late.value("SELECT id FROM postrider.open_session('z')")
admin.run("BEGIN; UPDATE postrider.session SET ended = now() WHERE id = '%s'" % sid)
late.send(apply([(j[-1][0], j[-1][1], 0, 1, 1)], sid))
watch = Session()
until(lambda: blocked(watch, late), "the stale write waits for the takeover")
admin.run("COMMIT")
is_(len(applied(late.wait())), 0, "a write that waited for the takeover writes nothing")
# Somebody changes or takes a job while the batch waits for its row (READ COMMITTED: the row is judged again as it was left).
# Three jobs, the one in the middle is changed. What the other does to it, and whether the outcome still counts:
owner.close()
owner = Session(url=actor_url(), options="-c role=postrider_scheduler -c enable_seqscan=off -c enable_hashjoin=off "
                "-c enable_mergejoin=off -c enable_bitmapscan=off -c plan_cache_mode=force_generic_plan -c jit=off")
owner.run("PREPARE apply AS " + statement("scheduler", "apply_results"))
sid = owner.value("SELECT id FROM postrider.open_session('v')")
RACES = [
    ("gets another salt", "UPDATE postrider.job SET salt = salt # 1 WHERE seq = %s", "COMMIT", False),
    ("gets another try", "UPDATE postrider.job SET try = try + 1 WHERE seq = %s", "COMMIT", False),
    ("goes", "DELETE FROM postrider.job WHERE seq = %s", "COMMIT", False),
    ("is dated", "UPDATE postrider.job SET due = now() WHERE seq = %s", "COMMIT", True),
    ("stays, the change being undone", "UPDATE postrider.job SET salt = salt # 1 WHERE seq = %s", "ROLLBACK", True),
]
for end, ending in ((1, "delivered"), (0, "tried again")):
    for what, change, then, counts in RACES:
        admin.run("DELETE FROM postrider.job; DELETE FROM postrider.attempt")
        three = jobs(3)
        middle = three[1][0]
        admin.run("BEGIN; " + change % middle)
        owner.send(apply([(seq, salt, 0, end, 1) for seq, salt in three], delay=[7000, 8000, 9000], new_salt=["NULL", "NULL", "77"]))
        until(lambda: blocked(watch, owner) or owner.done(), "the batch waits for the row")
        waited = not owner.done()
        admin.run(then)
        got = sorted(r[1] for r in applied(owner.wait()))
        wanted = [seq for seq, _ in three if counts or seq != middle]
        is_((waited, got), (True, wanted), "a job that %s while a batch with its being %s waits for it: the outcome %s, the others do"
            % (what, ending, "counts" if counts else "does not count"))
        is_(admin.value("SELECT count(*) FROM postrider.attempt"), str(len(wanted)), "with %d attempts on record" % len(wanted))
        if end == 1:
            left = admin.value("SELECT count(*) FROM postrider.job")
            is_(left, "1" if not counts and what != "goes" else "0", "and %s job left" % left)
        else:
            now = admin.run("SELECT j.seq, round(extract(epoch FROM j.due - a.at) * 1000), j.try, j.salt FROM postrider.job AS j "
                            "JOIN postrider.attempt AS a USING (outbox_id, endpoint) ORDER BY j.seq")
            tries = ["1", "1", "0"]
            salts = [three[0][1], three[1][1], "77"]
            is_(now, [[three[i][0], str(7000 + 1000 * i), tries[i], salts[i]] for i in range(3) if three[i][0] in wanted],
                "each with its own delay, try and salt")

# Two take the same job: one of them counts.
admin.run("DELETE FROM postrider.job; DELETE FROM postrider.attempt")
three = jobs(3)
other.run("PREPARE apply AS " + statement("scheduler", "apply_results"))
same = [(seq, salt, 0, 1, 1) for seq, salt in three]
other.run("BEGIN")
is_(len(applied(other.run(apply(same, other_sid)))), 3, "a batch that is not committed yet")
owner.send(apply(same))
until(lambda: blocked(watch, owner) or owner.done(), "the same batch of another waits")
other.run("COMMIT")
is_(len(applied(owner.wait())), 0, "the same outcomes sent by another meanwhile come to nothing")
is_(admin.value("SELECT count(*) FROM postrider.attempt"), "3", "and each is on record once")
for s in (admin, stale, fresh, other, late, watch, owner):
    s.close()
finish()
