# file: actors/scheduler/scheduler_rows.c
# Found by the simulator: the horizon of a server that failed over was kept.
s/^    io->endpoints_known = false;$//
