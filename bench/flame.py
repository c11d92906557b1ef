#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A flame graph, and where the time went as a table, from `perf script`.

    perf record -e cpu-clock -F 499 -a --call-graph dwarf,4096 -o drain.perf -- sleep 3    # during a drain
    perf script -i drain.perf | bench/flame.py --svg drain.svg --only postrider,postgres

One box a function under its callers, as wide as its share of the samples; processes stand at the bottom, threads of one
name together. The table on stdout: each process with its share of all samples; in it the libraries and the functions that ran
themselves, with their shares of the process. Idle time is left out.
"""
import argparse
import collections
import html
import re
import sys

ROW, WIDTH = 17, 1200  # px
HEAD = re.compile(r"^(\S.*?)\s+\d+(?:/\d+)?\s+(?:\[\d+\]\s+)?[\d.]+:")
FRAME = re.compile(r"^\s+[0-9a-f]+ (.*) \((.*)\)$")
IDLE = ("swapper", "perf")
COLOURS = {"kernel": "#d9a441", "libc": "#8fb8de", "ours": "#7fb77e", "other": "#c9c9c9", "postgres": "#b39ddb"}


def samples(lines):
    """Yields (process, [(function, library), ...]) with the innermost frame first."""
    process, frames = None, []
    for line in lines:
        head, frame = HEAD.match(line), FRAME.match(line)
        if frame and process:
            frames.append((re.sub(r"\+0x[0-9a-f]+$", "", frame.group(1)), frame.group(2).rsplit("/", 1)[-1]))
        elif head:
            process, frames = head.group(1), []
        elif not line.strip() and process:
            yield process, frames
            process = None
    if process:
        yield process, frames


def kind(function, library):
    if library.startswith("[kernel") or library == "[unknown]" and function.startswith("__"):
        return "kernel"
    if library.startswith(("libc.", "libc-", "ld-", "[vdso")):
        return "libc"
    if library.startswith("postrider"):
        return "ours"
    return "postgres" if library == "postgres" else "other"


class Box:
    def __init__(self):
        self.count, self.inner, self.kind = 0, {}, "other"


def add(root, process, frames):
    root.count += 1
    box = root.inner.setdefault(process, Box())
    box.count += 1
    for function, library in reversed(frames):
        box = box.inner.setdefault(function, Box())
        box.count += 1
        box.kind = kind(function, library)


def depth_of(box, least):
    return 1 + max((depth_of(inner, least) for inner in box.inner.values() if inner.count >= least), default=0)


def draw(box, name, x, y, scale, total, least, out):
    width = box.count * scale
    if 100 * box.count < least * total:
        return
    share = 100 * box.count / total
    title = html.escape(f"{name}: {share:.2f} %")
    text = html.escape(name[: int(width / 7)]) if width > 20 else ""
    out.append(f'<g><title>{title}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 1}" rx="1" '
               f'fill="{COLOURS[box.kind]}"/><text x="{x + 2:.1f}" y="{y + 12}">{text}</text></g>')
    for inner_name, inner in sorted(box.inner.items(), key=lambda item: -item[1].count):
        draw(inner, inner_name, x, y - ROW, scale, total, least, out)
        x += inner.count * scale


def svg(root, least):
    height = ROW * (depth_of(root, least * root.count / 100) + 1)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="monospace" font-size="11">',
           '<rect width="100%" height="100%" fill="#fff"/>']
    draw(root, f"all: {root.count} samples", 0, height - ROW, WIDTH / root.count, root.count, least, out)
    return "\n".join(out + ["</svg>", ""])


def table(flat, processes, total, rows):
    print("| process | share | of it, by library | by function |\n| --- | --- | --- | --- |")
    for process, count in processes.most_common():
        if count / total < 0.01:
            continue
        libraries = collections.Counter()
        for (_, library), n in flat[process].items():
            libraries["kernel" if library.startswith("[kernel") else re.sub(r"\.so[.0-9]*$", "", library)] += n
        by_library = [f"{library} {100 * n / count:.0f} %" for library, n in libraries.most_common(6)]
        named = [(function, n) for (function, _), n in flat[process].most_common() if function != "[unknown]"]
        by_function = [f"`{function}` {100 * n / count:.1f}" for function, n in named[:rows]]
        print(f"| {process} | {100 * count / total:.1f} % | {', '.join(by_library)} | {', '.join(by_function)} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--svg", help="write the flame graph there")
    parser.add_argument("--only", default="", help="processes whose names begin with one of these, by commas")
    parser.add_argument("--least", type=float, default=0.2, help="percent: narrower boxes are left out (0.2)")
    parser.add_argument("--rows", type=int, default=8, help="functions a process in the table")
    arguments = parser.parse_args()
    root, flat, processes = Box(), collections.defaultdict(collections.Counter), collections.Counter()
    for process, frames in samples(sys.stdin):
        if process.startswith(IDLE) or arguments.only and not process.startswith(tuple(arguments.only.split(","))):
            continue
        add(root, process, frames)
        processes[process] += 1
        flat[process][frames[0] if frames else ("?", "?")] += 1
    if root.count == 0:
        sys.exit("flame.py: no samples")
    if arguments.svg:
        with open(arguments.svg, "w", encoding="utf-8") as file:
            file.write(svg(root, arguments.least))
    table(flat, processes, root.count, arguments.rows)


if __name__ == "__main__":
    main()
