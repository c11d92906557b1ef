-- bench.peer_prepare: what measures, in a peer's database (several statements: a script, run once).
-- rows: none.
CREATE EXTENSION IF NOT EXISTS pg_walinspect SCHEMA public;
CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public;
