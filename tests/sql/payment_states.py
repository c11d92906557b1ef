# SPDX-License-Identifier: Apache-2.0
"""docs/payment-states.md is what the tables of rules say; PR_SQL_WRITE=1 writes it anew."""
import os

from pg import HOME, Session, finish, is_

TEXT = """# States of payments

<!-- Generated from the tables of sql/migrations by `PR_SQL_WRITE=1 tests/sql/run.sh payment_states`. Do not edit. -->

Three tables of the database say what may happen; no function decides by itself. `tests/sql/payments.py` walks every pair of states, by hand-written SQL too.
What is published of a payment (`status`) is computed: its state, or `unknown` (processing, and with a person), `partially_captured`, `refunding`, `partially_refunded`, `refunded`, `disputed`.

"""
NAMES = {"payment": "Payment", "refund": "Refund", "dispute": "Dispute", "task": "Task", "webhook": "Webhook", "channel": "Channel", "approval": "Request (four eyes)"}

s = Session()
lines = [TEXT.rstrip("\n"), ""]
for thing, name in NAMES.items():
    rows = s.run("SELECT from_state, to_state, why FROM postrider.transition WHERE object = '%s' ORDER BY from_state COLLATE \"C\", to_state COLLATE \"C\"" % thing)
    lines += ["## " + name, "", "```mermaid", "stateDiagram-v2"]
    lines += ["    %s --> %s" % (row[0] or "[*]", row[1]) for row in rows]
    ends = sorted({row[1] for row in rows} - {row[0] for row in rows})
    lines += ["    %s --> [*]" % end for end in ends]
    lines += ["```", "", "| from | to | why |", "| --- | --- | --- |"] + ["| %s | %s | %s |" % (row[0] or "(birth)", row[1], row[2]) for row in rows] + [""]
lines += ["## What evidence does", "", "What it says: `money` (arrived, or went back), `failure` (one that cannot turn), `closed`, `open` (pending), `nothing` (unknown, not found, a failure that may turn).",
          "`amounts`: only totals change. `late`: money after the end, state unchanged, sent back or a person's. `final`, `stale`, `duplicate`, `nothing`: kept, ignored.", ""]
for thing in ("payment", "refund"):
    says = ["money", "failure", "closed", "open", "nothing"]
    rows = {(row[0], row[1]): row[2] for row in s.run("SELECT state, says, effect FROM postrider.evidence_rule WHERE object = '%s'" % thing)}
    lines += ["| %s | %s |" % (thing, " | ".join(says)), "| --- |" + " --- |" * len(says)]
    for state in dict.fromkeys(key[0] for key in sorted(rows)):
        lines.append("| %s | %s |" % (state, " | ".join(rows[state, one] for one in says)))
    lines.append("")
lines += ["## What follows an outcome that ended nothing", "",
          "Phase: `open`; `ending` (after expiry, wished by `cancel_payment`, or no poll is left); `closed` (the channel was told); `any`. A step that the channel cannot make, or that was made too often, is a person's.", "",
          "| operation | answer | phase | step | why |", "| --- | --- | --- | --- | --- |"]
lines += ["| %s | %s | %s | %s | %s |" % tuple(row) for row in
          s.run("SELECT operation, answer, phase, step, why FROM postrider.outcome_rule ORDER BY operation COLLATE \"C\", answer COLLATE \"C\", array_position('{any,open,ending,closed}', phase)")]
s.close()
path = HOME + "/docs/payment-states.md"
text = "\n".join(lines) + "\n"
if os.environ.get("PR_SQL_WRITE"):
    with open(path, "w") as file:
        file.write(text)
with open(path) as file:
    is_(file.read().split("\n"), text.split("\n"), "docs/payment-states.md is what the tables say (else: PR_SQL_WRITE=1 tests/sql/run.sh payment_states)")
finish()
