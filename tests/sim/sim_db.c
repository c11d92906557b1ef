/* SPDX-License-Identifier: Apache-2.0
 *
 * lib/db/db.h without libpq: connections, their pipelines, parameters and rows.
 *
 * A statement is sent, carried out by the server a moment later (sim_pg.c; one after the other on one connection), and answered a
 * moment after that. A connection can end in each of these gaps: the client then hears PR_AGAIN without a code, and the statement
 * was carried out or was not. A half-open one goes on at the server, with what it has received, and keeps its locks.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "db/db.h"
#include "sim.h"

#include <string.h>

#define PARAMS_MAX 24
#define STATEMENTS_MAX 40
#define SILENCE_US (13 * SIM_SECOND) /* lib/db: a silent Postgres is left */

/* ---- parameters ---- */

typedef struct {
    bool null;
    int count; /* of an array; 1 for a scalar */
    void *values;
    bool *nulls;
    bool texts, owned_bytes;
} param_t;

struct pr_params_t {
    param_t params[PARAMS_MAX];
    int count;
};

pr_params_t *pr_params_new(void)
{
    return PR_NEW(pr_params_t);
}

void pr_params_clear(pr_params_t *self)
{
    for (int i = 0; i < self->count; i++) {
        param_t *param = &self->params[i];
        for (int k = 0; param->texts && k < param->count; k++)
            pr_free(((char **)param->values)[k]);
        pr_free(param->values);
        pr_free(param->nulls);
        *param = (param_t){0};
    }
    self->count = 0;
}

void pr_params_destroy(pr_params_t **self)
{
    if (*self)
        pr_params_clear(*self);
    pr_free(*self);
    *self = NULL;
}

static param_t *add(pr_params_t *self, int count)
{
    pr_assert(self->count < PARAMS_MAX);
    param_t *param = &self->params[self->count++];
    *param = (param_t){.count = count};
    return param;
}

static void add_i64(pr_params_t *self, int64_t value)
{
    add(self, 1)->values = pr_memdup(&value, sizeof value);
}

void pr_params_add_null(pr_params_t *self)
{
    add(self, 0)->null = true;
}

void pr_params_add_i16(pr_params_t *self, int16_t value)
{
    add_i64(self, value);
}

void pr_params_add_i32(pr_params_t *self, int32_t value)
{
    add_i64(self, value);
}

void pr_params_add_i64(pr_params_t *self, int64_t value)
{
    add_i64(self, value);
}

void pr_params_add_f64(pr_params_t *self, double value)
{
    add(self, 1)->values = pr_memdup(&value, sizeof value);
}

void pr_params_add_bool(pr_params_t *self, bool value)
{
    add_i64(self, value);
}

void pr_params_add_text_array(pr_params_t *self, const char *const *values, int count)
{
    param_t *param = add(self, count);
    param->texts = true;
    char **copies = pr_calloc((size_t)count, sizeof *copies);
    for (int i = 0; i < count; i++)
        copies[i] = values[i] ? pr_strdup(values[i]) : NULL;
    param->values = copies;
}

void pr_params_add_text(pr_params_t *self, const char *value)
{
    pr_params_add_text_array(self, &value, 1);
}

void pr_params_add_bytes(pr_params_t *self, pr_bytes_t value)
{
    (void)value; /* no statement of the model looks at bytes */
    add(self, 0)->null = true;
}

void pr_params_add_uuid(pr_params_t *self, const uint8_t uuid[16])
{
    add(self, 1)->values = pr_memdup(uuid, 16);
}

void pr_params_add_i16_array(pr_params_t *self, const int16_t *values, int count)
{
    int64_t *wide = pr_calloc((size_t)count, sizeof *wide);
    for (int i = 0; i < count; i++)
        wide[i] = values[i];
    add(self, count)->values = wide;
}

void pr_params_add_i32_array(pr_params_t *self, const int32_t *values, int count)
{
    int64_t *wide = pr_calloc((size_t)count, sizeof *wide);
    for (int i = 0; i < count; i++)
        wide[i] = values[i];
    add(self, count)->values = wide;
}

void pr_params_add_i64_array(pr_params_t *self, const int64_t *values, const bool *nulls, int count)
{
    param_t *param = add(self, count);
    param->values = pr_calloc((size_t)count, sizeof *values);
    if (count > 0)
        memcpy(param->values, values, (size_t)count * sizeof *values);
    if (nulls && count > 0)
        param->nulls = pr_memdup(nulls, (size_t)count * sizeof *nulls);
}

/* Of an excerpt only its first bytes matter: a poisonous one begins with a NUL. */
void pr_params_add_bytes_array(pr_params_t *self, const pr_bytes_t *values, const bool *nulls,
                               int count)
{
    int64_t *first = pr_calloc((size_t)count, sizeof *first);
    for (int i = 0; i < count; i++)
        first[i] = (!nulls || !nulls[i]) && values[i].len > 0 ? values[i].data[0] : -1;
    add(self, count)->values = first;
}

void pr_params_add_uuid_array(pr_params_t *self, const uint8_t (*values)[16], int count)
{
    add(self, count)->values = pr_memdup(values, (size_t)count * 16);
}

int64_t sim_param_i64(const pr_params_t *params, int index)
{
    pr_assert(index < params->count && params->params[index].count == 1);
    return *(const int64_t *)params->params[index].values;
}

const int64_t *sim_param_i64s(const pr_params_t *params, int index, int *count)
{
    pr_assert(index < params->count && !params->params[index].texts);
    if (count)
        *count = params->params[index].count;
    return params->params[index].values;
}

const char *sim_param_text(const pr_params_t *params, int index)
{
    return sim_param_text_at(params, index, 0);
}

const char *sim_param_text_at(const pr_params_t *params, int index, int at)
{
    pr_assert(index < params->count && params->params[index].texts);
    return ((char *const *)params->params[index].values)[at];
}

const uint8_t *sim_param_uuid(const pr_params_t *params, int index)
{
    pr_assert(index < params->count);
    return params->params[index].values;
}

bool sim_param_null_at(const pr_params_t *params, int index, int at)
{
    pr_assert(index < params->count);
    return params->params[index].nulls && params->params[index].nulls[at];
}

/* The client's set begins anew with each statement: what it holds is taken over. */
static void params_take(pr_params_t *to, const pr_params_t *from)
{
    if (!from)
        return;
    pr_params_t *emptied = (pr_params_t *)(uintptr_t)from;
    *to = *from;
    emptied->count = 0;
}

/* ---- rows ---- */

typedef enum {
    CELL_NULL = 0,
    CELL_I16,
    CELL_I32,
    CELL_I64,
    CELL_BOOL,
    CELL_BYTES,
    CELL_UUID,
    CELL_I64S
} cell_type_t;

typedef struct {
    cell_type_t type;
    int64_t number; /* or the count of numbers */
    void *data;
    size_t len;
} cell_t;

struct pr_rows_t {
    int columns, count, room;
    cell_t *cells;
};

pr_rows_t *sim_rows_new(int columns)
{
    pr_rows_t *rows = PR_NEW(pr_rows_t);
    rows->columns = columns;
    return rows;
}

void sim_rows_add(pr_rows_t *rows)
{
    if (rows->count == rows->room) {
        rows->room = rows->room ? rows->room * 2 : 4;
        rows->cells =
            pr_realloc(rows->cells, (size_t)(rows->room * rows->columns), sizeof *rows->cells);
    }
    memset(rows->cells + rows->count++ * rows->columns, 0,
           (size_t)rows->columns * sizeof *rows->cells);
}

void pr_rows_destroy(pr_rows_t **self)
{
    pr_rows_t *rows = PR_STEAL(*self);
    if (!rows)
        return;
    for (int i = 0; i < rows->count * rows->columns; i++)
        pr_free(rows->cells[i].data);
    pr_free(rows->cells);
    pr_free(rows);
}

static cell_t *last(pr_rows_t *rows, int column, cell_type_t type)
{
    pr_assert(rows->count > 0 && column < rows->columns);
    cell_t *cell = &rows->cells[(rows->count - 1) * rows->columns + column];
    cell->type = type;
    return cell;
}

void sim_row_null(pr_rows_t *rows, int column)
{
    last(rows, column, CELL_NULL);
}

void sim_row_i16(pr_rows_t *rows, int column, int64_t value)
{
    last(rows, column, CELL_I16)->number = value;
}

void sim_row_i32(pr_rows_t *rows, int column, int64_t value)
{
    last(rows, column, CELL_I32)->number = value;
}

void sim_row_i64(pr_rows_t *rows, int column, int64_t value)
{
    last(rows, column, CELL_I64)->number = value;
}

void sim_row_bool(pr_rows_t *rows, int column, bool value)
{
    last(rows, column, CELL_BOOL)->number = value;
}

void sim_row_bytes(pr_rows_t *rows, int column, const void *value, size_t len)
{
    cell_t *cell = last(rows, column, CELL_BYTES);
    cell->data = pr_calloc(1, len + 1);
    memcpy(cell->data, value, len);
    cell->len = len;
}

void sim_row_text(pr_rows_t *rows, int column, const char *value)
{
    sim_row_bytes(rows, column, value, strlen(value));
}

void sim_row_uuid(pr_rows_t *rows, int column, const uint8_t value[16])
{
    cell_t *cell = last(rows, column, CELL_UUID);
    cell->data = pr_memdup(value, 16);
}

void sim_row_i64s(pr_rows_t *rows, int column, const int64_t *values, int count)
{
    cell_t *cell = last(rows, column, CELL_I64S);
    cell->data = pr_memdup(values, (size_t)count * sizeof *values);
    cell->number = count;
}

static const cell_t *cell_of(const pr_rows_t *rows, int row, int column, cell_type_t type)
{
    pr_assert(row >= 0 && row < rows->count && column >= 0 && column < rows->columns);
    const cell_t *cell = &rows->cells[row * rows->columns + column];
    pr_assert(cell->type == type || cell->type == CELL_NULL);
    return cell;
}

int pr_rows_count(const pr_rows_t *rows)
{
    return rows->count;
}

int pr_rows_affected(const pr_rows_t *rows)
{
    return rows->count;
}

bool pr_rows_null(const pr_rows_t *rows, int row, int column)
{
    pr_assert(row >= 0 && row < rows->count && column >= 0 && column < rows->columns);
    return rows->cells[row * rows->columns + column].type == CELL_NULL;
}

int16_t pr_rows_i16(const pr_rows_t *rows, int row, int column)
{
    return (int16_t)cell_of(rows, row, column, CELL_I16)->number;
}

int32_t pr_rows_i32(const pr_rows_t *rows, int row, int column)
{
    return (int32_t)cell_of(rows, row, column, CELL_I32)->number;
}

int64_t pr_rows_i64(const pr_rows_t *rows, int row, int column)
{
    return cell_of(rows, row, column, CELL_I64)->number;
}

double pr_rows_f64(const pr_rows_t *rows, int row, int column)
{
    pr_assert(pr_rows_null(rows, row, column));
    return 0;
}

bool pr_rows_bool(const pr_rows_t *rows, int row, int column)
{
    return cell_of(rows, row, column, CELL_BOOL)->number != 0;
}

const char *pr_rows_text(const pr_rows_t *rows, int row, int column)
{
    const cell_t *cell = cell_of(rows, row, column, CELL_BYTES);
    return cell->data ? cell->data : "";
}

pr_bytes_t pr_rows_bytes(const pr_rows_t *rows, int row, int column)
{
    const cell_t *cell = cell_of(rows, row, column, CELL_BYTES);
    return pr_bytes(cell->data, cell->len);
}

int64_t pr_rows_time_us(const pr_rows_t *rows, int row, int column)
{
    return cell_of(rows, row, column, CELL_I64)->number;
}

bool pr_rows_uuid(const pr_rows_t *rows, int row, int column, uint8_t out[16])
{
    const cell_t *cell = cell_of(rows, row, column, CELL_UUID);
    if (!cell->data)
        return false;
    memcpy(out, cell->data, 16);
    return true;
}

int pr_rows_i64_array(const pr_rows_t *rows, int row, int column, int64_t *out, int max)
{
    const cell_t *cell = cell_of(rows, row, column, CELL_I64S);
    pr_assert(cell->number <= max);
    if (cell->data)
        memcpy(out, cell->data, (size_t)cell->number * sizeof *out);
    return (int)cell->number;
}

/* ---- the server's side: backends ---- */

typedef struct query_t {
    struct query_t *next;
    sim_statement_fn *statement;
    const char *name;
    pr_params_t params;
    pr_db_result_fn *fn; /* NULL: nobody waits any more */
    void *arg;
    int64_t sent_us, run_us, answer_us; /* answer_us: SIM_NEVER until it was carried out */
    pr_rc_t rc;
    pr_rows_t *rows;
    pr_error_t error;
} query_t;

typedef struct session_backend_t {
    struct session_backend_t *next;
    sim_backend_t self;
    pr_db_t *db; /* NULL: the client is gone */
    query_t *first, *last;
    int64_t run_us; /* of the last one */
    int64_t end_us; /* without client: when it notices */
} backend_t;

typedef enum { WAITING = 0, CONNECTING, IN_USE } db_state_t;

struct pr_db_t {
    pr_db_options_t options;
    pr_actor_t *actor;
    sim_statement_fn *statements[STATEMENTS_MAX];
    db_state_t state;
    int64_t at_us;   /* WAITING: next try; CONNECTING: ready */
    int64_t lost_us; /* IN_USE: the client learns that the connection is gone */
    int tries;
    backend_t *backend;
};

static backend_t *backends;
static int next_pid;
static pr_db_t *dbs[64];
static int ndbs;
static int slow_percent;

void sim_db_begin(void)
{
    next_pid = 100;
    slow_percent =
        sim_chance(55) || sim->strict ? 0 : (int)sim_between(1, sim_chance(25) ? 70 : 10);
}

void sim_db_end(void)
{
    sim_db_server_down();
    pr_assert(ndbs == 0 && backends == NULL);
}

static void query_free(query_t *query)
{
    pr_params_clear(&query->params);
    pr_rows_destroy(&query->rows);
    pr_free(query);
}

static backend_t *backend_of(int pid)
{
    for (backend_t *backend = backends; backend; backend = backend->next)
        if (backend->self.pid == pid)
            return backend;
    return NULL;
}

bool sim_db_backend_alive(int pid)
{
    return backend_of(pid) != NULL;
}

static void run(void *arg, uint64_t pid);

static void run_query(backend_t *backend, query_t *query)
{
    pr_actor_t *outer = sim->current;
    sim->current = NULL;
    query->rc = sim_pg_statement_fails(&query->error)
                    ? PR_AGAIN
                    : query->statement(&backend->self, &query->params, &query->rows, &query->error);
    sim->current = outer;
    query->answer_us = sim->now_us + sim_between(30, 400);
    if (slow_percent > 0 && !sim->quiet && sim_chance(slow_percent))
        query->answer_us += sim_between(SIM_MS, 300 * SIM_MS);
}

static void schedule(backend_t *backend, query_t *query)
{
    int64_t at_us = query->sent_us > backend->run_us ? query->sent_us : backend->run_us;
    query->run_us = at_us + sim_between(50, 800);
    if (slow_percent > 0 && !sim->quiet && sim_chance(slow_percent))
        query->run_us += sim_between(SIM_MS, 500 * SIM_MS);
    backend->run_us = query->run_us;
    sim_at(query->run_us, run, NULL, (uint64_t)backend->self.pid);
}

/* Carries out what is due on this connection, in order. */
static void run(void *arg, uint64_t pid)
{
    (void)arg;
    backend_t *backend = backend_of((int)pid);
    if (!backend)
        return;
    if (sim_pg_stalled_until_us() > sim->now_us) {
        sim_at(sim_pg_stalled_until_us(), run, NULL, pid);
        return;
    }
    for (query_t *query = backend->first; query; query = query->next) {
        if (query->answer_us != SIM_NEVER)
            continue;
        if (query->run_us > sim->now_us)
            break;
        run_query(backend, query);
        if (!sim_db_backend_alive((int)pid))
            return; /* it ended itself */
        if (backend->db)
            sim_wake(backend->db->actor, query->answer_us + sim_between(0, 300));
    }
    while (!backend->db && backend->first && backend->first->answer_us != SIM_NEVER) {
        query_t *done = backend->first;
        backend->first = done->next;
        if (!backend->first)
            backend->last = NULL;
        query_free(done);
    }
}

static void backend_free(backend_t *backend)
{
    for (backend_t **at = &backends; *at; at = &(*at)->next) {
        if (*at == backend) {
            *at = backend->next;
            break;
        }
    }
    sim_pg_backend_gone(backend->self.pid);
    for (query_t *query; (query = backend->first);) {
        backend->first = query->next;
        query_free(query);
    }
    pr_free(backend);
}

/* The server's end is gone: what was answered already still arrives, then the client sees the end. */
static void backend_end(backend_t *backend)
{
    pr_db_t *db = backend->db;
    if (!db) {
        backend_free(backend);
        return;
    }
    db->lost_us = sim->now_us + sim_between(50, 3 * SIM_MS);
    sim_wake(db->actor, db->lost_us);
    /* it stays in the client's hands as a list of answers; the server knows it no more */
    for (backend_t **at = &backends; *at; at = &(*at)->next) {
        if (*at == backend) {
            *at = backend->next;
            break;
        }
    }
    sim_pg_backend_gone(backend->self.pid);
    backend->self.pid = 0;
}

void sim_db_terminate(int pid)
{
    backend_t *backend = backend_of(pid);
    if (backend)
        backend_end(backend);
}

void sim_db_server_down(void)
{
    while (backends)
        backend_end(backends);
}

static void notice(void *arg, uint64_t pid)
{
    (void)arg;
    backend_t *backend = backend_of((int)pid);
    if (backend && !backend->db)
        backend_free(backend);
}

/* The client is gone from this connection: answers go nowhere. Half open: the server has received all that was sent, and goes
 * on for a while; else it has received some part, and then the end. */
static void abandon(backend_t *backend, bool half_open)
{
    if (backend->self.pid == 0) { /* the server left first */
        backend->db = NULL;
        for (query_t *query; (query = backend->first);) {
            backend->first = query->next;
            query_free(query);
        }
        pr_free(backend);
        return;
    }
    backend->db = NULL;
    int unread = 0;
    for (query_t *query = backend->first; query; query = query->next) {
        query->fn = NULL;
        unread += query->answer_us == SIM_NEVER && query->run_us != SIM_NEVER;
    }
    int received = half_open ? unread : (int)sim_between(0, unread);
    for (query_t **at = &backend->first; *at;) {
        query_t *query = *at;
        bool sent = query->answer_us == SIM_NEVER && query->run_us != SIM_NEVER;
        if (sent && received-- > 0) {
            backend->last = query;
            at = &query->next;
            continue;
        }
        *at = query->next;
        query_free(query);
    }
    if (!backend->first)
        backend->last = NULL;
    int64_t ends_us = sim->now_us + (half_open ? sim_between(SIM_SECOND, 40 * SIM_SECOND)
                                               : sim_between(500, 5 * SIM_MS));
    if (half_open && backend->first) { /* it may get round to them only late */
        int64_t late_us = sim_between(0, 8 * SIM_SECOND);
        for (query_t *query = backend->first; query; query = query->next) {
            query->run_us += late_us;
            sim_at(query->run_us, run, NULL, (uint64_t)backend->self.pid);
            if (query->run_us >= ends_us)
                ends_us = query->run_us + 1;
        }
    }
    sim_at(ends_us, notice, NULL, (uint64_t)backend->self.pid);
}

/* ---- the client's side ---- */

pr_db_t *pr_db_new(const pr_db_options_t *options)
{
    pr_db_t *self = PR_NEW(pr_db_t);
    self->options = *options;
    self->actor = sim->current;
    self->lost_us = SIM_NEVER;
    pr_assert(options->nstatements <= STATEMENTS_MAX);
    for (int i = 0; i < options->nstatements; i++)
        self->statements[i] = sim_pg_statement(options->statements[i].name);
    pr_assert(ndbs < (int)PR_COUNT(dbs));
    dbs[ndbs++] = self;
    return self;
}

/* Leaves the connection and tells all who wait that they will never know. */
static void leave(pr_db_t *self, bool half_open)
{
    backend_t *backend = PR_STEAL(self->backend);
    struct {
        pr_db_result_fn *fn;
        void *arg;
    } waiting[256];
    int count = 0;
    for (query_t *query = backend ? backend->first : NULL; query; query = query->next) {
        pr_assert(count < (int)PR_COUNT(waiting));
        waiting[count].fn = query->fn;
        waiting[count++].arg = query->arg;
    }
    if (backend)
        abandon(backend, half_open);
    pr_error_t error = {.source = "db", .text = "connection lost"};
    for (int i = 0; i < count; i++)
        waiting[i].fn(waiting[i].arg, PR_AGAIN, NULL, &error);
}

static void lose(pr_db_t *self, bool half_open)
{
    bool was_ready = self->state == IN_USE;
    self->tries++;
    int64_t wait_us = (INT64_C(100) * SIM_MS) << (self->tries < 6 ? self->tries - 1 : 5);
    wait_us = wait_us < 5 * SIM_SECOND ? wait_us : 5 * SIM_SECOND;
    self->state = WAITING;
    self->at_us = sim->now_us + wait_us;
    self->lost_us = SIM_NEVER;
    if (was_ready)
        sim_trace("  db.lost");
    leave(self, half_open);
    if (was_ready && self->options.on_lost)
        self->options.on_lost(self->options.arg);
}

void pr_db_destroy(pr_db_t **self_ptr)
{
    pr_db_t *self = PR_STEAL(*self_ptr);
    if (!self)
        return;
    self->state = WAITING;
    leave(self, false);
    for (int i = 0; i < ndbs; i++)
        if (dbs[i] == self)
            dbs[i--] = dbs[--ndbs];
    pr_free(self);
}

/* Its process was killed: the server sees the end of the connection, not the client. */
void sim_db_gone(pr_actor_t *actor)
{
    for (int i = 0; i < ndbs; i++) {
        if (dbs[i]->actor != actor || !dbs[i]->backend)
            continue;
        /* callbacks of what is under way are called when the actor's code is taken down: they need their list */
        backend_t *backend = dbs[i]->backend;
        backend_t *kept = PR_NEW(backend_t);
        for (query_t *query = backend->first; query; query = query->next) {
            query_t *copy = PR_NEW(query_t);
            copy->fn = query->fn;
            copy->arg = query->arg;
            copy->answer_us = SIM_NEVER;
            if (kept->last)
                kept->last->next = copy;
            else
                kept->first = copy;
            kept->last = copy;
        }
        kept->db = dbs[i];
        dbs[i]->backend = kept; /* pid 0: the server knows nothing of it */
        abandon(backend, sim_chance(10));
    }
}

void sim_db_break(pr_actor_t *actor, bool half_open)
{
    for (int i = 0; i < ndbs; i++) {
        pr_db_t *db = dbs[i];
        if (db->actor != actor || db->state != IN_USE || sim_paused(actor))
            continue;
        sim->current = actor;
        lose(db, half_open);
        sim->current = NULL;
        sim_wake(actor, sim->now_us);
    }
}

static void become_ready(pr_db_t *self)
{
    self->tries = 0;
    self->state = IN_USE;
    self->backend = PR_NEW(backend_t);
    self->backend->self.pid = next_pid++;
    self->backend->db = self;
    self->backend->next = backends;
    backends = self->backend;
    sim_trace("  db.ready backend=%d", self->backend->self.pid);
    if (self->options.on_ready)
        self->options.on_ready(self->options.arg);
}

static int64_t silence_us(const pr_db_t *self)
{
    const query_t *first = self->backend ? self->backend->first : NULL;
    return first && first->answer_us == SIM_NEVER ? first->sent_us + SILENCE_US : SIM_NEVER;
}

static void deliver(pr_db_t *self)
{
    backend_t *backend = self->backend;
    while (self->backend == backend && backend->first && backend->first->answer_us <= sim->now_us) {
        query_t *query = backend->first;
        backend->first = query->next;
        if (!backend->first)
            backend->last = NULL;
        query->fn(query->arg, query->rc, query->rows, &query->error);
        query_free(query);
    }
}

pr_rc_t pr_db_io(pr_db_t *self, int64_t now_ms, pr_error_t *error)
{
    (void)now_ms;
    (void)error;
    if (self->state == WAITING && sim->now_us >= self->at_us) {
        if (!sim_pg_up()) {
            lose(self, false);
            return PR_OK;
        }
        self->state = CONNECTING;
        self->at_us = sim->now_us + sim_between(SIM_MS, 20 * SIM_MS);
    }
    if (self->state == CONNECTING && sim->now_us >= self->at_us) {
        if (!sim_pg_up() || sim_pg_stalled_until_us() > sim->now_us)
            lose(self, false);
        else
            become_ready(self);
    }
    if (self->state == IN_USE)
        deliver(self);
    if (self->state == IN_USE && (sim->now_us >= self->lost_us || sim->now_us >= silence_us(self)))
        lose(self, sim->now_us < self->lost_us);
    return PR_OK;
}

int64_t sim_db_wake_us(const pr_db_t *self)
{
    if (self->state != IN_USE)
        return self->at_us;
    int64_t at_us = self->lost_us, silent_us = silence_us(self);
    at_us = silent_us < at_us ? silent_us : at_us;
    const query_t *first = self->backend->first;
    return first && first->answer_us < at_us ? first->answer_us : at_us;
}

bool pr_db_ready(const pr_db_t *self)
{
    return self->state == IN_USE;
}

int pr_db_backend_pid(const pr_db_t *self)
{
    return self->backend ? self->backend->self.pid : 0;
}

int pr_db_pending(const pr_db_t *self)
{
    int count = 0;
    for (const query_t *query = self->backend ? self->backend->first : NULL; query;
         query = query->next)
        count++;
    return count;
}

void pr_db_reset(pr_db_t *self)
{
    if (self->state == IN_USE)
        lose(self, false);
}

pr_rc_t pr_db_query(pr_db_t *self, int index, const pr_params_t *params, pr_db_result_fn *fn,
                    void *arg)
{
    pr_assert(index >= 0 && index < self->options.nstatements);
    if (self->state != IN_USE)
        return PR_AGAIN;
    bool real = sim_effect();
    query_t *query = PR_NEW(query_t);
    query->statement = self->statements[index];
    query->name = self->options.statements[index].name;
    query->fn = fn;
    query->arg = arg;
    query->sent_us = sim->now_us;
    query->answer_us = SIM_NEVER;
    params_take(&query->params, params);
    backend_t *backend = self->backend;
    if (backend->last)
        backend->last->next = query;
    else
        backend->first = query;
    backend->last = query;
    query->run_us = SIM_NEVER; /* never, when its sender is dead already */
    if (real && backend->self.pid != 0)
        schedule(backend, query);
    return PR_OK;
}
