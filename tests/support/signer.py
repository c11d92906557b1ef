# SPDX-License-Identifier: Apache-2.0
"""lib/sign for tests in Python: compiled from sign.c beside this file against the build's archives."""
import os
import re
import subprocess
import time

from judged import BUILD

HERE = os.path.dirname(os.path.abspath(__file__))
HOME = os.path.normpath(os.path.join(HERE, "..", ".."))
NOW = int(time.time())


class Signer:
    """lib/sign as a process, see sign.c."""

    def __init__(self, scratch):
        with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
            cache = file.read()
        sanitize = re.search(r"^PR_SANITIZE:\w+=(.+)$", cache, re.M)
        compiler = re.search(r"^CMAKE_C_COMPILER:\w+=(.+)$", cache, re.M)[1]
        program = os.path.join(scratch, "sign")
        subprocess.run(
            [compiler, "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Werror",
             *([f"-fsanitize={sanitize[1]}"] if sanitize else []), "-I", os.path.join(HOME, "lib"),
             os.path.join(HERE, "sign.c"), os.path.join(BUILD, "libpr_sign.a"),
             os.path.join(BUILD, "libpr_base.a"), "-lcrypto", "-lm", "-o", program], check=True)
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)

    def ask(self, *fields):
        self.process.stdin.write("\t".join(fields) + "\n")
        lines = []
        while (line := self.process.stdout.readline()) != ".\n":
            if not line:
                raise RuntimeError("the signer is gone")
            lines.append(line.rstrip("\n"))
        return lines

    def sign(self, body, secret, following="-", scheme="postrider", at=None, notify_id="n-1"):
        """(headers, body as sent)"""
        lines = self.ask("sign", scheme, notify_id, str(NOW if at is None else at), secret,
                         following, body.hex())
        if lines[0].startswith("error: "):
            raise ValueError(lines[0])
        headers = dict(line.split(": ", 1) for line in lines)
        return headers, bytes.fromhex(headers.pop("body"))
