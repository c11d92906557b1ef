-- scheduler.open_session: a new session, fenced by its row, alive while this connection holds its advisory lock.
-- $1 text own bus address
-- rows: id, lock_key.
SELECT s.id, s.lock_key FROM postrider.open_session($1::text) AS s;
