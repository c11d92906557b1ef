-- console.breaker_force: holds or lets out everything of an endpoint; null: the breaker decides.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR009, PR010.
SELECT jsonb_build_object('ok', postrider.breaker_force($1::text, postrider.arg_id($2::text::jsonb, 'endpoint_id'),
    postrider.arg_text($2::text::jsonb, 'forced', 6), postrider.arg_text($2::text::jsonb, 'reason', 500, true)))::text AS body;
