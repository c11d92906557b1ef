/* SPDX-License-Identifier: Apache-2.0
 *
 * Endpoints as their rows have them: all of them, read at the start, and once a second what has changed since. The
 * decisions' part (scheduler.h) learns of those whose shard is ours.
 */
#include "actors/scheduler/scheduler_io.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"

#include <jansson.h>

#include <stdio.h>
#include <string.h>

#define ENDPOINTS_MAX (1u << 20)
#define HEADERS_MAX 32

enum {
    COL_HORIZON,
    COL_ID,
    COL_MERCHANT_ID,
    COL_SHARD,
    COL_URL,
    COL_SCHEME,
    COL_SECRET,
    COL_SECRET_NEXT,
    COL_ROTATE_IN_MS,
    COL_SUCCESS_RULE,
    COL_RETRY,
    COL_MAX_AGE_MS,
    COL_CONCURRENCY,
    COL_RATE_PER_S,
    COL_HEADERS,
    COL_TLS_CA,
    COL_EGRESS,
    COL_HTTP2,
    COL_ACTIVE,
    COL_FORCED,
    COL_PAUSED_FOR_MS,
};

void endpoint_row_destroy(endpoint_row_t **row_ptr)
{
    endpoint_row_t *row = *row_ptr;
    if (!row)
        return;
    for (size_t i = 0; i < row->nheaders; i++) {
        pr_free(row->headers[i].name);
        pr_free(row->headers[i].value);
    }
    pr_free(row->headers);
    pr_free(row->header_ptrs);
    pr_free(row->merchant_id);
    pr_free(row->url);
    pr_free(row->scheme);
    pr_free(row->success_rule);
    pr_free(row->tls_ca);
    pr_free(row->egress);
    pr_free(row->secret);
    pr_free(row->secret_next);
    pr_free(row);
    *row_ptr = NULL;
}

static void read_headers(endpoint_row_t *row, const char *text)
{
    json_t *object = json_loads(text, 0, NULL);
    const char *name;
    json_t *value;
    row->headers = pr_calloc(HEADERS_MAX, sizeof *row->headers);
    row->header_ptrs = pr_calloc(HEADERS_MAX, sizeof(Postrider__V1__Header *));
    json_object_foreach(object, name, value)
    {
        if (!json_is_string(value) || row->nheaders == HEADERS_MAX)
            continue; /* the SQL door admits strings only */
        Postrider__V1__Header *header = &row->headers[row->nheaders];
        postrider__v1__header__init(header);
        header->name = pr_strdup(name);
        header->value = pr_strdup(json_string_value(value));
        row->header_ptrs[row->nheaders++] = header;
    }
    json_decref(object);
}

static void read_retry(io_t *io, endpoint_row_t *row, const char *text)
{
    row->spec.retry = io->retry;
    if (*text == '\0')
        return;
    pr_error_t error;
    if (pr_retry_parse(text, &row->spec.retry, &error) != PR_OK) {
        pr_log_error(PR_LOG_ERROR, "endpoint.bad_retry",
                     &error); /* the configuration's list is used */
        row->spec.retry = io->retry;
        return;
    }
    pr_retry_scale(&row->spec.retry, io->time_scale);
}

static int64_t scaled(const io_t *io, int64_t ms)
{
    int64_t out = (int64_t)((double)ms * io->time_scale);
    return out > 0 ? out : 1;
}

static endpoint_row_t *read_row(io_t *io, const pr_rows_t *rows, int at)
{
    endpoint_row_t *row = PR_NEW(endpoint_row_t);
    const char *forced = pr_rows_text(rows, at, COL_FORCED);
    row->failing = true; /* not known: its first success is told, which may end an episode */
    row->spec = (pr_sched_endpoint_t){
        .id = pr_rows_i64(rows, at, COL_ID),
        .shard = (uint8_t)pr_rows_i16(rows, at, COL_SHARD),
        .active = pr_rows_bool(rows, at, COL_ACTIVE),
        .forced = strcmp(forced, "open") == 0     ? PR_FORCED_OPEN
                  : strcmp(forced, "closed") == 0 ? PR_FORCED_CLOSED
                                                  : PR_FORCED_NOT,
        .concurrency = pr_rows_null(rows, at, COL_CONCURRENCY)
                           ? io->concurrency
                           : (uint32_t)pr_rows_i32(rows, at, COL_CONCURRENCY),
        .rate_per_s =
            pr_rows_null(rows, at, COL_RATE_PER_S) ? 0 : pr_rows_f64(rows, at, COL_RATE_PER_S),
        .max_age_ms = pr_rows_null(rows, at, COL_MAX_AGE_MS)
                          ? io->max_age_ms
                          : scaled(io, pr_rows_i64(rows, at, COL_MAX_AGE_MS)),
        .paused_until_ms = pr_rows_null(rows, at, COL_PAUSED_FOR_MS)
                               ? 0
                               : io->now_ms + pr_rows_i64(rows, at, COL_PAUSED_FOR_MS),
    };
    row->merchant_id = pr_strdup(pr_rows_text(rows, at, COL_MERCHANT_ID));
    row->url = pr_strdup(pr_rows_text(rows, at, COL_URL));
    row->scheme = pr_strdup(pr_rows_text(rows, at, COL_SCHEME));
    row->success_rule = pr_strdup(pr_rows_text(rows, at, COL_SUCCESS_RULE));
    row->tls_ca = pr_strdup(pr_rows_text(rows, at, COL_TLS_CA));
    row->egress = pr_strdup(pr_rows_text(rows, at, COL_EGRESS));
    row->http2 = pr_rows_bool(rows, at, COL_HTTP2);
    pr_bytes_t secret = pr_rows_bytes(rows, at, COL_SECRET),
               next = pr_rows_bytes(rows, at, COL_SECRET_NEXT);
    row->secret = pr_memdup(secret.data, secret.len);
    row->secret_len = secret.len;
    row->secret_next = pr_memdup(next.data, next.len);
    row->secret_next_len = next.len;
    row->rotate_at_ms = pr_rows_null(rows, at, COL_ROTATE_IN_MS)
                            ? INT64_MAX
                            : io->now_ms + pr_rows_i64(rows, at, COL_ROTATE_IN_MS);
    read_headers(row, pr_rows_text(rows, at, COL_HEADERS));
    read_retry(io, row, pr_rows_text(rows, at, COL_RETRY));
    return row;
}

static void on_endpoints(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    io_t *io = arg;
    io->loading_endpoints = false;
    if (rc == PR_AGAIN) {
        pr_log_error(PR_LOG_WARN, "rows.statement_failed", error);
        return;
    }
    if (rc != PR_OK) {
        pr_actor_fail(io->actor, PR_FATAL, error);
        return;
    }
    for (int at = 0; at < pr_rows_count(rows); at++) {
        if (pr_rows_null(rows, at, COL_ID))
            continue;
        endpoint_row_t *row = read_row(io, rows, at), *old = NULL;
        void *replaced = NULL;
        if (pr_map_put(io->endpoints, (uint64_t)row->spec.id, row, &replaced) != PR_OK) {
            pr_log_limited(PR_LOG_ERROR, "endpoint.too_many", "", "most=%u", ENDPOINTS_MAX);
            endpoint_row_destroy(&row);
            continue;
        }
        old = replaced;
        endpoint_row_destroy(&old);
        if (bit_get(io->owned, row->spec.shard) && !bit_get(io->leaving, row->spec.shard))
            pr_sched_set_endpoint(io->sched, &row->spec, io->now_ms);
    }
    (void)snprintf(io->horizon, sizeof io->horizon, "%s", pr_rows_text(rows, 0, COL_HORIZON));
    io->endpoints_known = true;
    io->poll_at_ms = io->now_ms;
}

void rows_load_endpoints(io_t *io)
{
    if (io->loading_endpoints)
        return;
    pr_params_clear(io->params);
    pr_params_add_text(io->params, io->endpoints_known ? io->horizon : "0");
    if (pr_db_query(io->db, PR_SQL_SCHEDULER_LOAD_ENDPOINTS, io->params, on_endpoints, io) == PR_OK)
        io->loading_endpoints = true;
}

const endpoint_row_t *rows_endpoint(const io_t *io, int64_t id)
{
    return pr_map_get(io->endpoints, (uint64_t)id);
}

void rows_claim_shard(io_t *io, int shard)
{
    size_t cursor = 0;
    const endpoint_row_t *row;
    while ((row = pr_map_next(io->endpoints, &cursor, NULL)))
        if (row->spec.shard == shard)
            pr_sched_set_endpoint(io->sched, &row->spec, io->now_ms);
}

/* ---- pauses (Retry-After) ---- */

#define PAUSES_AT_ONCE 256

typedef struct {
    io_t *io;
    int count;
    uint32_t epoch;
} pauses_sent_t;

void endpoints_pause(io_t *io, int64_t endpoint_id, int64_t ms)
{
    if (io->npauses == io->pauses_room) {
        io->pauses_room = io->pauses_room ? io->pauses_room * 2 : 64;
        io->pauses = pr_realloc(io->pauses, (size_t)io->pauses_room, sizeof *io->pauses);
    }
    io->pauses[io->npauses++] = (pause_t){endpoint_id, io->now_ms + ms};
    endpoint_row_t *row = pr_map_get(io->endpoints, (uint64_t)endpoint_id);
    if (row && row->spec.paused_until_ms < io->now_ms + ms)
        row->spec.paused_until_ms = io->now_ms + ms;
}

static void on_paused(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    pauses_sent_t *sent = arg;
    io_t *io = sent->io;
    (void)rows;
    bool ours = sent->epoch == io->pauses_epoch;
    int count = sent->count;
    pr_free(sent);
    if (rc != PR_OK) {
        if (rc == PR_AGAIN)
            pr_log_error(PR_LOG_WARN, "rows.statement_failed", error);
        else
            pr_actor_fail(io->actor, PR_FATAL, error);
        io->pauses_epoch++; /* all again, in their order: a second time changes nothing */
        io->pauses_sent = 0;
        return;
    }
    if (!ours)
        return;
    io->npauses -= count;
    io->pauses_sent -= count;
    memmove(io->pauses, io->pauses + count, (size_t)io->npauses * sizeof *io->pauses);
}

void endpoints_flush_pauses(io_t *io)
{
    while (io->npauses > io->pauses_sent && io->session_state == SESSION_LIVE) {
        const pause_t *from = io->pauses + io->pauses_sent;
        int left = io->npauses - io->pauses_sent,
            count = left < PAUSES_AT_ONCE ? left : PAUSES_AT_ONCE;
        int64_t ids[PAUSES_AT_ONCE], ms[PAUSES_AT_ONCE];
        for (int i = 0; i < count; i++) {
            ids[i] = from[i].endpoint_id;
            ms[i] = from[i].until_ms - io->now_ms;
        }
        pr_params_clear(io->params);
        pr_params_add_i64_array(io->params, ids, NULL, count);
        pr_params_add_i64_array(io->params, ms, NULL, count);
        pauses_sent_t *sent = PR_NEW(pauses_sent_t);
        *sent = (pauses_sent_t){io, count, io->pauses_epoch};
        if (pr_db_query(io->db, PR_SQL_SCHEDULER_PAUSE_ENDPOINTS, io->params, on_paused, sent) !=
            PR_OK) {
            pr_free(sent);
            return;
        }
        io->pauses_sent += count;
    }
}
