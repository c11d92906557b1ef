/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/demo.h"

#include <jansson.h>

#include <stdio.h>

static bool money_clean(const pr_demo_money_t *m)
{
    return m->known == m->submitted && m->open == 0 && m->unexplained == 0 && m->strange == 0 &&
           m->difference_minor == 0 && m->double_charged == 0 && m->double_refunded == 0 &&
           m->forged_accepted == 0 &&
           m->succeeded + m->failed + m->cancelled + m->manual == m->submitted;
}

bool pr_demo_clean(const pr_demo_verdict_t *v)
{
    return money_clean(&v->money) && v->lost == 0 && v->unaccounted == 0 && v->pending == 0 &&
           v->rolled_back_seen == 0 && v->bad_signatures == 0 && v->repeated <= v->repeat_bound &&
           v->delivered + v->dead + v->cancelled == v->committed;
}

static json_t *money_json(const pr_demo_money_t *m)
{
    json_t *out = json_object();
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"submitted", m->submitted},
        {"succeeded", m->succeeded},
        {"failed", m->failed},
        {"cancelled", m->cancelled},
        {"manual", m->manual},
        {"double_charged", m->double_charged},
        {"ledger_difference_minor", m->difference_minor},
        {"queries", m->queries},
        {"queries_fixed_scan", m->queries_fixed_scan},
        {"ended_by_webhook", m->by_webhook},
        {"ended_by_query", m->by_query},
        {"ended_by_answer", m->by_answer},
        {"ended_by_expiry", m->by_expiry},
        {"open", m->open},
        {"unexplained", m->unexplained},
        {"unknown_to_postrider", m->submitted - m->known},
        {"strange", m->strange},
        {"double_refunded", m->double_refunded},
        {"sent_back", m->sent_back},
        {"forged_accepted", m->forged_accepted},
        {"charged_minor", m->charged_minor},
        {"refunded_minor", m->refunded_minor},
        {"manual_minor", m->manual_minor},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)json_object_set_new(out, numbers[i].name, json_integer(numbers[i].value));
    return out;
}

static void print_json(const pr_demo_verdict_t *v)
{
    json_t *root = json_object();
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"committed", v->committed},
        {"delivered", v->delivered},
        {"dead", v->dead},
        {"pending", v->pending},
        {"cancelled", v->cancelled},
        {"lost", v->lost},
        {"repeated", v->repeated},
        {"repeat_bound", v->repeat_bound},
        {"unaccounted", v->unaccounted},
        {"breaker_trips", v->breaker_trips},
        {"breaker_closed", v->breaker_closed},
        {"redriven", v->redriven},
        {"first_try", v->first_try},
        {"after_retries", v->after_retries},
        {"requests", v->attempts},
        {"rolled_back", v->rolled_back},
        {"rolled_back_seen", v->rolled_back_seen},
        {"bad_signatures", v->bad_signatures},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)json_object_set_new(root, numbers[i].name, json_integer(numbers[i].value));
    (void)json_object_set_new(root, "payments", money_json(&v->money));
    (void)json_object_set_new(root, "seconds", json_real(v->seconds));
    json_t *latency = json_object();
    for (int c = 0; c < PR_DEMO_CLASSES; c++) {
        char name[3] = {'p', (char)('0' + c), '\0'};
        (void)json_object_set_new(latency, name,
                                  json_pack("{s:f, s:f, s:I}", "p50", v->p50_ms[c], "p99",
                                            v->p99_ms[c], "measured", (json_int_t)v->measured[c]));
    }
    (void)json_object_set_new(root, "latency_ms", latency);
    (void)json_dumpf(root, stdout, JSON_REAL_PRECISION(6) | JSON_COMPACT);
    (void)putchar('\n');
    json_decref(root);
}

typedef struct {
    const char *what;
    int64_t value;
    const char *note;
} line_t;

static void print_lines(const line_t *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)printf("  %-26s %8lld   %s\n", lines[i].what, (long long)lines[i].value,
                     lines[i].note);
}

static void print_money(const pr_demo_money_t *m)
{
    (void)printf("\n%lld payments were submitted to the sandbox's gateway.\n\n",
                 (long long)m->submitted);
    const line_t lines[] = {
        {"succeeded", m->succeeded, ""},
        {"failed", m->failed, ""},
        {"cancelled", m->cancelled, "nobody paid in time: closed at the gateway, asked again"},
        {"with a person", m->manual, "a task says why: not its amount, or it cannot be closed"},
        {"open", m->open, "must be 0"},
        {"ended by a webhook", m->by_webhook, ""},
        {"ended by a question", m->by_query, "webhooks lost or late, charges without an answer"},
        {"ended by the answer", m->by_answer, "to the charge itself"},
        {"ended by their expiry", m->by_expiry, ""},
        {"charged twice", m->double_charged, "must be 0; the gateway's ledger says so"},
        {"sent back", m->sent_back, "the money came after the end"},
        {"refunded twice", m->double_refunded, "must be 0"},
        {"forged webhooks believed", m->forged_accepted, "must be 0"},
        {"nobody's", m->strange, "must be 0; in the ledger, and never submitted"},
    };
    print_lines(lines, sizeof lines / sizeof lines[0]);
    (void)printf(
        "\n  the ledger: %.2f taken, %.2f given back, %.2f of it with a person; difference to "
        "Postrider's records: %.2f\n",
        (double)m->charged_minor / 100, (double)m->refunded_minor / 100,
        (double)m->manual_minor / 100, (double)m->difference_minor / 100);
    (void)printf(
        "  questions: %lld; a scan of everything pending, each minute, would have asked %lld "
        "times\n",
        (long long)m->queries, (long long)m->queries_fixed_scan);
}

static void print_text(const pr_demo_verdict_t *v)
{
    (void)printf(
        "\n%lld results of payments were committed for %d merchants; %lld more were rolled back.\n"
        "%lld followed from payments below.\n\n",
        (long long)v->results, PR_DEMO_MERCHANTS, (long long)v->rolled_back, (long long)v->told);
    const line_t lines[] = {
        {"delivered", v->delivered, "accepted by the merchant, says the sandbox's journal"},
        {"  at the first try", v->first_try, ""},
        {"  after retries", v->after_retries,
         "held by breakers, throttled, failed before, or driven again"},
        {"dead", v->dead, "dead letters of merchants that nobody repaired"},
        {"cancelled", v->cancelled, ""},
        {"pending", v->pending, "must be 0"},
        {"lost", v->lost, "must be 0"},
        {"unaccounted", v->unaccounted, "must be 0"},
        {"repeated", v->repeated, "receipts after an accepted one; the bound follows"},
        {"repeat bound", v->repeat_bound, "nothing was killed"},
        {"rolled back, yet seen", v->rolled_back_seen, "must be 0"},
        {"bad signatures", v->bad_signatures, "must be 0"},
        {"requests", v->attempts, "as the merchants counted: repeats on broken connections, too"},
        {"breakers opened", v->breaker_trips, ""},
        {"breakers closed again", v->breaker_closed, ""},
        {"dead letters driven again", v->redriven, "after the operator's repair"},
    };
    print_lines(lines, sizeof lines / sizeof lines[0]);
    (void)printf("\n  commit to receipt, merchants that answer promptly:\n");
    for (int c = 0; c < PR_DEMO_CLASSES; c++)
        (void)printf("    P%d   p50 %7.1f ms   p99 %7.1f ms   (%lld deliveries)\n", c, v->p50_ms[c],
                     v->p99_ms[c], (long long)v->measured[c]);
    print_money(&v->money);
    (void)printf("\n%s, %.1f s.\n",
                 pr_demo_clean(v) ? "Every notification and every payment is accounted for"
                                  : "NOT everything is accounted for",
                 v->seconds);
}

void pr_demo_report(const pr_demo_t *demo, const pr_demo_verdict_t *verdict)
{
    if (demo->json)
        print_json(verdict);
    else
        print_text(verdict);
}
