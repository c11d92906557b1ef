-- 0001 create schema: roles, tables of the notification spine.
-- why:   the heart described in docs/protocol.md (outbox, ticks, jobs, sessions, attempts).
-- locks: none that matter, everything is new.
-- undo:  DROP SCHEMA postrider CASCADE, then DROP ROLE for each postrider_* role.
--
-- `migrate` runs each file in one transaction as the migrating user, who must be able to create roles.
-- Everything is owned by postrider_owner (NOLOGIN), so that SECURITY DEFINER functions run with its rights and no more.
-- Tables come first, then what is done with them; 0028 has everybody's rights.

DO $$
DECLARE r text;
BEGIN
    FOREACH r IN ARRAY ARRAY['postrider_owner', 'postrider_app', 'postrider_relay', 'postrider_scheduler', 'postrider_breaker',
                             'postrider_dead_letter', 'postrider_console', 'postrider_ingress', 'postrider_gateway_scheduler',
                             'postrider_compensator', 'postrider_reconciler'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', r);
        END IF;
    END LOOP;
END $$;
GRANT pg_signal_backend TO postrider_owner;       -- end_session() terminates the backend of a dead session
DO $$
BEGIN                                             -- a creator who is no superuser must be able to act for the owner
    IF NOT pg_has_role(current_user, 'postrider_owner', 'MEMBER') THEN
        EXECUTE format('GRANT postrider_owner TO %I', current_user);
    END IF;
END $$;

CREATE SCHEMA postrider AUTHORIZATION postrider_owner;
SET LOCAL ROLE postrider_owner;

-- What SQL must know of the configuration; `up` writes it. retry.notification: the default retry list (for max_retry in views).
CREATE TABLE postrider.setting (
    key    text PRIMARY KEY,
    value  text NOT NULL
);
INSERT INTO postrider.setting VALUES ('retry.notification', 'list:5s,30s,5m,30m,1h,2h,6h,24h');

-- merchants and their endpoints ---------------------------------------------------------------------------------

CREATE TABLE postrider.merchant (
    id          text PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9._:-]{1,64}$'),
    tier        text NOT NULL DEFAULT 'normal' CHECK (tier IN ('vip', 'normal', 'small')),
    email       text,
    shard       smallint NOT NULL CHECK (shard BETWEEN 0 AND 255),   -- set by the trigger: hash of id
    created_at  timestamptz NOT NULL DEFAULT now()
);

-- One address of a merchant. id > 0: configured by name. id < 0: made by the relay for a notify_url, from
-- merchant and origin: -(first 63 bits of sha256(merchant_id || E'\x1f' || scheme://host:port)), so that two relays agree on it.
CREATE TABLE postrider.endpoint (
    id            bigint PRIMARY KEY,                  -- from postrider.endpoint_id_seq when configured
    merchant_id   text NOT NULL REFERENCES postrider.merchant ON DELETE RESTRICT,
    shard         smallint NOT NULL,                   -- the merchant's
    name          text NOT NULL,                       -- 'default', ...; the origin for id < 0
    url           text NOT NULL CHECK (octet_length(url) <= 512),  -- the origin for id < 0
    events        text[] NOT NULL DEFAULT '{*}',       -- patterns: 'payment.succeeded', 'payment.*', '*'
    scheme        text NOT NULL DEFAULT 'postrider'    -- signature scheme, lib/sign
                  CHECK (scheme IN ('postrider', 'ed25519', 'form-md5', 'form-hmac')),
    secret        bytea NOT NULL,                      -- sealed (AES-256-GCM, lib/sign/seal.h); current
    secret_next   bytea,                               -- sealed; the new one while rotation overlaps
    rotate_until  timestamptz,                         -- the overlap's end: then secret_next becomes secret
    success_rule  text NOT NULL DEFAULT 'default',     -- 'default' | '2xx' | 'body:TEXT' | 'json:FIELD=VALUE'
    retry         text NOT NULL DEFAULT '',            -- '' = configuration's; lib/core/retry.h has the grammar
    max_age_ms    bigint CHECK (max_age_ms > 0),       -- NULL = configuration's
    concurrency   int CHECK (concurrency BETWEEN 1 AND 1000),     -- NULL = configuration's
    rate_per_s    double precision CHECK (rate_per_s > 0),        -- NULL = unlimited
    headers       jsonb NOT NULL DEFAULT '{}',         -- custom request headers, name -> value
    tls_ca        text,                                -- PEM of a private CA
    egress        text,                                -- 'socks5h://..', 'http://..' proxy or local address; NULL = the lane's
    http2         boolean NOT NULL DEFAULT true,
    supersede     boolean NOT NULL DEFAULT false,      -- a newer version of an order cancels older ones that still wait (N21)
    state         text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'disabled')),
    state_reason  text,                                -- '410', 'operator', ...
    state_at      timestamptz,
    forced        text CHECK (forced IN ('open', 'closed')),      -- breaker forced by a person
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    tx            xid8 NOT NULL DEFAULT pg_current_xact_id(),     -- last change: schedulers read tx >= the xmin of their last look
    paused_until  timestamptz,                         -- Retry-After: nothing at all is sent before, whoever owns the shard then
    UNIQUE (merchant_id, name)
);
CREATE SEQUENCE postrider.endpoint_id_seq OWNED BY postrider.endpoint.id;
CREATE INDEX endpoint_supersede_idx ON postrider.endpoint (id) WHERE supersede;
CREATE INDEX endpoint_tx_idx ON postrider.endpoint (tx);
CREATE INDEX endpoint_disabled_idx ON postrider.endpoint (state_at, id) WHERE state = 'disabled';

-- A merchant's shard is a hash of its id; an endpoint has its merchant's.
CREATE FUNCTION postrider.merchant_before() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    NEW.shard := get_byte(sha256(convert_to(NEW.id, 'UTF8')), 0);
    RETURN NEW;
END $$;
CREATE TRIGGER merchant_before BEFORE INSERT OR UPDATE OF id, shard ON postrider.merchant
    FOR EACH ROW EXECUTE FUNCTION postrider.merchant_before();

-- Whatever changes an endpoint, the schedulers see it: they look for tx.
CREATE FUNCTION postrider.endpoint_before() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    NEW.shard := (SELECT m.shard FROM postrider.merchant AS m WHERE m.id = NEW.merchant_id);
    NEW.tx := pg_current_xact_id();
    NEW.updated_at := now();
    RETURN NEW;
END $$;
CREATE TRIGGER endpoint_before BEFORE INSERT OR UPDATE ON postrider.endpoint
    FOR EACH ROW EXECUTE FUNCTION postrider.endpoint_before();

-- Endpoints in an episode of failures: since when. Written when the episode begins and when it ends, not per failure.
CREATE TABLE postrider.endpoint_failing (
    endpoint bigint PRIMARY KEY REFERENCES postrider.endpoint ON DELETE CASCADE,
    since    timestamptz NOT NULL DEFAULT now()
);

-- Endpoints whose breaker opened by itself. A row is a hint with an end: circuit-breaker writes it at each trip (also the one of a failed
-- probe) and deletes it with the episode. Killed in between, it leaves nothing that holds for longer than the row says.
-- Logged, though a crash could lose it without harm: a standby cannot read unlogged tables, and notification_status is read there.
-- No index on the end: a refresh stays in its page.
CREATE TABLE postrider.breaker_open (
    endpoint bigint PRIMARY KEY REFERENCES postrider.endpoint ON DELETE CASCADE,
    until    timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Thresholds of the priority class, written by `up` from the configuration's section priority.
CREATE TABLE postrider.priority_rule (
    currency     text PRIMARY KEY CHECK (currency ~ '^[A-Z]{3}$'),
    large_minor  bigint,     -- amount >= large_minor: P0
    small_minor  bigint      -- amount <  small_minor: P2
);

-- the outbox ----------------------------------------------------------------------------------------------------

-- Every job is born or re-dated through a row here. kind 0 notification; 1 redrive of a dead delivery (ref_*);
-- 2 cancels what the relay made of ref_id while cancel_notification did not yet see it.
CREATE TABLE postrider.outbox (
    id           bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    tx           xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at           timestamptz NOT NULL DEFAULT now(),       -- partition key; the transaction's start
    class        smallint NOT NULL,                        -- 0 to 2. No CHECK: each INSERT would parse it anew (a tenth of its CPU)
    kind         smallint NOT NULL DEFAULT 0,
    merchant_id  text NOT NULL,
    order_no     text NOT NULL,
    event        text NOT NULL,
    status       text NOT NULL,
    version      bigint NOT NULL,
    notify_id    uuid NOT NULL,
    notify_url   text,
    body         bytea NOT NULL,                           -- the exact bytes sent on every try; empty for kind 1
    cancel_at    timestamptz,                              -- cancel_notification's wish, for rows the relay has not moved yet
    cancel_reason text,
    ref_at       timestamptz, ref_id bigint, ref_endpoint bigint  -- kind 1: which delivery; kind 2: of which row all of them
) PARTITION BY RANGE (at);
CREATE TABLE postrider.outbox_default PARTITION OF postrider.outbox DEFAULT;
CREATE INDEX outbox_class_tx_id_idx ON postrider.outbox (class, tx, id);
CREATE INDEX outbox_notify_id_idx ON postrider.outbox (notify_id);
CREATE INDEX outbox_merchant_id_order_no_idx ON postrider.outbox (merchant_id, order_no);  -- an order; all of a merchant
-- A row is looked up by id: job, dead and attempt find theirs by (at, id). On a table that is said to be empty (class, tx, id) serves as
-- well, which would read all of that index; of two that cost the same Postgres takes the one made last.
CREATE INDEX outbox_id_idx ON postrider.outbox (id);

-- Rows of dropped partitions that a job or an open dead letter still needs (retention).
CREATE TABLE postrider.outbox_kept (LIKE postrider.outbox INCLUDING DEFAULTS);
CREATE INDEX outbox_kept_id_idx ON postrider.outbox_kept (id);
CREATE INDEX outbox_kept_notify_id_idx ON postrider.outbox_kept (notify_id);
CREATE INDEX outbox_kept_merchant_id_order_no_idx ON postrider.outbox_kept (merchant_id, order_no);

CREATE TABLE postrider.idempotency (
    merchant_id text NOT NULL, function text NOT NULL, key text NOT NULL,
    args_hash bytea NOT NULL, notify_id uuid NOT NULL, at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (merchant_id, function, key)
);
CREATE INDEX idempotency_at_idx ON postrider.idempotency (at);  -- retention

-- The relay's cursor, one dense series per class; inserted only. (class, n) is the compare-and-swap between relays.
CREATE TABLE postrider.tick (
    class smallint NOT NULL, n bigint NOT NULL,
    lo pg_snapshot NOT NULL, hi pg_snapshot NOT NULL,     -- the frozen window
    more boolean NOT NULL, dt xid8 NOT NULL, di bigint NOT NULL, -- keyset inside it while more
    seq bigint NOT NULL,                                  -- last seq handed out in this class (class * 2^56 + dense)
    sysid bigint NOT NULL,                                -- pg_control_system().system_identifier at the move
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (class, n)
);
-- Nothing is visible in '1:1:' and every transaction id is at or above it: the first window is everything.
INSERT INTO postrider.tick (class, n, lo, hi, more, dt, di, seq, sysid)
SELECT c, 0, '1:1:', '1:1:', false, '0', 0, c::bigint << 56, s.system_identifier
FROM generate_series(0, 2) AS c, pg_control_system() AS s;

-- jobs ----------------------------------------------------------------------------------------------------------

-- seq = class * 2^56 + (dense number within the class, from 1): one range of the primary key per class, in commit order.
-- due NULL: a first try, in its owner's memory. due set: pageable by (endpoint, class, due, seq).
-- A job ends by DELETE. token = (salt, try): salt from notify_id at birth, 64 fresh random bits at each redrive.
-- Every delivery writes a row here, takes it away and writes one in attempt: each byte of the two is log, so wide columns come
-- first (no padding) and what is usual is NULL (docs/performance.md).
CREATE TABLE postrider.job (
    seq        bigint PRIMARY KEY,
    outbox_at  timestamptz NOT NULL,
    outbox_id  bigint NOT NULL,
    endpoint   bigint NOT NULL,
    salt       bigint NOT NULL,
    tried_before int NOT NULL DEFAULT 0,       -- tries of earlier lives: attempt numbers go on after a redrive
    class      smallint NOT NULL,
    try        smallint NOT NULL DEFAULT 0,    -- tries finished since (re)birth
    reborn     timestamptz,                    -- max_age counts from here: the redrive's time; NULL = from outbox_at
    due        timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000);
CREATE INDEX job_due_idx ON postrider.job (endpoint, class, due, seq) WHERE due IS NOT NULL;
CREATE INDEX job_outbox_id_idx ON postrider.job (outbox_id);

-- Who made an attempt: names are long and few, attempts are many. apply_results adds those it does not know.
CREATE TABLE postrider.worker (
    no   smallint PRIMARY KEY CHECK (no > 0),
    name text NOT NULL UNIQUE
);

CREATE TABLE postrider.attempt (
    at         timestamptz NOT NULL DEFAULT now(),  -- when recorded (partition key)
    outbox_id  bigint NOT NULL,
    endpoint   bigint NOT NULL,
    before_ms  int NOT NULL,                 -- it began so long before it was recorded
    ms         int NOT NULL,                 -- duration
    try        smallint NOT NULL,            -- 1-based over all lives
    outcome    smallint NOT NULL,            -- pr_outcome_class, proto Outcome.Result
    code       smallint NOT NULL,            -- HTTP status; 0 none
    worker     smallint,                     -- worker.no; NULL: not known (a race at its first attempt, or there are 32,767)
    error      text,                         -- error class, NULL on success
    next_due   timestamptz,                  -- when the next try was set for; NULL ended
    response   bytea                         -- excerpt, at most 1 KiB, bytes as they came; NULL on success: SUCCESS, else none
) PARTITION BY RANGE (at);
CREATE TABLE postrider.attempt_default PARTITION OF postrider.attempt DEFAULT;
-- By notification. Look-ups by endpoint go through the merchant's outbox rows.
CREATE INDEX attempt_outbox_id_idx ON postrider.attempt (outbox_id);

CREATE TABLE postrider.dead (
    outbox_id bigint NOT NULL, endpoint bigint NOT NULL,
    outbox_at timestamptz NOT NULL, class smallint NOT NULL,
    reason text NOT NULL,                    -- retries_exhausted | expired | rejected
    tries int NOT NULL,                      -- over all lives
    at timestamptz NOT NULL DEFAULT now(),
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'redriven', 'closed')),
    closed_by text, closed_reason text, closed_at timestamptz,  -- who moved it out of open (a redrive too)
    PRIMARY KEY (outbox_id, endpoint)
);
CREATE INDEX dead_endpoint_at_idx ON postrider.dead (endpoint, at);
CREATE INDEX dead_open_idx ON postrider.dead (at, outbox_id, endpoint) WHERE state = 'open';
CREATE INDEX dead_closed_at_idx ON postrider.dead (closed_at) WHERE closed_at IS NOT NULL;  -- retention

-- Deliveries that ended without one: endpoint 0 = no endpoint matched.
CREATE TABLE postrider.cancelled (
    outbox_id bigint NOT NULL, endpoint bigint NOT NULL, outbox_at timestamptz NOT NULL,
    reason text NOT NULL, at timestamptz NOT NULL DEFAULT now(),
    tx xid8 NOT NULL DEFAULT pg_current_xact_id(), -- schedulers forget the job they hold: read as endpoint.tx is
    PRIMARY KEY (outbox_id, endpoint)
);
CREATE INDEX cancelled_tx_idx ON postrider.cancelled (tx) WHERE endpoint <> 0;
CREATE INDEX cancelled_endpoint_outbox_id_idx ON postrider.cancelled (endpoint, outbox_id);
CREATE INDEX cancelled_at_idx ON postrider.cancelled (at);      -- retention

-- ownership -----------------------------------------------------------------------------------------------------

-- The fence: a result batch reads its session's row FOR SHARE in the statement that writes.
CREATE TABLE postrider.session (
    id uuid PRIMARY KEY, lock_key bigint NOT NULL,   -- pg_advisory_lock(lock_key), held by the batch connection
    pid int NOT NULL,                                -- its backend
    address text NOT NULL DEFAULT '',                -- the scheduler's own bus endpoint, for when every broker is away
    started timestamptz NOT NULL DEFAULT now(), ended timestamptz
);
CREATE TABLE postrider.heartbeat (
    session uuid PRIMARY KEY REFERENCES postrider.session, beat bigint NOT NULL,
    low bigint[] NOT NULL                            -- per class: lowest seq of an unfinished first try; reload starts there
) WITH (fillfactor = 50);
CREATE TABLE postrider.shard (
    no smallint PRIMARY KEY, session uuid REFERENCES postrider.session,
    low bigint[] NOT NULL                            -- the former owner's low: the next one looks for first tries from there
        DEFAULT '{0,72057594037927936,144115188075855872}',
    beat bigint NOT NULL DEFAULT 0                   -- the owner's heartbeat counter when it took the shard
);
CREATE INDEX shard_session_idx ON postrider.shard (session);
INSERT INTO postrider.shard (no) SELECT n FROM generate_series(0, 255) n;

-- people --------------------------------------------------------------------------------------------------------

-- One open row per (kind, subject); repeats grow count.
CREATE TABLE postrider.alert (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL, subject text NOT NULL, severity text NOT NULL CHECK (severity IN ('info', 'warn', 'page')),
    message text NOT NULL, count bigint NOT NULL DEFAULT 1,
    first_at timestamptz NOT NULL DEFAULT now(), last_at timestamptz NOT NULL DEFAULT now(), resolved_at timestamptz,
    announced_at timestamptz    -- NULL: nobody was told yet. A repeat of an open alert is not announced again.
);
CREATE UNIQUE INDEX alert_open_key ON postrider.alert (kind, subject) WHERE resolved_at IS NULL;
CREATE INDEX alert_unannounced_idx ON postrider.alert (id) WHERE announced_at IS NULL;

-- Every action of a person: who, what, why.
CREATE TABLE postrider.audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(),
    actor text NOT NULL, action text NOT NULL, subject text NOT NULL, reason text, detail jsonb NOT NULL DEFAULT '{}',
    login text NOT NULL DEFAULT session_user,       -- whom the database knows, beside whom the door was told
    merchant_id text, order_no text                 -- of what it is about, for an order's timeline
);
CREATE INDEX audit_order_idx ON postrider.audit (merchant_id, order_no) WHERE order_no IS NOT NULL;
CREATE INDEX audit_subject_idx ON postrider.audit (subject, id);
CREATE INDEX audit_actor_idx ON postrider.audit (actor, id);
CREATE INDEX audit_action_idx ON postrider.audit (action, id);

-- A redrive at a rate: the dead-letter actor feeds it (redrive_step).
CREATE TABLE postrider.redrive (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    actor text NOT NULL, reason text NOT NULL, filter jsonb NOT NULL,
    rate_per_s double precision NOT NULL CHECK (rate_per_s > 0),
    requested_at timestamptz NOT NULL DEFAULT now(),  -- letters that died later are not meant
    stepped_at timestamptz NOT NULL DEFAULT now(),    -- the allowance counts from here
    done bigint NOT NULL DEFAULT 0, finished_at timestamptz
);
CREATE INDEX redrive_open_idx ON postrider.redrive (id) WHERE finished_at IS NULL;

-- The dated partitions of outbox and attempt; the default partitions are not listed.
CREATE TABLE postrider.partition (
    parent text NOT NULL CHECK (parent IN ('outbox', 'attempt')), name text PRIMARY KEY,
    lo timestamptz NOT NULL, hi timestamptz NOT NULL, CHECK (lo < hi)
);

RESET ROLE;
