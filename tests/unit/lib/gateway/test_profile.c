/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading profiles: what is wrong is refused with its line and a word on what is wanted.
 */
#include "gateway/schema.h"
#include "tests/support/gateway.h"
#include "tests/support/rsa_keys.h"

TestSuite(profile, .timeout = 300);

static const char *const shipped[] = {"sandbox", "wechat-v3", "alipay",     "stripe",
                                      "adyen",   "paypal",    "generic-md5"};

static const char minimal[] = "profile: p\n"
                              "summary: s\n"
                              "parameters:\n"
                              "  key: {kind: secret, help: h}\n"
                              "amount: {unit: minor}\n"
                              "time: {format: unix}\n"
                              "match: [number, amount, currency]\n"
                              "failure_final: true\n"
                              "not_found: {meaning: yet}\n"
                              "settle: 1m\n"
                              "idempotency: {kind: none}\n"
                              "readers:\n"
                              "  r: {object: payment, status: s, map: {ok: SUCCEEDED}}\n";

Test(profile, the_shipped_ones_are_read_and_say_what_they_are)
{
    for (size_t i = 0; i < PR_COUNT(shipped); i++) {
        pr_profile_t *profile = gateway_profile(shipped[i]);
        const pr_profile_facts_t *facts = pr_profile_facts(profile);
        cr_expect_str_eq(facts->name, shipped[i]);
        cr_expect(facts->settle_ms > 0 && facts->not_found.grace_ms > 0, "%s", shipped[i]);
        cr_expect(facts->limits.rate_per_s > 0 && facts->limits.concurrency > 0, "%s", shipped[i]);
        cr_expect(facts->match & 1U << PR_COMPARE_AMOUNT &&
                      facts->match & 1U << PR_COMPARE_NUMBER &&
                      facts->match & 1U << PR_COMPARE_CURRENCY,
                  "%s", shipped[i]);
        cr_expect_eq(facts->query_supported, strcmp(shipped[i], "adyen") != 0, "%s", shipped[i]);
        cr_expect_neq(facts->webhook_retries[0], '\0', "%s", shipped[i]);
        pr_profile_destroy(&profile);
        pr_profile_destroy(&profile);
    }
}

Test(profile, the_smallest_has_defaults)
{
    pr_profile_t *profile = NULL;
    pr_error_t error = {0};
    pr_profile_parameter_t parameter;
    cr_assert_eq(pr_profile_parse("p", pr_bytes_text(minimal), &profile, &error), PR_OK, "%s",
                 error.text);
    const pr_profile_facts_t *facts = pr_profile_facts(profile);
    cr_expect_not(facts->query_supported);
    cr_expect_eq(facts->limits.concurrency, 8);
    cr_expect_eq(facts->max_polls, 30);
    cr_expect_eq(facts->polls.retries, 6);
    cr_expect(pr_profile_parameter(profile, 0, &parameter) && parameter.secret &&
              parameter.required);
    cr_expect_not(pr_profile_parameter(profile, 1, &parameter));
    pr_profile_destroy(&profile);
}

/* The smallest profile with `line` instead of the one that begins with the same key, or after it. */
static char *with(const char *line)
{
    size_t key = strcspn(line, ":") + 1;
    const char *at = minimal;
    while (at && strncmp(at, line, key) != 0) {
        at = strchr(at, '\n');
        at = at && at[1] ? at + 1 : NULL;
    }
    if (!at)
        return pr_asprintf("%s%s\n", minimal, line);
    const char *end = strchr(at, '\n');
    return pr_asprintf("%.*s%s%s", (int)(at - minimal), minimal, line, end);
}

Test(profile, mistakes_are_refused_with_a_place)
{
    static const struct {
        const char *line, *wanted;
    } cases[] = {
        {"colour: red", "p:14: colour: unknown key in a profile; known: profile, summary"},
        {"amount: {unit: cents}", "p:5: unit: minor or major is wanted"},
        {"amount: {unit: minor, exponents: {usd: 2}}", "p:5: usd: three capitals and 0 to 4"},
        {"amount: {unit: minor, exponents: {USD: 5}}", "p:5: USD: three capitals and 0 to 4"},
        {"amount: {}", "p:5: unit: this key of amount is missing"},
        {"amount: minor", "p:5: amount: amount is a section"},
        {"time: {format: iso}", "p:6: format: rfc3339, local, unix or unix_ms is wanted"},
        {"time: {format: local, zone: Asia/Shanghai}", "p:6: zone: UTC or +08:00 is wanted"},
        {"match: [colour]", "p:7: match: account, number, amount and currency"},
        {"match: [account]", "match names the account"},
        {"failure_final: yes", "p:8: failure_final: true or false is wanted"},
        {"not_found: {meaning: never}", "p:9: meaning: yet or final is wanted"},
        {"settle: 90", "p:10: settle: a duration is wanted"},
        {"settle:", "p:10: a value is missing"},
        {"idempotency: {kind: header}", "idempotency wants a name"},
        {"base_url: ftp://x", "p:14: base_url: "},
        {"charset: latin-1", "p:14: charset: utf-8, gbk"},
        {"polls: {schedule: often}", "p:14: schedule: "},
        {"polls: {max: 0}", "polls.max"},
        {"limits: {rate: fast}", "p:14: rate: a number is wanted"},
        {"limits: {burst: 1.5}", "p:14: burst: a whole number"},
        {"account: nobody", "p:14: account: parameters does not declare"},
        {"headers: {A: \"${param.nobody}\"}", "p:14: A: it uses a parameter"},
        {"headers: {A: \"${colour}\"}", "p:14: A: unknown placeholder \"colour\""},
        {"headers: {A: \"${body.x}\"}", "p:14: A: this placeholder has no value here"},
        {"headers: {A: \"${nonce\"}", "p:14: A: a } is missing"},
        {"headers: {A: \"${nonce|shout}\"}", "p:14: A: unknown filter \"shout\""},
        {"headers: {A: \"${nonce|part}\"}", "p:14: A: an argument too many, missing"},
        {"headers: {A: \"${request.a..b}\"}", "p:14: A: malformed name behind the dot"},
        {"sign: {algorithm: md4, text: x, encoding: hex}", "p:14: algorithm: hmac-sha256"},
        {"sign: {algorithm: rsa-sha256, key: key, text: x, encoding: hex}",
         "p:14: sign: key: a parameter of kind rsa_private"},
        {"sign: {algorithm: hmac-sha256, text: x, encoding: hex}",
         "p:14: sign: key: a parameter of kind secret"},
        {"  r: {object: thing}", "p:13: object: payment, refund, dispute or none"},
        {"failures: [{when: {}}]", "at least one condition"},
        {"failures: [{when: {http: \"500\"}, status: BROKEN}]", "p:14: status: PENDING, SUCCEEDED"},
        {"failures: [{when: {http: \"500\"}, action: panic}]", "p:14: action: retry, query_first"},
        {"failures: [{when: {\"a[\": x}}]", "http, header.NAME or a path is wanted"},
        {"failures: {a: b}", "p:14: failures: a list is wanted"},
        {"operations: {charge: {method: GET, path: x, reader: r}}",
         "p:14: path: a path that begins"},
        {"operations: {charge: {method: HEAD, path: /x, reader: r}}", "p:14: method: GET, POST"},
        {"operations: {charge: {method: GET, path: /x, reader: s}}", "no reader is named \"s\""},
        {"operations: {steal: {method: GET, path: /x, reader: r}}", "p:14: steal: token, charge"},
        {"operations: {charge: {method: GET, path: /x, reader: r, body: b, form: {a: b}}}",
         "body or form is wanted"},
        {"webhook: {format: xml}", "p:14: format: json or form is wanted"},
        {"webhook: {format: json}", "p:14: verify: this key of webhook is missing"},
        {"  key: {kind: text, help: h}\n  Key: {kind: text, help: h}",
         "p:5: Key: a parameter is named in a-z"},
        {"profile: {a: b}", "p:1: profile: one text is wanted"},
        {"profile: &a p", "p:1: anchors (&name) and tags (!name) are not allowed"},
        {"profile: *a", "p:1: aliases"},
        {"profile: !x p", "p:1: anchors (&name) and tags (!name) are not allowed"},
        {"profile: [", "no valid YAML"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_profile_t *profile = (pr_profile_t *)(uintptr_t)1;
        pr_error_t error = {0};
        PR_CLEANUP_FREE char *text = with(cases[i].line);
        cr_expect_eq(pr_profile_parse("p", pr_bytes_text(text), &profile, &error), PR_BAD, "%s",
                     cases[i].line);
        cr_expect_null(profile);
        cr_expect(strstr(error.text, cases[i].wanted), "%s: %s", cases[i].line, error.text);
    }
    static const char *const files[] = {
        "", "a: 1\n---\nb: 2\n", "- x\n", "a: 1\na: 2\n", "? [a]\n: b\n", "\xff\xfe"};
    for (size_t i = 0; i < PR_COUNT(files); i++) {
        pr_profile_t *profile;
        pr_error_t error = {0};
        cr_expect_eq(pr_profile_parse("p", pr_bytes_text(files[i]), &profile, &error), PR_BAD);
        cr_expect(strncmp(error.text, "p:", 2) == 0, "%s", error.text);
    }
}

Test(profile, nesting_and_size_are_bounded)
{
    char deep[256] = "profile: ";
    pr_profile_t *profile;
    pr_error_t error = {0};
    memset(deep + 9, '[', 100);
    cr_expect_eq(pr_profile_parse("p", pr_bytes_text(deep), &profile, &error), PR_BAD);
    cr_expect(strstr(error.text, "nests deeper"), "%s", error.text);
    char *large = pr_calloc(PR_YAML_FILE_MAX + 1, 1);
    memset(large, '#', PR_YAML_FILE_MAX + 1);
    cr_expect_eq(pr_profile_parse("p", pr_bytes(large, PR_YAML_FILE_MAX + 1), &profile, &error),
                 PR_BAD);
    memset(large, ',', PR_YAML_FILE_MAX);
    memcpy(large, "a: [x", 5);
    for (size_t at = 5; at + 2 < PR_YAML_FILE_MAX; at += 2)
        memcpy(large + at, ",x", 2);
    cr_expect_eq(pr_profile_parse("p", pr_bytes(large, PR_YAML_FILE_MAX - 2), &profile, &error),
                 PR_BAD);
    cr_expect(strstr(error.text, "more than 8192 values"), "%s", error.text);
    pr_free(large);
}

Test(profile, a_channel_wants_its_parameters_and_never_repeats_them)
{
    static rsa_pem_t pem;
    rsa_pem_make(&pem, 2048);
    pr_profile_t *profile = gateway_profile("wechat-v3");
    const struct {
        const char *name, *value, *wanted;
    } cases[] = {
        {"colour", "hidden", "profile wechat-v3 has no parameter colour"},
        {"mchid", "hidden\n", "parameter mchid: at most 512 bytes without control characters"},
        {"mchid", "", "parameter mchid: 1 to 32768 bytes"},
        {"api_v3_key", "hidden", "parameter api_v3_key: exactly 32 bytes"},
        {"private_key", "hidden", "parameter private_key: not an unencrypted PEM key"},
        {"private_key", pem.public_key, "parameter private_key: a private key is wanted"},
        {"appid", "wx1", "parameter mchid: it is missing"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_channel_t *channel = (pr_channel_t *)(uintptr_t)1;
        pr_error_t error = {0};
        pr_parameter_t parameter = {cases[i].name, pr_bytes_text(cases[i].value)};
        cr_expect_eq(pr_channel_new(profile, &parameter, 1, NULL, &channel, &error), PR_BAD);
        cr_expect_null(channel);
        cr_expect(strstr(error.text, cases[i].wanted), "%s", error.text);
        cr_expect_not(strstr(error.text, "hidden"), "%s", error.text);
    }
    pr_profile_destroy(&profile);
}

Test(profile, a_channels_own_exponents_are_stronger)
{
    pr_profile_t *profile = gateway_profile("stripe");
    pr_channel_t *channel = NULL;
    const pr_money_overrides_t own = {.count = 1, .entries = {{"ISK", 0}}};
    const pr_parameter_t parameters[] = {{"api_key", pr_bytes_text("sk")},
                                         {"webhook_secret", pr_bytes_text("whsec_x")},
                                         {"version", pr_bytes_text("v")}};
    pr_evidence_t e;
    pr_gateway_answer_t answer = {
        .transport = PR_TRANSPORT_OK,
        .http_status = 200,
        .body = pr_bytes_text("{\"status\":\"succeeded\",\"amount\":5800,\"currency\":\"isk\"}")};
    cr_assert_eq(pr_channel_new(profile, parameters, 3, &own, &channel, NULL), PR_OK);
    pr_gateway_judge(channel, PR_OPERATION_QUERY, NULL, &answer, GATEWAY_NOW_US, &e);
    cr_expect_eq(e.amount.minor, 5800);
    pr_channel_destroy(&channel);
    pr_profile_destroy(&profile);
}

/* docs/profiles.md names every key of every section as `key`. */
Test(profile, every_key_is_documented)
{
    size_t len;
    PR_CLEANUP_FREE char *manual = gateway_read("docs/profiles.md", &len);
    for (size_t i = 0; pr_schema_sections[i]; i++) {
        for (size_t k = 0; k < pr_schema_sections[i]->count; k++) {
            PR_CLEANUP_FREE char *key = pr_asprintf("`%s`", pr_schema_sections[i]->fields[k].key);
            cr_expect(strstr(manual, key), "%s of %s", key, pr_schema_sections[i]->name);
        }
    }
}
