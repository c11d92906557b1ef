# SPDX-License-Identifier: Apache-2.0
"""lib/gateway for tests in Python: compiled from gateway_tool.c beside this file."""
import json
import os
import re
import subprocess

from judged import BUILD

HERE = os.path.dirname(os.path.abspath(__file__))
HOME = os.path.normpath(os.path.join(HERE, "..", ".."))


class GatewayTool:
    """lib/gateway as a process, see gateway_tool.c."""

    def __init__(self, scratch):
        with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
            cache = file.read()
        sanitize = re.search(r"^PR_SANITIZE:\w+=(.+)$", cache, re.M)
        compiler = re.search(r"^CMAKE_C_COMPILER:\w+=(.+)$", cache, re.M)[1]
        program = os.path.join(scratch, "gateway_tool")
        archives = [os.path.join(BUILD, f"libpr_{name}.a")
                    for name in ("gateway", "statement", "sign", "core", "base")]
        subprocess.run(
            [compiler, "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Werror",
             *([f"-fsanitize={sanitize[1]}"] if sanitize else []), "-I", os.path.join(HOME, "lib"),
             os.path.join(HERE, "gateway_tool.c"), *archives, "-lyaml", "-ljansson", "-lcrypto",
             "-lcsv", "-lxml2", "-lzip", "-lz", "-lm", "-o", program], check=True)
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)

    def ask(self, do, profile, parameters, now, **more):
        """parameters: [(name, value)]; body: bytes"""
        if "body" in more:
            more["body"] = more["body"].hex()
        self.process.stdin.write(json.dumps({
            "do": do, "profile": os.path.join(HOME, "profiles", profile + ".yaml"),
            "parameters": parameters, "now": now, **more}) + "\n")
        answer = json.loads(self.process.stdout.readline())
        if "body" in answer:
            answer["body"] = bytes.fromhex(answer["body"])
        return answer

    def close(self):
        """The exit code."""
        self.process.stdin.close()
        return self.process.wait()
