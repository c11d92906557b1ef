# SPDX-License-Identifier: Apache-2.0
"""scheduler/page_due: what it leaves out, it says: each dated job of a pair is in the page, or the row after it tells when the next
one is due, or the page is full. So no job falls between two looks, whatever its due time."""
from pg import Session, actor_url, finish, is_, statement

HORIZON_MS = 120000
admin = Session()
admin.run("SELECT t.merchant('m1')")
sysid = admin.value("SELECT system_identifier FROM pg_control_system()")
endpoint = admin.value("SELECT id FROM postrider.endpoint WHERE merchant_id = 'm1'")
admin.run("PREPARE move (smallint, bigint, int) AS " + statement("outbox-relay", "move_window"))
admin.run("SELECT count(postrider.enqueue_notification('m1', 'o' || n, 'a.b', '{}', priority => 1)) FROM generate_series(1, 400) n")
admin.run("EXECUTE move(1, %s, 500)" % sysid)
# due each 0.5 s of the next 200 s: some are due while the statement runs
admin.run("UPDATE postrider.job SET due = now() + (seq & 511) * interval '500 ms'")
owner = Session(url=actor_url(), options="-c role=postrider_scheduler")
owner.run("PREPARE page AS " + statement("scheduler", "page_due"))


def page(most):
    rows = owner.run("EXECUTE page (ARRAY[%s]::bigint[], ARRAY[1]::smallint[], %d, ARRAY[%d])" % (endpoint, HORIZON_MS, most))
    return [r for r in rows if r[2] == "t"], [int(r[9]) for r in rows if r[2] == "f"]


for look in range(5):
    mine, after = page(1000)
    last = int(mine[-1][9])
    is_(len(after), 1, "look %d: the next due time is told" % look)
    is_((after[0] - last + 250) // 500, 1, "look %d: it is the next of all, %d ms after the page's last" % (look, after[0] - last))
    is_(last <= HORIZON_MS < after[0] + 100, True, "look %d: the horizon lies between them" % look)

mine, after = page(10)
is_((len(mine), len(after)), (10, 1), "a full page is full, and says what lies beyond the horizon all the same")
is_([int(r[0]) for r in mine], sorted(int(r[0]) for r in mine), "by due time")
admin.run("DELETE FROM postrider.job WHERE due > now() + interval '60 s'")
mine, after = page(1000)
is_(after, [], "nothing beyond the horizon: no row says so")
finish()
