#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A scratch PostgreSQL for tests: scripts/pg.sh, without fsync, as superuser.
#
#   pg.sh start DIR [SETTING=VALUE ...]   makes the cluster when DIR is new, starts it, prints its libpq URL
#   pg.sh stop DIR [immediate|fast]       default fast
#   pg.sh restart DIR [immediate|fast]    stop and start; prints the URL
#   pg.sh url DIR [DATABASE]              prints the URL
#
# DIR/socket names the directory of its socket.
set -euo pipefail
pg=$(dirname "$(readlink -f "$0")")/../../scripts/pg.sh

[ $# -ge 2 ] || {
    sed -n '5,8p' "$0" >&2
    exit 2
}
verb=$1
dir=$2
shift 2
case $verb in
start) "$pg" start "$dir" fsync=off "$@" ;;
stop) exec "$pg" stop "$dir" "$@" ;;
restart) "$pg" restart "$dir" "$@" ;;
url) ;;
*) exit 2 ;;
esac
case $verb in
url) exec "$pg" admin-url "$dir" "${1:-postgres}" ;;
*) exec "$pg" admin-url "$dir" postgres ;;
esac
