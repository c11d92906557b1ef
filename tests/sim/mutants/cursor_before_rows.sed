# file: actors/scheduler/scheduler_new.c
# The cursor moves past jobs whose endpoint is not known yet.
s/^        if \(blocked >> c & 1u\)$/        if (false)/
