-- 0022 create recon views: what people and programs read of reconciliation, and what people decide about it.
-- why:   tables are private; the asking is a view or a function.
-- locks: none that matter, everything is new.
-- undo:  DROP VIEW and FUNCTION for each.

SET LOCAL ROLE postrider_owner;

CREATE VIEW postrider.recon_files AS
SELECT f.id AS file_id, f.channel, f.statement_date, f.kind, f.name, f.source, f.state AS status, f.reason, f.who, f.corrects, f.sha256, f.bytes, f.rows,
       f.items, f.bad, f.proof, f.sums, f.facts, f.matched_to, f.matched, f.differences, f.waiting, f.ignored, f.created_at, f.matched_at, f.updated_at
FROM postrider.recon_file AS f;

CREATE VIEW postrider.recon_differences AS
SELECT d.id AS difference_id, d.class, d.reason, d.kind, d.state AS status, d.channel, d.statement_date, d.file_id, d.line, d.merchant_id, d.order_no,
       d.payment_id, d.refund_id, d.reference, d.theirs, d.ours, d.task_no, t.biz_type AS task_type, t.state AS task_status, d.opened_at, d.ended_at,
       d.ended_by, d.conclusion
FROM postrider.recon_difference AS d
LEFT JOIN LATERAL (SELECT x.biz_type, x.state FROM postrider.task AS x WHERE x.id = d.task_id LIMIT 1) AS t ON true;

CREATE VIEW postrider.recon_quarantine AS
SELECT b.id AS row_id, b.file_id, f.channel, f.statement_date, f.name, b.line, b.reason, b.detail, b.raw, f.created_at, b.closed_at, b.closed_by, b.conclusion
FROM postrider.recon_bad_row AS b
JOIN LATERAL (SELECT x.channel, x.statement_date, x.name, x.created_at FROM postrider.recon_file AS x WHERE x.id = b.file_id LIMIT 1) AS f ON true;

CREATE VIEW postrider.recon_pool AS
SELECT o.id AS open_id, o.side, c.id AS channel, o.file_id, o.n, o.payment_id, o.refund_id, o.since, o.until, o.created_at
FROM postrider.recon_open AS o JOIN postrider.channel AS c ON c.no = o.channel_no;

CREATE VIEW postrider.recon_runs AS
SELECT r.channel, r.statement_date, r.due_at, r.next_at, r.tries, r.last_error, r.last_at, r.done_at, r.claimed_by, r.claimed_until,
       r.file_id, r.asked_by
FROM postrider.recon_run AS r;

-- lists: newest first, `before`: the last id of the page before (NULL: from the start). NULL filters filter nothing.

CREATE FUNCTION postrider.recon_file_list(channel text, status text, before bigint, most int) RETURNS SETOF postrider.recon_files
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT f.* FROM postrider.recon_files AS f
    WHERE f.file_id < coalesce($3, 9223372036854775807) AND ($1 IS NULL OR f.channel = $1) AND ($2 IS NULL OR f.status = $2)
    ORDER BY f.file_id DESC LIMIT least(greatest($4, 0), 1000)
$$;

CREATE FUNCTION postrider.recon_difference_list(channel text, class text, status text, merchant_id text, order_no text, file_id bigint, before bigint, most int)
RETURNS SETOF postrider.recon_differences
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
    SELECT d.* FROM postrider.recon_differences AS d
    WHERE d.difference_id < coalesce($7, 9223372036854775807) AND ($1 IS NULL OR d.channel = $1) AND ($2 IS NULL OR d.class = $2)
      AND ($3 IS NULL OR d.status = $3) AND ($4 IS NULL OR d.merchant_id = $4) AND ($5 IS NULL OR d.order_no = $5) AND ($6 IS NULL OR d.file_id = $6)
    ORDER BY d.difference_id DESC LIMIT least(greatest($8, 0), 1000)
$$;

-- open: only those that no person has closed yet.
CREATE FUNCTION postrider.recon_quarantine_list(file_id bigint, open boolean, before bigint, most int) RETURNS SETOF postrider.recon_quarantine
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
    SELECT q.* FROM postrider.recon_quarantine AS q
    WHERE q.row_id < coalesce($3, 9223372036854775807) AND ($1 IS NULL OR q.file_id = $1) AND (NOT coalesce($2, false) OR q.closed_at IS NULL)
    ORDER BY q.row_id DESC LIMIT least(greatest($4, 0), 1000)
$$;

-- people --------------------------------------------------------------------------------------------------------

-- Trusts a file that is held (its totals, or the number of its differences): it is matched next. Errors: PR006 not held, or unreadable.
CREATE FUNCTION postrider.recon_file_release(who text, file_id bigint, reason text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    f CONSTANT postrider.recon_file := postrider.recon_file_locked(file_id);
BEGIN
    IF coalesce(reason, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the reason is missing', HINT = 'Say why it may be trusted: it is written down.';
    ELSIF f.state <> 'held' OR f.reason LIKE 'UNREADABLE%' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('statement %s is %s', f.id, CASE f.state WHEN 'held' THEN 'unreadable' ELSE f.state END),
            HINT = 'Only one that is held, and could be read, is released. Import a correction instead.';
    END IF;
    UPDATE postrider.recon_file AS x SET state = 'imported', no_limit = x.no_limit OR x.reason LIKE 'TOO_MANY%', updated_at = now() WHERE x.id = f.id;
    PERFORM postrider.audit_add(who, 'recon.release', f.id::text, reason, jsonb_build_object('was', f.reason, 'channel', f.channel, 'date', f.statement_date));
END $$;

-- Does not trust it: it is as if it had never come.
CREATE FUNCTION postrider.recon_file_close(who text, file_id bigint, reason text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    f CONSTANT postrider.recon_file := postrider.recon_file_locked(file_id);
BEGIN
    IF coalesce(reason, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the reason is missing', HINT = 'Say what is wrong with it: it is written down.';
    END IF;
    UPDATE postrider.recon_file AS x SET state = 'closed', updated_at = now() WHERE x.id = f.id;
    PERFORM postrider.audit_add(who, 'recon.close', f.id::text, reason, jsonb_build_object('was', f.reason, 'channel', f.channel, 'date', f.statement_date));
END $$;

-- A person has dealt with a row that could not be read. False: somebody had already.
CREATE FUNCTION postrider.recon_row_close(who text, row_id bigint, reason text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    IF coalesce(reason, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the reason is missing', HINT = 'Say what came of it: it is written down.';
    ELSIF NOT EXISTS (SELECT FROM postrider.recon_bad_row AS b WHERE b.id = row_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no quarantined row %s', row_id), HINT = 'postrider recon rows lists them.';
    END IF;
    UPDATE postrider.recon_bad_row AS b SET closed_at = now(), closed_by = left(who, 128), conclusion = left(reason, 500)
    WHERE b.id = row_id AND b.closed_at IS NULL;
    IF FOUND THEN
        PERFORM postrider.audit_add(who, 'quarantine.close', row_id::text, reason, '{}');
        RETURN true;
    END IF;
    RETURN false;
END $$;

-- What came of a file, for the end of a run.
CREATE FUNCTION postrider.recon_report(file_id bigint) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
    SELECT jsonb_build_object('file_id', f.id, 'channel', f.channel, 'date', f.statement_date, 'kind', f.kind, 'status', f.state, 'reason', f.reason,
        'rows', f.rows, 'items', f.items, 'bad', f.bad, 'proof', f.proof, 'sums', f.sums, 'matched', f.matched, 'waiting', f.waiting, 'ignored', f.ignored,
        'differences', coalesce((SELECT jsonb_object_agg(g.class, g.n) FROM (SELECT d.class, count(*) AS n FROM postrider.recon_difference AS d
                                 WHERE d.file_id = f.id GROUP BY d.class) AS g), '{}'))
    FROM postrider.recon_file AS f WHERE f.id = $1
$$;

RESET ROLE;
