# file: actors/scheduler/scheduler_endpoint.c
# A job that left an endpoint's window is still counted there.
s/^        endpoint->inflight--;$/        ;/
