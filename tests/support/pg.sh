#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The one implementation of a private Postgres is scripts/pg.sh; tests reach it here too.
exec "$(dirname "$(readlink -f "$0")")/../../scripts/pg.sh" "$@"
