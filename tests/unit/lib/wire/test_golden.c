/* SPDX-License-Identifier: Apache-2.0
 *
 * Old bytes decode for ever: every file of tests/contract/golden is taken, is of the kind that its
 * name says, and packs to the same bytes.
 */
#include "base/alloc.h"
#include "wire/envelope.h"

#include <criterion/criterion.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(golden, .timeout = 300);

enum { TEXT_MAX = 64 * 1024, KINDS = 20 };

/* The golden folder, found from this file's own place in the tree. */
static char *pattern(void)
{
    const char *cut = strstr(__FILE__, "unit/lib/wire/");
    cr_assert_not_null(cut);
    return pr_asprintf("%.*scontract/golden/*.hex", (int)(cut - __FILE__), __FILE__);
}

static size_t read_hex(const char *path, uint8_t *out)
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    PR_CLEANUP_FREE char *text = pr_calloc(TEXT_MAX, 1);
    size_t len = fread(text, 1, TEXT_MAX - 1, file);
    fclose(file);
    len = strcspn(text, "\n") < len ? strcspn(text, "\n") : len;
    cr_assert(pr_unhex(text, len, out), "%s", path);
    return len / 2;
}

static void check_file(const char *path)
{
    PR_CLEANUP_FREE uint8_t *bytes = pr_calloc(TEXT_MAX, 1);
    size_t len = read_hex(path, bytes);
    pr_error_t error = {0};
    PR_CLEANUP(pr_envelope) Postrider__V1__Envelope *envelope = NULL;
    cr_assert_eq(pr_envelope_unpack(pr_bytes(bytes, len), &envelope, &error), PR_OK, "%s: %s", path,
                 error.text);
    const char *kind = pr_envelope_kind(envelope);
    const char *name = strrchr(path, '/') + 1;
    cr_expect_eq(strncmp(name, kind, strlen(kind)), 0, "%s is a %s", name, kind);
    cr_assert_eq(postrider__v1__envelope__get_packed_size(envelope), len, "%s", name);
    PR_CLEANUP_FREE uint8_t *again = pr_calloc(len, 1);
    postrider__v1__envelope__pack(envelope, again);
    cr_expect_eq(memcmp(bytes, again, len), 0, "%s packs to other bytes", name);
    pr_buffer_t json;
    pr_buffer_init(&json, 1 << 20);
    cr_expect_eq(pr_envelope_to_json(envelope, &json), PR_OK);
    pr_buffer_free(&json);
}

Test(golden, old_bytes_decode_for_ever)
{
    PR_CLEANUP_FREE char *files = pattern();
    glob_t found;
    cr_assert_eq(glob(files, 0, NULL, &found), 0, "nothing at %s", files);
    cr_assert_geq(found.gl_pathc, KINDS);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        check_file(found.gl_pathv[i]);
    }
    globfree(&found);
}
