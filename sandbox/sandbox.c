/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/sandbox.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "sandbox/check.h"

#include <openssl/sha.h>

#include <string.h>

pr_sandbox_t *pr_sandbox_new(const pr_sandbox_options_t *options, pr_error_t *error)
{
    pr_journal_t *journal = pr_journal_open(options->journal, error);
    if (!journal) {
        return NULL;
    }
    pr_gate_options_t gateway = options->gateway;
    gateway.seed = options->seed;
    pr_gate_t *gate = pr_gate_new(&gateway, error);
    if (!gate) {
        pr_journal_destroy(&journal);
        return NULL;
    }
    pr_sandbox_t *self = PR_NEW(pr_sandbox_t);
    self->gate = gate;
    self->options = *options;
    self->merchants = pr_merchants_new(options->max_merchants, options->seed);
    self->ledger = pr_ledger_new(65536, options->max_ids);
    self->journal = journal;
    self->journal_from = pr_journal_size(journal);
    return self;
}

void pr_sandbox_destroy(pr_sandbox_t **self)
{
    if (*self) {
        pr_gate_destroy(&(*self)->gate);
        pr_journal_destroy(&(*self)->journal);
        pr_ledger_destroy(&(*self)->ledger);
        pr_merchants_destroy(&(*self)->merchants);
        pr_free(*self);
        *self = NULL;
    }
}

/* `/m/NAME` or `/t/TEMPER/NAME`, without the query. 0 and *out, or the status of a refusal. */
static int find_merchant(pr_sandbox_t *self, pr_bytes_t target, pr_merchant_t **out)
{
    const char *at = (const char *)target.data;
    const char *query = memchr(at, '?', target.len);
    const char *end = query ? query : at + target.len;
    if (end - at < 4 || at[0] != '/' || at[2] != '/' || (at[1] != 'm' && at[1] != 't')) {
        return 404;
    }
    const char *spec = NULL, *name = at + 3;
    size_t spec_len = 0;
    if (at[1] == 't') {
        spec = name;
        const char *slash = memchr(spec, '/', (size_t)(end - spec));
        if (!slash) {
            return 404;
        }
        spec_len = (size_t)(slash - spec);
        name = slash + 1;
    }
    pr_merchant_t *merchant = pr_merchants_get(self->merchants, name, (size_t)(end - name));
    if (!merchant) {
        return pr_merchants_count(self->merchants) == self->options.max_merchants ? 503 : 404;
    }
    bool same = !spec ||
                (strlen(merchant->spec) == spec_len && memcmp(merchant->spec, spec, spec_len) == 0);
    if (!same && pr_merchant_set_temper(merchant, spec, spec_len, NULL) != PR_OK) {
        return 400;
    }
    *out = merchant;
    return 0;
}

/* The text after `"key":` in a JSON body, found without parsing it: bodies are made by one
 * program, and thousands arrive a second. A quote in front of the text is skipped. */
static pr_bytes_t find_member(pr_bytes_t body, const char *key)
{
    size_t key_len = strlen(key);
    const uint8_t *at = body.len ? memmem(body.data, body.len, key, key_len) : NULL;
    if (!at) {
        return pr_bytes(NULL, 0);
    }
    const uint8_t *end = body.data + body.len;
    at += key_len;
    while (at < end && (*at == ' ' || *at == ':' || *at == '"')) {
        at++;
    }
    return pr_bytes(at, (size_t)(end - at));
}

static int64_t find_version(pr_bytes_t body)
{
    pr_bytes_t text = find_member(body, "\"version\"");
    int64_t version = -1;
    for (size_t i = 0; i < text.len && i < 18 && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
        version = (version < 0 ? 0 : version) * 10 + (text.data[i] - '0');
    }
    return version;
}

/* The id: of X-Notify-ID, else webhook-id, else the body's. False: none, or they disagree. */
static bool find_id(const pr_request_t *request, const uint8_t *data, pr_bytes_t body,
                    pr_notify_id_t *out, bool *known)
{
    pr_span_t span = request->notify_id.len ? request->notify_id : request->webhook_id;
    pr_bytes_t inside = find_member(body, "\"notify_id\"");
    if (span.len == 0 && inside.len >= 36) {
        span = (pr_span_t){(uint32_t)(inside.data - data), 36};
    }
    *known = span.len > 0;
    if (*known) {
        *out = pr_notify_id_from(pr_request_view(data, span));
    }
    pr_notify_id_t body_id;
    if (inside.len >= 36 && pr_notify_id_parse_uuid(pr_bytes(inside.data, 36), &body_id)) {
        return *known && memcmp(&body_id, out, sizeof(body_id)) == 0;
    }
    return *known;
}

/* Counts the receipt in the ledger; false when that is full. */
static bool remember(pr_sandbox_t *self, pr_exchange_t *exchange)
{
    pr_receipt_t *receipt = &exchange->receipt;
    pr_counts_t *counts = &exchange->merchant->counts;
    pr_ledger_entry_t *entry =
        pr_ledger_touch(self->ledger, &receipt->id, exchange->merchant->number);
    if (!entry) {
        return false;
    }
    uint64_t digest;
    memcpy(&digest, receipt->sha256, sizeof(digest));
    if (entry->receipts++ == 0) {
        counts->distinct++;
        entry->first_us = receipt->at_us;
        entry->body = digest;
        entry->version = receipt->version;
    }
    counts->repeated += entry->accepted > 0;
    entry->changed += entry->body != digest;
    counts->changed += entry->body != digest;
    receipt->try = entry->receipts;
    return true;
}

static pr_answer_t refuse_signature(void)
{
    return (pr_answer_t){.status = 401, .body = "FAIL", .body_len = 4};
}

int pr_sandbox_receive(pr_sandbox_t *self, const pr_request_t *request, const uint8_t *data,
                       pr_now_t now, pr_exchange_t *out)
{
    pr_exchange_t made = {0};
    int refusal = find_merchant(self, pr_request_view(data, request->target), &made.merchant);
    if (refusal != 0) {
        return refusal;
    }
    if (!pr_bytes_equal(pr_request_view(data, request->method), pr_bytes_text("POST"))) {
        return 405;
    }
    pr_merchant_t *merchant = made.merchant;
    pr_receipt_t *receipt = &made.receipt;
    pr_bytes_t body = pr_bytes(data + request->head_len, request->content_len);
    receipt->at_us = now.wall_us;
    receipt->merchant = merchant->name;
    receipt->target = merchant->number;
    receipt->bytes = request->content_len;
    receipt->version = find_version(body);
    SHA256(body.data, body.len, receipt->sha256);
    receipt->signature = pr_check_signatures(request, data, merchant->secrets, PR_MERCHANT_SECRETS,
                                             now.wall_us / 1000000);
    bool known = false;
    bool agrees = find_id(request, data, body, &receipt->id, &known);
    if (known && !remember(self, &made)) {
        return 503;
    }
    merchant->counts.requests++;
    merchant->counts.unnamed += !agrees;
    merchant->counts.signature[receipt->signature]++;
    merchant->in_flight++;
    if (merchant->in_flight > merchant->max_in_flight) {
        merchant->max_in_flight = merchant->in_flight;
    }
    bool wrong =
        receipt->signature == PR_SIGNATURE_BAD || receipt->signature == PR_SIGNATURE_MISSING;
    made.answer = self->options.strict && wrong
                      ? refuse_signature()
                      : pr_answer_decide(merchant, &receipt->id, receipt->try, self->options.seed,
                                         now.mono_ms);
    receipt->early = made.answer.early;
    merchant->counts.early += receipt->early;
    *out = made;
    return 0;
}

void pr_sandbox_record(pr_sandbox_t *self, pr_exchange_t *exchange, bool abandoned, int64_t wall_us)
{
    pr_receipt_t *receipt = &exchange->receipt;
    pr_counts_t *counts = &exchange->merchant->counts;
    receipt->status = abandoned ? 0 : exchange->answer.status;
    receipt->answer = abandoned ? "abandoned" : exchange->answer.what;
    receipt->accepted = !abandoned && exchange->answer.accepted;
    counts->abandoned += abandoned;
    counts->accepted += receipt->accepted;
    pr_ledger_entry_t *entry = pr_ledger_find(self->ledger, &receipt->id, receipt->target);
    if (receipt->accepted && entry) { /* no entry: no id, or a reset since it came */
        entry->accepted_us = entry->accepted++ == 0 ? wall_us : entry->accepted_us;
    }
    pr_journal_add(self->journal, receipt, wall_us);
}

void pr_sandbox_leave(pr_exchange_t *exchange)
{
    pr_assert(exchange->merchant->in_flight > 0);
    exchange->merchant->in_flight--;
}

pr_rc_t pr_sandbox_reset(pr_sandbox_t *self, int64_t wall_us)
{
    pr_journal_mark(self->journal, "reset", wall_us);
    pr_rc_t rc = pr_journal_flush(self->journal, NULL);
    if (rc != PR_OK) {
        return rc;
    }
    self->journal_from = pr_journal_size(self->journal);
    pr_ledger_clear(self->ledger);
    pr_merchants_forget(self->merchants);
    self->refused = 0;
    self->connections = 0;
    return PR_OK;
}
