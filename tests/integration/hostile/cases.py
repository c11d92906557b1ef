# SPDX-License-Identifier: Apache-2.0
"""The table: one hostile receiver a row, one sentence, and the right outcome.

What the scheduler makes of a result class (docs/protocol.md, N13):
    DELIVERED    done                           REFUSED, UNREACHABLE  retried; counts for the breaker
    THROTTLED    retried, not earlier than asked; nothing for the breaker
    GONE         endpoint switched off          OWN_FAULT             no attempt charged, no breaker
"""
import base64
import email.utils
import gzip
import hashlib
import hmac
import ssl
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

import bus
from receivers import Listener, closed_port, full_listener

D, R, T, G, U, O = "DELIVERED", "REFUSED", "THROTTLED", "GONE", "UNREACHABLE", "OWN_FAULT"

CONNECT_S, TLS_S, FIRST_BYTE_S, TOTAL_S = 3.0, 3.0, 3.0, 6.0  # as run.py configures them
SLACK_S = 20.0  # two slow cores, a hundred receivers in Python: bounds are upper ones only, and receivers hang longer

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nSUCCESS"


@dataclass
class Case:
    sentence: str
    result: str
    code: int = 0
    error: Any = ""                       # a class, or several that are right
    script: Optional[Callable] = None     # what the receiver does with a connection
    excerpt: Any = None                   # bytes, or a predicate on them; None: not looked at
    within_s: float = TOTAL_S
    job: dict = field(default_factory=dict)
    tls: Any = None
    host: str = "127.0.0.1"
    url: Optional[str] = None             # instead of the listener's
    retry_after_ms: Any = 0               # a number, or (least, most)
    check: Optional[Callable] = None      # on the listener, after the outcome; text = what is wrong
    raw_tls: bool = False                 # https, but the script sees the bare bytes
    guarded: bool = False                 # to the notifier without an allow-list
    listener: Any = None
    seq: int = 0


def answer(status, body=b"", headers=b"", reason=b"Whatever"):
    """A script: reads a request, gives this answer, keeps the connection."""
    data = b"HTTP/1.1 %d %s\r\nContent-Length: %d\r\n%s\r\n%s" % (status, reason, len(body), headers,
                                                                 body)
    return says(data)


def says(data, then=None):
    """A script: for each request these bytes, and then what `then` does (hang by default)."""
    def script(c):
        while c.request():
            c.send(data)
            if then:
                then(c)
                return
    return script


def close(c):
    c.sock.close()


def before_request(action):
    def script(c):
        action(c)
    return script


def after_request(action):
    def script(c):
        if c.request():
            action(c)
    return script


# ---- checks on what the receiver got ----

def header(request, name):
    for line in request.split(b"\r\n\r\n")[0].split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.lower() == name.lower().encode():
            return value.strip().decode()
    return None


def headers_named(request, name):
    head = request.split(b"\r\n\r\n")[0].lower()
    return head.count(b"\r\n" + name.lower().encode() + b":")


def signed_right(listener):
    request = listener.received[0]
    body = request.split(b"\r\n\r\n", 1)[1]
    stamp = header(request, "X-Timestamp")
    key = bus.SECRET.encode()
    if abs(time.time() - int(stamp)) > 60:
        return "X-Timestamp is not now"
    if header(request, "X-Signature") != hmac.new(key, body + stamp.encode(),
                                                  hashlib.sha256).hexdigest():
        return "X-Signature does not verify"
    signed = f"{header(request, 'webhook-id')}.{header(request, 'webhook-timestamp')}.".encode() + body
    standard = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    if header(request, "webhook-signature") != standard:
        return "webhook-signature does not verify"
    if header(request, "X-Notify-ID") != header(request, "webhook-id"):
        return "X-Notify-ID and webhook-id differ"
    if not header(request, "User-Agent").startswith("Postrider/"):
        return "User-Agent"
    if header(request, "Content-Type") != "application/json":
        return "Content-Type"
    return "" if header(request, "Accept-Encoding") is None else "compressed answers were asked for"


def two_signatures(listener):
    request = listener.received[0]
    if header(request, "X-Signature-Next") is None:
        return "no X-Signature-Next"
    return "" if len(header(request, "webhook-signature").split()) == 2 else "not two signatures"


def own_headers_kept_out(listener):
    request = listener.received[0]
    if header(request, "X-Custom") != "kept":
        return "X-Custom is gone"
    if header(request, "Host") == "evil.example" or headers_named(request, "Host") != 1:
        return "Host was overridden"
    if headers_named(request, "Content-Length") != 1 or header(request, "Transfer-Encoding"):
        return "framing was overridden"
    for name in ("X-Signature", "X-Timestamp", "X-Notify-ID", "webhook-id", "Content-Type",
                 "User-Agent"):
        if headers_named(request, name) != 1 or header(request, name) == "evil":
            return name + " was overridden"
    return "" if header(request, "X-Split") is None else "a header was split"


def form_encoded(listener):
    request = listener.received[0]
    if header(request, "Content-Type") != "application/x-www-form-urlencoded":
        return "Content-Type"
    return "" if b"sign=" in request.split(b"\r\n\r\n", 1)[1] else "no sign"


def untouched(listener):
    return "" if listener.connections == 0 else "a connection was made"


def one_request(listener):
    return "" if len(listener.received) == 1 else f"{len(listener.received)} requests"


EVIL = [("Host", "evil.example"), ("Content-Length", "1"), ("Transfer-Encoding", "chunked"),
        ("X-Signature", "evil"), ("x-timestamp", "evil"), ("X-Notify-ID", "evil"),
        ("webhook-id", "evil"), ("Content-Type", "evil"), ("User-Agent", "evil"),
        ("Connection", "close"), ("Expect", "100-continue"), ("X Bad Name", "evil"),
        ("X-Split", "a\tb\x01c"), ("X-Custom", "kept")]


def http_date(seconds_ahead):
    return email.utils.formatdate(time.time() + seconds_ahead, usegmt=True).encode()


def retry_date(status, seconds_ahead):
    """A script whose date is made when it answers."""
    def script(c):
        while c.request():
            c.send(b"HTTP/1.1 %d Busy\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n"
                   % (status, http_date(seconds_ahead)))
    return script


def plain(status, **more):
    return dict(code=status, script=answer(status, more.pop("body", b"")), **more)


def answers():
    """Answers in good HTTP: what counts as success and what does not."""
    json_ok = b'{"code":"SUCCESS","message":"ok"}'
    big = b"x" * 70000
    return [
        Case("200 and SUCCESS is success", D, 200, "", answer(200, b"SUCCESS"), b"SUCCESS",
             check=signed_right),
        Case("during a rotation both secrets sign", D, 200, "", answer(200, b"SUCCESS"),
             job=dict(secret_next=bus.seal("the-next-secret-of-all")), check=two_signatures),
        Case("the form scheme posts a form", D, 200, "", answer(200, b"SUCCESS"),
             job=dict(scheme="form-md5"), check=form_encoded),
        Case("custom headers never override ours", D, 200, "", answer(200, b"SUCCESS"),
             job=dict(headers=EVIL), check=own_headers_kept_out),
        Case("white space around SUCCESS is ignored", D, 200, "", answer(200, b" \r\nSUCCESS\t\n")),
        Case("JSON with code SUCCESS is success", D, 200, "", answer(200, json_ok), json_ok),
        Case("lower-case success is not success", R, 200, "body_mismatch", answer(200, b"success"),
             b"success"),
        Case("an HTML page with SUCCESS in it is not success", R, 200, "body_mismatch",
             answer(200, b"<html>SUCCESS</html>")),
        Case("an empty 200 is not success", R, 200, "body_mismatch", answer(200)),
        Case("201 is not success by the default rule", R, 201, ("body_mismatch", "status_other"),
             answer(201, b"SUCCESS")),
        Case("201 is success by the 2xx rule", D, 201, "", answer(201), job=dict(rule="2xx")),
        Case("204 without a body is success by the 2xx rule", D, 204, "",
             says(b"HTTP/1.1 204 No Content\r\n\r\n"), job=dict(rule="2xx")),
        Case("a body after 204 is no part of the answer", D, 204, "",
             says(b"HTTP/1.1 204 No Content\r\n\r\nSUCCESS and more"), b"", job=dict(rule="2xx")),
        Case("a body after 304 is no part of the answer", R, 304, ("redirect", "status_other"),
             says(b"HTTP/1.1 304 Not Modified\r\n\r\nSUCCESS"), b""),
        Case("an exact body rule holds", D, 200, "", answer(200, b"received"),
             job=dict(rule="body:received")),
        Case("a JSON field rule does not hold for another value", R, 200, "body_mismatch",
             answer(200, b'{"ret":"1"}'), job=dict(rule="json:ret=0")),
        Case("the same JSON key twice is no success", R, 200, "body_mismatch",
             answer(200, b'{"code":"SUCCESS","code":"FAIL"}')),
        Case("NUL bytes in the body are kept as they came", R, 200, "body_mismatch",
             answer(200, b"SUCC\0ESS\xff\xfe"), b"SUCC\0ESS\xff\xfe"),
        Case("only 1 KiB of the body is kept", R, 200, "body_mismatch", answer(200, b"y" * 5000),
             b"y" * 1024),
        Case("the whole body is judged, not the kept part", D, 200, "",
             answer(200, b'{"pad":"%s","code":"SUCCESS"}' % (b"z" * 30000))),
        Case("a body over 64 KiB is cut and refused", R, 200, "body_too_large",
             answer(200, b" " * 70000 + b"SUCCESS")),
        Case("a body over 64 KiB is no matter for the 2xx rule", D, 200, "", answer(200, big),
             b"x" * 1024, job=dict(rule="2xx")),
        Case("a redirect to a login page is a failure", R, 302, "redirect",
             answer(302, b"SUCCESS", b"Location: http://127.0.0.1:1/login\r\n"), check=one_request),
        Case("a permanent redirect is not followed", R, 308, "redirect",
             answer(308, b"", b"Location: /elsewhere\r\n"), check=one_request),
        Case("a redirect into the network is not followed", R, 307, "redirect",
             answer(307, b"", b"Location: http://169.254.169.254/latest\r\n"), job=dict(rule="2xx")),
        Case("401 is refused", R, **plain(401, error="status_4xx")),
        Case("404 is refused", R, **plain(404, error="status_4xx")),
        Case("500 is refused, whatever the body", R, 500, "status_5xx", answer(500, b"SUCCESS")),
        Case("502 from a proxy's page is refused", R, 502, "status_5xx",
             answer(502, b"<html>bad gateway</html>"), b"<html>bad gateway</html>"),
        Case("503 without Retry-After is refused", R, **plain(503, error="status_5xx")),
        Case("410 switches the endpoint off", G, **plain(410, error="gone")),
        Case("429 without Retry-After throttles", T, **plain(429, error="throttled")),
        Case("429 with Retry-After in seconds", T, 429, "throttled",
             answer(429, b"", b"Retry-After: 120\r\n"), retry_after_ms=120000),
        Case("429 with Retry-After as a date", T, 429, "throttled", retry_date(429, 90),
             retry_after_ms=(80000, 92000)),
        Case("503 with Retry-After in seconds throttles", T, 503, "throttled",
             answer(503, b"", b"retry-after:   7  \r\n"), retry_after_ms=7000),
        Case("503 with Retry-After as a date throttles", T, 503, "throttled", retry_date(503, 3600),
             retry_after_ms=(3500000, 3602000)),
        Case("Retry-After: 0 asks for no wait", T, 503, "throttled",
             answer(503, b"", b"Retry-After: 0\r\n")),
        Case("a date that has passed asks for no wait", T, 429, "throttled",
             answer(429, b"", b"Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n")),
        Case("a negative Retry-After is none: 503 is refused", R, 503, "status_5xx",
             answer(503, b"", b"Retry-After: -5\r\n")),
        Case("an absurd Retry-After is capped at 24 h", T, 429, "throttled",
             answer(429, b"", b"Retry-After: 99999999999999999999\r\n"),
             retry_after_ms=(0, 24 * 3600 * 1000)),
        Case("Retry-After on a 500 means nothing", R, 500, "status_5xx",
             answer(500, b"", b"Retry-After: 30\r\n")),
        Case("status 999 is refused", R, 999, ("status_other", "status_5xx"), answer(999, b"SUCCESS")),
    ]


def broken_http():
    """Answers that are no good HTTP."""
    head = b"HTTP/1.1 200 OK\r\n"
    many = b"".join(b"X-%d: %s\r\n" % (i, b"v" * 100) for i in range(2000))
    bomb = gzip.compress(b"SUCCESS" + b"\0" * (20 << 20))

    def chunked(c):
        c.send(head + b"Transfer-Encoding: chunked\r\n\r\n")
        c.flood(b"2000\r\n" + b"a" * 0x2000 + b"\r\n")

    def endless(c):
        c.send(head + b"\r\n")
        c.flood(b"b" * 65536)

    def endless_headers(c):
        c.send(head)
        c.flood(b"X-More: and more\r\n")

    def flood_1xx(c):
        c.flood(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")

    return [
        Case("HTTP/0.9 is refused", U, 0, "protocol", after_request(lambda c: c.send(b"SUCCESS\n"))),
        Case("a banner of another protocol", U, 0, "protocol",
             before_request(lambda c: (c.send(b"SSH-2.0-OpenSSH_9.2\r\n"), c.hang()))),
        Case("random bytes for a status line", U, 0, ("protocol", "reset"),
             after_request(lambda c: c.send(bytes(range(128, 256)) * 8))),
        Case("a status that is no number", U, 0, "protocol", says(b"HTTP/1.1 abc OK\r\n\r\n", close)),
        Case("HTTP/9.9 is refused", U, 0, ("protocol", "protocol_http2"),
             says(b"HTTP/9.9 200 OK\r\nContent-Length: 7\r\n\r\nSUCCESS", close)),
        Case("a TLS alert on a plain port", U, 0, "protocol",
             says(b"\x15\x03\x01\x00\x02\x02\x28", close)),
        Case("closed without a byte", U, 0, "empty_response", after_request(close)),
        Case("closed before the request was read", U, 0, ("empty_response", "reset"),
             before_request(close)),
        Case("reset after the request", U, 0, "reset", after_request(lambda c: c.reset())),
        Case("closed inside the status line", U, 0, ("empty_response", "protocol", "reset"),
             says(b"HTTP/1.1 2", close)),
        Case("closed inside the headers is no answer", U, 200, "protocol",
             says(head + b"Content-Le", close), job=dict(rule="2xx")),
        Case("closed inside the body", U, 200, "short_body",
             says(head + b"Content-Length: 50\r\n\r\nSUCCESS", close), b"SUCCESS"),
        Case("closed inside a chunk", U, 200, "short_body",
             says(head + b"Transfer-Encoding: chunked\r\n\r\n10\r\nSUCC", close), b"SUCC"),
        Case("reset inside the body", U, 200, "reset",
             says(head + b"Content-Length: 50\r\n\r\nSUCC",
                  lambda c: (time.sleep(0.2), c.reset())), b"SUCC"),
        Case("no length and closed is the end of the body", D, 200, "",
             says(b"HTTP/1.0 200 OK\r\n\r\nSUCCESS", close), b"SUCCESS"),
        Case("chunks are put together", D, 200, "",
             says(head + b"Transfer-Encoding: chunked\r\n\r\n4\r\nSUCC\r\n3\r\nESS\r\n0\r\n\r\n"),
             b"SUCCESS"),
        Case("a chunk size that is no number", U, 200, ("reset", "protocol"),
             says(head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nSUCCESS\r\n0\r\n\r\n")),
        Case("a chunk size beyond all integers", U, 200, ("reset", "protocol"),
             says(head + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nSUCCESS")),
        Case("a huge chunk that never comes", U, 200, "total_timeout",
             says(head + b"Transfer-Encoding: chunked\r\n\r\n7fffffff\r\nSUCC", lambda c: c.hang()),
             b"SUCC"),
        Case("endless chunks are cut", R, 200, "body_too_large", after_request(chunked),
             lambda e: len(e) == 1024),
        Case("an endless body is cut", R, 200, "body_too_large", after_request(endless), b"b" * 1024),
        Case("a negative length", U, 200, "protocol",
             says(head + b"Content-Length: -7\r\n\r\nSUCCESS", close)),
        Case("a length beyond all integers", U, 200, "protocol",
             says(head + b"Content-Length: 99999999999999999999999\r\n\r\nSUCC", close),
             job=dict(rule="2xx")),
        Case("a length that is no number", U, 200, "protocol",
             says(head + b"Content-Length: seven\r\n\r\nSUCCESS", close)),
        Case("two lengths that differ", U, 200, ("protocol", "short_body"),
             says(head + b"Content-Length: 7\r\nContent-Length: 70\r\n\r\nSUCCESS", close)),
        Case("two thousand headers are too many", U, 200, "headers_too_large",
             says(head + many + b"\r\nSUCCESS", close)),
        Case("endless headers are cut", U, 200, "headers_too_large", after_request(endless_headers)),
        Case("one header line of a megabyte", U, 200, "headers_too_large",
             says(head + b"X: " + b"w" * (1 << 20) + b"\r\n\r\n", close)),
        Case("an endless row of 1xx answers is cut", U, None, "headers_too_large",
             after_request(flood_1xx)),
        Case("1xx answers before the answer are skipped", D, 200, "",
             says(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nRetry-After: 5\r\n\r\n"
                  + OK), b"SUCCESS"),
        Case("101 when nobody asked is no success", U, 101,
             ("protocol", "first_byte_timeout", "total_timeout", "empty_response", "short_body"),
             says(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", lambda c: c.hang()),
             job=dict(rule="2xx")),
        Case("a compressed bomb is not unpacked", R, 200, "body_mismatch",
             answer(200, bomb[:60000], b"Content-Encoding: gzip\r\n"), bomb[:1024]),
        Case("a bomb as transfer encoding is cut", None, 200,
             ("body_too_large", "protocol", "body_mismatch", "short_body"),
             says(head + b"Transfer-Encoding: gzip, chunked\r\n\r\n%x\r\n" % len(bomb) + bomb
                  + b"\r\n0\r\n\r\n", close)),
        Case("more than the length says is no part of the answer", D, 200, "",
             says(OK + b"GARBAGE" * 10, close), b"SUCCESS"),
        Case("a folded line where the first header is due", U, None, "protocol",
             says(b"HTTP/.11 200\rMOTK\n folded: chunked\r\n\r\n4\r\nSUCC", close)),
        Case("folded headers do no harm", D, 200, "",
             says(head + b"X-A: b\r\n c\r\nContent-Length: 7\r\n\r\nSUCCESS")),
        Case("bare line feeds are read", D, 200, "",
             says(b"HTTP/1.1 200 OK\nContent-Length: 7\n\nSUCCESS")),
        Case("an answer before the request was read", D, 200, "",
             before_request(lambda c: (c.send(OK), c.request(), c.hang())), b"SUCCESS"),
        Case("a Set-Cookie is not sent back", D, 200, "",
             answer(200, b"SUCCESS", b"Set-Cookie: a=b\r\n")),
    ]


def slow():
    """Receivers that take their time: the bounds of N12, from below."""
    port, keep = full_listener()
    slow.keep = keep
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"
    return [
        Case("nobody listens", U, 0, "connect", url=f"http://127.0.0.1:{closed_port()}/"),
        Case("a full accept queue: connecting hangs", U, 0, "connect_timeout",
             url=f"http://127.0.0.1:{port}/", within_s=CONNECT_S),
        Case("the request is read, nothing is said", U, 0, "first_byte_timeout",
             after_request(lambda c: c.hang()), within_s=FIRST_BYTE_S),
        Case("the request is not even read", U, 0, "first_byte_timeout",
             before_request(lambda c: time.sleep(40)), within_s=FIRST_BYTE_S),
        Case("half a status line, then nothing", U, 0, ("total_timeout",),
             says(b"HTTP/1.1 200", lambda c: c.hang())),
        Case("headers that come byte by byte", U, None, "total_timeout",
             after_request(lambda c: c.drip(head, 0.4))),
        Case("a body that comes byte by byte", U, 200, "total_timeout",
             after_request(lambda c: (c.send(b"HTTP/1.1 200 OK\r\nContent-Length: 700\r\n\r\n"),
                                      c.drip(b"S" * 100, 0.4))), lambda e: e.startswith(b"SS")),
        Case("an endless body, byte by byte", U, 200, "total_timeout",
             after_request(lambda c: (c.send(b"HTTP/1.1 200 OK\r\n\r\n"), c.drip(b"T" * 100, 0.4))),
             lambda e: e.startswith(b"TT")),
        Case("SUCCESS came, but the body does not end", U, 200, "total_timeout",
             says(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nSUCCESS", lambda c: c.hang()),
             b"SUCCESS", job=dict(rule="2xx")),
        Case("a job's own timeout is shorter", U, 0, ("total_timeout", "first_byte_timeout"),
             after_request(lambda c: c.hang()), job=dict(timeout_ms=300), within_s=0.3),
        Case("slow, but within the time, is delivered", D, 200, "",
             after_request(lambda c: (time.sleep(0.4), c.send(OK), c.hang()))),
    ]


def over_tls(ca, other):
    """TLS: who is believed."""
    trust = dict(ca=ca.pem())
    old = dict(maximum=ssl.TLSVersion.TLSv1_2)
    ok = answer(200, b"SUCCESS")

    def garbage(c):
        c.sock.recv(4096)
        c.send(b"HTTP/1.1 400 Bad Request\r\n\r\nplain HTTP on a TLS port\n")

    def hello_then_nothing(c):
        c.sock.recv(65536)
        c.hang()

    return [
        Case("a private authority, by address", D, 200, "", ok, b"SUCCESS", job=trust,
             tls=ca.server("good"), check=signed_right),
        Case("a private authority, by name", D, 200, "", ok, job=trust, tls=ca.server("good2"),
             url="https://localhost:{port}/n"),
        Case("TLS 1.2 will do", D, 200, "", ok, job=trust, tls=ca.server("good12", **old)),
        Case("without that authority it is untrusted", U, 0, ("tls_untrusted", "tls_self_signed"), ok,
             tls=ca.server("unknown"), check=lambda l: "" if not l.received else "it was sent"),
        Case("another authority's certificate", U, 0, "tls_untrusted", ok, job=trust,
             tls=other.server("other"), check=lambda l: "" if not l.received else "it was sent"),
        Case("an expired certificate", U, 0, "tls_expired", ok, job=trust,
             tls=ca.server("expired", days=(-3, -1)),
             check=lambda l: "" if not l.received else "it was sent"),
        Case("a certificate of tomorrow", U, 0, "tls_expired", ok, job=trust,
             tls=ca.server("early", days=(1, 2))),
        Case("a self-signed certificate", U, 0, "tls_self_signed", ok, job=trust,
             tls=ca.server("selfsigned", self_signed=True)),
        Case("a certificate for another host", U, 0, "tls_wrong_host", ok, job=trust,
             tls=ca.server("wronghost", hosts=("shop.example",), addresses=()),
             url="https://localhost:{port}/n"),
        Case("a certificate for another address", U, 0, "tls_wrong_host", ok, job=trust,
             tls=ca.server("wrongip", hosts=("localhost",), addresses=("192.0.2.1",))),
        Case("the handshake never goes on", U, 0, "tls_timeout", before_request(hello_then_nothing),
             raw_tls=True, job=trust, within_s=CONNECT_S + TLS_S),
        Case("reset during the handshake", U, 0, "tls",
             before_request(lambda c: (c.sock.recv(10), c.reset())), raw_tls=True, job=trust),
        Case("plain HTTP on a TLS port", U, 0, "tls", before_request(garbage), raw_tls=True, job=trust),
        Case("plain HTTP is spoken to a TLS port", U, None, ("empty_response", "reset", "protocol"), ok,
             tls=ca.server("plainclient"), url="http://127.0.0.1:{port}/"),
        Case("a CA text that is no certificate is our own fault", O, 0, "bad_tls_ca", ok,
             job=dict(ca="-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n"),
             tls=ca.server("badca"), check=lambda l: "" if not l.received else "it was sent"),
        Case("closed after the answer without goodbye", D, 200, "",
             says(OK, lambda c: c.reset()), job=trust, tls=ca.server("rude")),
        Case("HTTP/2 was offered, HTTP/1.1 is spoken", D, 200, "", ok, job=dict(http2=True, **trust),
             tls=ca.server("h1", alpn=["http/1.1"])),
        Case("HTTP/2 was agreed, garbage is spoken", U, 0,
             ("protocol_http2", "reset", "protocol", "empty_response"),
             before_request(lambda c: (c.sock.recv(65536), c.send(b"HTTP/1.1 200 OK\r\n\r\nSUCCESS"),
                                       c.hang())),
             job=dict(http2=True, **trust), tls=ca.server("h2bad", alpn=["h2"])),
        Case("HTTP/2 was agreed, nothing is said", U, 0, ("first_byte_timeout", "total_timeout"),
             before_request(lambda c: c.hang()), job=dict(http2=True, **trust),
             tls=ca.server("h2mute", alpn=["h2"])),
    ]


def addresses(ca):
    """Where we do not go, whatever the URL says. The guarded notifier has no allow-list."""
    trap = Listener(answer(200, b"SUCCESS"))
    trap6 = Listener(answer(200, b"SUCCESS"), host="::1")
    cases = [
        Case("an IPv6 receiver on the allow-list", D, 200, "", answer(200, b"SUCCESS"), host="::1"),
        Case("an address that is not on the allow-list", O, 0, "forbidden_address",
             url=f"https://127.0.0.2:{trap.port}/", check=lambda _: untouched(trap)),
        Case("plain http to a name is refused by configuration", O, 0, "plain_http_refused",
             url=f"http://localhost:{trap.port}/"),
        Case("a name that does not exist", U, 0, ("dns", "dns_timeout"),
             url="https://no-such-host.invalid/", within_s=CONNECT_S),
    ]
    refused = {
        "a name that leads to loopback": f"http://localhost:{trap.port}/",
        "loopback itself": f"http://127.0.0.1:{trap.port}/",
        "IPv6 loopback": f"http://[::1]:{trap6.port}/",
        "loopback mapped into IPv6": f"http://[::ffff:127.0.0.1]:{trap.port}/",
        "loopback mapped, in hex": f"http://[::ffff:7f00:1]:{trap.port}/",
        "loopback through NAT64": f"http://[64:ff9b::7f00:1]:{trap.port}/",
        "an old IPv4-compatible form": f"http://[::127.0.0.1]:{trap.port}/",
        "the unspecified address": f"http://0.0.0.0:{trap.port}/",
        "private network 10": "http://10.0.0.1/",
        "private network 172.16": "http://172.16.0.1/",
        "private network 192.168": "http://192.168.1.1/",
        "carrier-grade NAT": "http://100.64.0.1/",
        "the cloud's metadata address": "http://169.254.169.254/latest/meta-data/",
        "IPv6 link-local": "http://[fe80::1]/",
        "IPv6 unique local": "http://[fd00::1]/",
        "broadcast": "http://255.255.255.255/",
    }
    for sentence, url in refused.items():
        cases.append(Case("refused: " + sentence, O, 0, "forbidden_address", url=url, guarded=True,
                          check=lambda _: untouched(trap) or untouched(trap6), within_s=CONNECT_S))
    for sentence, url in {
            "a decimal host": "http://2130706433/", "a short host": "http://127.1/",
            "an octal host": "http://0177.0.0.1/", "credentials in the URL": "http://a:b@127.0.0.1/",
            "another scheme": "gopher://127.0.0.1/", "a line break": "http://127.0.0.1/\r\nX: y",
    }.items():
        cases.append(Case("refused: " + sentence, O, 0, "bad_url", url=url, guarded=True))
    return cases


def own_faults():
    """Our own configuration: never the receiver's fault, never an attempt."""
    trap = Listener(answer(200, b"SUCCESS"))

    def case(sentence, error, **job):
        return Case(sentence, O, 0, error, url=trap.url(), job=job, check=lambda _: untouched(trap))
    return [
        case("a secret sealed with another key", "bad_secret", secret=bus.seal(bus.SECRET, key=b"k" * 32)),
        case("another merchant's sealed secret", "bad_secret", secret=bus.seal(bus.SECRET, merchant="m2")),
        case("no secret", "bad_secret", secret=b""),
        case("a scheme that nobody knows", "bad_config", scheme="rot13"),
        case("a success rule that nobody knows", "bad_config", rule="maybe"),
        case("an egress that nobody knows", "bad_config", egress="carrier-pigeon"),
        case("an egress proxy that is not there", "proxy", egress=f"http://127.0.0.1:{closed_port()}"),
        case("a SOCKS proxy that is not there", "proxy", egress=f"socks5h://127.0.0.1:{closed_port()}"),
        case("a local address that is not ours", "proxy", egress="address:192.0.2.99"),
    ]


def table(ca, other):
    return (answers() + broken_http() + slow() + over_tls(ca, other) + addresses(ca) + own_faults())
