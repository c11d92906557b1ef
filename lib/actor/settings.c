/* SPDX-License-Identifier: Apache-2.0
 *
 * Every setting, once: --help, --dump-config, docs/configuration.md and the checks are made of
 * this table. Within a section in the order in which a reader wants them. Where a default comes
 * from requirements.md, its row stands behind it.
 */
#include "actor/options.h"

#define TEXT PR_OPTION_TEXT
#define INT PR_OPTION_INT
#define REAL PR_OPTION_REAL
#define BOOL PR_OPTION_BOOL
#define DURATION PR_OPTION_DURATION
#define SIZE PR_OPTION_SIZE
#define LIST PR_OPTION_LIST
#define MAP_INT PR_OPTION_MAP_INT

#define SECOND 1000.0
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define KIB 1024.0
#define YES true
#define NO false

/* clang-format off */
const pr_option_t pr_settings[] = {
    /* key, type, default, min, max, reloadable, secret, help */
    {"database.url", TEXT, "", 0, 0, NO, YES,
     "Where Postgres is: a libpq URI or keyword=value list; several hosts are allowed, the one that takes writes is used."},
    {"master_key_file", TEXT, "", 0, 0, NO, NO,
     "File with the 32-byte key (64 hex digits) that opens the sealed secrets of merchants and channels."},
    {"profiles_dir", TEXT, "", 0, 0, NO, NO,
     "Directory of gateway profiles, NAME.yaml each (docs/profiles.md); empty = those that came with Postrider."},

    {"bus.brokers", LIST, "ipc:///run/postrider/b1", 0, 0, NO, NO,
     "Base address of each broker, ipc:///PATH or tcp://HOST:PORT; docs/bus.md tells which sockets stand behind one."},
    {"bus.breaker", TEXT, "", 0, 0, NO, NO,
     "Where the circuit-breaker answers questions and takes commands; empty = breaker.sock beside the first broker's ipc path."},
    {"bus.scheduler", TEXT, "", 0, 0, NO, NO,
     "Own address of a scheduler, for workers when every broker is away; empty = one of its own beside the first broker's ipc path."},

    {"log.level", TEXT, "info", 0, 0, YES, NO, "Least important records written: error, warn, info or debug."},

    {"actor.drain_timeout", DURATION, "15s", 0, HOUR, YES, NO, "How long a stopping process may finish what is in flight (N18)."},
    {"actor.watchdog", DURATION, "30s", SECOND, HOUR, NO, NO, "A loop that has not turned for this long is aborted."},

    {"time_scale", REAL, "1", 0.0001, 1, NO, NO,
     "Multiplies every schedule (retry delays, breaker, max_age), never a Retry-After, timeouts, heartbeats or leases; for demonstrations and tests."},

    {"hooks.payment", TEXT, "", 0, 0, NO, NO,
     "Function of the application, schema.function of (jsonb), SECURITY DEFINER, run for each payment event inside its transaction; if it fails the payment commits and a task is opened (P17). `up` writes it to the database."},

    {"lanes.p0.share", INT, "20", 1, 1000, NO, NO, "Share of worker slots of class P0: large amounts and VIP merchants (N6)."},
    {"lanes.p0.egress", TEXT, "", 0, 0, NO, NO, "What requests of class P0 leave through: a proxy ([http|https|socks5|socks5h]://[USER:WORD@]HOST[:PORT]), address:IP (one of this machine's) or interface:NAME; empty = as the machine routes. An endpoint may have its own."},
    {"lanes.p1.share", INT, "10", 1, 1000, NO, NO, "Share of worker slots of class P1: normal (N6)."},
    {"lanes.p1.egress", TEXT, "", 0, 0, NO, NO, "As lanes.p0.egress, for class P1."},
    {"lanes.p2.share", INT, "5", 1, 1000, NO, NO, "Share of worker slots of class P2: small amounts (N6)."},
    {"lanes.p2.egress", TEXT, "", 0, 0, NO, NO, "As lanes.p0.egress, for class P2."},

    {"priority.large_minor", MAP_INT, "", 0, 9007199254740991.0, NO, NO,
     "By currency: an amount of at least so many minor units is class P0. `up` writes it to the database."},
    {"priority.small_minor", MAP_INT, "", 0, 9007199254740991.0, NO, NO,
     "By currency: an amount below so many minor units is class P2."},

    {"worker.slots", INT, "210", 3, 1024, NO, NO, "Requests that one notifier has in flight at most, all classes together."},

    {"gateway.slots", INT, "64", 3, 1024, NO, NO, "Calls that one gateway-poller or charger has in flight at most."},
    {"gateway.keep_exchange", SIZE, "8KiB", 0, 12 * KIB, NO, NO,
     "So much of a call's request body, and of its answer's, is kept for the timeline, without secrets (C8); 0: nothing of a call but its outcome."},

    {"retry.notification", TEXT, "list:5s,30s,5m,30m,1h,2h,6h,24h", 0, 0, NO, NO,
     "Delays after failed tries (N8): list:5s,30s | fixed:5s*5 | linear:5s*3 | exponential:1s..6h*10 | exponential-jitter:1s..6h*10; jitter=... follows after ; (10 % are added by default, P6); an endpoint may have its own."},
    {"retry_after_cap", DURATION, "24h", SECOND, 30 * DAY, NO, NO, "A receiver's Retry-After counts up to this."},
    {"max_age", DURATION, "72h", SECOND, 365 * DAY, NO, NO, "A delivery older than this is dead, reason expired (N13)."},
    {"lease", DURATION, "2m", SECOND, DAY, NO, NO, "How long a dispatched call may stay unanswered; must be longer than http.total_timeout (P4)."},

    {"http.connect_timeout", DURATION, "3s", 10, HOUR, NO, NO, "Name look-up and TCP connect (N12)."},
    {"http.tls_timeout", DURATION, "3s", 10, HOUR, NO, NO, "TLS handshake (N12)."},
    {"http.first_byte_timeout", DURATION, "5s", 10, HOUR, NO, NO, "From the request sent to the first byte of the answer (N12)."},
    {"http.total_timeout", DURATION, "10s", 10, HOUR, NO, NO, "The whole request, name look-up and body included (N12)."},
    {"http.max_response", SIZE, "64KiB", 1 * KIB, 16 * KIB * KIB, NO, NO, "At most so much of an answer is read (N12)."},
    {"http.keep_response", SIZE, "1KiB", 0, 1 * KIB, NO, NO, "So much of it is kept with the attempt (N12)."},
    {"http.pool_per_host", INT, "20", 1, 1000, NO, NO, "Kept connections to one host (N12)."},
    {"http.pool_total", INT, "200", 1, 10000, NO, NO, "Kept connections in all (N12)."},
    {"http.idle_timeout", DURATION, "90s", SECOND, HOUR, NO, NO, "An idle connection is closed after this (N12)."},
    {"http.keepalive", DURATION, "30s", SECOND, HOUR, NO, NO, "Interval of TCP keep-alive probes (N12)."},
    {"http.allow_addresses", LIST, "", 0, 0, NO, NO,
     "Networks (CIDR, a port may follow: 127.0.0.1:9000) that may be reached although they are private, loopback, link-local or reserved: 127.0.0.1/32 for a sandbox."},
    {"http.allow_plain", BOOL, "false", 0, 0, NO, NO, "Whether http:// URLs may be notified; https:// always may."},

    {"endpoint.concurrency", INT, "20", 1, 1000, NO, NO, "Requests in flight to one endpoint at most; an endpoint may have its own (N7)."},

    {"breaker.threshold", INT, "5", 1, 1000, NO, NO, "Consecutive failures that open an endpoint's breaker (N13)."},
    {"breaker.open", DURATION, "30s", 1, DAY, NO, NO, "How long it stays open before the one probe (N13)."},
    {"breaker.failing_alert", INT, "10", 1, 100000, YES, NO, "More failures in a row than this at one endpoint is an alert, once per episode (N19)."},
    {"breaker.off_after", DURATION, "5d", 0, 365 * DAY, YES, NO, "An endpoint that took nothing for so long is switched off; 0 = never."},

    {"breaker.recovery", DURATION, "30s", 0, DAY, NO, NO, "For so long after a breaker closed or an endpoint was enabled its backlog drains slowly (N13)."},
    {"breaker.recovery_rate", REAL, "50", 0.01, 100000, NO, NO, "Notifications per second to one endpoint while it recovers (N13)."},

    {"scheduler.flush", DURATION, "10ms", 1, SECOND, NO, NO, "Outcomes wait at most this long for company in their batch."},
    {"scheduler.batch", INT, "200", 1, 5000, NO, NO, "Outcomes in one batch at most."},
    {"scheduler.batches", INT, "1", 1, 64, NO, NO, "Batches on their way to the database at most."},
    {"scheduler.horizon", DURATION, "2m", SECOND, DAY, NO, NO, "Retries due within this are held in memory; later ones stay in the database."},
    {"scheduler.horizon_jobs", INT, "200000", 100, 10000000, NO, NO, "Jobs held in memory at most."},
    {"scheduler.keep_jobs", INT, "512", 16, 100000, NO, NO, "Jobs of one endpoint and class held in memory at most; the rest waits in the database."},
    {"scheduler.page", INT, "200", 1, 10000, NO, NO, "Jobs read in one look at the database."},
    {"scheduler.poll", DURATION, "100ms", 10, MINUTE, NO, NO, "How often new jobs are looked for when no hint came."},
    {"scheduler.heartbeat", DURATION, "500ms", 100, MINUTE, NO, NO, "Interval of the session's heartbeat."},
    {"scheduler.session_timeout", DURATION, "6s", SECOND, HOUR, NO, NO, "A session whose heartbeat stands still for so long is taken over."},

    {"calls.poll", DURATION, "100ms", 10, MINUTE, NO, NO, "How often a gateway-scheduler looks for gateway calls that are due, while it has a channel."},
    {"calls.keep", INT, "1000", 16, 100000, NO, NO, "Due calls of one channel held in memory at most, of each kind (money, new queries, a backlog); the rest waits in the database."},
    {"calls.flush", DURATION, "5ms", 1, SECOND, NO, NO, "Outcomes of gateway calls wait at most this long for company in their batch."},
    {"calls.batch", INT, "64", 1, 1000, NO, NO, "Outcomes of gateway calls in one batch at most."},

    {"relay.poll_busy", DURATION, "2ms", 1, MINUTE, NO, NO, "Between looks at the outbox while rows come."},
    {"relay.poll_idle", DURATION, "25ms", 1, MINUTE, NO, NO, "Between looks when none came lately; twice that when none came for a second."},
    {"relay.scan", DURATION, "3s", 10, 3 * SECOND, NO, NO, "No look is later than this after the one before (N5)."},
    {"relay.batch", INT, "200", 1, 5000, NO, NO, "Outbox rows moved by one statement."},

    {"tasks.file", TEXT, "", 0, 0, NO, NO, "File that says how kinds of compensation tasks are handled (docs/tasks.md); empty = only what Postrider does itself."},
    {"tasks.slots", INT, "16", 1, 256, NO, NO, "Tasks that one compensator works on at once."},
    {"tasks.scan", DURATION, "1s", 10, HOUR, NO, NO, "How often a compensator looks for tasks that are due."},
    {"tasks.sweep", DURATION, "5s", 10, HOUR, NO, NO, "How often it looks for tasks of lost workers and for webhooks that nobody applied."},
    {"tasks.lock_timeout", DURATION, "10m", SECOND, DAY, NO, NO, "A task that is with one worker for longer goes back (C5); must be longer than http.total_timeout twice."},

    {"ingress.listen", TEXT, "127.0.0.1:8080", 0, 0, NO, NO, "Where the public door listens: IP:PORT or [IPv6]:PORT; port 0 = any that is free."},
    {"ingress.certificate", TEXT, "", 0, 0, NO, NO, "PEM file of its certificate and chain; empty = plain HTTP, for a proxy on this machine."},
    {"ingress.key", TEXT, "", 0, 0, NO, NO, "PEM file of the certificate's key."},
    {"ingress.trusted_proxies", LIST, "", 0, 0, NO, NO, "Networks (CIDR) of proxies whose X-Forwarded-For is believed; everybody else is who connects."},
    {"ingress.database_connections", INT, "4", 1, 32, NO, NO, "Connections to Postgres: so many commits gather at most."},
    {"ingress.max_connections", INT, "12000", 16, 100000, NO, NO, "Clients connected at once; one more displaces the one that has been slow for longest."},
    {"ingress.max_per_address", INT, "256", 1, 100000, NO, NO, "Of them from one address (IPv6: one /64) that is no trusted proxy."},
    {"ingress.max_header", SIZE, "16KiB", 1 * KIB, 256 * KIB, NO, NO, "A request's head at most."},
    {"ingress.max_body", SIZE, "1MiB", 1 * KIB, 1 * KIB * KIB, NO, NO, "A webhook's body at most; other requests have 64KiB."},
    {"ingress.body_memory", SIZE, "64MiB", 1 * KIB * KIB, 4096 * KIB * KIB, NO, NO, "All bodies together at most; past it 503."},
    {"ingress.header_timeout", DURATION, "10s", 100, HOUR, NO, NO, "A connection that has not sent a whole head within this is closed, however busy."},
    {"ingress.body_timeout", DURATION, "20s", 100, HOUR, NO, NO, "The same for a body, and for a client that takes its answer."},
    {"ingress.idle_timeout", DURATION, "60s", 100, HOUR, NO, NO, "An answered connection is kept for this."},
    {"ingress.wrong_rate", REAL, "0.5", 0.001, 100000, NO, NO, "Refused webhooks of one address to one channel, and requests of one address without a valid key, per second; past it 429 (a webhook of at most 64 KiB is still verified, and taken if it is good)."},
    {"ingress.wrong_burst", INT, "20", 1, 100000, NO, NO, "So many of them at once."},
    {"ingress.waiting", INT, "256", 0, 10000, NO, NO, "Callers that wait for the end of their payment (wait_s) at most; others get 202 at once."},

    {"console.listen", TEXT, "127.0.0.1:8081", 0, 0, NO, NO, "Where the operators' door listens: IP:PORT or [IPv6]:PORT; port 0 = any that is free."},
    {"console.certificate", TEXT, "", 0, 0, NO, NO, "PEM file of its certificate and chain; empty = plain HTTP, for this machine or a proxy on it."},
    {"console.key", TEXT, "", 0, 0, NO, NO, "PEM file of the certificate's key."},
    {"console.behind_tls", BOOL, "false", 0, 0, NO, NO, "Whether a proxy before it has TLS: then cookies are Secure, and browsers are told to come by TLS only."},
    {"console.trusted_proxies", LIST, "", 0, 0, NO, NO, "Networks (CIDR) of proxies whose X-Forwarded-For is believed; everybody else is who connects."},
    {"console.metrics_networks", LIST, "127.0.0.0/8,::1/128", 0, 0, NO, NO, "Networks (CIDR) that may read /metrics without a token; others need one of a viewer."},
    {"console.session_idle", DURATION, "30m", MINUTE, DAY, NO, NO, "A session in which nothing was asked for this long is over."},
    {"console.session_max", DURATION, "12h", MINUTE, 30 * DAY, NO, NO, "A session is over after this, whatever was asked."},
    {"console.second_factor", TEXT, "nobody", 0, 0, NO, NO, "From which role on nobody logs in without a second factor: viewer, operator, approver, admin; nobody: only who has one is asked for it (postrider operator totp)."},
    {"console.login_rate", REAL, "5", 0.1, 1000, NO, NO, "Log-ins tried per second, of everybody and of one address; past it 429. Each costs some 40 ms of the process. The database limits them by name and address besides."},
    {"console.database_connections", INT, "4", 1, 32, NO, NO, "Connections to Postgres."},
    {"console.max_connections", INT, "1000", 16, 100000, NO, NO, "Clients connected at once; one more displaces the one that has been slow for longest."},
    {"console.max_per_address", INT, "100", 1, 100000, NO, NO, "Of them from one address (IPv6: one /64) that is no trusted proxy."},
    {"console.max_header", SIZE, "16KiB", 1 * KIB, 256 * KIB, NO, NO, "A request's head at most."},
    {"console.max_body", SIZE, "256KiB", 1 * KIB, 1 * KIB * KIB, NO, NO, "A request's body at most."},
    {"console.body_memory", SIZE, "16MiB", 1 * KIB * KIB, 4096 * KIB * KIB, NO, NO, "All bodies together at most; past it 503."},
    {"console.header_timeout", DURATION, "10s", 100, HOUR, NO, NO, "A connection that has not sent a whole head within this is closed, however busy."},
    {"console.body_timeout", DURATION, "20s", 100, HOUR, NO, NO, "The same for a body, and for a client that takes its answer."},
    {"console.idle_timeout", DURATION, "60s", 100, HOUR, NO, NO, "An answered connection is kept for this."},

    {"retention", DURATION, "90d", DAY, 3650 * DAY, NO, NO, "How long finished notifications and their attempts are kept."},

    {"reconciler.directory", TEXT, "", 0, 0, YES, NO, "Where statements are dropped: DIRECTORY/CHANNEL/YYYY-MM-DD*, for channels of `recon set --source directory`; a name that ends in .part is not looked at yet."},
    {"reconciler.temp_dir", TEXT, "/tmp", 0, 0, YES, NO, "Where downloaded statements lie until they are imported, without a name."},
    {"reconciler.max_file", SIZE, "1GiB", 1 * KIB, 64 * KIB * KIB * KIB, YES, NO, "The largest statement that is downloaded, as it comes (packed)."},
    {"reconciler.scan", DURATION, "30s", 100, HOUR, YES, NO, "How often it is looked whether a day's statement is due (C7)."},
    {"reconciler.sweep", DURATION, "24h", SECOND, 30 * DAY, YES, NO, "How often payments that slipped through are looked for (P15), and what is old enough is deleted; also at each start."},
    {"reconciler.keep_webhooks", DURATION, "26280h", DAY, 36500 * DAY, YES, NO, "How long gateways' webhooks are kept as they came (C9)."},
    {"reconciler.keep_statements", DURATION, "9600h", DAY, 36500 * DAY, YES, NO, "How long the rows of statements are kept; files and differences stay."},

    {"alerts.webhook", TEXT, "", 0, 0, YES, YES, "URL that gets each alert as a JSON POST; empty = none. The http.* timeouts and sizes hold for it, http.allow_* do not."},
    {"alerts.dead_letters", INT, "100", 1, 1000000, YES, NO, "More open dead letters than this is an alert of severity page (N19)."},
    {"alerts.scan", DURATION, "5s", 100, HOUR, YES, NO, "How often the dead letters are counted (also at once when one is heard of)."},

    {NULL, PR_OPTION_NONE, NULL, 0, 0, NO, NO, NULL},
};
/* clang-format on */
