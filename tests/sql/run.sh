#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# tests/sql/run.sh [PATTERN]: the database's own tests, on a real Postgres 15 of their own (fsync off).
#
# Applies sql/migrations to a template database once; each tests/sql/*.sql (pgTAP, through psql) and *.py (several
# connections; tests/sql/pg.py) gets a fresh copy of it and prints TAP. PATTERN: only files whose name matches.
# Also compares sql/schema.sql, the schema as readers and reviewers want it, with what the migrations make; with --update-schema
# it is written instead.
# With PR_SQL_URL (a superuser's libpq URL of an existing cluster) no cluster is started there.
# For the scripts: PR_SQL_URL, PR_SQL_DB (their database), PR_SQL_TEMPLATE, PR_SQL_DIR (scratch), PR_SQL_HOME (this repository).
set -uo pipefail
home=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
[ "${1:-}" = --update-schema ] && update=1 && shift
pattern=${1:-.}
scratch=${TEST_TMP:-$(mktemp -d /tmp/prs.XXXXXX)}
chmod 711 "$scratch" # the cluster's user must get through
export PR_SQL_HOME=$home PR_SQL_DIR=$scratch PR_SQL_TEMPLATE=postrider_sql_template

if [ -z "${PR_SQL_URL:-}" ]; then
    PR_SQL_URL=$("$home/tests/support/pg.sh" start "$scratch/pg" max_prepared_transactions=20 max_connections=100 \
        autovacuum=off) || exit 1
    trap '"$home/tests/support/pg.sh" stop "$scratch/pg" immediate >/dev/null' EXIT
fi
export PR_SQL_URL
export PGOPTIONS=--client-min-messages=warning

# url_of DATABASE: PR_SQL_URL with another database
url_of() { sed -E "s#^(postgres(ql)?://[^/]*)/[^?]*#\\1/$1#" <<<"$PR_SQL_URL"; }

sql() { psql -qAtX -v ON_ERROR_STOP=1 "$@"; }

admin=$(url_of postgres)
template=$(url_of $PR_SQL_TEMPLATE)
sql -d "$admin" -c "DROP DATABASE IF EXISTS $PR_SQL_TEMPLATE" -c "CREATE DATABASE $PR_SQL_TEMPLATE" || exit 1
for file in "$home"/sql/migrations/[0-9]*.sql; do
    sql -d "$template" -1 -f "$file" >/dev/null || { echo "not ok - $file"; echo '0 passed, 1 failed, 0 skipped'; exit 1; }
done
# Dated partitions and the versions of servers and tools are not the schema.
{
    printf -- '-- Generated from sql/migrations by tests/sql/run.sh --update-schema: do not edit.\n'
    pg_dump -s -n postrider -T 'postrider.outbox_2*' -T 'postrider.attempt_2*' -d "$template" |
        grep -vE '^(\\(un)?restrict |-- Dumped |SET |SELECT pg_catalog.set_config)' | cat -s
} >"$scratch/schema.sql"
passed=0 failed=0
if [ -n "${update:-}" ]; then
    cat "$scratch/schema.sql" >"$home/sql/schema.sql"
elif [[ schema =~ $pattern ]]; then
    if diff -u "$home/sql/schema.sql" "$scratch/schema.sql"; then
        echo 'ok - sql/schema.sql is what the migrations make' && passed=1
    else
        echo 'not ok - sql/schema.sql is not what the migrations make: tests/sql/run.sh --update-schema' && failed=1
    fi
fi
sql -d "$template" -f "$home/tests/sql/support.psql" || exit 1
# what the actors connect as: no superuser, a member of their roles
sql -d "$admin" -c "DO \$\$ BEGIN CREATE ROLE postrider_test_login LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END \$\$" \
    -c 'GRANT postrider_app, postrider_relay, postrider_scheduler, postrider_breaker, postrider_dead_letter, postrider_console,
        postrider_gateway_scheduler, postrider_ingress, postrider_compensator,
        postrider_reconciler
        TO postrider_test_login' || exit 1

for file in "$home"/tests/sql/*.sql "$home"/tests/sql/*.py; do
    name=$(basename "$file")
    case $name in pg.py | pay.py | plan.py) continue ;; esac # what the others share
    [[ $name =~ $pattern ]] || continue
    PR_SQL_DB=pr_${name/./_}
    export PR_SQL_DB
    sql -d "$admin" -c "DROP DATABASE IF EXISTS $PR_SQL_DB" -c "CREATE DATABASE $PR_SQL_DB TEMPLATE $PR_SQL_TEMPLATE" || exit 1
    echo "# $name"
    log=$scratch/$name.log
    begin=$EPOCHREALTIME
    case $name in
    *.sql) (cd "$home" && psql -qAtX -v ON_ERROR_STOP=1 -d "$(url_of "$PR_SQL_DB")" -f "$file") >"$log" 2>&1 ;;
    *.py) (cd "$home" && python3 "$file") >"$log" 2>&1 ;;
    esac
    code=$?
    cat "$log"
    good=$(grep -cE '^ok\b' "$log")
    bad=$(grep -cE '^not ok\b' "$log")
    plan=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$log" | tail -n 1)
    if [ "$((good + bad))" != "${plan:-none}" ] || { [ "$code" != 0 ] && [ "$bad" = 0 ]; }; then
        echo "not ok - $name: exit code $code, plan ${plan:-missing}, $((good + bad)) run"
        bad=$((bad + 1))
    fi
    printf '# %s: %d passed, %d failed, %.1f s\n' "$name" "$good" "$bad" "$(awk "BEGIN { print $EPOCHREALTIME - $begin }")"
    passed=$((passed + good)) failed=$((failed + bad))
done
[ "$((passed + failed))" -gt 0 ] || { echo "no file of tests/sql matches $pattern" >&2; failed=1; }
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" = 0 ]
