/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "wire/envelope.h"
#include "wire/limits.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(limits, .timeout = 300);

static bool needs_max(ProtobufCType type)
{
    return type == PROTOBUF_C_TYPE_STRING || type == PROTOBUF_C_TYPE_BYTES;
}

static void walk(const pr_message_rule_t *rule, int depth)
{
    cr_assert_leq(depth, 6, "messages nest deeper than the checker's promise");
    cr_assert_leq(rule->descriptor->n_fields, 64);
    for (unsigned i = 0; i < rule->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &rule->descriptor->fields[i];
        const pr_field_rule_t *found = pr_field_rule(rule, field->id);
        cr_assert_not_null(found, "%s.%s has no bounds", rule->descriptor->short_name, field->name);
        if (needs_max(field->type)) {
            cr_expect_gt(found->max, 0, "%s.%s", rule->descriptor->short_name, field->name);
        }
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            cr_expect_gt(found->count_max, 0, "%s.%s", rule->descriptor->short_name, field->name);
        }
        bool message = field->type == PROTOBUF_C_TYPE_MESSAGE;
        cr_assert_eq(message, found->sub != NULL, "%s.%s", rule->descriptor->short_name,
                     field->name);
        if (message) {
            cr_assert_eq(found->sub->descriptor, field->descriptor, "%s.%s",
                         rule->descriptor->short_name, field->name);
            walk(found->sub, depth + 1);
        }
    }
}

Test(limits, every_field_of_the_proto_file_has_bounds)
{
    walk(&pr_envelope_rule, 1);
}

/* Bytes of the largest message that passes: every field at its bound, tag and length or number 16 bytes. */
static size_t largest(const pr_message_rule_t *rule)
{
    size_t sum = 0;
    for (unsigned i = 0; i < rule->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &rule->descriptor->fields[i];
        const pr_field_rule_t *found = pr_field_rule(rule, field->id);
        size_t count = field->label == PROTOBUF_C_LABEL_REPEATED ? found->count_max : 1;
        size_t one = found->sub ? largest(found->sub) : needs_max(field->type) ? found->max : 0;
        sum += count * (one + 16);
    }
    return sum;
}

static const pr_message_rule_t *rule_of(const pr_message_rule_t *rule, const char *field)
{
    const ProtobufCFieldDescriptor *found =
        protobuf_c_message_descriptor_get_field_by_name(rule->descriptor, field);
    cr_assert_not_null(found, "%s", field);
    return pr_field_rule(rule, found->id)->sub;
}

/* The scheduler closes a batch at half a frame and counts on this for the job that crossed it. */
Test(limits, the_largest_job_is_as_large_as_said)
{
    const pr_message_rule_t *job = rule_of(rule_of(&pr_envelope_rule, "job_batch"), "jobs");
    cr_assert_str_eq(job->descriptor->short_name, "Job");
    cr_expect_leq(largest(job), PR_WIRE_JOB_MAX);
    cr_expect_gt(largest(job), PR_WIRE_JOB_MAX / 2, "every field is counted");
}

Test(limits, utf8)
{
    static const struct {
        const char *text;
        bool valid;
        const char *why;
    } rows[] = {
        {"", true, "nothing"},
        {"abc", true, "ascii"},
        {"\xc2\x80", true, "first of two bytes"},
        {"\xc1\xbf", false, "overlong two"},
        {"\xe0\xa0\x80", true, "first of three"},
        {"\xe0\x9f\xbf", false, "overlong three"},
        {"\xed\x9f\xbf", true, "last before the surrogates"},
        {"\xed\xbf\xbf", false, "a surrogate"},
        {"\xf0\x90\x80\x80", true, "first of four"},
        {"\xf0\x8f\xbf\xbf", false, "overlong four"},
        {"\xf4\x8f\xbf\xbf", true, "U+10FFFF"},
        {"\xf4\x90\x80\x80", false, "beyond U+10FFFF"},
        {"\xf5\x80\x80\x80", false, "no such lead"},
        {"\x80", false, "a lone continuation"},
        {"\xc2", false, "cut"},
        {"a\xe2\x28\xa1", false, "no continuation"},
    };
    for (size_t i = 0; i < PR_COUNT(rows); i++) {
        pr_bytes_t bytes = pr_bytes(rows[i].text, strlen(rows[i].text));
        cr_expect_eq(pr_utf8_valid(bytes), rows[i].valid, "%s", rows[i].why);
    }
    cr_expect(!pr_utf8_valid(pr_bytes("a\0b", 3)), "NUL inside");
}
