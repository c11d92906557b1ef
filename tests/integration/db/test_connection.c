/* SPDX-License-Identifier: Apache-2.0
 *
 * lib/db against a real Postgres. run starts the cluster and makes its tables: PR_TEST_URL;
 * PR_TEST_PG and PR_TEST_DIR to stop and start it. Tests run one at a time.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "db/db.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(connection, .timeout = 300);

#define PATIENCE_MS 90000 /* matters only when a test fails */

/* ---- statements of all tests ---- */

enum {
    ADD,
    ECHO_TEXT,
    SLEEP,
    DEFERRED,
    DIVIDE,
    SUMS,
    ECHO_BYTES,
    SETTINGS,
    TYPES,
    SLEEP_LONG,
    COUNT
};
static const pr_statement_t statements[] = {
    [ADD] = {"t.add", "SELECT $1::bigint + 1", 1},
    [ECHO_TEXT] = {"t.echo_text", "SELECT $1::text", 1},
    [SLEEP] = {"t.sleep", "SELECT pg_catalog.pg_sleep($1::float8)", 1},
    [DEFERRED] = {"t.deferred", "INSERT INTO public.child VALUES ($1)", 1},
    [DIVIDE] = {"t.divide", "SELECT 10 / $1::integer", 1},
    [SUMS] = {"t.sums",
              "SELECT (SELECT count(*) FROM unnest($1::bigint[]) a), "
              "(SELECT sum(a)::bigint FROM unnest($1::bigint[]) a), "
              "(SELECT sum(length(b))::bigint FROM unnest($2::bytea[]) b), "
              "(SELECT count(*) FROM unnest($3::text[]) c WHERE c IS NULL)",
              3},
    [ECHO_BYTES] = {"t.echo_bytes", "SELECT $1::bytea", 1},
    [SETTINGS] = {"t.settings",
                  "SELECT current_setting($1::text), current_user::text, session_user::text", 1},
    [TYPES] = {"t.types",
               "SELECT $1::smallint, $2::integer, $3::bigint, $4::float8, $5::boolean, $6::text, "
               "$7::bytea, "
               "$8::uuid, $9::smallint[], $10::integer[], $11::uuid[], "
               "'1970-01-01 00:00:01+00'::timestamptz, NULL::bigint, NULL::text, "
               "$12::bigint[], $13::name",
               13},
    [SLEEP_LONG] = {"t.sleep_long", "SELECT pg_catalog.pg_sleep(60)", 0},
};

/* ---- a connection and what it told ---- */

typedef struct {
    pr_db_t *db;
    pr_params_t *params;
    pr_db_options_t options;
    int ready, lost;
    int ok, again, unknown, bad, fatal; /* results by class; unknown: again with an empty code */
    int64_t value;                      /* column 0 of the last good row, when it is a bigint */
    int64_t last_seen;                  /* for the order */
    bool out_of_order;
    pr_error_t error;
    pr_rc_t rc; /* of pr_db_io */
} fixture_t;

static void on_ready(void *arg)
{
    ((fixture_t *)arg)->ready++;
}

static void on_lost(void *arg)
{
    ((fixture_t *)arg)->lost++;
}

static void count_result(fixture_t *f, pr_rc_t rc, const pr_error_t *error)
{
    f->error = *error;
    f->ok += rc == PR_OK;
    f->again += rc == PR_AGAIN && error->code[0] != '\0';
    f->unknown += rc == PR_AGAIN && error->code[0] == '\0';
    f->bad += rc == PR_BAD;
    f->fatal += rc == PR_FATAL;
}

static void on_result(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    count_result(arg, rc, error);
    cr_expect_eq(rows != NULL, rc == PR_OK);
}

static void on_number(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    fixture_t *f = arg;
    count_result(f, rc, error);
    if (rc != PR_OK)
        return;
    f->value = pr_rows_i64(rows, 0, 0);
    f->out_of_order = f->out_of_order || f->value <= f->last_seen;
    f->last_seen = f->value;
}

static fixture_t *open_db(const char *url)
{
    fixture_t *f = PR_NEW(fixture_t);
    f->params = pr_params_new();
    f->last_seen = INT64_MIN;
    f->options = (pr_db_options_t){.url = url != NULL ? url : getenv("PR_TEST_URL"),
                                   .application_name = "postrider test",
                                   .statements = statements,
                                   .nstatements = COUNT,
                                   .on_ready = on_ready,
                                   .on_lost = on_lost,
                                   .arg = f};
    f->db = pr_db_new(&f->options);
    return f;
}

static void close_db(fixture_t *f)
{
    pr_db_destroy(&f->db);
    cr_expect_null(f->db);
    pr_params_destroy(&f->params);
    pr_free(f);
}

/* As the loop does it. */
static void turn(fixture_t *f, int64_t until_ms)
{
    struct pollfd item = {.fd = pr_db_fd(f->db), .events = pr_db_events(f->db)};
    if (item.fd < 0)
        item.events = 0;
    int64_t now = pr_clock_mono_ms();
    int64_t wake = pr_db_deadline_ms(f->db) < until_ms ? pr_db_deadline_ms(f->db) : until_ms;
    poll(&item, 1, wake > now ? (int)(wake - now) : 0);
    f->rc = pr_db_io(f->db, pr_clock_mono_ms(), &f->error);
}

/* Turns until *counter reaches `wanted`, or the patience ends. */
static bool wait_for_within(fixture_t *f, const int *counter, int wanted, int64_t patience_ms)
{
    int64_t until = pr_clock_mono_ms() + patience_ms;
    while (*counter < wanted && f->rc == PR_OK && pr_clock_mono_ms() < until)
        turn(f, until);
    return *counter >= wanted;
}

static bool wait_for(fixture_t *f, const int *counter, int wanted)
{
    return wait_for_within(f, counter, wanted, PATIENCE_MS);
}

static fixture_t *open_ready(void)
{
    fixture_t *f = open_db(NULL);
    cr_assert(wait_for(f, &f->ready, 1), "%s", f->error.text);
    return f;
}

static void ask_number(fixture_t *f, int64_t number)
{
    pr_params_clear(f->params);
    pr_params_add_i64(f->params, number);
    cr_assert(pr_db_query(f->db, ADD, f->params, on_number, f) == PR_OK);
}

static void ask_sleep(fixture_t *f, double seconds)
{
    pr_params_clear(f->params);
    pr_params_add_f64(f->params, seconds);
    cr_assert(pr_db_query(f->db, SLEEP, f->params, on_result, f) == PR_OK);
}

/* ---- the cluster ---- */

static void pg(const char *verb, const char *mode)
{
    char *const argv[] = {getenv("PR_TEST_PG"), (char *)(uintptr_t)verb, getenv("PR_TEST_DIR"),
                          (char *)(uintptr_t)mode, NULL};
    extern char **environ;
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    cr_assert_eq(posix_spawn(&pid, argv[0], &quiet, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&quiet);
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert_eq(status, 0, "pg.sh %s", verb);
}

static void run_sql(const char *sql)
{
    pr_db_sync_t *db = NULL;
    pr_error_t error = {0};
    cr_assert(pr_db_sync_connect(getenv("PR_TEST_URL"), NULL, &db, &error) == PR_OK, "%s",
              error.text);
    cr_assert(pr_db_sync_script(db, sql, &error) == PR_OK, "%s", error.text);
    pr_db_sync_destroy(&db);
}

/* ---- queries ---- */

Test(connection, queries_under_way_are_answered_in_their_order)
{
    fixture_t *f = open_ready();
    for (int i = 0; i < 500; i++)
        ask_number(f, i);
    cr_expect_eq(pr_db_pending(f->db), 500);
    cr_assert(wait_for(f, &f->ok, 500));
    cr_expect_eq(f->value, 500);
    cr_expect_not(f->out_of_order);
    cr_expect_eq(pr_db_pending(f->db), 0);
    close_db(f);
}

static void on_types(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    fixture_t *f = arg;
    count_result(f, rc, error);
    cr_assert(rc == PR_OK, "%s", error->text);
    uint8_t uuid[16];
    cr_expect_eq(pr_rows_count(rows), 1);
    cr_expect_eq(pr_rows_i16(rows, 0, 0), INT16_MIN);
    cr_expect_eq(pr_rows_i32(rows, 0, 1), INT32_MIN);
    cr_expect_eq(pr_rows_i64(rows, 0, 2), INT64_MIN);
    cr_expect_eq(pr_rows_f64(rows, 0, 3), -0.1);
    cr_expect(pr_rows_bool(rows, 0, 4));
    cr_expect_str_eq(pr_rows_text(rows, 0, 5), "h\xc3\xa9 \"quoted\" 'text'");
    cr_expect(pr_bytes_equal(pr_rows_bytes(rows, 0, 6), pr_bytes("\0\xff", 2)));
    cr_expect(pr_rows_uuid(rows, 0, 7, uuid));
    cr_expect_eq(uuid[15], 15);
    cr_expect_eq(pr_rows_time_us(rows, 0, 11), 1000000);
    cr_expect(pr_rows_null(rows, 0, 12));
    cr_expect_eq(pr_rows_i64(rows, 0, 12), 0);
    cr_expect_str_eq(pr_rows_text(rows, 0, 13), "");
    cr_expect_not(pr_rows_null(rows, 0, 0));
    int64_t numbers[3];
    cr_expect_eq(pr_rows_i64_array(rows, 0, 14, numbers, 3), 3);
    cr_expect_eq(numbers[2], -3);
    cr_expect_str_eq(pr_rows_text(rows, 0, 15), "a_name");
}

Test(connection, every_type_goes_there_and_back)
{
    fixture_t *f = open_ready();
    uint8_t uuids[2][16] = {{0}};
    for (int i = 0; i < 16; i++)
        uuids[0][i] = (uint8_t)i;
    pr_params_add_i16(f->params, INT16_MIN);
    pr_params_add_i32(f->params, INT32_MIN);
    pr_params_add_i64(f->params, INT64_MIN);
    pr_params_add_f64(f->params, -0.1);
    pr_params_add_bool(f->params, true);
    pr_params_add_text(f->params, "h\xc3\xa9 \"quoted\" 'text'");
    pr_params_add_bytes(f->params, pr_bytes("\0\xff", 2));
    pr_params_add_uuid(f->params, uuids[0]);
    pr_params_add_i16_array(f->params, (const int16_t[]){1, -1}, 2);
    pr_params_add_i32_array(f->params, (const int32_t[]){1, -1}, 2);
    pr_params_add_uuid_array(f->params, (const uint8_t(*)[16])uuids, 2);
    pr_params_add_i64_array(f->params, (const int64_t[]){1, 2, -3}, NULL, 3);
    pr_params_add_text(f->params, "a_name");
    cr_assert(pr_db_query(f->db, TYPES, f->params, on_types, f) == PR_OK);
    cr_assert(wait_for(f, &f->ok, 1));
    close_db(f);
}

static void on_sums(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    fixture_t *f = arg;
    count_result(f, rc, error);
    cr_assert(rc == PR_OK, "%s", error->text);
    cr_expect_eq(pr_rows_i64(rows, 0, 0), 200000);
    cr_expect_eq(pr_rows_i64(rows, 0, 1), INT64_C(199999) * 100000 - 7);
    cr_expect_eq(pr_rows_i64(rows, 0, 2), INT64_C(20000) * 1000 - 1000);
    cr_expect_eq(pr_rows_i64(rows, 0, 3), 1);
}

Test(connection, huge_arrays_with_nulls)
{
    fixture_t *f = open_ready();
    static int64_t numbers[200000];
    static bool no_number[200000], no_bytes[20000];
    static pr_bytes_t bytes[20000];
    static uint8_t kilobyte[1000];
    for (int i = 0; i < 200000; i++)
        numbers[i] = i;
    no_number[7] = true;
    for (int i = 0; i < 20000; i++)
        bytes[i] = pr_bytes(kilobyte, sizeof kilobyte);
    no_bytes[19999] = true;
    const char *const texts[] = {"a", NULL, ""};
    pr_params_add_i64_array(f->params, numbers, no_number, 200000);
    pr_params_add_bytes_array(f->params, bytes, no_bytes, 20000);
    pr_params_add_text_array(f->params, texts, 3);
    cr_assert(pr_db_query(f->db, SUMS, f->params, on_sums, f) == PR_OK);
    cr_assert(wait_for(f, &f->ok, 1));
    close_db(f);
}

static void on_empty_sums(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    fixture_t *f = arg;
    count_result(f, rc, error);
    cr_assert(rc == PR_OK, "%s", error->text);
    cr_expect_eq(pr_rows_i64(rows, 0, 0), 0);
    cr_expect(pr_rows_null(rows, 0, 1));
}

Test(connection, empty_arrays)
{
    fixture_t *f = open_ready();
    pr_params_add_i64_array(f->params, NULL, NULL, 0);
    pr_params_add_bytes_array(f->params, NULL, NULL, 0);
    pr_params_add_text_array(f->params, NULL, 0);
    cr_assert(pr_db_query(f->db, SUMS, f->params, on_empty_sums, f) == PR_OK);
    cr_assert(wait_for(f, &f->ok, 1));
    close_db(f);
}

/* Both directions full at once: neither side may wait for the other for ever. */
Test(connection, large_requests_and_answers_do_not_lock_each_other)
{
    fixture_t *f = open_ready();
    static uint8_t large[1 << 20];
    pr_params_add_bytes(f->params, pr_bytes(large, sizeof large));
    for (int i = 0; i < 60; i++)
        cr_assert(pr_db_query(f->db, ECHO_BYTES, f->params, on_result, f) == PR_OK);
    cr_expect(wait_for(f, &f->ok, 60), "%d of 60", f->ok);
    close_db(f);
}

Test(connection, too_many_queries_are_refused)
{
    fixture_t *f = open_ready();
    ask_sleep(f, 0.2);
    int taken = 1;
    pr_params_clear(f->params);
    pr_params_add_i64(f->params, 1);
    while (taken < 5000 && pr_db_query(f->db, ADD, f->params, on_number, f) == PR_OK)
        taken++;
    cr_expect_eq(taken, 1024);
    cr_expect(wait_for(f, &f->ok, taken));
    close_db(f);
}

/* ---- errors ---- */

Test(connection, an_error_touches_only_its_own_query)
{
    fixture_t *f = open_ready();
    ask_number(f, 1);
    pr_params_clear(f->params);
    pr_params_add_i32(f->params, 0);
    cr_assert(pr_db_query(f->db, DIVIDE, f->params, on_result, f) == PR_OK);
    ask_number(f, 2);
    cr_assert(wait_for(f, &f->ok, 2));
    cr_expect_eq(f->bad, 1);
    cr_expect_eq(f->value, 3);
    cr_expect_eq(f->lost, 0);
    close_db(f);
}

/* The INSERT itself succeeds; its COMMIT fails. Reporting the first answer would be a lie. */
Test(connection, a_failing_commit_is_no_success)
{
    fixture_t *f = open_ready();
    pr_params_add_i64(f->params, 77);
    cr_assert(pr_db_query(f->db, DEFERRED, f->params, on_result, f) == PR_OK);
    cr_assert(wait_for(f, &f->bad, 1), "ok %d", f->ok);
    cr_expect_str_eq(f->error.code, "23503");
    ask_number(f, 1);
    cr_expect(wait_for(f, &f->ok, 1), "the connection goes on");
    close_db(f);
}

Test(connection, a_statement_timeout_is_again_with_its_code)
{
    fixture_t *f = open_db(NULL);
    pr_db_destroy(&f->db);
    f->options.statement_timeout_ms = 100;
    f->db = pr_db_new(&f->options);
    cr_assert(wait_for(f, &f->ready, 1));
    ask_sleep(f, 30);
    cr_assert(wait_for(f, &f->again, 1));
    cr_expect_str_eq(f->error.code, "57014");
    cr_expect_eq(f->lost, 0);
    close_db(f);
}

Test(connection, wrong_parameters_are_a_bug, .signal = SIGABRT)
{
    fixture_t *f = open_ready();
    pr_params_add_i32(f->params, 1); /* bigint is wanted */
    pr_rc_t rc = pr_db_query(f->db, ADD, f->params, on_number, f);
    cr_assert_fail("not reached, rc %d", (int)rc);
}

/* ---- losing the connection ---- */

Test(connection, after_an_immediate_stop_it_comes_back_by_itself)
{
    fixture_t *f = open_ready();
    ask_sleep(f, 30);
    ask_number(f, 1);
    pg("stop", "immediate");
    cr_assert(wait_for(f, &f->lost, 1));
    cr_expect_eq(f->unknown, 2, "what was under way is unknown");
    cr_expect_not(pr_db_ready(f->db));
    pr_params_clear(f->params);
    pr_params_add_i64(f->params, 1);
    cr_expect(pr_db_query(f->db, ADD, f->params, on_number, f) == PR_AGAIN);
    pg("start", NULL);
    cr_assert(wait_for(f, &f->ready, 2));
    ask_number(f, 41);
    cr_assert(wait_for(f, &f->ok, 1));
    cr_expect_eq(f->value, 42);
    cr_expect_eq(f->lost, 1);
    close_db(f);
}

Test(connection, a_terminated_backend_leaves_the_outcome_unknown)
{
    fixture_t *f = open_ready();
    int pid = pr_db_backend_pid(f->db);
    cr_expect(pid > 1);
    ask_sleep(f, 30);
    char sql[64];
    snprintf(sql, sizeof sql, "SELECT pg_catalog.pg_terminate_backend(%d)", pid);
    run_sql(sql);
    cr_assert(wait_for(f, &f->unknown, 1));
    cr_expect_str_empty(f->error.code);
    cr_assert(wait_for(f, &f->ready, 2));
    cr_expect_neq(pr_db_backend_pid(f->db), pid);
    close_db(f);
}

Test(connection, a_server_that_falls_silent_is_given_up)
{
    fixture_t *f = open_db(NULL);
    pr_db_destroy(&f->db);
    f->options.statement_timeout_ms = 500;
    f->db = pr_db_new(&f->options);
    cr_assert(wait_for(f, &f->ready, 1));
    int pid = pr_db_backend_pid(f->db);
    cr_assert_eq(kill(pid, SIGSTOP), 0);
    ask_number(f, 1);
    int64_t before = pr_clock_mono_ms();
    bool noticed = wait_for(f, &f->unknown, 1);
    int64_t took = pr_clock_mono_ms() - before;
    kill(pid, SIGCONT);
    cr_expect(noticed);
    cr_expect(took >= 5000 && took < 30000, "%lld ms", (long long)took);
    cr_expect(wait_for(f, &f->ready, 2));
    close_db(f);
}

static void reset_inside(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    on_result(arg, rc, rows, error);
    pr_db_reset(((fixture_t *)arg)->db);
}

Test(connection, a_reset_inside_a_callback_waits_for_its_end)
{
    fixture_t *f = open_ready();
    pr_params_add_i64(f->params, 1);
    cr_assert(pr_db_query(f->db, ADD, f->params, reset_inside, f) == PR_OK);
    ask_number(f, 2);
    cr_assert(wait_for(f, &f->ready, 2));
    cr_expect_eq(f->ok, 1);
    cr_expect_eq(f->unknown, 1);
    cr_expect_eq(f->lost, 1);
    close_db(f);
}

Test(connection, destroying_it_answers_what_is_under_way)
{
    fixture_t *f = open_ready();
    ask_sleep(f, 30);
    ask_number(f, 1);
    pr_db_destroy(&f->db);
    cr_expect_eq(f->unknown, 2);
    pr_db_destroy(&f->db); /* twice is harmless */
    close_db(f);
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

Test(connection, no_descriptor_is_left_behind)
{
    fixture_t *f = open_ready();
    int before = open_descriptors();
    for (int i = 2; i < 40; i++) {
        ask_number(f, i);
        pr_db_reset(f->db);
        cr_assert(wait_for(f, &f->ready, i));
    }
    cr_expect_eq(open_descriptors(), before);
    close_db(f);
}

Test(connection, an_outage_does_not_flood_the_log)
{
    char path[] = "/tmp/pr-log-XXXXXX";
    int fd = mkstemp(path);
    int saved = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    fixture_t *f = open_db("host=/nonexistent dbname=x");
    int never = 0;
    wait_for_within(f, &never, 1, 4000); /* the outage */
    dup2(saved, STDERR_FILENO);
    close_db(f);
    off_t size = lseek(fd, 0, SEEK_END);
    char *text = pr_calloc((size_t)size + 1, 1);
    cr_assert_eq(pread(fd, text, (size_t)size, 0), size);
    int lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    cr_expect(lines >= 1 && lines <= 4, "%d lines: %s", lines, text); /* two each 10 s */
    pr_free(text);
    close(fd);
    remove(path);
}

/* ---- hosts that do not serve ---- */

/* A server that accepts and says nothing. */
static int listen_silently(char dir[])
{
    cr_assert_not_null(mkdtemp(dir));
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.5432", dir);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(fd, 8), 0);
    return fd;
}

static void remove_listener(const char *dir, int fd)
{
    close(fd);
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/.s.PGSQL.5432", dir);
    remove(path);
    remove(dir);
}

Test(connection, a_silent_first_host_does_not_hide_the_second)
{
    char dir[] = "/tmp/pr-silent-XXXXXX";
    int fd = listen_silently(dir);
    char *live = strstr(getenv("PR_TEST_URL"), "host=") + 5;
    PR_CLEANUP_FREE char *url =
        pr_asprintf("postgresql://postgres@/postgres?host=%s,%s", dir, live);
    fixture_t *f = open_db(url);
    int64_t before = pr_clock_mono_ms();
    cr_expect(wait_for(f, &f->ready, 1), "%s", f->error.text);
    int64_t took = pr_clock_mono_ms() - before;
    cr_expect(took >= 4500 && took < 30000, "%lld ms", (long long)took);
    close_db(f);
    remove_listener(dir, fd);
}

/* After 100, 200, 400, 800 ms, each up to a quarter less: each try waits longer for the next. */
Test(connection, tries_get_rarer)
{
    char dir[] = "/tmp/pr-silent-XXXXXX";
    int listener = listen_silently(dir);
    fcntl(listener, F_SETFL, O_NONBLOCK);
    PR_CLEANUP_FREE char *url = pr_asprintf("host=%s dbname=x", dir);
    fixture_t *f = open_db(url);
    int tries = 0;
    int64_t refused_ms = 0, until = pr_clock_mono_ms() + PATIENCE_MS;
    while (tries < 5 && pr_clock_mono_ms() < until && f->rc == PR_OK) {
        turn(f, pr_clock_mono_ms() + 20);
        int peer = accept(listener, NULL, NULL);
        if (peer < 0)
            continue;
        int64_t waited_ms = pr_clock_mono_ms() - refused_ms;
        cr_expect_geq(waited_ms, tries > 0 ? 37 << tries : 0, "try %d after %lld ms", tries,
                      (long long)waited_ms);
        tries++;
        close(peer); /* refuses at once */
        refused_ms = pr_clock_mono_ms();
    }
    cr_expect_eq(tries, 5);
    close_db(f);
    remove_listener(dir, listener);
}

/* ---- what refuses to start ---- */

static pr_rc_t start_with(pr_db_options_t options, pr_error_t *error)
{
    fixture_t *f = open_db(NULL);
    pr_db_destroy(&f->db);
    options.url = options.url != NULL ? options.url : f->options.url;
    options.application_name = "postrider test";
    options.on_ready = on_ready;
    options.arg = f;
    f->db = pr_db_new(&options);
    wait_for(f, &f->ready, 1);
    pr_rc_t rc = f->ready > 0 ? PR_OK : f->rc == PR_OK ? PR_AGAIN : f->rc;
    if (rc == PR_FATAL) {
        *error = f->error;
        cr_expect(pr_db_io(f->db, pr_clock_mono_ms(), NULL) == PR_FATAL, "it stays so");
        cr_expect_eq(pr_db_fd(f->db), -1);
    }
    close_db(f);
    return rc;
}

Test(connection, a_wrong_installation_is_refused_with_the_reason)
{
    static const pr_statement_t no_table[] = {{"t.good", "SELECT 1", 0},
                                              {"t.no_table", "SELECT * FROM postrider.nothing", 0}};
    static const pr_statement_t no_type[] = {{"t.type", "SELECT $1::bigint || '{}'::jsonb", 1}};
    static const pr_statement_t no_count[] = {{"t.count", "SELECT $1::bigint", 2}};
    PR_CLEANUP_FREE char *no_database =
        pr_asprintf("%s&dbname=nothing_there", getenv("PR_TEST_URL"));
    PR_CLEANUP_FREE char *no_user = pr_asprintf("%s&user=nobody_there", getenv("PR_TEST_URL"));
    const struct {
        const char *sentence;
        pr_db_options_t options;
        const char *code, *says;
    } cases[] = {
        {"a table that is not there",
         {.statements = no_table, .nstatements = 2},
         "42P01",
         "statement t.no_table: relation \"postrider.nothing\" does not exist"},
        {"a type that does not fit",
         {.statements = no_type, .nstatements = 1},
         "42883",
         "statement t.type"},
        {"another number of parameters",
         {.statements = no_count, .nstatements = 1},
         "",
         "statement t.count: the server sees 1 parameters, its file states 2"},
        {"a role that is not there", {.role = "nobody_there"}, "22023", "role nobody_there"},
        {"a database that is not there", {.url = no_database}, "3D000", "nothing_there"},
        {"a user that is not there", {.url = no_user}, "28000", "nobody_there"},
        {"no schema", {.schema_version = 3}, "42P01", "migrate"},
        {"no connection string", {.url = "postgresql://u:secret@[::1/"}, "", "libpq URI"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_error_t error = {0};
        pr_rc_t rc = start_with(cases[i].options, &error);
        cr_expect(rc == PR_FATAL, "%s: %s", cases[i].sentence, pr_rc_name(rc));
        cr_expect_str_eq(error.code, cases[i].code, "%s: %s", cases[i].sentence, error.code);
        cr_expect(strstr(error.text, cases[i].says) != NULL, "%s: %s", cases[i].sentence,
                  error.text);
        cr_expect_null(strstr(error.text, "secret"));
    }
}

Test(connection, another_schema_version_is_refused)
{
    run_sql("CREATE SCHEMA postrider; CREATE TABLE postrider.schema_version (version integer);"
            "INSERT INTO postrider.schema_version VALUES (1), (2)");
    pr_error_t error = {0};
    pr_rc_t same = start_with((pr_db_options_t){.schema_version = 2}, &error);
    pr_rc_t older = start_with((pr_db_options_t){.schema_version = 3}, &error);
    cr_expect(strstr(error.text, "run `postrider migrate`") != NULL, "%s", error.text);
    pr_rc_t newer = start_with((pr_db_options_t){.schema_version = 1}, &error);
    cr_expect(strstr(error.text, "install the build") != NULL, "%s", error.text);
    run_sql("DROP SCHEMA postrider CASCADE");
    cr_expect(same == PR_OK);
    cr_expect(older == PR_FATAL);
    cr_expect(newer == PR_FATAL);
}

/* ---- session settings ---- */

static const struct {
    const char *setting, *wanted;
} settings[] = {
    {"search_path", ""},
    {"statement_timeout", "1234ms"},
    {"lock_timeout", "10s"},
    {"idle_in_transaction_session_timeout", "10s"},
    {"jit", "off"},
    {"enable_seqscan", "off"},
    {"enable_bitmapscan", "off"},
    {"enable_hashjoin", "off"},
    {"enable_mergejoin", "off"},
    {"enable_indexscan", "on"},
    {"application_name", "postrider test"},
    {"client_encoding", "UTF8"},
};

typedef struct {
    fixture_t *f;
    char value[64], user[64], login[64];
} seen_t;

static void on_setting(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    seen_t *seen = arg;
    count_result(seen->f, rc, error);
    if (rc != PR_OK)
        return;
    snprintf(seen->value, sizeof seen->value, "%s", pr_rows_text(rows, 0, 0));
    snprintf(seen->user, sizeof seen->user, "%s", pr_rows_text(rows, 0, 1));
    snprintf(seen->login, sizeof seen->login, "%s", pr_rows_text(rows, 0, 2));
}

Test(connection, the_session_is_set_up_as_stated)
{
    run_sql("CREATE ROLE test_actor NOLOGIN");
    fixture_t *f = open_db(NULL);
    pr_db_destroy(&f->db);
    f->options.role = "test_actor";
    f->options.index_plans = true;
    f->options.statement_timeout_ms = 1234;
    f->db = pr_db_new(&f->options);
    cr_assert(wait_for(f, &f->ready, 1), "%s", f->error.text);
    for (size_t i = 0; i < PR_COUNT(settings); i++) {
        seen_t seen = {.f = f};
        pr_params_clear(f->params);
        pr_params_add_text(f->params, settings[i].setting);
        cr_assert(pr_db_query(f->db, SETTINGS, f->params, on_setting, &seen) == PR_OK);
        cr_assert(wait_for(f, &f->ok, (int)i + 1), "%s", f->error.text);
        cr_expect_str_eq(seen.value, settings[i].wanted, "%s: %s", settings[i].setting, seen.value);
        cr_expect_str_eq(seen.user, "test_actor");
        cr_expect_str_eq(seen.login, "postgres");
    }
    close_db(f);
    run_sql("DROP ROLE test_actor");
}

/* ---- the blocking side ---- */

Test(connection, a_script_is_all_or_nothing_and_names_the_line)
{
    pr_db_sync_t *db = NULL;
    pr_error_t error = {0};
    cr_assert(pr_db_sync_connect(getenv("PR_TEST_URL"), NULL, &db, &error) == PR_OK);
    pr_rc_t rc = pr_db_sync_script(
        db, "CREATE TABLE public.half (a int);\n-- h\xc3\xa9\nSELECT 1 FRM x;\n", &error);
    cr_expect(rc == PR_FATAL);
    cr_expect_str_eq(error.code, "42601");
    cr_expect(strncmp(error.text, "line 3: ", 8) == 0, "%s", error.text);
    pr_rows_t *rows = NULL;
    cr_assert(pr_db_sync_query(db, "SELECT to_regclass('public.half') IS NULL", NULL, &rows,
                               &error) == PR_OK);
    cr_expect(pr_rows_bool(rows, 0, 0));
    pr_rows_destroy(&rows);

    cr_expect(pr_db_sync_query(db, "SELECT 1/0", NULL, &rows, &error) == PR_BAD);
    cr_expect_null(rows);
    cr_expect_str_eq(error.code, "22012");
    pr_db_sync_destroy(&db);
    cr_expect(pr_db_sync_connect("host=/nonexistent", NULL, &db, &error) == PR_AGAIN);
    cr_expect_null(db);
}
