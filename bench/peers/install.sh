#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# install.sh DIR: the peers' programs with their packages, as package-lock.json pins them, in DIR (outside the repository).
# What is there already is kept when it was made from the same files. Needs node 20 or newer and npm.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$1

fail() {
    printf 'peers: %s\n' "$1" >&2
    exit 1
}

for program in node npm; do
    command -v "$program" >/dev/null || fail "$program is missing: the peers are Node programs (node 20 or newer, npm)"
done
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || fail "node $(node --version) is too old: 20 or newer"

mkdir -p -- "$dir"
sum=$(cat "$here"/package.json "$here"/package-lock.json | sha256sum)
if [ "$(cat "$dir/installed" 2>/dev/null)" != "$sum" ]; then
    rm -rf -- "${dir:?}/node_modules" "$dir/installed"
    cp -- "$here"/package.json "$here"/package-lock.json "$dir"
    # no scripts of theirs are run; versions are pinned, newer engines than ours are only warned of
    (cd "$dir" && timeout 180 npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --loglevel=error >npm.log 2>&1) || {
        tail -n 5 "$dir/npm.log" >&2
        fail 'the packages cannot be installed: is the npm registry reached?'
    }
    printf '%s\n' "$sum" >"$dir/installed"
fi
cp -- "$here"/*.mjs "$here"/*.json "$dir"
