/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile as it lies in memory, and a channel made from it: inside of lib/gateway only. All parts
 * of a profile are in its pool. The words of the YAML file are those of docs/profiles.md.
 */
#ifndef PR_GATEWAY_PROFILE_H
#define PR_GATEWAY_PROFILE_H

#include "gateway/gateway.h"
#include "gateway/pool.h"
#include "gateway/template.h"
#include "sign/rsa.h"

#define PR_VALUES_PER_PARAMETER 4

/* ---- conditions and rules ---- */

typedef enum { PR_ON_HTTP = 1, PR_ON_HEADER, PR_ON_ITEM, PR_ON_ROOT } pr_condition_on_t;

/* The value is one of patterns: exactly, or, when a pattern ends in '*', beginning so; "*" alone:
 * there and not empty; "": absent, null or empty. */
typedef struct {
    pr_condition_on_t on;
    const char *name; /* header or path */
    pr_list_t patterns;
} pr_condition_t;

typedef struct {
    size_t count;
    pr_condition_t *items; /* all must hold */
} pr_conditions_t;

typedef struct {
    pr_conditions_t when;
    uint64_t operations; /* 1U << pr_operation_t; 0 = all */
    pr_status_t status;  /* NONE: not said */
    pr_status_t
        status_if_paid; /* instead of status, when it was paid before; NONE: no difference */
    pr_action_t action;
    pr_follow_up_t follow_up;
    int final; /* -1: the profile's failure_final */
    const char *reason;
} pr_rule_line_t;

typedef struct {
    size_t count;
    pr_rule_line_t *items; /* the first that holds decides */
} pr_rules_t;

/* ---- readers ---- */

/* Where a value stands: the first of these paths that has one. "=TEXT" is TEXT itself, "$.PATH"
 * starts at the whole document. */
typedef pr_list_t pr_paths_t;

typedef struct {
    const char *native; /* exactly */
    pr_status_t status;
} pr_status_line_t;

typedef struct {
    const char *kind;
    pr_paths_t at;
} pr_next_action_t;

typedef struct {
    const char *name;
    pr_object_t object;
    pr_paths_t status;
    size_t map_count;
    pr_status_line_t *map;
    pr_rules_t rules; /* before the map */
    struct {
        pr_paths_t account, request_no, reference, refund_no, refund_reference, currency, amount,
            captured_total, refunded_total, refund_amount, failure_code, failure_message, paid_at,
            occurred_at, digest, token, token_expires;
    } fields;
    size_t next_action_count;
    pr_next_action_t *next_actions;
} pr_reader_t;

/* ---- signatures ---- */

typedef enum {
    PR_ALGORITHM_NONE = 0,
    PR_ALGORITHM_HMAC_SHA256,
    PR_ALGORITHM_HMAC_SHA512,
    PR_ALGORITHM_RSA_SHA256,
    PR_ALGORITHM_MD5, /* the key stands in the text */
} pr_algorithm_t;

typedef enum { PR_ENCODING_BASE64 = 1, PR_ENCODING_HEX, PR_ENCODING_UPPER_HEX } pr_encoding_t;

typedef struct {
    pr_algorithm_t algorithm;
    const char *key; /* parameter; "" with md5 */
    pr_template_t text;
    pr_encoding_t encoding;
    const char *form_field; /* "" = a header shows ${signature} */
    pr_list_t leave_out;    /* of form.sorted */
} pr_signing_t;

typedef struct {
    pr_algorithm_t algorithm;
    const char *key;
    pr_template_t text, signature; /* signature: candidates, space-separated */
    pr_encoding_t encoding;
    struct {
        bool wanted;
        pr_template_t value;
        const char *parameter; /* its n-th value names the n-th value of `key` */
    } key_id;
    struct {
        bool wanted;
        pr_template_t value;
        pr_moment_format_t format;
        int64_t tolerance_ms; /* either way */
    } timestamp;
    struct {
        bool wanted;
        pr_template_t value;
        pr_list_t hosts;
    } key_url;
    pr_conditions_t require; /* headers and fields that must say so */
    pr_list_t leave_out;
} pr_verifying_t;

/* ---- operations and webhook ---- */

typedef struct {
    const char *name;
    pr_template_t value;
} pr_named_template_t;

typedef struct {
    size_t count;
    pr_named_template_t *items;
} pr_named_templates_t;

typedef struct {
    const char *method;
    pr_template_t path;
    pr_named_templates_t headers;
    bool has_body;
    pr_template_t body;        /* text, usually JSON */
    pr_named_templates_t form; /* or fields */
    const char *root;          /* path of the object in the answer; "" = all of it */
    const char *reader;        /* name */
    bool unsigned_;            /* not even where the profile signs */
    const pr_reader_t *reads;
} pr_operation_spec_t;

typedef struct {
    pr_conditions_t when;
    const char *reader;
    const pr_reader_t *reads; /* NULL: "none", acknowledged and no more */
} pr_webhook_event_t;

typedef struct {
    uint32_t http_status;
    const char *content_type, *body;
} pr_reply_spec_t;

typedef struct {
    bool supported;
    pr_list_t methods;
    bool form;                 /* else JSON */
    const char *charset_field; /* form: names the charset of this message; "" = the profile's */
    const char *items, *item;  /* path of the list; path inside of each (or of the document) */
    struct {
        bool wanted;
        const char *at, *key, *ciphertext, *nonce, *associated; /* path; parameter; members of it */
    } decrypt;
    bool verifies;
    pr_verifying_t verify;
    struct {
        bool wanted;
        pr_template_t value;
        const char *contains;
    } probe;
    pr_template_t event_id, event_type;
    size_t event_count;
    pr_webhook_event_t *events; /* the first that holds */
    size_t dedupe_count;
    pr_template_t dedupe[2];
    pr_reply_spec_t accepted, refused, later, orphan;
    const char *retries;
} pr_webhook_spec_t;

typedef enum {
    PR_KIND_TEXT = 1,
    PR_KIND_SECRET,
    PR_KIND_HEX_KEY,
    PR_KIND_BASE64_KEY,
    PR_KIND_AES_KEY, /* 32 bytes, as they are */
    PR_KIND_RSA_PRIVATE,
    PR_KIND_RSA_PUBLIC, /* or a certificate */
} pr_parameter_kind_t;

typedef struct {
    const char *name, *help;
    pr_parameter_kind_t kind;
    bool optional;
} pr_parameter_spec_t;

struct pr_profile_t {
    pr_pool_t pool;
    pr_profile_facts_t facts;
    size_t parameter_count;
    pr_parameter_spec_t *parameters;
    const char *account; /* parameter; "" = none */
    pr_money_overrides_t exponents;
    struct {
        pr_moment_format_t format;
        int zone_min;
    } time;
    const char *charset;          /* for iconv: of answers and webhooks that are not UTF-8 */
    pr_named_templates_t headers; /* of every operation */
    bool signs;
    pr_signing_t sign;
    bool verifies_answers;
    pr_verifying_t verify_answers;
    size_t reader_count;
    pr_reader_t *readers;
    pr_operation_spec_t *operations[PR_OPERATIONS]; /* NULL: not there */
    pr_rules_t failures;
    pr_webhook_spec_t webhook;
    size_t statement_count;
    pr_profile_statement_t *statements;
};

/* ---- channel ---- */

typedef struct {
    pr_buffer_t text;  /* as given */
    pr_buffer_t key;   /* HEX_KEY, BASE64_KEY: decoded; SECRET, AES_KEY: as given */
    pr_rsa_key_t *rsa; /* RSA_* */
} pr_parameter_value_t;

typedef struct {
    size_t count;
    pr_parameter_value_t values[PR_VALUES_PER_PARAMETER];
} pr_parameter_values_t;

struct pr_channel_t {
    const pr_profile_t *profile;
    pr_money_overrides_t overrides;
    pr_parameter_values_t *parameters; /* as profile->parameters */
};

/* NULL: no such parameter, or not given. */
const pr_parameter_values_t *pr_channel_values(const pr_channel_t *self, const char *name);
const char *pr_channel_text(const pr_channel_t *self, const char *name); /* the first value */

pr_operation_t pr_operation_find(const char *name); /* NONE: unknown */
pr_status_t pr_status_find(const char *name);
pr_action_t pr_action_find(const char *name);
pr_follow_up_t pr_follow_up_find(const char *name);
pr_object_t pr_object_find(const char *name);
pr_compare_t pr_compare_find(const char *name); /* SAME: unknown */

#endif
