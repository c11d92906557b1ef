# file: actors/scheduler/scheduler_rows.c
# Found by the simulator, once in 70,000 seeds: a scheduler whose own cursor lies before the lows of the shards that it takes reads nothing
# and took its cursor for the place that it had read to. Begun anew, the reading passed over jobs that were known to hold no first try.
s/^        if \(read_to > adoption->lo\[c\]\).*$/        if (true)/
