/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the core (what happens to money) and the seven protocols (how it is said). A protocol
 * reads a request into a call, the core performs it on the ledger, the protocol writes what
 * became of it; and it words events as webhooks.
 */
#ifndef PR_SANDBOX_GATEWAY_PROTOCOL_H
#define PR_SANDBOX_GATEWAY_PROTOCOL_H

#include "core/moment.h"
#include "core/money.h"
#include "sandbox/gateway.h"
#include "sandbox/gateway_ledger.h"

#define PR_GATE_BODY_MAX ((size_t)256 * 1024)
#define PR_GATE_ANSWER_MAX ((size_t)48 << 20) /* of a statement; other answers are small */
#define PR_GATE_HEADERS_MAX 12
#define PR_GATE_FORM_FIELDS_MAX 64

typedef enum {
    PR_GATE_OK = 0, /* call->order, call->refund are what they are */
    PR_GATE_NO_SUCH_PATH,
    PR_GATE_BAD_REQUEST,
    PR_GATE_BAD_CREDENTIAL, /* unknown account, key, or a signature that is wrong */
    PR_GATE_NOT_FOUND,
    PR_GATE_NUMBER_USED, /* the same number or key with other parameters */
    PR_GATE_ALREADY_PAID,
    PR_GATE_WAS_CLOSED,
    PR_GATE_DECLINED, /* call->code says why */
    PR_GATE_TOO_MUCH, /* a refund of more than is left */
    PR_GATE_WRONG_STATE,
    PR_GATE_THROTTLED,
    PR_GATE_SERVER_ERROR,
    PR_GATE_MAINTENANCE,
    PR_GATE_RESULTS,
} pr_gate_result_t;

const char *pr_gate_result_name(pr_gate_result_t result);

/* Which statement: of the protocol's kinds, and of which day in its zone. */
typedef struct {
    char kind[32], date[11];
    int64_t from_us, to_us;
} pr_gate_day_t;

typedef struct {
    pr_gate_t *gate;
    const pr_gate_ledger_t *ledger;
    const pr_gate_protocol_t *protocol;
    pr_now_t now;
    const pr_request_t *request;
    const uint8_t *data;
    pr_bytes_t method, target, path, query, body;
    json_t *document; /* the body's JSON, or its form as an object of texts; NULL: neither */

    /* found by the protocol's read */
    pr_gate_account_t *account;
    pr_gate_operation_t operation;
    char request_no[130], reference[130], refund_no[130], refund_reference[130];
    char key[258];   /* Idempotency-Key, where the gateway has one */
    char label[514]; /* what may carry a script: order number, description */
    char currency[8], notify_url[514];
    int64_t amount; /* minor; -1: none */
    char fingerprint[65];
    bool later;        /* the payer still has to act, even where a charge may end at once */
    bool search;       /* a query that answers with a list */
    pr_gate_day_t day; /* of a statement */

    /* what the core made of it */
    pr_gate_result_t result;
    pr_gate_order_t *order;
    pr_gate_refund_t *refund;
    const char *code; /* of DECLINED, as the script wrote it */
    int64_t retry_after_ms;
    bool repeated;          /* the order or refund was there before */
    pr_gate_saved_t *saved; /* made by this call: what its key gives from now on */
    char saved_key[300];
    int64_t moved; /* money moved by this very call */

    /* the answer, by the protocol's write */
    int status;
    const char *content_type;
    pr_buffer_t headers; /* lines with CRLF */
    pr_buffer_t answer;
} pr_gate_call_t;

typedef enum {
    PR_GATE_EVENT_APPROVED = 0,
    PR_GATE_EVENT_PAID,
    PR_GATE_EVENT_FAILED,
    PR_GATE_EVENT_CLOSED,
    PR_GATE_EVENT_REFUND_DONE,
    PR_GATE_EVENT_REFUND_FAILED,
    PR_GATE_EVENT_REFUND_REVERSED,
    PR_GATE_EVENTS,
} pr_gate_event_kind_t;

typedef struct {
    pr_gate_event_kind_t kind;
    const pr_gate_order_t *order;
    const pr_gate_refund_t *refund; /* NULL: the event is about the order */
    const char *id;                 /* of the event, 16 hex digits */
    pr_now_t now;
    bool forged; /* the signature must not verify */
} pr_gate_event_t;

typedef struct {
    const char *content_type;
    pr_buffer_t body;
    bool forged, probe;
    const char *id;
    int64_t born_us; /* of the event */
    pr_gate_account_t *account;
    char *headers[PR_GATE_HEADERS_MAX]; /* "Name: value", the message's */
    size_t header_count;
} pr_gate_message_t;

/* How a gateway behaves where they differ. */
typedef enum {
    PR_GATE_SYNC = 1,              /* an order without delay has its end in the answer */
    PR_GATE_BY_NUMBER = 2,         /* our number is the idempotency: one order for each */
    PR_GATE_SAVES_ANSWERS = 4,     /* the Idempotency-Key gets the very answer again */
    PR_GATE_TWO_STEPS = 8,         /* the payer approves, the merchant captures */
    PR_GATE_REFUSES = 16,          /* what is declined at once leaves no order behind */
    PR_GATE_FAILED_IS_OPEN = 32,   /* a failed order may still be closed */
    PR_GATE_REFUND_LATER = 64,     /* a refund's end is never in the answer */
    PR_GATE_TELLS_PAID = 128,      /* a charge of what is paid is refused as such */
    PR_GATE_EMPTY_STATEMENT = 256, /* a day without rows has a statement all the same */
} pr_gate_trait_t;

struct pr_gate_protocol_t {
    const char *name;                         /* of the profile */
    const char *order_prefix, *refund_prefix; /* of the references that it gives */
    unsigned traits;
    pr_money_unit_t unit;
    pr_money_overrides_t exponents;
    bool (*owns)(pr_bytes_t path);
    /* Completes the parameters of a new account, all but RSA keys: those are made by the core. */
    void (*complete)(pr_gate_account_t *account);
    struct {
        const char *merchant, *gateway; /* parameters; NULL: this gateway has no such RSA key */
    } keys;
    pr_gate_result_t (*read)(pr_gate_call_t *call);
    void (*write)(pr_gate_call_t *call);
    /* False: this gateway says nothing about such an event. */
    bool (*event)(const pr_gate_event_t *event, pr_gate_message_t *out);
    /* Headers for one try. NULL: the signature is in the body. */
    void (*seal)(pr_gate_message_t *message, pr_now_t now);
    bool (*accepts)(int status, pr_bytes_t body);
};

extern const pr_gate_protocol_t pr_gate_sandbox, pr_gate_wechat, pr_gate_alipay, pr_gate_stripe,
    pr_gate_adyen, pr_gate_paypal, pr_gate_generic;

/* ---- for protocols ---- */

/* The account whose parameter is this text; NULL: none. */
pr_gate_account_t *pr_gate_account_by(const pr_gate_call_t *call, const char *parameter,
                                      pr_bytes_t text);
/* Sets a parameter that was not given. */
void pr_gate_default(pr_gate_account_t *account, const char *parameter, const char *text);
/* len hex digits that belong to the account and to what they are for. */
const char *pr_gate_account_digits(const pr_gate_account_t *account, const char *purpose,
                                   size_t len, char out[65]);
/* A header's value; empty: not there. */
pr_bytes_t pr_gate_header(const pr_gate_call_t *call, const char *name);
/* Copies text into a call's field; false: empty or too long. */
bool pr_gate_copy(char *out, size_t size, pr_bytes_t text);
/* path is prefix, then something without '/', then suffix: that something. */
bool pr_gate_between(pr_bytes_t path, const char *prefix, const char *suffix, pr_bytes_t *out);
bool pr_gate_is(pr_bytes_t text, const char *word);
bool pr_gate_starts(pr_bytes_t text, const char *prefix);
/* Percent-decoded into out; false: malformed or too long. */
bool pr_gate_unescape(pr_bytes_t text, char *out, size_t size, bool plus);
/* A parameter of the query, decoded. */
bool pr_gate_query_text(pr_bytes_t query, const char *name, char *out, size_t size);

/* call->document from the body: false when it is not that. */
bool pr_gate_read_json(pr_gate_call_t *call);
bool pr_gate_read_form(pr_gate_call_t *call);
/* A member of the document by dots, "a.b"; "" when it is not a text. */
const char *pr_gate_text(const json_t *document, const char *path);
/* A text of the document into a field; false: not there or too long. */
bool pr_gate_take(const json_t *document, const char *path, char *out, size_t size);
/* An amount (text or number) at path and call->currency; false: none of this gateway's. */
bool pr_gate_take_amount(pr_gate_call_t *call, const json_t *document, const char *path);
/* k=v&k=v by key, without empty values and those named (NULL ends). */
void pr_gate_sorted_form(const json_t *form, const char *const *left_out, pr_buffer_t *out);

/* What the gateway says of an order, which a script may have bent. */
int64_t pr_gate_said_amount(const pr_gate_order_t *order);
const char *pr_gate_said_currency(const pr_gate_order_t *order);
const char *pr_gate_said_account(const pr_gate_order_t *order);
/* Minor units as this gateway writes them: text in its unit, or an integer of it. */
const char *pr_gate_money(const pr_gate_protocol_t *protocol, int64_t minor, const char *currency,
                          char out[PR_MONEY_TEXT_MAX]);
json_t *pr_gate_money_json(const pr_gate_protocol_t *protocol, int64_t minor, const char *currency);
const char *pr_gate_time(int64_t us, pr_moment_format_t format, int zone_min,
                         char out[PR_MOMENT_TEXT_MAX]);

/* The answer: status and body; takes document. */
void pr_gate_reply(pr_gate_call_t *call, int status, json_t *document);
void pr_gate_reply_header(pr_gate_call_t *call, const char *name, const char *value);
/* Body and headers of a message. */
void pr_gate_message_json(pr_gate_message_t *message, json_t *document);
void pr_gate_message_form(pr_gate_message_t *message, const json_t *form, bool gbk);
void pr_gate_message_header(pr_gate_message_t *message, const char *name, const char *value);
/* UTF-8 to GBK, appended; what GBK has not becomes '?'. */
void pr_gate_to_gbk(pr_bytes_t text, pr_buffer_t *out);
/* Makes a signature wrong when the message is forged. */
void pr_gate_spoil(bool forged, char *signature);
/* Drops members that are NULL or "": for optional fields. Gives object. */
json_t *pr_gate_pruned(json_t *object);

/* ---- statements: gateway_statement.c ---- */

/* A row of a statement, as it is said: planted faults are in it. */
typedef struct {
    bool is_refund;
    const char *request_no, *reference, *refund_no, *refund_reference, *currency;
    const char *state;   /* "succeeded", or what was planted */
    int64_t amount, fee; /* minor; the fee of a refund is one given back, negative */
    int64_t at_us;
    bool is_bad; /* its amount is to be written as none */
} pr_gate_row_t;

typedef void pr_gate_row_fn(void *ctx, const pr_gate_row_t *row);
/* The rows of call->account on call->day; how many. each may be NULL. */
uint64_t pr_gate_rows(const pr_gate_call_t *call, pr_gate_row_fn *each, void *ctx);
/* A fault of all of an account's files: "hash" (the link names another one), "cut". */
bool pr_gate_file_planted(const pr_gate_account_t *account, const char *fault);
/* False: no day. kind is copied. */
bool pr_gate_day_set(pr_gate_day_t *self, const char *kind, const char *date, int zone_min);
/* A link of the sandbox's own address, as this request named it, that ends in a token for
 * call->day. */
void pr_gate_link(const pr_gate_call_t *call, const char *path, char *out, size_t size);
/* Opens such a link's token: PR_GATE_STATEMENT_FILE of call->day, and call->account when nobody
 * has yet. False: forged, of another account, or older than max_age_s. */
bool pr_gate_link_open(pr_gate_call_t *call, int zone_min, int64_t max_age_s);
/* An amount in major units, with its sign; or, where that was planted, what nobody can read. */
#define PR_GATE_ROW_MONEY_MAX (PR_MONEY_TEXT_MAX + 2)
const char *pr_gate_row_money(const pr_gate_row_t *row, int64_t minor,
                              char out[PR_GATE_ROW_MONEY_MAX]);

/* The answer is that file: appended to call->answer, as it is, in a gzip, or (several) in a zip. */
void pr_gate_reply_file(pr_gate_call_t *call, const char *content_type, const pr_buffer_t *file);
void pr_gate_reply_gzip(pr_gate_call_t *call, const pr_buffer_t *file);
void pr_gate_reply_zip(pr_gate_call_t *call, const char *const *names, const pr_buffer_t *files,
                       size_t count);
void pr_gate_gzip(const pr_buffer_t *file, pr_buffer_t *out);

/* The files, by protocol. What does not fit into out (PR_GATE_ANSWER_MAX) ends it. */
void pr_gate_wechat_bill(const pr_gate_call_t *call, pr_buffer_t *out);
void pr_gate_alipay_bill(const pr_gate_call_t *call, pr_buffer_t *details, pr_buffer_t *summary);
void pr_gate_stripe_report(const pr_gate_call_t *call, pr_buffer_t *out);
void pr_gate_sandbox_csv(const pr_gate_call_t *call, pr_buffer_t *out);
void pr_gate_sandbox_camt(const pr_gate_call_t *call, pr_buffer_t *out);

/* Fixed texts of length digits, the same for the same seed and order of calls. */
void pr_gate_random_text(pr_gate_t *gate, char *out, size_t digits);

#endif
