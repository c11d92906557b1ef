# file: actors/scheduler/scheduler_session.c
# Found by the simulator: beats that Postgres refused were counted, and the one under way beside an acquisition was trusted.
s/^    io->beat_no = io->beats \+ 1;$/    io->beat_no = ++io->beats;/
