# SPDX-License-Identifier: Apache-2.0
"""What a plan reads of growing tables, for tests of tests/sql (not a test itself).

misreads(plan) finds scans whose cost grows with the table whatever the statement asks for; touched(plan), of an executed plan, counts
what was read. A plan is EXPLAIN (FORMAT JSON)'s: of a statement explain(), of what functions run inside logged(), by auto_explain.
"""
import json
import re

GROWING = re.compile(r"outbox\w*|job|attempt\w*|dead|cancelled|idempotency|tick")
ACTOR = ("-c enable_seqscan=off -c enable_bitmapscan=off -c enable_hashjoin=off -c enable_mergejoin=off "
         "-c plan_cache_mode=force_generic_plan -c jit=off")
indexes = {}    # name: (table, first column)


def learn(session):
    """Which column each index begins with."""
    for index, table, column in session.run("""
            SELECT i.indexrelid::regclass::oid::regclass::text, c.relname, pg_get_indexdef(i.indexrelid, 1, true)
            FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid WHERE c.relnamespace = 'postrider'::regnamespace"""):
        indexes[index.split(".")[-1]] = (table, column)


def explain(session, statement, how=""):
    text = "\n".join("\t".join(row) for row in session.run("EXPLAIN (FORMAT JSON, COSTS OFF%s) %s" % (how, statement)))
    return json.loads(text)[0]["Plan"]


def log_plans(session):
    """From now on the session (a superuser's) also gets the plans of what functions run."""
    session.run("LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on; "
                "SET auto_explain.log_analyze = on; SET auto_explain.log_buffers = on; SET auto_explain.log_timing = off; "
                "SET auto_explain.log_format = json; SET client_min_messages = log")


def logged(session, statement):
    """Runs it; (query, plan) of each statement inside."""
    text = "\n".join("\t".join(row) for row in session.run(statement))
    found = []
    for start in re.finditer(r"^LOG: .* plan:\n", text, re.M):
        one = json.JSONDecoder(strict=False).raw_decode(text, start.end())[0]
        found.append((" ".join(one["Query Text"].split()), one["Plan"]))
    return found


def scans(plan, parent=None):
    """(node, parent) of each scan of a growing table."""
    table = plan.get("Relation Name") or indexes.get(plan.get("Index Name"), ("",))[0]
    if plan["Node Type"].endswith("Scan") and GROWING.fullmatch(table):
        yield plan, parent, table
    for child in plan.get("Plans", []):
        yield from scans(child, plan)


def misreads(plan, allowed=()):
    """Scans from end to end: sequential, of an index without a condition on its first column, unless only its first rows are taken."""
    found = []
    for node, parent, table in scans(plan):
        kind, index, condition = node["Node Type"], node.get("Index Name"), node.get("Index Cond")
        if table in allowed or kind in ("Bitmap Heap Scan", "Tid Scan"):    # by what was found below it; by address
            continue
        if index is None:
            found.append("%s on %s" % (kind, table))
        elif condition is None and parent["Node Type"] != "Limit":
            found.append("%s using %s, all of it" % (kind, index))
        elif condition is not None and not re.search(r"\b%s\b" % indexes[index][1], condition):
            found.append("%s using %s by %s" % (kind, index, condition))
    return found


def touched(plan, allowed=()):
    """The most rows that one scan of a growing table read, or one join compared in vain; and the most pages of one scan."""
    rows = pages = 0
    for node, _, table in scans(plan):
        if table not in allowed:
            each = sum(node.get(k, 0) for k in ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck"))
            rows = max(rows, each * node["Actual Loops"])
            pages = max(pages, node["Shared Hit Blocks"] + node["Shared Read Blocks"])
    left = [plan]
    while left:
        node = left.pop()
        rows = max(rows, node.get("Rows Removed by Join Filter", 0) * node["Actual Loops"])
        left += node.get("Plans", [])
    return rows, pages
