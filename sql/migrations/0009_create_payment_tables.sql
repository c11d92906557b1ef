-- 0009 create payment tables: channels, payments, refunds, disputes, their history, the queue of gateway calls, webhooks, tasks.
-- why:   the truth of a payment: one row per intent, one call at a time for it, and a table of the moves that are allowed.
-- locks: none that matter, everything is new.
-- undo:  DROP TABLE and FUNCTION for each.
--
-- docs/adr/0021-one-call-per-subject.md has the shape of the queue. Guards that are ENABLE ALWAYS hold for replicas, too: "final never
-- changes, by no road".

SET LOCAL ROLE postrider_owner;

-- time_scale shortens what SQL itself waits (settling, grace, first polls) as it shortens the actors' schedules: demos and tests.
INSERT INTO postrider.setting VALUES ('time_scale', '1'), ('hooks.payment', '');

-- the moves -----------------------------------------------------------------------------------------------------

-- Every state and every move, once. from_state '' is birth. guard_state() lets nothing else through, by whatever road it comes.
CREATE TABLE postrider.transition (
    object text NOT NULL, from_state text NOT NULL, to_state text NOT NULL, why text NOT NULL,
    PRIMARY KEY (object, from_state, to_state)
);
INSERT INTO postrider.transition VALUES
    ('payment', '', 'created', 'we are to charge it'),
    ('payment', '', 'processing', 'the application has charged it: find out how it ends'),
    ('payment', 'created', 'processing', 'the charge is sent, or somebody has heard of it'),
    ('payment', 'created', 'cancelled', 'nothing was ever sent'),
    ('payment', 'processing', 'succeeded', 'evidence of the money'),
    ('payment', 'processing', 'failed', 'a failure that cannot turn'),
    ('payment', 'processing', 'cancelled', 'closed at the channel'),
    ('refund', '', 'created', 'we are to send it'),
    ('refund', '', 'processing', 'the channel tells of a refund that is not ours'),
    ('refund', 'created', 'processing', 'it is sent'),
    ('refund', 'created', 'cancelled', 'nothing was ever sent'),
    ('refund', 'processing', 'succeeded', 'evidence of the money'),
    ('refund', 'processing', 'failed', 'the channel refused it'),
    ('refund', 'succeeded', 'reversed', 'the channel took it back'),
    ('dispute', '', 'open', 'the payer disputes'),
    ('dispute', 'open', 'won', 'the money stays'),
    ('dispute', 'open', 'lost', 'the money is gone'),
    ('webhook', '', 'received', 'kept'),
    ('webhook', '', 'refused', 'kept and judged in one transaction'),
    ('webhook', '', 'verified', 'kept and judged in one transaction'),
    ('webhook', '', 'applied', 'kept, judged and applied in one transaction'),
    ('webhook', '', 'ignored', 'kept, judged and found old in one transaction'),
    ('webhook', '', 'orphan', 'its order is not known yet'),
    ('webhook', '', 'failed', 'kept, but it could not be applied'),
    ('webhook', 'received', 'refused', 'forged, stale or a probe'),
    ('webhook', 'received', 'verified', 'its signature is good'),
    ('webhook', 'verified', 'applied', 'it went through the door'),
    ('webhook', 'verified', 'ignored', 'a repeat, or old'),
    ('webhook', 'verified', 'orphan', 'its order is not known yet'),
    ('webhook', 'verified', 'failed', 'it could not be applied'),
    ('webhook', 'orphan', 'applied', 'its order has appeared'),
    ('webhook', 'orphan', 'task', 'its order did not appear in time'),
    ('webhook', 'failed', 'applied', 'driven again'),
    ('webhook', 'failed', 'task', 'it could not be applied in time'),
    ('webhook', 'task', 'applied', 'the order appeared after all, or the task did it'),
    ('channel', '', 'active', 'added'),
    ('channel', 'active', 'paused', 'a person'),
    ('channel', 'paused', 'active', 'a person'),
    ('channel', 'active', 'stopped', 'credential or configuration refused'),
    ('channel', 'stopped', 'active', 'a person, after a test call'),
    ('channel', 'active', 'maintenance', 'the gateway rests'),
    ('channel', 'maintenance', 'active', 'the gateway is back'),
    ('task', '', 'WAITING', 'opened'),
    ('task', '', 'MANUAL', 'opened for a person'),
    ('task', 'WAITING', 'PROCESSING', 'claimed'),
    ('task', 'PROCESSING', 'SUCCESS', 'done, or done already'),
    ('task', 'PROCESSING', 'RETRY', 'failed, again later'),
    ('task', 'PROCESSING', 'FAILED', 'failed for the last time'),
    ('task', 'PROCESSING', 'MANUAL', 'order missing, amounts differ, refund unclear'),
    ('task', 'PROCESSING', 'WAITING', 'its worker is lost'),
    ('task', 'RETRY', 'WAITING', 'due again'),
    ('task', 'FAILED', 'MANUAL', 'at once'),
    ('task', 'MANUAL', 'CLOSED', 'a person');

-- TG_ARGV[0]: the object.
CREATE FUNCTION postrider.guard_state() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    former text := '';
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.state = OLD.state THEN
            RETURN NEW;
        END IF;
        former := OLD.state;
    END IF;
    IF NOT EXISTS (SELECT FROM postrider.transition AS t
                   WHERE t.object = TG_ARGV[0] AND t.from_state = former AND t.to_state = NEW.state) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006',
            MESSAGE = format('a %s does not go from %s to %s', TG_ARGV[0], coalesce(nullif(former, ''), 'birth'), coalesce(NEW.state, 'nothing')),
            HINT = 'docs/states.md has the moves; what is final stays.';
    END IF;
    RETURN NEW;
END $$;

-- What is written once is never written again nor taken away.
CREATE FUNCTION postrider.guard_history() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('rows of %s are neither changed nor deleted', TG_TABLE_NAME),
        HINT = 'Add what corrects them: everything is kept.';
END $$;

-- Three capitals that are no currency to pay with are held for a person. The same list as lib/core/money.c (ISO 4217, list one).
CREATE FUNCTION postrider.currency_exponent(currency text) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT CASE
        WHEN $1 !~ '^[A-Z]{3}$' THEN NULL
        WHEN $1 = ANY (regexp_split_to_array('BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF', ' ')) THEN 0
        WHEN $1 = ANY (regexp_split_to_array(
            'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP '
            'COU CRC CUC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IRR '
            'JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK '
            'NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL THB TJS TMT '
            'TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG ZWL', ' ')) THEN 2
        WHEN $1 = ANY (regexp_split_to_array('BHD IQD JOD KWD LYD OMR TND', ' ')) THEN 3
        WHEN $1 = ANY (regexp_split_to_array('CLF UYW', ' ')) THEN 4 END
$$;

-- channels ------------------------------------------------------------------------------------------------------

-- A gateway account. What SQL decides with comes from the profile (`postrider channel add` reads it) and may be set per channel.
CREATE TABLE postrider.channel (
    id text PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9._-]{1,56}$'),
    no int GENERATED ALWAYS AS IDENTITY UNIQUE,
    shard smallint NOT NULL,                          -- set by the trigger: hash of id
    version bigint NOT NULL DEFAULT 1,                -- set by the trigger: grows with each change
    state text NOT NULL DEFAULT 'active',
    state_reason text, state_at timestamptz NOT NULL DEFAULT now(),
    profile text NOT NULL, base_url text NOT NULL CHECK (octet_length(base_url) <= 512),
    account text NOT NULL DEFAULT '',                 -- what evidence must name; '' = the profile knows none
    livemode boolean NOT NULL DEFAULT true,
    tls_ca text,
    notify_url text,                                  -- where the gateway sends its webhooks
    match text[] NOT NULL,                            -- of account, number, amount, currency: what must agree (P10)
    failure_final boolean NOT NULL,                   -- false: a failure may still turn (R7)
    unit text NOT NULL CHECK (unit IN ('minor', 'major')),
    exponents jsonb NOT NULL DEFAULT '{}',            -- {"ISK": 2}: where the gateway differs from ISO 4217
    not_found text NOT NULL CHECK (not_found IN ('yet', 'final')),
    not_found_grace_ms bigint NOT NULL CHECK (not_found_grace_ms >= 0),
    settle_ms bigint NOT NULL CHECK (settle_ms >= 0), -- "not found" counts as "not charged" only after this (R2)
    rate_per_s double precision NOT NULL DEFAULT 0 CHECK (rate_per_s >= 0),   -- 0 = no limit known
    burst int NOT NULL DEFAULT 1 CHECK (burst > 0),
    concurrency int NOT NULL DEFAULT 8 CHECK (concurrency BETWEEN 1 AND 1000),
    polls text NOT NULL,                              -- grammar of lib/core/retry.h
    max_polls int NOT NULL CHECK (max_polls > 0),
    first_poll_ms bigint NOT NULL DEFAULT 60000 CHECK (first_poll_ms >= 0),
    charge_retry text NOT NULL DEFAULT 'exponential-jitter:1s..6h*5',
    charge_tries int NOT NULL DEFAULT 6 CHECK (charge_tries BETWEEN 1 AND 100),   -- the first and 5 more (R3)
    operations text[] NOT NULL,                       -- charge, query, close ...: what the profile has
    number_max int NOT NULL DEFAULT 64 CHECK (number_max BETWEEN 16 AND 255),     -- longest request_no and refund_no there
    expires_ms bigint NOT NULL DEFAULT 7200000 CHECK (expires_ms > 0),            -- of a payment that says nothing else
    order_policy text NOT NULL DEFAULT 'single' CHECK (order_policy IN ('single', 'many')),
    late_money text NOT NULL DEFAULT 'refund' CHECK (late_money IN ('refund', 'person')),
    risk text NOT NULL DEFAULT 'fail' CHECK (risk IN ('fail', 'person')),         -- a risk refusal (R1)
    created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE FUNCTION postrider.channel_before() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.shard := get_byte(sha256(convert_to(NEW.id, 'UTF8')), 0);
    NEW.updated_at := now();
    IF TG_OP = 'UPDATE' THEN
        NEW.version := OLD.version + 1;
        IF NEW.id <> OLD.id THEN
            RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'a channel keeps its id', HINT = 'Add another one.';
        END IF;
        NEW.state_at := CASE WHEN NEW.state <> OLD.state THEN now() ELSE OLD.state_at END;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER channel_before BEFORE INSERT OR UPDATE ON postrider.channel FOR EACH ROW EXECUTE FUNCTION postrider.channel_before();
CREATE TRIGGER channel_state BEFORE INSERT OR UPDATE ON postrider.channel FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('channel');

-- A channel's account, profile and kind of money stay while a payment or refund of it is open: a question about it would go to another account,
-- whose "not found" would look like an answer about ours (P10, R2).
CREATE FUNCTION postrider.channel_keep_account() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET jit = off AS $$
BEGIN
    IF EXISTS (SELECT FROM postrider.payment AS p WHERE p.channel_no = OLD.no AND p.state IN ('created', 'processing'))
       OR EXISTS (SELECT FROM postrider.refund AS r JOIN postrider.payment AS p ON p.id = r.payment_id
                  WHERE r.state IN ('created', 'processing') AND p.channel_no = OLD.no) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('payments of channel %s are open: its account, profile and livemode stay as they are', OLD.id),
            HINT = 'Add another channel for the other account; payments that are open end at this one.';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER channel_keep_account BEFORE UPDATE ON postrider.channel FOR EACH ROW
WHEN (OLD.account IS DISTINCT FROM NEW.account OR OLD.profile IS DISTINCT FROM NEW.profile OR OLD.livemode IS DISTINCT FROM NEW.livemode)
EXECUTE FUNCTION postrider.channel_keep_account();

-- Sealed (lib/sign/seal.h) whether secret or not; limits of lib/wire/envelope.h. One name up to four times, while it is changed: position 1 signs.
CREATE TABLE postrider.channel_parameter (
    channel text NOT NULL REFERENCES postrider.channel, name text NOT NULL, position smallint NOT NULL DEFAULT 1 CHECK (position BETWEEN 1 AND 4),
    sealed bytea NOT NULL CHECK (octet_length(sealed) <= 4126),
    PRIMARY KEY (channel, name, position)
);

-- payments ------------------------------------------------------------------------------------------------------

CREATE TABLE postrider.payment (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    merchant_id text NOT NULL, order_no text NOT NULL, channel text NOT NULL,
    channel_no int NOT NULL,
    intent text NOT NULL DEFAULT '1',
    state text NOT NULL,
    manual boolean NOT NULL DEFAULT false, manual_reason text,   -- a person has it: published status `unknown` while processing
    amount_minor bigint NOT NULL CHECK (amount_minor BETWEEN 0 AND 9007199254740991), currency text NOT NULL,
    captured_minor bigint NOT NULL DEFAULT 0, refunded_minor bigint NOT NULL DEFAULT 0,
    refunded_seen bigint NOT NULL DEFAULT 0,          -- the largest total that the channel named
    version bigint NOT NULL,                          -- from outbox_id_seq: grows with each change, over all payments of an order
    gateway_reference text,                           -- the gateway's number
    request_no text,                                  -- ours at the gateway (R6); NULL: the application charged
    request text NOT NULL DEFAULT '{}',               -- the application's object for the charge, these bytes on every try
    webhook_url text,                                 -- the channel's notify_url at birth: part of those bytes
    app_ref text, notify_url text, priority smallint, extra jsonb NOT NULL DEFAULT '{}',
    on_expiry text NOT NULL DEFAULT 'close' CHECK (on_expiry IN ('close', 'manual')),
    livemode boolean NOT NULL DEFAULT true,
    single boolean NOT NULL,                          -- order_policy when it was submitted
    failure_code text, failure_message text, next_action_kind text, next_action text,
    paid_before boolean NOT NULL DEFAULT false,       -- some evidence spoke of money: tells ambiguous endings apart
    occurred_at timestamptz,                          -- of the newest evidence that was applied
    paid_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    sent_at timestamptz,                              -- the first call that moves money was handed out
    final_at timestamptz, ended_by text,              -- source of the evidence
    webhook_ms bigint,                                -- birth to the first webhook about it
    notify_id uuid,                                   -- the final state's notification
    args_hash bytea NOT NULL,
    number_ours boolean NOT NULL DEFAULT false        -- tracked: gateway_reference is what the gateway calls the merchant's number, not its own
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX payment_channel_reference_key ON postrider.payment (channel_no, gateway_reference) WHERE gateway_reference IS NOT NULL;
CREATE UNIQUE INDEX payment_request_no_key ON postrider.payment (request_no) WHERE request_no IS NOT NULL;
CREATE UNIQUE INDEX payment_single_key ON postrider.payment (merchant_id, order_no)
    WHERE single AND request_no IS NOT NULL AND state IN ('created', 'processing', 'succeeded');
CREATE INDEX payment_order_idx ON postrider.payment (merchant_id, order_no);
CREATE INDEX payment_open_idx ON postrider.payment (id) WHERE state IN ('created', 'processing');
CREATE INDEX payment_manual_idx ON postrider.payment (id) WHERE manual AND state = 'processing';
CREATE INDEX payment_untold_idx ON postrider.payment (id) WHERE final_at IS NOT NULL AND notify_id IS NULL;   -- none, ever
CREATE INDEX payment_ended_idx ON postrider.payment (channel_no, final_at) WHERE final_at IS NOT NULL;

-- What a statement calls an order is, for payments that the application charged, the application's own number.
CREATE INDEX payment_tracked_order_idx ON postrider.payment (channel_no, order_no) WHERE request_no IS NULL;

-- What a payment is, it stays; a row is never deleted. Final states: guard_state.
CREATE FUNCTION postrider.payment_before() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    what text;
BEGIN
    what := CASE
        WHEN (NEW.id, NEW.merchant_id, NEW.order_no, NEW.channel, NEW.channel_no, NEW.intent, NEW.amount_minor, NEW.currency, NEW.request,
              NEW.livemode, NEW.single, NEW.created_at, NEW.args_hash)
             <> (OLD.id, OLD.merchant_id, OLD.order_no, OLD.channel, OLD.channel_no, OLD.intent, OLD.amount_minor, OLD.currency, OLD.request,
                 OLD.livemode, OLD.single, OLD.created_at, OLD.args_hash)
             OR (NEW.request_no, NEW.webhook_url) IS DISTINCT FROM (OLD.request_no, OLD.webhook_url) THEN 'what it is'
        WHEN OLD.gateway_reference IS NOT NULL AND NEW.gateway_reference IS DISTINCT FROM OLD.gateway_reference THEN 'its number at the gateway'
        WHEN OLD.final_at IS NOT NULL AND (NEW.final_at, NEW.ended_by) IS DISTINCT FROM (OLD.final_at, OLD.ended_by) THEN 'when and by what it ended'
        WHEN OLD.notify_id IS NOT NULL AND NEW.notify_id IS DISTINCT FROM OLD.notify_id THEN 'the notification of its end'
        WHEN NEW.version < OLD.version THEN 'its version backwards'
        WHEN OLD.sent_at IS NOT NULL AND NEW.sent_at IS DISTINCT FROM OLD.sent_at THEN 'when it was sent'
        WHEN OLD.state = 'created' AND NEW.state = 'cancelled' AND NEW.sent_at IS NOT NULL THEN 'created to cancelled once something was sent'
        WHEN (NEW.state IN ('succeeded', 'failed', 'cancelled')) <> (NEW.final_at IS NOT NULL) THEN 'its end without the time of it' END;
    IF what IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('a payment does not change %s', what),
            HINT = 'A corrected payment is a new intent.';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER payment_before BEFORE UPDATE ON postrider.payment FOR EACH ROW EXECUTE FUNCTION postrider.payment_before();
CREATE TRIGGER payment_state BEFORE INSERT OR UPDATE ON postrider.payment FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('payment');
CREATE TRIGGER payment_kept BEFORE DELETE OR TRUNCATE ON postrider.payment FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();
ALTER TABLE postrider.payment ENABLE ALWAYS TRIGGER payment_before, ENABLE ALWAYS TRIGGER payment_state, ENABLE ALWAYS TRIGGER payment_kept;

CREATE TABLE postrider.refund (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    payment_id bigint NOT NULL REFERENCES postrider.payment,
    refund_no text NOT NULL,                          -- the application's; gw:REFERENCE when the channel told of it
    amount_minor bigint NOT NULL CHECK (amount_minor BETWEEN 1 AND 9007199254740991),
    reason text,
    origin text NOT NULL DEFAULT 'application' CHECK (origin IN ('application', 'late_money', 'gateway')),
    state text NOT NULL,
    manual boolean NOT NULL DEFAULT false, manual_reason text,
    gateway_no text,                                  -- our number at the gateway (R6); NULL: the channel's own
    gateway_reference text,
    failure_code text, failure_message text,
    created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
    sent_at timestamptz, final_at timestamptz,
    UNIQUE (payment_id, refund_no)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX refund_gateway_no_key ON postrider.refund (gateway_no) WHERE gateway_no IS NOT NULL;
CREATE INDEX refund_open_idx ON postrider.refund (payment_id, id) WHERE state IN ('created', 'processing');
CREATE INDEX refund_ended_idx ON postrider.refund (final_at) WHERE final_at IS NOT NULL;
CREATE FUNCTION postrider.refund_before() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (NEW.id, NEW.payment_id, NEW.refund_no, NEW.amount_minor, NEW.origin, NEW.created_at)
       <> (OLD.id, OLD.payment_id, OLD.refund_no, OLD.amount_minor, OLD.origin, OLD.created_at)
       OR NEW.gateway_no IS DISTINCT FROM OLD.gateway_no
       OR (OLD.gateway_reference IS NOT NULL AND NEW.gateway_reference IS DISTINCT FROM OLD.gateway_reference)
       OR (OLD.state = 'created' AND NEW.state = 'cancelled' AND NEW.sent_at IS NOT NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'a refund stays what it is', HINT = 'Another amount is another refund_no.';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER refund_before BEFORE UPDATE ON postrider.refund FOR EACH ROW EXECUTE FUNCTION postrider.refund_before();
CREATE TRIGGER refund_state BEFORE INSERT OR UPDATE ON postrider.refund FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('refund');
CREATE TRIGGER refund_kept BEFORE DELETE OR TRUNCATE ON postrider.refund FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();
ALTER TABLE postrider.refund ENABLE ALWAYS TRIGGER refund_before, ENABLE ALWAYS TRIGGER refund_state, ENABLE ALWAYS TRIGGER refund_kept;

CREATE TABLE postrider.dispute (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    payment_id bigint NOT NULL REFERENCES postrider.payment,
    reference text NOT NULL, state text NOT NULL, amount_minor bigint, reason text,
    created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (payment_id, reference)
);
CREATE TRIGGER dispute_state BEFORE INSERT OR UPDATE ON postrider.dispute FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('dispute');

-- Who changed what on which evidence, and evidence that changed nothing, with the reason. Answers that only repeat are in call_log.
CREATE TABLE postrider.payment_history (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    payment_id bigint NOT NULL, refund_id bigint,
    source text NOT NULL, event_id text,
    verdict text NOT NULL,                            -- applied | ignored: REASON | held: REASON | follow-ups of our own
    from_state text, to_state text, version bigint,
    evidence jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX payment_history_payment_idx ON postrider.payment_history (payment_id, id);
CREATE UNIQUE INDEX payment_history_event_key ON postrider.payment_history (payment_id, event_id) WHERE event_id IS NOT NULL;
CREATE TRIGGER payment_history_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON postrider.payment_history
    FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();
ALTER TABLE postrider.payment_history ENABLE ALWAYS TRIGGER payment_history_kept;

-- The feed for the application (P17), beside the notifications for merchants.
CREATE TABLE postrider.payment_event (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tx xid8 NOT NULL DEFAULT pg_current_xact_id(), at timestamptz NOT NULL DEFAULT now(),
    payment_id bigint NOT NULL, refund_id bigint,
    event text NOT NULL, state text NOT NULL, status text NOT NULL, version bigint NOT NULL,
    detail jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX payment_event_payment_idx ON postrider.payment_event (payment_id);

-- Which goods are out (report_fulfilment): a paid order is not a delivered one.
CREATE TABLE postrider.fulfilment (
    merchant_id text NOT NULL, order_no text NOT NULL,
    state text NOT NULL CHECK (state IN ('delivered', 'failed')), reference text,
    created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (merchant_id, order_no)
);

-- the queue of gateway calls ------------------------------------------------------------------------------------

-- One row per open subject (a payment, or a refund): the next thing to ask or to send for it, and the lock on it. A charge whose
-- outcome is unknown becomes a query in the same row, so that two calls for one key cannot exist (R2, R6, R8).
-- due NULL: handed out, until lease_until. Token: (salt, attempt); salt is new with the row, attempt grows with each hand-out.
CREATE TABLE postrider.call (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    channel_no int NOT NULL,
    class smallint NOT NULL,                          -- 0 moves money, 1 asks
    operation text NOT NULL CHECK (operation IN ('charge', 'capture', 'query', 'refund', 'query_refund', 'close', 'expire')),
    payment_id bigint NOT NULL, refund_id bigint,
    due timestamptz, reason text NOT NULL,            -- why it is due then (P7)
    salt bigint NOT NULL, attempt int NOT NULL DEFAULT 0,
    session uuid, lease_until timestamptz, dispatched_at timestamptz,
    tries int NOT NULL DEFAULT 0,                     -- calls that move money so far
    polls int NOT NULL DEFAULT 0, sooner int NOT NULL DEFAULT 0, at_expiry boolean NOT NULL DEFAULT false,
    failures int NOT NULL DEFAULT 0,                  -- calls in a row that got no answer
    closes int NOT NULL DEFAULT 0, closed_at timestamptz,   -- the channel was told to close it
    close_wanted boolean NOT NULL DEFAULT false,      -- cancel_payment
    settle_at timestamptz,                            -- "not found" of a question asked before then proves nothing
    born timestamptz NOT NULL DEFAULT now(),
    verify boolean NOT NULL DEFAULT false,            -- about a payment that may have ended already: asked all the same, then forgotten
    CHECK ((due IS NULL) = (lease_until IS NOT NULL)), CHECK (class = CASE WHEN operation IN ('query', 'query_refund', 'expire') THEN 1 ELSE 0 END)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000);
CREATE UNIQUE INDEX call_payment_key ON postrider.call (payment_id) WHERE refund_id IS NULL;
CREATE UNIQUE INDEX call_refund_key ON postrider.call (refund_id) WHERE refund_id IS NOT NULL;
CREATE INDEX call_due_idx ON postrider.call (channel_no, class, due) WHERE due IS NOT NULL;
CREATE INDEX call_lease_idx ON postrider.call (channel_no, lease_until) WHERE lease_until IS NOT NULL;

-- The bytes of a request follow from the payment (which stays what it is), the channel's account and addresses (config), and the time that
-- stands in it (built_at). The first outcome says what they were (sha256); from then on a worker sends nothing else. Without that
-- word (its worker died) a request is made again only while config is the same.
CREATE TABLE postrider.call_request (
    payment_id bigint NOT NULL, refund_id bigint NOT NULL, operation text NOT NULL,     -- refund_id 0: about the payment
    config bytea NOT NULL,
    built_at timestamptz NOT NULL DEFAULT date_trunc('second', clock_timestamp()),
    sha256 text CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    PRIMARY KEY (payment_id, refund_id, operation)
);
CREATE FUNCTION postrider.call_request_before() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (NEW.payment_id, NEW.refund_id, NEW.operation) <> (OLD.payment_id, OLD.refund_id, OLD.operation)
       OR OLD.sha256 IS NOT NULL AND (NEW.config, NEW.built_at, NEW.sha256) IS DISTINCT FROM (OLD.config, OLD.built_at, OLD.sha256) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'a request stays what it was', HINT = 'What is to be sent differently is a new intent.';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER call_request_before BEFORE UPDATE ON postrider.call_request FOR EACH ROW EXECUTE FUNCTION postrider.call_request_before();
CREATE TRIGGER call_request_kept BEFORE DELETE OR TRUNCATE ON postrider.call_request FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

-- Every call (P14).
CREATE TABLE postrider.call_log (
    id bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    channel_no int NOT NULL, payment_id bigint NOT NULL, refund_id bigint,
    operation text NOT NULL, attempt int NOT NULL,
    dispatched_at timestamptz, duration_ms int, http_status int, transport text,
    status text, action text, reason text, verdict text, next text
);
CREATE INDEX call_log_payment_idx ON postrider.call_log (payment_id);
CREATE INDEX call_log_at_idx ON postrider.call_log (at);
CREATE INDEX call_log_channel_idx ON postrider.call_log (channel_no, at);

-- What was sent in a call and what came back, without secrets (C8): JSON of lib/gateway/exchange_json.h, kept as bytes, so that whatever they are
-- they refuse no outcome. As long as the call's line in call_log, which log_id names.
CREATE TABLE postrider.call_exchange (
    log_id bigint NOT NULL, at timestamptz NOT NULL DEFAULT now(), payment_id bigint NOT NULL, said bytea NOT NULL
);
CREATE INDEX call_exchange_payment_idx ON postrider.call_exchange (payment_id);
CREATE INDEX call_exchange_at_idx ON postrider.call_exchange (at);

-- The owners. An owner's connection holds an advisory lock per shard; its row is the fence.
CREATE TABLE postrider.call_session (
    id uuid PRIMARY KEY, pid int NOT NULL, address text NOT NULL,
    started timestamptz NOT NULL DEFAULT now(), beat_at timestamptz NOT NULL DEFAULT now(), ended timestamptz
);
CREATE INDEX call_session_live_idx ON postrider.call_session (id) WHERE ended IS NULL;
CREATE TABLE postrider.call_shard (no smallint PRIMARY KEY, session uuid);
INSERT INTO postrider.call_shard (no) SELECT n FROM generate_series(0, 255) AS n;

-- A gateway's wish to be left alone. Apart from the channel's row, whose every change is a new version that all read again.
CREATE TABLE postrider.channel_pause (channel_no int PRIMARY KEY, until timestamptz NOT NULL);

-- webhooks ------------------------------------------------------------------------------------------------------

-- As they came, for three years. items: what the profile read in them when they came.
CREATE TABLE postrider.webhook (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    channel_no int NOT NULL, received_at timestamptz NOT NULL,
    method text NOT NULL, query text NOT NULL DEFAULT '', headers jsonb NOT NULL, body bytea NOT NULL,
    verdict text NOT NULL, reason text NOT NULL DEFAULT '',   -- verified | refused | probe, judged at receipt
    items jsonb NOT NULL DEFAULT '[]',
    state text NOT NULL, result text NOT NULL DEFAULT '', tries int NOT NULL DEFAULT 0,
    payment_id bigint,                                -- of its first item that is about one
    at timestamptz NOT NULL DEFAULT now()             -- of the state
);
CREATE INDEX webhook_payment_idx ON postrider.webhook (payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX webhook_open_idx ON postrider.webhook (received_at) WHERE state IN ('failed', 'orphan');
CREATE INDEX webhook_received_at_idx ON postrider.webhook (received_at);
CREATE TRIGGER webhook_state BEFORE INSERT OR UPDATE ON postrider.webhook FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('webhook');
-- Any of an item's keys known: seen before.
CREATE TABLE postrider.webhook_key (
    channel_no int NOT NULL, key text NOT NULL, webhook_id bigint NOT NULL, at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (channel_no, key)
);
CREATE INDEX webhook_key_at_idx ON postrider.webhook_key (at);
-- Webhooks of orders that are not known yet, by the numbers that they name.
CREATE TABLE postrider.webhook_orphan (
    channel_no int NOT NULL, number text NOT NULL, webhook_id bigint NOT NULL,
    PRIMARY KEY (channel_no, number, webhook_id)
);
CREATE INDEX webhook_orphan_webhook_idx ON postrider.webhook_orphan (webhook_id);

-- tasks ---------------------------------------------------------------------------------------------------------

CREATE TABLE postrider.task (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_no text NOT NULL UNIQUE,
    biz_type text NOT NULL CHECK (biz_type ~ '^[a-z0-9_]{1,64}$'), biz_id text NOT NULL CHECK (length(biz_id) BETWEEN 1 AND 128),
    merchant_id text, order_no text, payment_id bigint,
    source text NOT NULL CHECK (source IN ('callback_failure', 'difference', 'person', 'inspection', 'application')),
    difference_id bigint,
    state text NOT NULL,
    retry_count int NOT NULL DEFAULT 0, retry_limit int NOT NULL DEFAULT 10,
    next_run_at timestamptz, last_run_at timestamptz, last_error_code text, last_error_message text,
    request jsonb NOT NULL DEFAULT '{}', result jsonb NOT NULL DEFAULT '{}',
    lock_owner text, lock_token uuid, locked_at timestamptz,
    moved_by text NOT NULL, move_reason text NOT NULL DEFAULT '',     -- of the last move: task_log has all
    closed_by text, conclusion text, before jsonb, after jsonb, follows text,   -- follows: the task that this one reruns
    created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
    lock_session uuid                                 -- the compensator's life that lock_owner names
);
CREATE UNIQUE INDEX task_open_key ON postrider.task (biz_type, biz_id) WHERE state NOT IN ('SUCCESS', 'CLOSED');
CREATE INDEX task_run_idx ON postrider.task (next_run_at) WHERE state IN ('WAITING', 'RETRY');
CREATE INDEX task_state_idx ON postrider.task (state, id) WHERE state NOT IN ('SUCCESS', 'CLOSED');
CREATE INDEX task_order_idx ON postrider.task (merchant_id, order_no);
CREATE INDEX task_payment_idx ON postrider.task (payment_id) WHERE payment_id IS NOT NULL;
CREATE UNIQUE INDEX task_lock_token_key ON postrider.task (lock_token) WHERE lock_token IS NOT NULL;
CREATE INDEX task_object_idx ON postrider.task (biz_type, biz_id) WHERE state = 'SUCCESS';
CREATE INDEX task_manual_idx ON postrider.task (updated_at, id) WHERE state = 'MANUAL';
CREATE TRIGGER task_state BEFORE INSERT OR UPDATE ON postrider.task FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('task');
CREATE TRIGGER task_kept BEFORE DELETE OR TRUNCATE ON postrider.task FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

-- create_task's keys, kept as long as their task.
CREATE TABLE postrider.task_key (
    merchant_id text NOT NULL, key text NOT NULL, args_hash bytea NOT NULL, task_no text,
    PRIMARY KEY (merchant_id, key)
);

CREATE TABLE postrider.task_log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp(),
    task_id bigint NOT NULL, from_state text NOT NULL, to_state text NOT NULL, who text NOT NULL, reason text NOT NULL,
    detail jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX task_log_task_idx ON postrider.task_log (task_id);
CREATE TRIGGER task_log_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON postrider.task_log
    FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

-- With what a run said, and what a lost worker held (the incident).
CREATE FUNCTION postrider.task_after() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    incident jsonb := '{}';
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.state = 'PROCESSING' AND NEW.state = 'WAITING' THEN
        incident := jsonb_build_object('incident', jsonb_build_object('owner', OLD.lock_owner, 'session', OLD.lock_session,
            'locked_at', postrider.json_time(OLD.locked_at), 'held_s', floor(extract(epoch FROM clock_timestamp() - OLD.locked_at))));
    END IF;
    INSERT INTO postrider.task_log (task_id, from_state, to_state, who, reason, detail)
    VALUES (NEW.id, CASE WHEN TG_OP = 'UPDATE' THEN OLD.state ELSE '' END, NEW.state, NEW.moved_by, NEW.move_reason,
            jsonb_strip_nulls(jsonb_build_object('error_code', NEW.last_error_code, 'error_message', NEW.last_error_message,
                'retry_count', NEW.retry_count, 'conclusion', NEW.conclusion)) || incident);
    RETURN NULL;
END $$;
CREATE TRIGGER task_born AFTER INSERT ON postrider.task FOR EACH ROW EXECUTE FUNCTION postrider.task_after();
CREATE TRIGGER task_moved AFTER UPDATE ON postrider.task FOR EACH ROW WHEN (NEW.state <> OLD.state) EXECUTE FUNCTION postrider.task_after();

-- keys for HTTP -------------------------------------------------------------------------------------------------

CREATE TABLE postrider.http_key (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),       -- SHA-256 of the key
    kind text NOT NULL CHECK (kind IN ('application', 'merchant')),
    merchant_id text, livemode boolean NOT NULL, label text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(), expires_at timestamptz, revoked_at timestamptz,
    -- Sealed (lib/sign/seal.h) under "key/" and the first 32 hex digits of the hash. Where it is, every request must be signed.
    signing bytea CHECK (octet_length(signing) <= 4096),
    CHECK ((kind = 'merchant') = (merchant_id IS NOT NULL))
);
-- Of signed requests: each is used once.
CREATE TABLE postrider.http_nonce (
    key_id bigint NOT NULL, nonce text NOT NULL CHECK (length(nonce) BETWEEN 16 AND 64), at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (key_id, nonce)
);
CREATE INDEX http_nonce_at_idx ON postrider.http_nonce (at);
-- How many of its dead letters a merchant may still have driven again, as of `at` (resend_take).
CREATE TABLE postrider.resend_allowance (
    merchant_id text NOT NULL, livemode boolean NOT NULL, rest real NOT NULL, at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, livemode)
);
-- Idempotency-Key of a write over HTTP: the first answer, for the same body again.
CREATE TABLE postrider.http_answer (
    key_id bigint NOT NULL, key text NOT NULL, request_hash bytea NOT NULL,
    status int NOT NULL, body text NOT NULL, at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (key_id, key)
);
CREATE INDEX http_answer_at_idx ON postrider.http_answer (at);

RESET ROLE;
