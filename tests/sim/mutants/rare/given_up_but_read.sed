# file: actors/scheduler/scheduler_handover.c
# Found by the simulator: shards that were given up while first tries were read went on bounding where the reading begins. It takes a release
# whose answer a crash took, and a takeover before it is asked for again.
/^    rows_adopt_less\(io\);$/d
