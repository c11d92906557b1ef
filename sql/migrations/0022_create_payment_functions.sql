-- 0022 create payment functions: the signatures that actors and applications call.
-- why:   the contract of sql/queries/gateway-scheduler and sql/queries/ingress. The bodies follow.
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each.

SET LOCAL ROLE postrider_owner;

CREATE FUNCTION postrider.track_payment(merchant_id text, order_no text, channel text, gateway_reference text, amount_minor bigint, currency text, expires_at timestamptz DEFAULT NULL, options jsonb DEFAULT '{}') RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'track_payment is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.track_payment FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.track_payment TO postrider_app, postrider_ingress, postrider_console;

CREATE FUNCTION postrider.submit_payment(merchant_id text, order_no text, channel text, amount_minor bigint, currency text, request jsonb DEFAULT '{}', options jsonb DEFAULT '{}') RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'submit_payment is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.submit_payment FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.submit_payment TO postrider_app, postrider_ingress, postrider_console;

CREATE FUNCTION postrider.refund_payment(payment_id bigint, refund_no text, amount_minor bigint, reason text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'refund_payment is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.refund_payment FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.refund_payment TO postrider_app, postrider_console;

CREATE FUNCTION postrider.cancel_payment(payment_id bigint, reason text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'cancel_payment is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.cancel_payment FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.cancel_payment TO postrider_app, postrider_console;

CREATE FUNCTION postrider.report_payment(payment_id bigint, state text, evidence jsonb, event_id text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'report_payment is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.report_payment FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.report_payment TO postrider_app, postrider_console;

CREATE FUNCTION postrider.report_fulfilment(merchant_id text, order_no text, state text, reference text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'report_fulfilment is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.report_fulfilment FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.report_fulfilment TO postrider_app, postrider_console;

CREATE FUNCTION postrider.create_task(biz_type text, biz_id text, merchant_id text, order_no text, request jsonb, idempotency_key text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'create_task is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.create_task FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.create_task TO postrider_app, postrider_console;

CREATE FUNCTION postrider.apply_evidence(payment_id bigint, refund_id bigint, source text, evidence jsonb, event_id text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'apply_evidence is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.apply_evidence FROM PUBLIC;

CREATE FUNCTION postrider.call_session_open(address text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'call_session_open is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.call_session_open FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.call_session_open TO postrider_gateway_scheduler;

CREATE FUNCTION postrider.call_session_beat(session uuid, OUT alive boolean, OUT target int, OUT owned int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'call_session_beat is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.call_session_beat FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.call_session_beat TO postrider_gateway_scheduler;

CREATE FUNCTION postrider.call_shards_take(session uuid, most int) RETURNS SETOF smallint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'call_shards_take is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.call_shards_take FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.call_shards_take TO postrider_gateway_scheduler;

CREATE FUNCTION postrider.call_shards(session uuid) RETURNS SETOF smallint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'call_shards is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.call_shards FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.call_shards TO postrider_gateway_scheduler;

CREATE FUNCTION postrider.call_shards_release(session uuid, nos smallint[]) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'call_shards_release is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.call_shards_release FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.call_shards_release TO postrider_gateway_scheduler;

CREATE FUNCTION postrider.call_session_end(session uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'call_session_end is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.call_session_end FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.call_session_end TO postrider_gateway_scheduler;

CREATE FUNCTION postrider.calls_channels(session uuid, known text[], versions bigint[]) RETURNS TABLE (channel text, version bigint, shard smallint, state text, profile text, base_url text, tls_ca text, parameters jsonb, exponents jsonb, rate_per_s double precision, burst int, concurrency int, polls text, max_polls int, charge_retry text, query_supported boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'calls_channels is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.calls_channels FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.calls_channels TO postrider_gateway_scheduler;

CREATE FUNCTION postrider.calls_webhook_delays(session uuid) RETURNS TABLE (channel text, samples int, first_permille int, p95_ms bigint, p99_ms bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'calls_webhook_delays is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.calls_webhook_delays FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.calls_webhook_delays TO postrider_gateway_scheduler;

CREATE FUNCTION postrider.calls_due(session uuid, shards smallint[], most int) RETURNS TABLE (call_id bigint, channel text, class int, operation text, due_in_ms bigint, priority int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'calls_due is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.calls_due FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.calls_due TO postrider_gateway_scheduler;

CREATE FUNCTION postrider.calls_dispatch(session uuid, call_ids bigint[], lease_ms int[]) RETURNS TABLE (call_id bigint, dropped text, salt bigint, attempt int, channel text, class int, operation text, payment_id bigint, refund_id bigint, request_no text, reference text, refund_no text, refund_reference text, order_no text, currency text, description text, reason text, notify_url text, return_url text, amount_minor bigint, refund_minor bigint, expires_at_us bigint, request text, paid_before boolean, age_ms bigint, expires_ms bigint, polls int, sooner int, polled_at_expiry boolean, tries int, failures int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'calls_dispatch is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.calls_dispatch FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.calls_dispatch TO postrider_gateway_scheduler;

CREATE FUNCTION postrider.calls_apply(session uuid, results jsonb) RETURNS TABLE (call_id bigint, verdict text, next text, next_in_ms bigint, channel text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'calls_apply is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.calls_apply FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.calls_apply TO postrider_gateway_scheduler;

CREATE FUNCTION postrider.calls_expire_leases(session uuid, most int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'calls_expire_leases is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.calls_expire_leases FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.calls_expire_leases TO postrider_gateway_scheduler;

CREATE FUNCTION postrider.payments_upkeep(session uuid, most int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'payments_upkeep is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.payments_upkeep FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.payments_upkeep TO postrider_gateway_scheduler;

CREATE FUNCTION postrider.payments_sweep(most int) RETURNS TABLE (what text, found bigint, repaired bigint, tasks bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'payments_sweep is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.payments_sweep FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.payments_sweep TO postrider_gateway_scheduler, postrider_console;

CREATE FUNCTION postrider.ingress_channels(known text[], versions bigint[]) RETURNS TABLE (channel text, version bigint, state text, profile text, base_url text, parameters jsonb, exponents jsonb, livemode boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'ingress_channels is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.ingress_channels FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.ingress_channels TO postrider_ingress;

CREATE FUNCTION postrider.webhook_receive(channel text, received_at timestamptz, method text, query text, headers jsonb, body bytea, verdict text, reason text, items jsonb, OUT reply text, OUT webhook_id bigint, OUT result text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'webhook_receive is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.webhook_receive FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.webhook_receive TO postrider_ingress;

CREATE FUNCTION postrider.webhook_redrive(webhook_id bigint, OUT state text, OUT result text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'webhook_redrive is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.webhook_redrive FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.webhook_redrive TO postrider_ingress, postrider_console;

CREATE FUNCTION postrider.http_key_check(hash bytea) RETURNS TABLE (key_id bigint, kind text, merchant_id text, livemode boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'http_key_check is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.http_key_check FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.http_key_check TO postrider_ingress;

CREATE FUNCTION postrider.http_write(key_id bigint, idempotency_key text, request_hash bytea, operation text, arguments jsonb, OUT status int, OUT body text, OUT replayed boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'http_write is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.http_write FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.http_write TO postrider_ingress;

CREATE FUNCTION postrider.http_read(key_id bigint, what text, arguments jsonb) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'http_read is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.http_read FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.http_read TO postrider_ingress;

CREATE FUNCTION postrider.http_purge(most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'http_purge is not there yet';
END $$;
REVOKE ALL ON FUNCTION postrider.http_purge FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.http_purge TO postrider_ingress;

RESET ROLE;
