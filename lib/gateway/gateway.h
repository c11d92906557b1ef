/* SPDX-License-Identifier: Apache-2.0
 *
 * Payment gateways as data. A profile (profiles/NAME.yaml, docs/profiles.md) says how a gateway is
 * asked, how its answers and webhooks are read, what they are signed with. This library interprets
 * profiles; it knows no gateway by name, and does no I/O: bytes and times in, bytes out. Who calls
 * it: gateway-poller and charger (build, judge), ingress (webhook), the sandbox (the other side).
 *
 *   profile   parsed and checked once, immutable
 *   channel   a profile with one account's parameters and keys (opened secrets): immutable
 *   request   an operation and the facts of a payment -> method, target, headers, body
 *   evidence  what an answer or a webhook says about a payment; judged, never guessed: what cannot
 *             be read is a flaw with a name, and a status that is not in the map is UNKNOWN
 *
 * Evidence is not yet applied to anything: whether account, number, amount and currency are those
 * of the payment is pr_evidence_compare's answer, whether its state may still change the database's.
 *
 * Hostile input: all sizes are bounded, JSON is strict, a refusal has a static reason. Secrets and
 * bodies are in no error text. One thread per object.
 */
#ifndef PR_GATEWAY_GATEWAY_H
#define PR_GATEWAY_GATEWAY_H

#include "base/buffer.h"
#include "base/error.h"
#include "core/judge.h"
#include "core/moment.h"
#include "core/money.h"
#include "core/retry.h"
#include "statement/statement.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_GATEWAY_BODY_MAX_BYTES ((size_t)1024 * 1024) /* of a webhook or an answer */
#define PR_GATEWAY_ITEMS_MAX 64                         /* in one webhook */
#define PR_GATEWAY_HEADERS_MAX 16                       /* of a request that we build */

/* ---- words ---- */

typedef enum {
    PR_OPERATION_NONE = 0,
    PR_OPERATION_TOKEN, /* an access token, where a gateway wants one before anything else */
    PR_OPERATION_CHARGE,
    PR_OPERATION_CAPTURE, /* the second half of a charge that the payer approved (PayPal) */
    PR_OPERATION_QUERY,
    PR_OPERATION_FIND, /* a query by our number, where QUERY wants the gateway's reference */
    PR_OPERATION_REFUND,
    PR_OPERATION_QUERY_REFUND,
    PR_OPERATION_CLOSE,
    PR_OPERATION_STATEMENT, /* asks for a day's statement: answers with a link, or "not yet" */
    PR_OPERATION_STATEMENT_AGAIN, /* asks whether it is made by now */
    PR_OPERATION_STATEMENT_FILE,  /* fetches it */
    PR_OPERATION_ACT, /* what the handler of a task does (lib/compensate), no gateway's */
    PR_OPERATION_ASK, /* whether it was done */
    PR_OPERATIONS,
} pr_operation_t;

typedef enum {
    PR_STATUS_NONE = 0, /* nothing is said about a payment */
    PR_STATUS_PENDING,
    PR_STATUS_SUCCEEDED,
    PR_STATUS_FAILED,
    PR_STATUS_CANCELLED,
    PR_STATUS_REFUNDED,
    PR_STATUS_PARTIALLY_REFUNDED,
    PR_STATUS_NOT_FOUND,
    PR_STATUS_UNKNOWN,
    PR_STATUSES,
} pr_status_t;

/* What to do about it (R1). */
typedef enum {
    PR_ACTION_NONE = 0,
    PR_ACTION_RETRY,           /* nothing happened there: the same again */
    PR_ACTION_QUERY_FIRST,     /* may have happened: ask before anything is sent again */
    PR_ACTION_BACK_OFF,        /* rate limit: exponentially, honouring retry_after_ms */
    PR_ACTION_LONGER_INTERVAL, /* maintenance: 5, 15, 30 min */
    PR_ACTION_FAIL_NOW,        /* final: reason and failure code go to the payer */
    PR_ACTION_PERSON,
    PR_ACTION_STOP_CHANNEL, /* credential or configuration refused */
    PR_ACTIONS,
} pr_action_t;

typedef enum {
    PR_FOLLOW_UP_NONE = 0,
    PR_FOLLOW_UP_CAPTURE,       /* approved: we have to capture */
    PR_FOLLOW_UP_QUERY_REFUNDS, /* money went back: how much, the refunds say */
    PR_FOLLOW_UPS,
} pr_follow_up_t;

typedef enum {
    PR_OBJECT_NONE = 0, /* an event that concerns no payment: acknowledged, nothing else */
    PR_OBJECT_PAYMENT,
    PR_OBJECT_REFUND,
    PR_OBJECT_DISPUTE,
    PR_OBJECTS,
} pr_object_t;

const char *pr_operation_name(pr_operation_t operation); /* "charge" ... */
const char *pr_status_name(pr_status_t status);          /* "SUCCEEDED" ... */
const char *pr_action_name(pr_action_t action);          /* "query_first" ... */
const char *pr_follow_up_name(pr_follow_up_t follow_up); /* "capture" ... */
const char *pr_object_name(pr_object_t object);          /* "payment" ... */

/* ---- profile ---- */

typedef struct pr_profile_t pr_profile_t;

typedef enum { PR_NOT_FOUND_YET = 1, PR_NOT_FOUND_FINAL } pr_not_found_t;
typedef enum {
    PR_IDEMPOTENCY_NONE = 1,
    PR_IDEMPOTENCY_HEADER,
    PR_IDEMPOTENCY_FIELD
} pr_idempotency_t;

/* What callers need to know of a profile beyond building and reading; docs/profiles.md. */
typedef struct {
    const char *name, *summary, *base_url;
    bool query_supported; /* there is an operation query */
    bool failure_final;   /* FAILED cannot turn into something else there */
    uint32_t match;       /* 1U << PR_COMPARE_...: what must agree before evidence is applied */
    pr_money_unit_t unit;
    struct {
        pr_not_found_t meaning;
        int64_t grace_ms; /* "not found" is "not yet" at least this long after creation */
    } not_found;
    int64_t settle_ms; /* "not found" counts as "not charged" only after this (R2) */
    struct {
        double rate_per_s; /* 0 = none known */
        uint32_t burst, concurrency;
    } limits;
    pr_retry_policy_t polls;
    uint32_t max_polls;
    struct {
        pr_idempotency_t kind;
        const char *name;     /* of the header or field */
        uint32_t max_length;  /* of request_no and refund_no */
        int64_t retention_ms; /* 0 = for ever */
    } idempotency;
    uint64_t operations;         /* 1U << pr_operation_t */
    const char *webhook_retries; /* how the gateway repeats, for people; "" = unknown */
} pr_profile_facts_t;

/* file: its name in messages. PR_BAD: error->text is "FILE:LINE: what is wrong; what is wanted". */
PR_CHECK pr_rc_t pr_profile_parse(const char *file, pr_bytes_t text, pr_profile_t **out,
                                  pr_error_t *error);
void pr_profile_destroy(pr_profile_t **self);
const pr_profile_facts_t *pr_profile_facts(const pr_profile_t *self);

/* The parameters that a channel must or may give, in the profile's order. */
typedef struct {
    const char *name, *kind, *help; /* kind: text, secret, hex_key, rsa_private ... */
    bool required, secret;
} pr_profile_parameter_t;
bool pr_profile_parameter(const pr_profile_t *self, size_t index, pr_profile_parameter_t *out);

/* ---- statements ---- */

/* One kind of statement that a gateway has. To fetch that of a day, in this order:
 *
 *   1 STATEMENT, where the profile has it, with facts.request = pr_profile_statement_request(.., "",
 *     ..). The evidence's status: SUCCEEDED - next_action is the link, digest the file's SHA-1 in hex
 *     (of the unpacked bytes; "" = not said); PENDING - being made: after a while STATEMENT_AGAIN with
 *     facts.reference = evidence.reference, until it is there; NOT_FOUND - that day had nothing.
 *   2 pr_profile_statement_link of the link: where to, and the target.
 *   3 STATEMENT_FILE with facts.request = pr_profile_statement_request(.., target, ..), sent to the
 *     link's origin (without a step 1: to the channel's base URL, target ""). The 2xx body is the
 *     file, for lib/statement, and is not judged; anything else is.
 */
typedef struct {
    const char *name;         /* "trade" */
    pr_statement_spec_t spec; /* for pr_statement_new; lives as long as the profile */
    bool download;            /* false: the profile has no way to fetch it: files only */
    bool daily;               /* the T+1 schedule fetches it */
    int64_t ready_ms;         /* after midnight of the next day, in zone_min */
    int zone_min;             /* of the day that a statement is of */
    uint32_t days_kept;       /* how many days back it can be asked for; 0 = not known */
    size_t value_count;
    const struct pr_profile_value_t *values; /* ${request.NAME} of the operations */
    size_t host_count;
    const char *const *hosts; /* where links may lead besides the base URL's host */
} pr_profile_statement_t;

typedef struct pr_profile_value_t {
    const char *name, *value;
} pr_profile_value_t;

/* In the profile's order; NULL: no more. */
const pr_profile_statement_t *pr_profile_statement(const pr_profile_t *self, size_t index);

/* Appends the JSON object that the three operations read as ${request.NAME}: the statement's values,
 * its name as `statement`, `date` (yyyy-mm-dd, as given), `from_unix` and `to_unix` (that day in its
 * zone, to excluded), and `target` unless that is "". PR_BAD: date is no day. */
PR_CHECK pr_rc_t pr_profile_statement_request(const pr_profile_statement_t *self, const char *date,
                                              const char *target, pr_buffer_t *out);

typedef struct {
    char origin[280]; /* "https://host:port" */
    char target[514]; /* path and query */
} pr_statement_link_t;

/* Takes a link apart. Where base_url has TLS, so has the link (Alipay still writes http). PR_BAD: no
 * URL, or another host than base_url's and those named. */
PR_CHECK pr_rc_t pr_profile_statement_link(const pr_profile_statement_t *self, const char *base_url,
                                           const char *url, pr_statement_link_t *out,
                                           pr_error_t *error);

/* ---- channel ---- */

typedef struct pr_channel_t pr_channel_t;

typedef struct {
    const char *name;
    pr_bytes_t value; /* one name may come up to four times: rotation; the first is used to sign */
} pr_parameter_t;

/* Borrows profile. overrides (may be NULL): exponents of this channel, stronger than the profile's.
 * PR_BAD: a parameter is unknown, missing or malformed; the text names it, never its value. */
PR_CHECK pr_rc_t pr_channel_new(const pr_profile_t *profile, const pr_parameter_t *parameters,
                                size_t count, const pr_money_overrides_t *overrides,
                                pr_channel_t **out, pr_error_t *error);
void pr_channel_destroy(pr_channel_t **self);
/* What evidence must name as its account; "" when the profile knows none. */
const char *pr_channel_account(const pr_channel_t *self);

/* ---- asking ---- */

/* What is known of the payment. NULL or -1: not known; an operation that needs it is refused. */
typedef struct {
    const char *request_no; /* our number at the gateway: never changes (R6) */
    const char *reference;  /* the gateway's own */
    const char *refund_no, *refund_reference;
    const char *order_no, *currency, *description, *reason, *notify_url, *return_url;
    const char *token; /* from PR_OPERATION_TOKEN */
    int64_t amount_minor, refund_minor;
    int64_t expires_at_us;
    int64_t built_at_us; /* stands for now in path and body, so that a retry is the same; -1: now */
    pr_bytes_t request;  /* the application's JSON object; empty = {} */
    bool paid_before;    /* it was seen as paid: tells ambiguous endings apart (Alipay) */
} pr_payment_facts_t;

/* All texts NULL, all numbers -1. */
void pr_payment_facts_init(pr_payment_facts_t *self);

typedef struct {
    const char *name; /* borrowed */
    const char *value;
} pr_gateway_header_t;

typedef struct {
    pr_operation_t operation; /* judge with this one: QUERY may have become FIND */
    const char *method;       /* static */
    pr_buffer_t target; /* path and query: put behind the channel's base URL, which has no path of
                                 its own (the target is what is signed) */
    pr_buffer_t body;   /* empty: none */
    size_t header_count;
    struct {
        const char *name; /* the profile's */
        pr_buffer_t value;
    } headers[PR_GATEWAY_HEADERS_MAX];
} pr_gateway_request_t;

void pr_gateway_request_init(pr_gateway_request_t *self);
void pr_gateway_request_free(pr_gateway_request_t *self); /* wipes */

/* nonce: random text of 16 to 32 letters and digits, given; used where the scheme wants one. PR_BAD:
 * the profile lacks the operation, a fact is missing, something does not fit; *out is then empty. */
PR_CHECK pr_rc_t pr_gateway_build(const pr_channel_t *channel, pr_operation_t operation,
                                  const pr_payment_facts_t *facts, int64_t now_us,
                                  const char *nonce, pr_gateway_request_t *out, pr_error_t *error);

/* ---- evidence ---- */

typedef enum {
    PR_AMOUNT_ABSENT = 0,
    PR_AMOUNT_KNOWN,
    PR_AMOUNT_FLAWED, /* there, but no amount: pr_evidence_t.flaw says why */
} pr_amount_state_t;

typedef struct {
    pr_amount_state_t state;
    int64_t minor;
} pr_amount_t;

typedef struct {
    pr_object_t object;
    pr_status_t status;
    bool final; /* for FAILED: the gateway will not turn it */
    pr_action_t action;
    pr_follow_up_t follow_up;
    bool asked;       /* an answer to our own question: the account is the one that asked */
    bool ambiguous;   /* the native status has two meanings; what we knew decided */
    bool flawed_text; /* bytes outside the charset became U+FFFD */
    char native[96];  /* the status as the gateway calls it */
    char reason[64];  /* our word: "insufficient_funds", "rate_limited", "timeout" ... */
    const char *flaw; /* static; NULL: none. Evidence with a flaw is journaled, not applied */
    char account[128];
    char request_no[128], reference[128], refund_no[128], refund_reference[128];
    char currency[4];
    pr_amount_t amount, captured_total, refunded_total; /* totals are cumulative */
    pr_amount_t refund_amount;                          /* of this refund alone */
    char failure_code[96], failure_message[256];        /* the gateway's, as UTF-8 */
    int64_t paid_at_us, occurred_at_us;                 /* -1: not said */
    char next_action_kind[24];                          /* "qr_code", "redirect" ...; "" = none */
    char next_action[2048];
    char digest[130];       /* of a statement: SHA-1 in hex of the unpacked file; "" = not said */
    int64_t retry_after_ms; /* -1: not asked; capped at 24 h */
    char token[4096];       /* PR_OPERATION_TOKEN; wipe it */
    int64_t token_expires_s;
} pr_evidence_t;

void pr_evidence_init(pr_evidence_t *self);

typedef struct {
    pr_transport_t transport; /* PR_TRANSPORT_OK: what follows is there */
    uint32_t http_status;
    const pr_gateway_header_t *headers;
    size_t header_count;
    pr_bytes_t body;
} pr_gateway_answer_t;

/* Never fails: what cannot be understood is UNKNOWN with an action and a reason. */
void pr_gateway_judge(const pr_channel_t *channel, pr_operation_t operation,
                      const pr_payment_facts_t *facts, const pr_gateway_answer_t *answer,
                      int64_t now_us, pr_evidence_t *out);

typedef enum {
    PR_COMPARE_SAME = 0,
    PR_COMPARE_ACCOUNT,
    PR_COMPARE_NUMBER, /* ours, the gateway's, the refund's: one agrees, none differs */
    PR_COMPARE_AMOUNT,
    PR_COMPARE_CURRENCY,
    PR_COMPARE_FLAWED,
    PR_COMPARES,
} pr_compare_t;

/* Whether evidence is about this payment and this money (P10): the first of the profile's `match`
 * that does not agree. What evidence does not say, and the profile wants, does not agree, except
 * with PENDING, NOT_FOUND, UNKNOWN and CANCELLED, which move no money. A refund is compared by its
 * own amount; nothing and zero do not agree. An answer to our own question need not name
 * the account. */
pr_compare_t pr_evidence_compare(const pr_channel_t *channel, const pr_payment_facts_t *facts,
                                 const pr_evidence_t *evidence);
const char *pr_compare_name(pr_compare_t result); /* "amount" ... */

/* ---- webhooks ---- */

typedef struct {
    const char *method;
    pr_bytes_t query; /* behind the '?', as it came */
    const pr_gateway_header_t *headers;
    size_t header_count;
    pr_bytes_t body;        /* raw */
    pr_bytes_t certificate; /* PEM behind key_url of an earlier WANTS_KEY; else empty */
    bool paid_before;       /* as in pr_payment_facts_t, where known; else false */
} pr_webhook_t;

typedef enum {
    PR_WEBHOOK_NONE = 0,
    PR_WEBHOOK_VERIFIED,
    PR_WEBHOOK_REFUSED,   /* answer with the refusal */
    PR_WEBHOOK_PROBE,     /* a test of ours by the gateway: refuse it, count it apart */
    PR_WEBHOOK_WANTS_KEY, /* fetch key_url (its host is pinned), call again with certificate */
} pr_webhook_verdict_t;

typedef struct {
    char event_id[128], event_type[64];
    char dedupe[2][256]; /* "" = none; any of them known = seen before */
    pr_evidence_t evidence;
} pr_webhook_item_t;

typedef struct {
    pr_webhook_verdict_t verdict;
    const char *reason; /* static: "bad_signature", "stale", "malformed_body" ...; "" = verified */
    char key_url[512];
    size_t count;
    pr_webhook_item_t *items;
} pr_webhook_result_t;

void pr_webhook_result_init(pr_webhook_result_t *self);
void pr_webhook_result_free(pr_webhook_result_t *self);

/* Verifies the raw bytes, then reads them. now_us: the time of receipt, also when it is driven again
 * from the journal. Items are there only when VERIFIED; then there is at least one. */
void pr_webhook_read(const pr_channel_t *channel, const pr_webhook_t *webhook, int64_t now_us,
                     pr_webhook_result_t *out);

typedef enum {
    PR_REPLY_ACCEPTED, /* after the commit, duplicates too */
    PR_REPLY_REFUSED,  /* forged, stale, a probe */
    PR_REPLY_LATER,    /* ours to blame: the gateway must come again */
    PR_REPLY_ORPHAN,   /* verified, order unknown here: as the profile says */
} pr_reply_kind_t;

typedef struct {
    uint32_t http_status;
    const char *content_type; /* "" = none */
    const char *body;         /* exactly these bytes */
} pr_reply_t;

pr_reply_t pr_webhook_reply(const pr_channel_t *channel, pr_reply_kind_t kind);

/* The gateway's side, for the sandbox and tests: the signature that verifies `webhook` (its headers
 * without the signature are looked at), made with the same parameter that verifies: an HMAC key or
 * text, or a private key in the place of the public one. PR_BAD: no such key, or a header missing. */
PR_CHECK pr_rc_t pr_webhook_sign(const pr_channel_t *channel, const pr_webhook_t *webhook,
                                 pr_buffer_t *out, pr_error_t *error);

#endif
