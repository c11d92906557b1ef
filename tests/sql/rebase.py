# SPDX-License-Identifier: Apache-2.0
"""A dump restored into another cluster, whose transaction ids are far below the cursor: the relay stops, rebase hands over.

Without the guard: rows committed there are never handed over, without any error (docs/protocol.md, section 1).
"""
import os
import subprocess

from pg import DB, DIR, HOME, Session, finish, is_, ok, statement, url_of

old = Session()
old.run("SELECT t.merchant('m1')")
sysid = old.value("SELECT system_identifier FROM pg_control_system()")
ENQ = "SELECT postrider.enqueue_notification('m1', '%s', 'a.b', '{}', priority => 1);"


def relay(session):
    session.run("PREPARE move (smallint, bigint, int) AS " + statement("outbox-relay", "move_window"))
    session.run("PREPARE check_cluster AS " + statement("outbox-relay", "check_cluster"))


# Burn transaction ids, so that the old cluster's are above all of the new one's.
old.run("DO $$ BEGIN FOR i IN 1..30000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
relay(old)
for name in ("delivered", "dead", "waiting", "cancelled", "redriven"):
    old.run(ENQ % name)
notify = old.value("SELECT notify_id FROM postrider.outbox WHERE order_no = 'cancelled'")
old.run("EXECUTE move(1, %s, 500)" % sysid)
old.run("SELECT postrider.cancel_notification('%s', 'x')" % notify)
old.run("SELECT t.finish(j.seq, o.order_no = 'delivered', 2) FROM postrider.job j JOIN postrider.outbox o ON o.id = j.outbox_id WHERE o.order_no IN ('delivered', 'dead', 'redriven')")
old.run("SELECT postrider.dead_redrive('ann', 'x', '{\"order_no\": \"redriven\"}')")
session = old.value("SELECT id FROM postrider.open_session('old')")
old.run("SELECT count(*) FROM postrider.acquire_shards('%s')" % session)
for i in range(20):
    old.run(ENQ % ("unmoved.%d" % i))

# Another cluster: the roles by hand, then the dump.
support = os.path.join(HOME, "tests/support/pg.sh")
there = os.path.join(DIR, "pg-rebase")
url = subprocess.run([support, "start", there, "max_connections=30"], check=True, capture_output=True, text=True).stdout.strip()
try:
    dump = subprocess.run(["pg_dump", "-d", url_of(DB)], check=True, capture_output=True).stdout
    admin = Session("postgres", url)
    for role in old.run("SELECT rolname FROM pg_roles WHERE rolname LIKE 'postrider\\_%'"):
        admin.run("CREATE ROLE %s" % role[0])
    admin.run("CREATE DATABASE restored")
    subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-d", url_of("restored", url)], input=dump, check=True, stdout=subprocess.DEVNULL)
    new = Session("restored", url)
    relay(new)
    here = new.value("SELECT system_identifier FROM pg_control_system()")
    ok(here != sysid, "another cluster")
    good = new.run("EXECUTE check_cluster")[0]
    is_(good[1], "f", "the check stops the relay")
    ok("rebase" in good[2], "and says what to do", good)
    new.run("".join(ENQ % ("new.%d" % i) for i in range(100)))
    is_(new.run("EXECUTE move(1, %s, 500)" % here)[0][0::4], ["0", "f"], "the move itself refuses too")
    # What happens without the guard: the cursor's system identifier is forged.
    new.run("BEGIN; UPDATE postrider.tick SET sysid = %s" % here)
    is_(new.run("EXECUTE check_cluster")[0][1], "f", "a tick ahead of the database stops it, whatever its cluster")
    new.run("ROLLBACK")

    # A writer that is under way during rebase and touches the outbox only later, with a lower transaction id than rebase's.
    early = Session("restored", url)
    early.run("BEGIN; SELECT pg_current_xact_id()")
    is_(new.value("SELECT postrider.rebase()"), "121", "rebase hands over what has neither job nor end: 20 + 100, and the redrive under way")
    early.run(ENQ % "early" + "COMMIT")
    is_(new.run("EXECUTE check_cluster")[0][1], "t", "then the check is content")
    moved = []
    while True:
        row = new.run("EXECUTE move(1, %s, 50)" % here)[0]
        moved.append(int(row[0]))
        if row[3] == "f":
            break
    is_(sum(moved), 122, "they are moved, and the writer's row that was under way")
    is_(new.run("SELECT count(*), count(DISTINCT (outbox_id, endpoint)) FROM postrider.job"), [["123", "123"]], "each once, beside the job that waited")
    is_(new.value("SELECT count(*) FROM postrider.outbox o WHERE kind = 0 AND NOT EXISTS (SELECT FROM postrider.job j WHERE j.outbox_id = o.id) AND order_no NOT IN ('delivered', 'dead', 'cancelled')"),
        "0", "none is left out")
    is_(new.run("SELECT order_no, status FROM postrider.notification_status WHERE order_no IN ('delivered', 'dead', 'cancelled', 'waiting', 'redriven') ORDER BY 1"),
        [["cancelled", "cancelled"], ["dead", "dead"], ["delivered", "delivered"], ["redriven", "pending"], ["waiting", "pending"]], "what was done stays done")
    is_(new.value("SELECT count(*) FROM (SELECT seq FROM postrider.job GROUP BY 1 HAVING count(*) > 1) x"), "0", "no seq twice")
    # As time goes on, the copy's ids pass those of the old rows: they must not come up again.
    new.run("DO $$ BEGIN FOR i IN 1..35000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$", timeout=120)
    new.run(ENQ % "after")
    is_(new.run("EXECUTE move(1, %s, 500)" % here)[0][0], "1", "rows of the old cluster's higher ids are not moved again later")
    is_(new.run("SELECT (SELECT count(*) FROM postrider.session), (SELECT count(*) FROM postrider.shard WHERE session IS NOT NULL)"), [["0", "0"]], "the old cluster's sessions are gone, its shards free")
    is_(new.value("SELECT postrider.rebase()"), "0", "a second rebase hands over nothing")
    for s in (admin, new, early):
        s.close()
finally:
    subprocess.run([support, "stop", there, "immediate"], check=False, stdout=subprocess.DEVNULL)
old.close()
finish()
