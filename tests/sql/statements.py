# SPDX-License-Identifier: Apache-2.0
"""Every statement of sql/queries: its header, its preparation, and that its role may run it.

Run with NULLs inside a transaction that is rolled back: rights are checked before any row is looked at. rights.sql has the other side.
"""
import os
import re

from pg import HOME, PgError, Session, actor_url, finish, ok

ROLES = {"outbox-relay": "postrider_relay", "scheduler": "postrider_scheduler", "circuit-breaker": "postrider_breaker",
         "dead-letter": "postrider_dead_letter", "cli": "postrider_console", "console": "postrider_console",
         "application": "postrider_app", "gateway-scheduler": "postrider_gateway_scheduler", "ingress": "postrider_ingress",
         "compensator": "postrider_compensator", "recon": "postrider_reconciler", "reconciler": "postrider_reconciler"}
# Not here: migrate (the creator's, before the schema is there), demo and bench (applications of their own).

admin = Session()
admin.run("SELECT t.merchant('m1')")
for actor in sorted(ROLES):
    session = Session(url=actor_url(), options="-c role=%s -c statement_timeout=20s" % ROLES[actor])
    for name in sorted(os.listdir(os.path.join(HOME, "sql/queries", actor))):
        with open(os.path.join(HOME, "sql/queries", actor, name)) as file:
            text = file.read()
        full = actor + "/" + name[:-4]
        first = text.split("\n")[0]
        header = re.match(r"-- %s[.]%s: \S" % (re.escape(actor), re.escape(name[:-4])), first)
        said = set(re.findall(r"\$\d+", "".join(l for l in text.split("\n") if l.startswith("--"))))
        used = set(re.findall(r"\$\d+", "".join(l for l in text.split("\n") if not l.startswith("--"))))
        ok(header and used <= said and "-- rows:" in text.replace(". rows:", "\n-- rows:"), full + " has its header",
           "%s; parameters used %s, described %s" % (first, sorted(used), sorted(said)))
        # NULLs may be refused before the last function is called
        called = sorted(set(re.findall(r"postrider[.](\w+)[(]", text))) or ["none"]
        closed = session.value("SELECT coalesce(string_agg(p.proname, ' '), '') || '.' FROM pg_proc AS p WHERE p.pronamespace = 'postrider'::regnamespace "
                               "AND p.proname IN ('%s') AND NOT has_function_privilege(p.oid, 'EXECUTE')" % "', '".join(called))
        ok(closed == ".", full + " may call what it calls", closed)
        try:
            session.run("BEGIN; PREPARE x AS " + text)
            types = session.value("SELECT array_to_string(parameter_types::text[], '|') || '.' FROM pg_prepared_statements WHERE name = 'x'")[:-1]
            arguments = ["NULL::" + t for t in types.split("|") if t]
            session.run("EXECUTE x" + ("(%s)" % ", ".join(arguments) if arguments else ""))
            ok(True, full + " runs as " + ROLES[actor])
        except PgError as error:  # refused for its NULLs is fine, for its rights or its text it is not
            ok(not error.sqlstate.startswith("42") and error.sqlstate != "lost", full + " runs as " + ROLES[actor], error)
        session.run("ROLLBACK")
        session.run("DEALLOCATE ALL")
    session.close()
admin.close()
finish()
