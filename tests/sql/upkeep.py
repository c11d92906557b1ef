# SPDX-License-Identifier: Apache-2.0
"""Retention and partitions beside traffic: a DROP never stops an enqueue for long, and never takes what is under way."""
import time

from pg import PgError, Session, actor_url, blocked, finish, is_, ok, until

admin, writer, keeper, reader = Session(), Session(), Session(url=actor_url(), options="-c role=postrider_dead_letter"), Session()
admin.run("SELECT t.merchant('m1')")
admin.run("""
    CREATE TABLE postrider.outbox_old PARTITION OF postrider.outbox FOR VALUES FROM ('2020-01-01') TO ('2020-02-01');
    ALTER TABLE postrider.outbox_old OWNER TO postrider_owner;
    INSERT INTO postrider.partition VALUES ('outbox', 'outbox_old', '2020-01-01', '2020-02-01')""")
ENQUEUE = "SELECT postrider.enqueue_notification('m1', 'o', 'a.b', '{}')"
STEP = "SELECT dropped FROM postrider.retention_step('30 days')"

# a reader of the old partition bars the DROP; a writer comes while the DROP waits
reader.run("BEGIN; SELECT count(*) FROM postrider.outbox_old")
keeper.send(STEP)
begin = time.monotonic()
worst = 0.0
while not keeper.done():
    one = time.monotonic()
    writer.run(ENQUEUE)
    worst = max(worst, time.monotonic() - one)
try:
    keeper.wait()
    ok(False, "the DROP gives up while somebody reads the partition")
except PgError as error:
    is_(error.sqlstate, "55P03", "the DROP gives up while somebody reads the partition")
ok(worst < 30.0, "an enqueue waits for its lock_timeout of 100 ms, not for the reader (worst %.0f ms)" % (worst * 1000), worst)
is_(writer.fails(ENQUEUE), "", "enqueues go on")
reader.run("COMMIT")

# an open transaction that has written into it (a prepared one, say) bars it too: its rows are not lost
writer.run("BEGIN")
writer.run("INSERT INTO postrider.outbox (at, class, merchant_id, order_no, event, status, version, notify_id, body) "
           "VALUES ('2020-01-05', 1, 'm1', 'late', 'a.b', 'b', 1, gen_random_uuid(), 'x')")
is_(keeper.fails(STEP), "55P03", "a transaction under way with a row in it bars the DROP")
writer.run("COMMIT")
is_(keeper.run(STEP), [], "committed but not handed over: it stays")
is_(admin.value("SELECT count(*) FROM postrider.outbox_old"), "1", "the row is there")
admin.run("DELETE FROM postrider.outbox_old")
is_(keeper.run(STEP), [["outbox_old"]], "nothing needs it: it goes")

# two keepers at once: one makes the partitions, the other finds them made
second = Session(url=actor_url(), options="-c role=postrider_dead_letter")
keeper.run("BEGIN")
made = len(keeper.run("SELECT * FROM postrider.ensure_partitions(3, '30 days')"))
second.send("SELECT count(*) FROM postrider.ensure_partitions(3, '30 days')")
until(lambda: second.done() or blocked(admin, second), "the second keeper waits")
keeper.run("COMMIT")
try:
    got = second.wait()[0][0]
except PgError as error:  # its lock_timeout of 100 ms was over before the first committed
    got = {"55P03": "0"}.get(error.sqlstate, error.sqlstate)
is_((made, got), (4, "0"), "two keepers make each partition once")
is_(admin.value("SELECT count(*) FROM pg_inherits WHERE inhparent = 'postrider.outbox'::regclass"), "5", "four dated ones and the default one")

# rows in the default partition do not stop new ones: the next begins after the time that is running
admin.run("DELETE FROM postrider.partition WHERE parent = 'outbox'")
for name in admin.run("SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'postrider.outbox'::regclass AND inhrelid::regclass::text !~ 'default'"):
    admin.run("DROP TABLE " + name[0])
writer.run(ENQUEUE)
is_(admin.value("SELECT count(*) FROM postrider.outbox_default"), "1", "without partitions rows go to the default one")
names = [r[0] for r in keeper.run("SELECT * FROM postrider.ensure_partitions(1, '30 days')")]
ok(len(names) >= 1, "partitions are made again all the same", names)
is_(admin.value("SELECT count(*) FROM postrider.partition WHERE parent = 'outbox' AND lo <= now()"), "0", "none over the time of the rows in the default one")
is_(writer.fails(ENQUEUE), "", "and rows find their place")
for s in (admin, writer, keeper, reader, second):
    s.close()
finish()
