-- recon.report: what came of a file. $1 bigint: file. rows: one. text: JSON; NULL: there is no such file.
SELECT postrider.recon_report($1::bigint)::text;
