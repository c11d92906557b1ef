#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh BUILD_DIR TARGET [CMAKE_ARGUMENT...]: configures and builds TARGET when a source is
# newer than the last success. One build of a directory at a time; a second caller waits.
# Output only on failure, or on a terminal's request (PR_VERBOSE=1).
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$1
target=$2
shift 2
stamp=$build/.built-$target
mkdir -p "$build"

# Directories count too: a removed or renamed file changes its folder.
sources=()
for name in CMakeLists.txt CMakePresets.json cmake lib actors broker cli sandbox bench proto sql tests; do
    [ -e "$home/$name" ] && sources+=("$home/$name")
done

wanted() {
    [ -e "$stamp" ] || return 0
    [ "$(cat "$stamp")" = "$*" ] || return 0
    [ -n "$(find "${sources[@]}" -name __pycache__ -prune -o -newer "$stamp" -print -quit)" ]
}

wanted "$@" || exit 0
exec 9>"$build/.lock"
flock 9
wanted "$@" || exit 0 # somebody else has just built it

# Written before the build and renamed after it: what changes meanwhile is newer than the stamp.
begin=$(mktemp "$build/.begin.XXXXXX")
printf '%s\n' "$*" >"$begin"
log=$build/build-$target.log
[ -z "${PR_QUIET:-}" ] && printf 'postrider: building %s (log: %s)\n' "$target" "$log" >&2
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
run() {
    cmake -S "$home" -B "$build" -G Ninja "${launcher[@]}" "$@" &&
        cmake --build "$build" --target "$target"
}
if [ -n "${PR_VERBOSE:-}" ]; then
    run "$@" 9>&-
elif ! run "$@" >"$log" 2>&1 9>&-; then
    grep -E -A5 'error|FAILED|CMake Error' "$log" | head -n 80 >&2 || tail -n 40 "$log" >&2
    printf 'postrider: the build failed; all of it in %s\n' "$log" >&2
    rm -f "$begin"
    exit 1
fi
mv "$begin" "$stamp"
