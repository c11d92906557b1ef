# SPDX-License-Identifier: Apache-2.0
"""What postrider-sandbox's gateways answer and send, for the gateways' own SDKs to judge."""
import base64
import json
import os
import sys
import time
import urllib.parse

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sandbox-gateway"))
from gates import Collector, Gate  # noqa: E402
from judged import Program, wait_for  # noqa: E402


class SandboxSide:
    """One payment at each of the four gateways that have an SDK here."""

    def __init__(self, tool):
        self.collector = Collector()
        self.answers, self.webhooks, self.parameters = {}, {}, {}
        with Program("postrider-sandbox") as box:
            for profile, request in (("wechat-v3", "{}"), ("alipay", "{}"), ("stripe", '{"confirm":"true"}'),
                                     ("adyen", '{"paymentMethod":{"type":"scheme"}}')):
                self.pay(Gate(box, tool, self.collector, profile, "sdk-" + profile, request=request))
        self.collector.close()

    def pay(self, gate):
        facts = {"request_no": "sdk1", "order_no": "sdk1", "amount": 5800}
        gate.ask("charge", **facts)
        came = wait_for(lambda: self.collector.of(gate.name), what="the webhook of " + gate.profile)
        self.webhooks[gate.profile] = came[0]
        self.parameters[gate.profile] = dict(gate.parameters)
        if gate.profile != "adyen":
            made = gate.build("query", facts)
            self.answers[gate.profile] = gate.send(made)

    def check(self):
        """Nothing without the SDKs: lib/gateway judges in tests/integration/sandbox-gateway."""

    def judge(self):
        """[(name, ask, want)]"""
        yield from self.judge_wechat()
        yield from self.judge_alipay()
        headers, body = self.webhooks["stripe"]
        yield ("stripe takes the sandbox's event",
               {"sdk": "stripe", "do": "verify", "secret": self.parameters["stripe"]["webhook_secret"],
                "timestamp": int(time.time()), "header": headers["Stripe-Signature"],
                "body": body.decode()}, json.loads(body)["id"])
        item = json.loads(self.webhooks["adyen"][1])["notificationItems"][0]["NotificationRequestItem"]
        ask = {"sdk": "adyen", "do": "verify", "key": self.parameters["adyen"]["hmac_key"]}
        yield "@adyen/api-library takes the sandbox's item", {**ask, "item": item}, True
        yield "and not another amount", {**ask, "item": {**item, "amount": {
            "value": 1, "currency": "CNY"}}}, False

    def judge_wechat(self):
        known = self.parameters["wechat-v3"]
        common = {"sdk": "wechat", "mchid": known["mchid"], "serial": known["serial_no"],
                  "key": known["api_v3_key"], "public": known["wechat_key"],
                  "private": known["private_key"], "key_id": known["wechat_key_id"]}
        for name, headers, body in (("answer", *self.answers["wechat-v3"][1:]),
                                    ("webhook", *self.webhooks["wechat-v3"])):
            yield (f"wechatpay-node-v3 verifies the sandbox's {name}",
                   {**common, "do": "verify", "timestamp": headers["Wechatpay-Timestamp"],
                    "nonce": headers["Wechatpay-Nonce"], "signature": headers["Wechatpay-Signature"],
                    "body": body.decode()}, True)
        sealed = json.loads(self.webhooks["wechat-v3"][1])["resource"]
        plain = AESGCM(known["api_v3_key"].encode()).decrypt(
            sealed["nonce"].encode(), base64.b64decode(sealed["ciphertext"]),
            sealed["associated_data"].encode())
        yield ("wechatpay-node-v3 opens the sandbox's resource",
               {**common, "do": "decipher", "ciphertext": sealed["ciphertext"], "nonce": sealed["nonce"],
                "associated": sealed["associated_data"]}, json.loads(plain))

    def judge_alipay(self):
        known = self.parameters["alipay"]
        ask = {"sdk": "alipay", "private": known["private_key"], "public": known["alipay_key"]}
        body = self.answers["alipay"][2].decode()
        yield ("alipay-sdk verifies the sandbox's answer",
               {**ask, "do": "answer", "body": body, "name": "alipay_trade_query_response",
                "signature": json.loads(body)["sign"]}, True)
        fields = dict(urllib.parse.parse_qsl(self.webhooks["alipay"][1].decode(), strict_parsing=True))
        yield "alipay-sdk verifies the sandbox's notification", {**ask, "do": "form",
                                                                 "fields": fields}, True
