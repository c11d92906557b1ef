#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# digest.sh LOG: why a test failed, short: its first `not ok` lines with the end of what it says of
# each (a traceback's reason comes last), else what Criterion and ctest complain of, else its last
# lines. At most 26 lines of 180 characters.
exec awk '
function close_block(    i) {
    for (i = reasons > 5 ? reasons - 5 : 0; i < reasons; i++) print "  " reason[i]
    reasons = 0
    open = 0
}
{ line = substr($0, 1, 180) }
/^not ok/ {
    close_block()
    if (++found <= 4) { print line; open = 1 }
    next
}
open && /^[ \t]*#/ { reason[reasons++] = line; next }
open { close_block() }
/Test +#[0-9]+:.*\*\*\*/ || /^\[----\].*: (Assertion|Unexpected|.*assert)/ || /^\[FAIL\]/ || /^Traceback/ ||
        /(ERROR|SUMMARY): [A-Za-z]+Sanitizer|runtime error:|^FAILED|[^a-z]error:/ {
    if (complaints < 8) complaint[complaints++] = line
}
NF > 0 { last[lasts++ % 5] = line }
END {
    close_block()
    if (found > 4) print "... and " found - 4 " more not ok"
    if (found > 0) exit
    for (i = 0; i < complaints; i++) { print complaint[i]; told[complaint[i]] = 1 }
    for (i = lasts > 5 ? lasts - 5 : 0; i < lasts; i++) if (!(last[i % 5] in told)) print last[i % 5]
}' "$1"
