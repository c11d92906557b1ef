-- 0014 create supersede: endpoints that want only the newest version of an order (N21).
-- why:   each body carries a growing version, so that an old state arriving late is recognisable; a merchant may prefer not to get it.
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION postrider.supersede(bigint, bigint).

SET LOCAL ROLE postrider_owner;

-- The relay calls it after a move: jobs made by it have seq in (after, upto]. Of the orders that they are about, older versions that
-- still wait for the same endpoint are cancelled, reason superseded. One under way may win: its outcome is then stale. Returns
-- how many were cancelled. Costs one look at a partial index where no endpoint wants it.
CREATE FUNCTION postrider.supersede(after bigint, upto bigint) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_hashjoin = off AS $$
#variable_conflict use_variable
DECLARE
    cancelled int;
BEGIN
    IF NOT EXISTS (SELECT FROM postrider.endpoint AS e WHERE e.supersede) THEN
        RETURN 0;
    END IF;
    WITH n AS MATERIALIZED (
        SELECT j.endpoint, o.merchant_id, o.order_no, max(o.version) AS version
        FROM postrider.job AS j
        JOIN postrider.endpoint AS e ON e.id = j.endpoint AND e.supersede
        JOIN postrider.outbox AS o ON o.at = j.outbox_at AND o.id = j.outbox_id
        WHERE j.seq > after AND j.seq <= upto
        GROUP BY 1, 2, 3
    ), old AS MATERIALIZED (
        SELECT j.seq FROM n
        JOIN postrider.outbox AS o ON o.order_no = n.order_no AND o.merchant_id = n.merchant_id AND o.version < n.version
        JOIN postrider.job AS j ON j.outbox_id = o.id AND j.endpoint = n.endpoint
        ORDER BY j.seq
    ), d AS (
        DELETE FROM postrider.job AS j USING old WHERE j.seq = old.seq
        RETURNING j.outbox_id, j.endpoint, j.outbox_at
    ), c AS (
        INSERT INTO postrider.cancelled (outbox_id, endpoint, outbox_at, reason)
        SELECT d.outbox_id, d.endpoint, d.outbox_at, 'superseded' FROM d ON CONFLICT DO NOTHING
    )
    SELECT count(*) INTO cancelled FROM d;
    RETURN cancelled;
END $$;

REVOKE ALL ON FUNCTION postrider.supersede(bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.supersede(bigint, bigint) TO postrider_relay;
RESET ROLE;
