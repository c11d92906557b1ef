/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- medians ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median_of(const json_t *rounds, const char *key)
{
    size_t n = json_array_size(rounds), found = 0;
    double *values = pr_calloc(n, sizeof *values);
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_object_get(json_array_get(rounds, i), key);
        if (json_is_number(value))
            values[found++] = json_number_value(value);
    }
    qsort(values, found, sizeof *values, by_value);
    double median = found == 0       ? 0
                    : found % 2 != 0 ? values[found / 2]
                                     : (values[found / 2 - 1] + values[found / 2]) / 2;
    pr_free(values);
    return median;
}

/* The same key of every round: an array of what stands there. */
static json_t *gather(const json_t *rounds, const char *key)
{
    json_t *inner = json_array();
    for (size_t i = 0; i < json_array_size(rounds); i++) {
        json_t *value = json_object_get(json_array_get(rounds, i), key);
        if (value)
            (void)json_array_append(inner, value);
    }
    return inner;
}

void pr_report_medians(const json_t *rounds, json_t *report)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_array_get(rounds, 0), key, value)
    {
        if (json_is_object(value)) {
            json_t *inner = gather(rounds, key), *medians = json_object();
            pr_report_medians(inner, medians);
            json_decref(inner);
            (void)json_object_set_new(report, key, medians);
        } else if (json_is_integer(value)) {
            (void)json_object_set_new(report, key,
                                      json_integer((json_int_t)median_of(rounds, key)));
        } else if (json_is_real(value)) {
            (void)json_object_set_new(report, key, json_real(median_of(rounds, key)));
        }
    }
}

void pr_report_spread(const json_t *rounds, const char *key, json_t *report)
{
    PR_CLEANUP_FREE char *min_key = pr_asprintf("%s_min", key);
    PR_CLEANUP_FREE char *max_key = pr_asprintf("%s_max", key);
    double min = 0, max = 0;
    for (size_t i = 0; i < json_array_size(rounds); i++) {
        double value = json_number_value(json_object_get(json_array_get(rounds, i), key));
        min = i == 0 || value < min ? value : min;
        max = i == 0 || value > max ? value : max;
    }
    (void)json_object_set_new(report, min_key, json_real(min));
    (void)json_object_set_new(report, max_key, json_real(max));
}

/* ---- parts ---- */

void pr_report_latencies(const pr_latencies_t *of, json_t *report)
{
    (void)json_object_set_new(report, "p50_ms", json_real(of->p50_ms));
    (void)json_object_set_new(report, "p99_ms", json_real(of->p99_ms));
    (void)json_object_set_new(report, "p999_ms", json_real(of->p999_ms));
    (void)json_object_set_new(report, "max_ms", json_real(of->max_ms));
}

void pr_report_losses(const pr_tally_sum_t *sum, json_t *report)
{
    (void)json_object_set_new(report, "committed", json_integer(sum->committed));
    (void)json_object_set_new(report, "lost", json_integer(sum->lost));
    (void)json_object_set_new(report, "repeated", json_integer(sum->repeated));
}

void pr_report_machine(json_t *report)
{
    double load[1] = {0};
    (void)getloadavg(load, 1);
    (void)json_object_set_new(report, "load_average_before", json_real(load[0]));
    (void)json_object_set_new(report, "processors", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
}

/* ---- printing ---- */

static void print_value(const char *key, const json_t *value, int indent)
{
    const char *inner_key;
    json_t *inner;
    if (json_is_object(value)) {
        (void)printf("%*s%s\n", indent, "", key);
        json_object_foreach((json_t *)(uintptr_t)value, inner_key, inner)
            print_value(inner_key, inner, indent + 2);
    } else if (json_is_integer(value)) {
        (void)printf("%*s%-*s %12lld\n", indent, "", 44 - indent, key,
                     (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        (void)printf("%*s%-*s %16.3f\n", indent, "", 44 - indent, key, json_real_value(value));
    } else if (json_is_string(value)) {
        (void)printf("%*s%-*s %12s\n", indent, "", 44 - indent, key, json_string_value(value));
    }
}

void pr_report_print(const json_t *report, bool json)
{
    if (json) {
        (void)json_dumpf(report, stdout, JSON_REAL_PRECISION(6) | JSON_COMPACT);
        (void)putchar('\n');
    } else {
        print_value("", report, 0);
    }
}
