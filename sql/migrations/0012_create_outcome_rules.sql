-- 0012 create outcome rules: what follows the outcome of a call to a gateway, and when.
-- why:   the rules stand in a table, which docs/payment-states.md prints and tests/sql/payment_states.py goes through; everything is decided once.
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each, DROP TABLE postrider.outcome_rule.

SET LOCAL ROLE postrider_owner;

-- What follows an outcome that ended nothing (R1, R2, R5, R8, P8). answer: what it means for us; phase: open | ending (after expiry, wished by
-- cancel_payment, or no poll is left) | closed (the channel was told); any = whatever the phase.
-- step: charge, capture, refund (send it), poll (ask by the plan), ask (now), ask_later (by the plan, whatever it was), settle (ask when "not
-- found" proves something), again (the same), close, cancel (closed and not there: it is), person.
CREATE TABLE postrider.outcome_rule (
    operation text NOT NULL, answer text NOT NULL, phase text NOT NULL, step text NOT NULL, why text NOT NULL,
    PRIMARY KEY (operation, answer, phase)
);
INSERT INTO postrider.outcome_rule VALUES
    ('charge', 'unpaid', 'any', 'poll', 'accepted, the payer is next'),
    ('charge', 'approved', 'any', 'capture', 'the payer approved'),
    ('charge', 'held', 'any', 'poll', 'not about this money: a person has the evidence'),
    ('charge', 'refused', 'any', 'ask_later', 'nothing happened there, says the channel: asked all the same (R8)'),
    ('charge', 'retryable', 'any', 'ask_later', 'this try failed'),
    ('charge', 'failure', 'any', 'poll', 'a failure that may turn'),
    ('charge', 'not_found', 'any', 'ask_later', 'no answer to a charge'),
    ('charge', 'missing', 'any', 'ask_later', 'no answer to a charge'),
    ('charge', 'unsettled', 'any', 'ask_later', 'no answer to a charge'),
    ('charge', 'unknown', 'any', 'ask_later', 'it may have happened (R2)'),
    ('charge', 'stopped', 'any', 'ask', 'when the channel is back'),
    ('capture', 'unpaid', 'any', 'poll', 'accepted'),
    ('capture', 'approved', 'any', 'ask_later', 'not yet'),
    ('capture', 'held', 'any', 'poll', 'not about this money: a person has the evidence'),
    ('capture', 'refused', 'any', 'ask_later', 'nothing happened there'),
    ('capture', 'retryable', 'any', 'ask_later', 'this try failed'),
    ('capture', 'failure', 'any', 'poll', 'a failure that may turn'),
    ('capture', 'not_found', 'any', 'ask_later', 'no answer to a capture'),
    ('capture', 'missing', 'any', 'ask_later', 'no answer to a capture'),
    ('capture', 'unsettled', 'any', 'ask_later', 'no answer to a capture'),
    ('capture', 'unknown', 'any', 'ask_later', 'it may have happened (R2)'),
    ('capture', 'stopped', 'any', 'ask', 'when the channel is back'),
    ('query', 'unpaid', 'open', 'poll', 'still pending'),
    ('query', 'unpaid', 'ending', 'close', 'explicitly unpaid at its end (P8)'),
    ('query', 'unpaid', 'closed', 'ask_later', 'told to close, not closed yet'),
    ('query', 'approved', 'open', 'capture', 'the payer approved'),
    ('query', 'approved', 'ending', 'close', 'approved, not captured, and over'),
    ('query', 'approved', 'closed', 'ask_later', 'told to close, not closed yet'),
    ('query', 'held', 'open', 'poll', 'not about this money: a person has the evidence'),
    ('query', 'held', 'ending', 'person', 'what the channel says is not about this money'),
    ('query', 'held', 'closed', 'person', 'what the channel says is not about this money'),
    ('query', 'missing', 'open', 'poll', 'not there yet'),
    ('query', 'missing', 'ending', 'close', 'never appeared'),
    ('query', 'missing', 'closed', 'cancel', 'closed, and not there'),
    ('query', 'not_found', 'open', 'charge', 'confirmed: the charge did nothing (R2)'),
    ('query', 'not_found', 'ending', 'close', 'never arrived there'),
    ('query', 'not_found', 'closed', 'cancel', 'closed, and not there'),
    ('query', 'unsettled', 'any', 'settle', '"not found" proves nothing yet'),
    ('query', 'retryable', 'open', 'charge', 'confirmed: the charge failed'),
    ('query', 'retryable', 'ending', 'close', 'failed, and over'),
    ('query', 'retryable', 'closed', 'ask_later', 'told to close, not closed yet'),
    ('query', 'failure', 'open', 'poll', 'a failure that may turn'),
    ('query', 'failure', 'ending', 'close', 'a failure that may turn, and over'),
    ('query', 'failure', 'closed', 'ask_later', 'told to close, not closed yet'),
    ('query', 'refused', 'any', 'ask_later', 'the question was not answered'),
    ('query', 'unknown', 'any', 'ask_later', 'the question was not answered'),
    ('query', 'stopped', 'any', 'ask', 'when the channel is back'),
    ('close', 'unpaid', 'any', 'ask', 'told: is it closed?'),
    ('close', 'approved', 'any', 'ask', 'told: is it closed?'),
    ('close', 'held', 'any', 'ask', 'told: is it closed?'),
    ('close', 'missing', 'any', 'ask', 'told: is it there?'),
    ('close', 'not_found', 'any', 'ask', 'told: is it there?'),
    ('close', 'unsettled', 'any', 'ask', 'told: is it there?'),
    ('close', 'retryable', 'any', 'ask', 'told: is it closed?'),
    ('close', 'failure', 'any', 'ask', 'told: is it closed?'),
    ('close', 'refused', 'any', 'again', 'not taken'),
    ('close', 'unknown', 'any', 'ask_later', 'it may be closed, or paid'),
    ('close', 'stopped', 'any', 'again', 'when the channel is back'),
    ('refund', 'unpaid', 'any', 'poll', 'accepted'),
    ('refund', 'approved', 'any', 'poll', 'accepted'),
    ('refund', 'held', 'any', 'person', 'not about this refund'),
    ('refund', 'refused', 'any', 'ask_later', 'nothing happened there, says the channel: asked all the same (R8)'),
    ('refund', 'retryable', 'any', 'ask_later', 'this try failed'),
    ('refund', 'failure', 'any', 'ask_later', 'this try failed'),
    ('refund', 'not_found', 'any', 'ask_later', 'no answer to a refund'),
    ('refund', 'missing', 'any', 'ask_later', 'no answer to a refund'),
    ('refund', 'unsettled', 'any', 'ask_later', 'no answer to a refund'),
    ('refund', 'unknown', 'any', 'ask_later', 'it may have happened (R2)'),
    ('refund', 'stopped', 'any', 'ask', 'when the channel is back'),
    ('query_refund', 'unpaid', 'any', 'poll', 'still pending'),
    ('query_refund', 'approved', 'any', 'poll', 'still pending'),
    ('query_refund', 'held', 'any', 'person', 'not about this refund'),
    ('query_refund', 'not_found', 'any', 'refund', 'confirmed: the refund did nothing (R2)'),
    ('query_refund', 'missing', 'any', 'refund', 'confirmed: the refund did nothing (R2)'),
    ('query_refund', 'unsettled', 'any', 'settle', '"not found" proves nothing yet'),
    ('query_refund', 'retryable', 'any', 'refund', 'confirmed: the refund failed'),
    ('query_refund', 'failure', 'any', 'poll', 'a failure that may turn'),
    ('query_refund', 'refused', 'any', 'ask_later', 'the question was not answered'),
    ('query_refund', 'unknown', 'any', 'ask_later', 'the question was not answered'),
    ('query_refund', 'stopped', 'any', 'ask', 'when the channel is back');

-- What an outcome means for us. Of a payment that we charge "not found" may mean that nothing happened; one that was there before, or that
-- the application charges, is only missing.
CREATE FUNCTION postrider.outcome_answer(c postrider.channel, p postrider.payment, k postrider.call, verdict text, e jsonb, ending boolean) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT CASE
        WHEN verdict LIKE 'held:%' THEN 'held'
        WHEN e ->> 'action' = 'stop_channel' THEN 'stopped'
        WHEN e ->> 'status' = 'PENDING' THEN CASE e ->> 'follow_up' WHEN 'capture' THEN 'approved' ELSE 'unpaid' END
        WHEN e ->> 'status' = 'NOT_FOUND' THEN CASE
            WHEN k.dispatched_at < k.settle_at
              OR ending AND k.dispatched_at < p.created_at + postrider.scaled(c.not_found_grace_ms) THEN 'unsettled'
            WHEN p.request_no IS NOT NULL AND p.gateway_reference IS NULL AND p.next_action IS NULL THEN 'not_found'
            ELSE 'missing' END
        WHEN e ->> 'status' = 'FAILED' THEN CASE e ->> 'action' WHEN 'retry' THEN 'retryable' ELSE 'failure' END
        WHEN e ->> 'action' IN ('retry', 'back_off', 'longer_interval') THEN 'refused'
        ELSE 'unknown' END
$$;

-- The step that a rule names, as this channel, this payment and what was tried so far allow it.
CREATE FUNCTION postrider.outcome_step(c postrider.channel, p postrider.payment, k postrider.call, answer text, step text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT CASE
        WHEN step IN ('charge', 'capture', 'refund') AND k.tries >= c.charge_tries + CASE step WHEN 'capture' THEN 1 ELSE 0 END THEN 'person'
        WHEN step = 'capture' AND NOT 'capture' = ANY (c.operations) THEN 'person'
        WHEN step = 'close' THEN CASE
            WHEN p.on_expiry = 'manual' AND NOT k.close_wanted THEN 'person'
            WHEN 'close' = ANY (c.operations) AND k.closes < 3 THEN 'close'
            WHEN answer IN ('missing', 'not_found') AND c.not_found = 'final' THEN 'cancel'
            ELSE 'person' END
        WHEN step IN ('poll', 'ask', 'ask_later', 'settle') AND NOT CASE WHEN k.refund_id IS NULL THEN 'query' ELSE 'query_refund' END = ANY (c.operations)
            THEN CASE WHEN answer = 'refused' AND k.class = 0 THEN 'again' WHEN k.refund_id IS NULL THEN 'expire'
                      WHEN answer = 'unpaid' THEN 'webhook' ELSE 'person' END
        ELSE step END
$$;

-- When: the plan's delay (NULL: none is left), never before the gateway's wish, and the last question at expiry.
CREATE FUNCTION postrider.outcome_delay(c postrider.channel, p postrider.payment, k postrider.call, step text, e jsonb, next_ms bigint) RETURNS interval
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT greatest(interval '0', CASE
        WHEN step IN ('ask', 'charge', 'capture', 'refund', 'close') THEN CASE
            WHEN step = 'charge' AND k.tries >= 3 THEN p.created_at + interval '15 s' - clock_timestamp()   -- R3: at most two while the caller may wait
            ELSE interval '0' END
        WHEN step = 'expire' THEN p.expires_at - clock_timestamp()
        WHEN step = 'webhook' THEN postrider.scaled(greatest(c.settle_ms, 86400000))
        WHEN step = 'settle' THEN greatest(k.settle_at, CASE WHEN p.expires_at <= clock_timestamp() OR k.close_wanted
                                           THEN p.created_at + postrider.scaled(c.not_found_grace_ms) END) - clock_timestamp()
        WHEN d.plan IS NOT NULL AND k.refund_id IS NULL AND p.expires_at > clock_timestamp() THEN least(d.plan, p.expires_at - clock_timestamp())
        WHEN d.plan IS NOT NULL THEN d.plan
        WHEN k.refund_id IS NULL AND p.expires_at > clock_timestamp() THEN p.expires_at - clock_timestamp()
        END,
        coalesce((e ->> 'retry_after_ms')::bigint, 0) * interval '1 ms',
        CASE WHEN e ->> 'action' = 'longer_interval' THEN postrider.scaled((ARRAY[300000, 900000, 1800000])[least(k.failures + 1, 3)]) END)
    FROM (SELECT coalesce(next_ms * interval '1 ms', CASE WHEN k.class = 0 THEN postrider.scaled(c.first_poll_ms) END) AS plan) AS d
    WHERE step IN ('ask', 'charge', 'capture', 'refund', 'close', 'expire', 'webhook', 'settle') OR d.plan IS NOT NULL
       OR k.refund_id IS NULL AND p.expires_at > clock_timestamp()
$$;

CREATE FUNCTION postrider.person_reason(p postrider.payment, k postrider.call, answer text, verdict text, step text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT CASE
        WHEN verdict LIKE 'held:%' THEN split_part(verdict, ': ', 2)
        WHEN step IN ('charge', 'capture', 'refund') THEN 'TRIES_EXHAUSTED'
        WHEN step = 'close' THEN CASE WHEN p.on_expiry = 'manual' THEN 'EXPIRED_UNPAID' ELSE 'CANNOT_CLOSE' END
        WHEN p.expires_at <= clock_timestamp() AND k.refund_id IS NULL THEN 'EXPIRED_UNKNOWN'
        ELSE 'ATTEMPTS_EXHAUSTED' END
$$;

RESET ROLE;
