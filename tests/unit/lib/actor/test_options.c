/* SPDX-License-Identifier: Apache-2.0 */
#include "actor/actor_private.h"
#include "base/alloc.h"
#include "tests/support/egress_cases.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

TestSuite(options, .timeout = 300);

static pr_rc_t load(const char *yaml, const char *const *overrides, pr_config_t **out,
                    pr_error_t *error)
{
    return pr_config_load_text("t.yaml", pr_bytes_text(yaml), overrides, out, error);
}

/* ---- what is refused, where and why: the message must contain `says` ---- */

static const struct {
    const char *sentence;
    const char *yaml;
    const char *says;
} refused[] = {
    {"an unknown key at the top", "databas:\n  url: x\n", "t.yaml:1: unknown key databas"},
    {"an unknown key in a section", "http:\n  total_timeout: 9s\n  tls: 3s\n",
     "t.yaml:3: unknown key http.tls"},
    {"a very long unknown key",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: 1\n",
     "t.yaml:1: unknown key"},
    {"a key that stands twice", "lease: 3m\nlease: 4m\n",
     "t.yaml:2: lease stands here a second time; the first is t.yaml:1"},
    {"a key that stands twice over two sections", "breaker: {open: 1s}\nbreaker:\n  open: 2s\n",
     "t.yaml:3: breaker.open stands here a second time; the first is t.yaml:1"},
    {"a section where a value is wanted", "lease:\n  a: 1\n", "one value is wanted"},
    {"a list where a value is wanted", "lease: [1s]\n", "one value is wanted"},
    {"a value where a section is wanted", "http: 3\n", "http is a section"},
    {"a value where a list is wanted", "bus:\n  brokers: ipc:///a\n",
     "t.yaml:2: bus.brokers: a list is wanted"},
    {"a map inside a list", "bus:\n  brokers: [{a: b}]\n", "a list of texts is wanted"},
    {"no value at all", "lease:\n", "t.yaml:1: lease: the value is missing"},
    {"null", "lease: ~\n", "the value is missing"},
    {"a duration without a unit", "lease: 120\n", "t.yaml:1: lease: \"120\" is not allowed"},
    {"a duration with a strange unit", "lease: 2min\n", "ms, s, m, h or d"},
    {"a negative duration", "lease: -2m\n", "is not allowed"},
    {"a fraction of a duration", "lease: 1.5m\n", "is not allowed"},
    {"a duration out of range", "actor:\n  watchdog: 10ms\n", "from 1s to 1h"},
    {"a duration beyond 64 bits", "lease: 99999999999999999999s\n", "is not allowed"},
    {"a size without a unit", "http:\n  max_response: 65536\n", "B, KiB, MiB or GiB"},
    {"a size with a decimal unit", "http:\n  max_response: 64KB\n", "B, KiB, MiB or GiB"},
    {"a size out of range", "http:\n  max_response: 1GiB\n", "from 1KiB to 16MiB"},
    {"an integer with a unit", "breaker:\n  threshold: 5x\n", "a whole number"},
    {"an integer out of range", "breaker:\n  threshold: 0\n", "from 1 to 1000"},
    {"an integer with a leading space", "breaker:\n  threshold: \" 5\"\n", "a whole number"},
    {"a number that is none", "time_scale: nan\n", "a number"},
    {"a number out of range", "time_scale: 2\n", "from 0.0001 to 1"},
    {"YAML's other truths", "http:\n  allow_plain: yes\n", "true or false"},
    {"an alias", "lease: &a 2m\nmax_age: *a\n", "t.yaml:1: anchors"},
    {"an alias to nothing", "lease: *a\n", "t.yaml:1:"},
    {"an anchor on a section", "http: &h {total_timeout: 9s}\n", "anchors"},
    {"a tag", "lease: !!str 2m\n", "anchors (&name) and tags"},
    {"a merge key", "http:\n  <<: {total_timeout: 9s}\n", "unknown key http.<<"},
    {"two documents", "lease: 2m\n---\nlease: 3m\n", "a second document"},
    {"a list at the top", "- a\n", "sections and keys are wanted"},
    {"a word at the top", "hello\n", "sections and keys are wanted"},
    {"a list as a key", "? [a]\n: b\n", "a key must be a word"},
    {"broken YAML", "lease: \"2m\n", "no valid YAML"},
    {"a tab for indentation", "http:\n\ttotal_timeout: 9s\n", "t.yaml:2: no valid YAML"},
    {"a control byte", "lease: \"\001\"\n", "no valid YAML"},
    {"an escaped NUL", "log:\n  level: \"info\\0x\"\n", "NUL"},
    {"invalid UTF-8", "lease: \"\xff\"\n", "no valid YAML"},
    {"a log level that is none", "log: {level: loud}\n", "t.yaml:1: log.level: error, warn"},
    {"no broker", "bus: {brokers: []}\n", "bus.brokers: from one to sixteen"},
    {"a broker without a path", "bus: {brokers: [\"ipc://\"]}\n", "ipc:///PATH"},
    {"a broker without a port", "bus: {brokers: [\"tcp://h\"]}\n", "tcp://HOST:PORT"},
    {"a broker whose last ports do not exist", "bus: {brokers: [\"tcp://h:65535\"]}\n",
     "tcp://HOST:PORT"},
    {"an empty item in a list", "bus: {brokers: [\"\"]}\n", "no empty items"},
    {"a network with too many bits", "http: {allow_addresses: [10.0.0.0/33]}\n", "networks as"},
    {"a network that is a name", "http: {allow_addresses: [localhost]}\n", "networks as"},
    {"a currency in small letters", "priority: {large_minor: {cny: 1}}\n", "three capitals"},
    {"a currency twice", "priority: {large_minor: {CNY: 1, CNY: 2}}\n", "CNY stands here twice"},
    {"an amount that is none", "priority: {large_minor: {CNY: lots}}\n", "a whole number"},
    {"an amount beyond 2^53", "priority: {large_minor: {CNY: 9007199254740993}}\n", "from 0 to"},
    {"thresholds the wrong way round", "priority: {large_minor: {CNY: 1}, small_minor: {CNY: 2}}\n",
     "above priority.large_minor"},
    {"a lease as long as the timeout (P4)", "lease: 10s\n", "longer than http.total_timeout"},
    {"a timeout as long as the lease (P4)", "http: {total_timeout: 2m}\n",
     "longer than http.total_timeout"},
    {"a part longer than the whole", "http: {connect_timeout: 11s}\n",
     "http.connect_timeout: is longer"},
    {"a host's pool above the total", "http: {pool_per_host: 201}\n", "http.pool_total"},
    {"a database that is neither URI nor keywords", "database:\n  url: nonsense\n",
     "t.yaml:2: database.url: a libpq URI"},
    {"a retry policy that is none", "retry:\n  notification: nonsense\n",
     "t.yaml:2: retry.notification: list:5s,30s"},
    {"a retry policy without tries", "retry: {notification: \"fixed:5s*0\"}\n", "list:5s,30s"},
    {"an egress that lacks its word", "lanes:\n  p1:\n    egress: 127.0.0.1\n",
     "t.yaml:3: lanes.p1.egress: [http|https|socks5|socks5h]://"},
    {"a webhook of another kind", "alerts: {webhook: \"ftp://h/\"}\n", "alerts.webhook: https://"},
    {"a webhook with a password, which lib/http refuses", "alerts: {webhook: \"http://a:b@h/\"}\n",
     "t.yaml:1: alerts.webhook"},
    {"a webhook's port that is none", "alerts: {webhook: \"http://h:x/\"}\n", "alerts.webhook"},
    {"a network with bits below its prefix", "http: {allow_addresses: [10.0.0.1/8]}\n",
     "networks as"},
    {"a broker's path that is too long for the sockets behind it",
     "bus: {brokers: [\"ipc:///a23456789/b23456789/c23456789/d23456789/e23456789/f23456789/"
     "g23456789/h23456789/i23456789/j23456789\"]}\n",
     "to 99 bytes"},
    {"a breaker's port that is none", "bus: {breaker: \"tcp://h:70000\"}\n", "bus.breaker: ipc"},
    {"a session that ends between heartbeats", "scheduler: {heartbeat: 3s}\n", "three times"},
};

Test(options, every_mistake_is_refused_with_file_and_line)
{
    for (size_t i = 0; i < PR_COUNT(refused); i++) {
        pr_config_t *config = NULL;
        pr_error_t error = {0};
        pr_rc_t rc = load(refused[i].yaml, NULL, &config, &error);
        cr_expect(rc == PR_BAD && config == NULL, "%s: taken", refused[i].sentence);
        cr_expect(strstr(error.text, refused[i].says) != NULL, "%s: \"%s\"", refused[i].sentence,
                  error.text);
        pr_config_destroy(&config);
    }
}

Test(options, lanes_take_the_egresses_that_the_doors_take)
{
    static const char *const keys[] = {"lanes.p0.egress", "lanes.p1.egress", "lanes.p2.egress"};
    for (size_t i = 0; i < PR_COUNT(egress_cases) * PR_COUNT(keys); i++) {
        const char *key = keys[i % PR_COUNT(keys)];
        PR_CLEANUP_FREE char *set =
            pr_asprintf("%s=%s", key, egress_cases[i / PR_COUNT(keys)].text);
        const char *const overrides[] = {set, NULL};
        pr_config_t *config = NULL;
        pr_error_t error = {0};
        pr_rc_t rc = load("", overrides, &config, &error);
        cr_expect_eq(rc, egress_cases[i / PR_COUNT(keys)].ok ? PR_OK : PR_BAD, "%s: %s", set,
                     egress_cases[i / PR_COUNT(keys)].sentence);
        cr_expect(rc == PR_OK || strstr(error.text, key) != NULL, "%s", error.text);
        pr_config_destroy(&config);
    }
}

Test(options, deep_and_large_files_are_refused)
{
    pr_buffer_t text;
    pr_buffer_init(&text, 1u << 20);
    for (int i = 0; i < 5000; i++)
        cr_assert(pr_buffer_append_text(&text, "{lanes: ") == PR_OK);
    pr_config_t *config = NULL;
    pr_error_t error;
    cr_expect(load(pr_buffer_text(&text), NULL, &config, &error) == PR_BAD);
    pr_buffer_clear(&text);
    for (int i = 0; i < 5000; i++)
        cr_assert(pr_buffer_append_text(&text, "[") == PR_OK);
    cr_expect(load(pr_buffer_text(&text), NULL, &config, &error) == PR_BAD);

    pr_buffer_clear(&text);
    while (text.len <= PR_CONFIG_FILE_MAX)
        cr_assert(pr_buffer_append_text(&text, "# a comment that is long enough\n") == PR_OK);
    cr_expect(load(pr_buffer_text(&text), NULL, &config, &error) == PR_BAD);
    cr_expect(strstr(error.text, "256 KiB") != NULL, "%s", error.text);
    pr_buffer_free(&text);
}

/* ---- what is taken ---- */

static const char whole_file[] = "# everything that a reader may write\n"
                                 "database: {url: 'postgresql://a,b/x?user=y'}\n"
                                 "bus:\n"
                                 "  brokers: ['ipc:///run/x/b1', tcp://10.0.0.1:7000]\n"
                                 "lease: \"3m\"\n"
                                 "lanes:\n"
                                 "  p0:\n"
                                 "    share: 7\n"
                                 "  p1: {egress: socks5h://proxy:1080}\n"
                                 "priority:\n"
                                 "  large_minor: {CNY: 500000, JPY: 9007199254740991}\n"
                                 "retry:\n"
                                 "  notification: fixed:5s*5\n"
                                 "breaker:\n"
                                 "  recovery_rate: 2.5e-1\n"
                                 "http:\n"
                                 "  max_response: 32KiB\n"
                                 "  allow_plain: true\n"
                                 "  allow_addresses: [127.0.0.0/8, '::1', fd00::/8]\n"
                                 "time_scale: 0.01\n"
                                 "alerts: {webhook: \"\"}\n";

Test(options, every_type_reads_back)
{
    pr_config_t *c = NULL;
    pr_error_t error = {0};
    cr_assert(load(whole_file, NULL, &c, &error) == PR_OK, "%s", error.text);
    cr_expect_str_eq(pr_config_text(c, "database.url"), "postgresql://a,b/x?user=y");
    cr_expect_eq(pr_config_duration_ms(c, "lease"), 180000);
    cr_expect_eq(pr_config_scaled_ms(c, "breaker.open"), 300);
    cr_expect_eq(pr_config_int(c, "lanes.p0.share"), 7);
    cr_expect_eq(pr_config_int(c, "lanes.p1.share"), 10, "a default beside it stays");
    cr_expect_str_eq(pr_config_text(c, "lanes.p1.egress"), "socks5h://proxy:1080");
    cr_expect_eq(pr_config_size(c, "http.max_response"), 32768);
    cr_expect(pr_config_bool(c, "http.allow_plain"));
    cr_expect_float_eq(pr_config_real(c, "breaker.recovery_rate"), 0.25, 1e-12);

    const char *const *items;
    cr_assert_eq(pr_config_list(c, "bus.brokers", &items), 2);
    cr_expect_str_eq(items[1], "tcp://10.0.0.1:7000");
    cr_assert_eq(pr_config_list(c, "http.allow_addresses", &items), 3);
    const int64_t *amounts;
    cr_assert_eq(pr_config_map(c, "priority.large_minor", &items, &amounts), 2);
    cr_expect_str_eq(items[1], "JPY");
    cr_expect_eq(amounts[1], 9007199254740991);
    pr_config_destroy(&c);
    cr_expect_null(c);
}

Test(options, an_empty_file_means_defaults)
{
    static const char *const empty[] = {"", "# nothing\n", "---\n", "---\n...\n", "{}\n"};
    for (size_t i = 0; i < PR_COUNT(empty); i++) {
        pr_config_t *c = NULL;
        pr_error_t error = {0};
        cr_assert(load(empty[i], NULL, &c, &error) == PR_OK, "%s: %s", empty[i], error.text);
        cr_expect_eq(pr_config_duration_ms(c, "http.total_timeout"), 10000);
        pr_config_destroy(&c);
    }
}

/* requirements.md, P4, N5-N8, N12, N13 */
Test(options, defaults_are_the_required_ones)
{
    pr_config_t *c = NULL;
    cr_assert(load("", NULL, &c, NULL) == PR_OK);
    cr_expect_eq(pr_config_duration_ms(c, "lease"), 120000);
    cr_expect_eq(pr_config_duration_ms(c, "relay.scan"), 3000);
    cr_expect_eq(pr_config_int(c, "lanes.p0.share"), 20);
    cr_expect_eq(pr_config_int(c, "lanes.p1.share"), 10);
    cr_expect_eq(pr_config_int(c, "lanes.p2.share"), 5);
    cr_expect_str_eq(pr_config_text(c, "retry.notification"), "list:5s,30s,5m,30m,1h,2h,6h,24h");
    cr_expect_eq(pr_config_duration_ms(c, "http.connect_timeout"), 3000);
    cr_expect_eq(pr_config_duration_ms(c, "http.tls_timeout"), 3000);
    cr_expect_eq(pr_config_duration_ms(c, "http.first_byte_timeout"), 5000);
    cr_expect_eq(pr_config_size(c, "http.max_response"), 65536);
    cr_expect_eq(pr_config_size(c, "http.keep_response"), 1024);
    cr_expect_eq(pr_config_int(c, "breaker.threshold"), 5);
    cr_expect_eq(pr_config_duration_ms(c, "breaker.open"), 30000);
    cr_expect_eq(pr_config_duration_ms(c, "max_age"), 72 * 3600 * 1000);
    cr_expect_eq(pr_config_duration_ms(c, "retry_after_cap"), 24 * 3600 * 1000);
    pr_config_destroy(&c);
}

Test(options, a_scaled_schedule_never_becomes_nothing)
{
    static const char *const smallest[] = {"time_scale=0.0001", "breaker.open=5ms", NULL};
    pr_config_t *c = NULL;
    cr_assert(load("", smallest, &c, NULL) == PR_OK);
    cr_expect_eq(pr_config_scaled_ms(c, "breaker.open"), 1);
    cr_expect_eq(pr_config_duration_ms(c, "breaker.open"), 5, "as written");
    pr_config_destroy(&c);
}

/* ---- flags and environment ---- */

Test(options, a_flag_beats_the_file)
{
    static const char *const flags[] = {"lease=4m", "bus.brokers=ipc:///a,ipc:///b",
                                        "priority.large_minor.CNY=5",
                                        "priority.small_minor=CNY=1,USD=2", NULL};
    pr_config_t *c = NULL;
    pr_error_t error = {0};
    cr_assert(load("lease: 3m\npriority: {large_minor: {JPY: 7}}\n", flags, &c, &error) == PR_OK,
              "%s", error.text);
    cr_expect_eq(pr_config_duration_ms(c, "lease"), 240000);
    const char *const *items;
    const int64_t *amounts;
    cr_expect_eq(pr_config_list(c, "bus.brokers", &items), 2);
    cr_expect_eq(pr_config_map(c, "priority.large_minor", &items, &amounts), 2, "one entry added");
    cr_expect_eq(pr_config_map(c, "priority.small_minor", &items, &amounts), 2);
    pr_config_destroy(&c);
}

Test(options, bad_flags_are_refused)
{
    static const char *const bad[] = {"lease",
                                      "=3",
                                      "leas=3m",
                                      "lease=3",
                                      "priority.large_minor.=3",
                                      "bus.brokers=ipc:///a,",
                                      "bus.brokers=,ipc:///a",
                                      "priority.large_minor=CNY",
                                      "database=x",
                                      "lease="};
    for (size_t i = 0; i < PR_COUNT(bad); i++) {
        const char *const flags[] = {bad[i], NULL};
        pr_config_t *c = NULL;
        pr_error_t error = {0};
        cr_expect(load("", flags, &c, &error) == PR_BAD, "%s was taken", bad[i]);
        cr_expect(strncmp(error.text, "--set", 5) == 0, "%s", error.text);
        pr_config_destroy(&c);
    }
}

static pr_rc_t load_file(const char *yaml, const char *const *flags, pr_config_t **out,
                         pr_error_t *error)
{
    char path[] = "/tmp/pr-options-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    FILE *file = fdopen(fd, "w");
    fputs(yaml, file);
    fclose(file);
    pr_rc_t rc = pr_config_load(path, flags, out, error);
    remove(path);
    return rc;
}

Test(options, the_environment_stands_between_file_and_flags)
{
    static const char *const flags[] = {"breaker.threshold=9", NULL};
    setenv("POSTRIDER_LEASE", "5m", 1);
    setenv("POSTRIDER_BREAKER_THRESHOLD", "8", 1);
    setenv("POSTRIDER_LANES_P0_SHARE", "", 1);
    setenv("POSTRIDER_SOMETHING_ELSE", "of a script", 1);
    setenv("POSTRIDER_PRIORITY_LARGE_MINOR", "CNY=3", 1);
    pr_config_t *c = NULL;
    pr_error_t error = {0};
    cr_assert(load_file("lease: 3m\nlanes: {p0: {share: 6}}\n", flags, &c, &error) == PR_OK, "%s",
              error.text);
    cr_expect_eq(pr_config_duration_ms(c, "lease"), 300000, "environment beats file");
    cr_expect_eq(pr_config_int(c, "breaker.threshold"), 9, "flag beats environment");
    cr_expect_eq(pr_config_int(c, "lanes.p0.share"), 6, "an empty variable is none");
    pr_config_destroy(&c);

    setenv("POSTRIDER_LEASE", "5", 1);
    cr_expect(load_file("", NULL, &c, &error) == PR_BAD);
    cr_expect(strstr(error.text, "environment POSTRIDER_LEASE: lease:") != NULL, "%s", error.text);
}

Test(options, a_missing_file_is_an_error)
{
    pr_config_t *c = NULL;
    pr_error_t error = {0};
    cr_expect(pr_config_load("/nonexistent/x.yaml", NULL, &c, &error) == PR_BAD);
    cr_expect(strstr(error.text, "/nonexistent/x.yaml: No such file") != NULL, "%s", error.text);
    cr_expect_str_eq(error.code, "ENOENT");
    cr_expect(pr_config_load("/tmp", NULL, &c, &error) == PR_BAD, "a directory");
}

/* ---- printing ---- */

static char *printed(const pr_config_t *config)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    pr_config_dump(config, out);
    fclose(out);
    char *copy = pr_strdup(text);
    free(text);
    return copy;
}

Test(options, a_dump_is_a_file_that_loads_to_the_same)
{
    static const char *const flags[] = {"database.url=", NULL}; /* secrets do not survive a dump */
    pr_config_t *first = NULL, *second = NULL;
    cr_assert(load(whole_file, flags, &first, NULL) == PR_OK);
    PR_CLEANUP_FREE char *dump = printed(first);
    pr_error_t error = {0};
    cr_assert(load(dump, NULL, &second, &error) == PR_OK, "%s\n%s", error.text, dump);
    for (int i = 0; pr_settings[i].key != NULL; i++)
        cr_expect_str_eq(first->values[i].text, second->values[i].text, "%s", pr_settings[i].key);
    pr_config_destroy(&first);
    pr_config_destroy(&second);
}

Test(options, secrets_are_shown_neither_by_dump_nor_by_errors)
{
    static const char *const flags[] = {"database.url=postgresql://u:topsecret@h/d",
                                        "alerts.webhook=https://h/topsecret", NULL};
    pr_config_t *c = NULL;
    cr_assert(load("", flags, &c, NULL) == PR_OK);
    PR_CLEANUP_FREE char *dump = printed(c);
    cr_expect_null(strstr(dump, "topsecret"));
    cr_expect_not_null(strstr(dump, "url: \"***\""));
    pr_config_destroy(&c);

    pr_error_t error = {0};
    cr_expect(load("alerts: {webhook: topsecret}\n", NULL, &c, &error) == PR_BAD);
    cr_expect_null(strstr(error.text, "topsecret"), "%s", error.text);
}

Test(options, the_table_is_in_order)
{
    for (int i = 0; pr_settings[i].key != NULL; i++) {
        const pr_option_t *o = &pr_settings[i];
        cr_expect_eq(pr_setting_find(o->key), i, "%s stands twice", o->key);
        cr_expect(o->help != NULL && o->help[strlen(o->help) - 1] == '.', "%s", o->key);
        cr_expect(!pr_setting_is_section(o->key), "%s is key and section", o->key);
    }
}

/* docs/configuration.md is made from the table; this fails when somebody forgot. */
Test(options, the_documentation_is_up_to_date)
{
    const char *home = getenv("POSTRIDER_HOME"); /* tests/run sets it */
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/docs/configuration.md", home != NULL ? home : ".");
    FILE *file = fopen(path, "r");
    if (file == NULL && home == NULL)
        cr_skip_test("not in a checkout");
    cr_assert_not_null(file, "%s", path);
    char *wanted = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&wanted, &size);
    pr_settings_docs(out);
    fclose(out);
    PR_CLEANUP_FREE char *found = pr_calloc(size + 2, 1);
    size_t got = fread(found, 1, size + 1, file);
    fclose(file);
    cr_expect(got == size && memcmp(found, wanted, size) == 0,
              "run: postrider-broker --dump-docs > docs/configuration.md");
    free(wanted);
}

/* ---- reload ---- */

Test(options, a_reload_takes_the_reloadable_and_can_be_undone)
{
    pr_config_t *old = NULL, *fresh = NULL;
    cr_assert(load("log: {level: info}\nlease: 3m\n", NULL, &old, NULL) == PR_OK);
    cr_assert(load("log: {level: debug}\nlease: 4m\n", NULL, &fresh, NULL) == PR_OK);
    int index = pr_config_next_fixed_difference(old, fresh, 0);
    cr_assert(index >= 0);
    cr_expect_str_eq(pr_settings[index].key, "lease");
    cr_expect_eq(pr_config_next_fixed_difference(old, fresh, index + 1), -1);

    pr_config_swap_reloadable(old, fresh);
    cr_expect_str_eq(pr_config_text(old, "log.level"), "debug");
    cr_expect_eq(pr_config_duration_ms(old, "lease"), 180000, "needs a restart");
    pr_config_swap_reloadable(old, fresh);
    cr_expect_str_eq(pr_config_text(old, "log.level"), "info");
    pr_config_destroy(&old);
    pr_config_destroy(&fresh);
}

/* ---- bus addresses ---- */

Test(options, bus_addresses_stand_beside_their_broker)
{
    static const struct {
        const char *base, *socket, *wanted;
    } cases[] = {
        {"ipc:///run/x/b1", "work", "ipc:///run/x/b1.work"},
        {"ipc:///run/x/b1", "tap", "ipc:///run/x/b1.tap"},
        {"tcp://h:7000", "work", "tcp://h:7000"},
        {"tcp://h:7000", "state", "tcp://h:7004"},
        {"tcp://[::1]:7000", "tap", "tcp://[::1]:7005"},
        {"ipc:///run/x/b1", "calls", "ipc:///run/x/b1.calls"},
        {"tcp://h:7000", "calls", "tcp://h:7007"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        PR_CLEANUP_FREE char *got = pr_bus_address(cases[i].base, cases[i].socket);
        cr_expect_str_eq(got, cases[i].wanted);
    }
}

Test(options, breaker_and_scheduler_have_addresses_of_their_own)
{
    static const struct {
        const char *yaml, *breaker;
    } cases[] = {
        {"bus: {brokers: ['ipc:///run/x/b1']}", "ipc:///run/x/breaker.sock"},
        {"bus: {brokers: ['tcp://h:7000']}", "tcp://h:7006"},
        {"bus: {breaker: tcp://b:1}", "tcp://b:1"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_config_t *c = NULL;
        cr_assert(load(cases[i].yaml, NULL, &c, NULL) == PR_OK);
        PR_CLEANUP_FREE char *breaker = pr_bus_breaker_address(c);
        cr_expect_str_eq(breaker, cases[i].breaker);
        pr_config_destroy(&c);
    }
}
