/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "channel/channel_store.h"
#include "tests/support/gateway.h"

#include <stdlib.h>
#include <unistd.h>

TestSuite(channel_store, .timeout = 300);

static const pr_master_key_t key = {.id = 1, .bytes = {1, 2, 3}};
static pr_channel_store_t *store;
static pr_buffer_t account, secret;

static void seal(const char *channel, const char *value, pr_buffer_t *out)
{
    static const uint8_t nonce[PR_SEAL_NONCE_BYTES] = {9};
    PR_CLEANUP_FREE char *name = pr_asprintf(PR_CHANNEL_SEAL_PREFIX "%s", channel);
    pr_buffer_init(out, 8192);
    cr_assert_eq(pr_seal(&key, name, pr_bytes_text(value), nonce, out, NULL), PR_OK);
}

static void begin(void)
{
    PR_CLEANUP_FREE char *profiles = gateway_file("profiles");
    store = pr_channel_store_new(profiles, &key, 7);
    seal("c1", "acct-1", &account);
    seal("c1", "a secret", &secret);
}

static void end(void)
{
    pr_channel_store_destroy(&store);
    pr_buffer_free(&account);
    pr_buffer_free(&secret);
}

static pr_rc_t get(const char *id, uint64_t version, const char *profile, pr_opened_channel_t **out,
                   pr_error_t *error)
{
    pr_sealed_parameter_t parameters[] = {{"account", pr_buffer_bytes(&account)},
                                          {"secret", pr_buffer_bytes(&secret)}};
    pr_channel_row_t row = {.id = id,
                            .version = version,
                            .profile = profile,
                            .parameters = parameters,
                            .parameter_count = 2};
    return pr_channel_store_get(store, &row, out, error);
}

Test(channel_store, a_channel_is_opened_once_for_each_version, .init = begin, .fini = end)
{
    pr_opened_channel_t *first = NULL, *again = NULL, *next = NULL;
    cr_assert_eq(get("c1", 1, "sandbox", &first, NULL), PR_OK);
    cr_expect_str_eq(pr_channel_account(first->channel), "acct-1");
    cr_expect_str_eq(pr_profile_facts(first->profile)->name, "sandbox");
    cr_assert_eq(get("c1", 1, "sandbox", &again, NULL), PR_OK);
    cr_expect_eq(again, first);
    cr_assert_eq(get("c1", 2, "sandbox", &next, NULL), PR_OK);
    cr_expect_neq(next, first, "another version is another channel");
    cr_expect_str_eq(pr_channel_account(first->channel), "acct-1",
                     "the old one lives in its users");
    pr_opened_channel_release(&first);
    pr_opened_channel_release(&again);
    pr_opened_channel_release(&next);
    cr_expect_null(next);
}

Test(channel_store, what_does_not_fit_is_refused_without_values, .init = begin, .fini = end)
{
    static const struct {
        const char *id, *profile, *why;
    } rows[] = {
        {"c2", "sandbox", "seal"},       /* sealed for c1 */
        {"c1", "nobody", "nobody.yaml"}, /* no such file */
        {"c1", "../profiles/sandbox", "there is no profile"},
        {"c1", "", "there is no profile"},
        {"c1", "stripe", "parameter"}, /* another profile's parameters */
        {"", "sandbox", "an id has"},
        {"0123456789012345678901234567890123456789012345678901234567890", "sandbox", "an id has"},
    };
    for (size_t i = 0; i < PR_COUNT(rows); i++) {
        pr_opened_channel_t *out = NULL;
        pr_error_t error = {0};
        cr_expect_eq(get(rows[i].id, 1, rows[i].profile, &out, &error), PR_BAD, "row %zu", i);
        cr_expect_null(out);
        cr_expect(strstr(error.text, rows[i].why) || strstr(error.source, rows[i].why),
                  "row %zu: %s", i, error.text);
        cr_expect_null(strstr(error.text, "a secret"));
    }
    secret.data[secret.len - 1] ^= 1;
    pr_opened_channel_t *out = NULL;
    cr_expect_eq(get("c1", 1, "sandbox", &out, NULL), PR_BAD, "changed bytes");
}

Test(channel_store, a_profile_that_was_bad_is_read_again)
{
    char dir[] = "/tmp/pr-test-profiles-XXXXXX";
    cr_assert_not_null(mkdtemp(dir));
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/mine.yaml", dir);
    FILE *file = fopen(path, "w");
    fputs("profile: [", file);
    fclose(file);
    pr_profile_dir_t *profiles = pr_profile_dir_new(dir);
    const pr_profile_t *profile = NULL;
    pr_error_t error = {0};
    cr_expect_eq(pr_profile_dir_get(profiles, "mine", &profile, &error), PR_BAD);
    cr_expect_not_null(strstr(error.text, "mine.yaml"), "%s", error.text);
    size_t len;
    PR_CLEANUP_FREE char *text = gateway_read("profiles/sandbox.yaml", &len);
    file = fopen(path, "w");
    fwrite(text, 1, len, file);
    fclose(file);
    cr_expect_eq(pr_profile_dir_get(profiles, "mine", &profile, &error), PR_OK, "%s", error.text);
    unlink(path);
    const pr_profile_t *again = NULL;
    cr_expect_eq(pr_profile_dir_get(profiles, "mine", &again, &error), PR_OK, "it is kept");
    cr_expect_eq(again, profile);
    pr_profile_dir_destroy(&profiles);
    rmdir(dir);
}
