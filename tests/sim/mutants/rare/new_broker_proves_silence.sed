# file: actors/scheduler/scheduler_bus.c
# Found by the simulator: workers that had not greeted a new broker yet were taken for dead.
s/^    if \(alone\)$/    if (alone \&\& false)/
