/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/demo.h"

#include <jansson.h>

#include <stdio.h>

bool pr_demo_clean(const pr_demo_verdict_t *v)
{
    return v->lost == 0 && v->unaccounted == 0 && v->pending == 0 && v->rolled_back_seen == 0 &&
           v->bad_signatures == 0 && v->repeated <= v->repeat_bound &&
           v->delivered + v->dead + v->cancelled == v->committed;
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

static void print_text(const pr_demo_t *demo, const pr_demo_verdict_t *v)
{
    (void)printf(
        "\n%d results of payments were committed for %d merchants; %lld more were rolled back.\n\n",
        demo->count, PR_DEMO_MERCHANTS, (long long)v->rolled_back);
    const struct {
        const char *what;
        int64_t value;
        const char *note;
    } lines[] = {
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
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        (void)printf("  %-26s %8lld   %s\n", lines[i].what, (long long)lines[i].value,
                     lines[i].note);
    (void)printf("\n  commit to receipt, merchants that answer promptly:\n");
    for (int c = 0; c < PR_DEMO_CLASSES; c++)
        (void)printf("    P%d   p50 %7.1f ms   p99 %7.1f ms   (%lld deliveries)\n", c, v->p50_ms[c],
                     v->p99_ms[c], (long long)v->measured[c]);
    (void)printf("\n%s, %.1f s.\n",
                 pr_demo_clean(v) ? "Every notification is accounted for"
                                  : "NOT everything is accounted for",
                 v->seconds);
}

void pr_demo_report(const pr_demo_t *demo, const pr_demo_verdict_t *verdict)
{
    if (demo->json)
        print_json(verdict);
    else
        print_text(demo, verdict);
}
