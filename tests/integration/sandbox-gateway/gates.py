# SPDX-License-Identifier: Apache-2.0
"""One pretend gateway as a merchant meets it: requests built by lib/gateway, sent to postrider-sandbox,
answers and webhooks judged by lib/gateway."""
import http.client
import http.server
import json
import threading
import time

NONCE = "593bec0c930bf1afeb40b4a08c8fb242"


class Collector:
    """A merchant's address for webhooks: keeps what comes, answers as it is told."""

    def __init__(self):
        self.got, self.status, self.body = [], 200, b"success"
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # noqa: N802
                body = self.rfile.read(int(self.headers["Content-Length"]))
                owner.got.append((self.path, dict(self.headers.items()), body))
                self.send_response(owner.status)
                self.send_header("Content-Length", str(len(owner.body)))
                self.end_headers()
                self.wfile.write(owner.body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a sandbox that is killed hangs up on us
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server.server_port}/{path}"

    def of(self, path):
        return [(headers, body) for at, headers, body in self.got if at == "/" + path]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Gate:
    """An account at one gateway."""

    def __init__(self, box, tool, collector, profile, account, parameters=None, request=None,
                 **more):
        self.box, self.tool, self.collector = box, tool, collector
        self.profile, self.name, self.request = profile, account, request
        self.token = None
        made = self.set(parameters=parameters or {}, notify_url=collector.url(account), **more)
        self.parameters = list(made["parameters"].items())
        self.read = []

    def set(self, **more):
        """POST /control/gateway/account"""
        return self.control("account", **more)

    def control(self, what, **more):
        status, _, body = self.box.call("POST", f"/control/gateway/{what}", json.dumps(
            {"profile": self.profile, "account": self.name, **more}))
        if status != 200:
            raise RuntimeError(f"{what}: {status} {body}")
        return json.loads(body)

    def stats(self):
        return json.loads(self.box.call(
            "GET", f"/control/gateway/stats?profile={self.profile}&account={self.name}")[2])

    def row(self, number):
        """The ledger's row of our number; None: there is none."""
        status, _, body = self.box.call(
            "GET", f"/control/gateway/order?profile={self.profile}&account={self.name}"
                   f"&request_no={number}")
        return json.loads(body) if status == 200 else None

    def build(self, operation, facts, now=None):
        facts = {"currency": "CNY", "notify_url": self.collector.url(self.name),
                 "return_url": "https://shop.example/back", "token": self.token or "none",
                 "request": self.request or "{}", **facts}
        return self.tool.ask("build", self.profile, self.parameters, now or int(time.time()),
                             operation=operation, nonce=NONCE, facts=facts)

    def send(self, made):
        """(status, headers, body); raises what http.client raises."""
        return self.box.call(made["method"], made["target"], made["body"] or None, made["headers"])

    def judge(self, made, answer):
        status, headers, body = answer
        return self.tool.ask("judge", self.profile, self.parameters, int(time.time()),
                             operation=made["operation"], http=status, headers=headers, body=body)

    def ask(self, operation, **facts):
        """Builds, sends, judges: the evidence."""
        made = self.build(operation, facts)
        if "error" in made:
            raise RuntimeError(f"{operation}: {made['error']}")
        return self.judge(made, self.send(made))

    def begin(self, operation, **facts):
        """Sends a request whose answer nobody waits for: the connection."""
        made = self.build(operation, facts)
        connection = http.client.HTTPConnection(self.box.host, self.box.port, timeout=60)
        connection.request(made["method"], made["target"], made["body"] or None, made["headers"])
        return connection

    def webhooks(self):
        """All that came, each read once: verdict, reason, items."""
        came = self.collector.of(self.name)
        for headers, body in came[len(self.read):]:
            self.read.append(self.tool.ask("read", self.profile, self.parameters, int(time.time()),
                                           headers=headers, body=body))
        return self.read

    def heard(self, number, status):
        """Verified items of this number and status."""
        return [item for one in self.webhooks() if one["verdict"] == "verified"
                for item in one["items"]
                if number in (item["request_no"], item["refund_no"]) and item["status"] == status]
