/* SPDX-License-Identifier: Apache-2.0
 *
 * Webhooks: made when something happened, sent when the script says, repeated until the merchant
 * accepts them. A body is worded when its event happens, so a late one is stale; a
 * signature is made for each try.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "sandbox/gateway_private.h"

#include <stdio.h>
#include <string.h>

#define READY_ROOM 1024
#define REORDER_PATIENCE_MS \
    60000              /* when no further event comes, the held one leaves all the same */
#define COPY_GAP_MS 10 /* between the copies of `repeat` */

typedef struct {
    uint64_t number;
    pr_gate_t *gate;
    pr_gate_message_t message;
    char *url, *request_no;
    const char *kind;
    pr_gate_order_t *order;
    int tries;
    bool in_flight, once;
    char id[17];
} hook_t;

static const char *const kind_names[PR_GATE_EVENTS] = {
    "approved", "paid", "failed", "closed", "refund_done", "refund_failed", "refund_reversed",
};

static void free_headers(pr_gate_message_t *message)
{
    for (size_t i = 0; i < message->header_count; i++) {
        pr_free(message->headers[i]);
    }
    message->header_count = 0;
}

static void free_hook(hook_t *hook)
{
    free_headers(&hook->message);
    pr_buffer_free(&hook->message.body);
    pr_free(hook->url);
    pr_free(hook->request_no);
    pr_free(hook);
}

static void drop(hook_t *hook)
{
    (void)pr_map_remove(hook->gate->hooks, hook->number);
    free_hook(hook);
}

/* With requests under way it is only called when lib/http is gone: it borrows their bodies. */
void pr_gate_hooks_clear(pr_gate_t *self)
{
    size_t cursor = 0;
    hook_t *hook;
    self->ready.count = 0;
    while ((hook = pr_map_next(self->hooks, &cursor, NULL))) {
        if (self->http && hook->in_flight) {
            hook->order = NULL; /* its end is still to come, but concerns nobody any more */
        } else {
            drop(hook);
        }
    }
}

/* The first retries of real gateways are seconds or minutes apart; here they are seconds. */
static int64_t pause_ms(int tries)
{
    static const int64_t pauses[] = {1000, 2000, 5000, 10000, 30000, 60000};
    size_t last = PR_COUNT(pauses) - 1;
    return pauses[(size_t)tries - 1 < last ? (size_t)tries - 1 : last];
}

static void release_waiting(pr_gate_t *self, const hook_t *delivered)
{
    pr_gate_order_t *order = delivered->order;
    if (order && order->waiting_hook != 0 && order->waiting_hook != delivered->number) {
        pr_gate_set_timer(self, PR_GATE_TIMER_HOOK, order->waiting_hook, 0);
        order->waiting_hook = 0;
    }
}

static void on_done(void *arg, const pr_http_response_t *response, int64_t now_ms)
{
    hook_t *hook = arg;
    pr_gate_t *self = hook->gate;
    (void)now_ms;
    hook->in_flight = false;
    self->ready.in_flight--;
    if (!hook->order) {
        drop(hook);
        return;
    }
    pr_gate_counts_t *counts = &hook->message.account->counts;
    bool accepted = response->error == PR_HTTP_OK &&
                    hook->message.account->protocol->accepts(response->code, response->body);
    counts->hooks_sent++;
    counts->hooks_accepted += accepted && !hook->message.probe && !hook->message.forged;
    counts->probes_accepted += accepted && hook->message.probe;
    counts->forged_accepted += accepted && hook->message.forged;
    const char *kind = hook->message.probe ? "probe" : hook->message.forged ? "forged" : hook->kind;
    pr_gate_record_hook(self, hook->message.account, kind, hook->request_no, response->code,
                        pr_http_error_name(response->error), accepted ? "accepted" : "refused");
    release_waiting(self, hook);
    hook->tries++;
    if (accepted || hook->once || hook->tries >= self->options.webhook_tries) {
        drop(hook);
    } else {
        pr_gate_set_timer(self, PR_GATE_TIMER_HOOK, hook->number, pause_ms(hook->tries));
    }
}

static void send_hook(pr_gate_t *self, hook_t *hook)
{
    const char *headers[PR_GATE_HEADERS_MAX];
    char content_type[128];
    free_headers(&hook->message);
    snprintf(content_type, sizeof(content_type), "%s", hook->message.content_type);
    pr_gate_message_header(&hook->message, "Content-Type", content_type);
    if (hook->message.account->protocol->seal) {
        hook->message.account->protocol->seal(&hook->message, self->now);
    }
    for (size_t i = 0; i < hook->message.header_count; i++) {
        headers[i] = hook->message.headers[i];
    }
    const pr_http_request_t request = {.url = hook->url,
                                       .headers = headers,
                                       .header_count = (int)hook->message.header_count,
                                       .body = pr_buffer_bytes(&hook->message.body),
                                       .done = on_done,
                                       .arg = hook};
    if (pr_http_start(self->http, &request, self->now.mono_ms, NULL) == PR_OK) {
        hook->in_flight = true;
        self->ready.in_flight++;
    } else { /* an address that is none */
        pr_gate_record_hook(self, hook->message.account, hook->kind, hook->request_no, 0,
                            "not_sent", "refused");
        drop(hook);
    }
}

static void make_ready(pr_gate_t *self, uint64_t number)
{
    size_t room = self->ready.room;
    if (self->ready.count == room) {
        uint64_t *numbers = pr_calloc(room ? 2 * room : READY_ROOM, sizeof(*numbers));
        for (size_t i = 0; i < self->ready.count; i++) {
            numbers[i] = self->ready.numbers[(self->ready.at + i) & (room - 1)];
        }
        pr_free(self->ready.numbers);
        self->ready.numbers = numbers;
        self->ready.at = 0;
        self->ready.room = room ? 2 * room : READY_ROOM;
    }
    size_t end = (self->ready.at + self->ready.count++) & (self->ready.room - 1);
    self->ready.numbers[end] = number;
}

void pr_gate_hook_due(pr_gate_t *self, uint64_t number)
{
    hook_t *hook = pr_map_get(self->hooks, number);
    if (hook && !hook->in_flight) {
        if (hook->order && hook->order->waiting_hook == number) {
            hook->order->waiting_hook = 0; /* waited long enough */
        }
        make_ready(self, number);
    }
}

void pr_gate_hooks_pump(pr_gate_t *self)
{
    while (self->ready.count > 0 && self->ready.in_flight < PR_GATE_HOOKS_IN_FLIGHT) {
        hook_t *hook = pr_map_get(self->hooks, self->ready.numbers[self->ready.at]);
        self->ready.at = (self->ready.at + 1) & (self->ready.room - 1);
        self->ready.count--;
        if (hook && !hook->in_flight) {
            send_hook(self, hook);
        }
    }
}

static const char *url_of(const pr_gate_order_t *order, const pr_gate_refund_t *refund)
{
    if (refund && refund->notify_url && refund->notify_url[0]) {
        return refund->notify_url;
    }
    return order->notify_url[0] ? order->notify_url : order->account->notify_url;
}

/* NULL: this gateway says nothing about it, or there is no address. */
static hook_t *make_hook(pr_gate_t *self, const pr_gate_event_t *event, pr_gate_order_t *order)
{
    const char *url = url_of(event->order, event->refund);
    if (!url[0]) {
        return NULL;
    }
    hook_t *hook = PR_NEW(hook_t);
    hook->gate = self;
    memcpy(hook->id, event->id, sizeof(hook->id));
    hook->message = (pr_gate_message_t){.account = order->account,
                                        .id = hook->id,
                                        .forged = event->forged,
                                        .born_us = event->now.wall_us};
    pr_buffer_init(&hook->message.body, PR_GATE_BODY_MAX);
    if (!order->account->protocol->event(event, &hook->message)) {
        free_hook(hook);
        return NULL;
    }
    hook->number = ++self->hook_count;
    hook->kind = kind_names[event->kind];
    hook->order = order;
    hook->url = pr_strdup(url);
    hook->request_no = pr_strdup(order->request_no);
    hook->once = order->plan->script.hook_once || event->forged;
    if (pr_map_put(self->hooks, hook->number, hook, NULL) != PR_OK) {
        free_hook(hook); /* a million wait already */
        return NULL;
    }
    return hook;
}

static pr_gate_event_t event_of(pr_gate_t *self, pr_gate_event_kind_t kind,
                                const pr_gate_order_t *order, const pr_gate_refund_t *refund,
                                char id[17])
{
    pr_gate_random_text(self, id, 16);
    return (pr_gate_event_t){
        .kind = kind, .order = order, .refund = refund, .id = id, .now = self->now};
}

static void queue_probe(pr_gate_t *self, const pr_gate_event_t *event, pr_gate_order_t *order)
{
    hook_t *probe = make_hook(self, event, order);
    if (probe) {
        probe->message.probe = true;
        probe->once = true;
        pr_gate_set_timer(self, PR_GATE_TIMER_HOOK, probe->number, order->plan->script.hook_ms);
    }
}

void pr_gate_tell(pr_gate_t *self, pr_gate_event_kind_t kind, pr_gate_order_t *order,
                  pr_gate_refund_t *refund)
{
    const pr_gate_script_t *script = &order->plan->script;
    char id[17];
    if (self->replaying) {
        return;
    }
    order->account->counts.hooks++;
    if (script->hook_copies == 0) {
        order->account->counts.hooks_lost++;
        return;
    }
    pr_gate_event_t event = event_of(self, kind, order, refund, id);
    if (script->hook_probe) {
        queue_probe(self, &event, order);
    }
    for (uint32_t i = 0; i < script->hook_copies; i++) {
        hook_t *hook = make_hook(self, &event, order);
        if (!hook) {
            return;
        }
        int64_t delay_ms = script->hook_ms + (int64_t)i * COPY_GAP_MS;
        if (script->hook_reorder && i == 0 && order->waiting_hook == 0 &&
            kind < PR_GATE_EVENT_REFUND_DONE) {
            order->waiting_hook = hook->number;
            delay_ms = REORDER_PATIENCE_MS;
        }
        pr_gate_set_timer(self, PR_GATE_TIMER_HOOK, hook->number, delay_ms);
    }
}

void pr_gate_forge(pr_gate_t *self, pr_gate_order_t *order)
{
    char id[17];
    pr_gate_order_t claimed = *order;
    claimed.state = PR_GATE_PAID;
    claimed.captured = order->amount;
    claimed.paid_us = self->now.wall_us;
    pr_gate_event_t event = event_of(self, PR_GATE_EVENT_PAID, &claimed, NULL, id);
    event.forged = true;
    hook_t *hook = make_hook(self, &event, order);
    if (hook) {
        pr_gate_set_timer(self, PR_GATE_TIMER_HOOK, hook->number, 0);
    }
}
