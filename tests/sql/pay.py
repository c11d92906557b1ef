# SPDX-License-Identifier: Apache-2.0
"""Payments for tests of tests/sql: channels, births, evidence, and a scheduler of gateway calls driven by hand."""
import json

MERCHANT = "m1"
SANDBOX = {"profile": "sandbox", "base_url": "http://127.0.0.1:9", "account": "acc", "match": ["account", "number", "amount", "currency"],
           "failure_final": True, "unit": "minor", "not_found": "yet", "not_found_grace_ms": 0, "settle_ms": 0, "polls": "list:1m,5m", "max_polls": 30,
           "operations": ["charge", "query", "close", "refund", "query_refund"]}


def quote(value):
    if value is None:
        return "NULL"
    if isinstance(value, (dict, list)):
        value = json.dumps(value)
    return str(value) if isinstance(value, int) else "'%s'" % str(value).replace("'", "''")


def setup(session):
    session.run("SELECT t.merchant('%s')" % MERCHANT)


def channel(session, name, **settings):
    session.run("SELECT postrider.channel_add('me', %s, %s)" % (quote(name), quote(dict(SANDBOX, **settings))))
    return name


def call(session, function, *arguments):
    got = session.run("SELECT postrider.%s(%s)" % (function, ", ".join(quote(a) for a in arguments)))
    return got[0][0] if got else None       # void is an empty line


def submit(session, order, on="c1", amount=5800, currency="CNY", request=None, **options):
    return int(call(session, "submit_payment", MERCHANT, order, on, amount, currency, request or {}, options))


def track(session, order, reference, on="c1", amount=5800, currency="CNY", expires=None, **options):
    return int(call(session, "track_payment", MERCHANT, order, on, reference, amount, currency, expires, options))


def row(session, payment, *columns):
    got = session.run("SELECT concat_ws('|', %s) FROM postrider.payment WHERE id = %d" % (
        ", ".join("coalesce(%s::text, '-')" % c for c in columns), payment))
    return got[0][0].split("|") if len(columns) > 1 else got[0][0]


def says(session, payment, status, **more):
    """Evidence that agrees with the payment in all that it names."""
    number, reference, amount, currency = row(session, payment, "request_no", "gateway_reference", "amount_minor", "currency")
    said = {"object": "payment", "status": status, "final": True, "account": "acc", "currency": currency, "amount": int(amount)}
    if number != "-":
        said["request_no"] = number
    elif reference != "-":
        said["reference"] = reference
    said.update(more)
    return {k: v for k, v in said.items() if v is not None}


def refund_says(session, refund, status, **more):
    number, amount, request_no, currency = session.run(
        "SELECT r.gateway_no, r.amount_minor, p.request_no, p.currency FROM postrider.refund AS r JOIN postrider.payment AS p ON p.id = r.payment_id"
        " WHERE r.id = %d" % refund)[0]
    said = {"object": "refund", "status": status, "final": True, "account": "acc", "currency": currency, "refund_amount": int(amount),
            "refund_no": number, "request_no": request_no}
    said.update(more)
    return {k: v for k, v in said.items() if v is not None}


def apply(session, payment, evidence, source="webhook", refund=None, event=None):
    return call(session, "apply_evidence", payment, refund, source, evidence, event)


def told(session, payment):
    """The events of the notifications about it, in order."""
    return [r[0] for r in session.run("SELECT o.event FROM postrider.payment AS p JOIN postrider.outbox AS o ON o.merchant_id = p.merchant_id AND o.order_no = p.order_no"
                                      " WHERE p.id = %d AND convert_from(o.body, 'UTF8')::jsonb ->> 'payment_id' = p.id::text ORDER BY o.id" % payment)]


def tasks(session, payment):
    return [" ".join(r) for r in session.run("SELECT biz_type, state, coalesce(last_error_code, '-') FROM postrider.task WHERE payment_id = %d ORDER BY id" % payment)]


class Scheduler:
    """One owner of all channels. step(): hands out what is due now (of one payment), answers, applies."""

    def __init__(self, session):
        self.session = session
        self.id = call(session, "call_session_open", "test")
        session.run("SELECT count(*) FROM postrider.call_shards_take('%s', 256)" % self.id)

    def due(self, payment, refund=None):
        """Its next call is due now, whenever it was."""
        self.session.run("UPDATE postrider.call SET due = clock_timestamp() WHERE payment_id = %d AND due IS NOT NULL AND refund_id IS NOT DISTINCT FROM %s"
                         % (payment, quote(refund)))

    def call_of(self, payment, refund=None):
        got = self.session.run("SELECT id FROM postrider.call WHERE payment_id = %d AND refund_id IS NOT DISTINCT FROM %s" % (payment, quote(refund)))
        return int(got[0][0]) if got else None

    def dispatch(self, call_id, lease=60000):
        got = self.session.run("SELECT row_to_json(d) FROM postrider.calls_dispatch('%s', ARRAY[%d]::bigint[], ARRAY[%d]) AS d" % (self.id, call_id, lease))
        return json.loads(got[0][0]) if got else None

    def outcome(self, handed, evidence, next_ms=1000, **more):
        result = {k: handed[k] for k in ("call_id", "salt", "attempt", "payment_id", "refund_id", "operation")}
        result.update(evidence=evidence, next_ms=next_ms, **more)
        return result

    def apply(self, *results, exchanges=()):
        given = "ARRAY[%s]::bytea[]" % ", ".join("NULL" if one is None else "convert_to(%s, 'UTF8')" % quote(one) for one in exchanges)
        got = self.session.run("SELECT row_to_json(a) FROM postrider.calls_apply('%s', %s, %s) AS a" % (self.id, quote(list(results)), given))
        return [json.loads(r[0]) for r in got]

    def step(self, payment, evidence, refund=None, next_ms=1000, **more):
        """'OPERATION: VERDICT -> NEXT' of the next call; evidence may be a function of what was handed out."""
        self.due(payment, refund)
        call_id = self.call_of(payment, refund)
        if call_id is None:
            return "no call"
        handed = self.dispatch(call_id)
        if handed is None:
            return "not handed out"
        if handed["dropped"]:
            return "dropped: " + handed["dropped"]
        said = '{"request": {"call": %d, "attempt": %d}}' % (call_id, handed["attempt"])
        done = self.apply(self.outcome(handed, evidence(handed) if callable(evidence) else evidence, next_ms, **more), exchanges=(said,))[0]
        return "%s: %s -> %s" % (handed["operation"], done["verdict"], done["next"])
