# file: actors/scheduler/scheduler_bus.c
# Found by the simulator: the first worker to find its way ended the deafness for all.
s/^    if \(!pr_roster_worker_by_id\(link->roster, hello->worker_id\)\)$/    if (false)/
