/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/audit.h"
#include "base/buffer.h"

#include <criterion/criterion.h>

#include <string.h>

static pr_audit_entry_t entry_of(int64_t n)
{
    return (pr_audit_entry_t){.n = n,
                              .id = 10 + n,
                              .at_us = 1700000000000000,
                              .actor = "ann",
                              .action = "channel.pause",
                              .subject = "c1",
                              .reason = n % 2 == 0 ? NULL : "r\xc3\xa4tsel",
                              .detail = "{}",
                              .login = "postrider",
                              .merchant_id = NULL,
                              .order_no = NULL};
}

/* hashes[n] is entry n's. */
static void make_chain(uint8_t hashes[][PR_AUDIT_HASH_BYTES], int64_t count)
{
    memset(hashes[0], 0, PR_AUDIT_HASH_BYTES);
    for (int64_t n = 1; n <= count; n++) {
        pr_audit_entry_t entry = entry_of(n);
        cr_assert_eq(pr_audit_hash(&entry, hashes[n - 1], hashes[n]), PR_OK);
    }
}

/* Computed with Python's hashlib over the form that audit.h states. */
Test(audit, a_hash_is_what_other_programs_compute)
{
    static const char wanted[] = "c9ffcda52e704ce984d7024eddfeb45da79065c14cafb6a95613a266cf6a028c";
    uint8_t hashes[2][PR_AUDIT_HASH_BYTES];
    char hex[2 * PR_AUDIT_HASH_BYTES + 1];
    make_chain(hashes, 1);
    pr_hex(pr_bytes(hashes[1], PR_AUDIT_HASH_BYTES), hex);
    cr_assert_str_eq(hex, wanted);
}

Test(audit, null_and_a_dash_and_moved_ends_are_told_apart)
{
    uint8_t a[PR_AUDIT_HASH_BYTES], b[PR_AUDIT_HASH_BYTES], former[PR_AUDIT_HASH_BYTES] = {0};
    pr_audit_entry_t entry = entry_of(1);
    entry.reason = NULL;
    cr_assert_eq(pr_audit_hash(&entry, former, a), PR_OK);
    entry.reason = "-";
    cr_assert_eq(pr_audit_hash(&entry, former, b), PR_OK);
    cr_assert_neq(memcmp(a, b, sizeof a), 0);
    entry = entry_of(1);
    entry.actor = "annc";
    entry.action = "hannel.pause";
    cr_assert_eq(pr_audit_hash(&entry, former, a), PR_OK);
    entry = entry_of(1);
    cr_assert_eq(pr_audit_hash(&entry, former, b), PR_OK);
    cr_assert_neq(memcmp(a, b, sizeof a), 0);
}

Test(audit, a_whole_chain_is_good_and_one_that_is_not_is_found)
{
    enum { COUNT = 6 };
    uint8_t hashes[COUNT + 1][PR_AUDIT_HASH_BYTES];
    make_chain(hashes, COUNT);
    static const struct {
        const char *what;
        int64_t changed, gone, missing, twice, at;
        pr_audit_finding_t finding;
    } cases[] = {
        {"whole", 0, 0, 0, 0, 0, PR_AUDIT_GOOD},
        {"changed", 3, 0, 0, 0, 3, PR_AUDIT_CHANGED},
        {"its row gone", 0, 4, 0, 0, 4, PR_AUDIT_GONE},
        {"missing", 0, 0, 3, 0, 4, PR_AUDIT_MISSING},
        {"twice", 0, 0, 0, 5, 5, PR_AUDIT_ORDER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pr_audit_chain_t chain = {0};
        int64_t at = 0;
        pr_audit_finding_t first = PR_AUDIT_GOOD;
        for (int64_t n = 1; n <= COUNT; n++) {
            pr_audit_entry_t entry = entry_of(n);
            entry.subject = n == cases[i].changed ? "c2" : entry.subject;
            for (int time = n == cases[i].missing ? 1 : 0; time < (n == cases[i].twice ? 2 : 1);
                 time++) {
                pr_audit_finding_t finding =
                    pr_audit_follow(&chain, n, n == cases[i].gone ? NULL : &entry, hashes[n]);
                at = first == PR_AUDIT_GOOD && finding != PR_AUDIT_GOOD ? n : at;
                first = first == PR_AUDIT_GOOD ? finding : first;
            }
        }
        cr_expect_eq(first, cases[i].finding, "%s: %s", cases[i].what,
                     pr_audit_finding_text(first));
        cr_expect_eq(at, cases[i].at, "%s", cases[i].what);
    }
}

Test(audit, a_head_is_read_as_it_is_printed)
{
    uint8_t hashes[3][PR_AUDIT_HASH_BYTES];
    make_chain(hashes, 2);
    pr_audit_chain_t head = {.n = 2}, again;
    char text[PR_AUDIT_HEAD_MAX];
    memcpy(head.hash, hashes[2], sizeof head.hash);
    pr_audit_head_print(&head, text);
    cr_assert(pr_audit_head_parse(text, &again));
    cr_assert_eq(again.n, 2);
    cr_assert_eq(memcmp(again.hash, head.hash, sizeof head.hash), 0);
    static const char *const bad[] = {"", "2", "2:", ":00", "-1:00", "2:zz", "x:00"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_not(pr_audit_head_parse(bad[i], &again), "%s", bad[i]);
    }
}
