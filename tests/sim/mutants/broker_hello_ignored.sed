# file: actors/scheduler/scheduler_bus.c
# A broker that is asked to be greeted anew is not.
s/^    if \(hello->greet_anew \|\| \(!same && link->live\)\) \{$/    if (!same \&\& link->live \&\& 0) {/
