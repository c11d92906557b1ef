-- 0070 create channel turns: calls of a gateway that stand in no queue (statements) come out of the channel's one budget all the same.
-- why:   a channel's rate and its calls at a time are a promise to somebody else, whoever makes the call (ADR 0020).
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each, DROP TABLE postrider.channel_turn.
--
-- Whoever wants to call asks for a turn; the channel's owner (gateway-scheduler) takes a token from its bucket and gives it; from then on the
-- turn holds one of the channel's places until it is ended, or its time is over.

SET LOCAL ROLE postrider_owner;

CREATE TABLE postrider.channel_turn (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    channel_no int NOT NULL, who text NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    given_at timestamptz,
    hold interval NOT NULL,                           -- how long the call may take
    until timestamptz NOT NULL                        -- not given: nobody waits any more; given: its place is free
);
CREATE INDEX channel_turn_channel_idx ON postrider.channel_turn (channel_no, id);

-- Errors: PR004; PR006 nothing of the channel leaves now.
CREATE FUNCTION postrider.channel_turn_ask(who text, channel text, patience interval, hold interval) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    c postrider.channel;
    new_id bigint;
BEGIN
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.id = $2;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR004', MESSAGE = format('channel %L is not known', left(channel, 80)), HINT = 'postrider channel list shows those that are.';
    ELSIF c.state <> 'active' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('channel %s is %s: %s', c.id, c.state, coalesce(nullif(c.state_reason, ''), 'no reason is given')),
            HINT = 'Nothing of it leaves; postrider channel resume, once that is over.';
    END IF;
    DELETE FROM postrider.channel_turn AS t WHERE t.channel_no = c.no AND t.until < clock_timestamp();
    INSERT INTO postrider.channel_turn AS t (channel_no, who, hold, until)
    VALUES (c.no, left(who, 128), least(hold, interval '1 hour'), clock_timestamp() + least(patience, interval '1 hour')) RETURNING t.id INTO new_id;
    RETURN new_id;
END $$;

-- waiting | given | over.
CREATE FUNCTION postrider.channel_turn_state(turn_id bigint) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT coalesce((SELECT CASE WHEN t.until < clock_timestamp() THEN 'over' WHEN t.given_at IS NULL THEN 'waiting' ELSE 'given' END
                     FROM postrider.channel_turn AS t WHERE t.id = $1), 'over')
$$;

-- The call was made, or will not be. said: what its answer means, as evidence has it; {} when it says nothing of the channel itself. A pause
-- that the gateway asked for holds for all calls, a refused credential stops the channel (P13).
CREATE FUNCTION postrider.channel_turn_end(turn_id bigint, said jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    c postrider.channel;
BEGIN
    DELETE FROM postrider.channel_turn AS t WHERE t.id = turn_id;
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.id = said ->> 'channel';
    IF said ->> 'action' = 'stop_channel' THEN
        PERFORM postrider.channel_stop(c, said);
    ELSIF (said ->> 'pause_ms')::bigint > 0 THEN
        INSERT INTO postrider.channel_pause AS p (channel_no, until)
        VALUES (c.no, clock_timestamp() + least((said ->> 'pause_ms')::bigint, 86400000) * interval '1 ms')
        ON CONFLICT (channel_no) DO UPDATE SET until = greatest(p.until, excluded.until);
    END IF;
END $$;

-- For the owner of channels: of its own, those with turns that are asked for or held, and those that somebody was told to leave alone.
CREATE FUNCTION postrider.calls_turns(session uuid) RETURNS TABLE (channel text, waiting int, held int, paused_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT c.id, coalesce(t.waiting, 0), coalesce(t.held, 0), coalesce(s.paused_ms, 0)
    FROM (SELECT x.channel_no FROM postrider.channel_turn AS x
          UNION SELECT p.channel_no FROM postrider.channel_pause AS p WHERE p.until > clock_timestamp()) AS n
    CROSS JOIN LATERAL (SELECT x.* FROM postrider.channel AS x WHERE x.no = n.channel_no LIMIT 1) AS c
    LEFT JOIN LATERAL (SELECT count(*) FILTER (WHERE x.given_at IS NULL)::int AS waiting, count(*) FILTER (WHERE x.given_at IS NOT NULL)::int AS held
                       FROM postrider.channel_turn AS x WHERE x.channel_no = c.no AND x.until > clock_timestamp()) AS t ON true
    LEFT JOIN LATERAL (SELECT (extract(epoch FROM p.until - clock_timestamp()) * 1000)::bigint AS paused_ms
                       FROM postrider.channel_pause AS p WHERE p.channel_no = c.no AND p.until > clock_timestamp() LIMIT 1) AS s ON true
    WHERE EXISTS (SELECT FROM postrider.call_shard AS h WHERE h.no = c.shard AND h.session = $1)
    ORDER BY c.id
$$;

-- The oldest that waits for each of these channels has its turn. Errors: PR009 the session has ended.
CREATE FUNCTION postrider.calls_turns_give(session uuid, channels text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    PERFORM postrider.call_fence(session);
    UPDATE postrider.channel_turn AS t SET given_at = clock_timestamp(), until = clock_timestamp() + t.hold
    WHERE t.id = ANY (ARRAY(SELECT (SELECT x.id FROM postrider.channel_turn AS x JOIN postrider.channel AS c ON c.no = x.channel_no
                                    WHERE c.id = n.id AND x.given_at IS NULL AND x.until > clock_timestamp() ORDER BY x.id LIMIT 1)
                            FROM unnest(channels) AS n (id)));
END $$;

REVOKE ALL ON FUNCTION postrider.channel_turn_ask, postrider.channel_turn_state, postrider.channel_turn_end, postrider.calls_turns,
    postrider.calls_turns_give FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.channel_turn_ask, postrider.channel_turn_state, postrider.channel_turn_end TO postrider_reconciler;
GRANT EXECUTE ON FUNCTION postrider.calls_turns, postrider.calls_turns_give TO postrider_gateway_scheduler;
GRANT SELECT ON postrider.channel_turn TO postrider_console;

RESET ROLE;
