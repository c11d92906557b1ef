# file: actors/scheduler/scheduler.c
# A failed delivery that is too old is tried again.
s/^    bool old = .*$/    bool old = false;/
