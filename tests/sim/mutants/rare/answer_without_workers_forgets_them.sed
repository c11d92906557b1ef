# file: actors/scheduler/scheduler_bus.c
# Found by the simulator, once in 500,000 seeds: a broker's answer to a greeting that it knows names no workers. Taken for "there are none",
# it let adopted jobs go when the other broker's workers alone had been heard.
s/^    if \(hello->n_workers == 0\)$/    if (false)/
