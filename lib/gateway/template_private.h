/* SPDX-License-Identifier: Apache-2.0
 *
 * What template.c (reading) and template_write.c (writing) share.
 */
#ifndef PR_GATEWAY_TEMPLATE_PRIVATE_H
#define PR_GATEWAY_TEMPLATE_PRIVATE_H

#include "gateway/template.h"

typedef enum {
    PR_SOURCE_LITERAL = 0,
    PR_SOURCE_FACT, /* a text of pr_payment_facts_t, by offset */
    PR_SOURCE_PARAM,
    PR_SOURCE_HEADER,
    PR_SOURCE_QUERY,
    PR_SOURCE_BODY,
    PR_SOURCE_BODY_PATH,
    PR_SOURCE_ITEM_PATH,
    PR_SOURCE_REQUEST_PATH,
    PR_SOURCE_FORM_SORTED,
    PR_SOURCE_METHOD,
    PR_SOURCE_TARGET,
    PR_SOURCE_NONCE,
    PR_SOURCE_SIGNATURE,
    PR_SOURCE_NOW,
    PR_SOURCE_NOW_UNIX,
    PR_SOURCE_AMOUNT,
    PR_SOURCE_REFUND_AMOUNT,
    PR_SOURCE_EXPIRES_AT,
    PR_SOURCE_REFERENCE_ONLY, /* the gateway's number, where ours is not known */
} pr_source_t;

typedef enum {
    PR_FILTER_NONE = 0,
    PR_FILTER_JSON,
    PR_FILTER_RAW,
    PR_FILTER_URL,
    PR_FILTER_BASIC,
    PR_FILTER_PART,
    PR_FILTER_CRC32,
    PR_FILTER_LOWER,
    PR_FILTER_UPPER,
    PR_FILTER_MEMBER, /* "NAME":"..." of a JSON object */
    PR_FILTER_UNDER,  /* NAME/... of a path */
} pr_filter_t;

typedef struct {
    pr_source_t source;
    size_t offset;    /* FACT */
    const char *name; /* as written, for messages */
    const char *arg;  /* PARAM, HEADER, QUERY: the name; *_PATH: the path; LITERAL: the text */
} pr_reference_t;

struct pr_segment_t {
    pr_reference_t from, otherwise; /* otherwise.name NULL: no |or= */
    bool optional;
    size_t filter_count;
    struct {
        pr_filter_t kind;
        const char *arg;
    } filters[PR_TEMPLATE_FILTERS_MAX];
};

#endif
