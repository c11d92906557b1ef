-- look: what is there.
-- parameters: none
-- rows: one: schema postrider exists (boolean), its version table exists (boolean)
SELECT pg_catalog.to_regnamespace('postrider') IS NOT NULL,
       pg_catalog.to_regclass('postrider.schema_version') IS NOT NULL;
