-- 0037 keep accounts of open payments: a channel's account, profile and kind of money stay while a payment or refund of it is open.
-- why:   a question about it would go to another account, whose "not found" would look like an answer about ours (P10, R2).
-- locks: SHARE ROW EXCLUSIVE on channel for the trigger, for a moment.
-- undo:  DROP TRIGGER channel_keep_account ON postrider.channel; DROP FUNCTION postrider.channel_keep_account.

SET LOCAL ROLE postrider_owner;

CREATE FUNCTION postrider.channel_keep_account() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET jit = off AS $$
BEGIN
    IF EXISTS (SELECT FROM postrider.payment AS p WHERE p.channel_no = OLD.no AND p.state IN ('created', 'processing'))
       OR EXISTS (SELECT FROM postrider.refund AS r JOIN postrider.payment AS p ON p.id = r.payment_id
                  WHERE r.state IN ('created', 'processing') AND p.channel_no = OLD.no) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('payments of channel %s are open: its account, profile and livemode stay as they are', OLD.id),
            HINT = 'Add another channel for the other account; payments that are open end at this one.';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER channel_keep_account BEFORE UPDATE ON postrider.channel FOR EACH ROW
WHEN (OLD.account IS DISTINCT FROM NEW.account OR OLD.profile IS DISTINCT FROM NEW.profile OR OLD.livemode IS DISTINCT FROM NEW.livemode)
EXECUTE FUNCTION postrider.channel_keep_account();

RESET ROLE;
