-- SPDX-License-Identifier: Apache-2.0
-- The example's own table, and its own role: an ordinary application that may call Postrider's functions.
-- Run it as a superuser, once: psql -f schema.sql
CREATE ROLE shop LOGIN;
GRANT postrider_app TO shop;
CREATE SCHEMA shop AUTHORIZATION shop;
CREATE TABLE shop.payment (
    order_no     text PRIMARY KEY,
    merchant_id  text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    currency     text NOT NULL,
    status       text NOT NULL,
    paid_at      timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE shop.payment OWNER TO shop;
