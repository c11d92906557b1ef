-- outbox-relay.follow_timeline: run once on each new connection, before check_cluster.
-- rows: one, promoted boolean: this is a new timeline, sessions have ended and ids have jumped.
SELECT postrider.follow_timeline() AS promoted;
