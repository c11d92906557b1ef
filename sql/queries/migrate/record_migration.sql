-- record_migration: in the transaction that applied it.
-- parameters: $1 version integer, $2 name text, $3 sha256 of the file, hex text
-- rows: none
INSERT INTO postrider.schema_version (version, name, sha256) VALUES ($1, $2, $3);
