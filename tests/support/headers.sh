#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/support/headers.sh BUILD_DIR: each header compiles alone, and names itself in its guard.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
build=$1
read -ra flags <<<"$(pkg-config --cflags libzmq libpq libcurl libcrypto libprotobuf-c yaml-0.1 jansson)"
export build
status=0
mapfile -t headers < <(git ls-files -co --exclude-standard -- '*.h')
for header in "${headers[@]}"; do
    grep -q '^#ifndef PR_.*_H$' "$header" || {
        printf '%s: no include guard PR_..._H\n' "$header"
        status=1
    }
done
printf '%s\n' "${headers[@]}" | xargs -P "$(nproc)" -I{} gcc -std=gnu17 -D_GNU_SOURCE -DPR_VERSION='""' \
    -DPR_LIBEXEC_DIR='""' -Wall -Wextra -Werror -fsyntax-only -x c -include {} -Ilib -I. \
    -isystem "$build/proto" -I"$build/sqlgen" "${flags[@]}" /dev/null || status=1
exit "$status"
