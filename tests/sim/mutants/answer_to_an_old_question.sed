# file: actors/scheduler/scheduler_new.c
# New jobs that were asked for before shards were taken move the cursor.
s/^    uint32_t stale = look.classes & io->new_stale;$/    uint32_t stale = 0;/
