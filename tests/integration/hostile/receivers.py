# SPDX-License-Identifier: Apache-2.0
"""Receivers that misbehave: a listener per case, a thread per connection, raw bytes."""
import socket
import ssl
import struct
import threading
import time

PATIENCE_S = 60  # no receiver outlives the suite


class Connection:
    """One accepted connection, as the case's script sees it."""

    def __init__(self, sock, number, listener):
        self.sock = sock
        self.number = number  # which connection of its listener, from 0
        self.listener = listener
        self.requests = 0

    def request(self):
        """Reads one whole request; b'' when the other side closed instead."""
        data = b""
        while b"\r\n\r\n" not in data:
            got = self.sock.recv(65536)
            if not got:
                return b""
            data += got
        head, _, body = data.partition(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        while len(body) < length:
            got = self.sock.recv(65536)
            if not got:
                return b""
            body += got
        self.requests += 1
        self.listener.note(head + b"\r\n\r\n" + body)
        return head + b"\r\n\r\n" + body

    def send(self, data):
        self.sock.sendall(data)

    def drip(self, data, every_s):
        for i in range(len(data)):
            self.send(data[i:i + 1])
            time.sleep(every_s)

    def flood(self, chunk, limit_bytes=64 << 20):
        """Sends chunk over and over until the other side has had enough."""
        sent = 0
        while sent < limit_bytes:
            self.send(chunk)
            sent += len(chunk)

    def hang(self):
        """Says nothing until the other side goes."""
        while self.sock.recv(65536):
            pass

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


class Listener:
    """Runs script(connection) for each connection; remembers what came."""

    def __init__(self, script, host="127.0.0.1", tls=None, port=0, raw_tls=False):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind((host, port))
        self.sock.listen(512)
        self.host, self.port = host, self.sock.getsockname()[1]
        self.script, self.tls = script, tls
        self.scheme = "https" if tls or raw_tls else "http"
        self.lock = threading.Lock()
        self.received = []
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, host=None, path="/notify"):
        host = host or (f"[{self.host}]" if ":" in self.host else self.host)
        return f"{self.scheme}://{host}:{self.port}{path}"

    def note(self, request):
        with self.lock:
            self.received.append(request)

    def _accept(self):
        while True:
            try:
                sock, _ = self.sock.accept()
            except OSError:
                return
            number = self.connections
            self.connections += 1
            threading.Thread(target=self._serve, args=(sock, number), daemon=True).start()

    def _serve(self, sock, number):
        sock.settimeout(PATIENCE_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(sock, number, self)
        try:
            if self.tls:
                connection.sock = self.tls.wrap_socket(sock, server_side=True)
            self.script(connection)
        except (OSError, ssl.SSLError, ValueError):
            pass  # the other side has gone: that is what most cases are about
        finally:
            try:
                connection.sock.close()
            except OSError:
                pass


def full_listener():
    """A port whose accept queue is full: SYNs are dropped, connecting hangs. Gives (port, keep)."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(0)
    keep = [sock]
    for _ in range(4):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(sock.getsockname())
        keep.append(filler)
    return sock.getsockname()[1], keep


def closed_port():
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    sock.close()
    return port
