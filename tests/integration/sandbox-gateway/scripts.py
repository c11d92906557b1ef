# SPDX-License-Identifier: Apache-2.0
"""Scripts in the gateways' own colours: what only one of them does, and what the ledger must not miss."""
import json

from gates import Gate
from judged import wait_for

AMOUNT = 5800


def charge(gate, number, script="", **more):
    return gate.ask("charge", **{"request_no": number, "order_no": number + script, "amount": AMOUNT,
                                 **more})


def test_wechat(tap, box, tool, collector):
    gate = Gate(box, tool, collector, "wechat-v3", "w-scripts")
    charge(gate, "w1", "~probe")
    wait_for(lambda: gate.heard("w1", "SUCCEEDED"), what="the true one")
    wait_for(lambda: any(one["verdict"] == "probe" for one in gate.webhooks()), what="the probe")
    tap.check(True, "wechat-v3: a signature probe beside the true one")
    charge(gate, "w2", "~refund-fail:ABNORMAL")
    wait_for(lambda: gate.row("w2")["state"] == "succeeded", what="the payment")
    got = gate.ask("refund", request_no="w2", refund_no="w2-1", refund_amount=1, amount=AMOUNT)
    tap.equal(got["status"], "PENDING", "wechat-v3: a refund is under way first")
    got = wait_for(lambda: gate.heard("w2-1", "UNKNOWN"), what="its end")[0]
    tap.equal((got["action"], got["reason"]), ("person", "refund_abnormal"), "and ends abnormally")
    got = charge(gate, "w3", "~fail:RULELIMIT")
    tap.equal((got["reason"], gate.row("w3")), ("risk_refused", None), "wechat-v3: a native code")
    charge(gate, "w4", "~pay:1s~anyway")
    closed = gate.ask("close", request_no="w4")["status"] == "CANCELLED"
    wait_for(lambda: gate.row("w4")["state"] == "succeeded", what="the late payment")
    tap.equal((gate.row("w4")["was_closed"], gate.row("w4")["times_charged"]), (closed, 1),
              "wechat-v3: money for an order that was closed")


def test_alipay(tap, box, tool, collector):
    gate = Gate(box, tool, collector, "alipay", "al-scripts")
    charge(gate, "g1", "~gbk")
    item = wait_for(lambda: gate.heard("g1", "SUCCEEDED"), what="the notification")[0]
    tap.check(any(b"charset=gbk" in body for _, body in collector.of("al-scripts")),
              "alipay: a notification in GBK")
    tap.equal((item["amount"], item["account"]), (AMOUNT, "al-scripts"), "verifies")
    charge(gate, "g2", "~gbk~unpaid")
    made = gate.build("charge", {"request_no": "g2", "order_no": "g2~gbk~unpaid", "amount": 1})
    answer = gate.send(made)
    tap.check("交易".encode("gbk") in answer[2], "alipay: an error text in GBK", answer[2])
    tap.equal(gate.judge(made, answer)["message"], "交易信息被篡改", "is read")
    gate.ask("close", request_no="g2")
    tap.equal(gate.ask("query", request_no="g2")["status"], "CANCELLED", "alipay: closed unpaid")
    charge(gate, "g3", "~unpaid~hidden:1m")
    tap.equal(gate.ask("query", request_no="g3")["reason"], "not_found", "alipay: nobody scanned yet")


def test_stripe(tap, box, tool, collector):
    gate = Gate(box, tool, collector, "stripe", "s-scripts", request='{"confirm":"true"}')
    got = charge(gate, "k1", "~charge:500!")
    tap.equal(got["action"], "query_first", "stripe: 500 after the effect")
    tap.equal(charge(gate, "k1", "~charge:500!")["action"], "query_first", "the key gives it again")
    tap.equal((gate.ask("query", request_no="k1")["status"], gate.row("k1")["times_charged"]),
              ("SUCCEEDED", 1), "a search finds what was done, once")
    made = gate.build("charge", {"request_no": "k1", "order_no": "k1", "amount": AMOUNT})
    made["headers"]["Idempotency-Key"] = "another"
    gate.judge(made, gate.send(made))
    got = gate.ask("query", request_no="k1")
    tap.equal((got["reason"], got["action"]), ("two_intents_with_one_number", "person"),
              "stripe: another key, the same number: two intents")
    stats = gate.stats()
    tap.equal((stats["double_charged"], stats["double_minor"], gate.row("k1")["charged_sum"]),
              (1, AMOUNT, 2 * AMOUNT), "the ledger counts the double charge")
    for currency, wire in (("JPY", b"amount=5800"), ("ISK", b"amount=580000"), ("KWD", b"amount=5800")):
        made = gate.build("charge", {"request_no": "c" + currency, "order_no": "o", "amount": AMOUNT,
                                     "currency": currency})
        got = gate.judge(made, gate.send(made))
        tap.equal((wire in made["body"], got["amount"], gate.row("c" + currency)["captured"]),
                  (True, AMOUNT, AMOUNT), f"stripe: {currency} in its own unit")
    waiting = Gate(box, tool, collector, "stripe", "s-waiting")
    tap.equal(charge(waiting, "l1")["status"], "PENDING", "stripe: unconfirmed, the payer acts later")
    wait_for(lambda: waiting.heard("l1", "SUCCEEDED"), what="the payer")


def test_adyen(tap, box, tool, collector):
    gate = Gate(box, tool, collector, "adyen", "ad-scripts",
                request='{"paymentMethod":{"script":"~fail:refused~refund-reverse:10ms"}}')
    tap.equal(charge(gate, "f1")["status"], "FAILED", "adyen: refused, by a script in the request")
    wait_for(lambda: gate.heard("f1", "FAILED"), what="the failure")
    gate.control("do", request_no="f1", do="pay")
    item = wait_for(lambda: gate.heard("f1", "SUCCEEDED"), what="the success")[0]
    tap.equal(item["amount"], AMOUNT, "adyen: false turns into true")
    gate.ask("refund", refund_no="f1-1", refund_amount=5, amount=AMOUNT, request_no="f1",
             reference=gate.row("f1")["reference"])
    wait_for(lambda: gate.heard("f1-1", "FAILED"), what="the reversal")
    tap.equal((len(gate.heard("f1-1", "SUCCEEDED")), gate.row("f1")["refunded"]), (1, 0),
              "adyen: a refund that succeeds and is undone")


def test_paypal(tap, box, tool, collector):
    gate = Gate(box, tool, collector, "paypal", "pp-scripts")
    gate.token = gate.ask("token")["token"]
    tap.equal(charge(gate, "v1", currency="JPY")["amount"], AMOUNT, "paypal: yen")
    approved = wait_for(lambda: gate.heard("v1", "PENDING"), what="the approval")[0]
    tap.equal(approved["follow_up"], "capture", "paypal: an approved order is to be captured")
    tap.equal(gate.row("v1")["captured"], 0, "nothing is taken before")
    charge(gate, "v2", "~unpaid")
    got = gate.ask("capture", request_no="v2", reference=gate.row("v2")["reference"], amount=AMOUNT)
    tap.equal(got["reason"], "not_approved", "paypal: what is not approved is not captured")
    gate.control("do", request_no="v2", do="close")
    wait_for(lambda: gate.heard("v2", "CANCELLED"), what="the end")
    tap.equal(gate.row("v2")["state"], "cancelled", "paypal: voided")
    gate.token = "A21AAwrong"
    tap.equal(gate.ask("query", reference="x", request_no="v1")["action"], "stop_channel",
              "paypal: a wrong token")


def test_generic(tap, box, tool, collector):
    gate = Gate(box, tool, collector, "generic-md5", "g-scripts", request='{"way_code":"X"}')
    charge(gate, "n1", "~fail:CARD_STOLEN:10ms")
    item = wait_for(lambda: gate.heard("n1", "FAILED"), what="the failure")[0]
    tap.equal(item["code"], "CARD_STOLEN", "generic-md5: a failure by notification")


def test_ledger(tap, box, tool, collector):
    gate = Gate(box, tool, collector, "sandbox", "twice")
    for number in ("d1", "d2"):
        gate.ask("charge", request_no=number, order_no="the same order", amount=AMOUNT)
    stats = gate.stats()
    tap.equal((stats["double_charged"], stats["double_orders"], stats["double_minor"]), (0, 1, AMOUNT),
              "two numbers for one order: paid twice, and counted")
    seconds = json.loads(box.call("GET", "/control/gateway/seconds?account=twice")[2])
    tap.equal(sum(row[1] for row in seconds), stats["requests"], "requests by second add up")


def test_limit(tap, box, tool, collector):
    gate = Gate(box, tool, collector, "sandbox", "limited", rate=0.001, burst=3)
    got = [gate.ask("query", request_no="none")["reason"] for _ in range(5)]
    tap.equal(got, ["not_found"] * 3 + ["rate_limited"] * 2, "above an account's limit it is too many")
    tap.equal(gate.stats()["throttled"], 2, "and counted")
    gate.set(rate=0)
    tap.equal(gate.ask("query", request_no="none")["reason"], "not_found", "until it is lifted")


def test_strangers(tap, box):
    """What is not a merchant's is refused, whatever it is, and nothing falls over."""
    paths = ["/gateway/v1/charges", "/gateway/v1/nothing", "/v3/pay/transactions/native", "/v3/x",
             "/gateway.do", "/v1/payment_intents", "/v1/refunds/re_1", "/v71/payments", "/v71/cancels",
             "/v2/checkout/orders", "/v1/oauth2/token", "/api/pay/query", "/api/refund/query"]
    bodies = [b"", b"{", b"[]", b"a=%zz", b"a=1&a=2", b"\x00\xff", b"sign=&mchNo=", b"x" * 60000]
    answers = [box.call(method, path, body, {"Authorization": "Bearer x"})
               for path in paths for body in bodies for method in ("GET", "POST")]
    tap.check(all(status in (400, 401, 404, 422) or b"isv.invalid" in body or b"ACQ." in body
                  or b'"code":5005' in body or b'"code":11' in body
                  for status, _, body in answers), "strangers are refused",
              sorted({status for status, _, _ in answers}))
    for path in ("account", "script", "do", "order", "ledger?from=x", "seconds?account=none"):
        status = box.call("POST" if path in ("account", "script", "do") else "GET",
                          "/control/gateway/" + path, b'{"profile":"none"}')[0]
        tap.check(status in (400, 404), f"control: {path} without sense is refused", status)


def sense_less():
    """Bodies of a merchant whose software has gone mad: JSON of the wrong shapes."""
    yield from (b"{}", b"[]", b"null", b'"x"', b"{" * 100, b"[" * 2000 + b"]" * 2000)
    wrong = [None, 0, -1, 1.5, "1e3", "-0.00", "", [], {}, True, "9" * 40, "x" * 3000, "\u0000", "5800.001"]
    for value in wrong:
        yield json.dumps({"request_no": value, "reference": value, "refund_no": value,
                          "merchantAccount": "mad-adyen", "currency": value, "amount": value,
                          "paymentReference": value, "paymentMethod": value, "intent": "CAPTURE",
                          "invoice_id": value, "purchase_units": value}).encode()
        yield json.dumps({"merchantAccount": "mad-adyen", "reference": "n", "intent": "CAPTURE",
                          "amount": {"value": value, "currency": "CNY", "currency_code": "CNY"},
                          "purchase_units": [{"invoice_id": "n", "amount": {
                              "currency_code": "CNY", "value": value}}]}).encode()
        yield f"amount={value}&currency={value}&metadata[request_no]={value}&payment_intent=x".encode()


def test_mad_merchants(tap, box, tool, collector):
    """Those whose key is good, and whose requests are not."""
    for profile, paths in (("stripe", ("/v1/payment_intents", "/v1/refunds", "/v1/payment_intents/x/cancel")),
                           ("adyen", ("/v71/payments", "/v71/payments/x/refunds", "/v71/cancels")),
                           ("paypal", ("/v2/checkout/orders", "/v2/checkout/orders/x/capture",
                                       "/v2/payments/captures/Cx/refund", "/v2/payments/captures/C/refund"))):
        gate = Gate(box, tool, collector, profile, "mad-" + profile)
        known = dict(gate.parameters)
        headers = {"X-API-Key": known.get("api_key", ""), "Idempotency-Key": "k", "PayPal-Request-Id": "k",
                   "Authorization": "Bearer " + known.get("api_key", "")}
        if profile == "paypal":
            headers["Authorization"] = "Bearer " + gate.ask("token")["token"]
        found = sorted({box.call("POST", path, body, headers)[0] for path in paths for body in sense_less()})
        tap.check(set(found) <= {400, 404, 422}, f"{profile}: requests without sense are refused", found)
        tap.equal((gate.stats()["orders"], gate.stats()["refunds"], gate.stats()["refused"]), (0, 0, 0),
                  "and move nothing")


def test_all(tap, box, tool, collector):
    for test in (test_wechat, test_alipay, test_stripe, test_adyen, test_paypal, test_generic,
                 test_ledger, test_limit, test_mad_merchants):
        test(tap, box, tool, collector)
    test_strangers(tap, box)
