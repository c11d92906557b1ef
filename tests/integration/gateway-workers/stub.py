# SPDX-License-Identifier: Apache-2.0
"""A gateway for the tests of gateway-poller and charger: speaks profiles/sandbox.yaml (verifies what it is asked, signs what it
answers), and PayPal's access tokens. What it does is said by the number it is asked about: its letters up to the first '-'."""
import hashlib
import hmac
import http.server
import json
import threading
import time

SECRETS = {"acct-1": b"a-secret-of-the-sandbox", "acct-2": b"another-secret"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    # ---- answers ----

    def answer(self, status, body, headers=(), secret=None):
        stamp = str(int(time.time()))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Timestamp", stamp)
        key = secret or SECRETS.get(self.headers.get("X-Account"), b"none")
        self.send_header("X-Signature", hmac.new(key, f"{stamp}.".encode() + body, hashlib.sha256).hexdigest())
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def failure(self, status, code, headers=()):
        self.answer(status, json.dumps({"error": {"code": code, "message": f"it says {code}"}}).encode(), headers)

    def payment(self, number, status, **more):
        return json.dumps({"id": f"ch_{number}", "account": self.headers["X-Account"], "request_no": number, "amount": 5800,
                           "currency": "CNY", "status": status, **more}).encode()

    # ---- what a number asks for ----

    def play_ok(self, number):
        self.answer(200, self.payment(number, "succeeded", captured=5800))

    def play_pending(self, number):
        self.answer(200, self.payment(number, "pending", qr_code="weixin://pay/1"))

    def play_busy(self, number):
        self.failure(429, "slow_down", [("Retry-After", "7")])

    def play_broken(self, number):
        self.answer(500, b"oops")

    def play_garbage(self, number):
        self.answer(200, bytes(range(256)))

    def play_huge(self, number):
        self.answer(200, b"{" + b" " * (2 << 20) + b"}")

    def play_refused(self, number):
        self.failure(401, "bad_key")

    def play_poor(self, number):
        self.failure(402, "insufficient_funds")

    def play_forged(self, number):
        self.answer(200, self.payment(number, "succeeded"), secret=b"a thief's")

    def play_silent(self, number):
        """The effect took place; nobody hears of it."""
        self.server.release.wait()
        self.close_connection = True

    def play_slow(self, number):
        self.server.release.wait()
        self.play_ok(number)

    def play_hangup(self, number):
        self.close_connection = True

    # ---- requests ----

    def genuine(self, body):
        text = "\n".join([self.command, self.path, self.headers.get("X-Timestamp", ""), self.headers.get("X-Nonce", ""), ""])
        key = SECRETS.get(self.headers.get("X-Account"), b"nobody's")
        mine = hmac.new(key, text.encode() + body, hashlib.sha256).hexdigest()
        return mine == self.headers.get("X-Signature")

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.server.lock:
            self.server.seen.append((self.command, self.path, body, dict(self.headers), self.client_address))
        if self.path.startswith("/v1/oauth2/token") or self.path.startswith("/v2/"):
            self.paypal()
            return
        if not self.genuine(body):
            self.failure(403, "bad_signature")
            return
        number = json.loads(body)["request_no"] if self.path.endswith(("/charges", "/refunds")) else self.path.split("/")[4]
        getattr(self, "play_" + number.split("-")[0])(number)

    def paypal(self):
        if self.path.startswith("/v1/oauth2/token"):
            if self.server.token_status != 200:
                self.answer(self.server.token_status, b'{"error":"invalid_client"}')
                return
            self.server.tokens += 1
            self.answer(200, json.dumps({"access_token": f"T{self.server.tokens}", "expires_in": 3600}).encode())
        elif self.headers.get("Authorization") != f"Bearer T{self.server.tokens}":
            self.answer(401, b'{"name":"AUTHENTICATION_FAILURE"}')
        else:
            self.answer(200, b'{"id":"O1","status":"CREATED"}')

    do_GET = do_POST = serve

    def log_message(self, *_):
        pass


class Gateway(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.seen, self.release = threading.Lock(), [], threading.Event()
        self.tokens, self.token_status = 0, 200
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """A client that gave up: its answer cannot be written."""

    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def asked(self, part):
        """Requests with this in their path or body."""
        with self.lock:
            return [it for it in self.seen if part in it[1] or part.encode() in it[2]]
