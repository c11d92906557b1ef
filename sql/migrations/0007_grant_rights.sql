-- 0007 grant rights: each role what it needs and no more (tests/sql/rights.sql tries both sides).
-- why:   an actor that is taken over must not be able to do another's work.
-- locks: none.
-- undo:  REVOKE each.
--
-- Nobody but postrider_owner changes the schema. No role is granted to PUBLIC. The login user is a member of the roles;
-- an actor connects with SET ROLE to its own. Index plans are set per connection (lib/db), not per role.

SET LOCAL ROLE postrider_owner;

GRANT USAGE ON SCHEMA postrider TO postrider_app, postrider_relay, postrider_scheduler, postrider_breaker,
                                   postrider_dead_letter, postrider_console, postrider_ingress;

-- applications: the functions of contracts.md (0002) and the views
GRANT SELECT ON postrider.notification_status, postrider.attempt_log, postrider.dead_letters, postrider.endpoints,
                postrider.alerts, postrider.order_timeline TO postrider_app;

-- relay: moves. It reads neither bodies nor order numbers.
GRANT SELECT (id, tx, at, class, kind, merchant_id, event, notify_id, notify_url, cancel_at, cancel_reason, ref_at, ref_id,
              ref_endpoint) ON postrider.outbox TO postrider_relay;
GRANT SELECT, INSERT ON postrider.tick TO postrider_relay;
GRANT SELECT, INSERT ON postrider.endpoint TO postrider_relay;
GRANT SELECT (outbox_id, endpoint, tries) ON postrider.dead TO postrider_relay;
GRANT SELECT (outbox_id, outbox_at, endpoint), INSERT, DELETE ON postrider.job TO postrider_relay;
GRANT SELECT (outbox_id, endpoint), INSERT ON postrider.cancelled TO postrider_relay;
GRANT EXECUTE ON FUNCTION postrider.url_origin, postrider.notify_endpoint_id TO postrider_relay;

-- scheduler: jobs, results, its session. UPDATE (pid) of session is never used: FOR SHARE asks for the right.
GRANT SELECT ON postrider.outbox, postrider.outbox_kept, postrider.endpoint, postrider.merchant, postrider.tick,
                postrider.session, postrider.heartbeat, postrider.shard TO postrider_scheduler;
GRANT UPDATE (pid) ON postrider.session TO postrider_scheduler;
GRANT SELECT, UPDATE, DELETE ON postrider.job TO postrider_scheduler;
GRANT INSERT ON postrider.attempt TO postrider_scheduler;
GRANT SELECT, INSERT ON postrider.worker TO postrider_scheduler;
GRANT SELECT, INSERT, UPDATE ON postrider.dead TO postrider_scheduler;
GRANT SELECT, INSERT, DELETE ON postrider.cancelled TO postrider_scheduler;
GRANT EXECUTE ON FUNCTION postrider.open_session, postrider.heartbeat, postrider.acquire_shards, postrider.release_shards,
    postrider.end_session, postrider.end_dead_sessions, postrider.observe_heartbeats, postrider.before_ms,
    postrider.response_kept TO postrider_scheduler;

-- circuit-breaker: who is forced or switched off
GRANT SELECT (id, merchant_id, name, shard, url, state, state_reason, state_at, forced, tx) ON postrider.endpoint TO postrider_breaker;
GRANT EXECUTE ON FUNCTION postrider.breaker_force, postrider.endpoint_disable, postrider.endpoint_enable,
    postrider.alert_raise, postrider.alert_resolve TO postrider_breaker;

-- dead-letter: alerts, upkeep, redrive orders
GRANT SELECT ON postrider.dead, postrider.dead_letters, postrider.alerts, postrider.redrive TO postrider_dead_letter;
GRANT EXECUTE ON FUNCTION postrider.alert_raise, postrider.alert_resolve, postrider.redrive_step, postrider.ensure_partitions,
    postrider.retention_step, postrider.purge_step, postrider.finish_rotations TO postrider_dead_letter;

-- console and command line: the operators' doors and all views; tables only where `status` counts them
GRANT SELECT ON postrider.notification_status, postrider.attempt_log, postrider.dead_letters, postrider.endpoints,
                postrider.merchants, postrider.alerts, postrider.order_timeline, postrider.audit, postrider.redrive,
                postrider.priority_rule, postrider.setting, postrider.tick, postrider.job, postrider.dead, postrider.cancelled,
                postrider.session, postrider.heartbeat, postrider.shard, postrider.partition TO postrider_console;
GRANT SELECT (id, tx, at, class, kind, merchant_id, order_no, event, notify_id) ON postrider.outbox TO postrider_console;
GRANT EXECUTE ON FUNCTION postrider.merchant_add, postrider.merchant_set, postrider.endpoint_add, postrider.endpoint_set,
    postrider.endpoint_enable, postrider.endpoint_disable, postrider.endpoint_rotate_secret, postrider.breaker_force,
    postrider.dead_redrive, postrider.redrive_request, postrider.dead_close, postrider.alert_raise, postrider.alert_resolve,
    postrider.configure, postrider.cancel_notification, postrider.enqueue_notification, postrider.is_moved TO postrider_console;

RESET ROLE;
