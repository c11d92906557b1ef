/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/home.h"

#include "actor/options.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/fnv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX_BYTES 65536
#define WALK_FDS 16
#define LOCK_FD_MIN 20

static pr_rc_t failed(pr_error_t *error, const char *verb, const char *path)
{
    return pr_error_set(error, PR_FATAL, "home", strerrorname_np(errno), "cannot %s %s: %s", verb,
                        path, strerrordesc_np(errno));
}

static char *absolute(const char *path)
{
    if (path[0] == '/') {
        return pr_strdup(path);
    }
    char *here = getcwd(NULL, 0);
    char *joined = pr_asprintf("%s/%s", here != NULL ? here : "", path);
    free(here); /* getcwd's own malloc */
    return joined;
}

char *pr_home_state_dir(void)
{
    const char *state = getenv("POSTRIDER_STATE");
    if (state != NULL && state[0] != '\0') {
        return absolute(state);
    }
    const char *checkout = getenv("POSTRIDER_HOME");
    if (checkout != NULL && checkout[0] != '\0') {
        return pr_asprintf("%s/var", checkout);
    }
    const char *home = getenv("HOME");
    if (geteuid() == 0 || home == NULL) {
        return pr_strdup("/var/lib/postrider");
    }
    return pr_asprintf("%s/.local/state/postrider", home);
}

char *pr_home_script(const char *name)
{
    const char *checkout = getenv("POSTRIDER_HOME");
    if (checkout != NULL && checkout[0] != '\0') {
        return pr_asprintf("%s/scripts/%s", checkout, name);
    }
    /* beside the programs first: `cmake --install --prefix` moves both */
    PR_CLEANUP_FREE char *bin = pr_home_program("..");
    char *beside = pr_asprintf("%s/libexec/postrider/%s", bin, name);
    if (access(beside, X_OK) == 0) {
        return beside;
    }
    pr_free(beside);
    return pr_asprintf("%s/%s", PR_LIBEXEC_DIR, name);
}

char *pr_home_program(const char *name)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (len <= 0) {
        return pr_strdup(name);
    }
    self[len] = '\0';
    char *slash = strrchr(self, '/');
    *slash = '\0';
    return pr_asprintf("%s/%s", self, name);
}

char *pr_home_socket_dir(const char *state_dir)
{
    /* the hash only tells apart the state directories of one machine */
    return pr_asprintf("/tmp/postrider-%u-%08x", (unsigned)geteuid(),
                       pr_fnv_fold(pr_fnv_text(PR_FNV_START, state_dir)));
}

pr_rc_t pr_home_make_private_dir(const char *path, pr_error_t *error)
{
    struct stat found;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return failed(error, "make", path);
    }
    if (lstat(path, &found) != 0) {
        return failed(error, "look at", path);
    }
    if (!S_ISDIR(found.st_mode) || found.st_uid != geteuid() || (found.st_mode & 077) != 0) {
        return pr_error_set(error, PR_FATAL, "home", "EPERM",
                            "%s is not a private directory of this user: remove it", path);
    }
    return PR_OK;
}

pr_rc_t pr_home_make_dirs(const char *path, pr_error_t *error)
{
    PR_CLEANUP_FREE char *part = pr_strdup(path);
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0755) != 0 && errno != EEXIST) {
            return failed(error, "make", part);
        }
        *slash = '/';
    }
    if (mkdir(part, 0755) != 0 && errno != EEXIST) {
        return failed(error, "make", part);
    }
    return PR_OK;
}

pr_rc_t pr_home_write(const char *path, const char *text, mode_t mode, pr_error_t *error)
{
    PR_CLEANUP_FREE char *fresh = pr_asprintf("%s.%ld", path, (long)getpid());
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0) {
        return failed(error, "write", fresh);
    }
    size_t len = strlen(text);
    bool written = fchmod(fd, mode) == 0 && write(fd, text, len) == (ssize_t)len;
    close(fd);
    if (!written || rename(fresh, path) != 0) {
        pr_rc_t rc = failed(error, "write", path);
        unlink(fresh);
        return rc;
    }
    return PR_OK;
}

static char *read_part(const char *path, bool end)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    if (end) {
        lseek(fd, -(off_t)FILE_MAX_BYTES, SEEK_END); /* fails when it is shorter: from the start */
    }
    char *text = pr_calloc(FILE_MAX_BYTES + 1, 1);
    ssize_t len = read(fd, text, FILE_MAX_BYTES);
    close(fd);
    for (len = len < 0 ? 0 : len; len > 0 && text[len - 1] == '\n'; len--) {
        text[len - 1] = '\0';
    }
    return text;
}

char *pr_home_read(const char *path)
{
    return read_part(path, false);
}

char *pr_home_read_end(const char *path)
{
    return read_part(path, true);
}

static int remove_one(const char *path, const struct stat *found, int kind, struct FTW *walk)
{
    (void)found;
    (void)kind;
    (void)walk;
    remove(path); /* what stays behind shows when the next writer meets it */
    return 0;
}

void pr_home_remove(const char *path)
{
    nftw(path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
}

int pr_home_lock(const char *path)
{
    int low = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (low < 0) {
        return -1;
    }
    /* Out of the way of the descriptors that supervisors give a meaning (3: readiness): a process
     * that got another file under this number would not hold the lock. */
    int fd = fcntl(low, F_DUPFD_CLOEXEC, LOCK_FD_MIN);
    close(low);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool pr_home_locked(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool held = flock(fd, LOCK_SH | LOCK_NB) != 0;
    close(fd);
    return held;
}

pr_rc_t pr_home_check_owner(const char *state_dir, pr_error_t *error)
{
    PR_CLEANUP_FREE char *lock = pr_asprintf("%s/run/lock", state_dir);
    if (access(lock, R_OK | W_OK) == 0 || errno != EACCES) {
        return PR_OK; /* no lock: nobody's */
    }
    struct stat found;
    char owner[32] = "another user";
    if (stat(lock, &found) == 0) {
        snprintf(owner, sizeof(owner), "uid %u", (unsigned)found.st_uid);
    }
    return pr_error_set(error, PR_FATAL, "home", "EACCES",
                        "the topology in %s belongs to %s: be that user, or set POSTRIDER_STATE to "
                        "a directory of your own",
                        state_dir, owner);
}

/* The value of --NAME VALUE or --NAME=VALUE, or NULL. */
static const char *option_value(int argc, char **argv, const char *name)
{
    size_t len = strlen(name);
    const char *value = NULL;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], name, len) != 0) {
            continue;
        }
        if (argv[i][len] == '=') {
            value = argv[i] + len + 1;
        } else if (argv[i][len] == '\0' && i + 1 < argc) {
            value = argv[i + 1];
        }
    }
    return value;
}

/* Whether the caller says which database is meant. A configuration without one leaves that to the
 * topology that runs, as it did for `up`. */
static bool names_a_database(int argc, char **argv)
{
    if (getenv("POSTRIDER_DATABASE_URL") != NULL ||
        option_value(argc, argv, "--database-url") != NULL) {
        return true;
    }
    for (int i = 1; i < argc; i++) {
        if (strstr(argv[i], "database.url=") != NULL) { /* --set */
            return true;
        }
    }
    PR_CLEANUP(pr_config) pr_config_t *config = NULL;
    pr_error_t error;
    const char *file = option_value(argc, argv, "--config");
    if (pr_config_load(file, NULL, &config, &error) != PR_OK) {
        return true; /* the command says what is wrong with it */
    }
    return pr_config_text(config, "database.url")[0] != '\0';
}

void pr_home_adopt(int argc, char **argv)
{
    PR_CLEANUP_FREE char *state = pr_home_state_dir();
    PR_CLEANUP_FREE char *lock = pr_asprintf("%s/run/lock", state);
    if (pr_home_locked(lock) && !names_a_database(argc, argv)) {
        pr_home_adopt_from(state);
    }
}

void pr_home_adopt_from(const char *state_dir)
{
    PR_CLEANUP_FREE char *env_dir = pr_asprintf("%s/run/env", state_dir);
    DIR *dir = opendir(env_dir);
    if (dir == NULL) {
        return;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        PR_CLEANUP_FREE char *path = pr_asprintf("%s/%s", env_dir, entry->d_name);
        PR_CLEANUP_FREE char *value = pr_home_read(path);
        if (value != NULL) {
            setenv(entry->d_name, value, 0);
        }
    }
    closedir(dir);
}
