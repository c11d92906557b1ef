-- circuit-breaker.load_watch: what was on record before this connection: forces of people, episodes of failures.
-- rows: endpoint bigint, merchant_id text, forced text ('open', 'closed' or NULL), failing boolean, since_ms bigint (age)
SELECT w.endpoint, w.merchant_id, w.forced, w.failing, w.since_ms FROM postrider.watch_load() AS w;
