-- scheduler.resume_session: after a lost connection, the same session goes on under the new backend.
-- $1 uuid session
-- rows: alive (false: it was ended, all it held belongs to others), locked (false: the old backend still holds the lock: ask again).
SELECT s.alive, s.locked FROM postrider.resume_session($1::uuid) AS s;
