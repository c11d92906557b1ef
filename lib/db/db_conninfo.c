/* SPDX-License-Identifier: Apache-2.0
 *
 * The connection string as libpq wants it: what the user wrote, our defaults where the user was
 * silent, and the hosts turned by one at each failed try. libpq walks over the hosts by itself
 * when one refuses, but its connect_timeout works only in blocking calls: a host that swallows
 * packets would be tried for ever.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "db/db_private.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *key, *value;
    const char *unless; /* not when the user set this one */
} defaults[] = {
    {"connect_timeout", "5", "connect_timeout"},
    {"keepalives_idle", "5", "keepalives_idle"}, /* with the next two: silence is noticed in 14 s */
    {"keepalives_interval", "3", "keepalives_interval"},
    {"keepalives_count", "3", "keepalives_count"},
    {"tcp_user_timeout", "15000", "tcp_user_timeout"}, /* ms, the same for what we sent */
    {"target_session_attrs", "read-write", "target_session_attrs"},
};

/* "a,b,c" by one turn is "b,c,a". */
static char *rotate(const char *list, int turn)
{
    int count = 1;
    for (const char *at = list; *at != '\0'; at++)
        count += *at == ',';
    const char *first = list;
    for (int i = 0; i < turn % count; i++)
        first = strchr(first, ',') + 1;
    if (first == list)
        return pr_strdup(list);
    return pr_asprintf("%s,%.*s", first, (int)(first - 1 - list), list);
}

static void add(pr_conninfo_t *self, const char *key, const char *value)
{
    pr_assert(self->count + 1 < PR_CONNINFO_MAX);
    self->keys[self->count] = key;
    self->values[self->count] = value;
    self->count++;
    self->keys[self->count] = NULL;
    self->values[self->count] = NULL;
}

static bool given(const pr_conninfo_t *self, const char *key)
{
    for (int i = 0; i < self->count; i++) {
        if (strcmp(self->keys[i], key) == 0)
            return true;
    }
    return false;
}

bool pr_db_url_ok(const char *url)
{
    PQconninfoOption *parsed = PQconninfoParse(url, NULL);
    PQconninfoFree(parsed);
    return parsed != NULL;
}

pr_rc_t pr_conninfo_init(pr_conninfo_t *self, const char *url, const char *application_name,
                         int turn, pr_error_t *error)
{
    memset(self, 0, sizeof *self);
    char *why = NULL;
    self->parsed = PQconninfoParse(url, &why);
    PQfreemem(why); /* quotes pieces of the string, and so of a password: not shown */
    if (self->parsed == NULL)
        return pr_error_set(error, PR_FATAL, "db", "",
                            "database.url is neither a libpq URI (postgresql://...) nor a list of "
                            "keyword=value");

    int owned = 0;
    for (const PQconninfoOption *o = self->parsed; o->keyword != NULL; o++) {
        if (o->val == NULL || strcmp(o->keyword, "application_name") == 0)
            continue;
        const char *value = o->val;
        if (strcmp(o->keyword, "host") == 0 || strcmp(o->keyword, "hostaddr") == 0 ||
            strcmp(o->keyword, "port") == 0)
            value = self->owned[owned++] = rotate(o->val, turn);
        add(self, o->keyword, value);
    }
    for (size_t i = 0; i < PR_COUNT(defaults); i++) {
        if (!given(self, defaults[i].unless))
            add(self, defaults[i].key, defaults[i].value);
    }
    add(self, "application_name", application_name);
    add(self, "client_encoding", "UTF8");
    return PR_OK;
}

void pr_conninfo_free(pr_conninfo_t *self)
{
    for (size_t i = 0; i < PR_COUNT(self->owned); i++)
        pr_free(self->owned[i]);
    PQconninfoFree(self->parsed);
    memset(self, 0, sizeof *self);
}
