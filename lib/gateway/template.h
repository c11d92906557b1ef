/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts with placeholders, as profiles write them: "${amount}", "${request.description|json}",
 * "${item.reason?}". A closed set of names (docs/profiles.md, "Placeholders"), by the place where a
 * template stands; an unknown name is an error when the profile is read.
 *
 *   ${name}    the value must be there, else the whole template fails
 *   ${name?}   nothing when it is not
 *   |or=name   another name when it is not there
 *   |json      as a JSON value: texts quoted, values out of JSON as they are
 *   |raw       a value out of JSON, the very bytes that stand there
 *   |url       percent-encoded, all but unreserved characters (RFC 3986)
 *   |basic=p   base64 of "value:parameter p" (RFC 7617)
 *   |part=k    of a header "k=a,j=b,k=c": the values of k, joined by one space
 *   |crc32     its CRC-32, unsigned decimal
 *   |lower |upper   ASCII letters
 */
#ifndef PR_GATEWAY_TEMPLATE_H
#define PR_GATEWAY_TEMPLATE_H

#include "base/json_scan.h"
#include "gateway/gateway.h"
#include "gateway/pool.h"
#include "sign/form.h"

#define PR_TEMPLATE_FILTERS_MAX 3
#define PR_TEMPLATE_OUT_MAX_BYTES ((size_t)2 * 1024 * 1024)

/* Where a template stands. */
typedef enum {
    PR_PLACE_REQUEST = 1, /* target, body, form fields */
    PR_PLACE_SIGNED = 2,  /* what is signed: the above, and method, target, body, form.sorted */
    PR_PLACE_HEADER = 4,  /* the above, and signature */
    PR_PLACE_ANSWER = 8,  /* header.X, body, body.PATH */
    PR_PLACE_WEBHOOK = 16 /* header.X, query.X, body, body.PATH, item.PATH, form.sorted, method */
} pr_place_t;

typedef struct {
    size_t count;
    const char **items;
} pr_list_t;

typedef struct pr_segment_t pr_segment_t;

typedef struct {
    size_t count;
    pr_segment_t *segments; /* in the pool */
    bool needs_document;    /* looks into the body, not only at it */
} pr_template_t;

typedef struct {
    pr_channel_t const *channel;
    const pr_payment_facts_t *facts; /* requests only */
    pr_json_t request;               /* facts->request, checked */
    int64_t now_us;
    const char *nonce, *signature, *method; /* NULL: not known here */
    pr_bytes_t target, body, query;
    const pr_gateway_header_t *headers;
    size_t header_count;
    pr_json_t root, item;      /* the document and what is looked at in it; NONE: there is none */
    const pr_form_t *form;     /* for form.sorted; NULL: there is none */
    const pr_list_t *left_out; /* fields that form.sorted leaves out; NULL: none */
    const char *raw_charset;   /* of the body before it became UTF-8; NULL: it was */
} pr_template_context_t;

/* PR_BAD: error->text says what is wrong with it (no place). */
PR_CHECK pr_rc_t pr_template_parse(const char *text, pr_place_t place, pr_pool_t *pool,
                                   pr_template_t *out, pr_error_t *error);
/* Names every parameter used: for the check that they are declared. False from `each` ends it. */
typedef bool pr_template_parameter_fn(void *context, const char *name);
bool pr_template_parameters(const pr_template_t *self, pr_template_parameter_fn *each,
                            void *context);

/* Appends the text. PR_LOST: a value is not there; error->text names it. PR_BAD: out is full. After
 * a failure a part may have been appended. */
PR_CHECK pr_rc_t pr_template_write(const pr_template_t *self, const pr_template_context_t *context,
                                   pr_buffer_t *out, pr_error_t *error);

/* The header's value (name without regard to case). False: not there, or there twice. */
bool pr_header_find(const pr_gateway_header_t *headers, size_t count, const char *name,
                    pr_bytes_t *out);

#endif
