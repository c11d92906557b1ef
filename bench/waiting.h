/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that wait for later: as many as wanted, tried once, due in 6 to 18 hours, each with a body of
 * 400 bytes, spread over the merchants. They are written by SQL, not by ten million failed
 * requests: bodies and jobs into tables without indexes, which are built afterwards; then VACUUM,
 * ANALYZE and a checkpoint, so that no upkeep of the fill reaches into the measurement.
 * Ten million take some minutes and 12 GB of disk.
 */
#ifndef PR_BENCH_WAITING_H
#define PR_BENCH_WAITING_H

#include "bench/stage.h"

/* Into the database that the stage is connected to, once; the actors must be stopped. */
PR_CHECK pr_rc_t pr_waiting_fill(pr_stage_t *stage, int64_t count, pr_error_t *error);

#endif
