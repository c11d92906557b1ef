# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A scratch database with Postrider's schema, and actors on it, for integration tests. Source it after
# tap.sh; call scratch_up; everything it started ends with the test.
#
#   scratch_up                 a migrated Postgres (a copy of the template), login postrider, master key; exports POSTRIDER_*
#   sql STATEMENT...           as superuser, values only, unaligned
#   actor_start NAME [ARG...]  postrider-NAME in the background; its pid in $actor_pid, log in $TEST_TMP/NAME.log
#   scratch_restart [MODE]     of Postgres; default immediate
#   actor_gone PID             for `within`: it has ended
scratch_pids=()

scratch_pg=$POSTRIDER_HOME/scripts/pg.sh

scratch_up() {
    scratch_dir=$TEST_TMP/pg
    {
        "$scratch_pg" clone "$scratch_dir" "$("$scratch_pg" template "$BUILD_DIR/pg-template" "$BUILD_DIR/postrider")" &&
            "$scratch_pg" start "$scratch_dir" fsync=off
    } >"$TEST_TMP/pg.log" 2>&1 || { cat "$TEST_TMP/pg.log" >&2; exit 1; }
    trap scratch_down EXIT
    scratch_url=$("$scratch_pg" admin-url "$scratch_dir")
    scratch_run=$(mktemp -d /tmp/pr-run.XXXXXX) # ipc paths must be short
    POSTRIDER_DATABASE_URL=$("$scratch_pg" url "$scratch_dir")
    export POSTRIDER_DATABASE_URL
    export POSTRIDER_BUS_BROKERS=ipc://$scratch_run/b1
    export POSTRIDER_MASTER_KEY_FILE=$TEST_TMP/master.key
    head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' >"$POSTRIDER_MASTER_KEY_FILE"
    chmod 600 "$POSTRIDER_MASTER_KEY_FILE"
}

scratch_down() {
    local pid
    for pid in "${scratch_pids[@]}"; do
        kill -9 "$pid" 2>/dev/null
    done
    "$scratch_pg" destroy "$scratch_dir" >/dev/null 2>&1
    rm -rf "$scratch_run"
}

scratch_restart() {
    "$scratch_pg" restart "$scratch_dir" "${1:-immediate}" >/dev/null 2>&1
}

sql() {
    psql -XqAt -v ON_ERROR_STOP=1 "$scratch_url" "${@/#/-c}"
}

actor_start() {
    local name=$1
    shift
    "$BUILD_DIR/postrider-$name" "$@" >>"$TEST_TMP/$name.log" 2>&1 &
    actor_pid=$!
    disown "$actor_pid" # no "Killed" from the shell
    scratch_pids+=("$actor_pid")
}


# sql_is STATEMENT VALUE: for `within`
sql_is() {
    [ "$(sql "$1" 2>/dev/null)" = "$2" ]
}

actor_gone() {
    ! kill -0 "$1" 2>/dev/null
}
