#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/requirements.md and docs/protocol.md keep their word: every file that they name exists, every test case that they
name stands in a file named in the same row (or in the page's only scheduler test), every requirement has its row, each row
has code and a test or names the issue that will bring them, and every link between our documents leads somewhere.

usage: check_traceability.py [CHECKOUT]
"""
import os
import re
import sys

HOME = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
IDS = [f"{letter}{n}" for letter, most in (("P", 17), ("N", 21), ("R", 8), ("C", 10), ("S", 7)) for n in range(1, most + 1)]
TOP = ["CMakeLists.txt", "proto", "actors", "broker", "sql", "tests", "docker", "README.md"]  # S7
PATH = re.compile(r"^[\w.-]+(/[\w.-]+)+$|^[\w-]+\.(md|txt|sql|py)$")
CASE = re.compile(r"^[a-z][a-z0-9]*(_[a-z0-9]+){2,}$")
FALLBACK = ["tests/unit/actors/scheduler/test_scheduler.c", "tests/unit/lib/worker/test_worker.c",
            "tests/unit/lib/core/test_lanes.c"]
problems = []


def text_of(path):
    with open(os.path.join(HOME, path), encoding="utf-8") as file:
        return file.read()


def find(path):
    """The path in the checkout of something that a page names: whole, or below sql/queries, or NULL."""
    if os.path.exists(os.path.join(HOME, path)):
        return path
    if "/" not in path:
        for root in ("sql/queries", "sql/migrations", "actors", "docs"):
            for folder, _, files in os.walk(os.path.join(HOME, root)):
                if path in files:
                    return os.path.relpath(os.path.join(folder, path), HOME)
    return None


def check_names(page):
    """Files and test cases in back quotes."""
    for number, line in enumerate(text_of(page).splitlines(), 1):
        quoted = re.findall(r"`([^`]+)`", line)
        tests = []
        for name in quoted:
            if PATH.match(name):
                path = find(name)
                if path is None:
                    problems.append(f"{page}:{number}: {name} does not exist")
                elif path.startswith("tests/") and os.path.isfile(os.path.join(HOME, path)):
                    tests.append(path)
        if not line.startswith("|"):
            continue
        cells = line.strip().strip("|").split(" | ")
        for name in re.findall(r"`([^`]+)`", cells[-1]):
            if CASE.match(name) and not any(name in text_of(path) for path in tests + FALLBACK):
                problems.append(f"{page}:{number}: no test case {name} in {', '.join(tests) or 'the usual files'}")


def check_ids(page):
    rows = {}
    for line in text_of(page).splitlines():
        match = re.match(r"\| ([A-Z]\d+) \| (.*)", line)
        if match:
            rows[match[1]] = match[2]
    for name in IDS:
        if name not in rows:
            problems.append(f"{page}: {name} has no row")
        elif not re.search(r"issue \d", rows[name]) and rows[name].count("`") < 4:
            problems.append(f"{page}: {name} names neither code and test nor an issue")


def check_links():
    for folder, folders, files in os.walk(HOME):
        folders[:] = [name for name in folders if name not in (".git", "build", "var", "node_modules")]
        for name in files:
            if not name.endswith(".md"):
                continue
            page = os.path.relpath(os.path.join(folder, name), HOME)
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text_of(page)):
                if "://" not in target and not os.path.exists(os.path.join(folder, target)):
                    problems.append(f"{page}: the link to {target} leads nowhere")


for checked in ("docs/requirements.md", "docs/protocol.md"):
    check_names(checked)
check_ids("docs/requirements.md")
check_links()
problems += [f"S7: {name} is missing at the top" for name in TOP if not os.path.exists(os.path.join(HOME, name))]
print("\n".join(problems) or "every file, test case, requirement and link is there")
sys.exit(bool(problems))
