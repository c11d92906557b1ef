# file: actors/scheduler/scheduler_batch.c
# A worker hears that its outcome is safe when it has only been heard.
s/^    io->unwritten\+\+;$/    io->unwritten++;\n    if (action->outcome)\n        bus_ack(io, action->outcome, \&(token_t){action->salt, action->attempt, action->seq});/
