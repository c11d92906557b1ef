#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A private Postgres, for `up`, the demo, the bench and the tests.
#
#   pg.sh start DIR [SETTING=VALUE...]  makes the cluster if there is none, starts it, waits for it;
#                              settings (of postgresql.conf) are remembered
#   pg.sh stop DIR [MODE]      MODE: fast (default), immediate, smart; quiet when it does not run
#   pg.sh restart DIR [MODE]
#   pg.sh destroy DIR          stops it and removes its files
#   pg.sh url DIR [DATABASE]   for the actors: login `postrider`, no superuser
#   pg.sh admin-url DIR [DATABASE]   for migrate: superuser
#   pg.sh pid DIR              of the postmaster; fails when it does not run
#   pg.sh template DIR POSTRIDER   a migrated cluster to copy, made once per content of sql/; prints
#                              its path
#   pg.sh clone DIR TEMPLATE   a copy of it, not started (0.1 s)
#   pg.sh psql DIR [ARGUMENT...]   as superuser, in database postrider
#
# Postgres refuses to be root: as root everything runs as user `postgres`. When that user cannot
# reach DIR (a checkout under /root), the data lies under /var/tmp and DIR/data is a link to it.
# It listens on a Unix socket in a directory that only its user (and root) can enter, named in
# DIR/socket, so every local connection is trusted. No TCP unless the settings say so
# (listen_addresses=127.0.0.1 port=N: for tests only). fsync is on unless the settings say so.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
umask 077

fail() {
    printf 'pg.sh: %s\n' "$1" >&2
    exit 1
}

find_bin() {
    local dir
    for dir in "${PR_PG_BIN:-}" /usr/lib/postgresql/15/bin /usr/lib/postgresql/*/bin; do
        [ -n "$dir" ] && [ -x "$dir/initdb" ] && printf '%s\n' "$dir" && return
    done
    fail "no initdb under /usr/lib/postgresql: install postgresql-15"
}

# as_pg COMMAND...: as the user that owns the cluster.
as_pg() {
    if [ "$(id -u)" = 0 ]; then
        (cd / && setpriv --reuid postgres --regid postgres --init-groups "$@")
    else
        "$@"
    fi
}

locate() {
    dir=$(realpath -m -- "$1")
    key=$(printf '%s' "$dir" | sha256sum | cut -c1-10)
    sockets=/tmp/postrider-pg-$(id -u)-$key # short: 107 bytes is the kernel's limit
    far=/var/tmp/postrider-pg-$key
    link=$dir/data # or the cluster itself, where its user can reach it
    data=$(realpath -m -- "$link")
    settings=$dir/settings.conf
    port=$(sed -n "s/^port = '\([0-9]*\)'$/\1/p" "$settings" 2>/dev/null | tail -n 1 || true)
    port=${port:-5432}
}

# A directory that the cluster's user owns and nobody else can enter; refuses one that another
# user has put there before us.
own_dir() {
    local owner wanted
    wanted=$(id -u)
    [ "$wanted" = 0 ] && wanted=$(id -u postgres)
    mkdir -p -- "$1" # mode 700: the umask
    [ ! -L "$1" ] || fail "$1 is a link"
    if [ "$(id -u)" = 0 ]; then
        owner=$(stat -c %u -- "$1")
        [ "$owner" = 0 ] || [ "$owner" = "$wanted" ] || fail "$1 belongs to uid $owner"
        chown postgres:postgres -- "$1"
        chmod 700 -- "$1"
    fi
    [ "$(stat -c %u -- "$1")" = "$wanted" ] || fail "$1 belongs to somebody else"
}

# Makes $data, empty, where the cluster's user can reach it.
make_data_dir() {
    mkdir -p -- "$dir"
    if [ "$(id -u)" = 0 ]; then
        chmod 711 -- "$dir" # may be passed through, not listed
        if ! as_pg test -x "$dir"; then
            own_dir "$far"
            find "$far" -mindepth 1 -delete # of a DIR that was removed without us
            ln -sfn "$far" "$link"
            data=$far
            return
        fi
    fi
    own_dir "$data"
}

# The house's settings, then those that somebody asked for, which win.
write_settings() {
    local setting
    for setting in "$@"; do
        printf "%s = '%s'\n" "${setting%%=*}" "${setting#*=}" >>"$settings"
    done
    {
        cat <<-'SETTINGS'
		listen_addresses = ''
		unix_socket_permissions = 0700
		# durable by default: this is a queue of money's news
		fsync = on
		synchronous_commit = on
		full_page_writes = on
		shared_buffers = 128MB
		max_wal_size = 2GB
		checkpoint_completion_target = 0.9
		max_connections = 100
		max_prepared_transactions = 10
		log_destination = stderr
		logging_collector = off
		log_line_prefix = '%m [%p] %a '
		log_min_duration_statement = 500ms
		timezone = UTC
		SETTINGS
        cat "$settings" 2>/dev/null || true
    } | as_pg tee "$data/postrider.conf" >/dev/null
    locate "$dir" # the port may be new
}

init() {
    local bin=$1
    make_data_dir
    as_pg "$bin/initdb" -D "$data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-instructions \
        >"$dir/initdb.log" 2>&1 || {
        cat "$dir/initdb.log" >&2
        fail "initdb failed"
    }
    printf "include_if_exists = 'postrider.conf'\n" | as_pg tee -a "$data/postgresql.conf" >/dev/null
}

# After a crash the number in the file may be another process's by now, another Postgres's even:
# ours works in our directory.
running_pid() {
    local pid
    pid=$(head -n 1 "$data/postmaster.pid" 2>/dev/null) || return 1
    kill -0 "$pid" 2>/dev/null || return 1
    [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = postgres ] || return 1
    [ "$(readlink "/proc/$pid/cwd")" = "$(realpath -- "$data")" ] || return 1
    printf '%s\n' "$pid"
}

# A crash leaves its lock files behind, and Postgres refuses to start when the number in them is that
# of any process of its user, be it one that nobody has buried yet (a container without an init). It
# also finds orphans by them: so only when no process works in the directory.
forget_dead() {
    [ -n "$(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$(realpath -- "$data")" 2>/dev/null)" ] ||
        as_pg rm -f -- "$data/postmaster.pid" "$sockets/.s.PGSQL.$port.lock"
}

admin_psql() {
    PGCONNECT_TIMEOUT=5 psql -X -q -v ON_ERROR_STOP=1 -h "$sockets" -p "$port" \
        -U postgres "$@"
}

start() {
    local bin log fresh=
    bin=$(find_bin)
    mkdir -p -- "$dir"
    exec 8>"$dir.lock"
    flock 8
    if running_pid >/dev/null; then return 0; fi
    own_dir "$sockets"
    if [ ! -s "$data/PG_VERSION" ]; then
        [ ! -e "$data" ] || as_pg find "$data/" -mindepth 1 -delete # a half-made one
        init "$bin"
        fresh=1
    fi
    write_settings "$@"
    forget_dead
    printf '%s\n' "$sockets" >"$dir/socket"
    log=$dir/postgres.log
    touch "$log"
    if [ "$(id -u)" = 0 ]; then chown postgres "$log"; fi
    if ! as_pg "$bin/pg_ctl" -D "$data" -s -w -t 60 -o "-k $sockets" -l /dev/stdout start \
        >>"$log" 2>&1 8>&- </dev/null; then
        tail -n 20 "$log" >&2
        fail "Postgres does not start; log: $log"
    fi
    if [ -n "$fresh" ] || [ -z "$(admin_psql -d postgres -Atc \
        "SELECT 1 FROM pg_database WHERE datname = 'postrider'")" ]; then
        admin_psql -d postgres -c 'CREATE ROLE postrider LOGIN' -c 'CREATE DATABASE postrider'
    fi
}

lost() { find /proc/[0-9]*/cwd -maxdepth 0 -lname "$data (deleted)" 2>/dev/null | cut -d/ -f3; }

# Somebody removed DIR under a Postgres that runs. Where the data lay elsewhere it is stopped as
# ever; else there is nothing left that could be kept.
end_lost() {
    [ -e "$link" ] || [ ! -e "$far/PG_VERSION" ] || data=$far
    local signal tries
    for signal in QUIT KILL; do
        for ((tries = 0; tries < 100; tries++)); do
            [ -n "$(lost)" ] || return 0
            # shellcheck disable=SC2046 # a list of numbers
            [ $tries -gt 0 ] || kill -s "$signal" $(lost) 2>/dev/null || true
            sleep 0.1
        done
    done
}

stop() {
    local bin
    [ -e "$link" ] || end_lost
    running_pid >/dev/null || return 0
    bin=$(find_bin)
    as_pg "$bin/pg_ctl" -D "$data" -s -w -t 60 -m "${1:-fast}" stop >/dev/null 2>&1 8>&- ||
        ! running_pid >/dev/null || fail "Postgres in $dir does not stop"
}

destroy() {
    stop immediate
    local far
    far=$(readlink -- "$link" || true)
    [ -z "$far" ] || rm -rf -- "$far"
    rm -rf -- "$dir" "$sockets" "$dir.lock"
}

url() {
    printf 'postgresql://%s@/%s?host=%s&port=%s\n' "$1" "$2" "$sockets" "$port"
}

# The content of what migrate does decides whether a template is still good.
template() {
    local program=$1 sum
    sum=$(find "$here/../sql" "${BASH_SOURCE[0]}" -type f -exec sha256sum {} + | sort | sha256sum | cut -c1-16)
    local root=$dir
    mkdir -p -- "$root"
    locate "$root/$sum"
    if [ -e "$dir/ready" ]; then
        printf '%s\n' "$dir"
        return 0
    fi
    exec 7>"$root/template.lock"
    flock 7
    if [ ! -e "$dir/ready" ]; then
        destroy
        start fsync=off 7>&- # fast to make; a clone has its own settings
        "$program" migrate --database-url "$(url postgres postrider)" --login postrider \
            >"$dir/migrate.log" 2>&1 7>&- || {
            cat "$dir/migrate.log" >&2
            stop
            fail "migrate failed"
        }
        stop
        touch "$dir/ready"
    fi
    printf '%s\n' "$dir"
}

clone() {
    local source
    source=$(realpath -- "$1/data")
    [ ! -e "$data" ] || fail "$data exists"
    make_data_dir
    cp -a --reflink=auto "$source/." "$(realpath -- "$data")/"
}

verb=${1:-}
[ $# -ge 2 ] || {
    sed -n '5,17s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}
shift
locate "$1"
shift
case $verb in
start) start "$@" ;;
stop) stop "$@" ;;
restart)
    stop "$@"
    start
    ;;
destroy) destroy ;;
url) url postrider "${1:-postrider}" ;;
admin-url) url postgres "${1:-postrider}" ;;
pid) running_pid ;;
template) template "$@" ;;
clone) clone "$@" ;;
psql) admin_psql -d postrider "$@" ;;
*) fail "no verb \"$verb\"" ;;
esac
