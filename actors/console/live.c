/* SPDX-License-Identifier: Apache-2.0
 *
 * Live figures by long poll: a page asks "what is newer than N", and is answered as soon as there is
 * something. The figures are read once for everybody who waits, at most every other second, and not at all
 * while nobody does: what watching costs does not grow with who watches.
 */
#include "actors/console/console_private.h"
#include "base/alloc.h"
#include "base/log.h"
#include "sql/console.h"

#include <stdlib.h>
#include <string.h>

#define FRESH_MS 2000    /* figures younger than this are not read again */
#define WAIT_MS 20000    /* a page waits this long at most, and asks again */
#define WAITING_MAX 1000 /* pages; more are answered at once */

/* ---- answers ---- */

static void answer(console_call_t *call)
{
    console_t *self = call->console;
    PR_CLEANUP_FREE char *text =
        pr_asprintf("{\"seq\":%llu,\"overview\":%s}", (unsigned long long)self->live_seq,
                    self->live.len > 0 ? pr_buffer_text(&self->live) : "null");
    console_reply_json(call, 200, pr_bytes_text(text));
}

static void answer_some(console_t *self, bool all, int64_t now_ms)
{
    for (console_call_t **at = &self->waiting; *at;) {
        console_call_t *one = *at;
        if (!all && one->seen >= self->live_seq && one->until_ms > now_ms) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        self->waiting_count--;
        answer(one);
    }
}

void console_live_give_up(console_t *self)
{
    answer_some(self, true, 0);
}

/* ---- the figures ---- */

/* body */
static void on_figures(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    console_t *self = arg;
    self->live_asked = false;
    self->live_at_ms = console_now_ms(self);
    if (rc != PR_OK) {
        if (!self->stopping)
            pr_log_limited(PR_LOG_WARN, "console.no_figures", error ? error->code : "", "code=%s",
                           error ? error->code : "");
        return;
    }
    const char *text = pr_rows_count(rows) > 0 ? pr_rows_text(rows, 0, 0) : "";
    if (strcmp(text, pr_buffer_text(&self->live)) == 0)
        return;
    pr_buffer_clear(&self->live);
    if (pr_buffer_append_text(&self->live, text) != PR_OK)
        pr_buffer_clear(&self->live);
    self->live_seq++;
    answer_some(self, false, self->live_at_ms);
}

static void read_figures(console_t *self)
{
    if (self->live_asked || !self->waiting)
        return;
    pr_params_t *params = pr_pool_params(self->pool);
    pr_params_add_text(params, self->waiting->person.name);
    pr_params_add_text(params, "{}");
    self->live_asked =
        pr_pool_query(self->pool, PR_SQL_CONSOLE_OVERVIEW, on_figures, self) == PR_OK;
}

void console_live_tick(void *arg, int64_t now_ms)
{
    console_t *self = arg;
    answer_some(self, false, now_ms);
    if (self->waiting && now_ms - self->live_at_ms >= FRESH_MS)
        read_figures(self);
}

/* ---- the request ---- */

static uint64_t seen_of(const console_call_t *call)
{
    static const char name[] = "after=";
    pr_bytes_t query = pr_httpd_query(call->http);
    char digits[24] = "";
    if (query.len <= sizeof name - 1 || query.len - (sizeof name - 1) >= sizeof digits ||
        memcmp(query.data, name, sizeof name - 1) != 0)
        return 0;
    memcpy(digits, query.data + sizeof name - 1, query.len - (sizeof name - 1));
    return strspn(digits, "0123456789") == strlen(digits) ? strtoull(digits, NULL, 10) : 0;
}

void console_live(console_call_t *call)
{
    console_t *self = call->console;
    int64_t now_ms = console_now_ms(self);
    bool fresh = self->live.len > 0 && now_ms - self->live_at_ms < FRESH_MS;
    call->seen = seen_of(call);
    if ((fresh && call->seen < self->live_seq) || self->waiting_count == WAITING_MAX ||
        pr_actor_draining(self->actor)) {
        answer(call);
        return;
    }
    if (call->seen > self->live_seq) /* of another life of this process */
        call->seen = 0;
    call->until_ms = now_ms + WAIT_MS;
    call->next = self->waiting;
    self->waiting = call;
    self->waiting_count++;
    if (!fresh)
        read_figures(self);
}
