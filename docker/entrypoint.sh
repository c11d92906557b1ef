#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# entrypoint.sh COMMAND...: becomes COMMAND. An actor says on descriptor 3 that it is ready: the
# file is what the container's health check looks at, empty again at each start.
set -eu
exec 3>/tmp/ready
export NOTIFY_FD=3
exec "$@"
