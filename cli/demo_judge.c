/* SPDX-License-Identifier: Apache-2.0
 *
 * The verdict. What arrived is read from the sandbox's journal, never from Postrider's tables; what was committed is
 * what the application remembers. Postrider's own word is used for one thing only: why something that did not arrive
 * has not (dead, cancelled, still pending). Whatever then has no explanation is lost.
 */
#include "base/alloc.h"
#include "cli/demo.h"
#include "cli/demo_payments.h"
#include "sql/demo.h"

#include <jansson.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_uuid(const char *text, uint8_t out[16])
{
    char hex[33];
    size_t n = 0;
    for (; *text; text++) {
        if (*text == '-')
            continue;
        if (n == 32)
            return false;
        hex[n++] = *text;
    }
    return n == 32 && pr_unhex(hex, 32, out);
}

static pr_demo_delivery_t *find(const pr_demo_t *demo, const uint8_t id[16])
{
    uint64_t key;
    memcpy(&key, id, sizeof key);
    pr_demo_delivery_t *delivery = pr_map_get(demo->by_id, key);
    return delivery && memcmp(delivery->notify_id, id, 16) == 0 ? delivery : NULL;
}

/* ---- the journal ---- */

static void receipt(pr_demo_t *demo, const json_t *line, pr_demo_verdict_t *verdict)
{
    const char *id_text = json_string_value(json_object_get(line, "notify_id"));
    uint8_t id[16];
    if (!id_text || !parse_uuid(id_text, id))
        return;
    const char *signature = json_string_value(json_object_get(line, "signature"));
    if (!signature || strcmp(signature, "ok") != 0)
        verdict->bad_signatures++;
    pr_demo_delivery_t *delivery = find(demo, id);
    if (!delivery) {
        verdict->rolled_back_seen++;
        return;
    }
    int64_t at_us = json_integer_value(json_object_get(line, "at_us"));
    delivery->tries++;
    if (delivery->first_us == 0 || at_us < delivery->first_us)
        delivery->first_us = at_us;
    if (delivery->accepted > 0)
        verdict->repeated++;
    if (json_is_true(json_object_get(line, "accepted"))) {
        delivery->accepted++;
        if (delivery->accepted_us == 0)
            delivery->accepted_us = at_us;
    }
}

static pr_rc_t read_journal(pr_demo_t *demo, const char *path, pr_demo_verdict_t *verdict,
                            pr_error_t *error)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return pr_error_set(error, PR_FATAL, "demo", "", "the sandbox's journal %s: errno %d", path,
                            errno);
    char *text = NULL; /* getline's own: freed below with free's twin */
    size_t room = 0;
    pr_rc_t rc = PR_OK;
    while (rc == PR_OK && getline(&text, &room, file) > 0) {
        json_t *line = json_loads(text, 0, NULL);
        if (!line)
            rc = pr_error_set(error, PR_FATAL, "demo", "", "a line of %s is no JSON", path);
        else if (json_object_get(line, "notify_id"))
            receipt(demo, line, verdict);
        json_decref(line);
    }
    pr_free(text);
    (void)fclose(file);
    return rc;
}

/* ---- Postrider's word ---- */

static pr_rc_t read_statuses(pr_demo_t *demo, pr_error_t *error)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_rc_t rc = pr_db_sync_query(demo->operator_db, pr_sql_demo[PR_SQL_DEMO_STATUSES].sql, NULL,
                                  &rows, error);
    for (int row = 0; rc == PR_OK && row < pr_rows_count(rows); row++) {
        uint8_t id[16];
        pr_demo_delivery_t *delivery = pr_rows_uuid(rows, row, 0, id) ? find(demo, id) : NULL;
        if (delivery)
            (void)snprintf(delivery->status, sizeof delivery->status, "%s",
                           pr_rows_text(rows, row, 2));
    }
    return rc;
}

static void account(pr_demo_verdict_t *verdict, const pr_demo_delivery_t *delivery)
{
    const char *status = delivery->status;
    verdict->attempts += delivery->tries;
    if (*status == '\0')
        verdict->unaccounted++;
    if (delivery->accepted > 0) {
        verdict->delivered++;
        if (delivery->accepted_us == delivery->first_us)
            verdict->first_try++;
        else
            verdict->after_retries++;
    } else if (strcmp(status, "dead") == 0) {
        verdict->dead++;
    } else if (strcmp(status, "pending") == 0) {
        verdict->pending++;
    } else if (strcmp(status, "cancelled") == 0) {
        verdict->cancelled++;
    } else { /* said to be delivered, or not known at all, and nobody received it */
        verdict->lost++;
    }
}

/* ---- latencies of merchants who answer promptly ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void latencies(const pr_demo_t *demo, int class_no, pr_demo_verdict_t *verdict)
{
    double *ms = pr_calloc((size_t)demo->count, sizeof *ms);
    int n = 0;
    for (int i = 0; i < demo->count; i++) {
        const pr_demo_delivery_t *delivery = &demo->deliveries[i];
        if (delivery->class_no == class_no && delivery->first_us > 0 &&
            delivery->committed_us > 0 && demo->cast[delivery->merchant].prompt)
            ms[n++] = (double)(delivery->first_us - delivery->committed_us) / 1000.0;
    }
    qsort(ms, (size_t)n, sizeof *ms, by_value);
    verdict->measured[class_no] = n;
    if (n > 0) {
        verdict->p50_ms[class_no] = ms[n / 2];
        verdict->p99_ms[class_no] = ms[(n * 99) / 100];
    }
    pr_free(ms);
}

pr_rc_t pr_demo_judge(pr_demo_t *demo, const char *journal, pr_demo_verdict_t *verdict,
                      pr_error_t *error)
{
    verdict->results = demo->count;
    pr_rc_t rc = pr_demo_told(demo, &verdict->unaccounted, error);
    verdict->committed = demo->count;
    verdict->told = verdict->committed - verdict->results;
    verdict->rolled_back = demo->rolled_back;
    verdict->repeat_bound = 0; /* nothing is killed here: docs/protocol.md, section 7 */
    /* Postrider's word first: what it says to be delivered is in the journal by then */
    if (rc == PR_OK)
        rc = read_statuses(demo, error);
    if (rc == PR_OK)
        rc = pr_demo_judge_money(demo, &verdict->money, error);
    if (rc == PR_OK)
        rc = read_journal(demo, journal, verdict, error);
    if (rc != PR_OK)
        return rc;
    for (int i = 0; i < demo->count; i++)
        account(verdict, &demo->deliveries[i]);
    for (int class_no = 0; class_no < PR_DEMO_CLASSES; class_no++)
        latencies(demo, class_no, verdict);
    return PR_OK;
}
