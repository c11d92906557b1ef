/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/limits.h"

#include "postrider/v1/bus.pb-c.h"
#include "wire/envelope.h"

/* One table a message. The numbers are those of bus.proto; docs/bus.md repeats them for people. */
#define TEXT(max_) \
    { \
        .known = true, .max = (max_) \
    }
#define TEXT1(max_) \
    { \
        .known = true, .min = 1, .max = (max_) \
    }
#define BYTES(min_, max_) \
    { \
        .known = true, .min = (min_), .max = (max_) \
    }
#define HIDDEN(max_, show_) \
    { \
        .known = true, .max = (max_), .show = (show_) \
    }
#define ANY \
    { \
        .known = true \
    }
#define UPTO(max_) \
    { \
        .known = true, .max = (max_) \
    }
#define COUNTS(n_) \
    { \
        .known = true, .count_min = (n_), .count_max = (n_) \
    }
#define TEXTS(count_, max_) \
    { \
        .known = true, .max = (max_), .count_max = (count_) \
    }
#define ENUM \
    { \
        .known = true \
    }
#define ENUM1 \
    { \
        .known = true, .required = true \
    }
#define KIND1 \
    { \
        .known = true, .required = true, .open = true \
    }
#define ONE(rule_) \
    { \
        .known = true, .required = true, .sub = &(rule_) \
    }
#define ONE_UNLESS(field_, rule_) \
    { \
        .known = true, .required = true, .unless = (field_), .sub = &(rule_) \
    }
#define MAYBE(rule_) \
    { \
        .known = true, .sub = &(rule_) \
    }
#define MANY(min_, max_, rule_) \
    { \
        .known = true, .count_min = (min_), .count_max = (max_), .sub = &(rule_) \
    }

#define MESSAGE(name_, descriptor_) \
    static const pr_message_rule_t name_ = { \
        &postrider__v1__##descriptor_##__descriptor, \
        name_##_fields, \
        sizeof(name_##_fields) / sizeof(name_##_fields[0]), \
    }

enum {
    SESSION = 16,    /* bytes of a session or instance id */
    SHARDS = 32,     /* bytes of the bitmap of 256 shards */
    SHARD_MAX = 255, /* largest shard number */
    CLASS_MAX = 2,   /* P0, P1, P2 */
    CLASSES = 3,     /* length of every per-class array */
    NAME = 64,       /* worker ids, merchants, orders, events, error classes */
    BATCH = 64,      /* jobs or outcomes a message */
    HELD = 4096,     /* jobs that a worker names */
    EXCERPT = 1024,  /* of an answer */
    PEERS = 1024,    /* workers that a broker names */
    OPERATION_MAX = 63,
};

static const pr_field_rule_t token_fields[] = {[1] = ANY, [2] = ANY, [3] = ANY};
MESSAGE(token, token);

static const pr_field_rule_t held_job_fields[] = {
    [1] = ONE(token), [2] = UPTO(SHARD_MAX), [3] = BYTES(SESSION, SESSION), [4] = ANY};
MESSAGE(held_job, held_job);

static const pr_field_rule_t worker_hello_fields[] = {
    [1] = TEXT1(NAME),
    [2] = {.known = true, .required = true, .open = true, .count_min = 1, .count_max = 8},
    [3] = MANY(0, HELD, held_job),
    [4] = ANY,
    [5] = ANY,
    [6] = ANY};
MESSAGE(worker_hello, worker_hello);

static const pr_field_rule_t worker_credit_fields[] = {[1] = COUNTS(CLASSES)};
MESSAGE(worker_credit, worker_credit);

static const pr_field_rule_t worker_held_fields[] = {
    [1] = TEXT1(NAME), [2] = MANY(0, HELD, held_job)};
MESSAGE(worker_held, worker_held);

static const pr_field_rule_t header_fields[] = {
    [1] = TEXT1(PR_WIRE_HEADER_NAME_MAX), [2] = HIDDEN(PR_WIRE_HEADER_VALUE_MAX, PR_SHOW_LENGTH)};
MESSAGE(header, header);

static const pr_field_rule_t endpoint_config_fields[] = {
    [1] = TEXT(32),
    [2] = HIDDEN(PR_WIRE_SECRET_MAX, PR_SHOW_LENGTH),
    [3] = HIDDEN(PR_WIRE_SECRET_MAX, PR_SHOW_LENGTH),
    [4] = TEXT(PR_WIRE_SUCCESS_RULE_MAX),
    [5] = MANY(0, PR_WIRE_HEADERS_MAX, header),
    [6] = HIDDEN(PR_WIRE_TLS_CA_MAX, PR_SHOW_LENGTH),
    [7] = HIDDEN(PR_WIRE_EGRESS_MAX, PR_SHOW_URL),
    [8] = ANY};
MESSAGE(endpoint_config, endpoint_config);

static const pr_field_rule_t channel_parameter_fields[] = {
    [1] = TEXT1(NAME),
    [2] = {.known = true, .min = 1, .max = PR_WIRE_PARAMETER_MAX, .show = PR_SHOW_LENGTH}};
MESSAGE(channel_parameter, channel_parameter);

static const pr_field_rule_t channel_exponent_fields[] = {
    [1] = {.known = true, .min = 3, .max = 3}, [2] = UPTO(4)};
MESSAGE(channel_exponent, channel_exponent);

static const pr_field_rule_t channel_spec_fields[] = {
    [1] = TEXT1(PR_WIRE_CHANNEL_ID_MAX),
    [2] = ANY,
    [3] = TEXT1(NAME),
    [4] = HIDDEN(PR_WIRE_URL_MAX, PR_SHOW_URL),
    [5] = MANY(0, PR_WIRE_PARAMETERS_MAX, channel_parameter),
    [6] = MANY(0, PR_WIRE_EXPONENTS_MAX, channel_exponent),
    [7] = HIDDEN(PR_WIRE_CHANNEL_CA_MAX, PR_SHOW_LENGTH)};
MESSAGE(channel_spec, channel_spec);

static const pr_field_rule_t payment_facts_fields[] = {
    [1] = TEXT(PR_WIRE_NUMBER_MAX),
    [2] = TEXT(PR_WIRE_NUMBER_MAX),
    [3] = TEXT(PR_WIRE_NUMBER_MAX),
    [4] = TEXT(PR_WIRE_NUMBER_MAX),
    [5] = TEXT(PR_WIRE_ORDER_NO_MAX),
    [6] = TEXT(3),
    [7] = HIDDEN(1024, PR_SHOW_LENGTH), /* may name a person */
    [8] = HIDDEN(1024, PR_SHOW_LENGTH),
    [9] = HIDDEN(PR_WIRE_URL_MAX, PR_SHOW_URL),
    [10] = HIDDEN(PR_WIRE_URL_MAX, PR_SHOW_URL),
    [11] = ANY,
    [12] = ANY,
    [13] = ANY,
    [14] = HIDDEN(PR_WIRE_REQUEST_MAX, PR_SHOW_LENGTH),
    [15] = ANY,
    [16] = ANY};
MESSAGE(payment_facts, payment_facts);

static const pr_field_rule_t call_subject_fields[] = {
    [1] = ANY, [2] = ANY, [3] = UPTO(OPERATION_MAX)};
MESSAGE(call_subject, call_subject);

static const pr_field_rule_t call_fields[] = {[1] = UPTO(OPERATION_MAX),
                                              [2] = ONE(channel_spec),
                                              [3] = ONE(payment_facts),
                                              [4] = UPTO(32), /* SHA-256 */
                                              [5] = MAYBE(call_subject)};
MESSAGE(call, call);

static const pr_field_rule_t job_fields[] = {[1] = ONE(token),
                                             [2] = KIND1,
                                             [3] = UPTO(SHARD_MAX),
                                             [4] = ANY,
                                             [5] = UPTO(CLASS_MAX),
                                             [6] = ANY,
                                             [7] = ANY,
                                             [8] = TEXT(4 * NAME),
                                             [9] = TEXT(PR_WIRE_ORDER_NO_MAX),
                                             [10] = TEXT(NAME),
                                             [11] = ANY,
                                             [12] = TEXT(PR_WIRE_EVENT_MAX),
                                             [13] = HIDDEN(PR_WIRE_URL_MAX, PR_SHOW_URL),
                                             [14] = HIDDEN(PR_WIRE_BODY_MAX, PR_SHOW_DIGEST),
                                             [15] = ONE_UNLESS(17, endpoint_config),
                                             [16] = ANY,
                                             [17] = MAYBE(call),
                                             [18] = ANY};
MESSAGE(job, job);

static const pr_field_rule_t job_batch_fields[] = {
    [1] = BYTES(SESSION, SESSION), [2] = UPTO(CLASS_MAX), [3] = MANY(1, BATCH, job)};
MESSAGE(job_batch, job_batch);

static const pr_field_rule_t outcome_fields[] = {
    [1] = ONE(token),
    [2] = UPTO(SHARD_MAX),
    [3] = ANY,
    [4] = ENUM1,
    [5] = UPTO(999),
    [6] = TEXT(NAME),
    [7] = ANY,
    [8] = ANY,
    [9] = HIDDEN(EXCERPT, PR_SHOW_DIGEST),
    [10] = ANY,
    [11] = TEXT1(NAME),
    [12] = {.known = true, .open = true},
    [13] = HIDDEN(PR_WIRE_EVIDENCE_MAX, PR_SHOW_DIGEST),
    [14] = MAYBE(call_subject),
    [15] = HIDDEN(PR_WIRE_EXCHANGE_MAX, PR_SHOW_DIGEST)};
MESSAGE(outcome, outcome);

static const pr_field_rule_t outcome_batch_fields[] = {
    [1] = MANY(1, BATCH, outcome), [2] = BYTES(0, SESSION)};
MESSAGE(outcome_batch, outcome_batch);

static const pr_field_rule_t outcome_ack_fields[] = {[1] = TEXT1(NAME), [2] = MANY(1, 1024, token)};
MESSAGE(outcome_ack, outcome_ack);

static const pr_field_rule_t scheduler_hello_fields[] = {
    [1] = BYTES(SESSION, SESSION),
    [2] = BYTES(SHARDS, SHARDS),
    [3] = {.known = true, .min = SESSION, .max = SESSION, .count_max = 64},
    [4] = TEXT(256),
    [5] = ANY,
    [6] = ANY};
MESSAGE(scheduler_hello, scheduler_hello);

static const pr_field_rule_t demand_fields[] = {[1] = BYTES(SESSION, SESSION),
                                                [2] = COUNTS(CLASSES),
                                                [3] = COUNTS(CLASSES),
                                                [4] = COUNTS(CLASSES)};
MESSAGE(demand, demand);

static const pr_field_rule_t grant_fields[] = {[1] = COUNTS(CLASSES), [2] = ANY};
MESSAGE(grant, grant);

static const pr_field_rule_t broker_hello_fields[] = {[1] = BYTES(SESSION, SESSION),
                                                      [2] = TEXTS(64, 256),
                                                      [3] = TEXTS(PEERS, NAME),
                                                      [4] = ANY,
                                                      [5] = ANY};
MESSAGE(broker_hello, broker_hello);

static const pr_field_rule_t hint_fields[] = {[1] = COUNTS(CLASSES)};
MESSAGE(hint, hint);

static const pr_field_rule_t attempt_fact_fields[] = {
    [1] = ANY, [2] = TEXT(4 * NAME), [3] = TEXT(4 * NAME), [4] = TEXT(NAME), [5] = UPTO(CLASS_MAX),
    [6] = ANY, [7] = ENUM1,          [8] = UPTO(999),      [9] = TEXT(NAME), [10] = ANY};
MESSAGE(attempt_fact, attempt_fact);

static const pr_field_rule_t breaker_moved_fields[] = {
    [1] = ANY, [2] = TEXT(4 * NAME), [3] = ENUM, [4] = ENUM1, [5] = ANY, [6] = ANY, [7] = ANY,
    [8] = ANY};
MESSAGE(breaker_moved, breaker_moved);

static const pr_field_rule_t dead_fact_fields[] = {
    [1] = ANY,       [2] = ANY, [3] = TEXT(4 * NAME), [4] = TEXT(4 * NAME), [5] = TEXT(NAME),
    [6] = TEXT(256), [7] = ANY};
MESSAGE(dead_fact, dead_fact);

static const pr_field_rule_t alert_fields[] = {
    [1] = TEXT1(NAME), [2] = TEXT(512), [3] = TEXT(16), [4] = TEXT(500)};
MESSAGE(alert, alert);

static const pr_field_rule_t endpoint_gone_fields[] = {
    [1] = ANY, [2] = TEXT(4 * NAME), [3] = UPTO(999)};
MESSAGE(endpoint_gone, endpoint_gone);

static const pr_field_rule_t actor_health_fields[] = {
    [1] = TEXT1(NAME), [2] = ANY, [3] = TEXT(32), [4] = ANY, [5] = ANY, [6] = TEXT(32)};
MESSAGE(actor_health, actor_health);

static const pr_field_rule_t breaker_command_fields[] = {
    [1] = ENUM1, [2] = ANY, [3] = TEXT(4 * NAME), [4] = TEXT(512)};
MESSAGE(breaker_command, breaker_command);

static const pr_field_rule_t breaker_query_fields[] = {[1] = ANY};
MESSAGE(breaker_query, breaker_query);

static const pr_field_rule_t breaker_snapshot_fields[] = {
    [1] = MANY(0, 4096, breaker_moved), [2] = TEXT(512)};
MESSAGE(breaker_snapshot, breaker_snapshot);

static const pr_field_rule_t envelope_fields[] = {[1] = ANY,
                                                  [2] = BYTES(16, 16),
                                                  [3] = TEXT(64),
                                                  [4] = ANY,
                                                  [5] = TEXT(NAME),
                                                  [10] = MAYBE(worker_hello),
                                                  [11] = MAYBE(worker_credit),
                                                  [12] = MAYBE(worker_held),
                                                  [13] = MAYBE(job_batch),
                                                  [14] = MAYBE(outcome_batch),
                                                  [15] = MAYBE(outcome_ack),
                                                  [20] = MAYBE(scheduler_hello),
                                                  [21] = MAYBE(demand),
                                                  [22] = MAYBE(grant),
                                                  [23] = MAYBE(broker_hello),
                                                  [30] = MAYBE(hint),
                                                  [31] = MAYBE(attempt_fact),
                                                  [32] = MAYBE(breaker_moved),
                                                  [33] = MAYBE(dead_fact),
                                                  [34] = MAYBE(alert),
                                                  [35] = MAYBE(endpoint_gone),
                                                  [36] = MAYBE(actor_health),
                                                  [40] = MAYBE(breaker_command),
                                                  [41] = MAYBE(breaker_query),
                                                  [42] = MAYBE(breaker_snapshot)};

const pr_message_rule_t pr_envelope_rule = {
    &postrider__v1__envelope__descriptor,
    envelope_fields,
    sizeof(envelope_fields) / sizeof(envelope_fields[0]),
};

const pr_field_rule_t *pr_field_rule(const pr_message_rule_t *rule, uint32_t number)
{
    if (number >= rule->fields_count || !rule->fields[number].known) {
        return NULL;
    }
    return &rule->fields[number];
}
