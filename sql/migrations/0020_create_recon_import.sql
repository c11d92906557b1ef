-- 0020 create recon import: the settings of a channel's statements, the schedule, and how a file comes in.
-- why:   one transaction a file: recon_begin, COPY into recon_item and recon_bad_row, recon_finish. Whatever dies, there is no half file.
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each.
--
-- Errors as in 0011, and PR012: this statement is known already.

SET LOCAL ROLE postrider_owner;

-- time ----------------------------------------------------------------------------------------------------------

-- The day as the clock at the channel sees it: 23 to 25 hours.
CREATE FUNCTION postrider.recon_day(zone text, day date, OUT from_at timestamptz, OUT to_at timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT day::timestamp AT TIME ZONE zone, (day + 1)::timestamp AT TIME ZONE zone
$$;

-- When its statement is due: `ready` after that day's end by the clock there ('10:00' is ten in the morning, in summer and winter).
CREATE FUNCTION postrider.recon_due_at(zone text, ready interval, day date) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT ((day + 1)::timestamp + ready) AT TIME ZONE zone
$$;

-- The last day whose statement is due at that time.
CREATE FUNCTION postrider.recon_last_day(zone text, ready interval, at timestamptz) RETURNS date
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    -- a day is due long before the day after next: two candidates are enough, one more costs nothing
    SELECT max(d.day) FROM (SELECT (at AT TIME ZONE zone - ready)::date - n AS day FROM generate_series(0, 2) AS n) AS d
    WHERE postrider.recon_due_at(zone, ready, d.day) <= at
$$;

-- After so many tries in vain, until the next one.
CREATE FUNCTION postrider.recon_again(tries int) RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT CASE WHEN tries <= 1 THEN interval '10 min' WHEN tries = 2 THEN interval '30 min' WHEN tries <= 6 THEN interval '1 h'
                WHEN tries <= 30 THEN interval '2 h' ELSE interval '12 h' END
$$;

-- settings ------------------------------------------------------------------------------------------------------

CREATE FUNCTION postrider.recon_settings(channel text) RETURNS postrider.recon_channel
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    s postrider.recon_channel;
BEGIN
    SELECT x.* INTO s FROM postrider.recon_channel AS x WHERE x.channel = $1;
    IF NOT FOUND THEN
        s := ROW ($1, 'UTC', NULL, 'none', '10:00', '4 hours', NULL, '{payment,refund}', '2 hours', '{}', 1000, now());
    END IF;
    RETURN s;
END $$;

-- settings, by the names of the columns: zone format source ready late starts proves pool_age tolerance max_differences.
CREATE FUNCTION postrider.recon_set(who text, channel text, settings jsonb, reason text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    former postrider.recon_channel;
    s postrider.recon_channel;
    bad text;
BEGIN
    PERFORM postrider.channel_locked(channel);
    former := postrider.recon_settings(channel);
    SELECT format('%L is no setting of statements', left(k.key, 80)) INTO bad FROM jsonb_object_keys(settings) AS k (key)
    WHERE k.key NOT IN ('zone', 'format', 'source', 'ready', 'late', 'starts', 'proves', 'pool_age', 'tolerance', 'max_differences') LIMIT 1;
    IF bad IS NULL THEN
        BEGIN
            s := jsonb_populate_record(former, settings);
            bad := CASE
                WHEN NOT EXISTS (SELECT FROM pg_timezone_names AS z WHERE z.name = s.zone) THEN format('%L is no time zone', left(s.zone, 80))
                WHEN s.format !~ '^[a-z0-9-]{1,64}$' THEN 'format is not 1 to 64 of a-z 0-9 -'
                WHEN jsonb_typeof(s.tolerance) <> 'object' OR EXISTS (SELECT FROM jsonb_each(s.tolerance) AS t
                     WHERE t.key !~ '^[A-Z]{3}$' OR t.value::text !~ '^[0-9]{1,9}$') THEN 'tolerance is not an object of currencies to minor units' END;
            IF bad IS NULL THEN
                IF s.source <> 'none' AND s.starts IS NULL THEN
                    s.starts := (now() AT TIME ZONE s.zone)::date;
                END IF;
                INSERT INTO postrider.recon_channel AS x VALUES (s.*)
                ON CONFLICT ON CONSTRAINT recon_channel_pkey DO UPDATE
                SET zone = s.zone, format = s.format, source = s.source, ready = s.ready, late = s.late, starts = s.starts, proves = s.proves,
                    pool_age = s.pool_age, tolerance = s.tolerance, max_differences = s.max_differences, updated_at = now();
            END IF;
        EXCEPTION WHEN data_exception OR invalid_text_representation OR integrity_constraint_violation THEN
            bad := 'a setting has a value that it does not take: ' || SQLERRM;
        END;
    END IF;
    IF bad IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = bad, HINT = 'postrider recon set --help lists the settings and their form.';
    END IF;
    PERFORM postrider.audit_add(who, 'recon.set', channel, reason, jsonb_build_object('set', settings, 'before',
        (SELECT jsonb_object_agg(b.key, b.value) FROM jsonb_each(to_jsonb(former)) AS b WHERE settings ? b.key)));
END $$;

-- Goods of this merchant are expected so long after the payment; NULL: it reports none.
CREATE FUNCTION postrider.fulfilment_set(who text, merchant_id text, grace interval, reason text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    IF NOT EXISTS (SELECT FROM postrider.merchant AS m WHERE m.id = merchant_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = format('merchant %L is not known', left(merchant_id, 80)), HINT = 'postrider merchant list shows those that are.';
    ELSIF grace NOT BETWEEN interval '0' AND interval '90 days' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the grace is not 0 to 90 days', HINT = 'How long after the payment the goods are out at the latest.';
    END IF;
    IF grace IS NULL THEN
        DELETE FROM postrider.fulfilment_rule AS r WHERE r.merchant_id = merchant_id;
    ELSE
        INSERT INTO postrider.fulfilment_rule AS r (merchant_id, grace) VALUES (merchant_id, grace)
        ON CONFLICT ON CONSTRAINT fulfilment_rule_pkey DO UPDATE SET grace = excluded.grace;
    END IF;
    PERFORM postrider.audit_add(who, 'recon.delivery', merchant_id, reason, jsonb_build_object('grace', grace));
END $$;

-- a file comes in -----------------------------------------------------------------------------------------------

CREATE FUNCTION postrider.recon_file_locked(id bigint) RETURNS postrider.recon_file
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    f postrider.recon_file;
BEGIN
    SELECT x.* INTO f FROM postrider.recon_file AS x WHERE x.id = $1 FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no statement %s', coalesce(id::text, 'without an id')),
            HINT = 'postrider recon list shows those that are.';
    END IF;
    RETURN f;
END $$;

-- Begins the import of one statement. correct: it takes the place of the one that is there for that day and kind. Whoever imports the same
-- day at the same time waits here. Errors: PR004; PR012 that day's is here; PR003 a correction of nothing, or a day that is not over.
CREATE FUNCTION postrider.recon_begin(who text, channel text, day date, kind text, name text, source text, correct boolean) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    c postrider.channel;
    span record;
    known postrider.recon_file;
    new_id bigint;
BEGIN
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.id = channel;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR004', MESSAGE = format('channel %L is not known', left(channel, 80)), HINT = 'postrider channel list shows those that are.';
    END IF;
    span := postrider.recon_day((postrider.recon_settings(channel)).zone, day);
    IF (kind ~ '^[a-z0-9-]{1,64}$' AND source IN ('file', 'directory', 'download') AND span.to_at <= now()) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the day is not over where the channel is, or kind is not of a-z 0-9 -',
            HINT = 'A statement is about a whole day: recon set --zone says whose.';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(format('postrider.recon %s %s %s', c.no, day, kind), 0));
    SELECT x.* INTO known FROM postrider.recon_file AS x
    WHERE x.channel_no = c.no AND x.statement_date = day AND x.kind = kind AND x.state NOT IN ('replaced', 'closed') FOR NO KEY UPDATE;
    IF FOUND AND NOT coalesce(correct, false) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR012', MESSAGE = format('the statement of %s for %s (%s) is here: number %s, %s', channel, day, kind, known.id, known.state),
            HINT = 'If this one corrects it, say so: --correct.';
    ELSIF NOT FOUND AND correct THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('there is no statement of %s for %s (%s) to correct', channel, day, kind), HINT = 'Import it without --correct.';
    END IF;
    IF known.id IS NOT NULL THEN
        UPDATE postrider.recon_file AS x SET state = 'replaced', updated_at = now() WHERE x.id = known.id;
        -- what waits for its counterpart waits for nothing: the correction says it again
        DELETE FROM postrider.recon_open AS o WHERE o.file_id = known.id;
    END IF;
    -- it is what it will be only after recon_finish, of which nobody sees the time before
    INSERT INTO postrider.recon_file AS x (channel, channel_no, statement_date, from_at, to_at, kind, name, source, who, corrects, state)
    VALUES (channel, c.no, day, span.from_at, span.to_at, kind, right(name, 255), source, left(who, 128), known.id, 'held') RETURNING x.id INTO new_id;
    PERFORM postrider.audit_add(who, 'recon.run', new_id::text, NULL, jsonb_build_object('channel', channel, 'date', day, 'kind', kind, 'name', name, 'corrects', known.id));
    RETURN new_id;
END $$;

-- The end of the import. facts: sha256, bytes, rows, records, bad, sums, proof (not_given | proved | differs), difference, first_us, last_us,
-- account; error (code: text) when it could not be read, with nothing copied. Returns the state: imported, or held.
-- Errors: PR012 the same bytes are here already; PR003 the rows that came are not as many as were read.
CREATE FUNCTION postrider.recon_finish(file_id bigint, facts jsonb, OUT state text, OUT reason text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
    f CONSTANT postrider.recon_file := postrider.recon_file_locked(file_id);
    c postrider.channel;
    items CONSTANT bigint := (SELECT count(*) FROM postrider.recon_item AS i WHERE i.file_id = f.id);
    bad CONSTANT bigint := (SELECT count(*) FROM postrider.recon_bad_row AS b WHERE b.file_id = f.id);
    known bigint;
BEGIN
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.id = f.channel;
    IF facts ->> 'error' IS NULL AND (items, bad) IS DISTINCT FROM ((facts ->> 'records')::bigint, (facts ->> 'bad')::bigint) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('%s rows and %s bad ones came, %s and %s were read', items, bad, facts ->> 'records', facts ->> 'bad'),
            HINT = 'Import it again.';
    END IF;
    SELECT x.id INTO known FROM postrider.recon_file AS x
    WHERE x.channel_no = f.channel_no AND x.sha256 = facts ->> 'sha256' AND x.rows > 0 AND x.state <> 'closed' AND x.id <> f.id ORDER BY x.id LIMIT 1;
    IF FOUND AND (facts ->> 'rows')::bigint > 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR012', MESSAGE = format('these bytes are here already: statement %s', known), HINT = 'postrider recon show has what came of it.';
    END IF;
    reason := CASE
        WHEN facts ->> 'error' IS NOT NULL THEN 'UNREADABLE: ' || left(facts ->> 'error', 300)
        WHEN facts ->> 'proof' = 'differs' THEN 'TOTALS_DIFFER: ' || left(facts ->> 'difference', 300)
        WHEN bad > 100 AND bad > items THEN format('BAD_ROWS: %s of %s', bad, items + bad)
        WHEN coalesce(facts ->> 'account', '') <> '' AND c.account <> '' AND facts ->> 'account' <> c.account AND 'account' = ANY (c.match)
            THEN format('OTHER_ACCOUNT: it is about %s', left(facts ->> 'account', 128))
        WHEN postrider.time_of_us(facts ->> 'last_us') < f.from_at - interval '1 day' OR postrider.time_of_us(facts ->> 'first_us') > f.to_at + interval '1 day'
            THEN format('OTHER_DAY: from %s to %s', postrider.json_time(postrider.time_of_us(facts ->> 'first_us')), postrider.json_time(postrider.time_of_us(facts ->> 'last_us')))
        ELSE '' END;
    state := CASE WHEN reason = '' THEN 'imported' ELSE 'held' END;
    UPDATE postrider.recon_file AS x
    SET state = state, reason = reason, sha256 = coalesce(facts ->> 'sha256', ''), bytes = coalesce((facts ->> 'bytes')::bigint, 0),
        rows = CASE WHEN facts ->> 'error' IS NULL THEN items + bad ELSE 0 END, items = items, bad = bad, proof = coalesce(facts ->> 'proof', ''),
        sums = coalesce(facts -> 'sums', '[]'), facts = facts - 'sums', updated_at = now()
    WHERE x.id = f.id;
    IF state = 'held' THEN
        PERFORM postrider.alert_raise('statement_held', f.channel, 'warn', format('the statement for %s is held: %s', f.statement_date, reason));
    END IF;
    IF bad > 0 THEN
        PERFORM postrider.alert_raise('statement_rows', f.channel, 'warn', format('%s rows of the statement for %s could not be read', bad, f.statement_date));
    END IF;
    UPDATE postrider.recon_run AS r
    SET done_at = now(), last_error = NULL, claimed_until = NULL, file_id = f.id, asked_by = NULL, asked_source = NULL, asked_format = NULL, asked_correct = NULL,
        asked_taken = NULL
    WHERE r.channel = f.channel AND r.statement_date = f.statement_date;
    PERFORM postrider.alert_resolve('statement_late', f.channel)
    FROM (SELECT count(*) AS late FROM postrider.recon_run AS r WHERE r.channel = f.channel AND r.done_at IS NULL AND r.tries > 0) AS l WHERE l.late = 0;
END $$;

-- the schedule --------------------------------------------------------------------------------------------------

CREATE FUNCTION postrider.recon_has_come(channel text, day date) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM postrider.recon_file AS f WHERE f.channel_no = (SELECT c.no FROM postrider.channel AS c WHERE c.id = $1)
                   AND f.statement_date = $2 AND f.state NOT IN ('replaced', 'closed'))
$$;

-- Takes what is due: days of channels whose statements are expected, oldest first, leased for 10 minutes, and those that people ask for. Makes
-- the rows of days that have become due. A day that came otherwise (by file) is done. Raises alert statement_late where one is overdue.
CREATE FUNCTION postrider.recon_due(claimed_by text, most int)
RETURNS TABLE (channel text, statement_date date, source text, format text, tries int, late boolean, correct boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    one record;
BEGIN
    INSERT INTO postrider.recon_run AS r (channel, statement_date, due_at, next_at)
    SELECT s.channel, d.day::date, postrider.recon_due_at(s.zone, s.ready, d.day::date), now()
    FROM postrider.recon_channel AS s
    CROSS JOIN LATERAL generate_series(greatest(s.starts, postrider.recon_last_day(s.zone, s.ready, now()) - 31)::timestamp,
                                       postrider.recon_last_day(s.zone, s.ready, now())::timestamp, '1 day') AS d (day)
    WHERE s.source <> 'none'
    ON CONFLICT DO NOTHING;
    UPDATE postrider.recon_run AS r SET done_at = now()
    WHERE r.done_at IS NULL AND r.asked_by IS NULL AND postrider.recon_has_come(r.channel, r.statement_date);
    FOR one IN SELECT r.channel, r.statement_date, r.tries, r.due_at, r.asked_by, r.asked_correct, coalesce(r.asked_source, s.source) AS source,
                      coalesce(r.asked_format, s.format) AS format, s.late, coalesce(s.source, 'none') <> 'none' AS expected
               FROM postrider.recon_run AS r LEFT JOIN postrider.recon_channel AS s ON s.channel = r.channel
               WHERE r.done_at IS NULL AND r.next_at <= now() AND coalesce(r.claimed_until <= now(), true)
                 AND (r.asked_by IS NOT NULL OR s.source <> 'none')
               ORDER BY r.asked_by IS NULL, r.statement_date, r.channel LIMIT most FOR UPDATE OF r SKIP LOCKED LOOP
        UPDATE postrider.recon_run AS r SET claimed_until = now() + interval '10 min', claimed_by = left(recon_due.claimed_by, 128), tries = r.tries + 1,
               next_at = now() + postrider.recon_again(r.tries + 1), last_at = now(), asked_taken = CASE WHEN r.asked_by IS NOT NULL THEN true END
        WHERE r.channel = one.channel AND r.statement_date = one.statement_date;
        channel := one.channel;
        statement_date := one.statement_date;
        source := one.source;
        format := one.format;
        tries := one.tries + 1;
        late := one.expected AND now() > one.due_at + one.late;
        correct := coalesce(one.asked_correct, false);
        IF late THEN
            PERFORM postrider.alert_raise('statement_late', one.channel, 'warn',
                format('the statement for %s was due at %s and has not come (%s tries)', one.statement_date, postrider.json_time(one.due_at), tries));
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;

-- It takes longer (a download waits for its turn): the day stays whose it is. False: it is somebody else's, or done.
CREATE FUNCTION postrider.recon_hold(channel text, day date, claimed_by text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE postrider.recon_run AS r SET claimed_until = now() + interval '10 min'
    WHERE r.channel = $1 AND r.statement_date = $2 AND r.done_at IS NULL AND r.claimed_by = left($3, 128);
    RETURN FOUND;
END $$;

-- It has not come, or not in order: tried again at its next time. What a person asked for was tried once; the schedule goes on where it
-- still expects that day.
CREATE FUNCTION postrider.recon_missed(channel text, day date, error text) RETURNS timestamptz
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE postrider.recon_run AS r
    SET last_error = left($3, 500), last_at = now(), claimed_until = NULL,
        done_at = CASE WHEN r.asked_taken AND (postrider.recon_has_come($1, $2) OR NOT EXISTS (SELECT FROM postrider.recon_channel AS s
                       WHERE s.channel = $1 AND s.source <> 'none' AND s.starts <= $2)) THEN now() END,
        asked_by = CASE WHEN NOT r.asked_taken THEN r.asked_by END, asked_source = CASE WHEN NOT r.asked_taken THEN r.asked_source END,
        asked_format = CASE WHEN NOT r.asked_taken THEN r.asked_format END, asked_correct = CASE WHEN NOT r.asked_taken THEN r.asked_correct END,
        asked_taken = CASE WHEN NOT r.asked_taken THEN false END
    WHERE r.channel = $1 AND r.statement_date = $2 AND r.done_at IS NULL RETURNING r.next_at
$$;

-- A person wants a day's statement now, from the channel (download) or the directory; the reconciler takes it at its next look. format: NULL
-- the channel's; correct: it takes the place of the one that is there. What came of it stands in recon_runs: asked_by is NULL again, then
-- file_id, or last_error. Errors: PR004; PR003 a day that is not over, or a source that is none.
CREATE FUNCTION postrider.recon_ask(who text, channel text, day date, source text, format text DEFAULT NULL, correct boolean DEFAULT false, reason text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    IF NOT EXISTS (SELECT FROM postrider.channel AS c WHERE c.id = channel) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR004', MESSAGE = format('channel %L is not known', left(channel, 80)), HINT = 'postrider channel list shows those that are.';
    ELSIF (source IN ('directory', 'download') AND (format ~ '^[a-z0-9-]{1,64}$') IS NOT FALSE) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'source is not directory or download, or format is not of a-z 0-9 -',
            HINT = 'download asks the channel, directory looks where files are dropped.';
    ELSIF ((postrider.recon_day((postrider.recon_settings(channel)).zone, day)).to_at <= now()) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the day is not over where the channel is',
            HINT = 'A statement is about a whole day: recon set --zone says whose.';
    END IF;
    INSERT INTO postrider.recon_run AS r (channel, statement_date, due_at, next_at, asked_by, asked_source, asked_format, asked_correct, asked_taken)
    VALUES (channel, day, now(), now(), left(who, 128), source, format, coalesce(correct, false), false)
    ON CONFLICT ON CONSTRAINT recon_run_pkey DO UPDATE
    SET next_at = now(), done_at = NULL, last_error = NULL, file_id = NULL, asked_by = excluded.asked_by, asked_source = excluded.asked_source,
        asked_format = excluded.asked_format, asked_correct = excluded.asked_correct, asked_taken = false;
    PERFORM postrider.audit_add(who, 'recon.ask', channel, reason, jsonb_build_object('date', day, 'source', source, 'format', format, 'correct', correct));
END $$;

-- The channel, asked for the statement, says that the day had nothing. Where that agrees with us, it is kept as a statement without a row,
-- and NULL returned; else what it does not agree with: it may not be made yet.
CREATE FUNCTION postrider.recon_nothing(who text, channel text, day date, kind text, source text, correct boolean) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    c postrider.channel;
    s CONSTANT postrider.recon_channel := postrider.recon_settings(channel);
    span CONSTANT record := postrider.recon_day(s.zone, day);
    ours bigint;
BEGIN
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.id = channel;
    SELECT count(*) INTO ours FROM (
        SELECT FROM postrider.payment AS p WHERE p.channel_no = c.no AND p.final_at >= span.from_at AND p.final_at < span.to_at AND p.state = 'succeeded'
            AND p.amount_minor > 0 AND 'payment' = ANY (s.proves) LIMIT 1000) AS o;
    IF ours > 0 THEN
        RETURN format('the channel says that it has nothing for that day, but %s payments were paid here: its statement may not be made yet',
                      CASE WHEN ours = 1000 THEN '1000 or more' ELSE ours::text END);
    END IF;
    PERFORM postrider.recon_finish(postrider.recon_begin(who, channel, day, kind, 'nothing on that day', source, correct),
        '{"rows": 0, "records": 0, "bad": 0, "bytes": 0, "proof": "not_given", "said": "nothing on that day"}');
    RETURN NULL;
END $$;

RESET ROLE;
