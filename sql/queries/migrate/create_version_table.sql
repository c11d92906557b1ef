-- create_version_table: behind the first migration, which makes the schema. A script of several statements.
-- Everybody may read it: each actor compares it with its own build before it does anything.
CREATE TABLE IF NOT EXISTS postrider.schema_version (
    version     integer PRIMARY KEY,
    name        text NOT NULL,
    sha256      text NOT NULL,               -- of the file as applied
    applied_at  timestamptz NOT NULL DEFAULT pg_catalog.now()
);
ALTER TABLE postrider.schema_version OWNER TO postrider_owner;
GRANT SELECT ON postrider.schema_version TO PUBLIC;
