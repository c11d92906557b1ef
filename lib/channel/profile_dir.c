/* SPDX-License-Identifier: Apache-2.0 */
#include "channel/profile_dir.h"

#include "base/alloc.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROFILES_MAX 256
#define NAME_MAX_BYTES 64
#define FILE_MAX_BYTES ((size_t)256 * 1024)

struct pr_profile_dir_t {
    char *path;
    size_t count;
    struct {
        char name[NAME_MAX_BYTES + 1];
        pr_profile_t *profile;
    } profiles[PROFILES_MAX];
};

/* PREFIX/bin/PROGRAM has its profiles in PREFIX/share/postrider: `cmake --install --prefix` moves
 * both. NULL: not there. */
static char *beside_the_program(void)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (len <= 0)
        return NULL;
    self[len] = '\0';
    char *slash = strrchr(self, '/');
    char *path =
        pr_asprintf("%.*s/../share/postrider/profiles", (int)(slash ? slash - self : 0), self);
    if (access(path, X_OK) == 0)
        return path;
    pr_free(path);
    return NULL;
}

static char *shipped(void)
{
    const char *checkout = getenv("POSTRIDER_HOME");
    if (checkout != NULL && checkout[0] != '\0')
        return pr_asprintf("%s/profiles", checkout);
    char *beside = beside_the_program();
    return beside != NULL ? beside : pr_strdup(PR_DATA_DIR "/profiles");
}

pr_profile_dir_t *pr_profile_dir_new(const char *path)
{
    pr_profile_dir_t *self = PR_NEW(pr_profile_dir_t);
    self->path = path[0] != '\0' ? pr_strdup(path) : shipped();
    return self;
}

void pr_profile_dir_destroy(pr_profile_dir_t **self)
{
    pr_profile_dir_t *dir = PR_STEAL(*self);
    if (dir == NULL)
        return;
    for (size_t i = 0; i < dir->count; i++)
        pr_profile_destroy(&dir->profiles[i].profile);
    pr_free(dir->path);
    pr_free(dir);
}

/* No dot and no slash: a name never leaves the directory. */
static bool is_name(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    size_t len = strlen(name);
    return len > 0 && len <= NAME_MAX_BYTES && strspn(name, letters) == len;
}

static pr_rc_t read_profile(const char *path, pr_profile_t **out, pr_error_t *error)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return pr_error_set(error, PR_BAD, "profile", "", "%s: %s", path, strerrordesc_np(errno));
    PR_CLEANUP_FREE char *text = pr_calloc(FILE_MAX_BYTES + 1, 1);
    size_t len = fread(text, 1, FILE_MAX_BYTES + 1, file);
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed || len > FILE_MAX_BYTES)
        return pr_error_set(error, PR_BAD, "profile", "", "%s: cannot be read, or over 256 KiB",
                            path);
    return pr_profile_parse(path, pr_bytes(text, len), out, error);
}

pr_rc_t pr_profile_dir_get(pr_profile_dir_t *self, const char *name, const pr_profile_t **out,
                           pr_error_t *error)
{
    for (size_t i = 0; i < self->count; i++) {
        if (strcmp(self->profiles[i].name, name) == 0) {
            *out = self->profiles[i].profile;
            return PR_OK;
        }
    }
    if (!is_name(name) || self->count == PROFILES_MAX)
        return pr_error_set(error, PR_BAD, "profile", "", "there is no profile \"%.64s\"", name);
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/%s.yaml", self->path, name);
    pr_profile_t *profile = NULL;
    pr_rc_t rc = read_profile(path, &profile, error);
    if (rc != PR_OK)
        return rc;
    memcpy(self->profiles[self->count].name, name, strlen(name) + 1);
    self->profiles[self->count++].profile = profile;
    *out = profile;
    return PR_OK;
}
