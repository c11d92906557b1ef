#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# packages.sh list SECTION...     the packages of these sections of packages.txt
# packages.sh missing SECTION...  those of them that are not installed
# packages.sh ensure SECTION...   installs those, by apt-get as root or through sudo
#
# Never asks anything; a machine on which it cannot install gets the list of what to install.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

list() {
    local section
    for section in "$@"; do
        awk -v want="[$section]" '/^#/ || /^$/ { next } /^\[/ { on = ($0 == want); next } on' \
            "$here/packages.txt"
    done | sort -u
}

missing() {
    local wanted
    mapfile -t wanted < <(list "$@")
    if ! command -v dpkg-query >/dev/null; then
        printf '%s\n' "${wanted[@]}"
        return
    fi
    comm -23 <(printf '%s\n' "${wanted[@]}" | sort) \
        <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null |
            awk '$2 == "installed" { print $1 }' | sort -u)
}

fail() {
    printf 'postrider: %s\n' "$1" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif [ -t 0 ] && [ -t 2 ]; then
        sudo "$@" # a person is there to type the password
    else
        sudo -n "$@"
    fi
}

ensure() {
    local packages apt log
    mapfile -t packages < <(missing "$@")
    [ "${#packages[@]}" -gt 0 ] || return 0
    command -v apt-get >/dev/null ||
        fail "these packages (Debian's names) are missing, and there is no apt-get: ${packages[*]}"
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null ||
            fail "missing packages; as root: apt-get install --no-install-recommends ${packages[*]}"
        as_root true 2>/dev/null ||
            fail "sudo refuses; as root: apt-get install --no-install-recommends ${packages[*]}"
    fi
    printf 'postrider: installing %d packages: %s\n' "${#packages[@]}" "${packages[*]}" >&2
    apt=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -q
        -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 -o Acquire::Retries=5)
    log=$(mktemp)
    install() { as_root "${apt[@]}" update && as_root "${apt[@]}" install -y --no-install-recommends "${packages[@]}"; }
    # a second and a third time: `update` ends well, too, when a mirror was away for a moment and it kept old lists
    if ! { install || { sleep 5 && install; } || { sleep 20 && install; }; } >"$log" 2>&1 </dev/null; then
        tail -n 40 "$log" >&2
        rm -f "$log"
        fail "apt-get failed (above); missing: ${packages[*]}"
    fi
    rm -f "$log"
    mapfile -t packages < <(missing "$@")
    [ "${#packages[@]}" = 0 ] || fail "still missing after apt-get: ${packages[*]}"
}

verb=${1:-}
shift || true
case $verb in
list | missing | ensure) "$verb" "$@" ;;
*)
    sed -n '3,5s/^# //p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
