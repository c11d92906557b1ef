/* SPDX-License-Identifier: Apache-2.0 */
#include "recon/fetch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REQUEST_MAX_BYTES 8192u
#define LOOKS_MAX 8 /* 2, 4, 8 ... 30 s: two minutes and a half; then the schedule tries again */
#define LOOK_FIRST_MS 2000
#define LOOK_MOST_MS 30000
#define PAUSE_DEFAULT_MS 60000 /* after a 429 that names no time */

void pr_fetch_init(pr_fetch_t *self)
{
    *self = (pr_fetch_t){0};
    pr_buffer_init(&self->request, REQUEST_MAX_BYTES);
}

void pr_fetch_free(pr_fetch_t *self)
{
    pr_buffer_free(&self->request);
}

/* ---- what is said ---- */

static pr_fetch_kind_t fail(pr_fetch_t *self, const char *text)
{
    (void)snprintf(self->text, sizeof self->text, "%s", text);
    return PR_FETCH_FAILED;
}

/* What a person can do about it, where it is not plain. */
static const char *advice(const pr_evidence_t *evidence)
{
    switch (evidence->action) {
    case PR_ACTION_STOP_CHANNEL:
        return "; the channel is stopped: correct its credential (postrider channel set), then "
               "postrider channel resume";
    case PR_ACTION_BACK_OFF:
    case PR_ACTION_LONGER_INTERVAL:
        return "; it is tried again later";
    default:
        return "";
    }
}

static pr_fetch_kind_t fail_by(pr_fetch_t *self, const pr_evidence_t *evidence,
                               uint32_t http_status)
{
    char http[24] = "";
    if (http_status != 0) {
        (void)snprintf(http, sizeof http, " (HTTP %" PRIu32 ")", http_status);
    }
    bool said = evidence->failure_code[0] != '\0' || evidence->failure_message[0] != '\0';
    (void)snprintf(
        self->text, sizeof self->text, "%s: %s%s%s%s%s%.200s%s", pr_operation_name(self->operation),
        evidence->reason[0] != '\0' ? evidence->reason : "no answer that says anything", http,
        said ? ": " : "", evidence->failure_code,
        evidence->failure_code[0] != '\0' && evidence->failure_message[0] != '\0' ? " " : "",
        evidence->failure_message, advice(evidence));
    return PR_FETCH_FAILED;
}

int64_t pr_fetch_pause_ms(const pr_evidence_t *evidence, uint32_t http_status)
{
    bool throttled = http_status == 429 || (evidence->action == PR_ACTION_BACK_OFF &&
                                            strcmp(evidence->reason, "rate_limited") == 0);
    if (evidence->retry_after_ms > 0) {
        return evidence->retry_after_ms;
    }
    return throttled ? PAUSE_DEFAULT_MS : 0;
}

/* ---- calls ---- */

static bool has(const pr_fetch_t *self, pr_operation_t operation)
{
    return (self->operations & UINT64_C(1) << operation) != 0;
}

static pr_fetch_kind_t call(pr_fetch_t *self, pr_operation_t operation, const char *origin,
                            const char *target)
{
    self->operation = operation;
    (void)snprintf(self->origin, sizeof self->origin, "%s", origin);
    pr_buffer_clear(&self->request);
    if (pr_profile_statement_request(self->statement, self->day, target, &self->request) != PR_OK) {
        return fail(self, "the date is no day, YYYY-MM-DD");
    }
    return PR_FETCH_CALL;
}

pr_fetch_kind_t pr_fetch_begin(pr_fetch_t *self, const pr_profile_facts_t *facts,
                               const pr_profile_statement_t *statement, const char *base_url,
                               const char *day)
{
    pr_buffer_t request = self->request;
    *self = (pr_fetch_t){.statement = statement,
                         .operations = facts->operations,
                         .base_url = base_url,
                         .day = day,
                         .request = request};
    if (!statement->download) {
        (void)snprintf(
            self->text, sizeof self->text,
            "profile %s has no way to fetch %s: import it by hand (recon run --file), or "
            "drop it (recon set --source directory)",
            facts->name, statement->name);
        return PR_FETCH_FAILED;
    }
    bool asks = has(self, PR_OPERATION_STATEMENT);
    return call(self, asks ? PR_OPERATION_STATEMENT : PR_OPERATION_STATEMENT_FILE, base_url, "");
}

/* ---- answers ---- */

static pr_fetch_kind_t go_to_link(pr_fetch_t *self, const pr_evidence_t *evidence)
{
    pr_statement_link_t link;
    pr_error_t error;
    if (evidence->next_action[0] == '\0') {
        return fail(self, "the answer names no link to the file");
    }
    if (pr_profile_statement_link(self->statement, self->base_url, evidence->next_action, &link,
                                  &error) != PR_OK) {
        (void)snprintf(self->text, sizeof self->text,
                       "the link leads where the profile does not allow (statements.hosts): %.300s",
                       error.text);
        return PR_FETCH_FAILED;
    }
    self->linked = true;
    self->wait_ms = 0;
    (void)snprintf(self->digest, sizeof self->digest, "%s", evidence->digest);
    return call(self, PR_OPERATION_STATEMENT_FILE, link.origin, link.target);
}

/* It is being made: asked about a few times, each later. */
static pr_fetch_kind_t look_again(pr_fetch_t *self, const pr_evidence_t *evidence)
{
    if (evidence->reference[0] != '\0') {
        (void)snprintf(self->reference, sizeof self->reference, "%s", evidence->reference);
    }
    if (!has(self, PR_OPERATION_STATEMENT_AGAIN) || self->reference[0] == '\0' ||
        self->looks == LOOKS_MAX) {
        return fail(self, "the channel is still making it; it is tried again later");
    }
    int64_t wait_ms = (int64_t)LOOK_FIRST_MS << self->looks;
    self->wait_ms = wait_ms < LOOK_MOST_MS ? wait_ms : LOOK_MOST_MS;
    self->looks++;
    return call(self, PR_OPERATION_STATEMENT_AGAIN, self->base_url, "");
}

pr_fetch_kind_t pr_fetch_answered(pr_fetch_t *self, const pr_evidence_t *evidence,
                                  uint32_t http_status)
{
    switch (evidence->status) {
    case PR_STATUS_SUCCEEDED:
        return go_to_link(self, evidence);
    case PR_STATUS_PENDING:
        return look_again(self, evidence);
    case PR_STATUS_NOT_FOUND:
        return PR_FETCH_NOTHING;
    default:
        return fail_by(self, evidence, http_status);
    }
}

/* A link that is gone does not mean that the day had nothing: an answer has just said that it had. */
pr_fetch_kind_t pr_fetch_filed(pr_fetch_t *self, const pr_evidence_t *evidence,
                               uint32_t http_status)
{
    if (evidence == NULL) {
        return PR_FETCH_READY;
    }
    if (evidence->status == PR_STATUS_NOT_FOUND && !self->linked) {
        return PR_FETCH_NOTHING;
    }
    return fail_by(self, evidence, http_status);
}
