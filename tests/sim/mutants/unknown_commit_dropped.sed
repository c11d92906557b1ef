# file: actors/scheduler/scheduler_batch.c
# A batch whose COMMIT is unknown is forgotten.
s/^        keep\(io, batch, true\);$/        drop_batch(io, batch);/
