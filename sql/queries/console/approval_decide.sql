-- console.approval_decide: another person approves (and it is done) or rejects.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR006, PR007, PR009, PR010.
SELECT postrider.approval_decide($1::text, $2::text::jsonb)::text AS body;
