# file: actors/scheduler/scheduler_batch.c
# First tries count as dated though the statement failed.
s/^        return; \/\* they stay in the list and are dated again.*$/        rc = PR_OK;/
