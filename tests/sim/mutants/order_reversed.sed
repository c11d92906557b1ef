# file: actors/scheduler/scheduler_order.c
# The highest version of an order goes first.
s/^    return a->version != b->version \? a->version < b->version /    return a->version != b->version ? a->version > b->version /
