# SPDX-License-Identifier: Apache-2.0
"""Sessions over several connections: who is dead, takeover, resuming, two schedulers that share. fence.py has the writes."""
import os
import signal
import time

from pg import Session, actor_url, finish, is_, ok, until

ROLE = "-c role=postrider_scheduler"
admin, a, b = Session(), Session(url=actor_url(), options=ROLE), Session(url=actor_url(), options=ROLE)
one = a.value("SELECT id FROM postrider.open_session('ipc:///a')")
is_(a.value("SELECT count(*) FROM postrider.acquire_shards('%s')" % one), "256", "the first takes all")
two = b.value("SELECT id FROM postrider.open_session('ipc:///b')")
is_(b.value("SELECT count(*) FROM postrider.end_dead_sessions('%s')" % two), "0", "a living session is left alone")

# both ask for free shards at the same time: none twice, none waits
a.run("SELECT postrider.release_shards('%s', ARRAY(SELECT n::smallint FROM generate_series(0, 255) n), '{0,72057594037927936,144115188075855872}')" % one)
a.run("BEGIN")
got_a = int(a.value("SELECT count(*) FROM postrider.acquire_shards('%s')" % one))
b.send("SELECT count(*) FROM postrider.acquire_shards('%s')" % two)
ok(b.done(20), "the second does not wait for the first")
got_b = int(b.wait()[0][0])
a.run("COMMIT")
is_((got_a, got_b), (128, 128), "each its half")
is_(admin.value("SELECT count(*) FROM postrider.shard WHERE session IS NULL"), "0", "all are owned")

# a beat does not wait behind a batch that holds the fence, nor behind the takeover of another
a.run("BEGIN; SELECT id FROM postrider.session WHERE id = '%s' FOR SHARE" % one)
b.send("SELECT alive FROM postrider.heartbeat('%s', 1, '{0,0,0}')" % two)
ok(b.done(20), "beats do not wait behind batches")
b.wait()
a.run("COMMIT")

# kill -9 of a scheduler: its connection closes, its lock is free
begin = time.monotonic()
os.kill(a.psql.pid, signal.SIGKILL)
until(lambda: b.value("SELECT count(*) FROM postrider.end_dead_sessions('%s')" % two) == "1", "the dead session is noticed")
ok(True, "a killed scheduler is noticed (%.0f ms)" % ((time.monotonic() - begin) * 1000))
is_(b.value("SELECT count(*) FROM postrider.acquire_shards('%s')" % two), "128", "and its shards are taken over")
is_(admin.value("SELECT count(*) FROM postrider.session WHERE ended IS NULL"), "1", "one session lives")

# a connection that broke, and the same scheduler again on another: it goes on with its session
c = Session(url=actor_url(), options=ROLE)
is_(c.run("SELECT alive, locked FROM postrider.resume_session('%s')" % two), [["t", "f"]], "the former backend still holds the lock: it is told to end")
until(lambda: c.run("SELECT alive, locked FROM postrider.resume_session('%s')" % two) == [["t", "t"]], "resumed")
is_(admin.value("SELECT pid FROM postrider.session WHERE id = '%s'" % two), str(c.pid), "the session is the new backend's")
d = Session(url=actor_url(), options=ROLE)
three = d.value("SELECT id FROM postrider.open_session('ipc:///c')")
is_(d.value("SELECT count(*) FROM postrider.end_dead_sessions('%s')" % three), "0", "nobody takes it for dead")
is_(c.value("SELECT owned FROM postrider.heartbeat('%s', 2, '{0,0,0}')" % two), "256", "with all it owned")

# a silent one is ended by who watched its counter; its backend is terminated, its next word is refused
is_(d.value("SELECT postrider.end_session('%s')" % two), "t", "a silent session is ended")
until(lambda: admin.value("SELECT count(*) FROM pg_stat_activity WHERE pid = %d" % c.pid) == "0", "its backend is gone")
ok(True, "its backend is terminated")
is_(d.run("SELECT alive, locked FROM postrider.resume_session('%s')" % two), [["f", "f"]], "an ended session is not resumed")

# a session row whose pid belongs to somebody else by now (or came from another cluster): nobody innocent is terminated
admin.run("INSERT INTO postrider.session (id, lock_key, pid) VALUES (gen_random_uuid(), 42, %d)" % admin.pid)
is_(d.value("SELECT count(*) FROM postrider.end_dead_sessions('%s')" % three), "1", "a session without its lock is ended")
is_(admin.value("SELECT 1"), "1", "the backend that happens to have its pid lives")
for s in (admin, d):
    s.close()
finish()
