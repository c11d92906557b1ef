#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Run once before the actors, safe to repeat: the master key (made when there is none), schema and
# roles, and the login that the actors connect as.
set -eu
umask 077
if [ ! -s "$POSTRIDER_MASTER_KEY_FILE" ]; then
    head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' >"$POSTRIDER_MASTER_KEY_FILE.new"
    mv "$POSTRIDER_MASTER_KEY_FILE.new" "$POSTRIDER_MASTER_KEY_FILE"
fi
exec postrider migrate --database-url "$POSTRIDER_ADMIN_URL" --login postrider
