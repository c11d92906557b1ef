-- recon.begin_import: begins the import of one statement; the caller's transaction ends it.
-- $1 text who, $2 text channel, $3 text day YYYY-MM-DD, $4 text kind, $5 text name, $6 text source file|directory|download,
-- $7 boolean: it corrects the one that is there. rows: one. file_id bigint.
SELECT postrider.recon_begin($1::text, $2::text, $3::text::date, $4::text, $5::text, $6::text, $7::boolean) AS file_id;
