-- console.metrics: the figures of the overview, for programs that watch.
-- rows: one, body text (JSON), or NULL: there are no operators yet.
SELECT postrider.metrics()::text AS body;
