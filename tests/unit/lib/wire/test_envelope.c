/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/clock.h"
#include "wire/envelope.h"
#include "wire/limits.h"

#include <criterion/criterion.h>
#include <jansson.h>

#include <string.h>

TestSuite(envelope, .timeout = 300);

#define SESSION "0123456789abcdef"
static const uint64_t RANDOM[2] = {0x1122334455667788, 0x99aabbccddeeff00};

static ProtobufCBinaryData blob(const char *text, size_t len)
{
    return (ProtobufCBinaryData){len, (uint8_t *)(uintptr_t)text};
}

static char *text(const char *value)
{
    return (char *)(uintptr_t)value;
}

enum { JOBS = 16 };

typedef struct {
    Postrider__V1__Envelope envelope;
    Postrider__V1__JobBatch batch;
    Postrider__V1__Job jobs[JOBS];
    Postrider__V1__Job *list[JOBS];
    Postrider__V1__Token tokens[JOBS];
    Postrider__V1__EndpointConfig endpoint;
    Postrider__V1__Header header;
    Postrider__V1__Header *headers[1];
    char body[400];
} fixture_t;

static void fill_job(fixture_t *self, size_t i)
{
    postrider__v1__token__init(&self->tokens[i]);
    self->tokens[i].salt = 0xfedcba9876543210 + i;
    self->tokens[i].seq = (int64_t)i;
    Postrider__V1__Job *job = &self->jobs[i];
    postrider__v1__job__init(job);
    job->token = &self->tokens[i];
    job->kind = POSTRIDER__V1__JOB_KIND__JOB_KIND_NOTIFY;
    job->shard = (uint32_t)i;
    job->endpoint_id = -5;
    job->class_ = 1;
    job->merchant_id = text("m-\xc3\xa4");
    job->order_no = text("order-1");
    job->notify_id = text("6f0d9bb4-9f2c-4b35-9a55-0d2f7dd8e001");
    job->try_number = 1;
    job->event = text("payment.succeeded");
    job->url = text("https://user:secret@shop.example:8443/n?key=1#x");
    job->body = blob(self->body, sizeof self->body);
    job->endpoint = &self->endpoint;
    job->timeout_ms = 10000;
    self->list[i] = job;
}

static void fill(fixture_t *self)
{
    memset(self->body, 'b', sizeof self->body);
    postrider__v1__header__init(&self->header);
    self->header.name = text("Authorization");
    self->header.value = text("Bearer hidden");
    self->headers[0] = &self->header;
    postrider__v1__endpoint_config__init(&self->endpoint);
    self->endpoint.scheme = text("postrider");
    self->endpoint.secret = blob("sealed-secret", 13);
    self->endpoint.n_headers = 1;
    self->endpoint.headers = self->headers;
    postrider__v1__job_batch__init(&self->batch);
    self->batch.session = blob(SESSION, 16);
    self->batch.class_ = 1;
    for (size_t i = 0; i < JOBS; i++) {
        fill_job(self, i);
    }
    self->batch.n_jobs = JOBS;
    self->batch.jobs = self->list;
    postrider__v1__envelope__init(&self->envelope);
    self->envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_JOB_BATCH;
    self->envelope.job_batch = &self->batch;
}

static void pack(fixture_t *self, pr_buffer_t *out)
{
    pr_buffer_init(out, PR_WIRE_FRAME_MAX);
    pr_envelope_pack(&self->envelope, "scheduler/1", 1234567, RANDOM, out);
}

Test(envelope, a_batch_comes_back_as_it_was)
{
    fixture_t it;
    fill(&it);
    pr_buffer_t out;
    pack(&it, &out);
    Postrider__V1__Envelope *back;
    pr_error_t error;
    cr_assert_eq(pr_envelope_unpack(pr_buffer_bytes(&out), &back, &error), PR_OK);
    cr_assert_eq(back->version, 1);
    cr_assert_str_eq(back->sender, "scheduler/1");
    cr_assert_eq(back->sent_at_us, 1234567);
    cr_assert_eq(memcmp(back->message_id.data, RANDOM, 16), 0);
    cr_assert_str_eq(pr_envelope_kind(back), "job_batch");
    cr_assert_eq(back->job_batch->n_jobs, JOBS);
    cr_assert_eq(back->job_batch->jobs[7]->token->salt, 0xfedcba9876543217);
    cr_assert_eq(back->job_batch->jobs[7]->endpoint_id, -5);
    cr_assert_str_eq(back->job_batch->jobs[7]->merchant_id, "m-\xc3\xa4");
    cr_assert_null(it.envelope.message_id.data, "nothing may point into a dead frame");
    pr_envelope_destroy(&back);
    pr_envelope_destroy(&back);
    pr_buffer_free(&out);
}

Test(envelope, a_sender_name_is_cut_at_64_bytes)
{
    fixture_t it;
    fill(&it);
    char sender[200];
    memset(sender, 's', sizeof sender - 1);
    sender[sizeof sender - 1] = '\0';
    pr_buffer_t out;
    pr_buffer_init(&out, PR_WIRE_FRAME_MAX);
    pr_envelope_pack(&it.envelope, sender, 1, RANDOM, &out);
    PR_CLEANUP(pr_envelope) Postrider__V1__Envelope *back = NULL;
    cr_assert_eq(pr_envelope_unpack(pr_buffer_bytes(&out), &back, NULL), PR_OK);
    cr_assert_eq(strlen(back->sender), 64);
    pr_buffer_free(&out);
}

/* One change a row to the good batch, and the field that must be named. */
typedef struct {
    const char *why;
    void (*spoil)(fixture_t *self);
    const char *field;
} bad_t;

static void no_session(fixture_t *self)
{
    self->batch.session.len = 0;
}
static void short_session(fixture_t *self)
{
    self->batch.session.len = 15;
}
static void class_3(fixture_t *self)
{
    self->batch.class_ = 3;
}
static void no_jobs(fixture_t *self)
{
    self->batch.n_jobs = 0;
}
static void no_token(fixture_t *self)
{
    self->jobs[3].token = NULL;
}
static void no_endpoint(fixture_t *self)
{
    self->jobs[3].endpoint = NULL;
}
static void shard_256(fixture_t *self)
{
    self->jobs[0].shard = 256;
}
static void no_kind(fixture_t *self)
{
    self->jobs[0].kind = 0;
}
static void wild_kind(fixture_t *self)
{
    self->jobs[0].kind = (Postrider__V1__JobKind)64;
}
static void bad_utf8(fixture_t *self)
{
    self->jobs[0].order_no = text("a\xff");
}
static void overlong(fixture_t *self)
{
    self->jobs[0].order_no = text("\xc0\xaf");
}
static void surrogate(fixture_t *self)
{
    self->jobs[0].order_no = text("\xed\xa0\x80");
}
static void cut_utf8(fixture_t *self)
{
    self->jobs[0].order_no = text("\xe2\x82");
}
static void nameless(fixture_t *self)
{
    self->header.name = text("");
}

static char long_url[2050];
static void url_too_long(fixture_t *self)
{
    memset(long_url, 'u', sizeof long_url - 1);
    self->jobs[15].url = long_url;
}

static uint8_t big_body[64 * 1024 + 1];
static void body_too_long(fixture_t *self)
{
    self->batch.n_jobs = 1;
    self->jobs[0].body = (ProtobufCBinaryData){sizeof big_body, big_body};
}

static Postrider__V1__Call call;
static Postrider__V1__ChannelSpec channel;
static Postrider__V1__PaymentFacts facts;
static Postrider__V1__ChannelParameter parameter;

/* Job 0 is a call of a gateway: it has no endpoint. */
static void make_call(fixture_t *self)
{
    static Postrider__V1__ChannelParameter *parameters[] = {&parameter};
    postrider__v1__channel_parameter__init(&parameter);
    parameter.name = text("secret");
    parameter.sealed = blob("sealed-secret", 13);
    postrider__v1__payment_facts__init(&facts);
    facts.request_no = text("p-1");
    facts.amount_minor = 100;
    postrider__v1__channel_spec__init(&channel);
    channel.id = text("wx-1");
    channel.profile = text("sandbox");
    channel.parameters = parameters;
    channel.n_parameters = 1;
    postrider__v1__call__init(&call);
    call.channel = &channel;
    call.facts = &facts;
    self->jobs[0].kind = POSTRIDER__V1__JOB_KIND__JOB_KIND_CALL;
    self->jobs[0].endpoint = NULL;
    self->jobs[0].call = &call;
}

static void call_without_channel(fixture_t *self)
{
    make_call(self);
    call.channel = NULL;
}
static void call_without_facts(fixture_t *self)
{
    make_call(self);
    call.facts = NULL;
}
static void operation_64(fixture_t *self)
{
    make_call(self);
    call.operation = 64;
}
static void nameless_channel(fixture_t *self)
{
    make_call(self);
    channel.id = text("");
}
static void currency_of_four(fixture_t *self)
{
    make_call(self);
    facts.currency = text("EURO");
}
static void empty_parameter(fixture_t *self)
{
    make_call(self);
    parameter.sealed.len = 0;
}

Test(envelope, a_call_needs_no_endpoint)
{
    fixture_t it;
    fill(&it);
    make_call(&it);
    pr_buffer_t out;
    pack(&it, &out);
    PR_CLEANUP(pr_envelope) Postrider__V1__Envelope *back = NULL;
    pr_error_t error = {0};
    cr_assert_eq(pr_envelope_unpack(pr_buffer_bytes(&out), &back, &error), PR_OK, "%s", error.text);
    cr_assert_not_null(back->job_batch->jobs[0]->call);
    cr_expect_null(back->job_batch->jobs[0]->endpoint);
    cr_expect_eq(back->job_batch->jobs[0]->call->facts->amount_minor, 100);
    pr_buffer_clear(&out);
    cr_assert_eq(pr_envelope_to_json(back, &out), PR_OK);
    cr_expect_null(strstr(pr_buffer_text(&out), "sealed-secret"), "secrets are not shown");
    pr_buffer_free(&out);
}

Test(envelope, what_breaks_a_bound_is_refused_by_name)
{
    static const bad_t rows[] = {
        {"a batch names its session", no_session, "JobBatch.session"},
        {"a session has 16 bytes", short_session, "JobBatch.session"},
        {"there are three classes", class_3, "JobBatch.class"},
        {"a batch has jobs", no_jobs, "JobBatch.jobs"},
        {"a job has a token", no_token, "Job.token"},
        {"a job has an endpoint", no_endpoint, "Job.endpoint"},
        {"there are 256 shards", shard_256, "Job.shard"},
        {"a job has a kind", no_kind, "Job.kind"},
        {"kinds end at 63", wild_kind, "Job.kind"},
        {"texts are UTF-8", bad_utf8, "Job.order_no"},
        {"no overlong forms", overlong, "Job.order_no"},
        {"no surrogates", surrogate, "Job.order_no"},
        {"no cut sequences", cut_utf8, "Job.order_no"},
        {"a header has a name", nameless, "Header.name"},
        {"URLs are bounded", url_too_long, "Job.url"},
        {"bodies are bounded", body_too_long, "Job.body"},
        {"a call has a channel", call_without_channel, "Call.channel"},
        {"a call has facts", call_without_facts, "Call.facts"},
        {"operations end at 63", operation_64, "Call.operation"},
        {"a channel has a name", nameless_channel, "ChannelSpec.id"},
        {"currencies have three letters", currency_of_four, "PaymentFacts.currency"},
        {"a parameter has a value", empty_parameter, "ChannelParameter.sealed"},
    };
    for (size_t i = 0; i < PR_COUNT(rows); i++) {
        fixture_t it;
        fill(&it);
        rows[i].spoil(&it);
        pr_buffer_t out;
        pack(&it, &out);
        Postrider__V1__Envelope *back = NULL;
        pr_error_t error = {0};
        cr_expect_eq(pr_envelope_unpack(pr_buffer_bytes(&out), &back, &error), PR_BAD, "%s",
                     rows[i].why);
        cr_expect(strncmp(error.text, rows[i].field, strlen(rows[i].field)) == 0, "%s: got '%s'",
                  rows[i].why, error.text);
        cr_expect_null(back);
        pr_buffer_free(&out);
    }
}

Test(envelope, a_nul_inside_a_text_is_seen)
{
    fixture_t it;
    fill(&it);
    pr_buffer_t out;
    pack(&it, &out);
    uint8_t *at = memmem(out.data, out.len, "order-1", 7);
    at[3] = '\0';
    Postrider__V1__Envelope *back = NULL;
    pr_error_t error = {0};
    cr_assert_eq(pr_envelope_unpack(pr_buffer_bytes(&out), &back, &error), PR_BAD);
    cr_assert_not_null(strstr(error.text, "Job.order_no"));
    pr_buffer_free(&out);
}

/* version 1, a 16-byte id, then whatever follows. */
#define HEAD "\x08\x01\x12\x10" SESSION

static pr_rc_t unpack_raw(const void *bytes, size_t len)
{
    PR_CLEANUP(pr_envelope) Postrider__V1__Envelope *back = NULL;
    return pr_envelope_unpack(pr_bytes(bytes, len), &back, NULL);
}

#define RAW(text_) unpack_raw(text_, sizeof(text_) - 1)

Test(envelope, raw_frames)
{
    cr_expect_eq(RAW(HEAD "\xca\x02\x00"), PR_OK, "an empty BreakerQuery is a body");
    cr_expect_eq(RAW(""), PR_BAD, "an empty frame is no default message");
    cr_expect_eq(RAW(HEAD), PR_BAD, "a body must be there");
    cr_expect_eq(RAW(HEAD "\xca\x02\x00\xca\x02\x00"), PR_BAD, "one body");
    cr_expect_eq(RAW(HEAD "\x08\x01\xca\x02\x00"), PR_BAD, "a single field given twice");
    cr_expect_eq(RAW(HEAD "\xca\x02\x00\x5a\x05\x0a\x03\x01\x01\x01"), PR_BAD, "of one kind");
    cr_expect_eq(RAW("\x08\x02\x12\x10" SESSION "\xca\x02\x00"), PR_BAD, "another version");
    cr_expect_eq(RAW("\x08\x01\x12\x02zz\xca\x02\x00"), PR_BAD, "ids have 16 bytes");
    cr_expect_eq(RAW(HEAD "\xca\x02\x7f"), PR_BAD, "a length beyond the end");
    cr_expect_eq(RAW(HEAD "\xca\x02\x00\x0b"), PR_BAD, "groups");
    cr_expect_eq(RAW(HEAD "\x5a\x05\x0a\x03\x01\x02\x03"), PR_OK, "three totals");
    cr_expect_eq(RAW(HEAD "\x5a\x04\x0a\x02\x01\x02"), PR_BAD, "two totals");
    cr_expect_eq(RAW(HEAD "\x5a\x06\x0a\x04\x01\x02\x03\x04"), PR_BAD, "four totals");
    cr_expect_eq(RAW(HEAD "\x5a\x06\x08\x01\x08\x02\x08\x03"), PR_OK, "unpacked totals");
    cr_expect_eq(RAW(HEAD "\xca\x02\x00\xf8\x06\x05"), PR_OK, "a field from the future");
    cr_expect_eq(RAW(HEAD "\xa2\x06\x02hi"), PR_OK, "a body from the future: kind none");
    cr_expect_eq(RAW(HEAD "\xca\x02\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), PR_BAD,
                 "a varint over 64 bits");
}

Test(envelope, an_oversized_frame_is_not_even_read)
{
    size_t len = PR_WIRE_FRAME_MAX + 1;
    PR_CLEANUP_FREE uint8_t *bytes = pr_calloc(len, 1);
    cr_assert_eq(unpack_raw(bytes, len), PR_BAD);
}

Test(envelope, empty_submessages_by_the_million_cost_nothing)
{
    /* 1 MiB of empty Jobs unpacks to 37 MB in plain protobuf-c (style.md, pitfalls 2.2). */
    size_t len = PR_WIRE_FRAME_MAX;
    PR_CLEANUP_FREE uint8_t *bytes = pr_calloc(len, 1);
    memcpy(bytes, HEAD "\x6a\xe0\xff\x3f", 24);
    for (size_t i = 24; i + 1 < len; i += 2) {
        bytes[i] = 0x1a;
    }
    cr_assert_eq(unpack_raw(bytes, len), PR_BAD);
}

Test(envelope, cut_anywhere_it_is_refused_or_whole)
{
    fixture_t it;
    fill(&it);
    it.batch.n_jobs = 2;
    pr_buffer_t out;
    pack(&it, &out);
    for (size_t len = 0; len < out.len; len++) {
        cr_expect_eq(unpack_raw(out.data, len), PR_BAD, "cut at %zu", len);
    }
    pr_buffer_free(&out);
}

Test(envelope, json_shows_no_secret_and_no_body)
{
    fixture_t it;
    fill(&it);
    it.batch.n_jobs = 1;
    pr_buffer_t frame;
    pack(&it, &frame);
    PR_CLEANUP(pr_envelope) Postrider__V1__Envelope *back = NULL;
    cr_assert_eq(pr_envelope_unpack(pr_buffer_bytes(&frame), &back, NULL), PR_OK);
    pr_buffer_t json;
    pr_buffer_init(&json, 1 << 16);
    cr_assert_eq(pr_envelope_to_json(back, &json), PR_OK);
    const char *line = pr_buffer_text(&json);
    static const char *const hidden[] = {"sealed", "bbbb", "Bearer", "user:secret", "key=1"};
    for (size_t i = 0; i < PR_COUNT(hidden); i++) {
        cr_expect_null(strstr(line, hidden[i]), "%s is shown", hidden[i]);
    }
    cr_expect_not_null(strstr(line, "https://shop.example:8443/n?..."));
    cr_expect_not_null(strstr(line, "\"salt\":\"fedcba9876543210\""));
    cr_expect_eq(line[json.len - 1], '\n');
    json_t *root = json_loads(line, 0, NULL);
    cr_assert_not_null(root);
    cr_expect_str_eq(json_string_value(json_object_get(root, "kind")), "job_batch");
    json_t *job = json_array_get(json_object_get(json_object_get(root, "job_batch"), "jobs"), 0);
    json_t *body = json_object_get(job, "body");
    cr_expect_eq(json_integer_value(json_object_get(body, "bytes")), 400);
    cr_expect_str_eq(json_string_value(json_object_get(body, "sha256")),
                     "bc38c1c9ebc1d0b29d797fa12f6b4aa41507fa6215627b0dc986987dbae0d110");
    json_decref(root);
    pr_buffer_free(&json);
    pr_buffer_free(&frame);
}

Test(envelope, sixteen_jobs_cost_no_milliseconds)
{
    fixture_t it;
    fill(&it);
    pr_buffer_t out;
    pack(&it, &out);
    enum { ROUNDS = 2000 };
    int64_t start = pr_clock_mono_us();
    for (int i = 0; i < ROUNDS; i++) {
        Postrider__V1__Envelope *back;
        pr_envelope_pack(&it.envelope, "scheduler/1", 1, RANDOM, &out);
        cr_assert_eq(pr_envelope_unpack(pr_buffer_bytes(&out), &back, NULL), PR_OK);
        pr_envelope_destroy(&back);
    }
    double each = (double)(pr_clock_mono_us() - start) / ROUNDS;
    cr_log_info("pack + unpack of %zu bytes: %.1f us", out.len, each);
    cr_assert_lt(each, 5000.0, "a round took %.1f us", each); /* sanitizers and busy machines */
    pr_buffer_free(&out);
}
