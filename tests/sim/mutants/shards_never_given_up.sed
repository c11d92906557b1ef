# file: actors/scheduler/scheduler_handover.c
# Shards that are to be given up are never released.
s/^    if \(io->releasing \|\| io->adoption.active \|\| memcmp/    if (true || io->releasing || io->adoption.active || memcmp/
