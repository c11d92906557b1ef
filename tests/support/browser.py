# SPDX-License-Identifier: Apache-2.0
"""Debian's chromium, headless, by the WebDriver protocol (W3C) of chromium-driver: plain HTTP and JSON.

    with Browser() as browser:
        browser.open("http://127.0.0.1:1234/")
        browser.wait("#main h1")                   the element, as soon as it is there
        browser.type("input[name=name]", "alice")
        browser.click("button[type=submit]")       as a person does: what cannot be seen cannot be clicked
        browser.run("return document.title")
        browser.screenshot("docs/console/x.png")

Nothing waits for a fixed time: wait() and until() look until a deadline.
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

from judged import wait_for

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key that the protocol gives an element's reference
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--no-proxy-server", "--lang=en-US",
             "--force-color-profile=srgb", "--hide-scrollbars"]
PATIENCE_S = 30.0


class BrowserError(Exception):
    def __init__(self, status, value):
        super().__init__(f"{status}: {value.get('error')}: {value.get('message', '')[:300]}")
        self.kind = value.get("error", "")


class Browser:
    def __init__(self, width=1000, height=700):
        self.profile = tempfile.mkdtemp(prefix="browser.", dir=os.environ.get("TEST_TMP"))
        self.log = open(os.path.join(self.profile, "driver.log"), "w", encoding="utf-8")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.address, self.session = None, None
        try:
            self.address = f"http://127.0.0.1:{self._port()}"
            made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "acceptInsecureCerts": True, "goog:loggingPrefs": {"browser": "ALL"},
                "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": ARGUMENTS + [
                    f"--user-data-dir={self.profile}/profile", f"--window-size={width},{height}"]}}}})
            self.session = "/session/" + made["sessionId"]
        except BaseException:
            self.close()
            raise

    def _port(self):
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                return int(line.rsplit("port", 1)[1].strip().rstrip("."))
        raise RuntimeError("chromedriver did not start")

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data=data, method=method, headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=PATIENCE_S * 5) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as failure:
            raise BrowserError(failure.code, json.load(failure)["value"]) from None

    def close(self):
        try:
            if self.session:
                self._call("DELETE", self.session)
        except (BrowserError, OSError):
            pass
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()
            self.log.close()
            shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- pages --

    def open(self, address):
        self._call("POST", self.session + "/url", {"url": address})

    def run(self, script, *arguments):
        return self._call("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def address_now(self):
        return self._call("GET", self.session + "/url")

    def size(self, width, height):
        self._call("POST", self.session + "/window/rect", {"width": width, "height": height})

    def cookies(self):
        return self._call("GET", self.session + "/cookie")

    def set_cookie(self, name, value):
        self._call("POST", self.session + "/cookie", {"cookie": {"name": name, "value": value}})

    def forget_cookies(self):
        self._call("DELETE", self.session + "/cookie")

    def errors(self):
        """What the console of the browser says at level SEVERE since it was asked last: scripts that failed, refused by policy."""
        return [line["message"] for line in self._call("POST", self.session + "/se/log", {"type": "browser"}) if line["level"] == "SEVERE"]

    def screenshot(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._call("GET", self.session + "/screenshot")))

    # -- elements, by CSS selector --

    def find(self, selector):
        """Reference of the first that is shown; None: there is none."""
        return self.run("""return [...document.querySelectorAll(arguments[0])].find((one) => one.checkVisibility()) || null""", selector)

    def wait(self, selector, text=None):
        """Until one is shown, that has this text somewhere in it."""
        def look():
            return self.run("""return [...document.querySelectorAll(arguments[0])].find((one) => one.checkVisibility() &&
                               (arguments[1] === null || one.textContent.includes(arguments[1]))) || null""", selector, text)
        try:
            return wait_for(look, PATIENCE_S / 5, f"{selector} {text or ''}")
        except TimeoutError as late:
            raise TimeoutError(f"{late}; the page says: {self.text('body')[:1500]}") from None

    def gone(self, selector):
        wait_for(lambda: self.find(selector) is None, PATIENCE_S / 5, f"{selector} to go")

    def text(self, selector):
        return self.run("""const one = document.querySelector(arguments[0]); return one ? one.innerText : "";""", selector)

    def click(self, selector, text=None):
        """Clicks it as soon as it can be clicked: a page may be drawn anew between the look and the click."""
        def try_it():
            reference = self.wait(selector, text)[ELEMENT]
            try:
                self._call("POST", f"{self.session}/element/{reference}/click", {})
                return True
            except BrowserError as failure:
                if failure.kind in ("stale element reference", "element click intercepted", "element not interactable"):
                    return False
                raise
        wait_for(try_it, PATIENCE_S / 5, f"{selector} to be clicked")

    def type(self, selector, text):
        """Replaces what the field says."""
        reference = self.wait(selector)[ELEMENT]
        self._call("POST", f"{self.session}/element/{reference}/clear", {})
        self._call("POST", f"{self.session}/element/{reference}/value", {"text": text})

    def choose(self, selector, value):
        self.wait(selector)
        self.run("""const one = document.querySelector(arguments[0]); one.value = arguments[1];
                    one.dispatchEvent(new Event("change", {bubbles: true}));""", selector, value)

    def press(self, *keys):
        """Keys to whatever has the focus: "Tab", "Enter", "Escape", or a character."""
        codes = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Space": " "}
        actions = [{"type": kind, "value": codes.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", self.session + "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})
