#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/support/check_core_symbols.sh BUILD_DIR | --self-test
#
# lib/core is pure, lib/sign is pure but for libcrypto: no clock, randomness, environment, file, socket or log. What they may link
# to is listed here, name by name; anything else fails. A new name needs a reason, in the same commit.
set -euo pipefail

# libc without side effects, and what compilers add. str(n)casecmp compares ASCII header names; no process of ours calls setlocale. inet_pton and inet_ntop translate text, they ask nobody.
libc='mem(cpy|cmp|set|move|chr)|str(len|nlen|cmp|ncmp|casecmp|ncasecmp|chr|rchr|spn|cspn|str)|(v?snprintf)|qsort|bsearch'
libc="$libc|inet_(pton|ntop)|(__ctype_(b|toupper|tolower)_loc|toupper|tolower)"
libc="$libc|__(memcpy|memmove|memset|strncpy|snprintf|vsnprintf)_chk|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_"
libc="$libc|__(asan|ubsan|sanitizer|lsan|tsan|sancov|gcov|llvm)_.*|__start___sancov.*|__stop___sancov.*|stderr"
# libcrypto: digests, MACs, ciphers, keys given as bytes, PEM from memory (never from files). Not RAND_*.
crypto='EVP_.*|OSSL_PARAM_construct_.*|CRYPTO_memcmp|OPENSSL_cleanse|ERR_clear_error'
crypto="$crypto|PEM_read_bio_(X509|PrivateKey|PUBKEY)|BIO_(new_mem_buf|free)|X509_(get_pubkey|free)"
# lib/base has impure parts, too.
base='pr_(calloc|realloc|free|free_ptr|strdup|strndup|memdup|asprintf|assert_failed|error_set|rc_name)'
base="$base|pr_(buffer|bytes|hex|unhex|json|duration|map)(_[a-z_0-9]+)?"

# Names that ARCHIVE wants and does not define itself.
wanted() {
    comm -23 <(nm -u "$1" 2>/dev/null | awk '$1 == "U" || $1 == "w" {print $2}' | sort -u) \
        <(nm --defined-only "$1" 2>/dev/null | awk 'NF == 3 {print $3}' | sort -u)
}

# check ARCHIVE ALLOWED...
check() {
    local archive=$1 bad
    shift
    [ -s "$archive" ] || { echo "check_core_symbols: $archive is not there: build first" >&2; return 2; }
    bad=$(wanted "$archive" | sed 's/@.*//' | grep -vxE "$(IFS='|'; echo "$*")" || true)
    [ -z "$bad" ] && return 0
    echo "check_core_symbols: $(basename "$archive") is no longer pure, it wants:" >&2
    echo "$bad" | while read -r name; do
        echo "    $name  ($(nm -A -u "$archive" | grep -w "$name" | sed -E 's/.*:([^:]+\.o):.*/\1/' | sort -u | paste -sd' '))"
    done >&2
    return 1
}

# The check can fail: an archive that reads the clock is refused, one that copies bytes is not.
self_test() {
    dir=$(mktemp -d) # global: the trap needs it
    trap 'rm -rf "$dir"' EXIT
    echo '#include <time.h>
long f(void) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); return (long)t.tv_sec; }' >"$dir/bad.c"
    echo '#include <string.h>
void g(char *a, const char *b, unsigned n) { memcpy(a, b, n); }' >"$dir/good.c"
    (cd "$dir" && cc -O0 -c bad.c good.c && ar rc bad.a bad.o && ar rc good.a good.o)
    check "$dir/good.a" "$libc" "$base" || { echo 'self-test: a pure archive was refused' >&2; return 1; }
    if check "$dir/bad.a" "$libc" "$base" 2>/dev/null; then
        echo 'self-test: a clock went unnoticed' >&2
        return 1
    fi
    echo 'check_core_symbols: self-test passed'
}

case ${1:-} in
--self-test) self_test ;;
'' | --help | -h) sed -n '3,6s/^# //p' "$0"; exit 2 ;;
*)
    status=0
    check "$1/libpr_core.a" "$libc" "$base" || status=1
    check "$1/libpr_sign.a" "$libc" "$base" "$crypto" || status=1
    exit $status
    ;;
esac
