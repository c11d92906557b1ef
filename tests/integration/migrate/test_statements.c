/* SPDX-License-Identifier: Apache-2.0
 *
 * Every statement of every actor prepares on a freshly migrated database, through the actor's own
 * role and no other right: what the actor itself checks when it starts. PR_TEST_URL: a migrated
 * database, as the login that `migrate --login` made.
 */
#include "base/clock.h"
#include "db/db.h"
#include "sql/circuit_breaker.h"
#include "sql/dead_letter.h"
#include "sql/outbox_relay.h"
#include "sql/scheduler.h"

#include <criterion/criterion.h>

#include <poll.h>
#include <stdlib.h>

TestSuite(statements, .timeout = 300);

static void on_ready(void *arg)
{
    *(bool *)arg = true;
}

static void expect_prepared(const char *role, const pr_statement_t *statements, int count)
{
    bool ready = false;
    const pr_db_options_t options = {.url = getenv("PR_TEST_URL"),
                                     .application_name = "postrider test",
                                     .role = role,
                                     .index_plans = true,
                                     .statements = statements,
                                     .nstatements = count,
                                     .schema_version = pr_migrations_count,
                                     .on_ready = on_ready,
                                     .arg = &ready};
    pr_db_t *db = pr_db_new(&options);
    pr_rc_t rc = PR_OK;
    pr_error_t error = {0};
    int64_t until = pr_clock_mono_ms() + 90000;
    while (!ready && rc == PR_OK && pr_clock_mono_ms() < until) {
        struct pollfd item = {.fd = pr_db_fd(db), .events = pr_db_events(db)};
        poll(&item, item.fd >= 0 ? 1 : 0, 50);
        rc = pr_db_io(db, pr_clock_mono_ms(), &error);
    }
    cr_expect(ready, "%s: %s %s", role, error.code, error.text);
    pr_db_destroy(&db);
}

Test(statements, of_the_outbox_relay)
{
    expect_prepared("postrider_relay", pr_sql_outbox_relay, PR_SQL_OUTBOX_RELAY_COUNT);
}

Test(statements, of_the_scheduler)
{
    expect_prepared("postrider_scheduler", pr_sql_scheduler, PR_SQL_SCHEDULER_COUNT);
}

Test(statements, of_the_circuit_breaker)
{
    expect_prepared("postrider_breaker", pr_sql_circuit_breaker, PR_SQL_CIRCUIT_BREAKER_COUNT);
}

Test(statements, of_the_dead_letter)
{
    expect_prepared("postrider_dead_letter", pr_sql_dead_letter, PR_SQL_DEAD_LETTER_COUNT);
}
