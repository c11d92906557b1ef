#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/support/banned.sh [FILE...]: functions that this house does not use, in C sources (default:
# all of the repository's). Comments and strings do not count. `// banned-ok: REASON` on the line
# lets one through. --self-test proves that it can fail.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

# no bound, hidden state, no errors, or through a shell
everywhere='strcpy|strcat|sprintf|vsprintf|strtok|strtok_r|gets|atoi|atol|atoll|atof|sscanf|fscanf|scanf|alloca|gmtime|localtime|asctime|ctime|strerror|rand|srand|random|system|popen|signal|mktemp|tmpnam|tempnam|setjmp|longjmp|strncpy|strncat'
heap='malloc|calloc|realloc|strdup|strndup|asprintf|vasprintf' # lib/base/alloc.c owns the heap
clock='time|clock_gettime|gettimeofday|clock'                  # lib/base/clock.c reads the clock
entropy='getrandom|getentropy'

# Lines of a file with comments, strings and character constants blanked; keeps line numbers.
code_of() {
    perl -0pe '
        s{(/\*.*?\*/)|(//[^\n]*)|("(?:\\.|[^"\\\n])*")|(\x27(?:\\.|[^\x27\\\n])*\x27)}
         { my $m = $&; ($m =~ m{banned-ok: \S}) ? "/*banned-ok*/" . ("\n" x ($m =~ tr/\n//)) : " " . ("\n" x ($m =~ tr/\n//)) }gsex;
    ' "$1"
}

# grep_in FILE CODE WORDS MESSAGE
grep_in() {
    local hits
    hits=$(grep -nE "(^|[^A-Za-z0-9_.>])($3) *\\(" <<<"$2" | grep -v 'banned-ok' || true)
    [ -n "$hits" ] || return 0
    while IFS= read -r hit; do
        printf '%s:%s  <- %s\n' "$1" "$hit" "$4"
    done <<<"$hits"
    return 1
}

check() {
    local file=$1 bad=0 code
    code=$(code_of "$file")
    grep_in "$file" "$code" "$everywhere" 'banned function' || bad=1
    case $file in
    lib/base/alloc.c | tests/fuzz/* | tests/support/*) ;; # these bring their own
    *) grep_in "$file" "$code" "$heap" 'raw heap: use lib/base/alloc.h' || bad=1 ;;
    esac
    case $file in
    lib/base/clock.c) ;;
    *)
        grep_in "$file" "$code" "$clock" 'clock: use lib/base/clock.h, or take the time as an argument' || bad=1
        grep_in "$file" "$code" "$entropy" 'randomness: use lib/base/clock.h' || bad=1
        ;;
    esac
    return "$bad"
}

if [ "${1:-}" = --self-test ]; then
    trial=$(mktemp --suffix=.c)
    trap 'rm -f "$trial"' EXIT
    printf '/* strcpy(a) */ char *s = "system(1)";\nmy_time(1); x->time(1);\n' >"$trial"
    check "$trial" || { echo 'banned.sh: cries at innocent code'; exit 1; }
    for line in 'strcpy(a, b);' 'p = malloc(3);' 't = time(NULL);' 'if (!system (c)) {'; do
        printf '%s\n' "$line" >"$trial"
        ! check "$trial" >/dev/null || { echo "banned.sh: misses $line"; exit 1; }
    done
    exit 0
fi

files=("$@")
[ "${#files[@]}" -gt 0 ] || mapfile -t files < <(git ls-files -co --exclude-standard -- '*.c' '*.h')
status=0
for file in "${files[@]}"; do
    check "$file" || status=1
done
exit "$status"
