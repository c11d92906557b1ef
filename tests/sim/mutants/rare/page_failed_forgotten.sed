# file: actors/scheduler/scheduler_rows.c
# A page that could not be read is not asked for again.
s/^                       !ok \|\| pages->got/                       ok \&\& pages->got/
