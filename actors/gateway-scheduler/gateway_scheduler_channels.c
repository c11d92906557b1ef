/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/gateway-scheduler/gateway_scheduler_io.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/fnv.h"
#include "base/log.h"

#include <jansson.h>

#include <string.h>

#define CHANNELS_MAX 65536

int64_t channel_no(const char *id)
{
    return (int64_t)pr_fnv_text(PR_FNV_START, id);
}

const channel_row_t *channels_find(const io_t *io, int64_t no)
{
    return io->channels ? pr_map_get(io->channels, (uint64_t)no) : NULL;
}

static void row_free(channel_row_t *row)
{
    for (size_t i = 0; i < row->nparameters; i++) {
        pr_free(row->parameters[i]->name);
        pr_free(row->parameters[i]->sealed.data);
        pr_free(row->parameters[i]);
    }
    for (size_t i = 0; i < row->nexponents; i++) {
        pr_free(row->exponents[i]->currency);
        pr_free(row->exponents[i]);
    }
    pr_free(row->parameters);
    pr_free(row->exponents);
    pr_free(row->id);
    pr_free(row->profile);
    pr_free(row->base_url);
    pr_free(row->tls_ca);
    pr_free(row);
}

/* ---- what is JSON in a row ---- */

/* [{"name", "position", "sealed": hex}], as SQL made it; false: it is not. */
static bool read_parameters(channel_row_t *row, const char *text)
{
    json_t *list = json_loads(text, 0, NULL);
    size_t count = json_array_size(list);
    bool good = json_is_array(list);
    row->parameters = pr_calloc(count, sizeof(void *));
    for (size_t i = 0; good && i < count; i++) {
        const char *name = json_string_value(json_object_get(json_array_get(list, i), "name"));
        const char *hex = json_string_value(json_object_get(json_array_get(list, i), "sealed"));
        good = name && hex;
        if (!good)
            break;
        size_t len = strlen(hex) / 2;
        Postrider__V1__ChannelParameter *to = PR_NEW(Postrider__V1__ChannelParameter);
        postrider__v1__channel_parameter__init(to);
        to->name = pr_strdup(name);
        to->sealed = (ProtobufCBinaryData){len, pr_calloc(len, 1)};
        good = pr_unhex(hex, strlen(hex), to->sealed.data);
        row->parameters[row->nparameters++] = to;
    }
    json_decref(list);
    return good;
}

static bool read_exponents(channel_row_t *row, const char *text)
{
    json_t *object = json_loads(text, 0, NULL);
    bool good = json_is_object(object);
    row->exponents = pr_calloc(json_object_size(object), sizeof(void *));
    const char *currency;
    json_t *value;
    json_object_foreach(object, currency, value)
    {
        good = good && json_is_integer(value) && json_integer_value(value) >= 0;
        Postrider__V1__ChannelExponent *to = PR_NEW(Postrider__V1__ChannelExponent);
        postrider__v1__channel_exponent__init(to);
        to->currency = pr_strdup(currency);
        to->exponent = (uint32_t)json_integer_value(value);
        row->exponents[row->nexponents++] = to;
    }
    json_decref(object);
    return good;
}

/* ---- rows ---- */

enum {
    COL_CHANNEL,
    COL_VERSION,
    COL_SHARD,
    COL_STATE,
    COL_PROFILE,
    COL_BASE_URL,
    COL_TLS_CA,
    COL_PARAMETERS,
    COL_EXPONENTS,
    COL_RATE,
    COL_BURST,
    COL_CONCURRENCY,
    COL_POLLS,
    COL_MAX_POLLS,
    COL_CHARGE_RETRY,
    COL_QUERY_SUPPORTED,
    COL_PAUSED_MS,
};

static pr_rc_t read_schedules(const io_t *io, const pr_rows_t *rows, int n,
                              pr_calls_channel_t *spec, pr_error_t *error)
{
    if (pr_retry_parse(pr_rows_text(rows, n, COL_POLLS), &spec->polls, error) != PR_OK ||
        pr_retry_parse(pr_rows_text(rows, n, COL_CHARGE_RETRY), &spec->charges, error) != PR_OK)
        return PR_BAD;
    pr_retry_scale(&spec->polls, io->time_scale);
    pr_retry_scale(&spec->charges, io->time_scale);
    return PR_OK;
}

static channel_row_t *row_new(const io_t *io, const pr_rows_t *rows, int n)
{
    channel_row_t *row = PR_NEW(channel_row_t);
    row->id = pr_strdup(pr_rows_text(rows, n, COL_CHANNEL));
    row->no = channel_no(row->id);
    row->version = pr_rows_i64(rows, n, COL_VERSION);
    row->shard = (uint8_t)pr_rows_i16(rows, n, COL_SHARD);
    row->active = strcmp(pr_rows_text(rows, n, COL_STATE), "active") == 0;
    row->profile = pr_strdup(pr_rows_text(rows, n, COL_PROFILE));
    row->base_url = pr_strdup(pr_rows_text(rows, n, COL_BASE_URL));
    row->tls_ca = pr_strdup(pr_rows_text(rows, n, COL_TLS_CA));
    pr_error_t error = {.text = "parameters or exponents are no JSON that we made"};
    bool good = read_parameters(row, pr_rows_text(rows, n, COL_PARAMETERS)) &&
                read_exponents(row, pr_rows_text(rows, n, COL_EXPONENTS)) &&
                read_schedules(io, rows, n, &row->spec, &error) == PR_OK;
    row->spec.no = row->no;
    row->spec.shard = row->shard;
    row->spec.version = row->version;
    row->spec.rate_per_s = pr_rows_f64(rows, n, COL_RATE);
    row->spec.burst = (uint32_t)pr_rows_i32(rows, n, COL_BURST);
    row->spec.concurrency = (uint32_t)pr_rows_i32(rows, n, COL_CONCURRENCY);
    row->spec.poll.max_polls = (uint32_t)pr_rows_i32(rows, n, COL_MAX_POLLS);
    row->spec.poll.query_supported = pr_rows_bool(rows, n, COL_QUERY_SUPPORTED);
    row->spec.time_scale = io->time_scale;
    row->spec.paused_ms = pr_rows_i64(rows, n, COL_PAUSED_MS);
    row->spec.active = row->active && good;
    if (!good)
        pr_log_error(PR_LOG_ERROR, "channel.unreadable", &error);
    return row;
}

static void set(io_t *io, const channel_row_t *row)
{
    pr_calls_channel_t spec = row->spec;
    spec.poll.schedule = NULL; /* the step looks at its own copy */
    spec.active = row->spec.active && !bit_get(io->leaving, row->shard) && !io->draining;
    pr_calls_set_channel(io->calls, &spec, io->now_ms);
}

static void take_row(io_t *io, const pr_rows_t *rows, int n)
{
    if (!bit_get(io->owned, pr_rows_i16(rows, n, COL_SHARD) & 255))
        return; /* given up since it was asked for */
    channel_row_t *row = row_new(io, rows, n);
    channel_row_t *old = pr_map_get(io->channels, (uint64_t)row->no);
    if (old && strcmp(old->id, row->id) != 0) {
        pr_log_warn("channel.hash_collision", "channel=%s other=%s", row->id, old->id);
        row_free(row);
        return;
    }
    if (old) {
        row->spec.poll.delays = old->spec.poll.delays;
        row->lends = old->lends;
        row->wished = old->wished;
        row_free(old);
    }
    if (pr_map_put(io->channels, (uint64_t)row->no, row, NULL) != PR_OK) {
        (void)pr_map_remove(io->channels, (uint64_t)row->no);
        row_free(row);
        return;
    }
    set(io, row);
    pr_log_info("channel.loaded", "channel=%s version=%lld active=%d", row->id,
                (long long)row->version, row->active);
}

static void on_loaded(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE session_asked_t *asked = arg;
    io_t *io = asked->io;
    if (asked->epoch == io->epoch)
        io->loading = false;
    if (!session_answered(io, asked->epoch, rc, "channels.load_failed", error))
        return;
    for (int n = 0; n < pr_rows_count(rows); n++)
        take_row(io, rows, n);
    if (pr_rows_count(rows) > 0)
        io->look_at_ms = 0;
}

void channels_load(io_t *io)
{
    if (io->loading)
        return;
    int count = (int)pr_map_count(io->channels), n = 0;
    const char **ids = pr_calloc((size_t)count, sizeof *ids);
    int64_t *versions = pr_calloc((size_t)count, sizeof *versions);
    size_t cursor = 0;
    const channel_row_t *row;
    while ((row = pr_map_next(io->channels, &cursor, NULL))) {
        ids[n] = row->id;
        versions[n++] = row->version;
    }
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    pr_params_add_text_array(io->params, ids, n);
    pr_params_add_i64_array(io->params, versions, NULL, n);
    io->loading = session_ask(io, PR_SQL_GATEWAY_SCHEDULER_LOAD_CHANNELS, on_loaded);
    pr_free(ids);
    pr_free(versions);
}

/* ---- how late webhooks are ---- */

static void on_measured(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE session_asked_t *asked = arg;
    io_t *io = asked->io;
    if (asked->epoch == io->epoch)
        io->measuring = false;
    if (!session_answered(io, asked->epoch, rc, "channels.measure_failed", error))
        return;
    for (int n = 0; n < pr_rows_count(rows); n++) {
        channel_row_t *row =
            pr_map_get(io->channels, (uint64_t)channel_no(pr_rows_text(rows, n, 0)));
        if (!row)
            continue;
        row->spec.poll.delays = (pr_webhook_delays_t){
            .samples = (uint32_t)pr_rows_i32(rows, n, 1),
            .first_permille = (uint32_t)pr_rows_i32(rows, n, 2),
            .p95_ms = pr_rows_i64(rows, n, 3),
            .p99_ms = pr_rows_i64(rows, n, 4),
        };
        set(io, row);
    }
}

void channels_measure(io_t *io)
{
    if (io->measuring)
        return;
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    io->measuring = session_ask(io, PR_SQL_GATEWAY_SCHEDULER_WEBHOOK_DELAYS, on_measured);
}

/* ---- going ---- */

void channels_leave(io_t *io, int shard)
{
    size_t cursor = 0;
    const channel_row_t *row;
    while ((row = pr_map_next(io->channels, &cursor, NULL)))
        if (shard < 0 || row->shard == shard)
            set(io, row);
}

void channels_drop(io_t *io, int shard)
{
    size_t cursor = 0;
    uint64_t key;
    channel_row_t *row;
    while ((row = pr_map_next(io->channels, &cursor, &key)))
        if (row->shard == shard) {
            pr_calls_drop_channel(io->calls, row->no);
            (void)pr_map_remove(io->channels, key);
            row_free(row);
        }
}

void channels_forget(io_t *io)
{
    size_t cursor = 0;
    channel_row_t *row;
    while ((row = pr_map_next(io->channels, &cursor, NULL)))
        row_free(row);
    pr_map_clear(io->channels);
}
