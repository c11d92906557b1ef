# file: actors/scheduler/scheduler_rows.c
# Found by the simulator, once in a million seeds: an adoption that still waited to hear all workers was followed by another, and what had been
# heard since the first let the jobs of the second go out at once, though a worker held the outcome of one.
/^    adoption->active = true;$/,/^    adoption->stale/s/^    io->heard_wanted_ms = INT64_MAX;$//
