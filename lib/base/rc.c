/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rc.h"

const char *pr_rc_name(pr_rc_t rc)
{
    switch (rc) {
    case PR_OK:
        return "ok";
    case PR_AGAIN:
        return "again";
    case PR_LOST:
        return "lost";
    case PR_BAD:
        return "bad";
    case PR_FATAL:
        return "fatal";
    }
    return "unknown";
}
