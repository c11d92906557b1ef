-- cli.dead_redrive_rate: orders a redrive at a rate; the dead-letter actor feeds it.
-- $1 text who   $2 text reason   $3 text filter as in dead_redrive   $4 double letters per second
-- rows: one. id bigint (redrive_list shows it), matching bigint (letters that match now). Errors: PR003.
SELECT r.id, r.matching FROM postrider.redrive_request($1::text, $2::text, $3::text::jsonb, $4::double precision) AS r;
