/* SPDX-License-Identifier: Apache-2.0
 *
 * lib/core does not know protobuf, but its enums are cast to and from the wire: the numbers agree.
 */
#include "core/breaker.h"
#include "core/judge.h"
#include "postrider/v1/bus.pb-c.h"

#include <criterion/criterion.h>

#include <ctype.h>
#include <string.h>

TestSuite(numbers_on_the_wire, .timeout = 300);

/* "THROTTLED" in RESULT_THROTTLED and "throttled" are one name. */
static bool same_name(const char *proto, const char *prefix, const char *core)
{
    if (strncmp(proto, prefix, strlen(prefix)) != 0)
        return false;
    proto += strlen(prefix);
    for (; *proto && *core; proto++, core++)
        if (tolower((unsigned char)*proto) != *core)
            return false;
    return *proto == *core;
}

Test(numbers_on_the_wire, outcomes_are_the_results_of_the_proto)
{
    const ProtobufCEnumDescriptor *results = &postrider__v1__outcome__result__descriptor;
    cr_assert_eq(results->n_values, PR_OUTCOMES, "none is missing on either side");
    for (unsigned i = 1; i < results->n_values; i++)
        cr_expect(same_name(results->values[i].name, "RESULT_",
                            pr_outcome_name((pr_outcome_t)results->values[i].value)),
                  "%s", results->values[i].name);
}

Test(numbers_on_the_wire, breaker_states_are_those_of_the_proto)
{
    const ProtobufCEnumDescriptor *states = &postrider__v1__breaker_state__descriptor;
    cr_assert_eq(states->n_values, PR_BREAKER_STATES);
    for (unsigned i = 1; i < states->n_values; i++)
        cr_expect(same_name(states->values[i].name, "BREAKER_STATE_",
                            pr_breaker_state_name((pr_breaker_state_t)states->values[i].value)),
                  "%s", states->values[i].name);
}
