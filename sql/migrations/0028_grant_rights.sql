-- 0028 grant rights: each role what it needs and no more (tests/sql/rights.sql tries both sides).
-- why:   an actor that is taken over must not be able to do another's work.
-- locks: none.
-- undo:  REVOKE each.
--
-- Nobody but postrider_owner changes the schema. The login user is a member of the roles; an actor connects with SET ROLE to its own. Index
-- plans are set per connection (lib/db), not per role. Later files grant what they add.

SET LOCAL ROLE postrider_owner;

GRANT USAGE ON SCHEMA postrider TO postrider_app, postrider_relay, postrider_scheduler, postrider_breaker, postrider_dead_letter, postrider_console,
    postrider_ingress, postrider_gateway_scheduler, postrider_compensator, postrider_reconciler;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA postrider FROM PUBLIC;
-- A view's functions run with the reader's rights.
GRANT EXECUTE ON FUNCTION postrider.response_text, postrider.outcome_name, postrider.retry_count, postrider.published_status TO PUBLIC;

-- applications: the functions and views of contracts.md
GRANT EXECUTE ON FUNCTION postrider.enqueue_notification, postrider.cancel_notification, postrider.track_payment, postrider.submit_payment,
    postrider.refund_payment, postrider.cancel_payment, postrider.report_payment, postrider.report_fulfilment, postrider.create_task
    TO postrider_app;
GRANT SELECT ON postrider.notification_status, postrider.dead_letters, postrider.endpoints, postrider.alerts, postrider.attempt_log,
    postrider.order_timeline, postrider.payment_status, postrider.refund_status, postrider.payment_events, postrider.payment_evidence,
    postrider.webhook_journal, postrider.channels, postrider.fulfilments, postrider.compensation_tasks, postrider.task_incidents, postrider.task_runs,
    postrider.recon_differences TO postrider_app;

-- relay: moves. It reads neither bodies nor order numbers.
GRANT SELECT (id, tx, at, class, kind, merchant_id, event, notify_id, notify_url, cancel_at, cancel_reason, ref_at, ref_id,
              ref_endpoint) ON postrider.outbox TO postrider_relay;
GRANT SELECT, INSERT ON postrider.tick TO postrider_relay;
GRANT SELECT, INSERT ON postrider.endpoint TO postrider_relay;
GRANT SELECT (outbox_id, endpoint, tries) ON postrider.dead TO postrider_relay;
GRANT SELECT (outbox_id, outbox_at, endpoint), INSERT, DELETE ON postrider.job TO postrider_relay;
GRANT SELECT (outbox_id, endpoint), INSERT ON postrider.cancelled TO postrider_relay;
GRANT EXECUTE ON FUNCTION postrider.url_origin, postrider.host_ok, postrider.ipv6_ok,       -- url_origin stands on the other two
    postrider.notify_endpoint_id, postrider.follow_timeline, postrider.supersede TO postrider_relay;

-- scheduler: jobs, results, its session. UPDATE (pid) of session is never used: FOR SHARE asks for the right.
GRANT SELECT ON postrider.outbox, postrider.outbox_kept, postrider.endpoint, postrider.merchant, postrider.tick,
                postrider.session, postrider.heartbeat, postrider.shard TO postrider_scheduler;
GRANT UPDATE (pid) ON postrider.session TO postrider_scheduler;
GRANT SELECT, UPDATE, DELETE ON postrider.job TO postrider_scheduler;
GRANT INSERT ON postrider.attempt TO postrider_scheduler;
GRANT SELECT, INSERT ON postrider.worker TO postrider_scheduler;
GRANT SELECT, INSERT, UPDATE ON postrider.dead TO postrider_scheduler;
GRANT SELECT, INSERT, DELETE ON postrider.cancelled TO postrider_scheduler;
GRANT EXECUTE ON FUNCTION postrider.open_session, postrider.resume_session, postrider.heartbeat, postrider.acquire_shards,
    postrider.release_shards, postrider.end_session, postrider.end_dead_sessions, postrider.observe_heartbeats, postrider.endpoint_pause,
    postrider.before_ms, postrider.response_kept TO postrider_scheduler;

-- circuit-breaker: who is forced, failing or switched off
GRANT SELECT (id, merchant_id, name, shard, url, state, state_reason, state_at, forced, tx) ON postrider.endpoint TO postrider_breaker;
GRANT EXECUTE ON FUNCTION postrider.watch_load, postrider.watch_force, postrider.endpoint_mark_failing, postrider.endpoint_mark_open,
    postrider.endpoint_recovered, postrider.endpoint_switch_off, postrider.breaker_force, postrider.endpoint_disable, postrider.endpoint_enable,
    postrider.alert_raise, postrider.alert_resolve TO postrider_breaker;

-- dead-letter: alerts, upkeep, redrive orders
GRANT SELECT ON postrider.dead, postrider.dead_letters, postrider.alerts, postrider.redrive TO postrider_dead_letter;
GRANT EXECUTE ON FUNCTION postrider.alert_raise, postrider.alert_resolve, postrider.alert_announce, postrider.alert_take, postrider.dead_scan,
    postrider.redrive_step, postrider.ensure_partitions, postrider.retention_step, postrider.purge_step, postrider.finish_rotations,
    postrider.payments_purge, postrider.payments_sweep TO postrider_dead_letter;

-- gateway-scheduler: calls of the channels that it owns
GRANT EXECUTE ON FUNCTION postrider.call_session_open, postrider.call_session_beat, postrider.call_session_end, postrider.call_shards_take,
    postrider.call_shards, postrider.call_shards_release, postrider.calls_channels, postrider.calls_webhook_delays, postrider.calls_due,
    postrider.calls_dispatch, postrider.calls_apply, postrider.calls_pause, postrider.calls_orphaned, postrider.calls_expire_leases,
    postrider.payments_upkeep, postrider.payments_sweep TO postrider_gateway_scheduler;

-- ingress: webhooks, and what applications and merchants do by HTTP
GRANT EXECUTE ON FUNCTION postrider.ingress_channels, postrider.webhook_receive, postrider.webhook_redrive, postrider.http_key_check,
    postrider.http_key_signing, postrider.http_nonce_take, postrider.http_write, postrider.http_read, postrider.http_purge TO postrider_ingress;

-- compensator: tasks
GRANT EXECUTE ON FUNCTION postrider.tasks_configure, postrider.task_session_open, postrider.task_session_end, postrider.tasks_claim,
    postrider.tasks_act, postrider.tasks_finish, postrider.tasks_sweep TO postrider_compensator;

-- the reconciler, and whoever imports a file by hand
GRANT INSERT ON postrider.recon_item TO postrider_reconciler, postrider_console;
GRANT INSERT (file_id, line, reason, detail, raw) ON postrider.recon_bad_row TO postrider_reconciler, postrider_console;
GRANT SELECT ON postrider.recon_files, postrider.recon_differences, postrider.recon_quarantine, postrider.recon_pool, postrider.recon_runs,
    postrider.channels TO postrider_reconciler, postrider_console;
GRANT EXECUTE ON FUNCTION postrider.recon_begin, postrider.recon_finish, postrider.recon_match_step, postrider.recon_pool_step,
    postrider.recon_report, postrider.recon_due, postrider.recon_hold, postrider.recon_nothing, postrider.recon_missed, postrider.recon_imported,
    postrider.recon_pools, postrider.recon_deliveries, postrider.recon_settings, postrider.recon_due_at, postrider.recon_last_day
    TO postrider_reconciler, postrider_console;
GRANT EXECUTE ON FUNCTION postrider.recon_purge, postrider.payments_sweep, postrider.payments_purge, postrider.alert_raise,
    postrider.alert_resolve, postrider.channel_sealed TO postrider_reconciler;

-- console and command line: the operators' doors and all views; tables only where `status` counts them
GRANT SELECT ON postrider.notification_status, postrider.dead_letters, postrider.endpoints, postrider.merchants, postrider.alerts,
    postrider.attempt_log, postrider.order_timeline, postrider.payment_status, postrider.refund_status, postrider.payment_events,
    postrider.payment_evidence, postrider.webhook_journal, postrider.fulfilments, postrider.compensation_tasks, postrider.task_incidents, postrider.task_runs,
    postrider.manual_actions, postrider.http_keys, postrider.state_rules TO postrider_console;
GRANT SELECT ON postrider.tick, postrider.job, postrider.dead, postrider.cancelled, postrider.session, postrider.heartbeat, postrider.shard,
    postrider.partition, postrider.redrive, postrider.priority_rule, postrider.setting, postrider.audit, postrider.permission,
    postrider.call_session, postrider.call_shard, postrider.call_request, postrider.channel_pause, postrider.task_kind, postrider.task_session
    TO postrider_console;
GRANT SELECT (id, tx, at, class, kind, merchant_id, order_no, event, notify_id) ON postrider.outbox TO postrider_console;
GRANT SELECT (id, channel_no, class, operation, payment_id, refund_id, due, reason, lease_until, dispatched_at, session) ON postrider.call
    TO postrider_console;
-- what people do. Past the requests (approval_ask) no door leads: payment_decide and task_resolve are not here. What an application does is not
-- for people: they have neither its doors nor its word.
GRANT EXECUTE ON FUNCTION postrider.merchant_add, postrider.merchant_set, postrider.merchant_test, postrider.endpoint_add, postrider.endpoint_set,
    postrider.endpoint_enable, postrider.endpoint_disable, postrider.endpoint_rotate_secret, postrider.breaker_force, postrider.dead_redrive,
    postrider.redrive_request, postrider.dead_close, postrider.alert_raise, postrider.alert_resolve, postrider.notification_cancel,
    postrider.channel_add, postrider.channel_set, postrider.channel_pause, postrider.channel_maintain, postrider.channel_resume,
    postrider.channel_sealed, postrider.payment_poll, postrider.webhook_raw, postrider.webhook_redrive_by, postrider.task_close,
    postrider.task_rerun, postrider.key_create, postrider.key_revoke, postrider.key_sign, postrider.payments_sweep, postrider.configure,
    postrider.configure_payments, postrider.recon_set, postrider.recon_ask, postrider.fulfilment_set, postrider.recon_file_release, postrider.recon_file_close,
    postrider.recon_row_close, postrider.exceptions_resolve, postrider.sla_set, postrider.approval_ask, postrider.approval_decide,
    postrider.approval_withdraw TO postrider_console;
-- who they are
GRANT EXECUTE ON FUNCTION postrider.operator_add, postrider.operator_set, postrider.operator_disable, postrider.operator_enable,
    postrider.operator_password, postrider.operator_totp, postrider.operator_any, postrider.operator_secret, postrider.operator_login_begin, postrider.operator_login_end,
    postrider.operator_session_check, postrider.operator_session_end, postrider.operator_token_check, postrider.token_create,
    postrider.token_revoke, postrider.people_purge, postrider.reader TO postrider_console;
-- what they read
GRANT EXECUTE ON FUNCTION postrider.check_invariants, postrider.is_moved, postrider.merchant_order, postrider.task_moves, postrider.tasks_due,
    postrider.audit_entries, postrider.audit_end, postrider.recon_file_list, postrider.recon_difference_list, postrider.recon_quarantine_list,
    postrider.operators_list, postrider.tokens_list, postrider.permissions_list, postrider.audit_list, postrider.audit_head_show,
    postrider.approvals_list, postrider.approval_show, postrider.exceptions_list, postrider.exceptions_summary, postrider.notifications_list,
    postrider.notification_show, postrider.dead_letters_list, postrider.payments_list, postrider.payment_show, postrider.webhooks_list,
    postrider.webhook_show, postrider.tasks_list, postrider.task_show, postrider.merchants_list, postrider.merchant_show,
    postrider.endpoints_list, postrider.channels_list, postrider.channel_show, postrider.alerts_list, postrider.order_show, postrider.search,
    postrider.overview, postrider.metrics TO postrider_console;
-- what the statements of sql/queries/console call beside
GRANT EXECUTE ON FUNCTION postrider.arg_limit, postrider.arg_text, postrider.arg_id, postrider.page_json, postrider.json_time TO postrider_console;

RESET ROLE;
