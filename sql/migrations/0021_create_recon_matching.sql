-- 0021 create recon matching: statements against payments, differences with their tasks, the pool, goods that are not out.
-- why:   C7. Reconciliation writes differences and opens tasks; it changes no payment.
-- locks: none that matter, everything is new.
-- undo:  DROP TRIGGER task_difference ON postrider.task; DROP FUNCTION for each.
--
-- Rows are taken some thousands at a time, each batch in a transaction that also says how far it came (recon_file.matched_to): killed
-- anywhere, the next one goes on. All of it may be made again: a match is one row per payment, a difference has a key.
-- Lookups name the rows they want one at a time (LATERAL, scalar subqueries), so that no plan reads a growing table.

SET LOCAL ROLE postrider_owner;

-- what differs --------------------------------------------------------------------------------------------------

-- NULL: both sides agree. Pure, so that a task can ask it again later with what is true then.
CREATE FUNCTION postrider.recon_judge(kind text, theirs text, their_amount bigint, their_currency text, ours text, our_amount bigint, our_currency text,
                                      tolerance bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN theirs IN ('SUCCEEDED', 'UNKNOWN') AND their_currency <> our_currency THEN 'amount'
        WHEN (theirs = 'SUCCEEDED' OR ours = 'succeeded') AND abs(their_amount - our_amount) > tolerance THEN 'amount'
        WHEN theirs = 'SUCCEEDED' THEN CASE WHEN ours = 'succeeded' THEN NULL WHEN ours IN ('created', 'processing') AND kind = 'payment' THEN 'unpaid_here' ELSE 'state' END
        WHEN theirs = 'UNKNOWN' THEN CASE WHEN ours IN ('created', 'processing') THEN 'state' END
        -- a refund that was under way when the statement was made may have arrived since
        WHEN theirs = 'PENDING' THEN CASE WHEN ours = 'succeeded' AND kind = 'payment' THEN 'state' END
        ELSE CASE WHEN ours IN ('failed', 'cancelled', 'reversed') THEN NULL ELSE 'state' END
    END
$$;

-- The payment that a row is about: by the channel's number, then by ours, then (the application charged) by the order's. One row. Tables of
-- one row rather than values: so they become part of the query that asks.
CREATE FUNCTION postrider.recon_payment(channel_no int, reference text, request_no text) RETURNS TABLE (id bigint)
LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        (SELECT p.id FROM postrider.payment AS p WHERE p.channel_no = $1 AND p.gateway_reference = $2),
        (SELECT p.id FROM postrider.payment AS p WHERE p.request_no = $3 AND p.channel_no = $1),
        (SELECT p.id FROM postrider.payment AS p WHERE p.channel_no = $1 AND p.gateway_reference = $3),
        -- two merchants' orders may have one number: then it says nothing
        (SELECT CASE WHEN count(*) = 1 THEN min(o.id) END FROM (SELECT p.id FROM postrider.payment AS p
            WHERE p.channel_no = $1 AND p.order_no = $3 AND p.request_no IS NULL LIMIT 2) AS o))
$$;

-- The refund that a row is about, given its payment (or none). Without a number of its own: the payment's only one of that amount.
CREATE FUNCTION postrider.recon_refund(channel_no int, payment_id bigint, refund_reference text, refund_no text, amount bigint) RETURNS TABLE (id bigint)
LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        (SELECT r.id FROM postrider.refund AS r WHERE r.gateway_no = $4
            AND (SELECT p.channel_no FROM postrider.payment AS p WHERE p.id = r.payment_id) = $1),
        (SELECT r.id FROM postrider.refund AS r WHERE r.payment_id = $2 AND r.gateway_reference = $3 ORDER BY r.id LIMIT 1),
        (SELECT r.id FROM postrider.refund AS r WHERE r.payment_id = $2 AND r.refund_no = $4),
        (SELECT CASE WHEN count(*) = 1 THEN min(o.id) END FROM (SELECT r.id FROM postrider.refund AS r
            WHERE r.payment_id = $2 AND r.amount_minor = $5 AND $3 IS NULL AND $4 IS NULL LIMIT 2) AS o))
$$;

-- differences and tasks -----------------------------------------------------------------------------------------

-- Opens a difference and its task, pointing at each other; the same one again is left as it is, however it ended. False: it was known.
CREATE FUNCTION postrider.recon_differ(d postrider.recon_difference) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    new_id bigint;
    biz_type text;
    biz_id text;
    number text;
    t postrider.task;
BEGIN
    -- a correction that says it again takes it over
    UPDATE postrider.recon_difference AS x SET file_id = d.file_id, n = d.n, line = d.line
    WHERE x.key = d.key AND x.state = 'open' AND (x.file_id, x.n) IS DISTINCT FROM (d.file_id, d.n);
    IF EXISTS (SELECT FROM postrider.recon_difference AS x WHERE x.key = d.key) THEN
        RETURN false;
    END IF;
    new_id := nextval('postrider.recon_difference_id_seq');
    biz_type := CASE WHEN d.class = 'not_delivered' THEN 'delivery' WHEN d.class NOT IN ('unpaid_here', 'state', 'missing_there') THEN 'difference_review'
                     WHEN d.refund_id IS NOT NULL THEN 'refund_review' WHEN d.class = 'unpaid_here' THEN 'state_repair' ELSE 'state_verification' END;
    biz_id := CASE biz_type WHEN 'difference_review' THEN new_id::text WHEN 'delivery' THEN left(d.merchant_id || '/' || d.order_no, 128)
                            WHEN 'refund_review' THEN d.refund_id::text ELSE d.payment_id::text END;
    number := postrider.task_open(biz_type, biz_id, CASE WHEN biz_type = 'difference_review' THEN 'MANUAL' ELSE 'WAITING' END, 'difference', d.merchant_id,
        d.order_no, d.payment_id, d.reason, format('%s %s: %s', d.channel, d.statement_date, d.reason),
        jsonb_strip_nulls(jsonb_build_object('difference_id', new_id, 'class', d.class, 'payment_id', d.payment_id, 'refund_id', d.refund_id,
            -- what the channel is said to have said: the task asks it
            'channel_state', CASE WHEN d.class = 'missing_there' THEN 'missing'
                                  WHEN d.reason = 'REFUND_NOT_HERE' THEN CASE WHEN d.theirs -> 'amount_minor' = d.ours -> 'amount_minor' THEN 'refunded' ELSE 'partially_refunded' END
                                  WHEN d.class IN ('unpaid_here', 'state') THEN CASE d.theirs ->> 'state' WHEN 'PENDING' THEN 'processing' WHEN 'UNKNOWN' THEN NULL
                                                                                ELSE lower(d.theirs ->> 'state') END END,
            'theirs', d.theirs - 'raw', 'ours', d.ours)));
    UPDATE postrider.task AS x SET difference_id = coalesce(x.difference_id, new_id) WHERE x.task_no = number RETURNING x.* INTO t;
    INSERT INTO postrider.recon_difference (id, key, class, reason, kind, state, channel, channel_no, statement_date, file_id, n, line, merchant_id,
        order_no, payment_id, refund_id, reference, theirs, ours, task_id, task_no)
    OVERRIDING SYSTEM VALUE
    VALUES (new_id, d.key, d.class, d.reason, d.kind, 'open', d.channel, d.channel_no, d.statement_date, d.file_id, d.n, d.line, d.merchant_id,
        d.order_no, d.payment_id, d.refund_id, d.reference, d.theirs, d.ours, t.id, t.task_no);
    RETURN true;
END $$;

-- Ends a difference without waiting for its task; a task that nobody has begun ends with it.
CREATE FUNCTION postrider.recon_explain(difference_id bigint, why text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    d postrider.recon_difference;
BEGIN
    UPDATE postrider.recon_difference AS x SET state = 'explained', ended_at = now(), ended_by = 'postrider', conclusion = why
    WHERE x.id = $1 AND x.state = 'open' RETURNING x.* INTO d;
    IF FOUND AND NOT EXISTS (SELECT FROM postrider.recon_difference AS o WHERE o.task_id = d.task_id AND o.state = 'open') THEN
        PERFORM postrider.task_done(t.biz_type, t.biz_id, 'EXPLAINED', jsonb_build_object('explained', why))
        FROM postrider.task AS t WHERE t.id = d.task_id;
    END IF;
END $$;

-- What still differs, looked at now: NULL, or the class and reason ("state: REFUND_NOT_HERE").
CREATE FUNCTION postrider.recon_still(d postrider.recon_difference) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    p postrider.payment;
    r postrider.refund;
    rid bigint := d.refund_id;
    class text;
BEGIN
    SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = d.payment_id;
    IF d.class = 'not_delivered' THEN
        class := CASE WHEN NOT EXISTS (SELECT FROM postrider.fulfilment AS f WHERE f.merchant_id = d.merchant_id AND f.order_no = d.order_no AND f.state = 'delivered')
                       AND p.refunded_minor < p.captured_minor THEN d.class END;
    ELSIF d.class = 'missing_there' THEN
        class := CASE WHEN NOT postrider.recon_accounted(d.payment_id, coalesce(d.refund_id, 0)) THEN d.class END;
    ELSIF d.class NOT IN ('state', 'unpaid_here') THEN
        class := d.class;
    ELSIF d.kind = 'payment' AND p.state IN ('failed', 'cancelled') AND d.theirs ->> 'state' = 'SUCCEEDED'
          AND EXISTS (SELECT FROM postrider.task AS t WHERE t.payment_id = p.id AND t.biz_type IN ('late_money', 'second_success')) THEN
        class := NULL;                           -- money after the end: it has a task of its own
    ELSIF d.kind = 'payment' THEN
        class := postrider.recon_judge('payment', d.theirs ->> 'state', (d.theirs ->> 'amount_minor')::bigint, d.theirs ->> 'currency', p.state,
            CASE WHEN p.state = 'succeeded' THEN p.captured_minor ELSE p.amount_minor END, p.currency, (d.theirs ->> 'tolerance')::bigint);
    ELSE
        rid := coalesce(rid, (SELECT x.id FROM postrider.recon_refund(d.channel_no, d.payment_id, d.theirs ->> 'refund_reference',
                                                                      d.theirs ->> 'refund_no', (d.theirs ->> 'amount_minor')::bigint) AS x));
        SELECT x.* INTO r FROM postrider.refund AS x WHERE x.id = rid;
        class := CASE WHEN r.id IS NULL THEN d.class ELSE postrider.recon_judge('refund', d.theirs ->> 'state', (d.theirs ->> 'amount_minor')::bigint,
            d.theirs ->> 'currency', r.state, r.amount_minor, p.currency, (d.theirs ->> 'tolerance')::bigint) END;
    END IF;
    RETURN class || ': ' || d.reason;
END $$;

-- Whether a statement that counts has it.
CREATE FUNCTION postrider.recon_accounted(payment_id bigint, refund_id bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT EXISTS (SELECT FROM postrider.recon_match AS m WHERE m.payment_id = $1 AND m.refund_id = $2
                   AND (SELECT f.state FROM postrider.recon_file AS f WHERE f.id = m.file_id) NOT IN ('replaced', 'closed'))
$$;

-- For the compensator, once it has asked the channel again: NULL when all that this task is about is explained now; else what is not.
CREATE FUNCTION postrider.recon_verdict(task_id bigint) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT s.still FROM (SELECT postrider.recon_still(d) AS still FROM postrider.recon_difference AS d WHERE d.task_id = $1 AND d.state = 'open') AS s
    WHERE s.still IS NOT NULL LIMIT 1
$$;

-- A task that ends takes its differences with it: after a success what agrees now is explained (code EXPLAINED or ORDER_ALREADY_FINISHED) or
-- repaired, and what does not goes to a person; a person closes. Looked at when the transaction ends: a task that is closed to be run again
-- hands its differences on.
CREATE FUNCTION postrider.task_difference() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    d postrider.recon_difference;
    next postrider.task;
    still text;
    number text;
BEGIN
    FOR d IN SELECT x.* FROM postrider.recon_difference AS x WHERE x.task_id = NEW.id AND x.state = 'open' ORDER BY x.id FOR NO KEY UPDATE LOOP
        next := NULL;
        still := NULL;
        IF NEW.state = 'CLOSED' THEN
            SELECT t.* INTO next FROM postrider.task AS t
            WHERE t.biz_type = NEW.biz_type AND t.biz_id = NEW.biz_id AND t.follows = NEW.task_no ORDER BY t.id DESC LIMIT 1;
        ELSE
            still := postrider.recon_still(d);
            IF still IS NOT NULL THEN
                number := postrider.task_open('difference_review', d.id::text, 'MANUAL', 'difference', d.merchant_id, d.order_no, d.payment_id, d.reason,
                    'asked again, it is not explained: ' || still, NEW.request || jsonb_build_object('difference_id', d.id, 'result', NEW.result));
                UPDATE postrider.task AS t SET follows = NEW.task_no WHERE t.task_no = number RETURNING t.* INTO next;
            END IF;
        END IF;
        IF next.id IS NOT NULL THEN
            UPDATE postrider.recon_difference AS x SET task_id = next.id, task_no = next.task_no WHERE x.id = d.id;
            UPDATE postrider.task AS t SET difference_id = d.id WHERE t.id = next.id AND t.difference_id IS NULL;
            CONTINUE;
        END IF;
        UPDATE postrider.recon_difference AS x
        SET state = CASE WHEN NEW.state = 'CLOSED' THEN 'closed' WHEN NEW.last_error_code IN ('EXPLAINED', 'ORDER_ALREADY_FINISHED') THEN 'explained' ELSE 'repaired' END,
            ended_at = now(), ended_by = CASE WHEN NEW.state = 'CLOSED' THEN coalesce(NEW.closed_by, 'person') ELSE 'task ' || NEW.task_no END,
            conclusion = left(CASE WHEN NEW.state = 'CLOSED' THEN NEW.conclusion ELSE NEW.last_error_code END, 500)
        WHERE x.id = d.id;
    END LOOP;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER task_difference AFTER UPDATE ON postrider.task DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.state IN ('SUCCESS', 'CLOSED') AND NEW.state <> OLD.state) EXECUTE FUNCTION postrider.task_difference();

-- rows of a statement -------------------------------------------------------------------------------------------

-- The earlier versions of this statement: what they matched counts for nothing.
CREATE FUNCTION postrider.recon_former(f postrider.recon_file) RETURNS bigint[]
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT ARRAY(WITH RECURSIVE v AS (
        SELECT f.corrects AS id
        UNION ALL
        SELECT x.corrects FROM v JOIN postrider.recon_file AS x ON x.id = v.id)
    SELECT v.id FROM v WHERE v.id IS NOT NULL)
$$;

-- Looks at rows lo+1 to hi of a file, or only at those named: matches what agrees, opens differences, leaves in the pool what is too young.
CREATE FUNCTION postrider.recon_items(f postrider.recon_file, lo bigint, hi bigint, these bigint[], OUT matched bigint, OUT opened bigint, OUT waiting bigint,
                                      OUT ignored bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    s CONSTANT postrider.recon_channel := postrider.recon_settings(f.channel);
    former CONSTANT bigint[] := postrider.recon_former(f);
    one record;
    d postrider.recon_difference;
BEGIN
    matched := 0; opened := 0; waiting := 0; ignored := 0;
    FOR one IN
        WITH seen AS MATERIALIZED (
            SELECT i.*, coalesce(w.id, r.payment_id) AS payment_id, r.id AS rid, r.state AS refund_state, r.amount_minor AS refund_amount
            FROM postrider.recon_item AS i
            CROSS JOIN LATERAL postrider.recon_payment(f.channel_no, i.reference, i.request_no) AS w
            LEFT JOIN LATERAL (SELECT x.id, x.payment_id, x.state, x.amount_minor FROM postrider.refund AS x WHERE i.kind = 'refund' AND x.id = (
                SELECT v.id FROM postrider.recon_refund(f.channel_no, w.id, i.refund_reference, i.refund_no, i.amount_minor) AS v) LIMIT 1) AS r ON true
            WHERE i.file_id = f.id AND i.n > lo AND i.n <= hi AND (these IS NULL OR i.n = ANY (these)) AND i.kind IN ('payment', 'refund')
        ), both_sides AS MATERIALIZED (
            SELECT i.*, p.id IS NOT NULL AS known, p.merchant_id, p.order_no, p.request_no AS our_no, p.gateway_reference AS our_reference, p.state AS our_state,
                   p.currency AS our_currency, CASE WHEN p.state = 'succeeded' THEN p.captured_minor ELSE p.amount_minor END AS our_amount,
                   p.refunded_minor, p.paid_at, p.final_at,
                   CASE WHEN p.id IS NULL OR i.kind = 'refund' AND i.rid IS NULL THEN NULL
                        ELSE postrider.recon_judge(i.kind, i.state, i.amount_minor, i.currency,
                            CASE i.kind WHEN 'payment' THEN p.state ELSE i.refund_state END,
                            CASE i.kind WHEN 'refund' THEN i.refund_amount WHEN 'payment' THEN CASE WHEN p.state = 'succeeded' THEN p.captured_minor ELSE p.amount_minor END END,
                            p.currency, coalesce((s.tolerance ->> i.currency)::bigint, 0)) END AS class
            FROM seen AS i
            LEFT JOIN LATERAL (SELECT x.* FROM postrider.payment AS x WHERE x.id = i.payment_id LIMIT 1) AS p ON true
        ), kept AS (
            INSERT INTO postrider.recon_match AS m (payment_id, refund_id, file_id, n)
            SELECT DISTINCT ON (b.payment_id, coalesce(b.rid, 0)) b.payment_id, coalesce(b.rid, 0), f.id, b.n FROM both_sides AS b
            WHERE b.known AND (b.kind = 'payment' OR b.rid IS NOT NULL)
            ORDER BY b.payment_id, coalesce(b.rid, 0), b.n
            ON CONFLICT (payment_id, refund_id) DO UPDATE SET file_id = excluded.file_id, n = excluded.n WHERE m.file_id = ANY (former)
            RETURNING m.n
        )
        -- IN: a hash, whatever the planner takes the two for; a join of what it does not know the size of would be one loop in the other
        SELECT o.* FROM (SELECT b.*, b.n IN (SELECT k.n FROM kept AS k) AS kept, (SELECT count(*) FROM kept) AS n_kept FROM both_sides AS b OFFSET 0) AS o
        WHERE NOT o.kept OR o.class IS NOT NULL OR o.request_no NOT IN (o.our_no, o.order_no, coalesce(o.our_reference, o.our_no))
        UNION ALL
        -- a row of its own says how many there were when nothing is odd
        SELECT z.*, NULL::boolean, (SELECT count(*) FROM kept) FROM (SELECT 1) AS q LEFT JOIN both_sides AS z ON false
        ORDER BY n NULLS FIRST
    LOOP
        IF one.n IS NULL THEN
            matched := one.n_kept;
            CONTINUE;
        END IF;
        d := NULL;
        d.kind := one.kind;
        d.class := one.class;
        d.reason := CASE one.class WHEN 'amount' THEN 'AMOUNT_MISMATCH' WHEN 'unpaid_here' THEN 'PAID_AT_CHANNEL' WHEN 'state' THEN 'STATE_MISMATCH' END;
        IF one.known AND one.request_no NOT IN (one.our_no, one.order_no, coalesce(one.our_reference, one.our_no)) THEN
            -- the channel's number says one payment, ours says another
            d.class := 'missing_here';
            d.reason := 'NUMBERS_DISAGREE';
        ELSIF one.known AND (one.kind = 'payment' OR one.rid IS NOT NULL) AND NOT one.kept THEN
            CONTINUE WHEN EXISTS (SELECT FROM postrider.recon_match AS m WHERE m.payment_id = one.payment_id AND m.refund_id = coalesce(one.rid, 0)
                                  AND (m.file_id = f.id AND m.n = one.n
                                       OR (SELECT x.kind FROM postrider.recon_file AS x WHERE x.id = m.file_id) <> f.kind));
            d.class := 'duplicate';
            d.reason := 'DUPLICATE_ROW';
        ELSIF one.known AND one.kind = 'refund' AND one.rid IS NULL THEN
            d.class := 'state';
            d.reason := 'REFUND_NOT_HERE';
        ELSIF NOT one.known THEN
            d.class := 'missing_here';
            d.reason := 'NOT_HERE';
        END IF;
        IF one.kept AND d.class IS NOT NULL THEN
            matched := matched - 1;              -- it is accounted for, but does not agree
        END IF;
        IF one.state <> 'SUCCEEDED' AND d.class = 'missing_here' AND d.reason = 'NOT_HERE' OR one.state NOT IN ('SUCCEEDED', 'PENDING') AND d.reason = 'REFUND_NOT_HERE' THEN
            ignored := ignored + 1;              -- no money moved, and nobody here knows of it
            CONTINUE;
        END IF;
        IF d.reason IN ('NOT_HERE', 'REFUND_NOT_HERE') AND coalesce(one.occurred_at, f.to_at) + s.pool_age > now() THEN
            INSERT INTO postrider.recon_open (side, channel_no, file_id, n, since, until)
            VALUES ('theirs', f.channel_no, f.id, one.n, coalesce(one.occurred_at, f.to_at), coalesce(one.occurred_at, f.to_at) + s.pool_age)
            ON CONFLICT DO NOTHING;
            waiting := waiting + 1;
            CONTINUE;
        END IF;
        d.channel := f.channel;
        d.channel_no := f.channel_no;
        d.statement_date := f.statement_date;
        d.file_id := f.id;
        d.n := one.n;
        d.line := one.line;
        d.payment_id := CASE WHEN one.known THEN one.payment_id END;
        d.refund_id := one.rid;
        d.merchant_id := one.merchant_id;
        d.order_no := one.order_no;
        d.reference := coalesce(one.refund_reference, one.reference, one.request_no);
        d.theirs := jsonb_strip_nulls(jsonb_build_object('kind', one.kind, 'state', one.state, 'native', one.native, 'reference', one.reference,
            'request_no', one.request_no, 'refund_reference', one.refund_reference, 'refund_no', one.refund_no, 'amount_minor', one.amount_minor,
            'currency', one.currency, 'occurred_at', postrider.json_time(one.occurred_at), 'line', one.line, 'entry', one.entry, 'raw', left(one.raw, 1000),
            'tolerance', coalesce((s.tolerance ->> one.currency)::bigint, 0)));
        d.ours := CASE WHEN one.known THEN jsonb_strip_nulls(jsonb_build_object('state', CASE WHEN one.rid IS NOT NULL THEN one.refund_state ELSE one.our_state END,
            'amount_minor', CASE WHEN one.rid IS NOT NULL THEN one.refund_amount ELSE one.our_amount END, 'currency', one.our_currency,
            'request_no', one.our_no, 'reference', one.our_reference, 'refunded_minor', one.refunded_minor, 'final_at', postrider.json_time(one.final_at))) ELSE '{}' END;
        -- where a number names it, a correction finds the same one again
        d.key := concat_ws(':', f.channel_no, f.statement_date, f.kind, d.class, one.kind,
            coalesce(one.rid::text, CASE WHEN one.kind = 'payment' AND d.class <> 'duplicate' THEN d.payment_id::text END,
                     coalesce(one.refund_reference, one.refund_no, one.reference, one.request_no, '') || CASE WHEN d.class = 'duplicate' THEN '#' || one.line
                         WHEN coalesce(one.refund_reference, one.refund_no, one.reference, one.request_no) IS NULL THEN '#' || one.line ELSE '' END));
        IF postrider.recon_differ(d) THEN
            opened := opened + 1;
        END IF;
    END LOOP;
END $$;

-- the other side ------------------------------------------------------------------------------------------------

-- Whether that moment's statement of this channel has been matched, for what proves payments (or refunds) to be there.
CREATE FUNCTION postrider.recon_covered(channel_no int, at timestamptz) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT EXISTS (SELECT FROM postrider.recon_file AS f WHERE f.channel_no = $1 AND f.state = 'matched' AND f.from_at <= $2 AND f.to_at > $2
                   AND f.from_at > $2 - interval '26 hours')
$$;

-- Something of ours that no statement has, though the days from `since` to `until` are all matched.
CREATE FUNCTION postrider.recon_not_there(f postrider.recon_file, payment_id bigint, refund_id bigint, since timestamptz) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    d postrider.recon_difference;
    p postrider.payment;
    r postrider.refund;
BEGIN
    SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = $2;
    SELECT x.* INTO r FROM postrider.refund AS x WHERE x.id = $3;
    d := NULL;
    d.class := 'missing_there';
    d.reason := 'NOT_IN_STATEMENT';
    d.kind := CASE WHEN r.id IS NULL THEN 'payment' ELSE 'refund' END;
    d.channel := p.channel;
    d.channel_no := p.channel_no;
    d.statement_date := (since AT TIME ZONE (postrider.recon_settings(p.channel)).zone)::date;
    d.file_id := f.id;
    d.merchant_id := p.merchant_id;
    d.order_no := p.order_no;
    d.payment_id := p.id;
    d.refund_id := r.id;
    d.reference := coalesce(r.gateway_reference, r.gateway_no, p.gateway_reference, p.request_no);
    d.theirs := '{}';
    d.ours := jsonb_strip_nulls(jsonb_build_object('state', coalesce(r.state, p.state), 'amount_minor', coalesce(r.amount_minor, p.captured_minor),
        'currency', p.currency, 'request_no', p.request_no, 'reference', p.gateway_reference, 'refund_no', r.gateway_no, 'since', postrider.json_time(since)));
    d.key := concat_ws(':', p.channel_no, 'missing_there', p.id, r.id);
    RETURN postrider.recon_differ(d);
END $$;

-- What ended here in the file's day and stands in no statement: a difference, or in the pool where the next day's may have it. NULL: more than
-- `most` differences would be opened, and nothing was.
CREATE FUNCTION postrider.recon_other_side(f postrider.recon_file, most bigint, OUT opened bigint, OUT waiting bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    s CONSTANT postrider.recon_channel := postrider.recon_settings(f.channel);
    one record;
    absent bigint := 0;
    lost jsonb := '[]';
BEGIN
    opened := 0; waiting := 0;
    FOR one IN
        SELECT * FROM (
            SELECT p.id AS payment_id, NULL::bigint AS refund_id, coalesce(p.paid_at, p.final_at) AS since FROM postrider.payment AS p
            WHERE p.channel_no = f.channel_no AND p.final_at >= f.from_at AND p.final_at < f.to_at AND p.state = 'succeeded' AND 'payment' = ANY (s.proves)
              AND p.amount_minor > 0
            UNION ALL
            SELECT r.payment_id, r.id, r.final_at FROM postrider.refund AS r
            WHERE r.final_at >= f.from_at AND r.final_at < f.to_at AND r.state = 'succeeded' AND 'refund' = ANY (s.proves)
              AND (SELECT p.channel_no FROM postrider.payment AS p WHERE p.id = r.payment_id) = f.channel_no) AS ours
        WHERE NOT postrider.recon_accounted(ours.payment_id, coalesce(ours.refund_id, 0))
    LOOP
        IF one.since + s.pool_age < f.to_at AND postrider.recon_covered(f.channel_no, one.since) THEN
            absent := absent + 1;
            IF absent > most THEN
                opened := NULL;
                RETURN;
            END IF;
            lost := lost || jsonb_build_array(jsonb_build_array(one.payment_id, one.refund_id, one.since));
        ELSE
            INSERT INTO postrider.recon_open (side, channel_no, file_id, payment_id, refund_id, since, until)
            VALUES ('ours', f.channel_no, f.id, one.payment_id, one.refund_id, one.since, one.since + s.pool_age) ON CONFLICT DO NOTHING;
            waiting := waiting + 1;
        END IF;
    END LOOP;
    FOR one IN SELECT (x.value ->> 0)::bigint AS payment_id, (x.value ->> 1)::bigint AS refund_id, (x.value ->> 2)::timestamptz AS since
               FROM jsonb_array_elements(lost) AS x LOOP
        IF postrider.recon_not_there(f, one.payment_id, one.refund_id, one.since) THEN
            opened := opened + 1;
        END IF;
    END LOOP;
END $$;

-- The pool of a channel: what has found its counterpart goes, what is old enough is a difference. Differences that a later statement explains
-- end, too.
CREATE FUNCTION postrider.recon_pool_step(channel text, most int, OUT settled bigint, OUT opened bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    number CONSTANT int := (SELECT c.no FROM postrider.channel AS c WHERE c.id = $1);
    one record;
    f postrider.recon_file;
    got record;
BEGIN
    settled := 0; opened := 0;
    PERFORM pg_advisory_xact_lock(hashtextextended('postrider.recon ' || number, 1));
    -- theirs: those that are old enough, or are known by now
    FOR one IN SELECT o.file_id, array_agg(o.n ORDER BY o.n) AS ns FROM (
                   SELECT x.file_id, x.n FROM postrider.recon_open AS x
                   LEFT JOIN LATERAL (SELECT y.* FROM postrider.recon_item AS y WHERE y.file_id = x.file_id AND y.n = x.n LIMIT 1) AS i ON true
                   CROSS JOIN LATERAL postrider.recon_payment(number, i.reference, i.request_no) AS w
                   CROSS JOIN LATERAL postrider.recon_refund(number, w.id, i.refund_reference, i.refund_no, i.amount_minor) AS v
                   WHERE x.channel_no = number AND x.side = 'theirs'
                     AND (x.until <= now() OR CASE i.kind WHEN 'payment' THEN w.id ELSE v.id END IS NOT NULL) ORDER BY x.id LIMIT most) AS o
               GROUP BY o.file_id ORDER BY o.file_id LOOP
        SELECT x.* INTO f FROM postrider.recon_file AS x WHERE x.id = one.file_id FOR NO KEY UPDATE;
        CONTINUE WHEN f.state <> 'matched';
        DELETE FROM postrider.recon_open AS x WHERE x.file_id = f.id AND x.n = ANY (one.ns);
        got := postrider.recon_items(f, 0, f.items, one.ns);
        settled := settled + got.matched;
        opened := opened + got.opened;
        UPDATE postrider.recon_file AS x SET matched = x.matched + got.matched, differences = x.differences + got.opened,
            waiting = greatest(x.waiting - cardinality(one.ns) + got.waiting, 0) WHERE x.id = f.id;
    END LOOP;
    -- ours
    FOR one IN SELECT o.id, o.file_id, o.payment_id, o.refund_id, o.since, o.until FROM postrider.recon_open AS o
               WHERE o.channel_no = number AND o.side = 'ours' ORDER BY o.id LIMIT most LOOP
        IF postrider.recon_accounted(one.payment_id, coalesce(one.refund_id, 0)) THEN
            settled := settled + 1;
        ELSIF postrider.recon_covered(number, one.since) AND postrider.recon_covered(number, one.until) THEN
            SELECT x.* INTO f FROM postrider.recon_file AS x WHERE x.id = one.file_id;
            IF postrider.recon_not_there(f, one.payment_id, one.refund_id, one.since) THEN
                opened := opened + 1;
                UPDATE postrider.recon_file AS x SET differences = x.differences + 1 WHERE x.id = f.id;
            END IF;
        ELSIF one.until >= (SELECT min(x.from_at) FROM postrider.recon_file AS x WHERE x.channel_no = number AND x.state = 'matched') THEN
            CONTINUE;
        END IF;                                   -- else: before the first statement that ever came
        DELETE FROM postrider.recon_open AS o WHERE o.id = one.id;
        UPDATE postrider.recon_file AS x SET waiting = greatest(x.waiting - 1, 0) WHERE x.id = one.file_id;
    END LOOP;
    -- explained by a later statement, or by time
    FOR one IN SELECT d.id FROM postrider.recon_difference AS d WHERE d.state = 'open' AND d.channel_no = number AND d.class = 'missing_there'
               AND postrider.recon_accounted(d.payment_id, coalesce(d.refund_id, 0)) ORDER BY d.id LIMIT most LOOP
        PERFORM postrider.recon_explain(one.id, 'a later statement has it');
        settled := settled + 1;
    END LOOP;
END $$;

-- A file's next step: some rows, or, when all were looked at, the payments of its day. Repeat while state is 'imported'.
-- Errors: PR009. A file in any other state is left as it is: a run that is made again changes nothing.
CREATE FUNCTION postrider.recon_match_step(file_id bigint, most int, OUT state text, OUT matched_to bigint, OUT items bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    f postrider.recon_file := postrider.recon_file_locked(recon_match_step.file_id);
    s CONSTANT postrider.recon_channel := postrider.recon_settings(f.channel);
    room bigint := CASE WHEN f.no_limit THEN 9223372036854775807 ELSE s.max_differences END;
    got record;
    one record;
BEGIN
    state := f.state; matched_to := f.matched_to; items := f.items;
    IF f.state <> 'imported' THEN
        RETURN;
    END IF;
    -- one step of a channel at a time: a payment may stand in two files of it
    PERFORM pg_advisory_xact_lock(hashtextextended('postrider.recon ' || f.channel_no, 1));
    BEGIN
        IF f.matched_to < f.items THEN
            got := postrider.recon_items(f, f.matched_to, f.matched_to + most, NULL);
            UPDATE postrider.recon_file AS x
            SET matched_to = least(f.matched_to + most, f.items), matched = x.matched + got.matched, differences = x.differences + got.opened,
                waiting = x.waiting + got.waiting, ignored = x.ignored + got.ignored, updated_at = now()
            WHERE x.id = f.id RETURNING x.* INTO f;
        ELSE
            UPDATE postrider.recon_file AS x SET state = 'matched', matched_at = now(), updated_at = now() WHERE x.id = f.id;
            got := postrider.recon_other_side(f, room - f.differences);
            IF got.opened IS NULL THEN
                RAISE SQLSTATE 'PR011';
            END IF;
            UPDATE postrider.recon_file AS x SET differences = x.differences + got.opened, waiting = x.waiting + got.waiting WHERE x.id = f.id;
            -- of what this one corrects, what it does not say again is explained
            FOR one IN SELECT d.id FROM postrider.recon_difference AS d
                       WHERE d.file_id = ANY (postrider.recon_former(f)) AND d.state = 'open' AND d.n IS NOT NULL ORDER BY d.id LOOP
                PERFORM postrider.recon_explain(one.id, format('the corrected statement (%s) does not say it', f.id));
            END LOOP;
            PERFORM postrider.recon_pool_step(f.channel, 10000);
        END IF;
        IF f.differences > room THEN
            RAISE SQLSTATE 'PR011';
        END IF;
    EXCEPTION WHEN SQLSTATE 'PR011' THEN
        -- what this step has opened is undone: a person looks first
        UPDATE postrider.recon_file AS x SET state = 'held', reason = format('TOO_MANY_DIFFERENCES: more than %s', room), updated_at = now()
        WHERE x.id = f.id;
        PERFORM postrider.alert_raise('statement_held', f.channel, 'warn', format('the statement for %s is held: more than %s differences', f.statement_date, room));
    END;
    SELECT x.state, x.matched_to, x.items INTO state, matched_to, items FROM postrider.recon_file AS x WHERE x.id = f.id;
END $$;

-- Files that wait for their matching, oldest first.
CREATE FUNCTION postrider.recon_imported(most int) RETURNS TABLE (file_id bigint, channel text, statement_date date)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT f.id, f.channel, f.statement_date FROM postrider.recon_file AS f WHERE f.state = 'imported' ORDER BY f.id LIMIT $1
$$;

-- The pools of all channels that have one, or differences that a later statement may explain.
CREATE FUNCTION postrider.recon_pools(most int, OUT settled bigint, OUT opened bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    one text;
    got record;
BEGIN
    settled := 0; opened := 0;
    FOR one IN SELECT c.id FROM postrider.channel AS c WHERE EXISTS (SELECT FROM postrider.recon_open AS o WHERE o.channel_no = c.no)
               OR EXISTS (SELECT FROM postrider.recon_difference AS d WHERE d.channel_no = c.no AND d.state = 'open' AND d.class = 'missing_there')
               ORDER BY c.no LOOP
        got := postrider.recon_pool_step(one, most);
        settled := settled + got.settled;
        opened := opened + got.opened;
    END LOOP;
END $$;

-- goods that are not out ----------------------------------------------------------------------------------------

-- Payments whose grace is over (fulfilment_rule) with no delivery reported and money left in them: not from a statement. Looks at what has
-- become due since it was last called, an hour over: a long transaction may have ended a payment before now() and committed after.
CREATE FUNCTION postrider.recon_deliveries(most int, OUT opened bigint, OUT through timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_custom_plan
    SET datestyle = 'ISO, MDY' AS $$
DECLARE
    last CONSTANT timestamptz := coalesce(nullif((SELECT s.value FROM postrider.setting AS s WHERE s.key = 'recon.delivered_through' FOR UPDATE), '')::timestamptz,
                                          now() - interval '120 days') - interval '1 hour';
    longest CONSTANT interval := (SELECT max(r.grace) FROM postrider.fulfilment_rule AS r);
    shortest CONSTANT interval := (SELECT min(r.grace) FROM postrider.fulfilment_rule AS r);
    one record;
    d postrider.recon_difference;
    looked bigint := 0;
BEGIN
    opened := 0;
    through := now();
    FOR one IN SELECT p.id, p.merchant_id, p.order_no, p.channel, p.channel_no, p.amount_minor, p.captured_minor, p.currency, p.gateway_reference, p.final_at,
                      r.grace, p.final_at + r.grace AS due
               FROM postrider.channel AS c
               CROSS JOIN LATERAL (SELECT x.* FROM postrider.payment AS x WHERE x.channel_no = c.no AND x.final_at > last - longest
                                   AND x.final_at <= now() - shortest AND x.state = 'succeeded' OFFSET 0) AS p
               JOIN postrider.fulfilment_rule AS r ON r.merchant_id = p.merchant_id
               WHERE p.final_at >= r.since AND p.final_at + r.grace > last AND p.final_at + r.grace <= now() AND p.refunded_minor < p.captured_minor
                 AND NOT EXISTS (SELECT FROM postrider.fulfilment AS f WHERE f.merchant_id = p.merchant_id AND f.order_no = p.order_no AND f.state = 'delivered')
                 AND NOT EXISTS (SELECT FROM postrider.recon_difference AS k WHERE k.key = 'delivery:' || p.id)
               ORDER BY due LIMIT most LOOP
        d := NULL;
        d.key := 'delivery:' || one.id;
        d.class := 'not_delivered';
        d.reason := 'NOT_DELIVERED';
        d.kind := 'delivery';
        d.channel := one.channel;
        d.channel_no := one.channel_no;
        d.merchant_id := one.merchant_id;
        d.order_no := one.order_no;
        d.payment_id := one.id;
        d.reference := one.gateway_reference;
        d.theirs := '{}';
        d.ours := jsonb_build_object('state', 'succeeded', 'amount_minor', one.captured_minor, 'currency', one.currency,
            'final_at', postrider.json_time(one.final_at), 'grace_s', extract(epoch FROM one.grace));
        IF postrider.recon_differ(d) THEN
            opened := opened + 1;
        END IF;
        looked := looked + 1;
        IF looked = most THEN
            through := one.due;              -- there may be more that were due then
        END IF;
    END LOOP;
    UPDATE postrider.setting AS s SET value = through::text WHERE s.key = 'recon.delivered_through';
END $$;

-- The rows of files that were done with so long ago; what was found in them stays.
CREATE FUNCTION postrider.recon_purge(retention interval, most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    one bigint;
    gone bigint;
    total bigint := 0;
BEGIN
    FOR one IN SELECT f.id FROM postrider.recon_file AS f WHERE f.state IN ('matched', 'replaced', 'closed') AND f.updated_at < now() - retention
               AND EXISTS (SELECT FROM postrider.recon_item AS i WHERE i.file_id = f.id) ORDER BY f.id LIMIT 10 LOOP
        DELETE FROM postrider.recon_item AS i WHERE i.file_id = one
           AND i.n = ANY (ARRAY(SELECT x.n FROM postrider.recon_item AS x WHERE x.file_id = one ORDER BY x.n LIMIT most - total));
        GET DIAGNOSTICS gone = ROW_COUNT;
        total := total + gone;
        EXIT WHEN total >= most;
    END LOOP;
    RETURN total;
END $$;

RESET ROLE;
