/* SPDX-License-Identifier: Apache-2.0 */
#include "base/regular_file.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(regular_file, .timeout = 60); /* one that waits for a pipe is ended */

static char dir[] = "/tmp/pr_regular_XXXXXX";

static const char *in_dir(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static int refused(const char *name, bool follow_link)
{
    errno = 0;
    FILE *file = pr_open_regular_file(in_dir(name), follow_link);
    cr_expect_null(file, "%s", name);
    return errno;
}

static int letter_of(const char *name, bool follow_link)
{
    FILE *file = pr_open_regular_file(in_dir(name), follow_link);
    cr_assert_not_null(file, "%s", name);
    int letter = fgetc(file);
    fclose(file);
    return letter;
}

Test(regular_file, opens_files_and_nothing_else)
{
    cr_assert_not_null(mkdtemp(dir));
    FILE *file = fopen(in_dir("file"), "w");
    cr_assert_not_null(file);
    fputs("x", file);
    fclose(file);
    cr_assert_eq(mkfifo(in_dir("pipe"), 0600), 0);
    cr_assert_eq(symlink("file", in_dir("link")), 0);
    cr_assert_eq(symlink("pipe", in_dir("link_to_pipe")), 0);

    cr_expect_eq(letter_of("file", false), 'x');
    cr_expect_eq(letter_of("link", true), 'x');
    cr_expect_eq(refused("link", false), ELOOP);
    cr_expect_eq(refused("pipe", false), ENOTSUP);
    cr_expect_eq(refused("link_to_pipe", true), ENOTSUP);
    cr_expect_eq(refused("", true), EISDIR);
    cr_expect_eq(refused("none", true), ENOENT);

    static const char *const names[] = {"file", "pipe", "link", "link_to_pipe"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unlink(in_dir(names[i]));
    (void)rmdir(dir);
}
