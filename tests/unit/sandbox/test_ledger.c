/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "sandbox/ledger.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(ledger, .timeout = 300);

static pr_notify_id_t id_of(uint64_t number)
{
    pr_notify_id_t id = {0};
    memcpy(id.bytes + 8, &number, sizeof(number));
    return id;
}

Test(ledger, keeps_every_entry_while_it_grows)
{
    pr_ledger_t *ledger = pr_ledger_new(1, 20000);
    for (uint64_t i = 0; i < 20000; i++) {
        pr_notify_id_t id = id_of(i);
        pr_ledger_entry_t *entry = pr_ledger_touch(ledger, &id, (uint32_t)(i % 7 + 1));
        cr_assert_not_null(entry);
        cr_assert_eq(entry->receipts, 0, "entry %lu was there before", (unsigned long)i);
        entry->receipts = 1;
        entry->first_us = (int64_t)i;
    }
    cr_expect_eq(pr_ledger_count(ledger), 20000);
    for (uint64_t i = 0; i < 20000; i++) {
        pr_notify_id_t id = id_of(i);
        pr_ledger_entry_t *entry = pr_ledger_find(ledger, &id, (uint32_t)(i % 7 + 1));
        cr_assert_not_null(entry);
        cr_assert_eq(entry->first_us, (int64_t)i);
        cr_assert_null(pr_ledger_find(ledger, &id, 8), "another target is another entry");
    }
    pr_ledger_destroy(&ledger);
}

Test(ledger, is_bounded_and_can_be_walked_and_cleared)
{
    pr_ledger_t *ledger = pr_ledger_new(10, 10);
    for (uint64_t i = 0; i < 10; i++) {
        pr_notify_id_t id = id_of(i);
        cr_assert_not_null(pr_ledger_touch(ledger, &id, 1));
    }
    pr_notify_id_t known = id_of(3), fresh = id_of(99);
    cr_expect_null(pr_ledger_touch(ledger, &fresh, 1), "full");
    cr_expect_not_null(pr_ledger_touch(ledger, &known, 1), "full, but known");
    size_t cursor = 0, seen = 0;
    while (pr_ledger_next(ledger, &cursor)) {
        seen++;
    }
    cr_expect_eq(seen, 10);
    pr_ledger_clear(ledger);
    cr_expect_eq(pr_ledger_count(ledger), 0);
    cr_expect_not_null(pr_ledger_touch(ledger, &fresh, 1));
    pr_ledger_destroy(&ledger);
    pr_ledger_destroy(&ledger);
}

Test(ledger, an_id_is_a_uuid_or_a_hash)
{
    static const char uuid[] = "7b1c9f00-aBcD-4000-8000-0000000000ff";
    char text[37];
    pr_notify_id_t id = pr_notify_id_from(pr_bytes_text(uuid));
    pr_notify_id_text(&id, text);
    cr_expect_str_eq(text, "7b1c9f00-abcd-4000-8000-0000000000ff");
    static const char *const others[] = {"", "msg_1", "7b1c9f00-abcd-4000-8000-0000000000f",
                                         "7b1c9f00_abcd-4000-8000-0000000000ff",
                                         "7b1c9f00-abcd-4000-8000-0000000000fg"};
    for (size_t i = 0; i < PR_COUNT(others); i++) {
        pr_notify_id_t parsed;
        cr_expect_not(pr_notify_id_parse_uuid(pr_bytes_text(others[i]), &parsed), "%s", others[i]);
        pr_notify_id_t hashed = pr_notify_id_from(pr_bytes_text(others[i]));
        cr_expect_neq(memcmp(&hashed, &id, sizeof(id)), 0);
    }
}
