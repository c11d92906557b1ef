/* SPDX-License-Identifier: Apache-2.0
 *
 * A day's statement from its channel into a file without a name, which is then imported like any
 * other. lib/recon/fetch.h says which call comes next; here each call waits for a turn of the
 * channel's one budget (channel_turn: gateway-scheduler gives it), is made, and its answer is told
 * to the channel: a 429 pauses everybody, a refused credential stops the channel.
 *
 *   begin -> [wait] -> ask for a turn -> look each TURN_LOOK_MS -> send -> answer -> next call ...
 *                                                                          \-> file -> import
 *
 * The body goes to the disk piece by piece, up to reconciler.max_file; lib/http follows no redirect,
 * links lead only where the profile says, addresses are looked at as for every call of a gateway.
 */
#include "actor/master_key.h"
#include "actors/reconciler/reconciler_private.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "channel/channel_json.h"
#include "gateway_http/exchange.h"
#include "outgoing/outgoing.h"
#include "recon/spec.h"
#include "sql/recon.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES_MAX (288u * 1024u) /* as many headers as a request has, each as long as may be */
#define TURN_LOOK_MS 250
#define TURN_PATIENCE_MS (2 * 60 * 1000)
#define FILE_MS (10 * 60 * 1000) /* a file of a gibibyte at 14 Mbit/s */

typedef enum {
    AT_REST = 0,
    WAITS,   /* for its time */
    IN_LINE, /* for a turn */
    CALLING,
} place_t;

struct recon_download_t {
    recon_io_t *io;
    place_t place;
    int64_t at_ms;   /* of the next look; INT64_MAX: none */
    int64_t turn_id; /* 0: none */
    bool held;       /* lib/http holds our request: nothing of it may go */
    bool answered;   /* its answer was taken, and is to be acted on */
    bool http_ready;
    /* the channel */
    pr_channel_store_t *store;
    pr_opened_channel_t *channel;
    char *base_url, *tls_ca;
    pr_http_t *http;
    pr_allow_list_t allow;
    /* the call */
    pr_fetch_t fetch;
    pr_payment_facts_t facts;
    pr_gateway_request_t request;
    pr_buffer_t lines;
    pr_evidence_t evidence;
    uint32_t http_status;
    bool whole; /* a file came, whole */
    /* the file */
    uint64_t bytes, most_bytes;
    const char *refused; /* why no more of it is taken; NULL: none */
};

/* ---- life ---- */

static int64_t now_of(const recon_download_t *self)
{
    return pr_loop_now_ms(pr_actor_loop(self->io->actor));
}

/* What the answer means for the channel itself; NULL evidence: nothing. */
static pr_rc_t end_turn(recon_download_t *self, const pr_evidence_t *evidence, pr_error_t *error)
{
    recon_io_t *io = self->io;
    if (self->turn_id == 0) {
        return PR_OK;
    }
    pr_params_clear(io->params);
    pr_params_add_i64(io->params, self->turn_id);
    pr_params_add_text(io->params, evidence != NULL ? io->day.channel : NULL);
    pr_params_add_text(io->params, evidence != NULL ? pr_action_name(evidence->action) : NULL);
    pr_params_add_text(io->params, evidence != NULL ? evidence->reason : NULL);
    if (evidence != NULL) {
        pr_params_add_i32(io->params, (int32_t)self->http_status);
        pr_params_add_i64(io->params, pr_fetch_pause_ms(evidence, self->http_status));
    } else {
        pr_params_add_null(io->params);
        pr_params_add_null(io->params);
    }
    self->turn_id = 0;
    return pr_db_sync_query(io->import_db, pr_sql_recon[PR_SQL_RECON_END_TURN].sql, io->params,
                            NULL, error);
}

void recon_download_drop(recon_download_t **download)
{
    recon_download_t *self = PR_STEAL(*download);
    pr_error_t error;
    if (self == NULL) {
        return;
    }
    if (end_turn(self, NULL, &error) != PR_OK) {
        pr_log_error(PR_LOG_WARN, "turn.not_ended", &error); /* its time ends it */
    }
    if (self->http != NULL) {
        pr_loop_remove_fd(pr_actor_loop(self->io->actor), pr_http_fd(self->http));
    }
    pr_http_destroy(&self->http); /* first: it borrows the request */
    pr_opened_channel_release(&self->channel);
    pr_channel_store_destroy(&self->store);
    pr_gateway_request_free(&self->request);
    if (self->lines.data != NULL) {
        explicit_bzero(self->lines.data, self->lines.room);
    }
    pr_buffer_free(&self->lines);
    explicit_bzero(self->evidence.token, sizeof self->evidence.token);
    pr_fetch_free(&self->fetch);
    pr_free(self->base_url);
    pr_free(self->tls_ca);
    pr_free(self);
}

static void on_http(void *arg, int64_t now_ms)
{
    (void)now_ms;
    ((recon_download_t *)arg)->http_ready = true;
}

static pr_rc_t open_http(recon_download_t *self, pr_error_t *error)
{
    const pr_config_t *config = pr_actor_config(self->io->actor);
    pr_rc_t rc = pr_config_networks(config, "http.allow_addresses", &self->allow, error);
    if (rc != PR_OK) {
        return rc;
    }
    pr_http_limits_t limits = pr_outgoing_limits(config, 1);
    limits.first_byte_ms = limits.total_ms; /* a gateway may think until the total is over */
    limits.max_read_bytes = PR_GATEWAY_BODY_MAX_BYTES;
    limits.guard = pr_outgoing_may_connect;
    limits.guard_arg = &self->allow;
    self->http = pr_http_new(&limits);
    pr_loop_add_fd(pr_actor_loop(self->io->actor), pr_http_fd(self->http), POLLIN, on_http, self);
    return pr_exchange_check_url(self->base_url, &self->allow,
                                 pr_config_bool(config, "http.allow_plain"), error);
}

/* version, profile, base_url, tls_ca, parameters, exponents */
static pr_rc_t open_channel(recon_download_t *self, pr_error_t *error)
{
    recon_io_t *io = self->io;
    const pr_config_t *config = pr_actor_config(io->actor);
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_master_key_t key;
    pr_params_clear(io->params);
    pr_params_add_text(io->params, io->day.channel);
    pr_rc_t rc = pr_db_sync_query(io->import_db, pr_sql_recon[PR_SQL_RECON_CHANNEL].sql, io->params,
                                  &rows, error);
    if (rc != PR_OK) {
        return rc;
    }
    if (pr_rows_count(rows) == 0) {
        return pr_error_set(error, PR_BAD, "recon", "", "there is no channel %s", io->day.channel);
    }
    self->base_url = pr_strdup(pr_rows_text(rows, 0, 2));
    self->tls_ca = pr_strdup(pr_rows_null(rows, 0, 3) ? "" : pr_rows_text(rows, 0, 3));
    rc = pr_master_key_load(pr_config_text(config, "master_key_file"), &key, error);
    if (rc != PR_OK) {
        return rc;
    }
    self->store =
        pr_channel_store_new(pr_config_text(config, "profiles_dir"), &key, pr_random_u64());
    pr_master_key_wipe(&key);
    const pr_channel_row_t row = {.id = io->day.channel,
                                  .version = (uint64_t)pr_rows_i64(rows, 0, 0),
                                  .profile = pr_rows_text(rows, 0, 1)};
    return pr_channel_store_get_json(self->store, &row, pr_rows_text(rows, 0, 4),
                                     pr_rows_text(rows, 0, 5), &self->channel, error);
}

/* ---- ends ---- */

static void fail(recon_download_t *self, const char *why)
{
    recon_import_fail(self->io, why); /* drops this download */
}

/* The channel says that the day had nothing. */
static void nothing(recon_download_t *self)
{
    recon_io_t *io = self->io;
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_error_t error;
    pr_params_clear(io->params);
    const char *const texts[] = {"reconciler", io->day.channel, io->day.day, io->what.kind,
                                 io->day.source};
    for (size_t i = 0; i < PR_COUNT(texts); i++) {
        pr_params_add_text(io->params, texts[i]);
    }
    pr_params_add_bool(io->params, io->day.correct);
    if (pr_db_sync_query(io->import_db, pr_sql_recon[PR_SQL_RECON_NOTHING].sql, io->params, &rows,
                         &error) != PR_OK) {
        fail(self, error.text);
    } else if (!pr_rows_null(rows, 0, 0)) {
        fail(self, pr_rows_text(rows, 0, 0));
    } else {
        pr_log_info("statement.nothing", "channel=%s date=%s", io->day.channel, io->day.day);
        recon_import_end(io, true);
    }
}

/* ---- turns ---- */

/* True: the day is still ours. */
static bool hold_day(recon_download_t *self)
{
    recon_io_t *io = self->io;
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_error_t error;
    pr_params_clear(io->params);
    pr_params_add_text(io->params, io->day.channel);
    pr_params_add_text(io->params, io->day.day);
    pr_params_add_text(io->params, pr_actor_id(io->actor));
    if (pr_db_sync_query(io->import_db, pr_sql_recon[PR_SQL_RECON_HOLD].sql, io->params, &rows,
                         &error) != PR_OK) {
        fail(self, error.text);
        return false;
    }
    if (!pr_rows_bool(rows, 0, 0)) {
        pr_log_info("statement.given_up", "channel=%s date=%s why=it_is_somebody_elses",
                    io->day.channel, io->day.day);
        recon_import_end(io, false);
        return false;
    }
    return true;
}

static int64_t call_ms(const recon_download_t *self)
{
    return self->fetch.operation == PR_OPERATION_STATEMENT_FILE
               ? FILE_MS
               : pr_config_duration_ms(pr_actor_config(self->io->actor), "http.total_timeout");
}

static void ask_turn(recon_download_t *self)
{
    recon_io_t *io = self->io;
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_error_t error;
    if (!hold_day(self)) {
        return;
    }
    pr_params_clear(io->params);
    pr_params_add_text(io->params, pr_actor_id(io->actor));
    pr_params_add_text(io->params, io->day.channel);
    pr_params_add_i64(io->params, TURN_PATIENCE_MS);
    pr_params_add_i64(io->params, call_ms(self) + 1000);
    if (pr_db_sync_query(io->import_db, pr_sql_recon[PR_SQL_RECON_ASK_TURN].sql, io->params, &rows,
                         &error) != PR_OK) {
        fail(self, error.text);
        return;
    }
    self->turn_id = pr_rows_i64(rows, 0, 0);
    self->place = IN_LINE;
    self->at_ms = now_of(self) + TURN_LOOK_MS;
}

/* ---- calls ---- */

static bool on_piece(void *arg, pr_bytes_t piece)
{
    recon_download_t *self = arg;
    if (self->bytes + piece.len > self->most_bytes) {
        self->refused = "the file is larger than reconciler.max_file";
    } else if (fwrite(piece.data, 1, piece.len, self->io->file) != piece.len) {
        self->refused = "the disk takes no more of the file (reconciler.temp_dir)";
    }
    self->bytes += piece.len;
    return self->refused == NULL;
}

static void on_answer(void *arg, const pr_http_response_t *response, int64_t now_ms)
{
    recon_download_t *self = arg;
    (void)now_ms;
    bool file = self->request.operation == PR_OPERATION_STATEMENT_FILE;
    self->http_status = (uint32_t)response->code;
    self->whole = file && response->error == PR_HTTP_OK && !response->truncated &&
                  response->code >= 200 && response->code <= 299;
    if (!self->whole) {
        pr_exchange_judge(self->channel->channel, self->request.operation, &self->facts, response,
                          pr_clock_wall_us(), &self->evidence);
    }
    if (response->error != PR_HTTP_OK) {
        (void)snprintf(self->evidence.failure_message, sizeof self->evidence.failure_message, "%s",
                       pr_http_error_name(response->error));
    }
    self->held = false;
    self->answered = true;
}

/* A file that no name leads to: it goes with the descriptor. */
static pr_rc_t open_file(recon_download_t *self, pr_error_t *error)
{
    const pr_config_t *config = pr_actor_config(self->io->actor);
    const char *folder = pr_config_text(config, "reconciler.temp_dir");
    PR_CLEANUP_FREE char *name = pr_asprintf("%s/postrider-statement.XXXXXX", folder);
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) {
        (void)unlink(name);
    }
    self->io->file = fd >= 0 ? fdopen(fd, "w+b") : NULL;
    if (self->io->file == NULL) {
        int code = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return pr_error_set(error, PR_BAD, "recon", "",
                            "no file can be made in %s: %s "
                            "(reconciler.temp_dir)",
                            folder, strerrorname_np(code));
    }
    self->bytes = 0;
    self->refused = NULL;
    self->most_bytes = (uint64_t)pr_config_size(config, "reconciler.max_file");
    return PR_OK;
}

static pr_rc_t send_call(recon_download_t *self, pr_error_t *error)
{
    const pr_fetch_t *fetch = &self->fetch;
    const char *lines[PR_GATEWAY_HEADERS_MAX];
    bool file = fetch->operation == PR_OPERATION_STATEMENT_FILE;
    pr_payment_facts_init(&self->facts);
    self->facts.request = pr_buffer_bytes(&fetch->request);
    self->facts.reference = fetch->reference[0] != '\0' ? fetch->reference : NULL;
    pr_rc_t rc = pr_exchange_build(self->channel->channel, fetch->operation, &self->facts,
                                   &self->request, error);
    rc = rc == PR_OK ? pr_exchange_lines(&self->request, &self->lines, lines, error) : rc;
    rc = rc == PR_OK && file ? open_file(self, error) : rc;
    if (rc != PR_OK) {
        return rc;
    }
    PR_CLEANUP_FREE char *url = pr_exchange_url(fetch->origin, &self->request);
    const pr_http_request_t request = {.url = url,
                                       .method = self->request.method,
                                       .headers = lines,
                                       .header_count = (int)self->request.header_count,
                                       .body = pr_buffer_bytes(&self->request.body),
                                       .total_ms = call_ms(self),
                                       .ca_pem = self->tls_ca,
                                       .keep_headers = true,
                                       .sink = file ? on_piece : NULL,
                                       .done = on_answer,
                                       .arg = self};
    rc = pr_http_start(self->http, &request, now_of(self), error);
    self->held = rc == PR_OK;
    return rc;
}

static void make_call(recon_download_t *self)
{
    pr_error_t error = {0};
    self->place = CALLING;
    self->at_ms = INT64_MAX;
    pr_rc_t rc = send_call(self, &error);
    if (self->lines.data != NULL) {
        explicit_bzero(self->lines.data, self->lines.len); /* credentials stood there */
    }
    if (rc != PR_OK) {
        fail(self, error.text);
    }
}

static void look_for_turn(recon_download_t *self)
{
    recon_io_t *io = self->io;
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_error_t error;
    pr_params_clear(io->params);
    pr_params_add_i64(io->params, self->turn_id);
    if (pr_db_sync_query(io->import_db, pr_sql_recon[PR_SQL_RECON_LOOK_TURN].sql, io->params, &rows,
                         &error) != PR_OK) {
        fail(self, error.text);
        return;
    }
    const char *state = pr_rows_text(rows, 0, 0);
    if (strcmp(state, "given") == 0) {
        make_call(self);
    } else if (strcmp(state, "waiting") == 0) {
        self->at_ms = now_of(self) + TURN_LOOK_MS;
    } else {
        fail(self,
             "the channel's budget gave no turn within 2 minutes: does gateway-scheduler run, "
             "and is the channel left alone (channel_pause)? It is tried again later");
    }
}

/* ---- what comes next ---- */

static void act(recon_download_t *self, pr_fetch_kind_t kind)
{
    recon_io_t *io = self->io;
    switch (kind) {
    case PR_FETCH_CALL:
        if (self->fetch.wait_ms > 0) {
            self->place = WAITS;
            self->at_ms = now_of(self) + self->fetch.wait_ms;
        } else {
            ask_turn(self);
        }
        break;
    case PR_FETCH_READY:
        (void)snprintf(io->digest, sizeof io->digest, "%s", self->fetch.digest);
        pr_log_info("statement.fetched", "channel=%s date=%s bytes=%" PRIu64, io->day.channel,
                    io->day.day, self->bytes);
        recon_import_fetched(io);
        break;
    case PR_FETCH_NOTHING:
        nothing(self);
        break;
    case PR_FETCH_FAILED:
        fail(self, self->fetch.text);
        break;
    }
}

static void take_answer(recon_download_t *self)
{
    pr_error_t error;
    self->answered = false;
    if (end_turn(self, self->whole ? NULL : &self->evidence, &error) != PR_OK) {
        fail(self, error.text);
    } else if (self->request.operation != PR_OPERATION_STATEMENT_FILE) {
        act(self, pr_fetch_answered(&self->fetch, &self->evidence, self->http_status));
    } else if (self->refused != NULL) {
        fail(self, self->refused);
    } else {
        act(self,
            pr_fetch_filed(&self->fetch, self->whole ? NULL : &self->evidence, self->http_status));
    }
}

void recon_download_turn(recon_download_t *self, int64_t now_ms)
{
    if (self->held && (self->http_ready || pr_http_due_at_ms(self->http) <= now_ms)) {
        self->http_ready = false;
        pr_http_run(self->http, now_ms);
    }
    if (self->answered) {
        take_answer(self);
    } else if (self->place == WAITS && self->at_ms <= now_ms) {
        ask_turn(self);
    } else if (self->place == IN_LINE && self->at_ms <= now_ms) {
        look_for_turn(self);
    }
}

int64_t recon_download_deadline_ms(const recon_download_t *self)
{
    return self->held ? pr_http_due_at_ms(self->http) : self->at_ms;
}

/* ---- the beginning ---- */

static const pr_profile_statement_t *statement_of(const recon_download_t *self, const char *kind)
{
    const pr_profile_statement_t *one = NULL;
    for (size_t i = 0; (one = pr_profile_statement(self->channel->profile, i)) != NULL; i++) {
        if (strcmp(one->name, kind) == 0) {
            break;
        }
    }
    return one;
}

void recon_download_begin(recon_io_t *io)
{
    recon_download_t *self = PR_NEW(recon_download_t);
    pr_error_t error = {0};
    io->download = self;
    self->io = io;
    self->at_ms = INT64_MAX;
    pr_buffer_init(&self->lines, LINES_MAX);
    pr_gateway_request_init(&self->request);
    pr_fetch_init(&self->fetch);
    pr_evidence_init(&self->evidence);
    if (open_channel(self, &error) != PR_OK || open_http(self, &error) != PR_OK) {
        fail(self, error.text);
        return;
    }
    const pr_profile_statement_t *statement = statement_of(self, io->what.kind);
    if (statement == NULL) {
        fail(self,
             "that format is no statement of the channel's profile: only those can be fetched "
             "(postrider recon set --format NAME)");
        return;
    }
    if (statement->zone_min != io->zone_min) {
        (void)pr_error_set(
            &error, PR_BAD, "recon", "",
            "the channel makes it of days of UTC%+d min, ours are of UTC%+d min: say "
            "whose days they are (postrider recon set %s --zone)",
            statement->zone_min, io->zone_min, io->day.channel);
        fail(self, error.text);
        return;
    }
    act(self, pr_fetch_begin(&self->fetch, pr_profile_facts(self->channel->profile), statement,
                             self->base_url, io->day.day));
}
