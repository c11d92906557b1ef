/* SPDX-License-Identifier: Apache-2.0
 *
 * What an answer means: the success rules (N11) and the result classes of one try.
 *
 *   default           HTTP 200, and the body is SUCCESS or a JSON object whose `code` is the
 *                     string SUCCESS or OK
 *   2xx               any 200..299, whatever the body
 *   body:TEXT         any 2xx and the body is TEXT
 *   json:FIELD=VALUE  any 2xx and FIELD of the JSON body (a.b.c goes down objects, 8 at most) is
 *                     the string VALUE, or a number, true, false or null written exactly so
 *
 * ASCII white space around the body is ignored, case is exact, the whole body is judged (up to 64
 * KiB; less is kept). JSON is strict (base/json_scan.h); a body in which the looked-at key stands
 * twice is no success: two readers may see two answers, and a repeat is the safe side.
 */
#ifndef PR_CORE_JUDGE_H
#define PR_CORE_JUDGE_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_RULE_FIELD_MAX 128
#define PR_RULE_VALUE_MAX 256

/* Numbers as in postrider.v1.Outcome.Result. */
typedef enum {
    PR_OUTCOME_NONE = 0,
    PR_OUTCOME_DELIVERED = 1,
    PR_OUTCOME_REFUSED = 2,     /* answered, but not as the rule wants */
    PR_OUTCOME_THROTTLED = 3,   /* 429, or 503 with Retry-After */
    PR_OUTCOME_GONE = 4,        /* 410 */
    PR_OUTCOME_UNREACHABLE = 5, /* DNS, connect, TLS, reset, timeout: the receiver's side */
    PR_OUTCOME_OWN_FAULT = 6,   /* proxy, refused address, bad secret or configuration */
    PR_OUTCOME_RETURNED = 7,    /* handed back untried */
    PR_OUTCOMES,
} pr_outcome_t;

/* How the transfer itself went, as the HTTP client saw it. */
typedef enum {
    PR_TRANSPORT_NONE = 0, /* no transfer */
    PR_TRANSPORT_OK,       /* a whole response was read */
    PR_TRANSPORT_DNS,
    PR_TRANSPORT_CONNECT, /* refused, no route */
    PR_TRANSPORT_CONNECT_TIMEOUT,
    PR_TRANSPORT_TLS,
    PR_TRANSPORT_TLS_TIMEOUT,
    PR_TRANSPORT_FIRST_BYTE_TIMEOUT,
    PR_TRANSPORT_TOTAL_TIMEOUT,
    PR_TRANSPORT_RESET,     /* closed or reset before the end of the response */
    PR_TRANSPORT_PROTOCOL,  /* no HTTP */
    PR_TRANSPORT_TOO_LARGE, /* more than 64 KiB of body: only its status can be judged (2xx) */
    PR_TRANSPORT_PROXY,
    PR_TRANSPORT_FORBIDDEN_ADDRESS,
    PR_TRANSPORT_BAD_CONFIG, /* bad URL, secret, CA, header */
    PR_TRANSPORTS,
} pr_transport_t;

typedef enum {
    PR_RULE_NONE = 0,
    PR_RULE_DEFAULT,
    PR_RULE_2XX,
    PR_RULE_BODY,
    PR_RULE_JSON,
} pr_rule_kind_t;

typedef struct {
    pr_rule_kind_t kind;
    char field[PR_RULE_FIELD_MAX]; /* json */
    char value[PR_RULE_VALUE_MAX]; /* body, json */
} pr_rule_t;

/* "" is 'default'. PR_BAD: error->text says why; *out unchanged. */
PR_CHECK pr_rc_t pr_rule_parse(const char *text, pr_rule_t *out, pr_error_t *error);
bool pr_rule_holds(const pr_rule_t *self, uint32_t http_code, pr_bytes_t body);

typedef struct {
    pr_outcome_t outcome;
    const char *error; /* class, static; "" when delivered: redirect, status_4xx, body_mismatch,
                          connect_timeout ... */
} pr_verdict_t;

/* http_code: 0 when no response. retry_after: a valid Retry-After was there. body: all that was
 * read. */
pr_verdict_t pr_judge(const pr_rule_t *rule, pr_transport_t transport, uint32_t http_code,
                      bool retry_after, pr_bytes_t body);

typedef enum {
    PR_FOR_BREAKER_NEUTRAL = 0,
    PR_FOR_BREAKER_SUCCESS,
    PR_FOR_BREAKER_FAILURE
} pr_for_breaker_t;

/* refused, gone and unreachable are failures; throttled, our own faults and returned are neutral
 * (N13). */
pr_for_breaker_t pr_outcome_for_breaker(pr_outcome_t outcome);
/* False only for a try that was never made (returned, none). */
bool pr_outcome_is_attempt(pr_outcome_t outcome);
const char *pr_outcome_name(pr_outcome_t outcome); /* "delivered" ...; "?" when unknown */

#endif
