# file: actors/scheduler/scheduler_rows.c
# After a crash of Postgres moves that it lost, and the relay made anew, are not read again.
s|^        int64_t from = low\[c\] - 1 < io->durable\[c\] \? .*$|        int64_t from = io->cursor[c];|
