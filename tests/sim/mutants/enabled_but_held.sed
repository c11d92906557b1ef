# file: actors/scheduler/scheduler_endpoint.c
# An endpoint that is enabled after a 410 keeps its jobs.
s/^        endpoint->gone = false; .*$/        ;/
