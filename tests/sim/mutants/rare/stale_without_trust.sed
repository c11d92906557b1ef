# file: actors/scheduler/scheduler_io.c
# Found by the simulator: a scheduler whose session was ended called outcomes stale that the new owner needed.
s/^    if \(session_may_dispatch\(io\)\)$/    if (true)/
