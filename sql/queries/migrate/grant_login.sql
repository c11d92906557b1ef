-- grant_login: makes the login that the actors connect as, when it is missing, and lets it take their roles.
-- parameters: $1 name of the login text
-- rows: one: what was done, one statement a line, text
-- Names are data here, and DDL takes no parameters: format('%I') quotes them, and the caller runs what comes back.
SELECT pg_catalog.concat_ws(E'\n',
    CASE WHEN NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = $1)
         THEN pg_catalog.format('CREATE ROLE %I LOGIN;', $1) END,
    (SELECT pg_catalog.string_agg(pg_catalog.format('GRANT %I TO %I;', r.rolname, $1), E'\n' ORDER BY r.rolname)
       FROM pg_catalog.pg_roles AS r
      WHERE r.rolname = ANY (ARRAY['postrider_app', 'postrider_relay', 'postrider_scheduler', 'postrider_breaker',
                                   'postrider_dead_letter', 'postrider_console', 'postrider_ingress', 'postrider_gateway_scheduler',
                                   'postrider_reconciler', 'postrider_compensator'])
        AND r.rolname <> $1));
