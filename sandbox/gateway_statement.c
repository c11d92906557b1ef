/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements: what the ledger says of a day, with the faults that the control interface has
 * planted. How a row is written is each protocol's own matter.
 *
 * A payment stands in the statement of the day on which it was paid, with what was really taken; a
 * refund in that of the day on which it ended. Days that are not over have statements, too: a test
 * cannot wait until tomorrow.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "sandbox/gateway_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>
#include <zlib.h>

#define DAY_US INT64_C(86400000000)
#define FEE_PER_MILLE 6

/* ---- planting ---- */

typedef struct {
    bool missing, duplicate, bad, file; /* file: a fault of the whole file */
    int64_t amount;                     /* -1: as it is */
    int64_t shift_us;
    const char *state; /* NULL: as it is */
} plant_t;

static bool starts(const char *text, const char *word, const char **rest)
{
    size_t len = strlen(word);
    bool good = strncmp(text, word, len) == 0 && (text[len] == '\0' || text[len] == ':');
    *rest = good ? text + len + (text[len] == ':') : text;
    return good;
}

static bool number_of(const char *text, int64_t *out)
{
    char *end;
    size_t len = strlen(text);
    *out = strtoll(text, &end, 10);
    return len > 0 && len < 17 && *end == '\0';
}

/* False: no such fault. */
static bool read_plant(const char *text, plant_t *out)
{
    const char *rest;
    *out = (plant_t){.amount = -1};
    if (strcmp(text, "missing") == 0) {
        return out->missing = true;
    }
    if (strcmp(text, "duplicate") == 0) {
        return out->duplicate = true;
    }
    if (strcmp(text, "bad") == 0) {
        return out->bad = true;
    }
    if (strcmp(text, "hash") == 0 || strcmp(text, "cut") == 0) {
        return out->file = true;
    }
    if (starts(text, "amount", &rest)) {
        return number_of(rest, &out->amount) && out->amount >= 0;
    }
    if (starts(text, "state", &rest)) {
        out->state = rest;
        return rest[0] != '\0' && strlen(rest) < PR_GATE_WORD_MAX;
    }
    if (starts(text, "shift", &rest)) {
        int64_t days = 1;
        bool good = !*rest || (number_of(rest, &days) && days >= -30 && days <= 30);
        out->shift_us = days * DAY_US;
        return good;
    }
    return false;
}

/* A row of no payment of ours: {"amount", "currency", "us"} under its number. */
static pr_rc_t plant_extra(pr_gate_t *self, pr_gate_account_t *account, const json_t *wish,
                           const char *number, const char *amount_text, pr_error_t *error)
{
    int64_t amount, at_us = self->now.wall_us;
    const char *date = pr_gate_text(wish, "date"), *currency = pr_gate_text(wish, "currency");
    pr_gate_day_t day;
    if (!number_of(amount_text, &amount) || amount < 0 ||
        (date[0] && !pr_gate_day_set(&day, "", date, 0))) {
        return pr_error_set(error, PR_BAD, "sandbox", "", "extra:MINOR, date yyyy-mm-dd");
    }
    if (date[0]) {
        at_us = day.from_us + DAY_US / 4; /* the same day from Shanghai to London */
    }
    json_object_set_new(account->plants, number,
                        json_pack("{s:I,s:s,s:I}", "amount", (json_int_t)amount, "currency",
                                  currency[0] ? currency : "CNY", "us", (json_int_t)at_us));
    return PR_OK;
}

pr_rc_t pr_gate_plant(pr_gate_t *self, pr_gate_account_t *account, const json_t *wish,
                      pr_error_t *error)
{
    const char *number = pr_gate_text(wish, "refund_no"), *rest;
    const char *text = pr_gate_text(wish, "plant");
    plant_t plant;
    number = number[0] ? number : pr_gate_text(wish, "request_no");
    if (!account->plants) {
        account->plants = json_object();
    }
    if (!number[0] || strlen(number) > 64) {
        return pr_error_set(error, PR_BAD, "sandbox", "", "request_no or refund_no is wanted");
    }
    if (starts(text, "extra", &rest)) {
        return plant_extra(self, account, wish, number, rest, error);
    }
    if (text[0] && (!read_plant(text, &plant) || plant.file != (strcmp(number, "*") == 0))) {
        return pr_error_set(error, PR_BAD, "sandbox", "",
                            "plant: missing, duplicate, bad, amount:MINOR, state:WORD, shift:DAYS, "
                            "extra:MINOR; of request_no * hash, cut; \"\" takes it back");
    }
    if (text[0]) {
        json_object_set_new(account->plants, number, json_string(text));
    } else {
        json_object_del(account->plants, number);
    }
    return PR_OK;
}

bool pr_gate_file_planted(const pr_gate_account_t *account, const char *fault)
{
    const char *text =
        account->plants ? json_string_value(json_object_get(account->plants, "*")) : NULL;
    return text && strcmp(text, fault) == 0;
}

/* ---- a day passes ---- */

static void age(int64_t *at_us, int64_t by_us)
{
    *at_us = *at_us > 0 ? *at_us - by_us : *at_us;
}

static void age_order(pr_gate_order_t *order, int64_t by_us)
{
    age(&order->created_us, by_us);
    age(&order->paid_us, by_us);
    age(&order->ended_us, by_us);
    for (pr_gate_refund_t *refund = order->refunds; refund; refund = refund->next) {
        age(&refund->created_us, by_us);
        age(&refund->ended_us, by_us);
    }
}

uint64_t pr_gate_age(pr_gate_t *self, const pr_gate_account_t *account, const char *number,
                     int64_t seconds)
{
    uint64_t count = 0;
    pr_gate_order_t *order;
    for (uint64_t i = 0; (order = pr_gate_order_at(self->ledger, i)); i++) {
        if (order->account == account && (!number[0] || strcmp(order->request_no, number) == 0)) {
            age_order(order, seconds * 1000000);
            count++;
        }
    }
    return count;
}

/* ---- rows ---- */

typedef struct {
    const pr_gate_call_t *call;
    pr_gate_row_fn *each;
    void *ctx;
    uint64_t count;
} walk_t;

static void give(walk_t *self, const pr_gate_row_t *row)
{
    self->count++;
    if (self->each) {
        self->each(self->ctx, row);
    }
}

static bool is_on(const pr_gate_day_t *day, int64_t us)
{
    return us >= day->from_us && us < day->to_us;
}

/* A row as the ledger has it, bent by what was planted under its number. */
static void walk_row(walk_t *self, const char *number, pr_gate_row_t *row)
{
    plant_t plant = {.amount = -1};
    const pr_gate_account_t *account = self->call->account;
    const char *text =
        account->plants ? json_string_value(json_object_get(account->plants, number)) : NULL;
    if (text) {
        bool known = read_plant(text, &plant);
        pr_assert(known); /* looked at when it was planted */
    }
    if (plant.missing || !is_on(&self->call->day, row->at_us + plant.shift_us)) {
        return;
    }
    row->amount = plant.amount >= 0 ? plant.amount : row->amount;
    row->fee = (row->amount * FEE_PER_MILLE + 500) / 1000;
    row->fee = row->is_refund ? -row->fee : row->fee;
    row->state = plant.state ? plant.state : "succeeded";
    row->is_bad = plant.bad;
    give(self, row);
    if (plant.duplicate) {
        give(self, row);
    }
}

static void walk_extras(walk_t *self)
{
    const char *number;
    json_t *extra;
    json_object_foreach(self->call->account->plants, number, extra)
    {
        int64_t us = json_integer_value(json_object_get(extra, "us"));
        if (!json_is_object(extra) || !is_on(&self->call->day, us)) {
            continue;
        }
        char reference[96];
        snprintf(reference, sizeof(reference), "%sextra%s", self->call->protocol->order_prefix,
                 number);
        const pr_gate_row_t row = {.request_no = number,
                                   .reference = reference,
                                   .refund_no = "",
                                   .refund_reference = "",
                                   .currency = pr_gate_text(extra, "currency"),
                                   .state = "succeeded",
                                   .amount = json_integer_value(json_object_get(extra, "amount")),
                                   .at_us = us};
        give(self, &row);
    }
}

uint64_t pr_gate_rows(const pr_gate_call_t *call, pr_gate_row_fn *each, void *ctx)
{
    walk_t walk = {call, each, ctx, 0};
    const pr_gate_order_t *order;
    const pr_gate_refund_t *refund;
    for (uint64_t i = 0; (order = pr_gate_order_at(call->ledger, i)); i++) {
        pr_gate_row_t row = {.request_no = order->request_no,
                             .reference = order->reference,
                             .refund_no = "",
                             .refund_reference = "",
                             .currency = order->currency,
                             .amount = order->captured,
                             .at_us = order->paid_us};
        if (order->account == call->account && order->paid_us > 0) {
            walk_row(&walk, order->request_no, &row);
        }
    }
    for (uint64_t i = 0; (refund = pr_gate_refund_at(call->ledger, i)); i++) {
        order = refund->order;
        pr_gate_row_t row = {.is_refund = true,
                             .request_no = order->request_no,
                             .reference = order->reference,
                             .refund_no = refund->refund_no,
                             .refund_reference = refund->reference,
                             .currency = order->currency,
                             .amount = refund->amount,
                             .at_us = refund->ended_us};
        if (order->account == call->account && refund->state == PR_GATE_REFUND_DONE) {
            walk_row(&walk, refund->refund_no, &row);
        }
    }
    walk_extras(&walk);
    return walk.count;
}

const char *pr_gate_row_money(const pr_gate_row_t *row, int64_t minor,
                              char out[PR_GATE_ROW_MONEY_MAX])
{
    if (row->is_bad) {
        snprintf(out, PR_GATE_ROW_MONEY_MAX, "#REF!"); /* what a spreadsheet leaves behind */
        return out;
    }
    out[0] = '-';
    if (!pr_money_format(minor < 0 ? -minor : minor, PR_MONEY_UNIT_MAJOR, row->currency, NULL,
                         out + (minor < 0))) {
        snprintf(out, PR_GATE_ROW_MONEY_MAX, "?");
    }
    return out;
}

/* ---- days and links ---- */

bool pr_gate_day_set(pr_gate_day_t *self, const char *kind, const char *date, int zone_min)
{
    char midnight[32];
    if (strlen(date) != 10 || strlen(kind) >= sizeof(self->kind)) {
        return false;
    }
    snprintf(midnight, sizeof(midnight), "%s 00:00:00", date);
    if (!pr_moment_parse(pr_bytes_text(midnight), PR_MOMENT_LOCAL, zone_min, &self->from_us)) {
        return false;
    }
    self->to_us = self->from_us + DAY_US;
    snprintf(self->kind, sizeof(self->kind), "%s", kind);
    snprintf(self->date, sizeof(self->date), "%s", date);
    return true;
}

/* KIND.DATE.SECONDS.ACCOUNT, and digits that only the sandbox can make of it. */
static void write_token(const pr_gate_account_t *account, const char *claim, char digits[65])
{
    char purpose[320];
    snprintf(purpose, sizeof(purpose), "statement:%s", claim);
    (void)pr_gate_account_digits(account, purpose, 32, digits);
}

void pr_gate_link(const pr_gate_call_t *call, const char *path, char *out, size_t size)
{
    char claim[96], digits[65], host[256] = "127.0.0.1";
    (void)pr_gate_copy(host, sizeof(host), pr_gate_header(call, "Host"));
    snprintf(claim, sizeof(claim), "%s.%s.%" PRId64 ".%" PRIu64, call->day.kind, call->day.date,
             call->now.wall_us / 1000000, call->account->number);
    write_token(call->account, claim, digits);
    snprintf(out, size, "http://%s%s%s.%s", host, path, claim, digits);
}

static pr_gate_account_t *account_numbered(const pr_gate_call_t *call, const char *number)
{
    int64_t wanted;
    pr_gate_account_t *account;
    for (size_t i = 0;
         number_of(number, &wanted) && (account = pr_gate_account_at(call->ledger, i)); i++) {
        if (account->number == (uint64_t)wanted && account->protocol == call->protocol) {
            return account;
        }
    }
    return NULL;
}

bool pr_gate_link_open(pr_gate_call_t *call, int zone_min, int64_t max_age_s)
{
    char claim[256], copy[256], digits[65];
    char *parts[4] = {copy}, *seal;
    int64_t made_s;
    call->operation = PR_GATE_STATEMENT_FILE;
    if (!pr_gate_query_text(call->query, "token", claim, sizeof(claim)) ||
        !(seal = strrchr(claim, '.'))) {
        return false;
    }
    *seal++ = '\0';
    snprintf(copy, sizeof(copy), "%s", claim);
    for (size_t i = 1; i < PR_COUNT(parts); i++) {
        char *dot = strchr(parts[i - 1], '.');
        if (!dot) {
            return false;
        }
        *dot = '\0';
        parts[i] = dot + 1;
    }
    pr_gate_account_t *account = account_numbered(call, parts[3]);
    if (!account || (call->account && call->account != account)) {
        return false;
    }
    write_token(account, claim, digits);
    if (!pr_gate_same(pr_bytes_text(seal), digits) || !number_of(parts[2], &made_s) ||
        call->now.wall_us / 1000000 - made_s > max_age_s) {
        return false;
    }
    call->account = account;
    return pr_gate_day_set(&call->day, parts[0], parts[1], zone_min);
}

/* ---- files ---- */

/* A file that is larger than an answer may be: 500, as a real one would be somehow. */
static void reply_bytes(pr_gate_call_t *call, const char *content_type, pr_rc_t rc)
{
    call->status = rc == PR_OK ? 200 : 500;
    call->content_type = content_type;
    if (pr_gate_file_planted(call->account, "cut")) {
        call->answer.len /= 2; /* as if it had been written while it was read */
    }
    if (rc != PR_OK) {
        pr_buffer_clear(&call->answer);
    }
}

void pr_gate_reply_file(pr_gate_call_t *call, const char *content_type, const pr_buffer_t *file)
{
    reply_bytes(call, content_type, pr_buffer_append(&call->answer, file->data, file->len));
}

void pr_gate_gzip(const pr_buffer_t *file, pr_buffer_t *out)
{
    uint8_t chunk[16384];
    z_stream z = {.next_in = file->data, .avail_in = (uInt)file->len};
    int done = deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    pr_assert(done == Z_OK);
    while (done == Z_OK) {
        z.next_out = chunk;
        z.avail_out = sizeof(chunk);
        done = deflate(&z, Z_FINISH);
        (void)!pr_buffer_append(out, chunk,
                                sizeof(chunk) - z.avail_out); /* smaller than the file */
    }
    deflateEnd(&z);
}

void pr_gate_reply_gzip(pr_gate_call_t *call, const pr_buffer_t *file)
{
    pr_gate_gzip(file, &call->answer);
    reply_bytes(call, "application/octet-stream", PR_OK);
}

void pr_gate_reply_zip(pr_gate_call_t *call, const char *const *names, const pr_buffer_t *files,
                       size_t count)
{
    zip_error_t why;
    uint8_t chunk[16384];
    pr_rc_t rc = PR_OK;
    zip_error_init(&why);
    zip_source_t *bytes = zip_source_buffer_create(NULL, 0, 0, &why);
    zip_source_keep(bytes);
    zip_t *archive = zip_open_from_source(bytes, ZIP_TRUNCATE, &why);
    pr_assert(archive);
    for (size_t i = 0; i < count; i++) {
        zip_source_t *source = zip_source_buffer(archive, files[i].data, files[i].len, 0);
        zip_int64_t added = zip_file_add(archive, names[i], source, ZIP_FL_ENC_RAW);
        pr_assert(added >= 0);
    }
    int closed = zip_close(archive);
    pr_assert(closed == 0 && zip_source_open(bytes) == 0);
    for (zip_int64_t got;
         rc == PR_OK && (got = zip_source_read(bytes, chunk, sizeof(chunk))) > 0;) {
        rc = pr_buffer_append(&call->answer, chunk, (size_t)got);
    }
    zip_source_close(bytes);
    zip_source_free(bytes);
    zip_error_fini(&why);
    reply_bytes(call, "application/zip", rc);
}
