#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A scratch PostgreSQL for tests: private data directory, Unix socket only, superuser postgres.
#
#   pg.sh start DIR [SETTING=VALUE ...]   makes the cluster when DIR is new, starts it, prints its libpq URL
#   pg.sh stop DIR [immediate|fast]       default fast
#   pg.sh restart DIR [immediate|fast]    stop and start; prints the URL
#   pg.sh url DIR [DATABASE]              prints the URL
#
# As root the server runs as user postgres (it refuses root), otherwise as the caller. The socket is
# in a short directory of its own under /tmp: its path must fit in 107 bytes. DIR/socket names it.
set -euo pipefail

usage() {
    sed -n '3,9p' "$0" >&2
    exit 2
}

bindir() {
    local dir
    for dir in "${PG_BINDIR:-}" /usr/lib/postgresql/15/bin /usr/lib/postgresql/*/bin; do
        if [ -n "$dir" ] && [ -x "$dir/initdb" ]; then
            echo "$dir"
            return
        fi
    done
    echo "pg.sh: no PostgreSQL server programs found; install postgresql-15" >&2
    exit 1
}

# setpriv and not runuser: no PAM session, the working directory stays.
as_server() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=postgres --regid=postgres --init-groups env HOME=/tmp "$@"
    else
        "$@"
    fi
}

url() {
    echo "postgresql://postgres@/${1:-postgres}?host=$(sed 's|/|%2F|g' "$dir/socket")"
}

create() {
    mkdir -p "$dir"
    local socket
    socket=$(mktemp -d /tmp/pr-pg.XXXXXX)
    echo "$socket" > "$dir/socket"
    mkdir "$dir/data"
    if [ "$(id -u)" = 0 ]; then
        chown postgres "$dir" "$dir/data" "$socket"
    fi
    as_server "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C --no-sync \
        > "$dir/initdb.log" 2>&1 || { cat "$dir/initdb.log" >&2; exit 1; }
    {
        echo "listen_addresses = ''"
        echo "unix_socket_directories = '$socket'"
        echo "fsync = off"
        echo "max_connections = 100"
        echo "max_prepared_transactions = 10"
        echo "logging_collector = off"
    } >> "$dir/data/postgresql.conf"
}

start() {
    [ -d "$dir/data" ] || create
    local setting
    for setting in "$@"; do
        echo "${setting%%=*} = '${setting#*=}'" >> "$dir/data/postgresql.conf"
    done
    # -l closes the caller's pipes to the server: a $(pg.sh start) ends
    as_server "$bin/pg_ctl" -D "$dir/data" -l "$dir/data/server.log" -w -t 60 start > "$dir/data/pg_ctl.log" 2>&1 \
        || { cat "$dir/data/pg_ctl.log" "$dir/data/server.log" >&2; exit 1; }
    url
}

stop() {
    as_server "$bin/pg_ctl" -D "$dir/data" -m "${1:-fast}" -w -t 60 stop > /dev/null 2>&1 || true
}

[ $# -ge 2 ] || usage
command=$1
dir=$2
shift 2
bin=$(bindir)
case $command in
start) start "$@" ;;
stop) stop "$@" ;;
restart)
    stop "$@"
    start
    ;;
url) url "$@" ;;
*) usage ;;
esac
