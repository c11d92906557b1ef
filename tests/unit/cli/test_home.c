/* SPDX-License-Identifier: Apache-2.0
 *
 * Where state lies, and the files in it.
 */
#include "base/alloc.h"
#include "cli/home.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void make_root(void)
{
    snprintf(root, sizeof(root), "/tmp/prt-home-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static void drop_root(void)
{
    pr_home_remove(root);
    cr_assert_neq(access(root, F_OK), 0, "remove takes a whole tree");
}

TestSuite(home, .init = make_root, .fini = drop_root);

static char *in_root(const char *name)
{
    return pr_asprintf("%s/%s", root, name);
}

Test(home, state_is_named_by_the_environment_first)
{
    setenv("POSTRIDER_STATE", "/var/x", 1);
    setenv("POSTRIDER_HOME", "/src", 1);
    PR_CLEANUP_FREE char *named = pr_home_state_dir();
    cr_assert_str_eq(named, "/var/x");
    unsetenv("POSTRIDER_STATE");
    PR_CLEANUP_FREE char *checkout = pr_home_state_dir();
    cr_assert_str_eq(checkout, "/src/var");
    setenv("POSTRIDER_STATE", "relative", 1);
    PR_CLEANUP_FREE char *absolute = pr_home_state_dir();
    cr_assert_eq(absolute[0], '/', "actors have another working directory");
}

Test(home, socket_dir_is_short_and_stable)
{
    PR_CLEANUP_FREE char *a = pr_home_socket_dir("/a/very/long/path/of/a/checkout/var");
    PR_CLEANUP_FREE char *again = pr_home_socket_dir("/a/very/long/path/of/a/checkout/var");
    PR_CLEANUP_FREE char *other = pr_home_socket_dir("/a/very/long/path/of/a/checkout/war");
    cr_assert_str_eq(a, again);
    cr_assert_str_neq(a, other);
    cr_assert_lt(strlen(a), 60, "room for a socket's name in 107 bytes");
}

Test(home, private_dir_refuses_what_others_can_enter)
{
    PR_CLEANUP_FREE char *dir = in_root("run");
    pr_error_t error;
    cr_assert_eq(pr_home_make_private_dir(dir, &error), PR_OK);
    cr_assert_eq(pr_home_make_private_dir(dir, &error), PR_OK, "ours already");
    cr_assert_eq(chmod(dir, 0755), 0);
    cr_assert_eq(pr_home_make_private_dir(dir, &error), PR_FATAL);
    PR_CLEANUP_FREE char *link = in_root("link");
    cr_assert_eq(symlink("/tmp", link), 0);
    cr_assert_eq(pr_home_make_private_dir(link, &error), PR_FATAL, "a link is not followed");
}

Test(home, write_and_read_back)
{
    PR_CLEANUP_FREE char *path = in_root("secret");
    pr_error_t error;
    struct stat found;
    cr_assert_eq(pr_home_write(path, "first\n", 0600, &error), PR_OK);
    cr_assert_eq(pr_home_write(path, "second\n\n", 0600, &error), PR_OK, "replaces");
    cr_assert_eq(stat(path, &found), 0);
    cr_assert_eq(found.st_mode & 0777, 0600);
    PR_CLEANUP_FREE char *text = pr_home_read(path);
    cr_assert_str_eq(text, "second", "without trailing newlines");
    PR_CLEANUP_FREE char *none = in_root("none");
    cr_assert_null(pr_home_read(none));
    PR_CLEANUP_FREE char *nowhere = in_root("no/dir/file");
    cr_assert_eq(pr_home_write(nowhere, "x", 0600, &error), PR_FATAL);
    cr_assert_not_null(strstr(error.text, "no/dir/file"), "the error names the file");
}

Test(home, reads_the_end_of_a_long_log)
{
    PR_CLEANUP_FREE char *path = in_root("log");
    pr_error_t error;
    PR_CLEANUP_FREE char *log = pr_calloc(100001, 1);
    memset(log, 'x', 100000);
    memcpy(log + 99995, "\nlast", 5);
    cr_assert_eq(pr_home_write(path, log, 0600, &error), PR_OK);
    PR_CLEANUP_FREE char *end = pr_home_read_end(path);
    cr_assert_eq(strlen(end), 65536);
    cr_assert_str_eq(end + 65531, "\nlast");
    cr_assert_eq(pr_home_write(path, "short\n", 0600, &error), PR_OK);
    PR_CLEANUP_FREE char *whole = pr_home_read_end(path);
    cr_assert_str_eq(whole, "short", "a file below 64 KiB is read whole");
}

Test(home, lock_is_held_once)
{
    PR_CLEANUP_FREE char *path = in_root("lock");
    cr_assert_not(pr_home_locked(path), "no file, no lock");
    int held = pr_home_lock(path);
    cr_assert_geq(held, 0);
    cr_assert(pr_home_locked(path));
    cr_assert_lt(pr_home_lock(path), 0);
    close(held);
    cr_assert_not(pr_home_locked(path));
}

Test(home, adopts_only_what_is_not_set)
{
    PR_CLEANUP_FREE char *env = in_root("run/env");
    PR_CLEANUP_FREE char *url = in_root("run/env/POSTRIDER_DATABASE_URL");
    PR_CLEANUP_FREE char *scale = in_root("run/env/POSTRIDER_TIME_SCALE");
    PR_CLEANUP_FREE char *lock_path = in_root("run/lock");
    char name[] = "merchant";
    char *argv[] = {name, NULL};
    pr_error_t error;
    cr_assert_eq(pr_home_make_dirs(env, &error), PR_OK);
    cr_assert_eq(pr_home_write(url, "postgresql://x\n", 0600, &error), PR_OK);
    cr_assert_eq(pr_home_write(scale, "0.5\n", 0600, &error), PR_OK);
    setenv("POSTRIDER_STATE", root, 1);
    unsetenv("POSTRIDER_DATABASE_URL");
    unsetenv("POSTRIDER_CONFIG");
    setenv("POSTRIDER_TIME_SCALE", "1", 1);
    pr_home_adopt(1, argv);
    cr_assert_null(getenv("POSTRIDER_DATABASE_URL"), "nothing runs there");

    int lock = pr_home_lock(lock_path);
    char flag[] = "--config=mine.yaml";
    char *own[] = {name, flag, NULL};
    pr_home_adopt(2, own);
    cr_assert_null(getenv("POSTRIDER_DATABASE_URL"), "the caller has a configuration");
    pr_home_adopt(1, argv);
    cr_assert_str_eq(getenv("POSTRIDER_DATABASE_URL"), "postgresql://x");
    cr_assert_str_eq(getenv("POSTRIDER_TIME_SCALE"), "1", "the environment wins");
    close(lock);
}
