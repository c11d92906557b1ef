-- bench.statements: executions so far of everybody who is no superuser: the actors'.
-- rows: one, calls bigint.
SELECT coalesce(sum(s.calls), 0)::bigint AS calls FROM public.pg_stat_statements AS s JOIN pg_catalog.pg_roles AS r ON r.oid = s.userid
WHERE NOT r.rolsuper;
