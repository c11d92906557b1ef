-- cli.payment_evidence: what was heard of a payment, from whom, and what came of it; oldest first.
-- $1 bigint payment_id
-- rows: at timestamptz; source, verdict, from_state, to_state text; refund_id bigint; event_id text; version bigint; evidence text (JSON).
SELECT h.at, h.source, h.verdict, h.from_state, h.to_state, h.refund_id, h.event_id, h.version, h.evidence::text AS evidence
FROM postrider.payment_evidence AS h WHERE h.payment_id = $1::bigint ORDER BY h.history_id;
