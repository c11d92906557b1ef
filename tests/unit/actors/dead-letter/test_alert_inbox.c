/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/dead-letter/alert_inbox.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

TestSuite(alert_inbox, .timeout = 300);

static pr_alert_inbox_t inbox;

static pr_rc_t put(const char *kind, const char *subject, const char *severity)
{
    return pr_alert_inbox_add(&inbox, kind, subject, severity, "text");
}

Test(alert_inbox, the_same_trouble_is_one_entry)
{
    cr_assert_eq(put("dead", "m1", "warn"), PR_OK);
    cr_assert_eq(put("dead", "m1", "page"), PR_OK);
    cr_assert_eq(put("dead", "m1", "info"), PR_OK);
    cr_assert_eq(inbox.count, 1);
    int slot = pr_alert_inbox_take(&inbox);
    cr_assert_eq(inbox.entries[slot].count, 3);
    cr_assert_eq(inbox.entries[slot].severity, PR_ALERT_PAGE, "the gravest");
}

Test(alert_inbox, oldest_first_and_each_once)
{
    cr_assert_eq(put("a", "m", "warn"), PR_OK);
    cr_assert_eq(put("b", "m", "warn"), PR_OK);
    int a = pr_alert_inbox_take(&inbox);
    int b = pr_alert_inbox_take(&inbox);
    cr_assert_str_eq(inbox.entries[a].kind, "a");
    cr_assert_str_eq(inbox.entries[b].kind, "b");
    cr_assert_eq(pr_alert_inbox_take(&inbox), -1);
    pr_alert_inbox_done(&inbox, a, true);
    cr_assert_eq(put("c", "m", "warn"), PR_OK); /* takes a's slot: still behind b */
    pr_alert_inbox_done(&inbox, b, false);
    cr_assert_eq(pr_alert_inbox_take(&inbox), b, "not written: comes again, in its order");
    cr_assert_eq(inbox.count, 2);
}

Test(alert_inbox, what_comes_while_it_is_written_is_not_lost)
{
    cr_assert_eq(put("a", "m", "warn"), PR_OK);
    int slot = pr_alert_inbox_take(&inbox);
    cr_assert_eq(put("a", "m", "warn"), PR_OK);
    cr_assert_eq(inbox.count, 2);
    pr_alert_inbox_done(&inbox, slot, true);
    cr_assert_eq(inbox.count, 1);
}

Test(alert_inbox, full_drops_and_counts)
{
    char subject[16];
    for (int i = 0; i < PR_ALERT_INBOX_MAX; i++) {
        snprintf(subject, sizeof subject, "m%d", i);
        cr_assert_eq(put("a", subject, "warn"), PR_OK);
    }
    cr_assert_eq(put("a", "one more", "warn"), PR_AGAIN);
    cr_assert_eq(put("a", "m7", "warn"), PR_OK, "known trouble still joins");
    cr_assert_eq(inbox.dropped, 1);
    cr_assert_eq(inbox.count, PR_ALERT_INBOX_MAX);
}

Test(alert_inbox, bad_alerts_are_refused)
{
    char long_text[PR_ALERT_SUBJECT_MAX + 2];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    cr_assert_eq(put("", "m", "warn"), PR_BAD);
    cr_assert_eq(put("a", "", "warn"), PR_BAD);
    cr_assert_eq(put("a", "m", "loud"), PR_BAD);
    cr_assert_eq(put("a", "m", ""), PR_BAD);
    cr_assert_eq(put("a", long_text, "warn"), PR_BAD);
    cr_assert_eq(inbox.count, 0);
}

Test(alert_inbox, a_long_message_is_cut_between_characters)
{
    char message[PR_ALERT_MESSAGE_MAX + 8] = {0};
    memset(message, 'a', PR_ALERT_MESSAGE_MAX - 1);
    /* two bytes each; the first would be halved */
    memcpy(message + PR_ALERT_MESSAGE_MAX - 1, "\xc3\xa9\xc3\xa9", 5);
    cr_assert_eq(pr_alert_inbox_add(&inbox, "a", "m", "warn", message), PR_OK);
    cr_assert_eq(strlen(inbox.entries[0].message), PR_ALERT_MESSAGE_MAX - 1);
}
