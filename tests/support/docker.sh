# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Containers for tests, on machines where no daemon runs and no image can be pulled: starts
# dockerd when there is none (and stops that one again), and makes the base image
# debian:bookworm-slim by debootstrap when it is missing. Sourced.

PR_BASE_IMAGE=debian:bookworm-slim
pr_dockerd_pid=

# docker_start: exit code 1 when containers cannot be run here (not root, no kernel support).
docker_start() {
    docker info >/dev/null 2>&1 && return 0
    [ "$(id -u)" = 0 ] || return 1
    dockerd >"${TEST_TMP:-/tmp}/dockerd.log" 2>&1 </dev/null &
    pr_dockerd_pid=$!
    local i
    for ((i = 0; i < 1800; i++)); do
        docker info >/dev/null 2>&1 && return 0
        kill -0 "$pr_dockerd_pid" 2>/dev/null || break
        sleep 0.1
    done
    tail -n 5 "${TEST_TMP:-/tmp}/dockerd.log" >&2
    return 1
}

# Only the daemon that we started.
docker_stop() {
    [ -n "$pr_dockerd_pid" ] || return 0
    kill "$pr_dockerd_pid" 2>/dev/null
    wait "$pr_dockerd_pid" 2>/dev/null
    pr_dockerd_pid=
}

# pr_rootfs DIR: a minimal Debian 12 (about 100 s); made once, kept in DIR.tar.
pr_rootfs() {
    local tar=$1.tar work mirror
    [ -s "$tar" ] && return 0
    # where the packages of this machine come from, else the default of debootstrap
    # shellcheck disable=SC2016 # apt-get expands it
    mirror=${PR_DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
        grep -v security | head -n 1)}
    mkdir -p "$(dirname "$tar")"
    work=$(mktemp -d /var/tmp/pr-rootfs.XXXXXX)
    local try
    for try in 1 2 3; do # a mirror may be away for a moment
        debootstrap --variant=minbase --include=ca-certificates bookworm "$work/root" \
            ${mirror:+"$mirror"} >"$tar.log" 2>&1 && break
        rm -rf "$work/root"
        [ "$try" != 3 ] || {
            tail -n 5 "$tar.log" >&2
            rm -rf "$work"
            return 1
        }
        sleep 10
    done
    rm -rf "$work/root/var/cache/apt/archives/"*.deb
    tar -C "$work/root" --numeric-owner --one-file-system -cf "$tar.new" . && mv "$tar.new" "$tar"
    rm -rf "$work"
}

# docker_base_image: makes PR_BASE_IMAGE when it is neither here nor can be pulled.
docker_base_image() {
    docker image inspect "$PR_BASE_IMAGE" >/dev/null 2>&1 && return 0
    timeout 60 docker pull -q "$PR_BASE_IMAGE" >/dev/null 2>&1 && return 0
    local tar=${PR_CACHE:-/var/tmp/postrider-cache}/bookworm
    pr_rootfs "$tar" && docker import "$tar.tar" "$PR_BASE_IMAGE" >/dev/null
}
