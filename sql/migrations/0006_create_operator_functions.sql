-- 0006 create operator functions: merchants, endpoints, dead letters, breaker, alerts.
-- why:   every action of a person goes through one of these doors and leaves a row in audit: who, what, why.
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each.
--
-- SECURITY DEFINER, owned by postrider_owner. `who` is the operator as the caller knows him. Errors: PR001 unknown merchant,
-- PR003 invalid argument, PR009 no such endpoint. Secrets come in sealed (lib/sign/seal.h) and never go out.

SET LOCAL ROLE postrider_owner;

-- One action of a person, whom person_check() lets do it or not.
CREATE FUNCTION postrider.audit_add(who text, action text, subject text, reason text, detail jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF coalesce(who, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'who is missing', HINT = 'Say who does this: every action is written down.';
    END IF;
    PERFORM postrider.person_check(who, action);
    INSERT INTO postrider.audit (actor, action, subject, reason, detail)
    VALUES (left(who, 128), action, subject, left(reason, 500), coalesce(detail, '{}'));
END $$;

-- merchants and endpoints ---------------------------------------------------------------------------------------

-- What may be set of an endpoint, by name, as jsonb; unknown names and values of the wrong kind are PR003.
-- url events scheme success_rule retry max_age_ms concurrency rate_per_s headers tls_ca egress http2 supersede
CREATE FUNCTION postrider.endpoint_patch(e postrider.endpoint, settings jsonb) RETURNS postrider.endpoint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k text;
    bad text;
BEGIN
    FOR k IN SELECT jsonb_object_keys(settings) LOOP
        IF k NOT IN ('url', 'events', 'scheme', 'success_rule', 'retry', 'max_age_ms', 'concurrency', 'rate_per_s', 'headers',
                     'tls_ca', 'egress', 'http2', 'supersede') THEN
            bad := format('%L is no setting of an endpoint', k);
        END IF;
    END LOOP;
    IF bad IS NULL THEN
        BEGIN
            e := jsonb_populate_record(e, settings);
        EXCEPTION WHEN data_exception OR invalid_text_representation THEN
            bad := 'a setting has a value of the wrong kind: ' || SQLERRM;
        END;
    END IF;
    IF bad IS NULL THEN
        bad := CASE
            WHEN length(e.url) > 512 OR (e.id > 0 AND postrider.url_origin(e.url) IS NULL)
                THEN 'url is not a URL that can be called'
            WHEN e.events IS NULL OR (e.id > 0 AND cardinality(e.events) = 0) OR cardinality(e.events) > 64
                OR EXISTS (SELECT FROM unnest(e.events) AS p
                           WHERE p IS NULL OR p !~ '^([*]|[a-z0-9_]+([.][a-z0-9_]+)*([.][*])?)$' OR length(p) > 66)
                THEN 'events has a pattern that is not *, word.word or word.*'
            WHEN e.scheme NOT IN ('postrider', 'ed25519', 'form-md5', 'form-hmac') OR e.scheme IS NULL
                THEN 'scheme is not postrider, ed25519, form-md5 or form-hmac'
            WHEN e.success_rule IS NULL OR e.success_rule !~ '^(default|2xx|body:.{1,200}|json:[^=]{1,100}=.{1,100})$'
                THEN 'success_rule is not default, 2xx, body:TEXT or json:FIELD=VALUE'
            WHEN e.retry IS NULL THEN 'retry is missing: empty is the configuration''s own'
            WHEN e.max_age_ms < 1 THEN 'max_age_ms is not positive'
            WHEN e.concurrency NOT BETWEEN 1 AND 1000 THEN 'concurrency is not 1 to 1000'
            WHEN NOT (e.rate_per_s > 0 AND e.rate_per_s < 'infinity') THEN 'rate_per_s is not positive'
            WHEN e.headers IS NULL OR jsonb_typeof(e.headers) <> 'object' THEN 'headers is not an object of name to value'
            WHEN (SELECT count(*) FROM jsonb_each(e.headers)) > 32 THEN 'headers has more than 32'
            WHEN e.http2 IS NULL THEN 'http2 is neither true nor false'
            WHEN e.supersede IS NULL THEN 'supersede is neither true nor false' END;
    END IF;
    IF bad IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = bad, HINT = 'postrider merchant set --help lists the settings and their form.';
    END IF;
    RETURN e;
END $$;

CREATE FUNCTION postrider.endpoint_add(who text, merchant_id text, name text, url text, secret bytea, settings jsonb DEFAULT '{}')
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    e postrider.endpoint;
BEGIN
    IF NOT EXISTS (SELECT FROM postrider.merchant AS m WHERE m.id = merchant_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = format('merchant %L is not known', left(merchant_id, 80)),
            HINT = 'Add it first: postrider merchant add ID --url URL.';
    ELSIF name IS NULL OR name !~ '^[A-Za-z0-9._-]{1,64}$' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the endpoint''s name is not 1 to 64 of A-Z a-z 0-9 . _ -',
            HINT = 'Use default for the merchant''s main address.';
    ELSIF EXISTS (SELECT FROM postrider.endpoint AS x WHERE x.merchant_id = merchant_id AND x.name = name) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('merchant %L has an endpoint %L already', merchant_id, name),
            HINT = 'Change it with postrider merchant set, or choose another name.';
    ELSIF secret IS NULL OR length(secret) = 0 OR url IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'url or secret is missing', HINT = 'Both are needed.';
    END IF;
    e.id := nextval('postrider.endpoint_id_seq');
    e.merchant_id := merchant_id;
    e.name := name;
    e.url := url;
    e.secret := secret;
    e.events := '{*}';
    e.scheme := 'postrider';
    e.success_rule := 'default';
    e.retry := '';
    e.headers := '{}';
    e.http2 := true;
    e.supersede := false;
    e.state := 'active';
    e.created_at := now();
    e := postrider.endpoint_patch(e, coalesce(settings, '{}'));
    INSERT INTO postrider.endpoint SELECT e.*;
    PERFORM postrider.audit_add(who, 'endpoint.add', e.id::text, NULL,
        jsonb_build_object('merchant_id', merchant_id, 'name', name, 'url', url) || coalesce(settings, '{}'));
    RETURN e.id;
END $$;

-- A merchant and its endpoint `default`; returns the endpoint's id.
CREATE FUNCTION postrider.merchant_add(who text, id text, tier text, email text, url text, secret bytea, settings jsonb DEFAULT '{}',
                                       endpoint_name text DEFAULT 'default') RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    IF id IS NULL OR id !~ '^[A-Za-z0-9._:-]{1,64}$' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the merchant''s id is not 1 to 64 of A-Z a-z 0-9 . _ : -',
            HINT = 'Use the id that the application passes to enqueue_notification.';
    ELSIF coalesce(tier, 'normal') NOT IN ('vip', 'normal', 'small') THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'tier is not vip, normal or small', HINT = 'Leave it out for normal.';
    END IF;
    INSERT INTO postrider.merchant (id, tier, email, shard) VALUES (id, coalesce(tier, 'normal'), email, 0) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('merchant %L is known already', id),
            HINT = 'Use postrider merchant set, or endpoint_add for another address of it.';
    END IF;
    PERFORM postrider.audit_add(who, 'merchant.add', id, NULL,
        jsonb_strip_nulls(jsonb_build_object('tier', coalesce(tier, 'normal'), 'email', email)));
    RETURN postrider.endpoint_add(who, id, endpoint_name, url, secret, settings);
END $$;

-- settings: tier, email (null removes it).
CREATE FUNCTION postrider.merchant_set(who text, id text, settings jsonb, reason text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    former record;
BEGIN
    SELECT m.tier, m.email INTO former FROM postrider.merchant AS m WHERE m.id = id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = format('merchant %L is not known', left(id, 80)),
            HINT = 'postrider merchant list shows those that are.';
    ELSIF EXISTS (SELECT FROM jsonb_object_keys(settings) AS k WHERE k NOT IN ('tier', 'email'))
          OR (settings ? 'tier' AND coalesce(settings ->> 'tier', '') NOT IN ('vip', 'normal', 'small')) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'settings are tier (vip, normal, small) and email',
            HINT = 'The other settings belong to an endpoint: endpoint_set.';
    END IF;
    UPDATE postrider.merchant AS m
    SET tier = CASE WHEN settings ? 'tier' THEN settings ->> 'tier' ELSE m.tier END,
        email = CASE WHEN settings ? 'email' THEN settings ->> 'email' ELSE m.email END
    WHERE m.id = id;
    PERFORM postrider.audit_add(who, 'merchant.set', id, reason, jsonb_build_object('before', to_jsonb(former), 'set', settings));
END $$;

-- Locks the endpoint's row for a change, or raises PR009.
CREATE FUNCTION postrider.endpoint_locked(id bigint) RETURNS postrider.endpoint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    e postrider.endpoint;
BEGIN
    SELECT x.* INTO e FROM postrider.endpoint AS x WHERE x.id = endpoint_locked.id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no endpoint %s', id),
            HINT = 'postrider endpoint list shows those that are.';
    END IF;
    RETURN e;
END $$;

-- extra_float_digits: the audit's "before" has numbers as texts.
CREATE FUNCTION postrider.endpoint_set(who text, id bigint, settings jsonb, reason text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET extra_float_digits = 1 AS $$
#variable_conflict use_variable
DECLARE
    former postrider.endpoint := postrider.endpoint_locked(id);
    e postrider.endpoint := postrider.endpoint_patch(former, settings);
BEGIN
    UPDATE postrider.endpoint AS x
    SET (url, events, scheme, success_rule, retry, max_age_ms, concurrency, rate_per_s, headers, tls_ca, egress, http2, supersede)
      = (e.url, e.events, e.scheme, e.success_rule, e.retry, e.max_age_ms, e.concurrency, e.rate_per_s, e.headers, e.tls_ca,
         e.egress, e.http2, e.supersede)
    WHERE x.id = id;
    -- The addresses of notify_url are signed and judged as the default endpoint is.
    IF e.name = 'default' AND e.id > 0 THEN
        UPDATE postrider.endpoint AS x
        SET (scheme, success_rule, retry, max_age_ms, concurrency, rate_per_s, headers, tls_ca, egress, http2, supersede)
          = (e.scheme, e.success_rule, e.retry, e.max_age_ms, e.concurrency, e.rate_per_s, e.headers, e.tls_ca, e.egress, e.http2, e.supersede)
        WHERE x.merchant_id = e.merchant_id AND x.id < 0;
    END IF;
    PERFORM postrider.audit_add(who, 'endpoint.set', id::text, reason, jsonb_build_object('set', settings, 'before',
        (SELECT jsonb_object_agg(b.key, b.value) FROM jsonb_each(to_jsonb(former)) AS b WHERE settings ? b.key)));
END $$;

-- Its jobs are held from now on (state disabled; reason '410' when the receiver said so). False: it was disabled already.
CREATE FUNCTION postrider.endpoint_disable(who text, id bigint, reason text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    e postrider.endpoint := postrider.endpoint_locked(id);
BEGIN
    IF e.state = 'disabled' THEN
        RETURN false;
    END IF;
    UPDATE postrider.endpoint AS x SET state = 'disabled', state_reason = left(reason, 500), state_at = now() WHERE x.id = id;
    PERFORM postrider.audit_add(who, 'endpoint.disable', id::text, reason, jsonb_build_object('merchant_id', e.merchant_id));
    RETURN true;
END $$;

-- Its jobs go out again, at a limited rate. Resolves the alert of a 410. False: it was active already.
CREATE FUNCTION postrider.endpoint_enable(who text, id bigint, reason text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    e postrider.endpoint := postrider.endpoint_locked(id);
BEGIN
    IF e.state = 'active' THEN
        RETURN false;
    END IF;
    UPDATE postrider.endpoint AS x SET state = 'active', state_reason = left(reason, 500), state_at = now() WHERE x.id = id;
    UPDATE postrider.alert AS a SET resolved_at = now()
    WHERE a.kind = 'endpoint_gone' AND a.subject = id::text AND a.resolved_at IS NULL;
    PERFORM postrider.audit_add(who, 'endpoint.enable', id::text, reason,
        jsonb_build_object('merchant_id', e.merchant_id, 'was', e.state_reason));
    RETURN true;
END $$;

-- The new secret counts beside the old one for `overlap`, then alone; overlap 0: alone at once.
-- A second rotation inside the overlap replaces the new one; the old one stays until the new overlap ends.
CREATE FUNCTION postrider.endpoint_rotate_secret(who text, id bigint, secret bytea, overlap interval, reason text DEFAULT NULL)
RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    e postrider.endpoint := postrider.endpoint_locked(id);
    until timestamptz := now() + overlap;
BEGIN
    IF secret IS NULL OR length(secret) = 0 OR overlap IS NULL OR overlap NOT BETWEEN interval '0' AND interval '90 days' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'secret is missing, or overlap is not 0 to 90 days',
            HINT = 'An overlap of 24h gives the merchant a day to change over.';
    ELSIF e.id < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'an address from notify_url has no secret of its own',
            HINT = 'Rotate the secret of the merchant''s default endpoint.';
    END IF;
    UPDATE postrider.endpoint AS x
    SET secret = CASE WHEN overlap > interval '0' THEN e.secret ELSE endpoint_rotate_secret.secret END,
        secret_next = CASE WHEN overlap > interval '0' THEN endpoint_rotate_secret.secret END,
        rotate_until = CASE WHEN overlap > interval '0' THEN until END
    WHERE x.id = id OR (e.name = 'default' AND x.merchant_id = e.merchant_id AND x.id < 0);
    PERFORM postrider.audit_add(who, 'endpoint.rotate_secret', id::text, reason,
        jsonb_build_object('merchant_id', e.merchant_id, 'overlap_s', extract(epoch FROM overlap)));
    RETURN until;
END $$;

-- Overlaps that are over: the new secret becomes the secret. Run by upkeep. Returns how many.
CREATE FUNCTION postrider.finish_rotations() RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    n int;
BEGIN
    UPDATE postrider.endpoint AS e SET secret = e.secret_next, secret_next = NULL, rotate_until = NULL
    WHERE e.rotate_until <= now() AND e.secret_next IS NOT NULL;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;

-- The breaker in a person's hand: 'open' (nothing goes out), 'closed' (everything does), NULL (by itself again).
-- False: it stood so already.
CREATE FUNCTION postrider.breaker_force(who text, id bigint, forced text, reason text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    e postrider.endpoint := postrider.endpoint_locked(id);
BEGIN
    IF forced NOT IN ('open', 'closed') THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'forced is not open, closed or NULL',
            HINT = 'postrider breaker force-open | force-close | reset.';
    END IF;
    IF e.forced IS NOT DISTINCT FROM forced THEN
        RETURN false;
    END IF;
    UPDATE postrider.endpoint AS x SET forced = breaker_force.forced WHERE x.id = id;
    PERFORM postrider.audit_add(who, CASE forced WHEN 'open' THEN 'breaker.force_open' WHEN 'closed' THEN 'breaker.force_close'
        ELSE 'breaker.reset' END, id::text, reason, jsonb_build_object('merchant_id', e.merchant_id, 'was', e.forced));
    RETURN true;
END $$;

-- dead letters --------------------------------------------------------------------------------------------------

-- Which open dead letters a filter means. filter: an object of notify_id, endpoint_id, merchant_id, order_no, event, reason,
-- since, until (RFC 3339, time of death); {} = all; an unknown key is PR003. Oldest first. Planned anew for each call.
CREATE FUNCTION postrider.dead_matching(filter jsonb, before timestamptz, most int)
RETURNS TABLE (outbox_id bigint, endpoint bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    f record;
    ids bigint[];
BEGIN
    IF jsonb_typeof(filter) IS DISTINCT FROM 'object' OR EXISTS (SELECT FROM jsonb_object_keys(filter) AS k WHERE k NOT IN
        ('notify_id', 'endpoint_id', 'merchant_id', 'order_no', 'event', 'reason', 'since', 'until')) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the filter has an unknown key', HINT =
            'Keys are notify_id, endpoint_id, merchant_id, order_no, event, reason, since and until; {} means all.';
    END IF;
    BEGIN
        SELECT * INTO f FROM jsonb_to_record(filter) AS x (notify_id uuid, endpoint_id bigint, merchant_id text, order_no text,
            event text, reason text, since timestamptz, until timestamptz);
    EXCEPTION WHEN data_exception THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the filter has a value of the wrong kind: ' || SQLERRM,
            HINT = 'notify_id is a UUID, endpoint_id a number, since and until are RFC 3339 times.';
    END;
    IF f.notify_id IS NOT NULL OR (f.merchant_id IS NOT NULL AND f.order_no IS NOT NULL) THEN      -- few rows: begin with them
        ids := ARRAY(
            SELECT o.id FROM postrider.outbox AS o WHERE o.notify_id = f.notify_id AND f.notify_id IS NOT NULL AND o.kind = 0
            UNION ALL SELECT o.id FROM postrider.outbox_kept AS o WHERE o.notify_id = f.notify_id AND f.notify_id IS NOT NULL
            UNION ALL SELECT o.id FROM postrider.outbox AS o
            WHERE f.notify_id IS NULL AND o.merchant_id = f.merchant_id AND o.order_no = f.order_no AND o.kind = 0
            UNION ALL SELECT o.id FROM postrider.outbox_kept AS o
            WHERE f.notify_id IS NULL AND o.merchant_id = f.merchant_id AND o.order_no = f.order_no);
    END IF;
    RETURN QUERY
    SELECT d.outbox_id, d.endpoint
    FROM postrider.dead AS d
    CROSS JOIN LATERAL (
        SELECT o.merchant_id, o.order_no, o.event FROM postrider.outbox AS o WHERE o.at = d.outbox_at AND o.id = d.outbox_id
        UNION ALL
        SELECT o.merchant_id, o.order_no, o.event FROM postrider.outbox_kept AS o WHERE o.id = d.outbox_id
        LIMIT 1) AS b
    WHERE d.state = 'open' AND d.at <= before AND (ids IS NULL OR d.outbox_id = ANY (ids))
      AND (f.endpoint_id IS NULL OR d.endpoint = f.endpoint_id) AND (f.reason IS NULL OR d.reason = f.reason)
      AND (f.since IS NULL OR d.at >= f.since) AND (f.until IS NULL OR d.at < f.until)
      AND (f.merchant_id IS NULL OR b.merchant_id = f.merchant_id) AND (f.order_no IS NULL OR b.order_no = f.order_no)
      AND (f.event IS NULL OR b.event = f.event)
    ORDER BY d.at, d.outbox_id LIMIT most;      -- as the index of the open ones has them: nothing to sort
END $$;

-- The move open -> redriven: the letter's outbox row follows itself through the outbox as kind 1.
-- CASE also keeps indexes that begin with at or endpoint from being read in the place of the primary key.
CREATE FUNCTION postrider.redrive_letters(who text, why text, filter jsonb, before timestamptz, most int) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    n bigint;
BEGIN
    WITH m AS MATERIALIZED (
        SELECT * FROM postrider.dead_matching(filter, before, most)
    ), l AS MATERIALIZED (
        SELECT m.outbox_id, m.endpoint FROM m
        CROSS JOIN LATERAL (SELECT FROM postrider.dead AS x WHERE x.outbox_id = m.outbox_id
                            AND CASE WHEN x.endpoint = m.endpoint AND x.state = 'open' THEN true END FOR UPDATE SKIP LOCKED) AS d
    ), u AS (
        UPDATE postrider.dead AS d
        SET state = 'redriven', closed_by = left(who, 128), closed_reason = left(why, 500), closed_at = now()
        WHERE d.outbox_id = ANY (ARRAY(SELECT l.outbox_id FROM l))
          AND CASE WHEN (d.outbox_id, d.endpoint) IN (SELECT l.outbox_id, l.endpoint FROM l) THEN true END
        RETURNING d.outbox_id, d.outbox_at, d.endpoint, d.class
    )
    INSERT INTO postrider.outbox (class, kind, merchant_id, order_no, event, status, version, notify_id, notify_url, body,
                                  ref_at, ref_id, ref_endpoint)
    SELECT u.class, 1, b.merchant_id, b.order_no, b.event, b.status, b.version, b.notify_id, b.notify_url, '',
           u.outbox_at, u.outbox_id, u.endpoint
    FROM u CROSS JOIN LATERAL (
        SELECT o.* FROM postrider.outbox AS o WHERE o.at = u.outbox_at AND o.id = u.outbox_id
        UNION ALL
        SELECT o.* FROM postrider.outbox_kept AS o WHERE o.id = u.outbox_id
        LIMIT 1) AS b
    ORDER BY u.outbox_id, u.endpoint;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;

-- Drives dead letters again: same id, same bytes, fresh retry list, attempt numbers go on. At most `most` of them (oldest
-- first). dry_run: only counts. Returns how many.
CREATE FUNCTION postrider.dead_redrive(who text, reason text, filter jsonb, most int DEFAULT 1000000, dry_run boolean DEFAULT false)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    n bigint;
BEGIN
    IF dry_run THEN
        RETURN (SELECT count(*) FROM postrider.dead_matching(filter, 'infinity', most));
    END IF;
    n := postrider.redrive_letters(who, reason, filter, 'infinity', most);
    PERFORM postrider.audit_add(who, 'dead.redrive', coalesce(filter ->> 'notify_id', filter::text), reason,
        jsonb_build_object('filter', filter, 'count', n));
    RETURN n;
END $$;

-- The same at a rate: the dead-letter actor feeds it. Letters that die after this call are not meant. Returns the order's id
-- and how many letters match now. extra_float_digits: the audit has the rate as it was asked for.
CREATE FUNCTION postrider.redrive_request(who text, reason text, filter jsonb, rate_per_s double precision, OUT id bigint, OUT matching bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET extra_float_digits = 1 AS $$
#variable_conflict use_variable
BEGIN
    IF rate_per_s IS NULL OR NOT (rate_per_s > 0 AND rate_per_s <= 1000000) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'rate_per_s is not above 0 and up to 1000000',
            HINT = 'Call dead_redrive to drive them all at once.';
    END IF;
    SELECT count(*) INTO matching FROM postrider.dead_matching(filter, now(), 1000000);
    INSERT INTO postrider.redrive AS r (actor, reason, filter, rate_per_s)
    VALUES (left(who, 128), coalesce(left(reason, 500), ''), filter, rate_per_s) RETURNING r.id INTO id;
    PERFORM postrider.audit_add(who, 'dead.redrive', coalesce(filter ->> 'notify_id', filter::text), reason,
        jsonb_build_object('filter', filter, 'rate_per_s', rate_per_s, 'order', id, 'matching', matching));
END $$;

-- One step of every open order: what its rate allows since the last step, one second's worth (or one letter) at most.
-- Two actors at once share the work: the order's row is locked, skipped by the other. Returns how many letters were driven;
-- open_orders: orders that are not finished.
CREATE FUNCTION postrider.redrive_step(OUT driven bigint, OUT open_orders int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    r record;
    allowed int;
    n bigint;
BEGIN
    driven := 0;
    FOR r IN SELECT x.* FROM postrider.redrive AS x WHERE x.finished_at IS NULL ORDER BY x.id FOR UPDATE SKIP LOCKED LOOP
        allowed := floor(least(extract(epoch FROM clock_timestamp() - r.stepped_at)::double precision * r.rate_per_s,
                               greatest(r.rate_per_s, 1.0)));
        CONTINUE WHEN allowed < 1;
        n := postrider.redrive_letters(r.actor, r.reason, r.filter, r.requested_at, allowed);
        UPDATE postrider.redrive AS x
        SET done = x.done + n, stepped_at = clock_timestamp(),
            finished_at = CASE WHEN n < allowed
                AND NOT EXISTS (SELECT FROM postrider.dead_matching(r.filter, r.requested_at, 1)) THEN clock_timestamp() END
        WHERE x.id = r.id;
        driven := driven + n;
    END LOOP;
    SELECT count(*) INTO open_orders FROM postrider.redrive AS x WHERE x.finished_at IS NULL;
END $$;

-- A person gives up: open -> closed. A reason is needed. Returns how many. Letters are locked in order of their keys, as at every door.
CREATE FUNCTION postrider.dead_close(who text, reason text, filter jsonb, most int DEFAULT 1000000) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    n bigint;
BEGIN
    IF coalesce(reason, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'a reason is needed', HINT = 'Say why nobody will be told.';
    END IF;
    WITH m AS MATERIALIZED (
        SELECT d.outbox_id, d.endpoint FROM postrider.dead_matching(filter, 'infinity', most) AS d ORDER BY 1, 2
    ), l AS MATERIALIZED (
        SELECT m.outbox_id, m.endpoint FROM m
        CROSS JOIN LATERAL (SELECT FROM postrider.dead AS x WHERE x.outbox_id = m.outbox_id
                            AND CASE WHEN x.endpoint = m.endpoint AND x.state = 'open' THEN true END FOR UPDATE) AS d
    )
    UPDATE postrider.dead AS d
    SET state = 'closed', closed_by = left(who, 128), closed_reason = left(dead_close.reason, 500), closed_at = now()
    WHERE d.outbox_id = ANY (ARRAY(SELECT l.outbox_id FROM l))
      AND CASE WHEN (d.outbox_id, d.endpoint) IN (SELECT l.outbox_id, l.endpoint FROM l) THEN true END;
    GET DIAGNOSTICS n = ROW_COUNT;
    PERFORM postrider.audit_add(who, 'dead.close', coalesce(filter ->> 'notify_id', filter::text), reason,
        jsonb_build_object('filter', filter, 'count', n));
    RETURN n;
END $$;

-- alerts --------------------------------------------------------------------------------------------------------

-- One open row per (kind, subject): a repeat counts. fresh: it was not open before, so somebody is to be told.
CREATE FUNCTION postrider.alert_raise(kind text, subject text, severity text, message text, OUT id bigint, OUT fresh boolean, OUT count bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    -- Names are columns here: ON CONFLICT (kind, subject) must find the index.
    IF alert_raise.severity IS NULL OR alert_raise.severity NOT IN ('info', 'warn', 'page') THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'severity is not info, warn or page', HINT = 'page wakes somebody up.';
    END IF;
    INSERT INTO postrider.alert AS a (kind, subject, severity, message)
    VALUES (left(alert_raise.kind, 64), left(alert_raise.subject, 200), alert_raise.severity, left(alert_raise.message, 500))
    ON CONFLICT (kind, subject) WHERE resolved_at IS NULL
    DO UPDATE SET count = a.count + 1, last_at = clock_timestamp(), severity = excluded.severity, message = excluded.message
    RETURNING a.id, a.count = 1, a.count INTO alert_raise.id, alert_raise.fresh, alert_raise.count;
END $$;

-- False: nothing was open.
CREATE FUNCTION postrider.alert_resolve(kind text, subject text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    UPDATE postrider.alert AS a SET resolved_at = clock_timestamp()
    WHERE a.kind = kind AND a.subject = subject AND a.resolved_at IS NULL;
    RETURN FOUND;
END $$;

-- Thresholds of the priority class and the default retry list, as the configuration has them; `up` calls it.
-- priority: {"CNY": {"large_minor": n|null, "small_minor": n|null}, ...}: currencies not named have no thresholds any more.
CREATE FUNCTION postrider.configure(priority jsonb, retry_notification text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM jsonb_each(priority) AS p WHERE p.key !~ '^[A-Z]{3}$' OR jsonb_typeof(p.value) <> 'object')
       OR NOT postrider.retry_ok(retry_notification) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'priority is not by currency, or retry is not of the grammar',
            HINT = 'See priority and retry.notification in docs/configuration.md.';
    END IF;
    DELETE FROM postrider.priority_rule AS r WHERE NOT priority ? r.currency;
    INSERT INTO postrider.priority_rule AS r
    SELECT p.key, (p.value ->> 'large_minor')::bigint, (p.value ->> 'small_minor')::bigint FROM jsonb_each(priority) AS p
    ON CONFLICT (currency) DO UPDATE SET large_minor = excluded.large_minor, small_minor = excluded.small_minor
    WHERE (r.large_minor, r.small_minor) IS DISTINCT FROM (excluded.large_minor, excluded.small_minor);
    INSERT INTO postrider.setting AS s SELECT 'retry.notification', retry_notification WHERE retry_notification IS NOT NULL
    ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE s.value <> excluded.value;
END $$;

RESET ROLE;
