# file: actors/scheduler/scheduler.c
# Found by the simulator: a 410 that comes after its row says so outlives the row's next change.
s/^(    if \(result == PR_OUTCOME_GONE && !endpoint->gone) && endpoint->spec.active\) \{$/\1) {/
