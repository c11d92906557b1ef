-- cli.audit_end: the end of the chain.
-- rows: one. n bigint, hash bytea, unchained bigint (rows of the log that are not in the chain).
SELECT e.n, e.hash, e.unchained FROM postrider.audit_end() AS e;
