#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# budgets.sh OUT [PIECE...]: measures the budgets of docs/performance.md, each piece a report OUT/PIECE.json (at most some
# minutes; backlog and flat about ten), then prints the table. Without pieces: all. `budgets.sh OUT table` only prints, from the reports
# that are there. The machine must be quiet for all but backlog, flat and timers.
# shellcheck disable=SC2016 # the variables of jq
set -uo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$(mkdir -p -- "$1" && cd "$1" && pwd)
shift

# measure PIECE ARGUMENT...
measure() {
    local piece=$1
    shift
    printf '%s: bench %s\n' "$piece" "$*" >&2
    "$home/postrider" bench "$@" --json >"$out/$piece.new" && mv -- "$out/$piece.new" "$out/$piece.json"
}

run() {
    local tuned=(--only graphile-worker-tuned --only naive-scan-batched)
    case $1 in
    drain) measure drain drain --rounds 3 --count 30000 --bare ;;
    peers) measure peers peers --measure drain --count 20000 "${tuned[@]}" --only graphile-worker-documented ;;
    others) measure others peers --measure drain --count 8000 --only pg-boss-tuned --only pg-boss-documented --only naive-scan-single ;;
    enqueueing) measure enqueueing peers --measure enqueue --measure steady --seconds 6 "${tuned[@]}" --only pg-boss-tuned ;;
    enqueue) measure enqueue enqueue --rounds 5 --seconds 3 ;;
    steady) measure steady steady --rounds 3 --seconds 20 ;;
    dead) measure dead dead-merchant --seconds 8 ;;
    idle) measure idle idle ;;
    timers) measure timers timers ;;
    crash) for actor in scheduler notifier broker; do measure "crash-$actor" crash --actor "$actor" --seconds 20; done ;;
    backlog) measure backlog backlog ;;
    flat) measure flat steady --seconds 600 ;;
    table) ;;
    *) printf 'budgets.sh: no piece %s\n' "$1" >&2 && exit 2 ;;
    esac
}

# row FIGURE BUDGET PIECE FILTER: the filter gives what was measured and "| yes" or "| no".
row() {
    local value='not measured | '
    [ -s "$out/$3.json" ] && value=$(jq -r "def r(d): . * pow(10; d) | round / pow(10; d); def ok(c): if c then \" | yes\" else \" | no\" end; $4" "$out/$3.json")
    printf '| %s | %s | %s | `%s` |\n' "$1" "$2" "$value" "$3"
}

ratio() {
    row "drain, ratio to $1" "at least $2" "$3" ".drain.ratios as \$r | \"\(\$r[\"$1\"] | r(2)) (\(\$r[\"$1_min\"] | r(2))-\(\$r[\"$1_max\"] | r(2)))\" + ok(\$r[\"$1\"] >= $2)"
}

crash() {
    row "kill of the $1: to the next delivery" 'at most 3 s' "crash-$1" '"\(.recovery_s | r(2)) s" + ok(.recovery_s <= 3)'
}

table() {
    printf '| figure | budget | measured | met | piece |\n| --- | --- | --- | --- | --- |\n'
    ratio graphile-worker-tuned 2.5 peers
    ratio naive-scan-batched 1.8 peers
    ratio graphile-worker-documented 6 peers
    row 'CPU a notification, Postrider + Postgres, to the bare parts' 'at most 1.2' drain \
        '"\(.cpu_ratio_to_bare | r(2)): \(.cpu_us_per_notification | r(0)) us to \(.bare_us | r(0)) (libcurl \(.bare_http_us | r(0)), move \(.bare_move_us | r(0)), batch \(.bare_batch_us | r(0)))" + ok(.cpu_ratio_to_bare <= 1.2)'
    row 'CPU of the receiver' 'at most 18 us' drain '"\(.cpu_us_receiver | r(1)) us" + ok(.cpu_us_receiver <= 18)'
    row 'WAL after enqueueing, without full-page images' 'at most 500 B' drain \
        '"\(.wal_bytes_per_notification_without_fpi | r(0)) B" + ok(.wal_bytes_per_notification_without_fpi <= 500)'
    row 'statements a notification under load' 'at most 0.05' drain \
        '"\(.statements_per_notification | r(3))" + ok(.statements_per_notification <= 0.05)'
    row 'enqueueing, 16 clients, to two plain inserts' 'at least 0.8' enqueue '"\(.clients_16.ratio | r(2))" + ok(.clients_16.ratio >= 0.8)'
    row 'healthy merchants beside a tenth that hang: p99' 'within 10 %' dead \
        '(.healthy_p99_ms / .healthy_p99_ms_without) as $x | "\($x | r(2))" + ok($x <= 1.1)'
    row '... and time to drain' 'within 10 %' dead '(.healthy_drain_s / .healthy_drain_s_without) as $x | "\($x | r(2))" + ok($x <= 1.1)'
    row 'steady at 1,000/s, commit to receipt: p50, p99, p99.9' '3, 15, 50 ms' steady \
        '.from_commit | "\(.p50_ms | r(1)), \(.p99_ms | r(1)), \(.p999_ms | r(1)) ms" + ok(.p50_ms <= 3 and .p99_ms <= 15 and .p999_ms <= 50)'
    row '... from the due time, the wait for the commit included' '-' steady \
        '"\(.p50_ms | r(1)), \(.p99_ms | r(1)), \(.p999_ms | r(1)) ms | "'
    row 'idle: CPU of the topology' 'at most 1 % of a core' idle '"\(.cpu_percent_of_a_core | r(2)) %" + ok(.cpu_percent_of_a_core <= 1)'
    row 'idle: wake-ups of a process, the most' 'under 50/s' idle '"\(.most_wakeups_per_s | r(0))/s" + ok(.most_wakeups_per_s < 50)'
    row 'a transaction pinned elsewhere, to plain' 'at least 0.95' backlog \
        '"\(.pinned_ratio | r(2)) (\(.pinned_ratio_min | r(2))-\(.pinned_ratio_max | r(2)))" + ok(.pinned_ratio >= 0.95)'
    row 'ten million waiting, to plain' 'at least 0.95' backlog \
        '"\(.waiting_ratio | r(2)) (\(.waiting_ratio_min | r(2))-\(.waiting_ratio_max | r(2)))" + ok(.waiting_ratio >= 0.95)'
    row 'kill of the scheduler with ten million waiting' 'at most 5 s' backlog '"\(.recovery_s | r(2)) s" + ok(.recovery_s <= 5)'
    row 'timers: bytes at ten million' 'at most 32' timers '"\(.bytes_per_timer | r(1))" + ok(.bytes_per_timer <= 32)'
    row 'timers: arm+fire with ten million in' 'at least 1 million/s' timers '"\(.arm_fire_per_s / 1e6 | r(2)) million/s" + ok(.arm_fire_per_s >= 1e6)'
    row 'timers: ten million loaded' 'at most 5 s' timers '"\(.load_s | r(2)) s" + ok(.load_s <= 5)'
    row 'timers: lateness at a million, p99' '-' timers '"\(.lateness.p99_ms | r(1)) ms" + " | "'
    for actor in scheduler notifier broker; do crash "$actor"; done
    row 'memory at 1,000/s: start, end, most (Pss)' 'at most 100 MB, flat' flat \
        '"\(.pss_mb_start | r(1)), \(.pss_mb_end | r(1)), \(.pss_mb_max | r(1)) MB" + ok(.pss_mb_max <= 100)'
}

pieces=("$@")
[ $# -gt 0 ] || pieces=(drain peers steady dead idle enqueue timers crash others enqueueing backlog flat)
for piece in "${pieces[@]}"; do run "$piece"; done
table
