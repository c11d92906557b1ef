-- 0035 judge later webhooks: one that was held uses up no key.
-- why:   a key that is known makes a webhook a repeat, and a repeat is not looked at. What was held (another amount, another account ...)
--        changed nothing, so a later one with the same key may be the first that is right: it must be applied.
-- locks: none that matter, a function is replaced.
-- undo:  webhook_item as in 0025.

SET LOCAL ROLE postrider_owner;

-- One item: its keys, its payment, the door. 'applied ...', 'ignored: ...', 'held: ...' or 'orphan'.
CREATE OR REPLACE FUNCTION postrider.webhook_item(channel_no int, webhook_id bigint, item jsonb) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    e CONSTANT jsonb := item -> 'evidence';
    payment CONSTANT bigint := postrider.evidence_payment(channel_no, e);
    key text;
    fresh text[] := '{}';
    verdict text;
BEGIN
    IF coalesce(e ->> 'object', 'none') = 'none' THEN
        RETURN 'ignored: no payment';
    ELSIF payment IS NULL THEN
        INSERT INTO postrider.webhook_orphan (channel_no, number, webhook_id)
        SELECT channel_no, n.number, webhook_id FROM unnest(postrider.evidence_numbers(e)) AS n (number) ON CONFLICT DO NOTHING;
        RETURN 'orphan';
    END IF;
    -- waits for another transaction with a key; the same webhook driven again is no repeat of itself
    FOR key IN SELECT DISTINCT d.key FROM jsonb_array_elements_text(CASE jsonb_typeof(item -> 'dedupe') WHEN 'array' THEN item -> 'dedupe' ELSE '[]' END) AS d (key)
               WHERE d.key <> '' ORDER BY d.key LOOP
        INSERT INTO postrider.webhook_key AS k (channel_no, key, webhook_id) VALUES (channel_no, key, webhook_id) ON CONFLICT DO NOTHING;
        IF FOUND THEN
            fresh := fresh || key;
        ELSIF (SELECT k.webhook_id FROM postrider.webhook_key AS k WHERE k.channel_no = channel_no AND k.key = key) IS DISTINCT FROM webhook_id THEN
            verdict := 'ignored: duplicate';
        END IF;
    END LOOP;
    verdict := coalesce(verdict, postrider.apply_evidence(payment, NULL, 'webhook', e, NULL));
    IF verdict LIKE 'held:%' THEN
        DELETE FROM postrider.webhook_key AS k WHERE k.channel_no = channel_no AND k.key = ANY (fresh);
    END IF;
    RETURN verdict;
END $$;

RESET ROLE;
