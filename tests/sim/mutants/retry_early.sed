# file: actors/scheduler/scheduler.c
# A retry goes before it is due.
s/^    int64_t due_ms = now_ms \+ job->delay_ms;$/    int64_t due_ms = now_ms + job->delay_ms \/ 2;/
