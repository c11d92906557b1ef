-- 0023 create people: operators, what each role may, sessions, log-in limits, tokens; the audit log as a chain.
-- why:   whoever acts is known, may do only what his role allows, and what he did can neither be changed nor taken away unnoticed.
-- locks: none that matter, everything is new.
-- undo:  DROP TRIGGER audit_before, audit_chained, audit_kept ON postrider.audit; DROP TABLE and FUNCTION for each.
--
-- docs/people.md. A door takes `who`; audit_add(), through which every door goes, asks person_check() whether he may. SQLSTATE PR010: he may not.

SET LOCAL ROLE postrider_owner;

-- arguments -----------------------------------------------------------------------------------------------------

-- Doors for people take (who, arguments): a misspelt key must not pass for one that was left out.
CREATE FUNCTION postrider.args_check(a jsonb, VARIADIC known text[] DEFAULT '{}') RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bad text;
BEGIN
    IF jsonb_typeof(a) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the arguments are not an object', HINT = 'docs/openapi.yaml has them.';
    END IF;
    SELECT k INTO bad FROM jsonb_object_keys(a) AS k WHERE k <> ALL (known) ORDER BY 1 LIMIT 1;
    IF bad IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('%L is no argument here', left(bad, 80)),
            HINT = 'Arguments are ' || array_to_string(known, ', ') || '.';
    END IF;
END $$;

-- The argument as text, '' not being one; longer than most characters is PR003, and so is a missing one when it is needed.
CREATE FUNCTION postrider.arg_text(a jsonb, key text, most int, needed boolean DEFAULT false) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    value CONSTANT text := nullif(btrim(a ->> key), '');
BEGIN
    IF value IS NULL AND needed THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('%s is missing', key),
            HINT = CASE key WHEN 'reason' THEN 'Say why: it is written down.' ELSE 'It is needed.' END;
    ELSIF length(value) > most THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('%s is longer than %s characters', key, most), HINT = 'Shorten it.';
    END IF;
    RETURN value;
END $$;

CREATE FUNCTION postrider.arg_id(a jsonb, key text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (a ->> key ~ '^-?[0-9]{1,18}$') IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('%s is not a number', key), HINT = 'It is needed: a whole number.';
    END IF;
    RETURN (a ->> key)::bigint;
END $$;

-- How many rows a list gives: 50, or as asked for up to 200.
CREATE FUNCTION postrider.arg_limit(a jsonb) RETURNS int
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN a ->> 'limit' ~ '^[0-9]{1,4}$' THEN least(greatest((a ->> 'limit')::int, 1), 200) ELSE 50 END
$$;

-- A list: at most `most` items, and from where to go on (NULL: there are no more). found: one item more than are given, when there are more.
CREATE FUNCTION postrider.page_json(found jsonb[], most int) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object('items', coalesce((SELECT jsonb_agg(f.item - 'cursor' ORDER BY f.no) FROM unnest(found[1:most]) WITH ORDINALITY AS f (item, no)), '[]'),
                              'next', CASE WHEN cardinality(found) > most THEN found[most] -> 'cursor' END)
$$;

-- operators -----------------------------------------------------------------------------------------------------

CREATE TABLE postrider.operator (
    name text PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9._@-]{0,63}$'),
    role text NOT NULL CHECK (role IN ('viewer', 'operator', 'approver', 'admin')),
    password text CHECK (password ~ '^[$]argon2id[$]' AND length(password) <= 128),   -- made in C (lib/password); NULL: no log-in
    password_at timestamptz,
    totp bytea CHECK (octet_length(totp) BETWEEN 31 AND 128), totp_at timestamptz,    -- the second factor's key, sealed (lib/sign/totp.h); NULL: none
    totp_step bigint NOT NULL DEFAULT -1,             -- of the last code that was taken: it and all before it are no good any more
    disabled_at timestamptz, disabled_reason text,
    last_login_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TRIGGER operator_kept BEFORE DELETE OR TRUNCATE ON postrider.operator FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

-- What each role may: an action of the audit, the least role for it, and whether it takes two (four eyes).
CREATE TABLE postrider.permission (
    action text PRIMARY KEY, role text NOT NULL CHECK (role IN ('viewer', 'operator', 'approver', 'admin')),
    four_eyes boolean NOT NULL DEFAULT false, says text NOT NULL
);
INSERT INTO postrider.permission (action, role, says) VALUES
    ('console.read', 'viewer', 'look at everything but secrets'),
    ('operator.password', 'viewer', 'change one''s own password'),
    ('operator.login', 'viewer', 'log in'), ('operator.login_failed', 'viewer', 'fail to log in'),
    ('dead.redrive', 'operator', 'drive dead letters again'), ('dead.close', 'operator', 'give dead letters up'),
    ('task.close', 'operator', 'end a task with a conclusion'), ('task.rerun', 'operator', 'have a task run again'),
    ('difference.close', 'operator', 'end a difference with a conclusion'), ('quarantine.close', 'operator', 'end a quarantined row with a conclusion'),
    ('webhook.redrive', 'operator', 'apply a kept webhook again'), ('payment.poll', 'operator', 'ask the channel about a payment now'),
    ('notification.resend', 'operator', 'send a notification again'), ('notification.cancel', 'operator', 'not send a notification'),
    ('merchant.test', 'operator', 'send a test notification'),
    ('endpoint.enable', 'operator', 'switch an endpoint on'), ('endpoint.disable', 'operator', 'switch an endpoint off'),
    ('breaker.force_open', 'operator', 'hold everything of an endpoint'), ('breaker.force_close', 'operator', 'let everything of an endpoint out'),
    ('breaker.reset', 'operator', 'let the breaker decide by itself'),
    ('channel.pause', 'operator', 'hold a channel''s calls'), ('channel.maintain', 'operator', 'note that a gateway rests'),
    ('channel.resume', 'operator', 'let a channel''s calls go on'), ('recon.run', 'operator', 'import a statement'),
    ('recon.release', 'operator', 'match a statement that was held'), ('recon.close', 'operator', 'give a statement up'),
    ('recon.set', 'admin', 'say how a channel is reconciled'), ('recon.delivery', 'admin', 'say how long a merchant''s goods may take'),
    ('approval.ask', 'operator', 'ask for what takes two'), ('approval.withdraw', 'operator', 'take one''s own request back'),
    ('approval.approve', 'approver', 'let another''s request happen'), ('approval.reject', 'approver', 'refuse another''s request'),
    ('merchant.add', 'admin', 'add a merchant'), ('merchant.set', 'admin', 'change a merchant'),
    ('endpoint.add', 'admin', 'add an endpoint'), ('endpoint.set', 'admin', 'change an endpoint'),
    ('endpoint.rotate_secret', 'admin', 'give an endpoint a new secret'),
    ('channel.add', 'admin', 'add a channel'), ('channel.set', 'admin', 'change a channel, its credentials too'),
    ('key.create', 'admin', 'make a key for HTTP'), ('key.revoke', 'admin', 'revoke a key for HTTP'), ('key.sign', 'admin', 'give a key for HTTP a signing secret'),
    ('operator.add', 'admin', 'add an operator'), ('operator.set', 'admin', 'give an operator another role'),
    ('operator.totp', 'admin', 'give an operator a second factor, or take it away'),
    ('operator.disable', 'admin', 'lock an operator out'), ('operator.enable', 'admin', 'let an operator in again'),
    ('token.create', 'viewer', 'make a token for a program, for oneself (an admin: for anybody)'),
    ('token.revoke', 'viewer', 'revoke a token of one''s own (an admin: anybody''s)'),
    ('sla.set', 'admin', 'say how long an exception may wait');
INSERT INTO postrider.permission (action, role, four_eyes, says) VALUES
    ('payment.decide', 'operator', true, 'say how a payment ended'), ('payment.refund', 'operator', true, 'send money back'),
    ('payment.cancel', 'operator', true, 'close a payment at its channel'), ('task.resolve', 'operator', true, 'end a task by saying how its payment ended');

CREATE FUNCTION postrider.role_rank(role text) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT array_position(ARRAY['viewer', 'operator', 'approver', 'admin'], role)
$$;

-- May `who` do that? For actions that are not listed (later doors'): operator. While there are no operators anybody who holds the database role
-- may: the first is added like this. needed: not even then. Actors act under their own roles and names.
CREATE FUNCTION postrider.person_check(who text, action text, needed boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    o postrider.operator;
    least text := (SELECT p.role FROM postrider.permission AS p WHERE p.action = $2);
BEGIN
    least := coalesce(least, 'operator');
    SELECT x.* INTO o FROM postrider.operator AS x WHERE x.name = who;
    IF NOT FOUND THEN
        IF NOT needed AND (NOT EXISTS (SELECT FROM postrider.operator)
            OR (current_setting('role') NOT IN ('none', 'postrider_console') AND action NOT LIKE 'breaker.%')) THEN
            RETURN;
        END IF;
        RAISE EXCEPTION USING ERRCODE = 'PR010', MESSAGE = format('%L is no operator', left(coalesce(who, ''), 80)),
            HINT = 'postrider operator add NAME --role ROLE adds one; --operator NAME says who you are.';
    ELSIF o.disabled_at IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR010', MESSAGE = format('operator %s is disabled', o.name), HINT = 'An admin can enable it.';
    ELSIF postrider.role_rank(o.role) < postrider.role_rank(least) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR010', MESSAGE = format('%s is for the role %s; %s is %s', action, least, o.name, o.role),
            HINT = 'docs/people.md lists what each role may.';
    END IF;
END $$;

-- For statements of views: true, or PR010.
CREATE FUNCTION postrider.reader(who text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    RETURN true;
END $$;

-- the audit log -------------------------------------------------------------------------------------------------

-- The chain, in order of commit: entry n names a row and holds SHA-256 over the hash of entry n - 1 and the row.
CREATE TABLE postrider.audit_chain (
    n bigint PRIMARY KEY CHECK (n > 0), audit_id bigint NOT NULL UNIQUE, hash bytea NOT NULL CHECK (octet_length(hash) = 32)
);
-- Its end. The row's lock is what makes concurrent writers one chain; it is taken at commit, after every other lock.
CREATE TABLE postrider.audit_head (
    one boolean PRIMARY KEY DEFAULT true CHECK (one), n bigint NOT NULL, hash bytea NOT NULL
);
INSERT INTO postrider.audit_head (n, hash) VALUES (0, decode(repeat('00', 32), 'hex'));

-- A field as hashed: its length in bytes, ':', its bytes; '-' for NULL. lib/audit/audit.h has the same in C.
CREATE FUNCTION postrider.audit_field(value text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT coalesce(octet_length(convert_to(value, 'UTF8'))::text || ':' || value, '-')
$$;
CREATE FUNCTION postrider.audit_hash(n bigint, former bytea, a postrider.audit) RETURNS bytea
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT sha256(former || convert_to('postrider-audit-1' || string_agg(postrider.audit_field(f.value), '' ORDER BY f.no), 'UTF8'))
    FROM unnest(ARRAY[n::text, a.id::text, (extract(epoch FROM a.at) * 1000000)::bigint::text, a.actor, a.action, a.subject, a.reason, a.detail::text,
                      a.login, a.merchant_id, a.order_no]) WITH ORDINALITY AS f (value, no)
$$;

-- Which order an action is about.
CREATE FUNCTION postrider.audit_before() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    payment CONSTANT bigint := CASE
        WHEN NEW.action LIKE 'payment.%' AND NEW.subject ~ '^[0-9]{1,18}$' THEN NEW.subject::bigint
        WHEN NEW.action LIKE 'webhook.%' AND NEW.subject ~ '^[0-9]{1,18}$' THEN (SELECT w.payment_id FROM postrider.webhook AS w WHERE w.id = NEW.subject::bigint)
        WHEN NEW.detail ->> 'payment_id' ~ '^[0-9]{1,18}$' THEN (NEW.detail ->> 'payment_id')::bigint END;
BEGIN
    NEW.login := session_user;
    IF payment IS NOT NULL THEN
        SELECT p.merchant_id, p.order_no INTO NEW.merchant_id, NEW.order_no FROM postrider.payment AS p WHERE p.id = payment;
    ELSIF NEW.action LIKE 'task.%' THEN
        SELECT t.merchant_id, t.order_no INTO NEW.merchant_id, NEW.order_no FROM postrider.task AS t WHERE t.task_no = NEW.subject;
    ELSIF NEW.action ~ '^(dead|notification)[.]' AND NEW.subject ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}' THEN
        SELECT o.merchant_id, o.order_no INTO NEW.merchant_id, NEW.order_no FROM (
            SELECT x.merchant_id, x.order_no FROM postrider.outbox AS x WHERE x.notify_id = left(NEW.subject, 36)::uuid
            UNION ALL
            SELECT k.merchant_id, k.order_no FROM postrider.outbox_kept AS k WHERE k.notify_id = left(NEW.subject, 36)::uuid LIMIT 1) AS o;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER audit_before BEFORE INSERT ON postrider.audit FOR EACH ROW EXECUTE FUNCTION postrider.audit_before();

CREATE FUNCTION postrider.audit_after() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    entry record;
BEGIN
    UPDATE postrider.audit_head AS h SET n = h.n + 1, hash = postrider.audit_hash(h.n + 1, h.hash, NEW) WHERE h.one RETURNING h.n, h.hash INTO entry;
    INSERT INTO postrider.audit_chain (n, audit_id, hash) VALUES (entry.n, NEW.id, entry.hash);
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER audit_chained AFTER INSERT ON postrider.audit DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION postrider.audit_after();
CREATE TRIGGER audit_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON postrider.audit FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();
CREATE TRIGGER audit_chain_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON postrider.audit_chain FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();
-- The head moves with the chain, from within the trigger above, and in no other way.
CREATE FUNCTION postrider.audit_head_before() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP <> 'UPDATE' OR pg_trigger_depth() < 2 OR NEW.n <> OLD.n + 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'the end of the audit log moves with the log', HINT = 'Every action is added by its door.';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER audit_head_kept BEFORE INSERT OR UPDATE OR DELETE ON postrider.audit_head FOR EACH ROW EXECUTE FUNCTION postrider.audit_head_before();
CREATE TRIGGER audit_head_there BEFORE TRUNCATE ON postrider.audit_head FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();
ALTER TABLE postrider.audit ENABLE ALWAYS TRIGGER audit_before, ENABLE ALWAYS TRIGGER audit_chained, ENABLE ALWAYS TRIGGER audit_kept;
ALTER TABLE postrider.audit_chain ENABLE ALWAYS TRIGGER audit_chain_kept;
ALTER TABLE postrider.audit_head ENABLE ALWAYS TRIGGER audit_head_kept, ENABLE ALWAYS TRIGGER audit_head_there;

-- Rows of the log from entry `after` on, as hashed: verify and export read them, and hash them again in C.
CREATE FUNCTION postrider.audit_entries(after bigint, most int)
RETURNS TABLE (n bigint, hash bytea, chained_id bigint, id bigint, at_us bigint, actor text, action text, subject text, reason text, detail text, login text,
               merchant_id text, order_no text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT c.n, c.hash, c.audit_id, a.id, (extract(epoch FROM a.at) * 1000000)::bigint, a.actor, a.action, a.subject, a.reason, a.detail::text, a.login,
           a.merchant_id, a.order_no
    FROM (SELECT x.* FROM postrider.audit_chain AS x WHERE x.n > $1 ORDER BY x.n LIMIT $2) AS c
    LEFT JOIN LATERAL (SELECT y.* FROM postrider.audit AS y WHERE y.id = c.audit_id LIMIT 1) AS a ON true ORDER BY c.n
$$;

-- The end of the chain, and how many rows are in the log and not in the chain (0, unless a trigger was switched off).
CREATE FUNCTION postrider.audit_end() RETURNS TABLE (n bigint, hash bytea, unchained bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT h.n, h.hash, (SELECT count(*) FROM postrider.audit AS a WHERE NOT EXISTS (SELECT FROM postrider.audit_chain AS c WHERE c.audit_id = a.id))
    FROM postrider.audit_head AS h
$$;

-- operators' doors ----------------------------------------------------------------------------------------------

CREATE FUNCTION postrider.operator_json(o postrider.operator) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT jsonb_build_object('name', o.name, 'role', o.role, 'disabled', o.disabled_at IS NOT NULL, 'disabled_reason', o.disabled_reason,
        'password_set', o.password IS NOT NULL, 'password_at', postrider.json_time(o.password_at), 'second_factor', o.totp IS NOT NULL, 'last_login_at', postrider.json_time(o.last_login_at),
        'created_at', postrider.json_time(o.created_at))
$$;

-- Operators change one after another: "the last admin" and "the first operator" are questions about all of them.
CREATE FUNCTION postrider.operator_locked(name text) RETURNS postrider.operator
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    o postrider.operator;
BEGIN
    LOCK TABLE postrider.operator IN SHARE ROW EXCLUSIVE MODE;
    SELECT x.* INTO o FROM postrider.operator AS x WHERE x.name = $1;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no operator %L', left(name, 80)), HINT = 'postrider operator list shows them.';
    END IF;
    RETURN o;
END $$;

CREATE FUNCTION postrider.operator_role(role text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF postrider.role_rank(role) IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'role is not viewer, operator, approver or admin', HINT = 'docs/people.md says what each may.';
    END IF;
    RETURN role;
END $$;

CREATE FUNCTION postrider.operator_admins() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM postrider.operator AS o WHERE o.role = 'admin' AND o.disabled_at IS NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'that would leave no admin', HINT = 'Add or enable another admin first.';
    END IF;
END $$;

-- {"name", "role", "password_hash"}. The first operator is an admin, and adds himself.
CREATE FUNCTION postrider.operator_add(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    o postrider.operator;
BEGIN
    PERFORM postrider.args_check(a, 'name', 'role', 'password_hash');
    o.name := postrider.arg_text(a, 'name', 64, true);
    o.role := postrider.operator_role(a ->> 'role');
    o.password := postrider.arg_text(a, 'password_hash', 128);
    IF o.name !~ '^[a-z0-9][a-z0-9._@-]{0,63}$' OR o.password !~ '^[$]argon2id[$]' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'name is not 1 to 64 of a-z 0-9 . _ @ -, or password_hash is not argon2id''s',
            HINT = 'A name begins with a letter or digit.';
    END IF;
    LOCK TABLE postrider.operator IN SHARE ROW EXCLUSIVE MODE;
    IF NOT EXISTS (SELECT FROM postrider.operator) AND o.role <> 'admin' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'the first operator is an admin', HINT = 'Add an admin; the admin adds the others.';
    ELSIF EXISTS (SELECT FROM postrider.operator AS x WHERE x.name = o.name) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('operator %s is there already', o.name), HINT = 'Names are never given away again.';
    END IF;
    PERFORM postrider.audit_add(who, 'operator.add', o.name, NULL, jsonb_build_object('role', o.role));   -- before the row: whoever adds must be one already
    INSERT INTO postrider.operator (name, role, password, password_at) VALUES (o.name, o.role, o.password, CASE WHEN o.password IS NOT NULL THEN now() END)
    RETURNING * INTO o;
    RETURN postrider.operator_json(o);
END $$;

-- {"name", "role", "reason"}
CREATE FUNCTION postrider.operator_set(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    o postrider.operator;
BEGIN
    PERFORM postrider.args_check(a, 'name', 'role', 'reason');
    o := postrider.operator_locked(a ->> 'name');
    PERFORM postrider.audit_add(who, 'operator.set', o.name, postrider.arg_text(a, 'reason', 500, true),
        jsonb_build_object('was', o.role, 'role', postrider.operator_role(a ->> 'role')));
    UPDATE postrider.operator AS x SET role = a ->> 'role' WHERE x.name = o.name RETURNING x.* INTO o;
    PERFORM postrider.operator_admins();
    RETURN postrider.operator_json(o);
END $$;

-- {"name", "reason"}: his sessions and tokens end with this transaction.
CREATE FUNCTION postrider.operator_disable(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    o postrider.operator;
BEGIN
    PERFORM postrider.args_check(a, 'name', 'reason');
    o := postrider.operator_locked(a ->> 'name');
    IF o.disabled_at IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('operator %s is disabled already', o.name), HINT = 'Nothing is to be done.';
    END IF;
    PERFORM postrider.audit_add(who, 'operator.disable', o.name, postrider.arg_text(a, 'reason', 500, true), jsonb_build_object('role', o.role));
    UPDATE postrider.operator AS x SET disabled_at = now(), disabled_reason = a ->> 'reason' WHERE x.name = o.name RETURNING x.* INTO o;
    PERFORM postrider.operator_admins();
    PERFORM postrider.sessions_end(o.name, 'disabled', NULL);
    RETURN postrider.operator_json(o);
END $$;

CREATE FUNCTION postrider.operator_enable(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    o postrider.operator;
BEGIN
    PERFORM postrider.args_check(a, 'name', 'reason');
    o := postrider.operator_locked(a ->> 'name');
    IF o.disabled_at IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('operator %s is not disabled', o.name), HINT = 'Nothing is to be done.';
    END IF;
    PERFORM postrider.audit_add(who, 'operator.enable', o.name, postrider.arg_text(a, 'reason', 500, true), jsonb_build_object('role', o.role));
    UPDATE postrider.operator AS x SET disabled_at = NULL, disabled_reason = NULL WHERE x.name = o.name RETURNING x.* INTO o;
    RETURN postrider.operator_json(o);
END $$;

-- {"name", "password_hash", "session": hex of the session to keep}: one's own, or anybody's by an admin. The other sessions of that operator end.
CREATE FUNCTION postrider.operator_password(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    o postrider.operator;
BEGIN
    PERFORM postrider.args_check(a, 'name', 'password_hash', 'session');
    o := postrider.operator_locked(a ->> 'name');
    IF who IS DISTINCT FROM o.name THEN
        PERFORM postrider.person_check(who, 'operator.set');
    END IF;
    IF (a ->> 'password_hash' ~ '^[$]argon2id[$]' AND length(a ->> 'password_hash') <= 128) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'password_hash is not argon2id''s', HINT = 'postrider operator password makes it.';
    END IF;
    PERFORM postrider.audit_add(who, 'operator.password', o.name, NULL, '{}');
    UPDATE postrider.operator AS x SET password = a ->> 'password_hash', password_at = now() WHERE x.name = o.name RETURNING x.* INTO o;
    PERFORM postrider.sessions_end(o.name, 'password changed', decode(a ->> 'session', 'hex'));
    RETURN postrider.operator_json(o);
END $$;

-- {"name", "totp": the sealed key in hex, null or absent: none any more, "reason"}: who has the password alone is out at once.
CREATE FUNCTION postrider.operator_totp(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    o postrider.operator;
BEGIN
    PERFORM postrider.args_check(a, 'name', 'totp', 'reason');
    o := postrider.operator_locked(a ->> 'name');
    PERFORM postrider.audit_add(who, 'operator.totp', o.name, postrider.arg_text(a, 'reason', 500, true), jsonb_build_object('second_factor', a ->> 'totp' IS NOT NULL));
    UPDATE postrider.operator AS x SET totp = decode(a ->> 'totp', 'hex'), totp_at = now(), totp_step = -1 WHERE x.name = o.name RETURNING x.* INTO o;
    PERFORM postrider.sessions_end(o.name, 'second factor changed', NULL);
    RETURN postrider.operator_json(o);
END $$;

-- For log-in at a terminal: lib/password compares.
CREATE FUNCTION postrider.operator_secret(name text) RETURNS TABLE (password text, role text, disabled boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT o.password, o.role, o.disabled_at IS NOT NULL FROM postrider.operator AS o WHERE o.name = $1
$$;

-- sessions and tokens -------------------------------------------------------------------------------------------

-- Of the cookie only its SHA-256.
CREATE TABLE postrider.operator_session (
    hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32), operator text NOT NULL REFERENCES postrider.operator,
    address text NOT NULL, agent text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(), seen_at timestamptz NOT NULL DEFAULT now(), idle interval NOT NULL, expires_at timestamptz NOT NULL,
    ended_at timestamptz, ended_why text
);
CREATE INDEX operator_session_operator_idx ON postrider.operator_session (operator) WHERE ended_at IS NULL;
CREATE INDEX operator_session_expires_at_idx ON postrider.operator_session (expires_at);

CREATE TABLE postrider.operator_token (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32), operator text NOT NULL REFERENCES postrider.operator,
    role text NOT NULL CHECK (role IN ('viewer', 'operator', 'approver', 'admin')), label text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(), expires_at timestamptz NOT NULL, revoked_at timestamptz, used_at timestamptz
);

-- Tries in the window that began at `since`, by what is limited.
CREATE TABLE postrider.login_try (key text PRIMARY KEY, since timestamptz NOT NULL, tries int NOT NULL);
CREATE INDEX login_try_since_idx ON postrider.login_try (since);

CREATE FUNCTION postrider.sessions_end(operator text, why text, spared bytea) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    UPDATE postrider.operator_session AS s SET ended_at = now(), ended_why = $2
    WHERE s.operator = $1 AND s.ended_at IS NULL AND s.hash IS DISTINCT FROM $3
$$;

-- Counts one more try; the row's lock lets no two count as one. NULL: allowed; else in how many seconds again.
CREATE FUNCTION postrider.login_count(key text, most int) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    t record;
BEGIN
    INSERT INTO postrider.login_try AS l (key, since, tries) VALUES (left($1, 200), clock_timestamp(), 1)
    ON CONFLICT ON CONSTRAINT login_try_pkey DO UPDATE
    SET since = CASE WHEN l.since < clock_timestamp() - interval '15 min' THEN excluded.since ELSE l.since END,
        tries = CASE WHEN l.since < clock_timestamp() - interval '15 min' THEN 1 ELSE least(l.tries, 1000000) + 1 END
    RETURNING l.since, l.tries INTO t;
    RETURN CASE WHEN t.tries > most THEN greatest(1, ceil(extract(epoch FROM t.since + interval '15 min' - clock_timestamp())))::int END;
END $$;

-- The try counts before anybody knows how it ends: by name and address 5, by name 25, by address 50 in 15 minutes. password_hash NULL: nobody can log
-- in like this; the caller compares with a hash of nothing all the same, so that the time it takes tells nothing.
CREATE FUNCTION postrider.operator_login_begin(name text, address text)
RETURNS TABLE (allowed boolean, retry_after_s int, password_hash text, role text, totp bytea, totp_step bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    who CONSTANT text := left(coalesce($1, ''), 64);
BEGIN
    retry_after_s := greatest(postrider.login_count('address ' || coalesce($2, ''), 50), postrider.login_count('name ' || who, 25),
                              postrider.login_count('both ' || who || ' ' || coalesce($2, ''), 5));
    allowed := retry_after_s IS NULL;
    IF allowed THEN
        SELECT o.password, o.role, o.totp, o.totp_step INTO password_hash, role, totp, totp_step FROM postrider.operator AS o WHERE o.name = who AND o.disabled_at IS NULL;
    END IF;
    RETURN NEXT;
END $$;

-- What came of it; step: of the code, where there is a second factor. No row: not logged in. Of two log-ins with one code at once one is.
CREATE FUNCTION postrider.operator_login_end(name text, address text, ok boolean, session_hash bytea, user_agent text, idle_s int, absolute_s int,
                                             step bigint DEFAULT NULL)
RETURNS TABLE (operator text, role text, expires_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    o postrider.operator;
BEGIN
    SELECT x.* INTO o FROM postrider.operator AS x WHERE x.name = $1 AND x.disabled_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND OR ok IS NOT TRUE OR o.password IS NULL OR (o.totp IS NOT NULL AND coalesce(step, -1) <= o.totp_step) THEN
        INSERT INTO postrider.audit (actor, action, subject, detail)
        VALUES (coalesce(nullif(left($1, 128), ''), '?'), 'operator.login_failed', coalesce(left($1, 64), ''), jsonb_build_object('address', left($2, 64)));
        RETURN;
    END IF;
    UPDATE postrider.operator AS x SET last_login_at = now(), totp_step = coalesce(step, x.totp_step) WHERE x.name = o.name;
    DELETE FROM postrider.login_try AS l WHERE l.key = left('both ' || o.name || ' ' || coalesce($2, ''), 200) OR l.key = 'name ' || o.name;
    INSERT INTO postrider.operator_session AS s (hash, operator, address, agent, idle, expires_at)
    VALUES ($4, o.name, left(coalesce($2, ''), 64), left(coalesce($5, ''), 200), $6 * interval '1 s', now() + $7 * interval '1 s')
    RETURNING s.operator, o.role, s.expires_at INTO operator, role, expires_at;
    PERFORM postrider.audit_add(o.name, 'operator.login', o.name, NULL, jsonb_build_object('address', left($2, 64)));
    RETURN NEXT;
END $$;

CREATE FUNCTION postrider.operator_session_check(hash bytea) RETURNS TABLE (operator text, role text, expires_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    seen timestamptz;
BEGIN
    SELECT s.operator, o.role, s.expires_at, s.seen_at INTO operator, role, expires_at, seen
    FROM postrider.operator_session AS s JOIN postrider.operator AS o ON o.name = s.operator
    WHERE s.hash = $1 AND s.ended_at IS NULL AND s.expires_at > clock_timestamp() AND s.seen_at + s.idle > clock_timestamp() AND o.disabled_at IS NULL;
    IF FOUND THEN
        IF seen < clock_timestamp() - interval '1 min' THEN
            UPDATE postrider.operator_session AS s SET seen_at = clock_timestamp() WHERE s.hash = $1;
        END IF;
        RETURN NEXT;
    END IF;
END $$;

CREATE FUNCTION postrider.operator_session_end(hash bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    UPDATE postrider.operator_session AS s SET ended_at = now(), ended_why = 'logged out' WHERE s.hash = $1 AND s.ended_at IS NULL;
    RETURN FOUND;
END $$;

-- {"operator", "role", "label", "hash": hex, "expires_at"}: for at most a year. What it may is the lower of its role and its operator's.
CREATE FUNCTION postrider.token_create(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    o postrider.operator;
    t postrider.operator_token;
BEGIN
    PERFORM postrider.args_check(a, 'operator', 'role', 'label', 'hash', 'expires_at');
    PERFORM postrider.person_check(who, 'token.create', true);
    SELECT x.* INTO o FROM postrider.operator AS x WHERE x.name = coalesce(a ->> 'operator', who);
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = 'there is no such operator', HINT = 'postrider operator list shows them.';
    ELSIF o.name <> who THEN
        PERFORM postrider.person_check(who, 'operator.set', true);
    END IF;
    t.role := postrider.operator_role(coalesce(a ->> 'role', o.role));
    IF o.name <> who AND postrider.role_rank(t.role) >= postrider.role_rank('approver') THEN    -- or one would be two
        RAISE EXCEPTION USING ERRCODE = 'PR010', MESSAGE = format('a token that may approve is made by %s himself', o.name), HINT = 'Make one of the role operator or viewer.';
    END IF;
    t.expires_at := coalesce((a ->> 'expires_at')::timestamptz, now() + interval '90 days');
    IF postrider.role_rank(t.role) > postrider.role_rank(o.role) OR t.expires_at NOT BETWEEN now() AND now() + interval '366 days'
       OR (a ->> 'hash' ~ '^[0-9a-f]{64}$') IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'role is above the operator''s, expires_at is not within a year, or hash is not SHA-256 as hex',
            HINT = 'A token may at most what its operator may.';
    END IF;
    INSERT INTO postrider.operator_token (hash, operator, role, label, expires_at)
    VALUES (decode(a ->> 'hash', 'hex'), o.name, t.role, postrider.arg_text(a, 'label', 128, true), t.expires_at) RETURNING * INTO t;
    PERFORM postrider.audit_add(who, 'token.create', t.id::text, NULL, jsonb_build_object('operator', o.name, 'role', t.role, 'label', t.label));
    RETURN jsonb_build_object('token_id', t.id, 'operator', t.operator, 'role', t.role, 'label', t.label, 'expires_at', postrider.json_time(t.expires_at));
END $$;

CREATE FUNCTION postrider.token_revoke(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    t postrider.operator_token;
BEGIN
    PERFORM postrider.args_check(a, 'token_id', 'reason');
    PERFORM postrider.person_check(who, 'token.revoke', true);
    SELECT x.* INTO t FROM postrider.operator_token AS x WHERE x.id = postrider.arg_id(a, 'token_id') FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = 'there is no such token', HINT = 'postrider operator tokens shows them.';
    ELSIF t.operator <> who THEN
        PERFORM postrider.person_check(who, 'operator.set', true);
    END IF;
    UPDATE postrider.operator_token AS x SET revoked_at = now() WHERE x.id = t.id AND x.revoked_at IS NULL;
    PERFORM postrider.audit_add(who, 'token.revoke', t.id::text, postrider.arg_text(a, 'reason', 500, true), jsonb_build_object('operator', t.operator));
    RETURN jsonb_build_object('ok', true, 'token_id', t.id);
END $$;

CREATE FUNCTION postrider.operator_token_check(hash bytea) RETURNS TABLE (operator text, role text, token_id bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    SELECT t.operator, CASE WHEN postrider.role_rank(t.role) < postrider.role_rank(o.role) THEN t.role ELSE o.role END, t.id INTO operator, role, token_id
    FROM postrider.operator_token AS t JOIN postrider.operator AS o ON o.name = t.operator
    WHERE t.hash = $1 AND t.revoked_at IS NULL AND t.expires_at > clock_timestamp() AND o.disabled_at IS NULL;
    IF FOUND THEN
        UPDATE postrider.operator_token AS t SET used_at = clock_timestamp()
        WHERE t.id = token_id AND (t.used_at IS NULL OR t.used_at < clock_timestamp() - interval '1 min');
        RETURN NEXT;
    END IF;
END $$;

-- what people see of people ------------------------------------------------------------------------------------

CREATE FUNCTION postrider.operators_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a);
    RETURN jsonb_build_object('next', NULL, 'items', coalesce((SELECT jsonb_agg(postrider.operator_json(o) ORDER BY o.name) FROM postrider.operator AS o), '[]'));
END $$;

CREATE FUNCTION postrider.tokens_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a);
    RETURN jsonb_build_object('next', NULL, 'items', coalesce((
        SELECT jsonb_agg(jsonb_build_object('token_id', t.id, 'operator', t.operator, 'role', t.role, 'label', t.label,
            'created_at', postrider.json_time(t.created_at), 'expires_at', postrider.json_time(t.expires_at), 'used_at', postrider.json_time(t.used_at),
            'revoked_at', postrider.json_time(t.revoked_at)) ORDER BY t.id) FROM postrider.operator_token AS t), '[]'));
END $$;

-- Every action, the least role for it, and whether it takes two.
CREATE FUNCTION postrider.permissions_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a);
    RETURN jsonb_build_object('next', NULL, 'items', (
        SELECT jsonb_agg(jsonb_build_object('action', p.action, 'role', p.role, 'four_eyes', p.four_eyes, 'says', p.says) ORDER BY p.action)
        FROM postrider.permission AS p));
END $$;

-- {"who", "action", "subject", "merchant_id" with "order_no", "limit", "after"}: newest first.
CREATE FUNCTION postrider.audit_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    most CONSTANT int := postrider.arg_limit(a);
    upto CONSTANT bigint := coalesce(nullif(a ->> 'after', '')::bigint, 9223372036854775807);
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'who', 'action', 'subject', 'merchant_id', 'order_no', 'limit', 'after');
    IF (a ->> 'merchant_id' IS NULL) <> (a ->> 'order_no' IS NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'merchant_id and order_no are given together', HINT = 'An order number is a merchant''s.';
    END IF;
    RETURN postrider.page_json(ARRAY(
        SELECT jsonb_build_object('id', x.id, 'n', c.n, 'at', postrider.json_time(x.at), 'actor', x.actor, 'action', x.action, 'subject', x.subject,
            'reason', x.reason, 'detail', x.detail, 'login', x.login, 'merchant_id', x.merchant_id, 'order_no', x.order_no, 'hash', encode(c.hash, 'hex'),
            'cursor', x.id::text)
        FROM (SELECT y.* FROM postrider.audit AS y
              WHERE y.id < upto AND (a ->> 'who' IS NULL OR y.actor = a ->> 'who') AND (a ->> 'action' IS NULL OR y.action = a ->> 'action')
                AND (a ->> 'subject' IS NULL OR y.subject = a ->> 'subject')
                AND (a ->> 'order_no' IS NULL OR (y.merchant_id, y.order_no) = (a ->> 'merchant_id', a ->> 'order_no'))
              ORDER BY y.id DESC LIMIT most + 1) AS x
        LEFT JOIN LATERAL (SELECT z.n, z.hash FROM postrider.audit_chain AS z WHERE z.audit_id = x.id LIMIT 1) AS c ON true ORDER BY x.id DESC), most);
END $$;

CREATE FUNCTION postrider.audit_head_show(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a);
    RETURN (SELECT jsonb_build_object('n', h.n, 'hash', encode(h.hash, 'hex')) FROM postrider.audit_head AS h);
END $$;

RESET ROLE;
