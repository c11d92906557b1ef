/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements in profiles: what the shipped ones say, how a day is asked for, where links may lead.
 */
#include "tests/support/gateway.h"
#include "tests/support/rsa_keys.h"

TestSuite(statements, .timeout = 300);

static const pr_profile_statement_t *statement_of(const pr_profile_t *profile, const char *name)
{
    const pr_profile_statement_t *statement;
    for (size_t i = 0; (statement = pr_profile_statement(profile, i)); i++)
        if (strcmp(statement->name, name) == 0)
            return statement;
    cr_assert_fail("%s", name);
    return NULL;
}

Test(statements, what_the_shipped_profiles_have)
{
    static const struct {
        const char *profile, *statement;
        pr_statement_format_t format;
        int zone_min;
        int64_t ready_ms;
        bool download, daily;
    } cases[] = {
        {"wechat-v3", "trade", PR_STATEMENT_WECHAT_TRADE, 480, 36000000, true, true},
        {"wechat-v3", "funds", PR_STATEMENT_WECHAT_FUNDS, 480, 36000000, true, false},
        {"alipay", "trade", PR_STATEMENT_ALIPAY_TRADE, 480, 36000000, true, true},
        {"alipay", "account", PR_STATEMENT_ALIPAY_ACCOUNT, 480, 36000000, true, false},
        {"stripe", "balance", PR_STATEMENT_STRIPE_BALANCE, 0, 43200000, true, true},
        {"sandbox", "csv", PR_STATEMENT_CSV, 0, 300000, true, true},
        {"sandbox", "camt", PR_STATEMENT_CAMT053, 0, 300000, true, false},
        {"adyen", "settlement", PR_STATEMENT_CSV, 0, 36000000, false, false},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_profile_t *profile = gateway_profile(cases[i].profile);
        const pr_profile_statement_t *statement = statement_of(profile, cases[i].statement);
        cr_expect_eq(statement->spec.format, cases[i].format);
        cr_expect_eq(statement->zone_min, cases[i].zone_min);
        cr_expect_eq(statement->spec.zone_min, cases[i].zone_min);
        cr_expect_eq(statement->ready_ms, cases[i].ready_ms);
        cr_expect_eq(statement->download, cases[i].download);
        cr_expect_eq(statement->daily, cases[i].daily);
        pr_profile_destroy(&profile);
    }
    pr_profile_t *without = gateway_profile("paypal");
    cr_expect_null(pr_profile_statement(without, 0));
    pr_profile_destroy(&without);
}

Test(statements, a_day_is_that_of_its_zone)
{
    pr_profile_t *profile = gateway_profile("wechat-v3");
    const pr_profile_statement_t *trade = statement_of(profile, "trade");
    pr_buffer_t out;
    pr_buffer_init(&out, 4096);
    cr_expect_eq(pr_profile_statement_request(trade, "2026-11-29", "/x?a=\"1\"", &out), PR_OK);
    cr_expect_str_eq(pr_buffer_text(&out),
                     "{\"date\":\"2026-11-29\",\"from_unix\":1795881600,\"to_unix\":1795968000,"
                     "\"statement\":\"trade\",\"path\":\"tradebill\",\"query\":\"bill_type=ALL\","
                     "\"target\":\"/x?a=\\u00221\\u0022\"}");
    static const char *const no_days[] = {"", "2026-02-29", "2026-1-1", "20261129", "2026-11-29 "};
    for (size_t i = 0; i < PR_COUNT(no_days); i++)
        cr_expect_eq(pr_profile_statement_request(trade, no_days[i], "", &out), PR_BAD, "%s",
                     no_days[i]);
    pr_buffer_free(&out);
    pr_profile_destroy(&profile);
}

Test(statements, links_lead_to_named_hosts_only)
{
    static const struct {
        const char *base, *url, *origin, *target; /* origin NULL: refused */
    } cases[] = {
        {"https://openapi.alipay.com", "http://dwbillcenter.alipay.com/d.resource?a=1&b=2",
         "https://dwbillcenter.alipay.com:443", "/d.resource?a=1&b=2"},
        {"https://openapi.alipay.com", "https://openapi.alipay.com/x",
         "https://openapi.alipay.com:443", "/x"},
        {"http://127.0.0.1:8090", "http://127.0.0.1:8090/alipay/bill?token=1",
         "http://127.0.0.1:8090", "/alipay/bill?token=1"},
        {"http://127.0.0.1:8090", "https://127.0.0.1:9/x", "http://127.0.0.1:8090", "/x"},
        {"https://openapi.alipay.com", "https://evil.example/d.resource", NULL, NULL},
        {"https://openapi.alipay.com", "https://169.254.169.254/latest", NULL, NULL},
        {"https://openapi.alipay.com", "https://dwbillcenter.alipay.com.evil.example/", NULL, NULL},
        {"https://openapi.alipay.com", "https://dwbillcenter.alipay.com@evil.example/", NULL, NULL},
        {"https://openapi.alipay.com", "file:///etc/passwd", NULL, NULL},
        {"https://openapi.alipay.com", "", NULL, NULL},
    };
    pr_profile_t *profile = gateway_profile("alipay");
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_error_t error = {0};
        pr_statement_link_t link = {0};
        pr_rc_t rc = pr_profile_statement_link(statement_of(profile, "trade"), cases[i].base,
                                               cases[i].url, &link, &error);
        cr_expect_eq(rc, cases[i].origin ? PR_OK : PR_BAD, "%s", cases[i].url);
        if (rc != PR_OK)
            continue;
        cr_expect_str_eq(link.origin, cases[i].origin);
        cr_expect_str_eq(link.target, cases[i].target);
    }
    pr_profile_destroy(&profile);
}

/* Builds an operation about that day; the caller frees. */
static void build(const pr_channel_t *channel, const pr_profile_statement_t *statement,
                  pr_operation_t operation, const char *target, const char *reference,
                  pr_gateway_request_t *out)
{
    pr_buffer_t request;
    pr_error_t error = {0};
    pr_payment_facts_t facts;
    pr_buffer_init(&request, 4096);
    pr_payment_facts_init(&facts);
    cr_assert_eq(pr_profile_statement_request(statement, "2026-11-29", target, &request), PR_OK);
    facts.request = pr_buffer_bytes(&request);
    facts.reference = reference;
    pr_gateway_request_init(out);
    cr_assert_eq(
        pr_gateway_build(channel, operation, &facts, GATEWAY_NOW_US, GATEWAY_NONCE, out, &error),
        PR_OK, "%s", error.text);
    pr_buffer_free(&request);
}

static pr_evidence_t judge(const pr_channel_t *channel, pr_operation_t operation, uint32_t status,
                           const char *body)
{
    pr_evidence_t evidence;
    pr_gateway_answer_t answer = {
        .transport = PR_TRANSPORT_OK, .http_status = status, .body = pr_bytes_text(body)};
    pr_gateway_judge(channel, operation, NULL, &answer, GATEWAY_NOW_US, &evidence);
    return evidence;
}

static pr_channel_t *stripe_channel(const pr_profile_t *profile)
{
    static const char *const pairs[] = {
        "api_key",    "sk_test_1", "webhook_secret", "whsec_0123456789", "version",
        "2024-06-20", NULL};
    return gateway_channel(profile, pairs);
}

Test(statements, stripes_is_made_on_demand_and_asked_about)
{
    pr_profile_t *profile = gateway_profile("stripe");
    pr_channel_t *channel = stripe_channel(profile);
    const pr_profile_statement_t *balance = statement_of(profile, "balance");
    pr_gateway_request_t request;
    build(channel, balance, PR_OPERATION_STATEMENT, "", NULL, &request);
    cr_expect_str_eq(pr_buffer_text(&request.target), "/v1/reporting/report_runs");
    cr_expect(strstr(pr_buffer_text(&request.body), "parameters%5Binterval_start%5D=1795910400"));
    cr_expect(strstr(pr_buffer_text(&request.body), "parameters%5Binterval_end%5D=1795996800"));
    pr_gateway_request_free(&request);
    build(channel, balance, PR_OPERATION_STATEMENT_AGAIN, "", "frr_1", &request);
    cr_expect_str_eq(pr_buffer_text(&request.target), "/v1/reporting/report_runs/frr_1");
    pr_gateway_request_free(&request);
    build(channel, balance, PR_OPERATION_STATEMENT_FILE, "/v1/files/f/contents", NULL, &request);
    cr_expect_str_eq(pr_buffer_text(&request.target), "/v1/files/f/contents");
    cr_expect_str_eq(request.method, "GET");
    pr_gateway_request_free(&request);

    pr_evidence_t said = judge(channel, PR_OPERATION_STATEMENT, 200,
                               "{\"id\":\"frr_1\",\"status\":\"pending\",\"result\":null}");
    cr_expect_eq(said.status, PR_STATUS_PENDING);
    cr_expect_str_eq(said.reference, "frr_1");
    said = judge(channel, PR_OPERATION_STATEMENT_AGAIN, 200,
                 "{\"id\":\"frr_1\",\"status\":\"succeeded\",\"result\":{\"url\":\"https://"
                 "files.stripe.com/v1/files/f/contents\"}}");
    cr_expect_eq(said.status, PR_STATUS_SUCCEEDED);
    cr_expect_str_eq(said.next_action, "https://files.stripe.com/v1/files/f/contents");
    said = judge(channel, PR_OPERATION_STATEMENT_AGAIN, 200,
                 "{\"id\":\"frr_1\",\"status\":\"failed\",\"error\":\"x\"}");
    cr_expect_eq(said.status, PR_STATUS_FAILED);
    said = judge(channel, PR_OPERATION_STATEMENT_FILE, 401, "{\"error\":{}}");
    cr_expect_eq(said.action, PR_ACTION_STOP_CHANNEL);
    pr_channel_destroy(&channel);
    pr_profile_destroy(&profile);
}

Test(statements, wechats_link_comes_with_a_hash_and_an_empty_day_is_no_failure)
{
    rsa_pem_t ours, theirs;
    rsa_pem_make(&ours, 2048);
    rsa_pem_make(&theirs, 2048);
    const char *const pairs[] = {"mchid",
                                 "1900",
                                 "appid",
                                 "wx1",
                                 "serial_no",
                                 "S1",
                                 "private_key",
                                 ours.private_key,
                                 "wechat_key_id",
                                 "PUB_KEY_ID_1",
                                 "wechat_key",
                                 theirs.public_key,
                                 "api_v3_key",
                                 "01234567890123456789012345678901",
                                 NULL};
    pr_profile_t *profile = gateway_profile("wechat-v3");
    pr_channel_t *channel = gateway_channel(profile, pairs);
    pr_gateway_request_t request;
    build(channel, statement_of(profile, "trade"), PR_OPERATION_STATEMENT, "", NULL, &request);
    cr_expect_str_eq(pr_buffer_text(&request.target),
                     "/v3/bill/tradebill?bill_date=2026-11-29&bill_type=ALL&tar_type=GZIP");
    pr_gateway_request_free(&request);
    build(channel, statement_of(profile, "funds"), PR_OPERATION_STATEMENT, "", NULL, &request);
    cr_expect_str_eq(pr_buffer_text(&request.target),
                     "/v3/bill/fundflowbill?bill_date=2026-11-29&account_type=BASIC&tar_type=GZIP");
    pr_gateway_request_free(&request);
    build(channel, statement_of(profile, "trade"), PR_OPERATION_STATEMENT_FILE,
          "/v3/billdownload/file?token=x", NULL, &request);
    cr_expect_str_eq(pr_buffer_text(&request.target), "/v3/billdownload/file?token=x");
    cr_expect(strstr(pr_buffer_text(&request.headers[1].value), "WECHATPAY2-SHA256-RSA2048") ||
              strstr(pr_buffer_text(&request.headers[0].value), "WECHATPAY2-SHA256-RSA2048"));
    pr_gateway_request_free(&request);

    pr_evidence_t said =
        judge(channel, PR_OPERATION_STATEMENT, 400, "{\"code\":\"NO_STATEMENT_EXIST\"}");
    cr_expect_eq(said.status, PR_STATUS_NOT_FOUND);
    said = judge(channel, PR_OPERATION_STATEMENT, 400, "{\"code\":\"STATEMENT_CREATING\"}");
    cr_expect_eq(said.status, PR_STATUS_PENDING);
    cr_expect_eq(said.action, PR_ACTION_BACK_OFF);
    /* a link whose answer is not signed is no link */
    said = judge(channel, PR_OPERATION_STATEMENT, 200,
                 "{\"hash_type\":\"SHA1\",\"hash_value\":\"ab\",\"download_url\":\"https://x/\"}");
    cr_expect_eq(said.status, PR_STATUS_UNKNOWN);
    cr_expect_str_eq(said.next_action, "");
    cr_expect_str_eq(said.digest, "");
    pr_channel_destroy(&channel);
    pr_profile_destroy(&profile);
}

static const char smallest[] = "profile: p\nsummary: s\nparameters:\n"
                               "  key: {kind: secret, help: h}\namount: {unit: minor}\n"
                               "time: {format: unix}\nmatch: [number, amount, currency]\n"
                               "failure_final: true\nnot_found: {meaning: yet}\nsettle: 1m\n"
                               "idempotency: {kind: none}\nreaders:\n"
                               "  r: {object: payment, status: s, map: {ok: SUCCEEDED}}\n"
                               "statements:\n";

Test(statements, mistakes_are_refused_with_a_place)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"  a: {format: pdf}", "p:15: format: wechat-trade, wechat-funds"},
        {"  a: {}", "p:15: format: this key of statements.NAME is missing"},
        {"  a: {format: camt053, zone: Mars}", "p:15: zone: UTC or +08:00"},
        {"  a: {format: camt053, ready: \"25:00\"}", "p:15: ready: a time of day"},
        {"  a: {format: camt053, ready: 10}", "p:15: ready: a time of day"},
        {"  a: {format: camt053, currency: cny}", "p:15: currency: a currency"},
        {"  a: {format: camt053, values: {date: x}}", "p:15: date: this name is given"},
        {"  a: {format: csv}", "p:15: a: csv: amount, or credit and debit"},
        {"  a: {format: csv, csv: {columns: {amount: a}}}",
         "p:15: a: csv: reference or request_no is wanted"},
        {"  a: {format: csv, csv: {columns: {colour: a}}}", "p:15: colour: unknown key in csv."},
        {"  a: {format: csv, csv: {columns: {amount: [a, b, c, d, e]}}}",
         "p:15: amount: one to 4 names"},
        {"  a: {format: csv, csv: {delimiter: ab, columns: {amount: a}}}",
         "p:15: delimiter: one character"},
        {"  a: {format: csv, csv: {columns: {amount: a, kind: k}, kinds: {x: sale}}}",
         "p:15: x: payment, refund, fee, other or skip"},
        {"  a: {format: csv, csv: {columns: {amount: a, state: k}, states: {x: fine}}}",
         "p:15: x: SUCCEEDED, PENDING"},
        {"  a: {format: csv, csv: {unit: cents, columns: {amount: a}}}", "p:15: unit: minor"},
        {"  a: {format: csv, csv: {columns: {amount: a}, totals: {count: 1}}}",
         "p:15: marker: this key of csv.totals is missing"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_profile_t *profile = NULL;
        pr_error_t error = {0};
        PR_CLEANUP_FREE char *text = pr_asprintf("%s%s\n", smallest, cases[i].text);
        cr_expect_eq(pr_profile_parse("p", pr_bytes_text(text), &profile, &error), PR_BAD, "%s",
                     cases[i].text);
        cr_expect(strstr(error.text, cases[i].wanted), "%s: %s", cases[i].text, error.text);
    }
    pr_profile_t *profile = NULL;
    pr_error_t error = {0};
    PR_CLEANUP_FREE char *good = pr_asprintf(
        "%s  a: {format: csv, daily: true, charset: gbk, csv: {delimiter: tab, columns: {amount: "
        "[a, b], reference: r}}}\n",
        smallest);
    cr_assert_eq(pr_profile_parse("p", pr_bytes_text(good), &profile, &error), PR_OK, "%s",
                 error.text);
    const pr_profile_statement_t *statement = pr_profile_statement(profile, 0);
    cr_expect_eq(statement->spec.csv.delimiter, '\t');
    cr_expect_eq(statement->spec.csv.amount.count, 2);
    cr_expect_not(statement->download);
    cr_expect_not(statement->daily, "what cannot be fetched is not fetched daily");
    pr_profile_destroy(&profile);
}
