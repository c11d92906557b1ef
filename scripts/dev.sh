# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The verbs of ./dev, one function each. Sourced with the checkout as the working directory.

: "${home:?sourced by ./dev}"
jobs=$(nproc)

# preset NAME [CMAKE_ARGUMENT...]: configures and builds build/NAME.
preset() {
    local name=$1 launcher=()
    shift
    command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    cmake --preset "$name" "${launcher[@]}" "$@" >"build/configure-$name.log" 2>&1 || {
        cat "build/configure-$name.log" >&2
        return 1
    }
    cmake --build "build/$name" -- --quiet -j "$jobs"
}

c_files() {
    git ls-files -co --exclude-standard -- '*.c' '*.h'
}

dev_packages() {
    scripts/packages.sh ensure base test dev
    mkdir -p build
}

dev_build() {
    dev_packages
    preset dev "$@"
}

dev_fmt() {
    dev_packages
    c_files | xargs -d '\n' clang-format-14 -i
}
