# file: lib/core/lanes.c
# One job of each batch is not counted as received: its credit never comes back.
s/^        self->received\[cls\] \+= jobs;$/        self->received[cls] += jobs - 1;/
