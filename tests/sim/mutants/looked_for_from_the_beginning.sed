# file: actors/scheduler/scheduler_rows.c
# After a lost connection first tries are looked for before the lows of the shards: among all that waits.
s/^        adoption->lo\[c\] = from > least \? from : least;$/        adoption->lo[c] = least < 0 ? least : from;/
