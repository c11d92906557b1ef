/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of lib/db that need no server: error classes, binary parameters, the turning of
 * hosts. All else is in tests/integration/db.
 */
#include "base/alloc.h"
#include "db/db_private.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(db_parts, .timeout = 300);

Test(db_parts, each_sqlstate_says_what_to_do_next)
{
    static const struct {
        const char *sqlstate;
        pr_rc_t wanted;
        const char *sentence;
    } cases[] = {
        {NULL, PR_AGAIN, "libpq gives none when the connection broke"},
        {"", PR_AGAIN, "the same"},
        {"08006", PR_AGAIN, "connection failure"},
        {"40001", PR_AGAIN, "serialization failure"},
        {"40P01", PR_AGAIN, "deadlock"},
        {"53300", PR_AGAIN, "too many connections"},
        {"53100", PR_AGAIN, "disk full"},
        {"55P03", PR_AGAIN, "lock timeout"},
        {"57014", PR_AGAIN, "statement timeout"},
        {"57P01", PR_AGAIN, "shutting down"},
        {"57P03", PR_AGAIN, "starting up"},
        {"58030", PR_AGAIN, "input/output error"},
        {"25006", PR_AGAIN, "read-only: no longer the primary"},
        {"22021", PR_BAD, "invalid byte sequence"},
        {"22P02", PR_BAD, "invalid text"},
        {"23505", PR_BAD, "duplicate"},
        {"23503", PR_BAD, "foreign key"},
        {"21000", PR_BAD, "one row twice in ON CONFLICT"},
        {"54000", PR_BAD, "too large"},
        {"PR001", PR_BAD, "raised by us"},
        {"42P01", PR_FATAL, "no such table"},
        {"42501", PR_FATAL, "no right"},
        {"28P01", PR_FATAL, "wrong password"},
        {"3D000", PR_FATAL, "no such database"},
        {"55000", PR_FATAL, "object not in the state that is wanted"},
        {"25P02", PR_FATAL, "transaction aborted: ours is wrong"},
        {"XX000", PR_FATAL, "internal"},
        {"0A000", PR_FATAL, "a cached plan whose result changed"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_rc_t rc = pr_sqlstate_rc(cases[i].sqlstate);
        cr_expect(rc == cases[i].wanted, "%s (%s): %s",
                  cases[i].sqlstate != NULL ? cases[i].sqlstate : "NULL", cases[i].sentence,
                  pr_rc_name(rc));
    }
}

/* ---- parameters ---- */

static void expect_bytes(const pr_bound_t *bound, int at, const char *bytes, int len)
{
    cr_expect_eq(bound->lengths[at], len, "parameter %d", at);
    cr_expect(memcmp(bound->values[at], bytes, (size_t)len) == 0, "parameter %d", at);
    cr_expect_eq(bound->formats[at], 1);
}

Test(db_parts, numbers_are_big_endian_and_null_is_null)
{
    pr_params_t *params = pr_params_new();
    pr_params_add_i16(params, -2);
    pr_params_add_i32(params, 0x01020304);
    pr_params_add_i64(params, INT64_MIN);
    pr_params_add_f64(params, 1.0);
    pr_params_add_bool(params, true);
    pr_params_add_text(params, "");
    pr_params_add_text(params, NULL);
    pr_params_add_null(params);
    pr_params_add_bytes(params, pr_bytes(NULL, 0));
    pr_bound_t bound;
    pr_params_bind(params, &bound);
    expect_bytes(&bound, 0, "\xff\xfe", 2);
    expect_bytes(&bound, 1, "\1\2\3\4", 4);
    expect_bytes(&bound, 2, "\x80\0\0\0\0\0\0\0", 8);
    expect_bytes(&bound, 3, "\x3f\xf0\0\0\0\0\0\0", 8);
    expect_bytes(&bound, 4, "\1", 1);
    expect_bytes(&bound, 5, "", 0);
    cr_expect_null(bound.values[6]);
    cr_expect_null(bound.values[7]);
    cr_expect_not_null(bound.values[8], "empty is not NULL");
    pr_params_destroy(&params);
    cr_expect_null(params);
    pr_params_destroy(&params);
}

Test(db_parts, arrays_as_array_recv_wants_them)
{
    pr_params_t *params = pr_params_new();
    const bool nulls[] = {false, true};
    pr_params_add_i64_array(params, (const int64_t[]){1, 0}, nulls, 2);
    pr_params_add_text_array(params, (const char *const[]){"ab"}, 1);
    pr_params_add_i32_array(params, NULL, 0);
    pr_bound_t bound;
    pr_params_bind(params, &bound);
    expect_bytes(&bound, 0,
                 "\0\0\0\1"
                 "\0\0\0\1"
                 "\0\0\0\x14"
                 "\0\0\0\2"
                 "\0\0\0\1"
                 "\0\0\0\x08"
                 "\0\0\0\0\0\0\0\1"
                 "\xff\xff\xff\xff",
                 36);
    expect_bytes(&bound, 1,
                 "\0\0\0\1"
                 "\0\0\0\0"
                 "\0\0\0\x19"
                 "\0\0\0\1"
                 "\0\0\0\1"
                 "\0\0\0\2"
                 "ab",
                 26);
    expect_bytes(&bound, 2,
                 "\0\0\0\0"
                 "\0\0\0\0"
                 "\0\0\0\x17",
                 12);
    pr_params_destroy(&params);
}

Test(db_parts, a_cleared_set_starts_anew)
{
    pr_params_t *params = pr_params_new();
    for (int round = 0; round < 1000; round++) {
        pr_params_clear(params);
        pr_params_add_i32(params, round);
        pr_params_add_text(params, "x");
    }
    cr_expect_eq(params->count, 2);
    cr_expect_leq(params->bytes.len, 16);
    pr_params_destroy(&params);
}

Test(db_parts, only_types_of_the_same_bytes_fit)
{
    cr_expect(pr_params_fits(PR_OID_I64, PR_OID_I64));
    cr_expect(pr_params_fits(PR_OID_I64, PR_OID_XID8));
    cr_expect(pr_params_fits(PR_OID_TEXT, PR_OID_NAME));
    cr_expect(pr_params_fits(0, PR_OID_UUID), "NULL fits everywhere");
    cr_expect_not(pr_params_fits(PR_OID_I32, PR_OID_I64));
    cr_expect_not(pr_params_fits(PR_OID_I64, PR_OID_TIMESTAMPTZ));
    cr_expect_not(pr_params_fits(PR_OID_TEXT, PR_OID_BYTEA));
    cr_expect_not(pr_params_fits(PR_OID_TEXT, 3802), "jsonb has a version byte");
}

/* ---- connection strings ---- */

static const char *value_of(const pr_conninfo_t *info, const char *key)
{
    const char *found = "";
    for (int i = 0; i < info->count; i++) {
        if (strcmp(info->keys[i], key) == 0)
            found = info->values[i];
    }
    return found;
}

Test(db_parts, hosts_turn_with_their_ports)
{
    static const struct {
        int turn;
        const char *hosts, *ports;
    } cases[] = {
        {0, "a,b,c", "1,2,3"}, {1, "b,c,a", "2,3,1"},         {2, "c,a,b", "3,1,2"},
        {3, "a,b,c", "1,2,3"}, {INT32_MAX, "b,c,a", "2,3,1"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_conninfo_t info;
        cr_assert(pr_conninfo_init(&info, "postgresql://u@a:1,b:2,c:3/d", "x", cases[i].turn,
                                   NULL) == PR_OK);
        cr_expect_str_eq(value_of(&info, "host"), cases[i].hosts);
        cr_expect_str_eq(value_of(&info, "port"), cases[i].ports);
        pr_conninfo_free(&info);
    }
}

Test(db_parts, our_defaults_give_way_to_what_was_written)
{
    pr_conninfo_t info;
    cr_assert(pr_conninfo_init(&info, "host=h connect_timeout=9 application_name=theirs", "ours", 0,
                               NULL) == PR_OK);
    cr_expect_str_eq(value_of(&info, "connect_timeout"), "9");
    cr_expect_str_eq(value_of(&info, "application_name"), "ours");
    cr_expect_str_eq(value_of(&info, "tcp_user_timeout"), "15000");
    cr_expect_str_eq(value_of(&info, "target_session_attrs"), "read-write");
    cr_expect_null(info.keys[info.count]);
    pr_conninfo_free(&info);
}

Test(db_parts, a_bad_string_is_refused_without_showing_it)
{
    pr_conninfo_t info;
    pr_error_t error = {0};
    cr_expect(pr_conninfo_init(&info, "postgresql://u:secret@[::1/d", "x", 0, &error) == PR_FATAL);
    cr_expect_null(strstr(error.text, "secret"));
    pr_conninfo_free(&info);
}
