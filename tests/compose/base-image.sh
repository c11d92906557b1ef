#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes debian:bookworm-slim where it cannot be pulled. As root; needs debootstrap and a daemon.
set -euo pipefail
# shellcheck source=tests/support/docker.sh
. "$(dirname "$(readlink -f "$0")")/../support/docker.sh"
docker_base_image
docker image inspect --format '{{.Id}} {{.Size}}' "$PR_BASE_IMAGE"
