-- cli.payment_history: what evidence came and what it did, oldest first.
-- $1 bigint payment_id   $2 int most
-- rows: at timestamptz, source, verdict, from_state, to_state, version bigint, evidence text (JSON).
SELECT h.at, h.source, h.verdict, h.from_state, h.to_state, h.version, h.evidence::text AS evidence
FROM postrider.payment_evidence AS h WHERE h.payment_id = $1::bigint ORDER BY h.history_id LIMIT $2::int;
