#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the cluster at the first start (superuser postgres, login postrider, one password from
# POSTGRES_PASSWORD), then becomes the server. Sockets in /tmp: a tmpfs over /run would be root's.
set -euo pipefail
: "${POSTGRES_PASSWORD:?set it}"
if [ ! -e "$PGDATA/made" ]; then
    rm -rf -- "$PGDATA" # a half-made one
    initdb -U postgres -E UTF8 --locale=C.UTF-8 -A scram-sha-256 \
        --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD") >/dev/null
    cat >>"$PGDATA/postgresql.conf" <<-'CONF'
	listen_addresses = '*'
	unix_socket_directories = '/tmp'
	timezone = UTC
	CONF
    echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
    pg_ctl -s -w -o '-c listen_addresses=' start
    PGPASSWORD=$POSTGRES_PASSWORD psql -q -X -v ON_ERROR_STOP=1 -h /tmp -U postgres \
        -v password="$POSTGRES_PASSWORD" <<-'SQL'
	CREATE ROLE postrider LOGIN PASSWORD :'password';
	CREATE DATABASE postrider;
	SQL
    pg_ctl -s -w -m fast stop
    touch "$PGDATA/made"
fi
exec postgres "$@"
