# SPDX-License-Identifier: Apache-2.0
"""The cases of tests/support/evidence_cases.txt, which tests/unit/lib/gateway/test_compare.c asks lib/gateway/compare.c: one rule."""
import json
import os

import pay
from pg import HOME, Session, finish, is_, ok

s = Session()
pay.setup(s)
pay.channel(s, "c1")
AMOUNTS = ("amount", "refund_amount", "refund", "captured_total", "refunded_total")
NAMES = {"amount": "amount_minor", "reference": "gateway_reference"}


def pairs(text):
    for word in text.split():
        name, _, value = word.partition("=")
        if name in AMOUNTS and value != "flawed":
            yield name, int(value)
        else:
            yield name, True if name == "asked" else value


cases = 0
with open(os.path.join(HOME, "tests/support/evidence_cases.txt"), encoding="utf-8") as lines:
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        sentence, match, known, evidence, want = [cell.strip() for cell in line.split("|")]
        match = ["account", "number", "amount", "currency"] if match == "all" else [] if match == "-" else [match]
        known = dict(pairs(known))
        refund = {"amount_minor": known.pop("refund", None), "gateway_no": known.pop("refund_no", None),
                  "gateway_reference": known.pop("refund_reference", None)}
        payment = {NAMES.get(name, name): value for name, value in known.items()}
        got = s.value("SELECT coalesce(postrider.evidence_compare(jsonb_populate_record(c, %s), jsonb_populate_record(NULL::postrider.payment, %s),"
                      " jsonb_populate_record(NULL::postrider.refund, %s), %s, false), 'SAME') FROM postrider.channel AS c WHERE c.id = 'c1'" % (
                          pay.quote({"match": match}), pay.quote(payment), pay.quote(refund), pay.quote(dict(pairs(evidence)))))
        is_(got.replace("_MISMATCH", "").lower(), want, sentence)
        cases += 1
ok(cases > 50, "all cases were read", cases)
finish()
