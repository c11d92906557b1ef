# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The verbs of ./dev, one function each. Sourced with the checkout as the working directory.

: "${home:?sourced by ./dev}"
jobs=$(nproc)

dev_packages() {
    scripts/packages.sh ensure build local test dev
    mkdir -p build
}

# preset NAME [CMAKE_ARGUMENT...]: configures and builds build/NAME, tests included.
preset() {
    local name=$1 launcher=()
    shift
    command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    cmake --preset "$name" "${launcher[@]}" "$@" >"build/configure-$name.log" 2>&1 || {
        cat "build/configure-$name.log" >&2
        return 1
    }
    cmake --build "build/$name" -j "$jobs" >"build/build-$name.log" 2>&1 || {
        grep -E -A8 'error|FAILED' "build/build-$name.log" | head -n 60 >&2 ||
            tail -n 40 "build/build-$name.log" >&2
        return 1
    }
}

# C sources of ours, committed or not yet.
c_files() {
    git ls-files -co --exclude-standard -- "${@:-*.[ch]}"
}

shell_files() {
    git ls-files -co --exclude-standard | while IFS= read -r file; do
        if [ -f "$file" ] && head -n 1 "$file" | grep -qE '^#!/bin/(ba)?sh|^# shellcheck shell='; then
            printf '%s\n' "$file"
        fi
    done
}

dev_build() {
    dev_packages
    preset dev "$@"
}

dev_fmt() {
    dev_packages
    c_files | xargs -d '\n' clang-format-14 -i
}

# ---- lint ----

lint_format() {
    c_files | xargs -d '\n' clang-format-14 --dry-run -Werror
}

lint_tidy() {
    # Tests are Criterion's macros, which no checker reads well; the product is checked.
    c_files 'lib/*.c' 'actors/*.c' 'broker/*.c' 'cli/*.c' 'sandbox/*.c' 'bench/*.c' |
        xargs -d '\n' -P "$jobs" -n 6 clang-tidy-14 -p build/clang --quiet
}

lint_cppcheck() {
    # One thread a process: readdir and getpwuid are fine. Third-party headers are not parsed.
    cppcheck --quiet --std=c11 --language=c --error-exitcode=1 --inline-suppr -j "$jobs" \
        --enable=warning,performance,portability --suppress=missingIncludeSystem \
        --suppress=readdirCalled --suppress=getpwuidCalled \
        --suppress='*:build/*' --library=posix,gnu \
        --library=tests/support/cppcheck.cfg -D_GNU_SOURCE -D__GNUC__ -DPR_VERSION='""' \
        -DPR_LIBEXEC_DIR='""' -DPR_DATA_DIR='""' -Ilib -I. lib actors broker cli sandbox bench
}

lint_shell() {
    shell_files | xargs -d '\n' shellcheck -x
}

lint_banned() {
    tests/support/banned.sh --self-test && tests/support/banned.sh
}

lint_python() {
    git ls-files -co --exclude-standard -- '*.py' |
        xargs -d '\n' -r python3 -c 'import ast, sys
for name in sys.argv[1:]: ast.parse(open(name).read(), name)'
}

lint_symbols() {
    tests/support/check_core_symbols.sh --self-test &&
        tests/support/check_core_symbols.sh build/release
}

# lint_step NAME COMMAND...: one section, its time, and whether it passed.
lint_step() {
    local name=$1 log=build/lint-$1.log begin=$SECONDS word=ok
    shift
    "$@" >"$log" 2>&1 || word=FAILED
    printf '%-8s %-10s %4d s\n' "$word" "$name" "$((SECONDS - begin))"
    if [ "$word" = FAILED ]; then
        lint_failed=$((lint_failed + 1))
        grep -vE 'warnings? generated|^Suppressed|^Use -header-filter' "$log" | head -n 60
    else
        lint_passed=$((lint_passed + 1))
    fi
}

dev_lint() {
    dev_packages
    lint_passed=0 lint_failed=0
    lint_step format lint_format
    lint_step banned lint_banned
    lint_step shell lint_shell
    lint_step python lint_python
    lint_step gcc preset release
    lint_step clang preset clang
    lint_step headers tests/support/headers.sh build/clang
    lint_step symbols lint_symbols
    lint_step documents tests/support/check_traceability.py
    lint_step cppcheck lint_cppcheck
    lint_step tidy lint_tidy
    printf '%d passed, %d failed, 0 skipped\n' "$lint_passed" "$lint_failed"
    [ "$lint_failed" = 0 ]
}

# ---- sanitizers ----

# Runs tests/run on a sanitized build. A report in any process is a file, and a file fails the
# run: Criterion prints a leak and still counts the test as passed.
sanitized() {
    local name=$1 pattern=$2 reports status=0
    reports=$(mktemp -d /tmp/pr-sanitizer.XXXXXX)
    chmod 1777 "$reports" # actors may run as another user
    export ASAN_OPTIONS="log_path=$reports/asan:detect_stack_use_after_return=1:strict_string_checks=1"
    export UBSAN_OPTIONS="log_path=$reports/ubsan:print_stacktrace=1"
    export LSAN_OPTIONS="suppressions='$home/tests/support/lsan.supp':print_suppressions=0"
    # slow programs: a processor for each test
    PR_SANITIZED=$name PR_TEST_PRESET=$name BUILD_DIR=$home/build/$name PR_TEST_JOBS=${PR_TEST_JOBS:-$jobs} \
        tests/run "$pattern" ||
        status=1
    # A library's thread that ends while LeakSanitizer stops all others gets a warning, which is no finding.
    { grep -LrvE 'Running thread [0-9]+ was not suspended. False leaks are possible' "$reports" || true; } |
        xargs -r -d '\n' rm -f -- # grep ends with 1 when it lists nothing, which is the good case
    if [ -n "$(ls -A "$reports")" ]; then
        status=1
        printf 'sanitizer reports, %d files in %s; the first:\n' \
            "$(find "$reports" -type f | wc -l)" "$reports"
        find "$reports" -type f | sort | head -n 1 | xargs -d '\n' head -n 40
    else
        rmdir "$reports"
    fi
    return "$status"
}

dev_asan() {
    dev_packages
    preset asan
    # What runs our programs for their own sake. Whole-pipeline tests (faults, swap, isolation, bench ...) are about time and
    # SIGKILL, which slow programs that report at their exit do not suit; `./dev asan faults` runs them all the same.
    sanitized asan "${1:-^(unit|contract|integration/(actor|broker|cancel|circuit-breaker|cli|cli-payments|db|dead-letter|gateway-workers|gateways|hostile|ingress|migrate|outbox-relay|receiver|sandbox|sandbox-gateway|signatures|supervise)\$)}"
}

dev_ubsan() {
    dev_packages
    preset ubsan
    sanitized ubsan "${1:-^unit}"
}

# Criterion does not start under TSan: plain programs only, tests/tsan/*.c, gcc.
dev_tsan() {
    dev_packages
    preset tsan
    local program found=0
    export TSAN_OPTIONS=ignore_noninstrumented_modules=1:exitcode=66
    for program in build/tsan/tsan_*; do
        [ -x "$program" ] || continue
        found=1
        "$program"
    done
    [ "$found" = 1 ] || echo 'no threads of our own, so no program under tests/tsan: nothing to run'
}

# ---- fuzzing ----

fuzz_one() {
    local program=$1 seconds=$2 name corpus log
    name=$(basename "$program")
    corpus=build/fuzz/corpus/$name
    log=build/fuzz/$name.log
    mkdir -p "$corpus" "build/fuzz/findings"
    local seeds=tests/fuzz/corpus/${name#fuzz_}
    [ -d "$seeds" ] || seeds=tests/fuzz/corpus/$name
    [ -d "$seeds" ] || seeds=
    if "$program" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2560 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/findings/$name-" "$corpus" ${seeds:+"$seeds"} >"$log" 2>&1; then
        printf 'ok       %-24s %s runs\n' "$name" \
            "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
    else
        printf 'FAILED   %-24s %s\n' "$name" "$log"
        tail -n 25 "$log"
        return 1
    fi
}

dev_fuzz() {
    dev_packages
    preset fuzz
    local seconds=${SECONDS_EACH:-60} program programs=() running=0 passed=0 failed=0
    for program in build/fuzz/fuzz_*; do
        if [ -x "$program" ] && [ -f "$program" ] && [[ $program == *"${1:-}"* ]]; then
            programs+=("$program")
        fi
    done
    [ "${#programs[@]}" -gt 0 ] || {
        echo 'no fuzz target' >&2
        return 1
    }
    reap() { if wait -n; then passed=$((passed + 1)); else failed=$((failed + 1)); fi; }
    for program in "${programs[@]}"; do
        if [ "$running" -ge "$jobs" ]; then
            reap
            running=$((running - 1))
        fi
        fuzz_one "$program" "$seconds" &
        running=$((running + 1))
    done
    while [ "$running" -gt 0 ]; do
        reap
        running=$((running - 1))
    done
    printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
    [ "$failed" = 0 ]
}

# ---- coverage, figures, chaos ----

dev_cov() {
    dev_packages
    preset cov
    find build/cov -name '*.gcda' -delete
    BUILD_DIR=$home/build/cov PR_TEST_PRESET=cov tests/run "${1:-^unit}"
    gcovr --root . --object-directory build/cov --exclude 'build/.*' --exclude 'tests/.*' \
        --print-summary --html-details build/cov/coverage.html
    gcovr --root . --object-directory build/cov --filter 'lib/core/' --branches --fail-under-line 90
}

release_build() {
    scripts/packages.sh ensure build local test
    scripts/build.sh "$home/build/release" all -DBUILD_TESTING=ON
}

dev_bench() {
    release_build
    exec build/release/postrider bench "$@"
}

dev_chaos() {
    release_build
    TEST_TMP=$(mktemp -d /tmp/prt.XXXXXX)
    chmod 711 "$TEST_TMP"
    export TEST_TMP BUILD_DIR=$home/build/release
    exec tests/chaos/chaos.py --long "$@"
}
