/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_temper_t: how a pretend merchant behaves, written as one short text such as `prompt`,
 * `slow:200ms` or `throttle:429:2`. The table in temper.c is the only list of them;
 * `postrider-sandbox --help` prints it. Pure: no clock, no I/O.
 *
 * Grammar: NAME[:ARGUMENT]... An argument is a duration (200ms, 3s, 2m; a bare number is seconds), a
 * share between 0 and 1, a status code, a count, or text to the end. Percent-escapes are decoded
 * first, so that a temper can stand in a URL's path (`/t/slow%3A1s/m7`, or plainly `/t/slow:1s/m7`).
 */
#ifndef PR_SANDBOX_TEMPER_H
#define PR_SANDBOX_TEMPER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_TEMPER_TEXT_MAX 1024

typedef enum {
    PR_TEMPER_NONE = 0,
    PR_TEMPER_PROMPT,     /* 200 SUCCESS at once */
    PR_TEMPER_SLOW,       /* 200 SUCCESS after a while */
    PR_TEMPER_FLAKY,      /* a share of tries fails */
    PR_TEMPER_REFUSE,     /* always a status */
    PR_TEMPER_HANG,       /* reads the request, never answers */
    PR_TEMPER_REDIRECT,   /* sends the caller elsewhere */
    PR_TEMPER_GONE,       /* 410 */
    PR_TEMPER_THROTTLE,   /* Retry-After, then a few are let in, and again */
    PR_TEMPER_HUGE,       /* 200 and many bytes that are not SUCCESS */
    PR_TEMPER_PADDED,     /* 200, many spaces, SUCCESS */
    PR_TEMPER_ENDLESS,    /* 200 and a chunked body without end */
    PR_TEMPER_DRIP,       /* the right answer, a byte at a time */
    PR_TEMPER_GARBAGE,    /* bytes that are not HTTP */
    PR_TEMPER_RESET,      /* RST instead of an answer */
    PR_TEMPER_CLOSE,      /* FIN instead of an answer */
    PR_TEMPER_TRUNCATED,  /* promises more body than it sends */
    PR_TEMPER_RECOVER,    /* down for a time, then prompt */
    PR_TEMPER_FLIP,       /* n failures, m successes, and so on */
    PR_TEMPER_FAIL_FIRST, /* the first n tries of every notification fail */
    PR_TEMPER_LEAVE,      /* answers, then closes the connection without saying so */
    PR_TEMPER_INTERIM,    /* a 103 before the 200 */
    PR_TEMPER_ANSWER,     /* a status and a body of one's choice */
    PR_TEMPER_RAW,        /* exactly these bytes, then FIN */
} pr_temper_kind_t;

typedef struct {
    pr_temper_kind_t kind;
    int code;       /* HTTP status of the failing answer (or the only one) */
    int64_t ms;     /* a duration; meaning by kind */
    uint32_t ppm;   /* a share in millionths */
    uint64_t count; /* a count or a number of bytes */
    uint64_t more;  /* the second count */
    bool date;      /* Retry-After as an HTTP date */
    uint16_t text_len;
    char text[PR_TEMPER_TEXT_MAX + 1];
} pr_temper_t;

/* PR_BAD with the reason in *error; then *out is unchanged. */
PR_CHECK pr_rc_t pr_temper_parse(const char *spec, size_t len, pr_temper_t *out, pr_error_t *error);
const char *pr_temper_name(pr_temper_kind_t kind); /* "prompt"; "none" when unknown */

/* Row i of the table for --help: false after the last. Static texts. */
bool pr_temper_describe(size_t i, const char **usage, const char **help);

#endif
