# file: actors/scheduler/scheduler.c
# Jobs of a worker that is gone are never tried again.
s/^        if \(now_ms - job->heard_ms >= self->config.heard_ms\)$/        if (false)/
