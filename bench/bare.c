/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bare.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "bench/bench.h"
#include "bench/meter.h"
#include "sql/bench.h"
#include "sql/outbox_relay.h"
#include "sql/scheduler.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define BATCH 500 /* relay's and scheduler's own most */
#define PAGE 5000
#define READY_MS 10000
#define WAIT_MS 100
#define BODY_MAX 65536

/* ---- one statement at a time, on a connection such as the actors have ---- */

typedef struct {
    pr_db_t *db;
    pr_params_t *params;
    void (*take)(void *arg, const pr_rows_t *rows);
    void *arg;
    pr_rc_t rc;
    pr_error_t *error;
} caller_t;

static void on_result(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    caller_t *self = arg;
    self->rc = rc;
    if (rc != PR_OK)
        *self->error = *error;
    else
        self->take(self->arg, rows);
}

static pr_rc_t turn(caller_t *self)
{
    struct pollfd item = {.fd = pr_db_fd(self->db), .events = pr_db_events(self->db)};
    (void)poll(&item, 1, WAIT_MS);
    pr_rc_t rc = pr_db_io(self->db, pr_clock_mono_ms(), self->error);
    return rc != PR_OK ? rc : pr_bench_wait_ms(0, self->error);
}

static pr_rc_t await_ready(caller_t *self)
{
    int64_t until_ms = pr_clock_mono_ms() + READY_MS;
    pr_rc_t rc = PR_OK;
    while (rc == PR_OK && !pr_db_ready(self->db)) {
        rc = turn(self);
        if (rc == PR_OK && pr_clock_mono_ms() > until_ms)
            rc = pr_error_set(self->error, PR_FATAL, "bench", "", "no connection for bare parts");
    }
    return rc;
}

/* With self->params. */
static pr_rc_t call(caller_t *self, int statement)
{
    self->rc = PR_OK;
    pr_rc_t rc = pr_db_query(self->db, statement, self->params, on_result, self);
    while (rc == PR_OK && pr_db_pending(self->db) > 0)
        rc = turn(self);
    pr_params_clear(self->params);
    return rc != PR_OK ? rc : self->rc;
}

/* ---- move ---- */

typedef struct {
    int64_t sysid;
    int32_t moved;
    bool more;
} move_t;

static void take_nothing(void *arg, const pr_rows_t *rows)
{
    (void)arg, (void)rows;
}

static void take_sysid(void *arg, const pr_rows_t *rows)
{
    ((move_t *)arg)->sysid = pr_rows_i64(rows, 0, 0);
}

static void take_move(void *arg, const pr_rows_t *rows)
{
    move_t *move = arg;
    move->moved += pr_rows_i32(rows, 0, 0);
    move->more = pr_rows_bool(rows, 0, 3);
}

static pr_rc_t move_class(caller_t *self, move_t *move, int class_no)
{
    pr_rc_t rc = PR_OK;
    self->take = take_move;
    self->arg = move;
    do {
        pr_params_add_i16(self->params, (int16_t)class_no);
        pr_params_add_i64(self->params, move->sysid);
        pr_params_add_i64(self->params, BATCH);
        rc = call(self, PR_SQL_OUTBOX_RELAY_MOVE_WINDOW);
    } while (rc == PR_OK && move->more);
    return rc;
}

static pr_rc_t move_all(pr_stage_t *stage, int64_t count, pr_error_t *error)
{
    pr_db_options_t options = {.url = stage->app_url,
                               .application_name = "bench move",
                               .role = "postrider_relay",
                               .index_plans = true,
                               .statements = pr_sql_outbox_relay,
                               .nstatements = PR_SQL_OUTBOX_RELAY_COUNT};
    move_t move = {0};
    caller_t self = {.db = pr_db_new(&options), .params = pr_params_new(), .error = error};
    pr_rc_t rc = await_ready(&self);
    self.take = take_nothing;
    rc = rc != PR_OK ? rc : call(&self, PR_SQL_OUTBOX_RELAY_SET_SESSION);
    self.take = take_sysid;
    self.arg = &move;
    rc = rc != PR_OK ? rc : call(&self, PR_SQL_OUTBOX_RELAY_CHECK_CLUSTER);
    for (int class_no = 0; class_no < 3 && rc == PR_OK; class_no++)
        rc = move_class(&self, &move, class_no);
    pr_params_destroy(&self.params);
    pr_db_destroy(&self.db);
    if (rc == PR_OK && move.moved != count)
        rc = pr_error_set(error, PR_FATAL, "bench", "", "%d of %lld were moved", move.moved,
                          (long long)count);
    return rc;
}

/* ---- batch ---- */

typedef struct {
    uint8_t session[16];
    int64_t *seq, *salt;
    int64_t applied;
} batch_t;

static pr_rc_t read_jobs(pr_stage_t *stage, batch_t *batch, int64_t count, pr_error_t *error)
{
    pr_rc_t rc = PR_OK;
    for (int64_t at = 0; at < count && rc == PR_OK;) {
        PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
        PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
        pr_params_add_i64(params, at > 0 ? batch->seq[at - 1] : 0);
        pr_params_add_i32(params, (int32_t)(count - at < PAGE ? count - at : PAGE));
        rc = pr_db_sync_query(stage->admin, pr_sql_bench[PR_SQL_BENCH_JOBS].sql, params, &rows,
                              error);
        if (rc == PR_OK && pr_rows_count(rows) == 0)
            rc = pr_error_set(error, PR_FATAL, "bench", "", "jobs are missing");
        for (int row = 0; rc == PR_OK && row < pr_rows_count(rows); row++, at++) {
            batch->seq[at] = pr_rows_i64(rows, row, 0);
            batch->salt[at] = pr_rows_i64(rows, row, 1);
        }
    }
    return rc;
}

static void take_session(void *arg, const pr_rows_t *rows)
{
    (void)!pr_rows_uuid(rows, 0, 0, ((batch_t *)arg)->session);
}

static void take_applied(void *arg, const pr_rows_t *rows)
{
    batch_t *batch = arg;
    for (int row = 0; row < pr_rows_count(rows); row++)
        batch->applied += !pr_rows_null(rows, row, 1);
}

/* A batch of deliveries: one millisecond, 200, SUCCESS. */
static void add_results(pr_params_t *p, const batch_t *batch, int64_t at, int n)
{
    static const int32_t zeros[BATCH];
    static const int64_t no_delay[BATCH];
    static bool none[BATCH];
    static int16_t ends[BATCH], codes[BATCH];
    static int32_t ms[BATCH];
    static int64_t started_us[BATCH];
    static const char *workers[BATCH];
    static const char *const no_text[BATCH];
    static pr_bytes_t responses[BATCH];
    for (int i = 0; i < n; i++) {
        none[i] = true;
        ends[i] = 1;
        ms[i] = 1;
        codes[i] = 200;
        started_us[i] = pr_clock_wall_us();
        workers[i] = "notifier-bench-1-0000";
        responses[i] = pr_bytes_text("SUCCESS");
    }
    pr_params_add_uuid(p, batch->session);
    pr_params_add_i64_array(p, batch->seq + at, NULL, n);
    pr_params_add_i64_array(p, batch->salt + at, NULL, n);
    pr_params_add_i32_array(p, zeros, n);
    pr_params_add_i16_array(p, ends, n);
    pr_params_add_i64_array(p, no_delay, NULL, n);
    pr_params_add_i64_array(p, no_delay, none, n);
    pr_params_add_i16_array(p, ends, n); /* outcome 1: delivered */
    pr_params_add_i16_array(p, codes, n);
    pr_params_add_text_array(p, no_text, n);
    pr_params_add_i32_array(p, ms, n);
    pr_params_add_i64_array(p, started_us, NULL, n);
    pr_params_add_text_array(p, workers, n);
    pr_params_add_bytes_array(p, responses, NULL, n);
    pr_params_add_text_array(p, no_text, n);
}

static pr_rc_t apply_all(caller_t *self, batch_t *batch, int64_t count)
{
    self->take = take_session;
    self->arg = batch;
    pr_params_add_text(self->params, "");
    pr_rc_t rc = call(self, PR_SQL_SCHEDULER_OPEN_SESSION);
    self->take = take_applied;
    for (int64_t at = 0; at < count && rc == PR_OK; at += BATCH) {
        add_results(self->params, batch, at, (int)(count - at < BATCH ? count - at : BATCH));
        rc = call(self, PR_SQL_SCHEDULER_APPLY_RESULTS);
    }
    if (rc == PR_OK && batch->applied != count)
        rc = pr_error_set(self->error, PR_FATAL, "bench", "", "%lld of %lld results applied",
                          (long long)batch->applied, (long long)count);
    return rc;
}

static pr_rc_t end_session(caller_t *self, const batch_t *batch)
{
    self->take = take_nothing;
    pr_params_add_uuid(self->params, batch->session);
    return call(self, PR_SQL_SCHEDULER_END_SESSION);
}

/* ---- http ---- */

static pr_rc_t read_requests(pr_stage_t *stage, int64_t after, int64_t count,
                             pr_bare_request_t *requests, pr_error_t *error)
{
    const char *port = strrchr(stage->receiver_address, ':');
    pr_rc_t rc = PR_OK;
    for (int64_t at = 0; at < count && rc == PR_OK;) {
        PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
        PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
        pr_params_add_i64(params, after);
        pr_params_add_i32(params, (int32_t)(count - at < PAGE ? count - at : PAGE));
        rc = pr_db_sync_query(stage->admin, pr_sql_bench[PR_SQL_BENCH_BODIES].sql, params, &rows,
                              error);
        if (rc == PR_OK && pr_rows_count(rows) == 0)
            rc = pr_error_set(error, PR_FATAL, "bench", "", "bodies are missing");
        for (int row = 0; rc == PR_OK && row < pr_rows_count(rows); row++) {
            const char *merchant = pr_rows_text(rows, row, 2);
            pr_bare_request_t *request = &requests[at++];
            after = pr_rows_i64(rows, row, 0);
            request->notify_id = pr_strdup(pr_rows_text(rows, row, 1));
            request->url = pr_asprintf("http://%s.localhost%s/m/%s", merchant, port, merchant);
            pr_buffer_init(&request->body, BODY_MAX);
            pr_bytes_t body = pr_rows_bytes(rows, row, 3);
            rc = pr_buffer_append(&request->body, body.data, body.len);
        }
    }
    return rc;
}

static void free_requests(pr_bare_request_t *requests, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        pr_free(requests[i].url);
        pr_free(requests[i].notify_id);
        pr_buffer_free(&requests[i].body);
    }
    pr_free(requests);
}

static double own_cpu_us(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* ---- the whole ---- */

/* Postgres' CPU from a to b, a notification. */
static double postgres_us(const pr_meter_t *a, const pr_meter_t *b, pr_stage_t *stage,
                          int64_t count, pr_rc_t *rc, pr_error_t *error)
{
    json_t *report = json_object();
    *rc = pr_meter_report(stage, a, b, count, report, error);
    double us = json_real_value(json_object_get(report, "cpu_us_postgres"));
    json_decref(report);
    return us;
}

static pr_rc_t measure_move(pr_stage_t *stage, int64_t count, double *us, pr_error_t *error)
{
    static pr_meter_t a, b;
    pr_rc_t rc = pr_meter_read(stage, true, &a, error);
    rc = rc != PR_OK ? rc : move_all(stage, count, error);
    rc = rc != PR_OK ? rc : pr_meter_read(stage, true, &b, error);
    if (rc == PR_OK)
        *us = postgres_us(&a, &b, stage, count, &rc, error);
    return rc;
}

static pr_rc_t measure_batch(pr_stage_t *stage, int64_t count, double *us, pr_error_t *error)
{
    static pr_meter_t a, b;
    pr_db_options_t options = {.url = stage->app_url,
                               .application_name = "bench batch",
                               .role = "postrider_scheduler",
                               .index_plans = true,
                               .statements = pr_sql_scheduler,
                               .nstatements = PR_SQL_SCHEDULER_COUNT};
    batch_t batch = {.seq = pr_calloc((size_t)count, sizeof *batch.seq),
                     .salt = pr_calloc((size_t)count, sizeof *batch.salt)};
    caller_t self = {.db = pr_db_new(&options), .params = pr_params_new(), .error = error};
    pr_rc_t rc = read_jobs(stage, &batch, count, error);
    rc = rc != PR_OK ? rc : pr_meter_read(stage, true, &a, error);
    rc = rc != PR_OK ? rc : await_ready(&self);
    rc = rc != PR_OK ? rc : apply_all(&self, &batch, count);
    rc = rc != PR_OK ? rc : pr_meter_read(stage, true, &b, error);
    if (rc == PR_OK)
        *us = postgres_us(&a, &b, stage, count, &rc, error);
    rc = rc != PR_OK ? rc : end_session(&self, &batch);
    pr_params_destroy(&self.params);
    pr_db_destroy(&self.db);
    pr_free(batch.seq);
    pr_free(batch.salt);
    return rc;
}

static pr_rc_t measure_http(pr_stage_t *stage, int64_t after, int64_t count, json_t *report,
                            pr_error_t *error)
{
    static pr_meter_t a, b;
    pr_bare_request_t *requests = pr_calloc((size_t)count, sizeof *requests);
    pr_rc_t rc = read_requests(stage, after, count, requests, error);
    rc = rc != PR_OK ? rc : pr_meter_read(stage, true, &a, error);
    double start_us = own_cpu_us();
    int64_t wall_us = pr_clock_mono_us();
    rc = rc != PR_OK ? rc : pr_bare_http(requests, count, error);
    double spent_us = own_cpu_us() - start_us,
           seconds = (double)(pr_clock_mono_us() - wall_us) / 1e6;
    rc = rc != PR_OK ? rc : pr_meter_read(stage, true, &b, error);
    json_t *meter = json_object();
    rc = rc != PR_OK ? rc : pr_meter_report(stage, &a, &b, count, meter, error);
    (void)json_object_set_new(report, "bare_http_us", json_real(spent_us / (double)count));
    (void)json_object_set_new(report, "bare_http_per_s", json_real((double)count / seconds));
    (void)json_object_set(report, "bare_receiver_us", json_object_get(meter, "cpu_us_receiver"));
    json_decref(meter);
    free_requests(requests, count);
    return rc;
}

pr_rc_t pr_bare_mark(pr_stage_t *stage, int64_t *after, pr_error_t *error)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_rc_t rc = pr_db_sync_query(stage->admin, pr_sql_bench[PR_SQL_BENCH_LAST_BODY].sql, NULL,
                                  &rows, error);
    if (rc == PR_OK)
        *after = pr_rows_i64(rows, 0, 0);
    return rc;
}

pr_rc_t pr_bare_measure(pr_stage_t *stage, int64_t after, int64_t count, json_t *report,
                        pr_error_t *error)
{
    double move_us = 0, batch_us = 0;
    pr_rc_t rc = pr_db_sync_query(stage->admin, "CHECKPOINT", NULL, NULL, error);
    rc = rc != PR_OK ? rc : measure_move(stage, count, &move_us, error);
    rc = rc != PR_OK ? rc : measure_batch(stage, count, &batch_us, error);
    rc = rc != PR_OK ? rc : measure_http(stage, after, count, report, error);
    double http_us = json_real_value(json_object_get(report, "bare_http_us"));
    (void)json_object_set_new(report, "bare_move_us", json_real(move_us));
    (void)json_object_set_new(report, "bare_batch_us", json_real(batch_us));
    (void)json_object_set_new(report, "bare_us", json_real(http_us + move_us + batch_us));
    return rc;
}
