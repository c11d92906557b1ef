-- 0075 create recon doors: what people do about statements in the console and by the operations API.
-- why:   recon_ask, recon_file_release and recon_file_close as doors like the others: JSON in, JSON out.
-- locks: none.
-- undo:  DROP FUNCTION for each.

SET LOCAL ROLE postrider_owner;

-- {"channel", "date", "source": directory | download, "format", "correct", "reason"}: the reconciler takes it at its next look; recon_runs has what comes of it.
CREATE FUNCTION postrider.recon_run_ask(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
DECLARE
    day date;
BEGIN
    PERFORM postrider.args_check(a, 'channel', 'date', 'source', 'format', 'correct', 'reason');
    BEGIN
        day := CASE WHEN a ->> 'date' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' THEN (a ->> 'date')::date END;
    EXCEPTION WHEN datetime_field_overflow OR invalid_datetime_format THEN
        NULL;
    END;
    IF day IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'date is no day', HINT = 'Write it as 2026-11-30.';
    END IF;
    PERFORM postrider.recon_ask(who, postrider.arg_text(a, 'channel', 56, true), day, a ->> 'source', nullif(a ->> 'format', ''),
                                a -> 'correct' = 'true', postrider.arg_text(a, 'reason', 500, true));
    RETURN jsonb_build_object('ok', true, 'says', 'The reconciler takes it at its next look.');
END $$;

-- {"file_id", "reason"}: a statement that is held is trusted, and matched next.
CREATE FUNCTION postrider.recon_release(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM postrider.args_check(a, 'file_id', 'reason');
    PERFORM postrider.recon_file_release(who, postrider.arg_id(a, 'file_id'), postrider.arg_text(a, 'reason', 500, true));
    RETURN jsonb_build_object('ok', true);
END $$;

-- {"file_id", "reason"}: it is as if it had never come.
CREATE FUNCTION postrider.recon_close(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM postrider.args_check(a, 'file_id', 'reason');
    PERFORM postrider.recon_file_close(who, postrider.arg_id(a, 'file_id'), postrider.arg_text(a, 'reason', 500, true));
    RETURN jsonb_build_object('ok', true);
END $$;

-- {"channel", "open", "limit", "after"}: the days that are expected or were asked for, newest first. open: only those that have not come.
CREATE FUNCTION postrider.recon_runs_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    most CONSTANT int := postrider.arg_limit(a);
    day date := 'infinity';
    named text := '';
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'channel', 'open', 'limit', 'after');
    IF a ->> 'after' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}/' THEN
        day := left(a ->> 'after', 10)::date;
        named := substr(a ->> 'after', 12);
    END IF;
    RETURN postrider.page_json(ARRAY(
        SELECT to_jsonb(r) || jsonb_build_object('due_at', postrider.json_time(r.due_at), 'next_at', postrider.json_time(r.next_at), 'last_at', postrider.json_time(r.last_at),
            'done_at', postrider.json_time(r.done_at), 'cursor', r.statement_date || '/' || r.channel)
        FROM postrider.recon_runs AS r
        WHERE (a ->> 'channel' IS NULL OR r.channel = a ->> 'channel') AND ((a ->> 'open')::boolean IS NOT TRUE OR r.done_at IS NULL)
          AND r.statement_date <= day AND (r.statement_date < day OR r.channel > named)
        ORDER BY r.statement_date DESC, r.channel LIMIT most + 1), most);
END $$;

REVOKE ALL ON FUNCTION postrider.recon_run_ask, postrider.recon_release, postrider.recon_close, postrider.recon_runs_list FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.recon_run_ask, postrider.recon_release, postrider.recon_close, postrider.recon_runs_list TO postrider_console;

RESET ROLE;
