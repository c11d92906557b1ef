-- list_applied: the migrations that this database has had.
-- parameters: none
-- rows: version integer, name text, sha256 text; by version
SELECT version, name, sha256 FROM postrider.schema_version ORDER BY version;
