-- ingress.webhook_receive: journals a webhook and applies its items, in one transaction. Answer the gateway after the commit only.
-- $1 text channel   $2 bigint received_at, us since 1970   $3 text method   $4 text query (behind the '?')
-- $5 text headers (JSON object, name: value)   $6 bytea body (raw)   $7 text verdict ('verified' | 'refused' | 'probe')
-- $8 text reason ('' = verified)   $9 text items (JSON array of {"event_id", "event_type", "dedupe": [text ...], "evidence": {...}})
-- rows: one, reply text: 'accepted' (applied, a repeat, old, held for a person, or about no payment), 'refused', 'orphan' (kept; its order
--   is not known), 'later' (kept, but it could not be applied: driven again by us, and by the gateway if it repeats);
--   webhook_id bigint; result text (per item, joined by '; '). Errors: PR004 unknown channel.
SELECT r.reply, r.webhook_id, r.result
FROM postrider.webhook_receive($1::text, timestamptz 'epoch' + $2::bigint * interval '1 us', $3::text, $4::text, $5::text::jsonb, $6::bytea,
                               $7::text, $8::text, $9::text::jsonb) AS r;
