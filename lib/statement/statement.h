/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements of channels (bills, balance reports, bank statements) as records. Bytes are pushed
 * in as they come, records come out by callback; memory stays the same however long the file is.
 * A gzip or zip around it is found by its first bytes and taken off (a zip, whose table stands at
 * its end, is laid down in a temporary file without a name first).
 *
 *   bytes -> [gzip | zip] -> text in UTF-8 -> lines (or XML) -> record | bad row
 *
 * Two kinds of wrong. A ROW that cannot be read is handed over with its number, its text and a
 * reason, and the reading goes on. A FILE that cannot be trusted (another format, cut off, a
 * bomb, more bad rows than are reasonable) ends with PR_BAD: then nothing of it counts, and what
 * was already handed over must be thrown away. Only pr_statement_finish's PR_OK makes a file of
 * it.
 *
 * What a file says about itself (counts, sums, balances) is compared with what was read:
 * pr_statement_totals_t. Nothing here knows payments: matching is the reconciler's.
 *
 * Hostile input: every size is bounded (pr_statement_limits_t); XML has no DTD, so no entities but
 * the five, and nothing is fetched; a zip inside a zip is refused. One thread per object.
 */
#ifndef PR_STATEMENT_STATEMENT_H
#define PR_STATEMENT_STATEMENT_H

#include "base/buffer.h"
#include "base/error.h"
#include "core/money.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_STATEMENT_NUMBER_MAX 128 /* characters of a number or a state; longer: a bad row */
#define PR_STATEMENT_RAW_MAX 4096   /* bytes of raw text handed over; longer ones are cut */

typedef enum {
    PR_STATEMENT_FORMAT_NONE = 0,
    PR_STATEMENT_WECHAT_TRADE,   /* trade bill: ALL, SUCCESS, REFUND, with or without fee columns */
    PR_STATEMENT_WECHAT_FUNDS,   /* fund flow bill */
    PR_STATEMENT_ALIPAY_TRADE,   /* bill_type trade: details and summary */
    PR_STATEMENT_ALIPAY_ACCOUNT, /* bill_type signcustomer: movements of the account */
    PR_STATEMENT_STRIPE_BALANCE, /* itemised balance or payout report */
    PR_STATEMENT_CAMT053,        /* ISO 20022 BankToCustomerStatement, any version */
    PR_STATEMENT_CSV,            /* columns as pr_statement_csv_t says */
    PR_STATEMENT_FORMATS,
} pr_statement_format_t;

/* "wechat-trade", "wechat-funds", "alipay-trade", "alipay-account", "stripe-balance", "camt053",
 * "csv" */
const char *pr_statement_format_name(pr_statement_format_t format);
pr_statement_format_t pr_statement_format_find(const char *name); /* NONE: unknown */

/* ---- records ---- */

typedef enum {
    PR_STATEMENT_PAYMENT = 1, /* money came in; amount is what the payer paid */
    PR_STATEMENT_REFUND,      /* money went back to the payer */
    PR_STATEMENT_FEE,         /* the channel's price, where it has a row of its own */
    PR_STATEMENT_OTHER,       /* payouts, disputes, transfers ...: native says which */
    PR_STATEMENT_KINDS,
} pr_statement_kind_t;

typedef enum {
    PR_STATEMENT_SUCCEEDED = 1, /* booked, settled */
    PR_STATEMENT_PENDING,
    PR_STATEMENT_FAILED,
    PR_STATEMENT_CANCELLED, /* revoked, closed */
    PR_STATEMENT_UNKNOWN,   /* the native state is none that the format knows */
    PR_STATEMENT_STATES,
} pr_statement_state_t;

const char *pr_statement_kind_name(pr_statement_kind_t kind);    /* "payment" ... */
const char *pr_statement_state_name(pr_statement_state_t state); /* "SUCCEEDED" ... */
pr_statement_kind_t pr_statement_kind_find(const char *name);    /* 0: unknown */
pr_statement_state_t pr_statement_state_find(const char *name);  /* 0: unknown */

/* One row, or one transaction of a batch. All texts are valid UTF-8 without NUL, "" when the row
 * says nothing, and die with the callback. */
typedef struct {
    pr_statement_kind_t kind;
    pr_statement_state_t state;
    const char *native;     /* kind and state as the channel writes them: "REFUND/PROCESSING" */
    const char *reference;  /* the channel's number of the payment */
    const char *request_no; /* our number of the payment at the channel (or the order's) */
    const char *refund_reference; /* the channel's number of the refund */
    const char *refund_no;        /* ours */
    char currency[4];             /* ISO 4217, capitals */
    int64_t
        amount_minor;  /* payment, refund: what was paid, what went back, positive. fee: positive is
                             a cost. other: by its effect on our balance, with its sign */
    bool has_fee;      /* the row names a fee of its own */
    int64_t fee_minor; /* positive is a cost, negative a fee that was given back */
    int64_t occurred_us; /* since 1970 UTC; -1: not said */
    uint64_t line;       /* from 1, in its file; XML: line of the entry's end */
    const char *entry;   /* file inside a zip; "" elsewhere */
    pr_bytes_t raw; /* the row as UTF-8, PR_STATEMENT_RAW_MAX at most, no NULs; XML: its values */
} pr_statement_record_t;

/* A row that cannot be read. */
typedef struct {
    uint64_t line;
    const char *entry;
    pr_bytes_t raw; /* as above: NULs and what is no character are U+FFFD */
    const char
        *reason; /* static: "columns", "amount", "currency", "time", "number", "kind", "quote",
                           "too_long", "nul", "charset", "sum", "unmapped" */
    const char *detail; /* for people: which column, what is wanted; "" = none */
} pr_statement_bad_t;

/* ---- control totals ---- */

typedef enum {
    PR_STATEMENT_NOT_GIVEN = 1, /* the file says nothing about itself */
    PR_STATEMENT_PROVED,        /* all that it says agrees with what was read */
    PR_STATEMENT_DIFFERS,       /* it does not: difference says what */
    PR_STATEMENT_OPEN, /* sums differ, but there are bad rows, and with them the counts agree */
} pr_statement_proof_t;

#define PR_STATEMENT_SUMS_MAX 32

typedef struct {
    pr_statement_kind_t kind;
    char currency[4];
    uint64_t count;
    int64_t amount_minor, fee_minor; /* saturating */
} pr_statement_sum_t;

typedef struct {
    uint64_t rows; /* of data: records and bad ones (a batch's transactions count each) */
    uint64_t records, bad;
    size_t sum_count; /* by kind and currency, as they came first; more than fit: sums_full */
    pr_statement_sum_t sums[PR_STATEMENT_SUMS_MAX];
    bool sums_full;
    pr_statement_proof_t proof;
    char difference[256];        /* of DIFFERS: "rows: 120 said, 119 read" */
    int64_t first_us, last_us;   /* of the records; -1: none says */
    uint64_t bytes, plain_bytes; /* as pushed; unpacked */
    char sha256[65];             /* of the bytes as pushed: the same file again is known by it */
    char plain_sha1[41];         /* unpacked, of a gzip or a plain file: WeChat's hash_value */
    char account[PR_STATEMENT_NUMBER_MAX + 1]; /* as the file names it; "" = not */
} pr_statement_totals_t;

const char *pr_statement_proof_name(pr_statement_proof_t proof); /* "proved" ... */

/* ---- what a format needs to be told ---- */

#define PR_STATEMENT_WORDS_MAX 64
#define PR_STATEMENT_COLUMN_NAMES_MAX 4

/* A column: any of these names in the header line (exactly, after trimming), or "#3": by place. */
typedef struct {
    size_t count;
    const char *names[PR_STATEMENT_COLUMN_NAMES_MAX];
} pr_statement_column_t;

/* A native word and what it means; "*" at the end: begins so; "*" alone: any. The first that holds. */
typedef struct {
    const char *native;
    int meaning; /* pr_statement_kind_t or pr_statement_state_t; 0: rows to leave out */
} pr_statement_word_t;

typedef struct {
    size_t count;
    pr_statement_word_t words[PR_STATEMENT_WORDS_MAX];
} pr_statement_words_t;

/* format csv. Zeroed: comma, a header line, nothing mapped. */
typedef struct {
    char delimiter;       /* 0 = ',' */
    char comment;         /* lines that begin so are no rows; 0 = none */
    char decimal;         /* '.' or ','; 0 = '.'; the other one (and spaces) may group thousands */
    bool no_header;       /* columns by place only */
    uint32_t skip_lines;  /* before the header */
    pr_money_unit_t unit; /* 0 = major */
    int time_format;      /* pr_moment_format_t; 0 = local */
    pr_statement_column_t kind, state, reference, request_no, refund_reference, refund_no, currency;
    pr_statement_column_t amount;        /* signed, or ... */
    pr_statement_column_t credit, debit; /* ... two columns */
    pr_statement_column_t fee, occurred_at;
    pr_statement_words_t kinds;  /* empty: a negative amount is a refund, another one a payment */
    pr_statement_words_t states; /* empty: all SUCCEEDED */
    struct {
        const char *marker;     /* first cell of the totals line; NULL or "" = there is none */
        uint32_t count, amount; /* places of the row count and the net sum in it, from 1; 0 = not */
    } totals;
} pr_statement_csv_t;

/* Borrowed by the reader until it is destroyed. */
typedef struct {
    pr_statement_format_t format;
    const char *charset;  /* "utf-8", "gbk", "gb18030"; NULL or "": the format's own */
    const char *currency; /* where rows name none; NULL or "": the format's own, if it has one */
    int zone_min;         /* of times without one; the Chinese formats know theirs */
    const pr_money_overrides_t *exponents; /* NULL: ISO 4217 */
    pr_statement_csv_t csv;
} pr_statement_spec_t;

/* PR_BAD: it cannot work; error->text says why ("csv: amount, or credit and debit, are wanted"). */
PR_CHECK pr_rc_t pr_statement_check(const pr_statement_spec_t *spec, pr_error_t *error);

/* Zeroes are the defaults in brackets. */
typedef struct {
    uint64_t packed_max_bytes; /* [1 GiB] as pushed */
    uint64_t plain_max_bytes;  /* [16 GiB] unpacked, all files together */
    uint32_t ratio_max;        /* [200] unpacked : packed, looked at from 16 MiB unpacked on */
    uint32_t entries_max;      /* [16] files in a zip, members of a gzip */
    uint32_t line_max_bytes;   /* [64 KiB] of a row; longer ones are bad, and not kept */
    uint32_t depth_max;        /* [32] of XML */
    uint64_t bad_max;          /* [100000] bad rows before the file is given up */
    const char *temp_dir;      /* ["/tmp"] where a zip is laid down; borrowed */
} pr_statement_limits_t;

/* ---- reading ---- */

/* Anything but PR_OK ends the reading; push and finish then give that back. */
typedef pr_rc_t pr_statement_record_fn(void *ctx, const pr_statement_record_t *record);
typedef pr_rc_t pr_statement_bad_fn(void *ctx, const pr_statement_bad_t *bad);

typedef struct {
    pr_statement_record_fn *record;
    pr_statement_bad_fn *bad;
    void *ctx;
} pr_statement_sink_t;

typedef struct pr_statement_reader_t pr_statement_reader_t;

/* Borrows spec; limits may be NULL. PR_BAD: the spec cannot work (no amount column ...). */
PR_CHECK pr_rc_t pr_statement_new(const pr_statement_spec_t *spec,
                                  const pr_statement_limits_t *limits,
                                  const pr_statement_sink_t *sink, pr_statement_reader_t **out,
                                  pr_error_t *error);
void pr_statement_destroy(pr_statement_reader_t **self);

/* Any pieces. PR_BAD: the file is refused, error->code says why ("ratio", "size", "entries",
 * "nested", "gzip", "zip", "xml", "doctype", "depth", "header", "bad_rows", "truncated", "io"),
 * and no more may be pushed. */
PR_CHECK pr_rc_t pr_statement_push(pr_statement_reader_t *self, pr_bytes_t bytes,
                                   pr_error_t *error);
/* The end of the file. *totals is filled with what was read, whatever is returned. A file without a
 * row is PR_OK when its format is seen to be right. Totals that differ are PR_OK, too: the caller
 * decides (totals->proof). */
PR_CHECK pr_rc_t pr_statement_finish(pr_statement_reader_t *self, pr_statement_totals_t *totals,
                                     pr_error_t *error);

#endif
