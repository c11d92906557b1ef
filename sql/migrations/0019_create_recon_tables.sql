-- 0019 create recon tables: statements of channels as files, their rows, what was matched, the pool, differences, the schedule.
-- why:   reconciliation (C7) keeps what it read, so that a person can see each row behind a difference, and a run can be made again.
-- locks: none that matter, everything is new.
-- undo:  DROP TABLE for each.
--
-- A file is imported in one transaction (rows by COPY), so there is no half file; it is matched in short ones, each of which says how far
-- it came. docs/adr/0027-reconciliation.md.

SET LOCAL ROLE postrider_owner;

INSERT INTO postrider.transition VALUES
    ('difference', '', 'open', 'found'),
    ('difference', 'open', 'explained', 'the channel, asked again, agrees with us; or a later statement has it'),
    ('difference', 'open', 'repaired', 'its task has ended well'),
    ('difference', 'open', 'closed', 'a person'),
    ('recon_file', '', 'imported', 'read, proved and kept'),
    ('recon_file', '', 'held', 'unreadable, or its totals do not agree'),
    ('recon_file', 'imported', 'matched', 'every row of it and every payment of its day was looked at'),
    ('recon_file', 'imported', 'held', 'more differences than can be true'),
    ('recon_file', 'held', 'imported', 'a person trusts it'),
    ('recon_file', 'held', 'closed', 'a person does not'),
    ('recon_file', 'imported', 'replaced', 'a correction came'),
    ('recon_file', 'matched', 'replaced', 'a correction came'),
    ('recon_file', 'held', 'replaced', 'a correction came');

-- settings ------------------------------------------------------------------------------------------------------

-- How a channel's statements are read. No row: all defaults, nothing is fetched.
CREATE TABLE postrider.recon_channel (
    channel text PRIMARY KEY REFERENCES postrider.channel,
    zone text NOT NULL DEFAULT 'UTC',                 -- whose days its statements are about
    format text,                                      -- NULL: the profile's; the names of lib/statement
    source text NOT NULL DEFAULT 'none' CHECK (source IN ('none', 'directory', 'download')),   -- what the schedule expects
    ready interval NOT NULL DEFAULT '10:00' CHECK (ready >= '0' AND ready <= '5 days'),         -- after the end of the day, by the clock there
    late interval NOT NULL DEFAULT '4 hours' CHECK (late >= '0'),              -- overdue for so long: an alert
    starts date,                                      -- the first day that is expected; NULL: the day after it was set
    proves text[] NOT NULL DEFAULT '{payment,refund}' CHECK (proves <@ '{payment,refund}'),     -- what is missing where it is not in it
    pool_age interval NOT NULL DEFAULT '2 hours' CHECK (pool_age >= '0' AND pool_age <= '7 days'),
    tolerance jsonb NOT NULL DEFAULT '{}',            -- {"CNY": 1}: minor units by which amounts may differ
    max_differences int NOT NULL DEFAULT 1000 CHECK (max_differences > 0),     -- of a file; more, and a person looks first
    updated_at timestamptz NOT NULL DEFAULT now()
);
-- Whose goods are expected, and how long after the payment. Merchants without a row report no deliveries.
CREATE TABLE postrider.fulfilment_rule (
    merchant_id text PRIMARY KEY REFERENCES postrider.merchant,
    grace interval NOT NULL CHECK (grace >= '0' AND grace <= '90 days'),
    since timestamptz NOT NULL DEFAULT now()          -- payments that ended before are nobody's business
);
INSERT INTO postrider.setting VALUES ('recon.delivered_through', '');

-- files ---------------------------------------------------------------------------------------------------------

CREATE TABLE postrider.recon_file (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    channel text NOT NULL REFERENCES postrider.channel, channel_no int NOT NULL,
    statement_date date NOT NULL, from_at timestamptz NOT NULL, to_at timestamptz NOT NULL,    -- that day, where the channel is
    kind text NOT NULL CHECK (kind ~ '^[a-z0-9-]{1,64}$'),                     -- a channel may have several a day
    name text NOT NULL CHECK (length(name) <= 255), source text NOT NULL CHECK (source IN ('file', 'directory', 'download')),
    who text NOT NULL, corrects bigint REFERENCES postrider.recon_file,
    state text NOT NULL, reason text NOT NULL DEFAULT '',                      -- why it is held
    sha256 text NOT NULL DEFAULT '', bytes bigint NOT NULL DEFAULT 0,
    rows bigint NOT NULL DEFAULT 0, items bigint NOT NULL DEFAULT 0, bad bigint NOT NULL DEFAULT 0,
    proof text NOT NULL DEFAULT '' , sums jsonb NOT NULL DEFAULT '[]', facts jsonb NOT NULL DEFAULT '{}',
    matched_to bigint NOT NULL DEFAULT 0,             -- items 1 to this one were looked at
    matched bigint NOT NULL DEFAULT 0, differences bigint NOT NULL DEFAULT 0, waiting bigint NOT NULL DEFAULT 0, ignored bigint NOT NULL DEFAULT 0,
    no_limit boolean NOT NULL DEFAULT false,          -- a person said: however many differences
    created_at timestamptz NOT NULL DEFAULT now(), matched_at timestamptz, updated_at timestamptz NOT NULL DEFAULT now()
);
-- Days without a trade may look alike; a file with rows is one file.
CREATE UNIQUE INDEX recon_file_content_key ON postrider.recon_file (channel_no, sha256) WHERE rows > 0 AND state <> 'closed';
CREATE UNIQUE INDEX recon_file_day_key ON postrider.recon_file (channel_no, statement_date, kind) WHERE state NOT IN ('replaced', 'closed');
CREATE INDEX recon_file_open_idx ON postrider.recon_file (id) WHERE state IN ('imported', 'held');
CREATE INDEX recon_file_span_idx ON postrider.recon_file (channel_no, from_at) WHERE state = 'matched';
CREATE TRIGGER recon_file_state BEFORE INSERT OR UPDATE ON postrider.recon_file FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('recon_file');

-- The rows of files, numbered as they were read. Only ever inserted.
CREATE TABLE postrider.recon_item (
    file_id bigint NOT NULL, n bigint NOT NULL,
    line bigint NOT NULL, entry text,                 -- entry: which file of a zip
    kind text NOT NULL, state text NOT NULL, native text,
    reference text, request_no text, refund_reference text, refund_no text,
    amount_minor bigint NOT NULL, currency text NOT NULL, fee_minor bigint, occurred_at timestamptz,
    raw text,
    PRIMARY KEY (file_id, n)
);
-- Rows that could not be read, for a person. n: in the order of the file.
CREATE TABLE postrider.recon_bad_row (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    file_id bigint NOT NULL, line bigint NOT NULL, reason text NOT NULL, detail text, raw text NOT NULL,
    closed_at timestamptz, closed_by text, conclusion text
);
CREATE INDEX recon_bad_row_file_idx ON postrider.recon_bad_row (file_id, id);
CREATE INDEX recon_bad_row_open_idx ON postrider.recon_bad_row (id) WHERE closed_at IS NULL;

-- What of ours stands in which statement. refund_id 0: the payment itself.
CREATE TABLE postrider.recon_match (
    payment_id bigint NOT NULL, refund_id bigint NOT NULL DEFAULT 0, file_id bigint NOT NULL, n bigint NOT NULL,
    PRIMARY KEY (payment_id, refund_id)
);

-- The pool: what has no counterpart yet and is too young to be a difference. side: ours (wait for the next day's statement) or theirs (wait
-- for the application's commit).
CREATE TABLE postrider.recon_open (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    side text NOT NULL CHECK (side IN ('ours', 'theirs')),
    channel_no int NOT NULL, file_id bigint NOT NULL, n bigint, payment_id bigint, refund_id bigint,
    since timestamptz NOT NULL, until timestamptz NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
    CHECK ((side = 'theirs') = (n IS NOT NULL) AND (side = 'ours') = (payment_id IS NOT NULL))
);
CREATE UNIQUE INDEX recon_open_theirs_key ON postrider.recon_open (file_id, n) WHERE side = 'theirs';
CREATE UNIQUE INDEX recon_open_ours_key ON postrider.recon_open (payment_id, coalesce(refund_id, 0)) WHERE side = 'ours';
CREATE INDEX recon_open_channel_idx ON postrider.recon_open (channel_no, id);

-- differences ---------------------------------------------------------------------------------------------------

-- class       | its task            | what it means
-- missing_here  difference_review   the channel has it, we do not: a person
-- unpaid_here   state_repair        the channel was paid, we do not know
-- missing_there state_verification  we say paid, the statement does not have it
-- state         state_verification  states differ
-- amount        difference_review   amounts or currencies differ: a person
-- duplicate     difference_review   one payment, two rows: a person
-- not_delivered delivery            paid, and the goods are not out (report_fulfilment)
CREATE TABLE postrider.recon_difference (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,                         -- what makes it the same one when a run is made again
    class text NOT NULL CHECK (class IN ('missing_here', 'unpaid_here', 'missing_there', 'state', 'amount', 'duplicate', 'not_delivered')),
    reason text NOT NULL, kind text NOT NULL CHECK (kind IN ('payment', 'refund', 'delivery')),
    state text NOT NULL,
    channel text NOT NULL, channel_no int NOT NULL, statement_date date,
    file_id bigint, n bigint, line bigint,            -- the row; NULL where it is about what no row says
    merchant_id text, order_no text, payment_id bigint, refund_id bigint,
    reference text,                                   -- the channel's number
    theirs jsonb NOT NULL DEFAULT '{}', ours jsonb NOT NULL DEFAULT '{}',      -- both sides when it was found
    task_id bigint NOT NULL, task_no text NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT now(), ended_at timestamptz, ended_by text, conclusion text
);
CREATE INDEX recon_difference_open_idx ON postrider.recon_difference (id) WHERE state = 'open';
CREATE INDEX recon_difference_task_idx ON postrider.recon_difference (task_id);
CREATE INDEX recon_difference_payment_idx ON postrider.recon_difference (payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX recon_difference_order_idx ON postrider.recon_difference (merchant_id, order_no);
CREATE INDEX recon_difference_file_idx ON postrider.recon_difference (file_id, id) WHERE file_id IS NOT NULL;
CREATE INDEX recon_difference_channel_idx ON postrider.recon_difference (channel_no, id);
CREATE TRIGGER recon_difference_state BEFORE INSERT OR UPDATE ON postrider.recon_difference FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('difference');
CREATE TRIGGER recon_difference_kept BEFORE DELETE OR TRUNCATE ON postrider.recon_difference FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

-- the schedule --------------------------------------------------------------------------------------------------

-- One row per day that is expected of a channel (T+1), from when it is due.
CREATE TABLE postrider.recon_run (
    channel text NOT NULL REFERENCES postrider.channel, statement_date date NOT NULL,
    due_at timestamptz NOT NULL, next_at timestamptz NOT NULL,
    tries int NOT NULL DEFAULT 0, claimed_until timestamptz, claimed_by text,
    last_error text, last_at timestamptz, done_at timestamptz, file_id bigint, -- file_id: what came of it
    -- a person wants it now (recon_ask): one try, from there, read so; taken: that try is under way
    asked_by text, asked_source text, asked_format text, asked_correct boolean, asked_taken boolean,
    PRIMARY KEY (channel, statement_date)
);
CREATE INDEX recon_run_next_idx ON postrider.recon_run (next_at) WHERE done_at IS NULL;

RESET ROLE;
