# file: actors/scheduler/scheduler_batch.c
# Found by the simulator: what was born in shards that are given up was lost if the session was ended meanwhile.
s/^        if \(leaving && io->leave_low/        if (false \&\& leaving \&\& io->leave_low/
