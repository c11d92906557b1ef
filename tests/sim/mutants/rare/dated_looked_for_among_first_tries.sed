# file: actors/scheduler/scheduler.c
# Found by the simulator: a stale result of a retry had all jobs since its birth read as if it were a first try.
s/ && !row->dated\) \/\* dated ones are paged \*\//)/
