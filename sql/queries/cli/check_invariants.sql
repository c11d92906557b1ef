-- cli.check_invariants: what must always hold, looked at in one snapshot.
-- $1 bigint: notifications enqueued since then, us since 1970 (0 = all; reads all of them).
-- rows: name text, kind text ('invariant' | 'lag'), broken bigint (0 = holds), detail text.
SELECT c.name, c.kind, c.broken, c.detail
FROM postrider.check_invariants(timestamptz 'epoch' + $1::bigint * interval '1 us') AS c;
