# file: actors/scheduler/scheduler_session.c
# Shards of an acquisition whose answer was lost are never loaded.
s/^        again = true;$/        again = false;/
