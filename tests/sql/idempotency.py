# SPDX-License-Identifier: Apache-2.0
"""Two transactions with one idempotency key, at every isolation level: contracts.md."""
from pg import Session, blocked, finish, is_, ok, until

admin, a, b = Session(), Session(), Session()
admin.run("SELECT t.merchant('m1'), t.merchant('m2')")


def call(key, payload='{"x": 1}', merchant="m1"):
    return "SELECT postrider.enqueue_notification('%s', 'o', 'a.b', '%s', idempotency_key => '%s')" % (merchant, payload, key)


def outcome(session):
    try:
        return session.wait()[0][0]
    except Exception as error:
        session.run("ROLLBACK")
        return error.sqlstate


def begin(key, level, payload='{"x": 1}'):
    """a has enqueued with the key and is open; b has taken its snapshot and asks for the same key, waiting."""
    for s in (a, b):
        s.run("BEGIN ISOLATION LEVEL %s; SELECT count(*) FROM postrider.merchant" % level)
    mine = a.run(call(key))[0][0]
    b.send(call(key, payload))
    until(lambda: b.done() or blocked(admin, b), "the second waits for the first")
    ok(not b.done(), "%s: the second with the key waits for the first" % level)
    return mine


for level in ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
    key = level[:4]
    mine = begin(key + "1", level)
    a.run("COMMIT")
    theirs = outcome(b)
    if level == "READ COMMITTED":
        is_(theirs, mine, level + ": then it gets the same id")
        b.run("COMMIT")
    else:
        is_(theirs, "40001", level + ": then it is told to retry")
        is_(b.run(call(key + "1"))[0][0], mine, level + ": and the retry gets the same id")
    mine = begin(key + "2", level, '{"x": 2}')
    a.run("COMMIT")
    theirs = outcome(b)
    is_(theirs, "PR002" if level == "READ COMMITTED" else "40001", level + ": other arguments")
    if level == "READ COMMITTED":
        pass
    else:
        is_(b.fails(call(key + "2", '{"x": 2}')), "PR002", level + ": refused at the retry")
    mine = begin(key + "3", level)
    a.run("ROLLBACK")
    theirs = outcome(b)
    ok(len(theirs) == 36 and theirs != mine, level + ": the first rolls back: the second makes the row", theirs)
    b.run("COMMIT")
    is_(admin.value("SELECT count(*) FROM postrider.outbox WHERE notify_id = '%s'" % theirs), "1", level + ": one row")

is_(admin.value("SELECT count(*) FROM postrider.idempotency i WHERE NOT EXISTS (SELECT FROM postrider.outbox o WHERE o.notify_id = i.notify_id)"),
    "0", "no key without its row")
is_(admin.value("SELECT count(*) FROM postrider.idempotency"), admin.value("SELECT count(*) FROM postrider.outbox"), "no row without its key")

# the key in one transaction, and across a savepoint
a.run("BEGIN")
first = a.run(call("s"))[0][0]
is_(a.run(call("s"))[0][0], first, "twice in one transaction")
a.run("SAVEPOINT x")
second = a.run(call("s2"))[0][0]
a.run("ROLLBACK TO x")
ok(a.run(call("s2"))[0][0] != second, "a key of a rolled back savepoint is free again")
a.run("COMMIT")

# other merchants and other keys do not wait
a.run("BEGIN; " + call("k"))
b.send(call("k", merchant="m2"))
ok(b.done(20) and b.wait() != [], "another merchant with the key does not wait")
b.send(call("k9"))
ok(b.done(20) and b.wait() != [], "another key does not wait")
a.run("COMMIT")

# with every actor stopped and an endpoint switched off the payment commits (N3); read only is the caller's own business
admin.run("SELECT postrider.endpoint_disable('ann', id, '410') FROM postrider.endpoint")
is_(a.fails(call("n3")), "", "the state of endpoints never fails a payment")
a.run("BEGIN READ ONLY")
is_(a.fails(call("ro")), "25006", "a read only transaction cannot enqueue")
a.run("ROLLBACK")
for s in (admin, a, b):
    s.close()
finish()
