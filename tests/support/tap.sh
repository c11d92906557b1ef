# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# TAP for tests in bash: source it, check, end with done_testing.
tap_count=0
tap_failed=0

# ok CODE NAME: CODE is 0 for passed.
ok() {
    tap_count=$((tap_count + 1))
    if [ "$1" = 0 ]; then
        printf 'ok %d - %s\n' "$tap_count" "$2"
    else
        tap_failed=$((tap_failed + 1))
        printf 'not ok %d - %s\n' "$tap_count" "$2"
    fi
}

# is GOT WANTED NAME
is() {
    [ "$1" = "$2" ]
    ok $? "$3"
    [ "$1" = "$2" ] || printf '#  got:    %s\n#  wanted: %s\n' "$1" "$2"
}

# isnt GOT UNWANTED NAME
isnt() {
    [ "$1" != "$2" ]
    ok $? "$3"
    [ "$1" != "$2" ] || printf '#  got what it must not be: %s\n' "$1"
}

# like GOT REGEX NAME: extended regular expression, any line of GOT.
like() {
    grep -qE -- "$2" <<<"$1"
    ok $? "$3"
    grep -qE -- "$2" <<<"$1" || printf '#  no /%s/ in: %.600s\n' "$2" "$1"
}

# skip NAME REASON
skip() {
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

# within SECONDS COMMAND...: until COMMAND succeeds; fails when it has not by then. SECONDS is what is ample on an idle
# machine; one in CI may be three times slower, and busy.
within() {
    local deadline=$((SECONDS + $1 * 5))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.05
    done
}

done_testing() {
    printf '1..%d\n' "$tap_count"
    exit "$((tap_failed > 0))"
}
