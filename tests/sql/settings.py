# SPDX-License-Identifier: Apache-2.0
"""A session's settings change no meaning inside our functions: what they take, refuse and write is the same under each.

The literals of a function's body are parsed under the caller's standard_conforming_strings, texts are read and written under
its DateStyle, TimeZone, extra_float_digits: whoever calls may have set them oddly."""
import re

from pg import Session, finish, is_, ok

ODD = [("standard_conforming_strings=off",), ("standard_conforming_strings=off", "backslash_quote=on", "escape_string_warning=off"),
       ("DateStyle=German",), ("DateStyle=SQL,DMY", "TimeZone=Asia/Kolkata"), ("DateStyle=Postgres,MDY", "TimeZone=America/St_Johns"),
       ("TimeZone=Asia/Kathmandu",), ("IntervalStyle=sql_standard",), ("IntervalStyle=iso_8601",), ("bytea_output=escape",),
       ("extra_float_digits=-15",), ("xmloption=document", "xmlbinary=hex"), ("transform_null_equals=on",),
       ("quote_all_identifiers=on",), ("default_text_search_config=pg_catalog.simple",), ("client_encoding=LATIN1",),
       ("lc_messages=C", "lc_time=C", "lc_numeric=C", "lc_monetary=C"), ("array_nulls=off",), ("search_path=",),
       ("plan_cache_mode=force_generic_plan",), ("plpgsql.extra_errors=all",), ("default_transaction_isolation=serializable",)]

ENQUEUE = "select postrider.enqueue_notification(%s)"
SETUP = [
    "select postrider.merchant_add('me', 'm1', NULL, NULL, 'https://m1.example/', decode('01', 'hex'))",
    ENQUEUE % "'m1', E'o\"1\\\\\\u00fc', 'payment.succeeded', '{\"b\": [1.50, null], \"a\": \"x\"}', 5800, 'JPY', version => 7,"
              " notify_url => 'https://[::1]:8443/a?b', idempotency_key => 'k1', status => 'done',"
              " occurred_at => '2026-03-01 12:00:00.0456+08'",
    "select postrider.endpoint_set('me', (select id from postrider.endpoint where name = 'default'), '{\"rate_per_s\": 2.3,"
    " \"events\": [\"a.b.*\", \"*\"], \"retry\": \"fixed: 5s * 7;cap=1h\", \"headers\": {\"X-A\": \"b c\"}, \"max_age_ms\": 5}')",
    "select postrider.endpoint_set('me', (select id from postrider.endpoint where name = 'default'), '{\"rate_per_s\": 4.7}')",
    "select postrider.endpoint_rotate_secret('me', (select id from postrider.endpoint), decode('02', 'hex'), '24h')",
    "select postrider.ensure_partitions(2, '30 days')",
    "select postrider.redrive_request('me', 'why', '{}', 0.3)",
]
# What each call says, as its SQLSTATE.
CALLS = [(ENQUEUE % arguments, state) for arguments, state in [
    ("'m1', 'o', 'a.b', '{}'", ""), ("'m1', 'o', 'a\"b', '{}'", "PR003"), ("'m1', 'o', 'axb!', '{}'", "PR003"),
    ("'m1', 'o', 'a..b', '{}'", "PR003"), ("'m1', chr(7), 'a', '{}'", "PR003"), ("'m1', 'o', 'a', '[]'", "PR003"),
    ("'m1', 'o', 'a', '{}', notify_url => 'https://[::1]/'", ""), ("'m1', 'o', 'a', '{}', notify_url => 'https://[::1'", "PR003"),
    ("'m1', 'o', 'a', '{}', notify_url => 'https://0-9]/'", "PR003"), ("'m1', 'o', 'a', '{}', currency => 'cny'", "PR003"),
    ("'nobody', 'o', 'a', '{}'", "PR001"), ("repeat('m', 65), 'o', 'a', '{}', idempotency_key => 'k'", "PR001"),
    # 16 KiB that do not compress: more than an index takes
    ("(select string_agg(encode(sha256(i::text::bytea), 'hex'), '') from generate_series(1, 256) as i), 'o', 'a', '{}',"
     " idempotency_key => 'k'", "PR001"), ("NULL, 'o', 'a', '{}', idempotency_key => 'k'", "PR001")]]
CALLS += [("select postrider.endpoint_set('me', (select id from postrider.endpoint), E'%s')" % settings, state)
          for settings, state in [
              ('{"events": ["a.b", "c.*"]}', ""), ('{"events": ["axb!"]}', "PR003"), ('{"events": ["aaa*"]}', "PR003"),
              ('{"retry": "list:1s , 5m"}', ""), ('{"retry": "fixed:5s*0"}', "PR003"), ('{"headers": {"X-A": "x01"}}', ""),
              ('{"headers": {"X-A": "a\\\\u0001"}}', "PR003"), ('{"headers": {"X-A": "a\\\\u007f"}}', "PR003"),
              ('{"url": "https://x.example/a"}', ""), ('{"url": "https://x.example/a|b"}', ""),
              ('{"egress": "socks5h://u:w@h:1"}', "")]]
CALLS += [("select postrider.merchant_set('me', 'm1', jsonb_build_object('email', %s))" % email, state) for email, state in [
    ("'x01@host.example'", ""), ("'a' || chr(1) || '@host.example'", "PR003"), ("'a b@host.example'", "PR003")]]
# What functions give back, ...
GIVEN = """
create temp table given on commit drop as select concat_ws(',', postrider.retry_count('exponential:1s..6h*10'),
    postrider.url_origin('HTTPS://[AB::1]/'), postrider.response_text(2::smallint, decode('ff41', 'hex')),
    encode(coalesce(postrider.response_kept(1::smallint, convert_to('SUCCESS', 'UTF8')), convert_to('none', 'UTF8')), 'hex'),
    encode(postrider.response_kept(1::smallint, convert_to('OK', 'UTF8')), 'hex')) as text
"""
# ... and what is then in the tables, read under plain settings.
PLAIN = ";".join("set local " + one for one in [
    "standard_conforming_strings = on", "DateStyle = 'ISO, MDY'", "TimeZone = 'UTC'", "IntervalStyle = 'postgres'",
    "bytea_output = 'hex'", "extra_float_digits = 1", "transform_null_equals = off", "quote_all_identifiers = off",
    "search_path = pg_catalog"])
SEEN = """
select encode(convert_to(concat_ws(' | ', (select text from pg_temp.given),
    (select string_agg(concat_ws(' ', replace(convert_from(o.body, 'UTF8'), o.notify_id::text, 'ID'), o.class, o.status, o.version),
                       ',' order by o.id) from postrider.outbox as o),
    (select encode(i.args_hash, 'hex') from postrider.idempotency as i),
    (select to_jsonb(e) - array['id', 'tx', 'created_at', 'updated_at', 'state_at', 'rotate_until']
            || jsonb_build_object('for', e.rotate_until - now()) from postrider.endpoint as e),
    (select string_agg(a.action || (a.detail - 'order'), ',' order by a.id) from postrider.audit as a),
    (select bool_and(p.name = p.parent || to_char(p.lo, '_YYYYMMDD_HH24')
                     and pg_get_expr(c.relpartbound, c.oid) = format('FOR VALUES FROM (%L) TO (%L)', p.lo, p.hi))
     from postrider.partition as p join pg_class as c on c.relname = p.name)), 'UTF8'), 'hex')
"""


def literals(source):
    """The plain literals of a function's body that hold a backslash; what is dollar-quoted is SQL too."""
    found, at = [], 0
    while at < len(source):
        if source.startswith("--", at):
            at = (source + "\n").index("\n", at)
        elif source[at] == "'":
            escapes = re.search(r"(?<![\w$])[Ee]$", source[:at]) is not None
            end = at + 1
            while source[end] != "'":
                end += 2 if escapes and source[end] == "\\" else 1
            if not escapes and "\\" in source[at:end]:
                found.append(source[at:end + 1])
            at = end + 1
        else:
            at += 1
    return found


def look(settings):
    """What is seen, and the calls that say something else than they should, of a session with these settings."""
    session = Session(options=" ".join("-c " + one for one in settings))
    session.run("begin")
    for statement in SETUP + [GIVEN]:
        session.run(statement)
    session.run("savepoint s")
    session.run(PLAIN)
    seen = bytes.fromhex(session.value(SEEN)).decode()
    session.run("rollback to s")
    wrong = []
    for statement, state in CALLS:
        session.run("savepoint s")
        got = session.fails(statement)
        session.run("rollback to s")
        if got != state:
            wrong.append((statement, got, state))
    session.run("rollback")
    session.close()
    return seen, wrong


is_([literals(text) for text in [r"x ~ '\.'", r"x ~ E'\\.'", "-- it's\n" + r"'a' || '\b'", r"E'\'' || '\1'", r"$q$ '\' $q$", "'[.]'"]],
    [[r"'\.'"], [], [r"'\b'"], [r"'\1'"], [r"'\'"], []], "the scanner of literals finds what it should")
admin = Session()
functions = admin.run("select oid::regprocedure, encode(convert_to(prosrc, 'UTF8'), 'hex') from pg_proc"
                      " where pronamespace = 'postrider'::regnamespace order by 1")
bad = [(name, literal) for name, source in functions for literal in literals(bytes.fromhex(source).decode())]
ok(len(functions) > 40 and not bad, "no function has a backslash in a literal without E", bad)
admin.close()

plain, nothing = look(())
is_(nothing, [], "the calls say what they should")
ok('"order_no":"o\\"1\\\\\u00fc"' in plain and "2026-03-01T04:00:00.045Z" in plain, "the body is the one that is meant", plain)
for odd in ODD:
    seen, wrong = look(odd)
    is_(seen, plain, "the same bytes and rows under " + " ".join(odd))
    is_(wrong, [], "the same verdicts under " + " ".join(odd))
finish()
