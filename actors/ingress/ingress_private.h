/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of the ingress actor.
 */
#ifndef PR_INGRESS_PRIVATE_H
#define PR_INGRESS_PRIVATE_H

#include "actor/actor.h"
#include "actors/ingress/door_arguments.h"
#include "actors/ingress/routes.h"
#include "base/map.h"
#include "channel/channel_store.h"
#include "front/front.h"
#include "front/pool.h"
#include "http/http.h"
#include "httpd/door_error.h"
#include "httpd/limiter.h"

#define INGRESS_HASH_BYTES 32
#define INGRESS_SIGNING_MAX 128 /* bytes of a signing key */

typedef struct ingress_t ingress_t;

/* A channel as its newest row has it. */
typedef struct ingress_channel_t {
    char id[PR_CHANNEL_ID_MAX + 1];
    int64_t version;
    pr_opened_channel_t *opened; /* NULL: its row cannot be used (logged): webhooks come later */
    struct ingress_channel_t *next;
} ingress_channel_t;

typedef struct {
    uint8_t hash[INGRESS_HASH_BYTES];
    int64_t key_id;
    int64_t read_at_ms;
    size_t signing_len; /* 0: its requests need no signature */
    uint8_t signing[INGRESS_SIGNING_MAX];
} ingress_key_t;

/* A request whose answer takes a look at the database, or several. Made when it is whole. */
typedef struct ingress_call_t {
    ingress_t *ingress;
    pr_httpd_request_t *http;
    const pr_endpoint_t *endpoint;
    pr_route_match_t match;
    struct ingress_call_t *next; /* of those that wait for a payment, or a certificate */
    /* API */
    ingress_key_t key;
    pr_door_arguments_t arguments;
    pr_buffer_t arguments_text;
    int64_t wait_until_ms, ask_at_ms;
    char payment_id[24];
    pr_buffer_t answer; /* the body that it would have now */
    /* webhooks */
    pr_opened_channel_t *channel;
    int64_t received_us;
    pr_reply_kind_t refusal; /* what a refused one is told */
    bool suspect;            /* from where too many were refused */
} ingress_call_t;

typedef struct {
    char *url;
    char *pem; /* NULL: on its way, or failed */
    bool fetching;
    int64_t until_ms; /* pem, or the failure, counts up to then */
    ingress_call_t *waiting;
} ingress_certificate_t;

#define INGRESS_CERTIFICATES_MAX 16

struct ingress_t {
    pr_actor_t *actor;
    pr_front_t *front;
    pr_pool_t *pool;
    /* channels */
    pr_channel_store_t *store;
    ingress_channel_t *channels;
    bool channels_loaded, channels_asked;
    /* keys */
    pr_master_key_t master; /* opens signing keys */
    pr_map_t *keys;         /* first 8 bytes of the hash -> ingress_key_t */
    /* limits */
    pr_limiter_t *wrongs;  /* by address and channel, or "key" */
    pr_limiter_t *written; /* by channel: refused webhooks that are journaled */
    /* waiting for a payment to end */
    ingress_call_t *waiting;
    int waiting_count, waiting_max, wait_timer;
    /* certificates */
    pr_http_t *http;
    pr_allow_list_t allow;
    ingress_certificate_t certificates[INGRESS_CERTIFICATES_MAX];
    int http_timer;
    bool stopping;
};

/* ---- front.c: each request, before and after its body ---- */
void ingress_on_head(void *arg, pr_httpd_request_t *request);
void ingress_on_whole(void *arg, pr_httpd_request_t *request);
/* The reply of a call, and its end. */
void ingress_reply(ingress_call_t *call, const pr_httpd_reply_t *reply);
void ingress_reply_json(ingress_call_t *call, uint32_t status, pr_bytes_t body);
void ingress_reply_problem(ingress_call_t *call, uint32_t status, const char *code,
                           const char *detail, int64_t retry_after_s);
void ingress_reply_error(ingress_call_t *call, pr_rc_t rc, const pr_error_t *error);
int64_t ingress_now_ms(const ingress_t *self);

/* ---- channels.c ---- */
PR_CHECK pr_rc_t ingress_channels_open(ingress_t *self, const pr_config_t *config,
                                       pr_error_t *error);
void ingress_channels_close(ingress_t *self);
void ingress_channels_ask(void *arg, int64_t now_ms); /* the timer of each second */
const ingress_channel_t *ingress_channel_find(const ingress_t *self, const char *id);

/* ---- keys.c ---- */
/* The bearer token of a request, judged by its form; false: it has been answered. */
bool ingress_key_hash(ingress_t *self, pr_httpd_request_t *request,
                      uint8_t hash[INGRESS_HASH_BYTES]);
/* Goes on with ingress_api_keyed, at once when the key was read within the last second. */
void ingress_key_check(ingress_call_t *call, const uint8_t hash[INGRESS_HASH_BYTES]);
void ingress_keys_close(ingress_t *self);

/* ---- api.c ---- */
void ingress_api_keyed(ingress_call_t *call);
void ingress_api_ask_waiting(void *arg, int64_t now_ms);
void ingress_api_give_up(ingress_t *self); /* answers all that wait with what is known */

/* ---- webhooks.c ---- */
bool ingress_webhook_head(ingress_t *self, pr_httpd_request_t *request, const char *channel);
void ingress_webhook(ingress_call_t *call);
void ingress_webhook_go_on(ingress_call_t *call); /* when its certificate came, or did not */

/* ---- certificates.c ---- */
void ingress_certificates_open(ingress_t *self, const pr_config_t *config);
void ingress_certificates_close(ingress_t *self);
/* PR_OK: *pem (maybe NULL: it cannot be had now). PR_AGAIN: the call waits for it. */
PR_CHECK pr_rc_t ingress_certificate_get(ingress_t *self, const char *url, ingress_call_t *call,
                                         const char **pem);

#endif
