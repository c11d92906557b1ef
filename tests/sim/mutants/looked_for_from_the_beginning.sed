# file: actors/scheduler/scheduler_rows.c
# After a lost connection first tries are looked for before the lows of the shards: among all that waits.
s/^        adoption->lo\[c\] = above \? io->floor\[c\] : from;$/        adoption->lo[c] = above ? from : from;/
