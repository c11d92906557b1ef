-- 0069 create metrics: the figures of the overview for programs that watch, which are no operators.
-- why:   /metrics is scraped by whoever may reach it from the networks that the settings name.
-- locks: none, it is new.
-- undo:  DROP FUNCTION postrider.metrics; REVOKE EXECUTE ON FUNCTION postrider.json_time FROM postrider_console.

SET LOCAL ROLE postrider_owner;

-- The figures name nobody. overview() wants somebody who may look: the first operator there is. NULL: there is none yet.
CREATE FUNCTION postrider.metrics() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT postrider.overview(o.name, '{}') FROM postrider.operator AS o WHERE o.disabled_at IS NULL ORDER BY o.name LIMIT 1
$$;
REVOKE ALL ON FUNCTION postrider.metrics FROM PUBLIC;
-- json_time: sql/queries/console/endpoint_rotate_secret.sql says until when both secrets sign.
GRANT EXECUTE ON FUNCTION postrider.metrics, postrider.json_time TO postrider_console;

RESET ROLE;
