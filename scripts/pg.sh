#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A private Postgres, for `up`, the demo, the bench and the tests.
#
#   pg.sh start DIR            creates the cluster if there is none, starts it, waits until it answers
#   pg.sh stop DIR [MODE]      MODE: fast (default), immediate, smart; quiet when it does not run
#   pg.sh restart DIR [MODE]
#   pg.sh destroy DIR          stops it and removes its files
#   pg.sh url DIR              for the actors: login role `postrider`, no superuser
#   pg.sh admin-url DIR        for migrate: superuser
#   pg.sh tcp-url DIR          as url, over 127.0.0.1 (started with PR_PG_PORT)
#   pg.sh pid DIR              of the postmaster; fails when it does not run
#   pg.sh grant DIR            makes `postrider` a member of the actors' roles (after migrate)
#   pg.sh template DIR POSTRIDER   a migrated cluster to copy, made once per content of sql/; prints its path
#   pg.sh clone TEMPLATE DIR   a copy of it, not started (0.4 s)
#   pg.sh psql DIR [ARGUMENT...]   as superuser
#
# Postgres refuses to be root: as root everything runs as user `postgres`. When that user cannot
# reach DIR (a checkout under /root), the data lies under /var/tmp and DIR/data is a link to it.
# It listens on a Unix socket in a directory that only its user (and root) can enter, so every
# local connection is trusted; no TCP unless PR_PG_PORT is set (then with a password-less
# 127.0.0.1: for tests only). fsync is on; PR_PG_FSYNC=off is for throw-away test clusters.
# PR_PG_SETTINGS: further lines of postgresql.conf.
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
    sockets=${PR_PG_SOCKETS:-/tmp/postrider-pg-$(id -u)-$key} # short: 107 bytes is the kernel's limit
    data=$dir/data
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
            local far=/var/tmp/postrider-pg-$key
            own_dir "$far"
            ln -sfn "$far" "$data"
            return
        fi
    fi
    own_dir "$data"
}

write_settings() {
    local conf=$1/postrider.conf
    {
        printf "listen_addresses = '%s'\n" "${PR_PG_PORT:+127.0.0.1}"
        printf 'port = %s\n' "${PR_PG_PORT:-5432}"
        cat <<-'SETTINGS'
		unix_socket_permissions = 0700
		# durable by default: this is a queue of money's news
		fsync = on
		synchronous_commit = on
		full_page_writes = on
		shared_buffers = 128MB
		max_wal_size = 2GB
		checkpoint_completion_target = 0.9
		max_connections = 100
		max_prepared_transactions = 8
		log_destination = stderr
		logging_collector = off
		log_line_prefix = '%m [%p] %a '
		log_min_duration_statement = 500ms
		timezone = UTC
		SETTINGS
        if [ "${PR_PG_FSYNC:-on}" = off ]; then
            printf 'fsync = off\nsynchronous_commit = off\nfull_page_writes = off\n'
        fi
        if [ -n "${PR_PG_SETTINGS:-}" ]; then printf '%s\n' "$PR_PG_SETTINGS"; fi
    } | as_pg tee "$conf" >/dev/null
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

running_pid() {
    local pid
    pid=$(head -n 1 "$data/postmaster.pid" 2>/dev/null) || return 1
    kill -0 "$pid" 2>/dev/null || return 1
    [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = postgres ] || return 1
    printf '%s\n' "$pid"
}

admin_psql() {
    PGCONNECT_TIMEOUT=5 psql -X -q -v ON_ERROR_STOP=1 -h "$sockets" -p "${PR_PG_PORT:-5432}" \
        -U postgres "$@"
}

start() {
    local bin log fresh=
    bin=$(find_bin)
    exec 8>"$dir.lock"
    flock 8
    if running_pid >/dev/null; then return 0; fi
    own_dir "$sockets"
    if [ ! -s "$data/PG_VERSION" ]; then
        [ ! -e "$data" ] || as_pg find "$data/" -mindepth 1 -delete # a half-made one
        init "$bin"
        fresh=1
    fi
    write_settings "$data"
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

stop() {
    local bin
    bin=$(find_bin)
    running_pid >/dev/null || return 0
    as_pg "$bin/pg_ctl" -D "$data" -s -w -t 60 -m "${1:-fast}" stop >/dev/null 2>&1 8>&- ||
        ! running_pid >/dev/null || fail "Postgres in $dir does not stop"
}

destroy() {
    stop immediate
    local far
    far=$(readlink -- "$data" || true)
    [ -z "$far" ] || rm -rf -- "$far"
    rm -rf -- "$dir" "$sockets" "$dir.lock"
}

url() {
    printf 'postgresql://%s@/postrider?host=%s&port=%s\n' "$1" "$sockets" "${PR_PG_PORT:-5432}"
}

grant() {
    admin_psql -d postrider <<-'SQL'
	DO $$
	DECLARE r text;
	BEGIN
	    FOR r IN SELECT rolname FROM pg_roles
	             WHERE rolname LIKE 'postrider\_%' AND rolname <> 'postrider_owner' LOOP
	        EXECUTE format('GRANT %I TO postrider', r);
	    END LOOP;
	END $$;
	SQL
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
        PR_PG_FSYNC=off start 7>&- # fast to make; a clone writes its own settings
        "$program" migrate --database-url "$(url postgres)" >"$dir/migrate.log" 2>&1 7>&- || {
            cat "$dir/migrate.log" >&2
            stop
            fail "migrate failed"
        }
        grant
        stop
        touch "$dir/ready"
    fi
    printf '%s\n' "$dir"
}

clone() {
    local source
    source=$(realpath -- "$1/data")
    locate "$2"
    [ ! -e "$data" ] || fail "$data exists"
    make_data_dir
    cp -a --reflink=auto "$source/." "$(realpath -- "$data")/"
}

verb=${1:-}
[ $# -ge 2 ] || {
    sed -n '3,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}
shift
locate "$1"
shift
case $verb in
start)
    mkdir -p -- "$dir"
    start
    ;;
stop) stop "$@" ;;
restart)
    stop "$@"
    start
    ;;
destroy) destroy ;;
url) url postrider ;;
admin-url) url postgres ;;
tcp-url) printf 'postgresql://postrider@127.0.0.1:%s/postrider\n' "${PR_PG_PORT:?set PR_PG_PORT}" ;;
pid) running_pid ;;
grant) grant ;;
template) template "$@" ;;
clone) clone "$dir" "$1" ;;
psql) admin_psql -d postrider "$@" ;;
*) fail "no verb \"$verb\"" ;;
esac
