# SPDX-License-Identifier: Apache-2.0
"""The console as a process, its operators, and requests to it as somebody.

    door = Door(rig)                            starts it
    alice = door.person("alice", "operator")    an operator with a password, logged in
    status, body, headers = alice.get("/api/overview")
    alice.post("/api/approvals", {...})         with the CSRF token of its session
"""
import base64
import ctypes
import hashlib
import hmac
import http.client
import json
import struct

from topology import PATIENCE_S

PASSWORD = "correct horse battery"
SETTINGS = {"console.listen": "127.0.0.1:0", "console.header_timeout": "2m", "console.body_timeout": "2m",
            "console.trusted_proxies": "127.0.0.1/32", "console.max_per_address": "1000", "console.login_rate": "1000"}


def password_hash(password):
    """As lib/password makes it, at the least cost there is: tests make many."""
    sodium = ctypes.CDLL("libsodium.so.23")
    sodium.sodium_init()
    out = ctypes.create_string_buffer(128)
    text = password.encode()
    if sodium.crypto_pwhash_str(out, text, ctypes.c_ulonglong(len(text)), ctypes.c_ulonglong(1), ctypes.c_size_t(8192)) != 0:
        raise RuntimeError("no hash")
    return out.value.decode()


def code_of(key, step):
    """RFC 6238, in Python's words."""
    mac = hmac.new(base64.b32decode(key), struct.pack(">Q", step), hashlib.sha1).digest()
    at = mac[-1] & 15
    return "%06d" % ((struct.unpack(">I", mac[at:at + 4])[0] & 0x7FFFFFFF) % 1000000)


def quoted(value):
    return "'" + (value if isinstance(value, str) else json.dumps(value)).replace("'", "''") + "'"


class Door:
    def __init__(self, rig, label="console", **settings):
        self.rig, self.actor = rig, rig.start("console", label=label, settings=dict(SETTINGS, **settings))
        self.port = int(self.actor.said("console.listening")[-1].split("port=")[1].split()[0])
        self.admin = None

    def add_operator(self, name, role, password=PASSWORD):
        """By SQL: the first of a database adds itself, and is an admin."""
        if self.admin is None and role != "admin":
            self.add_operator("root", "admin")
        self.admin = self.admin or name
        self.rig.sql(f"select postrider.operator_add({quoted(self.admin)}, " +
                     quoted({"name": name, "role": role, "password_hash": password_hash(password)}) + ")")

    def call(self, method, path, body=None, headers=None, client="198.51.100.1"):
        """(status, body, headers): JSON where it is, else text. client: whom the trusted proxy (the test) says it is from."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S * 3)
        fields = {"X-Forwarded-For": client, **(headers or {})}
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            fields.setdefault("Content-Type", "application/json")
        connection.request(method, path, body=body, headers=fields)
        answer = connection.getresponse()
        text = answer.read().decode()
        told = json.loads(text) if text and "json" in answer.getheader("Content-Type", "") else text
        said = answer.headers
        connection.close()
        return answer.status, told, said

    def too_large(self, path, length, headers):
        """The status of a request that says how long its body is, and sends none of it: it is refused at its head."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S * 3)
        connection.putrequest("POST", path)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(length), **headers}.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        status, said = answer.status, answer.headers
        connection.close()
        return status, said

    def login(self, name, password=PASSWORD, client="198.51.100.1", cookie=None):
        """(status, body, headers, Person)."""
        headers = {"Cookie": cookie} if cookie else {}
        status, body, said = self.call("POST", "/api/login", {"name": name, "password": password}, headers, client)
        cookie = (said.get("Set-Cookie") or "").split(";")[0]
        return status, body, said, Person(self, name, cookie, body.get("csrf", "") if isinstance(body, dict) else "")

    def person(self, name, role, client="198.51.100.1"):
        self.add_operator(name, role)
        status, body, _, person = self.login(name, client=client)
        if status != 200:
            raise AssertionError(f"{name} cannot log in: {status} {body}")
        return person


class Person:
    def __init__(self, door, name, cookie, csrf):
        self.door, self.name, self.cookie, self.csrf = door, name, cookie, csrf

    def get(self, path, **headers):
        return self.door.call("GET", path, headers={"Cookie": self.cookie, **headers})

    def post(self, path, body=None, **headers):
        fields = {"Cookie": self.cookie, "X-CSRF-Token": self.csrf, **headers}
        return self.door.call("POST", path, body if body is not None else {}, {name: value for name, value in fields.items() if value is not None})
