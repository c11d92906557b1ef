/* SPDX-License-Identifier: Apache-2.0
 *
 * Every prepared statement of the actors, by the name of its file. A statement that the model does not have ends the simulator
 * with its name: whoever adds one to sql/queries adds it here.
 */
#ifndef PR_SIM_PG_STATEMENTS_H
#define PR_SIM_PG_STATEMENTS_H

#include "sim_pg.h"

sim_statement_fn pg_set_session, pg_follow_timeline, pg_check_cluster, pg_peek_windows,
    pg_move_plain, pg_move_window, pg_supersede, pg_load_watch, pg_mark_failing, pg_mark_open,
    pg_clear_failing, pg_disable_gone, pg_disable_failing, pg_set_forced, pg_scan_dead,
    pg_take_alerts, pg_announce_alert, pg_step_redrives, pg_ensure_partitions, pg_drop_history,
    pg_purge_history, pg_acquire_shards, pg_apply_results, pg_beat, pg_cursors, pg_date_first_tries,
    pg_dated_pairs, pg_end_session_statement, pg_expire_held, pg_late_attempt, pg_load_cancelled,
    pg_load_endpoints, pg_load_first_tries, pg_load_new, pg_open_session, pg_owned_shards,
    pg_page_due, pg_pause_endpoints, pg_prove_reader, pg_release_shards, pg_resume_session;

#endif
