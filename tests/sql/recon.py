# SPDX-License-Identifier: Apache-2.0
"""Reconciliation: files once and whole, every class of difference with its task, the pool, corrections, what people do, the schedule."""
import json

import pay
from pg import Session, finish, is_, ok, statement

s = Session()
pay.setup(s)
pay.channel(s, "c1")
pay.channel(s, "c2")
DAY = s.value("SELECT (now() AT TIME ZONE 'UTC')::date - 3")


def day(n):
    return s.value("SELECT date '%s' + %d" % (DAY, n))


def at(time, n=0):
    """A moment of that day."""
    return "%s %s+00" % (day(n), time)


def paid(order, amount=5800, when="12:00:00", n=0, on="c1", currency="CNY", reference=None):
    """A payment that succeeded then."""
    payment = pay.submit(s, order, on=on, amount=amount, currency=currency)
    said = pay.says(s, payment, "SUCCEEDED", reference=reference or "G" + order)
    is_first = pay.apply(s, payment, said)
    assert is_first.startswith("applied"), is_first
    backdate(payment, when, n)
    return payment


def backdate(payment, when, n=0):
    """It ended then: what no road leads to, so the guards are taken off for a moment."""
    s.run("BEGIN; ALTER TABLE postrider.payment DISABLE TRIGGER USER;"
          "UPDATE postrider.payment SET final_at = '%s', paid_at = '%s' WHERE id = %d;" % (at(when, n), at(when, n), payment) +
          "ALTER TABLE postrider.payment ENABLE ALWAYS TRIGGER payment_before, ENABLE ALWAYS TRIGGER payment_state, ENABLE ALWAYS TRIGGER payment_kept; COMMIT")


def open_payment(order, amount=5800, on="c1"):
    payment = pay.submit(s, order, on=on, amount=amount)
    pay.apply(s, payment, pay.says(s, payment, "PENDING", reference="G" + order))
    return payment


class File:
    """A statement under way, row by row."""

    def __init__(self, kind="csv", channel="c1", n=0, name="f.csv", correct=False):
        self.kind, self.channel, self.n, self.name, self.correct, self.rows, self.bad = kind, channel, n, name, correct, [], []

    def row(self, reference=None, request_no=None, amount=5800, kind="payment", state="SUCCEEDED", when="12:00:00", currency="CNY", refund_reference=None,
            refund_no=None):
        self.rows.append((len(self.rows) + 2, kind, state, reference, request_no, refund_reference, refund_no, amount, currency, at(when, self.n)))
        return self

    def of(self, payment, **more):
        """The row that agrees with a payment of ours."""
        number, reference, amount, currency = pay.row(s, payment, "request_no", "gateway_reference", "amount_minor", "currency")
        given = dict(reference=None if reference == "-" else reference, request_no=None if number == "-" else number, amount=int(amount), currency=currency)
        given.update(more)
        return self.row(**given)

    def begin(self):
        self.id = int(pay.call(s, "recon_begin", "me", self.channel, day(self.n), self.kind, self.name, "file", "true" if self.correct else "false"))
        return self.id

    def finish(self, **facts):
        for i, (line, *row) in enumerate(self.rows):
            s.run("INSERT INTO postrider.recon_item (file_id, n, line, kind, state, reference, request_no, refund_reference, refund_no, amount_minor, currency,"
                  " occurred_at, raw) VALUES (%d, %d, %d, %s)" % (self.id, i + 1, line, ", ".join(pay.quote(v) for v in [*row, "raw %d" % line])))
        for line, reason, raw in self.bad:
            s.run("INSERT INTO postrider.recon_bad_row (file_id, line, reason, raw) VALUES (%d, %d, %s, %s)" % (self.id, line, pay.quote(reason), pay.quote(raw)))
        said = {"sha256": "%064x" % abs(hash((tuple(self.rows), self.name))), "bytes": 100, "rows": len(self.rows) + len(self.bad), "records": len(self.rows),
                "bad": len(self.bad), "proof": "proved", "sums": []}
        said.update(facts)
        return s.run("SELECT state, reason FROM postrider.recon_finish(%d, %s)" % (self.id, pay.quote(said)))[0]

    def load(self, **facts):
        s.run("BEGIN")
        self.begin()
        got = self.finish(**facts)
        s.run("COMMIT")
        return got[0]

    def match(self, most=3):
        """Step by step; the state at the end."""
        for _ in range(1000):
            state = s.run("SELECT state FROM postrider.recon_match_step(%d, %d)" % (self.id, most))[0][0]
            if state != "imported":
                return state
        assert False, "it does not end"

    def run(self, **facts):
        self.load(**facts)
        return self.match()


def differences(where="true"):
    return [" ".join(r) for r in s.run("SELECT class, reason, status, coalesce(order_no, '-'), task_type, task_status FROM postrider.recon_differences WHERE %s ORDER BY difference_id"
                                       % where)]


def figures(file):
    return s.run("SELECT items, bad, matched, differences, waiting, ignored FROM postrider.recon_files WHERE file_id = %d" % file.id)[0]


# ---- a file comes in once, whole, and proved ----
a = File(name="a.csv").of(paid("a1")).of(paid("a2"))
is_(a.load(), "imported", "a file that is proved is imported")
is_(a.match(), "matched", "and matched")
is_(figures(a), ["2", "0", "2", "0", "0", "0"], "all of it agrees")
is_(s.fails("SELECT postrider.recon_begin('me', 'c1', '%s', 'csv', 'b.csv', 'file', false)" % DAY), "PR012", "the same day and kind again is refused")
is_(s.fails("SELECT postrider.recon_begin('me', 'nobody', '%s', 'csv', 'b.csv', 'file', false)" % DAY), "PR004", "a channel that is not known is refused")
is_(s.fails("SELECT postrider.recon_begin('me', 'c1', current_date + 1, 'csv', 'b.csv', 'file', false)"), "PR003", "a day that is not over is refused")
is_(s.fails("SELECT postrider.recon_begin('me', 'c1', '%s', 'other', 'b.csv', 'file', true)" % DAY), "PR003", "a correction of nothing is refused")
s.run("BEGIN")
again = File(kind="other", name="a.csv")
again.rows = a.rows
again.begin()
same = s.value("SELECT sha256 FROM postrider.recon_files WHERE file_id = %d" % a.id)
is_(s.fails("SELECT postrider.recon_finish(%d, '{\"sha256\": \"%s\", \"rows\": 2, \"records\": 0, \"bad\": 0}')" % (again.id, same)), "PR012", "the same bytes under another name are refused")
s.run("ROLLBACK")
s.run("BEGIN")
lost = File(kind="lost")
lost.begin()
is_(s.fails("SELECT postrider.recon_finish(%d, '{\"sha256\": \"x\", \"rows\": 2, \"records\": 2, \"bad\": 0}')" % lost.id), "PR003", "fewer rows than were read: nothing of it stays")
s.run("ROLLBACK")
is_(s.value("SELECT count(*) FROM postrider.recon_files"), "1", "of a file that was not finished nothing is left")

# ---- held: what cannot be trusted is not matched ----
for name, facts, why in (("totals", {"proof": "differs", "difference": "rows: 3 said, 2 read"}, "TOTALS_DIFFER: rows: 3 said, 2 read"),
                         ("other-day", {"first_us": "1000000", "last_us": "2000000"}, "OTHER_DAY"),
                         ("other-account", {"account": "somebody"}, "OTHER_ACCOUNT"),
                         ("bomb", {"error": "ratio: more than 200 times its size"}, "UNREADABLE: ratio")):
    held = File(channel="c2", name=name)
    if name != "bomb":
        held.of(paid("held-" + name, on="c2"))
    is_(held.load(**facts), "held", name + ": held for a person")
    ok(s.value("SELECT reason FROM postrider.recon_files WHERE file_id = %d" % held.id).startswith(why), name + ": the reason says so")
    is_((held.match(), figures(held)[2]), ("held", "0"), name + ": nothing of it is matched")
    if name == "totals":
        is_(s.fails("SELECT postrider.recon_file_release('me', %d, '')" % held.id), "PR003", "released only with a reason")
        pay.call(s, "recon_file_release", "me", held.id, "the channel said so by telephone")
        is_((held.match(), figures(held)[2]), ("matched", "1"), "a person who trusts it lets it go on")
        is_(s.fails("SELECT postrider.recon_file_close('me', %d, 'x')" % held.id), "PR006", "what was matched is not closed")
        s.run("UPDATE postrider.recon_file SET state = 'replaced' WHERE id = %d" % held.id)
    elif name == "bomb":
        is_(s.fails("SELECT postrider.recon_file_release('me', %d, 'x')" % held.id), "PR006", "an unreadable file cannot be released")
    if name != "totals":
        pay.call(s, "recon_file_close", "me", held.id, "not ours")
        is_(s.value("SELECT status FROM postrider.recon_files WHERE file_id = %d" % held.id), "closed", name + ": a person ends it")
ok(int(s.value("SELECT count FROM postrider.alert WHERE kind = 'statement_held' AND subject = 'c2'")) == 4, "each held file is an alert")

# ---- every class, with its task; they point at each other ----
gone = File(kind="classes")
agrees, unpaid, amount, wrong_currency, late = paid("agrees"), open_payment("unpaid"), paid("amount"), paid("currency"), pay.submit(s, "late")
pay.apply(s, late, pay.says(s, late, "FAILED"))
closed_there, twice, never, early = paid("closed"), paid("twice"), paid("never", when="12:00:00"), paid("near-midnight", when="23:30:00")
disagree = paid("disagree")
gone.of(agrees).of(unpaid).of(amount, amount=5801).of(wrong_currency, currency="EUR").of(late)
gone.of(closed_there, state="CANCELLED").of(twice).of(twice).of(disagree, request_no="somebody-elses")
gone.row(reference="nobody", request_no="unknown").row(reference="fell", request_no="fell", state="FAILED").row(kind="fee", reference="fee").row(kind="other")
gone.bad = [(99, "amount", "a;b;c"), (100, "columns", "x")]
is_(gone.run(), "matched", "a file with one of each is matched")
is_(sorted(differences("file_id = %d" % gone.id)), sorted([
    "unpaid_here PAID_AT_CHANNEL open unpaid state_repair WAITING",
    "amount AMOUNT_MISMATCH open amount difference_review MANUAL",
    "amount AMOUNT_MISMATCH open currency difference_review MANUAL",
    "state STATE_MISMATCH open late state_verification WAITING",
    "state STATE_MISMATCH open closed state_verification WAITING",
    "duplicate DUPLICATE_ROW open twice difference_review MANUAL",
    "missing_here NUMBERS_DISAGREE open disagree difference_review MANUAL",
    "missing_here NOT_HERE open - difference_review MANUAL",
    "missing_there NOT_IN_STATEMENT open never state_verification WAITING"]), "each difference is found, with its task; none is invented")
is_(figures(gone), ["13", "2", "2", "9", "1", "1"], "the figures: two agree, one waits near midnight, one moved no money")
is_(s.value("SELECT count(*) FROM postrider.recon_difference AS d JOIN postrider.task AS t ON t.id = d.task_id AND t.difference_id = d.id AND t.source = 'difference'"
            " WHERE d.file_id = %d" % gone.id), "9", "a difference and its task point at each other")
is_(s.run("SELECT side, payment_id FROM postrider.recon_pool"), [["ours", str(early)]], "what was paid near midnight waits for the next day's statement")
is_(s.run("SELECT line, reason, raw FROM postrider.recon_quarantine_list(%d, true, NULL, 10) ORDER BY line" % gone.id), [["99", "amount", "a;b;c"], ["100", "columns", "x"]],
    "bad rows are quarantined with number, reason and text")
row_id = int(s.value("SELECT min(row_id) FROM postrider.recon_quarantine"))
is_(s.fails("SELECT postrider.recon_row_close('me', %d, '')" % row_id), "PR003", "a quarantined row is ended with a reason")
is_((pay.call(s, "recon_row_close", "me", row_id, "the bank corrected it"), pay.call(s, "recon_row_close", "me", row_id, "again")), ("t", "f"), "once")
is_(s.value("SELECT count(*) FROM postrider.recon_quarantine_list(%d, true, NULL, 10)" % gone.id), "1", "and is no longer open")
before = s.run("SELECT difference_id, class, task_no FROM postrider.recon_differences ORDER BY 1")
again = File(kind="classes", name="again", correct=True)
again.rows, again.bad = gone.rows, gone.bad
is_(again.run(), "matched", "the same said again by a correction")
is_(s.run("SELECT difference_id, class, task_no FROM postrider.recon_differences ORDER BY 1"), before, "finds nothing new")
is_(figures(again)[2:4], ["2", "0"], "and matches the same")

# ---- the pool: the next day's statement has it, or it is a difference ----
tomorrow = File(kind="classes", n=1).of(early, when="00:10:00")
later = paid("after-midnight", when="23:00:00", n=1)
is_(tomorrow.run(), "matched", "the next day's statement")
is_(s.run("SELECT side, payment_id FROM postrider.recon_pool"), [["ours", str(later)]], "has what waited; another one waits now")
is_(differences("file_id = %d" % tomorrow.id), [], "no difference")
empty = File(kind="classes", n=2)
is_(empty.run(), "matched", "a day without a row is a statement, too")
is_(differences("order_no = 'after-midnight'"), ["missing_there NOT_IN_STATEMENT open after-midnight state_verification WAITING"], "what it should have had is a difference")
is_(s.value("SELECT count(*) FROM postrider.recon_pool"), "0", "and the pool is empty")


# ---- tasks: asked again and explained, repaired, or a person's; a person's word ends a difference ----
def task_of(order):
    return s.run("SELECT t.id, t.task_no FROM postrider.recon_difference AS d JOIN postrider.task AS t ON t.id = d.task_id WHERE d.order_no = '%s' ORDER BY d.id DESC LIMIT 1" % order)[0]


def ends(order, code):
    """Its task is done with this code, as a compensator would end it."""
    task = task_of(order)[0]
    s.run("UPDATE postrider.task SET state = 'PROCESSING', moved_by = 'test' WHERE id = %s AND state = 'WAITING'" % task)
    s.run("UPDATE postrider.task SET state = 'SUCCESS', last_error_code = '%s', moved_by = 'test' WHERE id = %s" % (code, task))


def state_of(order):
    return [" ".join(r) for r in s.run("SELECT d.status, coalesce(d.conclusion, '-'), d.task_type, d.task_status FROM postrider.recon_differences AS d WHERE d.order_no = '%s' ORDER BY difference_id" % order)]


is_(s.value("SELECT coalesce(postrider.recon_verdict(%s), 'explained')" % task_of("unpaid")[0]), "unpaid_here: PAID_AT_CHANNEL", "a task asks what still differs")
pay.apply(s, unpaid, pay.says(s, unpaid, "SUCCEEDED"))
is_(s.value("SELECT coalesce(postrider.recon_verdict(%s), 'explained')" % task_of("unpaid")[0]), "explained", "and hears when nothing does")
ends("unpaid", "REPAIRED")
is_(state_of("unpaid"), ["repaired REPAIRED state_repair SUCCESS"], "a state repair that ends well repairs its difference")
ends("closed", "EXPLAINED")
is_(state_of("closed"), ["open - difference_review MANUAL"], "a success that explains nothing leaves it to a person")
is_(s.value("SELECT count(*) FROM postrider.task AS t WHERE t.id = %s AND t.difference_id = (SELECT id FROM postrider.recon_difference WHERE order_no = 'closed')"
            " AND t.follows IS NOT NULL" % task_of("closed")[0]), "1", "whose task points at it, and at the one before")
pay.apply(s, late, pay.says(s, late, "SUCCEEDED"))
ends("late", "EXPLAINED")
is_(state_of("late"), ["explained EXPLAINED state_verification SUCCESS"], "money after the end has its own task: explained")
pay.call(s, "task_close", "me", task_of("twice")[1], "the bank took the second one back")
is_(state_of("twice"), ["closed the bank took the second one back difference_review CLOSED"], "a person's conclusion closes the difference")
again = task_of("amount")[1]
s.run("BEGIN; SELECT postrider.task_close('me', '%s', 'once more')" % again)
fresh = s.value("SELECT postrider.task_open('difference_review', (SELECT biz_id FROM postrider.task WHERE task_no = '%s'), 'MANUAL', 'person', NULL, NULL, NULL, NULL, 'again', '{}')" % again)
s.run("UPDATE postrider.task SET follows = '%s' WHERE task_no = '%s'; COMMIT" % (again, fresh))
is_((state_of("amount"), task_of("amount")[1] != again), (["open - difference_review MANUAL"], True), "a task that is run again takes its difference with it")
absent = paid("absent", when="09:00:00", n=2)
lonely = paid("lonely", when="09:00:00", n=2)
pay.channel(s, "c3")
is_(s.value("SELECT count(*) FROM postrider.recon_differences WHERE order_no IN ('absent', 'lonely')"), "0", "nothing was looked at since")
File(kind="second", n=2).of(lonely).run()
is_(state_of("absent"), ["open - state_verification WAITING"], "what one more statement of that day does not have is missing there")
File(kind="third", n=2).of(absent).run()
is_(state_of("absent"), ["explained a later statement has it state_verification SUCCESS"], "until a later one has it: explained, and its task ends with it")

# ---- more differences than can be true ----
pay.call(s, "recon_set", "me", "c3", {"max_differences": 3}, None)
flood = File(channel="c3", kind="flood")
for i in range(5):
    flood.row(reference="flood%d" % i)
is_(flood.run(), "held", "more differences than can be true: held")
is_((figures(flood)[3], differences("channel = 'c3'") == []), ("3", False), "those before the limit stand")
pay.call(s, "recon_file_release", "me", flood.id, "they are all true")
is_((flood.match(), figures(flood)[3]), ("matched", "5"), "a person may say that they are true")

# ---- goods that are not out ----
s.run("UPDATE postrider.fulfilment_rule SET since = '2000-01-01'")
goods, soon, out = paid("goods"), paid("soon"), paid("out")
is_(s.run("SELECT opened FROM postrider.recon_deliveries(1000)"), [["0"]], "a merchant without a rule reports no deliveries")
s.run("SELECT postrider.fulfilment_set('me', 'm1', '1 day'); UPDATE postrider.fulfilment_rule SET since = (SELECT min(final_at) FROM postrider.payment WHERE id IN (%d, %d, %d)) "
      % (goods, soon, out))
backdate(soon, s.value("SELECT to_char((now() - interval '1 hour') AT TIME ZONE 'UTC', 'HH24:MI:SS')"), 3)
s.run("SELECT postrider.report_fulfilment('m1', 'out', 'delivered')")
s.run("UPDATE postrider.setting SET value = '' WHERE key = 'recon.delivered_through'")
s.run("SELECT postrider.recon_deliveries(1000)")
is_(state_of("goods")[-1:], ["open - delivery WAITING"], "paid and not delivered within its grace: a delivery task")
is_([o for o in ("soon", "out") if any("delivery" in line for line in state_of(o))], [], "what is out, or not late yet, is none")
is_(s.run("SELECT opened FROM postrider.recon_deliveries(1000)"), [["0"]], "looked at again: nothing new")
s.run("SELECT postrider.report_fulfilment('m1', 'goods', 'delivered')")
is_(state_of("goods")[-1:], ["repaired DELIVERED delivery SUCCESS"], "delivered later: repaired")

# ---- the schedule: T+1 by the clock at the channel ----
s.run("SET timezone = 'UTC'")
for zone, ready, date, due, why in (
        ("UTC", "10:00", "2026-03-01", "2026-03-02 10:00:00+00", "ten in the morning of the next day"),
        ("Asia/Shanghai", "10:00", "2026-03-01", "2026-03-02 02:00:00+00", "ten in Shanghai"),
        ("America/New_York", "10:00", "2026-03-07", "2026-03-08 14:00:00+00", "ten on the morning when clocks went forward"),
        ("America/New_York", "10:00", "2026-03-06", "2026-03-07 15:00:00+00", "and on the one before"),
        ("Europe/Berlin", "02:30", "2026-03-28", "2026-03-29 01:30:00+00", "a time that does not exist that night: when the clock would show it"),
        ("Europe/Berlin", "02:30", "2026-10-24", "2026-10-25 01:30:00+00", "a time that comes twice: the later one"),
        ("Europe/Berlin", "1 day 10:00", "2026-10-24", "2026-10-26 09:00:00+00", "the day after next"),
        ("Pacific/Kiritimati", "10:00", "2026-01-01", "2026-01-01 20:00:00+00", "where the day begins first")):
    is_(s.value("SELECT postrider.recon_due_at('%s', '%s', '%s')" % (zone, ready, date)), due, "due: " + why)
for zone, date, hours in (("Europe/Berlin", "2026-03-29", 23), ("Europe/Berlin", "2026-10-25", 25), ("Asia/Shanghai", "2026-10-25", 24), ("America/New_York", "2026-03-08", 23)):
    is_(s.value("SELECT extract(epoch FROM to_at - from_at)::int / 3600 FROM postrider.recon_day('%s', '%s')" % (zone, date)), str(hours), "%s in %s has %d hours" % (date, zone, hours))
for zone, ready, moment, last, why in (
        ("UTC", "10:00", "2026-03-02 09:59:59+00", "2026-02-28", "a second before ten"), ("UTC", "10:00", "2026-03-02 10:00:00+00", "2026-03-01", "at ten"),
        ("Asia/Shanghai", "10:00", "2026-03-02 02:00:00+00", "2026-03-01", "at ten in Shanghai"), ("America/New_York", "10:00", "2026-03-08 13:59:00+00", "2026-03-06", "before ten in summer time"),
        ("America/New_York", "10:00", "2026-03-08 14:00:00+00", "2026-03-07", "at ten in summer time"), ("UTC", "2 days", "2026-03-05 00:00:00+00", "2026-03-02", "two days later")):
    is_(s.value("SELECT postrider.recon_last_day('%s', '%s', '%s')" % (zone, ready, moment)), last, "the last day that is due " + why)
pay.channel(s, "t1")
is_(s.fails("SELECT postrider.recon_set('me', 't1', '{\"zone\": \"Mars/Olympus\"}')"), "PR003", "no such time zone")
is_(s.fails("SELECT postrider.recon_set('me', 't1', '{\"source\": \"pigeon\"}')"), "PR003", "no such source")
pay.call(s, "recon_set", "me", "t1", {"source": "directory", "zone": "Asia/Shanghai", "ready": "0", "late": "0", "starts": day(0)}, None)
due = s.run("SELECT statement_date, tries, late FROM postrider.recon_due('me', 100) WHERE channel = 't1' ORDER BY 1")
ok(len(due) >= 2 and due[0] == [day(0), "1", "t"], "the days since it starts are due, late ones with an alert", due)
is_(s.value("SELECT count(*) FROM postrider.alert WHERE kind = 'statement_late' AND subject = 't1' AND resolved_at IS NULL"), "1", "one alert for the channel")
is_(s.run("SELECT * FROM postrider.recon_due('you', 100) WHERE channel = 't1'"), [], "taken by one is not due for another")
s.run("SELECT postrider.recon_missed('t1', '%s', 'no file')" % day(0))
is_(s.run("SELECT tries, last_error, next_at - last_at > interval '9 min' FROM postrider.recon_runs WHERE channel = 't1' AND statement_date = '%s'" % day(0)), [["1", "no file", "t"]],
    "what has not come is tried again after a while, with the reason")
is_([s.value("SELECT postrider.recon_again(%d)" % n) for n in (1, 2, 3, 7, 31)], ["00:10:00", "00:30:00", "01:00:00", "02:00:00", "12:00:00"], "less and less often")
for i in range(len(due)):
    File(channel="t1", n=i).run()
is_(s.run("SELECT count(*) FILTER (WHERE done_at IS NULL), count(*) FILTER (WHERE done_at IS NOT NULL) FROM postrider.recon_runs WHERE channel = 't1'"), [["0", str(len(due))]], "days that came are done")
is_(s.value("SELECT count(*) FROM postrider.alert WHERE kind = 'statement_late' AND subject = 't1' AND resolved_at IS NULL"), "0", "and the alert is over")

# ---- what is kept ----
s.run("ALTER TABLE postrider.recon_file DISABLE TRIGGER USER; UPDATE postrider.recon_file SET updated_at = now() - interval '2 years' WHERE id = %d; ALTER TABLE postrider.recon_file ENABLE TRIGGER USER" % a.id)
is_(s.run("SELECT postrider.recon_purge('1 year', 100), (SELECT count(*) FROM postrider.recon_item WHERE file_id = %d)" % a.id)[0][0], "2", "rows of old statements go")
is_(s.value("SELECT status FROM postrider.recon_files WHERE file_id = %d" % a.id), "matched", "the file stays")
is_((s.fails("DELETE FROM postrider.recon_difference"), s.fails("UPDATE postrider.recon_difference SET state = 'open' WHERE state = 'closed'"),
     s.fails("UPDATE postrider.recon_file SET state = 'imported' WHERE state = 'matched'")), ("PR006", "PR006", "PR006"), "differences are not deleted, and nothing moves as it must not")
for object, states in (("difference", ["open", "explained", "repaired", "closed"]), ("recon_file", ["imported", "held", "matched", "replaced", "closed"])):
    table = "recon_difference" if object == "difference" else "recon_file"
    allowed = {tuple(r) for r in s.run("SELECT from_state, to_state FROM postrider.transition WHERE object = '%s' AND from_state <> ''" % object)}
    one = s.value("SELECT id FROM postrider.%s ORDER BY id LIMIT 1" % table)
    wrong = []
    for x in states:
        for y in states:
            if x != y:
                s.run("BEGIN; ALTER TABLE postrider.%s DISABLE TRIGGER USER; UPDATE postrider.%s SET state = '%s' WHERE id = %s; ALTER TABLE postrider.%s ENABLE TRIGGER USER" % (table, table, x, one, table))
                if (s.fails("UPDATE postrider.%s SET state = '%s' WHERE id = %s" % (table, y, one)) == "") != ((x, y) in allowed):
                    wrong.append((x, y))
                s.run("ROLLBACK")
    is_(wrong, [], object + ": every pair of states, by hand-written SQL")

finish()
