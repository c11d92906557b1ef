# SPDX-License-Identifier: Apache-2.0
"""An application's side of compensation tasks: it does what it is asked once for each Idempotency-Key, as its script says."""
import collections
import hashlib
import hmac
import http.server
import json
import threading

SECRET = "a secret of sixteen"
PROFILE_ASK = """# the shipped profile, and a question
profile: asked
summary: "as task, with a question before anything is repeated"
parameters:
  path: {kind: text, help: "path"}
amount: {unit: minor}
time: {format: rfc3339}
match: []
failure_final: false
not_found: {meaning: final}
settle: 0
idempotency: {kind: none, name: none, max_length: 64}
readers:
  done:
    object: payment
    status: code
    map: {SUCCESS: SUCCEEDED, NOT_FOUND: NOT_FOUND}
    fields: {reference: reference}
operations:
  act:
    method: POST
    path: "/${param.path}"
    body: '{"object":${request.task.object|json}}'
    reader: done
  ask:
    method: GET
    path: "/${param.path}/${request_no|url}"
    reader: done
"""


class Shop:
    """requests: all that came; effects: key -> how often it was done; answer(request) -> (status, headers, body bytes), or None: the connection
    is closed. hold(request): called before the effect, after(request): between effect and answer."""

    def __init__(self):
        self.requests, self.effects, self.lock = [], collections.Counter(), threading.Lock()
        self.answer = lambda request: say("SUCCESS")
        self.before = self.after = lambda request: True      # False: it goes no further
        shop = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.serve()

            def do_POST(self):
                self.serve()

            def serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = Request(self, body)
                with shop.lock:
                    shop.requests.append(request)
                if not shop.before(request):
                    self.close_connection = True
                    return
                if request.method == "POST":
                    with shop.lock:
                        shop.effects[request.key] = 1            # what deduplicates by the key
                done = shop.answer(request) if shop.after(request) else None
                if done is None:
                    self.close_connection = True
                    return
                status, headers, text = done
                try:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(text)
                except OSError:
                    pass                                         # whoever asked is gone

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None               # whoever asked was killed
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of(self, thing):
        with self.lock:
            return [r for r in self.requests if r.object == thing]


class Request:
    def __init__(self, handler, body):
        self.method, self.path, self.body = handler.command, handler.path, body
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.key = self.headers.get("idempotency-key")
        self.task = json.loads(body) if body else {}
        self.object = self.task.get("object")

    def signed(self):
        text = self.body + self.headers["x-timestamp"].encode()
        return hmac.compare_digest(self.headers["x-signature"], hmac.new(SECRET.encode(), text, hashlib.sha256).hexdigest())


def say(code, status=200, headers=None, **more):
    return status, {"Content-Type": "application/json", **(headers or {})}, json.dumps(dict(more, code=code)).encode()
