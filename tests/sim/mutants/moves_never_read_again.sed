# file: actors/scheduler/scheduler_rows.c
# After a crash of Postgres moves that it lost, and the relay made anew, are not read again.
s/^        adoption->lo\[c\] = low\[c\] - 1 < io->durable\[c\] \? .*$/        adoption->lo[c] = io->cursor[c];/
