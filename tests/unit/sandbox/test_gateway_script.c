/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "sandbox/gateway_script.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(gateway_script);

static pr_gate_script_t parsed(const char *text)
{
    pr_gate_script_t out;
    pr_error_t error = {0};
    cr_assert(pr_gate_script_parse(text, strlen(text), &out, &error) == PR_OK, "%s: %s", text,
              error.text);
    return out;
}

Test(gateway_script, nothing_is_paid_at_once_and_told_once)
{
    pr_gate_script_t script = parsed("");
    cr_assert(script.payment.end == PR_GATE_END_PAY && script.payment.ms == -1);
    cr_assert(script.hook_copies == 1 && script.captured == -1 && script.said_minor == -1);
    cr_assert(script.fault_count == 0);
}

Test(gateway_script, clauses_add_up)
{
    pr_gate_script_t script = parsed("~fail:risk_refused:2s~repeat:3~hidden:1m~currency:USD~probe");
    cr_assert(script.payment.end == PR_GATE_END_FAIL && script.payment.ms == 2000);
    cr_assert_str_eq(script.payment.code, "risk_refused");
    cr_assert(script.hook_copies == 3 && script.hidden_ms == 60000 && script.hook_probe);
    cr_assert_str_eq(script.said_currency, "USD");
    script = parsed("pay:50ms~anyway~captured:10~amount:9~refund-fail:no_card:1s~lost");
    cr_assert(script.anyway && script.captured == 10 && script.said_minor == 9);
    cr_assert(script.refund.end == PR_GATE_END_FAIL && script.refund.ms == 1000);
    cr_assert(script.hook_copies == 0);
}

Test(gateway_script, faults_name_operation_effect_and_times)
{
    pr_gate_script_t script =
        parsed("~charge:timeout~query:429:3s*2~any:502*~refund:500!~refund:5s");
    const pr_gate_fault_t *fault = script.faults;
    cr_assert(script.fault_count == 4 && script.refund.ms == 5000);
    cr_assert(fault[0].operations == 1U << PR_GATE_CHARGE && fault[0].effect &&
              fault[0].kind == PR_GATE_FAULT_HANG && fault[0].times == 1);
    cr_assert(fault[1].kind == PR_GATE_FAULT_THROTTLED && fault[1].ms == 3000 &&
              fault[1].times == 2 && !fault[1].effect);
    cr_assert(fault[2].operations == (1U << PR_GATE_OPERATIONS) - 1 && fault[2].times == 0 &&
              fault[2].kind == PR_GATE_FAULT_STATUS && fault[2].status == 502);
    cr_assert(fault[3].kind == PR_GATE_FAULT_ERROR && fault[3].effect);
}

Test(gateway_script, what_is_no_clause_is_refused_by_name)
{
    static const char *const bad[] = {
        "~pya",
        "~pay:soon",
        "~fail",
        "~charge:explode",
        "~nobody:hang",
        "~charge:slow",
        "~repeat:x",
        "~currency:cny",
        "~captured:-1",
        "~unpaid:1s",
        "~charge:500*0",
        "~charge:199",
        "~refund-reverse",
        "~charge",
        "~amount:",
        "~pay:1s:2s:3s:4s",
        "~any:500~any:500~any:500~any:500~any:500~any:500~any:500~any:500~any:500"};
    for (size_t i = 0; i < PR_COUNT(bad); i++) {
        pr_gate_script_t out = parsed("~lost");
        pr_error_t error = {0};
        cr_assert(pr_gate_script_parse(bad[i], strlen(bad[i]), &out, &error) == PR_BAD, "%s",
                  bad[i]);
        cr_assert(out.hook_copies == 0, "%s changed what was there", bad[i]);
        cr_assert(strstr(error.text, "is not a clause"), "%s: %s", bad[i], error.text);
    }
}

Test(gateway_script, a_mix_is_drawn_by_weight)
{
    static const char mix[] = "60%~pay|30%~pay:2s~lost|10%~unpaid";
    unsigned counts[3] = {0};
    const char *text = NULL;
    size_t len = 0;
    for (uint64_t draw = 0; draw < 100; draw++) {
        pr_gate_script_draw(mix, draw, &text, &len);
        counts[len == 4 ? 0 : len == 12 ? 1 : 2]++;
    }
    cr_assert(counts[0] == 60 && counts[1] == 30 && counts[2] == 10, "%u %u %u", counts[0],
              counts[1], counts[2]);
    pr_gate_script_draw("~unpaid", 7, &text, &len);
    cr_assert(len == 7 && memcmp(text, "~unpaid", 7) == 0);
    pr_gate_script_draw("", 7, &text, &len);
    cr_assert(len == 0);
}

Test(gateway_script, help_has_every_row)
{
    const char *usage = NULL, *help = NULL;
    size_t rows = 0;
    while (pr_gate_script_describe(rows, &usage, &help)) {
        cr_assert(help[0]);
        rows++;
    }
    cr_assert(rows > 15);
}
