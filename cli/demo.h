/* SPDX-License-Identifier: Apache-2.0
 *
 * `postrider demo`: the whole story on this machine within a minute. A private Postgres, the topology, and a sandbox of
 * fifty merchants of every temper; an application that commits payment results (and rolls some back); then an operator
 * who repairs what can be repaired and drives the dead letters again; then the report.
 *
 *   demo.c            arguments, the acts one after another
 *   demo_cast.c       the merchants: who they are and how they behave
 *   demo_traffic.c    the application
 *   demo_judge.c      the sandbox's journal joined with the committed ids: the only source of `lost` and `repeated`
 *   demo_payments.h   payments through the sandbox's gateway, and the verdict about money
 *   demo_report.c     the report, for people and as JSON
 *
 * Schedules run at time_scale, so that hours of retries pass in seconds; HTTP timeouts are real, and shorter than the defaults.
 */
#ifndef PR_CLI_DEMO_H
#define PR_CLI_DEMO_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/map.h"
#include "db/db.h"
#include "sign/seal.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_DEMO_MERCHANTS 50
#define PR_DEMO_CLASSES 3
#define PR_DEMO_ORDER "PAY-" /* order numbers of payments; those of other results are DEMO-... */

typedef struct {
    char id[16];
    const char *tier;
    const char *temper; /* what it is at first */
    const char *repair; /* what the operator's call makes of it; NULL: nobody repairs it */
    bool prompt;        /* healthy and quick: its latencies are reported */
    char secret[64];
    int64_t endpoint_id;
} pr_demo_merchant_t;

/* One committed delivery: what must be accounted for. */
typedef struct {
    uint8_t notify_id[16];
    int merchant; /* index in the cast */
    uint8_t class_no;
    int64_t committed_us; /* wall clock, just before COMMIT was sent */
    int64_t first_us;     /* first receipt by the journal; 0 none */
    int64_t accepted_us;  /* first accepted receipt; 0 none */
    uint32_t tries, accepted;
    uint32_t accepted_before; /* receipts after the first accepted one */
    char status[12];          /* Postrider's word; "" none */
} pr_demo_delivery_t;

/* One payment that the application submitted; the rest is the gateway's ledger. */
typedef struct {
    const char *script;
    int64_t amount_minor;
    int times_charged;
    int64_t captured_minor, refunded_minor;
    int64_t created_us, ends_us; /* the charge arrived; it was paid, refused or closed; 0 never */
} pr_demo_payment_t;

typedef struct {
    int results, seconds; /* wanted */
    int wanted;           /* payments */
    bool json, keep;
    char *state_dir;
    char *sandbox; /* host:port */
    pr_demo_merchant_t cast[PR_DEMO_MERCHANTS];
    pr_demo_delivery_t *deliveries;
    int count;       /* committed; when it is judged, with those that followed from payments */
    int rolled_back; /* transactions that were undone on purpose */
    pr_demo_payment_t *payments;
    int submitted;
    int64_t payments_open;
    pr_map_t *by_id; /* first 8 bytes of the notify_id -> delivery */
    int64_t started_ms;
    int64_t look_ms;                 /* between two looks at the counts */
    pr_db_sync_t *app, *operator_db; /* the application's connection, the operator's */
} pr_demo_t;

int pr_demo_main(int argc, char **argv);

/* ---- demo_cast.c ---- */
void pr_demo_cast(pr_demo_t *demo);
/* The sandbox's --merchants file, with everybody's temper and secret. */
PR_CHECK pr_rc_t pr_demo_write_merchants(const pr_demo_t *demo, const char *path,
                                         pr_error_t *error);
/* Adds the merchants; needs operator_db and sandbox. */
PR_CHECK pr_rc_t pr_demo_add_merchants(pr_demo_t *demo, pr_error_t *error);
PR_CHECK pr_rc_t pr_demo_master_key(const pr_demo_t *demo, pr_master_key_t *key, pr_error_t *error);
/* The operator: tempers change for the better, disabled endpoints are enabled, open dead letters driven again. */
PR_CHECK pr_rc_t pr_demo_repair(pr_demo_t *demo, int64_t *redriven, pr_error_t *error);

/* ---- demo_traffic.c ---- */
typedef struct {
    int64_t committed, waiting, held, dead, delivered, attempts;
} pr_demo_counts_t;
PR_CHECK pr_rc_t pr_demo_counts(pr_demo_t *demo, pr_demo_counts_t *out, pr_error_t *error);
void pr_demo_progress(const pr_demo_t *demo, const char *act, const pr_demo_counts_t *counts);
PR_CHECK pr_rc_t pr_demo_traffic(pr_demo_t *demo, pr_error_t *error);
/* Waits until nothing waits but what is held, at most for `most_ms`; shows progress. PR_AGAIN: time is up. */
PR_CHECK pr_rc_t pr_demo_settle(pr_demo_t *demo, const char *act, bool held_too, int64_t most_ms,
                                pr_error_t *error);
bool pr_demo_interrupted(void);

/* ---- demo_judge.c ---- */
/* Of payments. The ledger is the gateway's. */
typedef struct {
    int64_t submitted, known; /* by the application; by Postrider */
    int64_t succeeded, failed, cancelled, manual, open;
    int64_t by_webhook, by_query, by_answer, by_expiry;
    int64_t strange;     /* in the ledger or at Postrider, and nobody submitted them */
    int64_t unexplained; /* with a person, but no task says so */
    int64_t charged_minor, refunded_minor; /* by the ledger */
    int64_t manual_minor;                  /* of it: of payments that a person looks at */
    int64_t difference_minor;              /* ledger and records, payment by payment */
    int64_t double_charged, double_refunded, sent_back, forged_accepted;
    int64_t queries, queries_fixed_scan;
} pr_demo_money_t;

typedef struct {
    int64_t results, told; /* committed by the application; followed from payments */
    pr_demo_money_t money;
    int64_t committed, delivered, dead, pending, cancelled, lost, unaccounted, repeated,
        repeat_bound;
    int64_t rolled_back, rolled_back_seen; /* receipts of ids that were never committed */
    int64_t bad_signatures, changed_bodies;
    int64_t first_try, after_retries; /* of delivered */
    int64_t breaker_trips, breaker_closed, redriven, attempts;
    double p50_ms[PR_DEMO_CLASSES], p99_ms[PR_DEMO_CLASSES];
    int64_t measured[PR_DEMO_CLASSES];
    double seconds;
} pr_demo_verdict_t;
PR_CHECK pr_rc_t pr_demo_judge(pr_demo_t *demo, const char *journal, pr_demo_verdict_t *out,
                               pr_error_t *error);

/* ---- demo_report.c ---- */
bool pr_demo_clean(const pr_demo_verdict_t *verdict);
void pr_demo_report(const pr_demo_t *demo, const pr_demo_verdict_t *verdict);

#endif
