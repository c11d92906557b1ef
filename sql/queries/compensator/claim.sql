-- compensator.claim: takes what is due, each with a token; what needs no act is ended at once.
-- $1 uuid session   $2 int at most so many   $3 text[] kinds that have an HTTP handler here
-- rows: one for each task to act on. Errors: PR009 the session has ended.
SELECT c.task_no, c.token, c.biz_type, c.handler, c.code, c.idempotency_key, c.tries, c.unknown, c.order_no, c.reference, c.amount_minor, c.currency,
       c.events, c.facts
FROM postrider.tasks_claim($1::uuid, $2::int, $3::text[]) AS c;
