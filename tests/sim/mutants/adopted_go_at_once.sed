# file: actors/scheduler/scheduler_rows.c
# A new owner sends a former owner's first tries without hearing who holds them.
s/^            \(void\)rows_add\(io, rows, row, false, adoption->former\);$/            (void)rows_add(io, rows, row, false, false);/
