# file: actors/scheduler/scheduler.c
# An outcome of an earlier try is taken for the present one's.
s/ \|\| job->view.attempt != attempt \|\| job->state == JOB_TIMER\) \{$/) {/
